//! Our reader of HAN's rules files against the real one: generated and mutated files on two hosts of two slots, and
//! which component handled each call.
//!
//! A rules file for coll/tuned beside it makes every broadcast fail that `tuned` handles on four ranks. Those that HAN
//! or `basic` handle work. So one launch tells whether a file was accepted, and for each size which component handled
//! it.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use collrules_rules::han::{HanComponent, Level, Service, load, service};
use collrules_rules::{Behaviour, Collective};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::{OpenMpi, Ran, has_hosts, skip, under_each_release_that};

/// A dozen files, in every test run.
#[test]
#[ignore = "part of `make test-all`"]
fn the_real_han_agrees_with_ours() {
    under_each_release_that(|mpi| !mpi.is_before(5), |mpi| compare(mpi, 0..12));
}

/// Hundreds of files: `cargo test --test cli hundreds_of_han -- --ignored`, about a quarter of an hour.
/// `COLLRULES_SEEDS=FIRST..END` chooses other files.
#[test]
#[ignore = "takes a quarter of an hour"]
fn long_the_real_han_agrees_with_ours_on_hundreds_of_han_files() {
    let seeds = std::env::var("COLLRULES_SEEDS").unwrap_or_else(|_| "1000..1550".to_owned());
    let (first, end) = seeds.split_once("..").expect("FIRST..END");
    let seeds = first.parse::<u64>().unwrap()..end.parse::<u64>().unwrap();
    under_each_release_that(|mpi| !mpi.is_before(5), |mpi| compare(mpi, seeds.clone()));
}

const RANKS: u32 = 4;

const SIZES: [u64; 14] = [1, 2, 7, 8, 9, 63, 64, 65, 100, 1023, 1024, 2048, 4096, 65536];

/// Fails where `tuned` handles a broadcast on four ranks, and nowhere else; sizes are listed twice, so that 6.0 reads the same.
const PROBE: &str = "1\n7\n5\n0 1\n0 0 0 0\n4 1\n0 0 0 0\n4 1\n0 99 0 0\n5 1\n0 99 0 0\n5 1\n0 0 0 0\n";

