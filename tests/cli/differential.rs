//! Our reader against the real ones: generated and mutated rules files, and what real releases make of them.
//!
//! Rules have algorithm 0, or an id that does not exist: a call fails exactly if such a rule applies to it. So one
//! launch tells for many communicator sizes and message sizes whether a file was accepted and which kind of rule
//! applies.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, Layout};
use collrules_rules::behaviour::Behaviour;
use collrules_rules::effective::{EffectiveAlgorithm, effective};
use collrules_rules::file::load;
use collrules_rules::{Collective, call};
use collrules_runner::Backend;
use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend};
use collrules_runner::wire::CallEnd;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::{OpenMpi, no_networks, under_each_release};

/// A handful per release, in every test run.
#[test]
fn real_readers_agree_with_ours() {
    under_each_release(|mpi| compare(mpi, 0..12));
}

/// Hundreds of files per release: `cargo test --test cli hundreds -- --ignored`, about a quarter of an hour.
/// `COLLRULES_SEEDS=FIRST..END` chooses other files.
#[test]
#[ignore = "takes a quarter of an hour"]
fn long_real_readers_agree_with_ours_on_hundreds_of_files() {
    let seeds = std::env::var("COLLRULES_SEEDS").unwrap_or_else(|_| "1000..1550".to_owned());
    let (first, end) = seeds.split_once("..").expect("FIRST..END");
    let seeds = first.parse::<u64>().unwrap()..end.parse::<u64>().unwrap();
    under_each_release(|mpi| compare(mpi, seeds.clone()));
}

const RANKS: u32 = 5;

const SIZES: [u64; 26] = [
    1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 99, 100, 101, 255, 256, 511, 512, 513, 1000, 1023, 1024, 1025, 4095, 4096,
    65536,
];

fn compare(mpi: &OpenMpi, seeds: std::ops::Range<u64>) {
    let behaviour = Behaviour::from_version(mpi.version.parse().unwrap()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut backend = backend(mpi);
    let (mut accepted, mut calls, mut failing) = (0, 0, 0);
    for seed in seeds.clone() {
        let text = file(seed);
        let path = scratch.path().join(format!("{seed}.conf"));
        fs::write(&path, &text).unwrap();
        let expected = expectations(&text, &behaviour);
        let made: Vec<Cell> = expected.iter().map(|(call, _)| *call).collect();
        let outcomes = backend.probe(&path, &made).unwrap_or_else(|error| {
            panic!("Open MPI {} on file {seed}: {error}\n{}", mpi.version, String::from_utf8_lossy(&text))
        });
        accepted += u32::from(load(&text, &behaviour).is_ok());
        calls += made.len();
        for ((call, fails), outcome) in expected.into_iter().zip(outcomes) {
            failing += usize::from(fails);
            let agreed = match outcome {
                CallEnd::Refused(_) => fails,
                // What a call does is another matter than which rule applies to it.
                CallEnd::Right | CallEnd::Wrong => !fails,
                CallEnd::Mixed(_) => false,
            };
            assert!(
                agreed,
                "Open MPI {} on file {seed}: {call:?} came to {outcome:?}, expected {}\n{}",
                mpi.version,
                if fails { "an error" } else { "success" },
                String::from_utf8_lossy(&text),
            );
        }
    }
    let files = seeds.end - seeds.start;
    // What never happens is not tested: about half of the files have to be accepted, and a good part of the calls fail.
    assert!(u64::from(accepted) * 4 > files && u64::from(accepted) < files, "{accepted} of {files} files accepted");
    assert!(failing * 20 > calls, "{failing} of {calls} calls fail");
    let mut said = std::io::stderr();
    let _ = std::io::Write::write_fmt(
        &mut said,
        format_args!(
            "Open MPI {}: {files} files, {accepted} accepted, {calls} calls, {failing} of them failing: all as expected\n",
            mpi.version,
        ),
    );
}

fn backend(mpi: &OpenMpi) -> MpiBackend {
    let wishes = LauncherOptions {
        template: None,
        environment: Default::default(),
        mpirun: Some(mpi.mpirun.clone()),
        worker: Some(mpi.worker()),
        arguments: no_networks(),
        oversubscribe: true,
        patience: Duration::from_secs(60),
        stop: Default::default(),
    };
    MpiBackend::new(Launcher::find(&wishes).unwrap(), Layout::Block)
}

/// Calls, and whether each fails. Calls to which a rule with a real algorithm applies are left out: odd parameters may
/// make that hang, which says nothing about reading.
fn expectations(text: &[u8], behaviour: &Behaviour) -> Vec<(Cell, bool)> {
    let loaded = load(text, behaviour).ok();
    let mut expected = Vec::new();
    for ranks in (2..=RANKS).map(Ranks) {
        for collective in [Collective::Barrier, Collective::Bcast, Collective::Scatter] {
            let sizes = if collective.has_sizes() { &SIZES[..] } else { &[0] };
            for bytes in sizes.iter().copied().map(Bytes) {
                let made = Cell { collective, ranks, bytes };
                let described = call::Call::new(collective, ranks, bytes);
                let choice = loaded.as_ref().map(|loaded| loaded.lookup(&described).choice).unwrap_or_default();
                match effective(behaviour.release, collective, choice, &described).algorithm {
                    EffectiveAlgorithm::Builtin => expected.push((made, false)),
                    EffectiveAlgorithm::Error(_) => expected.push((made, true)),
                    _ => {}
                }
            }
        }
    }
    expected
}

/// The rules file of a seed: well-formed, oddly written, or broken somewhere.
fn file(seed: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = generated(&mut rng);
    if rng.random_bool(0.5) {
        // In the place of a count this number makes real readers write beyond their memory.
        text = String::from_utf8_lossy(&text).replace(WIDE, "88").into_bytes();
        for _ in 0..rng.random_range(1..4) {
            mutate(&mut rng, &mut text);
        }
    }
    text
}

/// 2^32, which is 0 where a C `int` keeps it. Releases up to 5.0 allocate room for as many rules as such an `int` says
/// and fill in as many as the whole number says: a count like this corrupts their memory, and what then happens is
/// chance. So it stands where algorithms are named, in files whose fields are not shifted.
const WIDE: &str = "4294967296";

fn generated(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut text = String::new();
    let version = if rng.random_bool(0.3) { rng.random_range(1..4) } else { 1 };
    if version > 1 || rng.random_bool(0.05) {
        writeln!(text, "rule-file-version-{version}").unwrap();
    }
    // Beside collectives that are called, some without algorithms, which are legal, and rarely one that is not.
    let ids = [6, 7, 7, 7, 15, 15, 5, 10, 21];
    let mut collectives: Vec<u32> = (0..rng.random_range(1..4)).map(|_| *ids.choose(rng).unwrap()).collect();
    if rng.random_bool(0.03) {
        collectives.push(22);
    }
    number(rng, &mut text, collectives.len() as u64);
    separate(rng, &mut text);
    for id in collectives {
        number(rng, &mut text, id.into());
        separate(rng, &mut text);
        let mut ranks: Vec<u64> = (0..rng.random_range(0..5)).map(|_| rng.random_range(0..8)).collect();
        if rng.random_bool(0.8) {
            ranks.sort_unstable();
        }
        number(rng, &mut text, ranks.len() as u64);
        separate(rng, &mut text);
        for size in ranks {
            number(rng, &mut text, size);
            text.push(' ');
            rules(rng, &mut text, version);
        }
    }
    if rng.random_bool(0.2) {
        text.push_str("trailing 1 2 3\n");
    }
    text.into_bytes()
}

fn rules(rng: &mut ChaCha8Rng, text: &mut String, version: u32) {
    let mut sizes: Vec<u64> = (0..rng.random_range(0..5)).map(|_| *SIZES.choose(rng).unwrap()).collect();
    if rng.random_bool(0.8) {
        sizes.sort_unstable();
    }
    if let Some(first) = sizes.first_mut().filter(|_| rng.random_bool(0.97)) {
        *first = 0;
    }
    number(rng, text, sizes.len() as u64);
    text.push('\n');
    for size in sizes {
        number(rng, text, size);
        text.push(' ');
        match rng.random_range(0..8) {
            0..3 => number(rng, text, 0),
            3..5 => number(rng, text, 99),
            5 if version > 1 => text.push_str(WIDE),
            _ => number(rng, text, 1_000_077),
        }
        for _ in 0..2 {
            text.push(' ');
            let parameter = *[0, 0, 0, 2, 1024].choose(rng).unwrap();
            number(rng, text, parameter);
        }
        // A fifth column where it counts, and now and then where it does not.
        if (version > 1 && rng.random_bool(0.5)) || rng.random_bool(0.02) {
            text.push(' ');
            number(rng, text, 3);
        }
        match rng.random_range(0..12) {
            0 => text.push_str(" # a comment with 1 2 3\n"),
            1 => text.push_str("\r\n"),
            2 => text.push_str(" and words = , : \n"),
            3 if version == 1 => text.push(' '),
            _ => text.push('\n'),
        }
    }
}

/// A number, in one of the ways to write it.
fn number(rng: &mut ChaCha8Rng, text: &mut String, number: u64) {
    match rng.random_range(0..30) {
        0 => write!(text, "+{number}"),
        1 => write!(text, "{number:#x}"),
        2 if number > 0 => write!(text, "0{number:o}"),
        _ => write!(text, "{number}"),
    }
    .unwrap();
}

fn separate(rng: &mut ChaCha8Rng, text: &mut String) {
    let separators = ["\n", "\n", "\n", " ", "\t", " # 7 comments\n", "\n\n# line\n", " junk, = :\n"];
    text.push_str(separators.choose(rng).unwrap());
}

/// Breaks a text at one place, or merely changes it.
fn mutate(rng: &mut ChaCha8Rng, text: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
    let at = rng.random_range(0..text.len());
    match rng.random_range(0..8) {
        0 => drop(text.remove(at)),
        1 => text.insert(at, *b"0123456789-+#x.eK \n\t".choose(rng).unwrap()),
        2 => text[at] = *b"0123456789-#x.e \n".choose(rng).unwrap(),
        3 => text.truncate(at),
        4 => drop(text.splice(0..0, *b"\xef\xbb\xbf")),
        5 => drop(text.splice(0..0, *b"# first a comment\n")),
        6 => {
            let line = line_at(text, at);
            let copy = text[line.clone()].to_vec();
            drop(text.splice(line.start..line.start, copy));
        }
        _ => {
            let line = line_at(text, at);
            drop(text.drain(line));
        }
    }
}

fn line_at(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let end = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |place| at + place + 1);
    start..end
}