/// Runs the program under each file in turn and prints, per file, a line with its name and what came of it.
const LOOP: &str = r#"#!/bin/sh
for file in "$3"/*.han; do
    echo "file $file"
    timeout 60 "$1" --mca pml ob1 --mca coll_tuned_use_dynamic_rules 1 \
        --mca coll_tuned_dynamic_rules_filename "$3/probe.conf" \
        --mca coll_han_use_dynamic_file_rules 1 --mca coll_han_dynamic_rules_filename "$file" \
        -np 4 "$2" $4 2>/dev/null || echo "crashed"
done
"#;

/// Before 5.0 HAN stands back.
fn compare(mpi: &OpenMpi, seeds: std::ops::Range<u64>) {
    let scratch = tempfile::tempdir().unwrap();
    let Some(program) = compiled(mpi, scratch.path()) else { return };
    let behaviour = Behaviour::from_version(mpi.version.parse().unwrap()).unwrap();
    fs::write(scratch.path().join("probe.conf"), PROBE).unwrap();
    let mut expected = Vec::new();
    for seed in seeds.clone() {
        let text = file(seed);
        let path = scratch.path().join(format!("{seed:06}.han"));
        fs::write(&path, &text).unwrap();
        expected.push((path, expectations(&text, &behaviour), text));
    }
    let Some(said) = run(mpi, &program, scratch.path()) else { return };
    let mut found = said.split("file ").skip(1);
    let (mut accepted, mut calls, mut failing) = (0u64, 0, 0);
    for (path, expected, text) in expected {
        let found = found.next().unwrap_or_default();
        let (name, found) = found.split_once('\n').unwrap_or_default();
        assert_eq!(Path::new(name), path);
        accepted += u64::from(load(&text, &behaviour).is_ok());
        calls += SIZES.len();
        failing += expected.matches("fails").count();
        // A crash may come behind some calls.
        let crashed = found.contains("crashed");
        let agreed = if expected == "crashed\n" { crashed } else { found == expected };
        let text = String::from_utf8_lossy(&text);
        assert!(agreed, "Open MPI {} on\n{text}\nexpected\n{expected}found\n{found}", mpi.version);
    }
    let files = seeds.end - seeds.start;
    // What never happens is not tested.
    assert!(accepted * 4 > files && accepted < files, "{accepted} of {files} files accepted");
    assert!(failing * 20 > calls && failing < calls, "{failing} of {calls} calls fail");
    let line = format!(
        "HAN of Open MPI {}: {files} files, {accepted} accepted, {calls} calls, {failing} of them by tuned: all as expected",
        mpi.version
    );
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n"));
}

/// The program under this release's library.
fn compiled(mpi: &OpenMpi, scratch: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/han.c");
    let program = scratch.join("program");
    let prefix = mpi.mpirun.parent()?.parent()?;
    let mut compiler = Command::new("cc");
    compiler.arg(&source).arg("-o").arg(&program).arg("-I").arg(prefix.join("include"));
    let library = prefix.join("lib");
    compiler.arg("-L").arg(&library).arg("-lmpi").arg(format!("-Wl,-rpath,{}", library.display()));
    if compiler.status().is_ok_and(|status| status.success()) {
        return Some(program);
    }
    skip("no C compiler, or no mpi.h beside mpirun");
    None
}

/// Runs the program under each file, on two hosts, and returns its output; none if there are no hosts.
fn run(mpi: &OpenMpi, program: &Path, scratch: &Path) -> Option<String> {
    let script = scratch.join("loop.sh");
    fs::write(&script, LOOP).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/virtual-cluster");
    let mut command = Command::new(cluster);
    command.args("run --name han --hosts 2 --slots 2 --bandwidth none --".split_whitespace()).arg(&script);
    command.arg(mpi.mpirun.canonicalize().unwrap_or(mpi.mpirun.clone())).arg(program).arg(scratch);
    command.arg(SIZES.map(|size| size.to_string()).join(" "));
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
        command.env(name, "1").env(format!("{name}_CONFIRM"), "1");
    }
    let ran = Ran::from(command.output().unwrap());
    has_hosts(&ran).then(|| ran.exits(0).stdout)
}

/// Returns the output of the program if our reader is right.
fn expectations(text: &[u8], behaviour: &Behaviour) -> String {
    let loaded = match load(text, behaviour) {
        Ok(loaded) => Some(loaded),
        Err(fault) if fault.kind.crashes() => return "crashed\n".to_owned(),
        Err(_) => None,
    };
    let mut said = String::new();
    for bytes in SIZES {
        let (collective, level) = (Collective::Bcast, Level::GlobalCommunicator);
        let choice = loaded.as_ref().and_then(|loaded| loaded.lookup(collective, level, RANKS, bytes).choice);
        // HAN's parameters say han.
        let component = choice.map_or(HanComponent::Han, |choice| choice.component);
        let fails =
            matches!(service(collective.id(), level, component), Service::Named(HanComponent::Tuned) | Service::Next);
        writeln!(said, "{bytes} {}", if fails { "fails" } else { "works" }).unwrap();
    }
    said
}

/// The file of a seed: well-formed, oddly written, or broken somewhere.
fn file(seed: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = generated(&mut rng).into_bytes();
    if rng.random_bool(0.4) {
        for _ in 0..rng.random_range(1..4) {
            mutate(&mut rng, &mut text);
        }
    }
    text
}

fn generated(rng: &mut ChaCha8Rng) -> String {
    let mut text = String::new();
    let names = ["bcast", "bcast", "7", "reduce", "barrier", "scan", "alltoall", "gatherv"];
    let mut collectives: Vec<&str> = (0..rng.random_range(1..4)).map(|_| *names.choose(rng).unwrap()).collect();
    collectives[0] = "bcast";
    number(rng, &mut text, collectives.len() as u64);
    for name in collectives {
        separate(rng, &mut text);
        write!(text, "{name} ").unwrap();
        // Rules of other collectives would change how HAN sets itself up.
        let others = !matches!(name, "bcast" | "7");
        let levels: Vec<&str> = (0..*[0, 1, 1, 1, 2].choose(rng).unwrap())
            .map(|_| {
                *["2", "2", "2", "global_communicator", "global_communicator", "0", "intra_node"].choose(rng).unwrap()
            })
            .collect();
        number(rng, &mut text, levels.len() as u64);
        for level in levels {
            separate(rng, &mut text);
            write!(text, "{level} ").unwrap();
            let inner = !matches!(level, "2" | "global_communicator");
            configurations(rng, &mut text, others || inner);
        }
    }
    if rng.random_bool(0.1) {
        text.push_str("\ntrailing 1 2 3");
    }
    text + "\n"
}

fn configurations(rng: &mut ChaCha8Rng, text: &mut String, plain: bool) {
    let mut ranks: Vec<u64> = (0..*[0, 1, 2, 2, 3].choose(rng).unwrap()).map(|_| rng.random_range(1..6)).collect();
    if rng.random_bool(0.8) {
        ranks.sort_unstable();
    }
    if let Some(first) = ranks.first_mut().filter(|_| rng.random_bool(0.98)) {
        *first = 1;
    }
    number(rng, text, ranks.len() as u64);
    for size in ranks {
        separate(rng, text);
        number(rng, text, size);
        text.push(' ');
        let mut sizes: Vec<u64> =
            (0..*[0, 1, 2, 3, 3, 4].choose(rng).unwrap()).map(|_| *SIZES.choose(rng).unwrap()).collect();
        if rng.random_bool(0.8) {
            sizes.sort_unstable();
        }
        if let Some(first) = sizes.first_mut().filter(|_| rng.random_bool(0.98)) {
            *first = u64::from(rng.random_bool(0.1));
        }
        number(rng, text, sizes.len() as u64);
        for size in sizes {
            separate(rng, text);
            let components = match plain {
                true => &["tuned"][..],
                // The number of a component, as in Open MPI's own example, is refused.
                false if rng.random_bool(0.02) => &["3"],
                false => &[
                    "han",
                    "han",
                    "han @simple",
                    "han @1",
                    "han\n@ default",
                    "tuned",
                    "tuned",
                    "tuned",
                    "basic",
                    "self",
                    "libnbc",
                    "sm",
                    "adapt",
                ],
            };
            write!(text, "{size} {}", components.choose(rng).unwrap()).unwrap();
            if rng.random_bool(0.1) {
                text.push_str([" [ 8192 ]", " [1 2]", " [ 64 # ]\n ]"].choose(rng).unwrap());
            }
        }
    }
}

/// A number, in one of the ways to write it; not all of them suit all fields.
fn number(rng: &mut ChaCha8Rng, text: &mut String, number: u64) {
    match rng.random_range(0..30) {
        0 => write!(text, "+{number}"),
        1 => write!(text, "{number:#x}"),
        _ => write!(text, "{number}"),
    }
    .unwrap();
}

fn separate(rng: &mut ChaCha8Rng, text: &mut String) {
    let separators = ["\n", "\n", "\n", " ", "\t", " # 7 comments\n", "\n\n# line\n", "\r\n"];
    text.push_str(separators.choose(rng).unwrap());
}

/// Breaks a text at one place, or merely changes it.
fn mutate(rng: &mut ChaCha8Rng, text: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
    let at = rng.random_range(0..text.len());
    match rng.random_range(0..5) {
        0 => drop(text.remove(at)),
        // No digits: a count of many digits is a matter of memory.
        1 => text.insert(at, *b"-+#x@[] \n\t".choose(rng).unwrap()),
        2 => text[at] = *b"0123456789-#x@ \n".choose(rng).unwrap(),
        3 => text.truncate(at),
        _ => drop(text.splice(0..0, *b"# first a comment\n")),
    }
}
