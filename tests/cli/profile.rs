//! `collrules profile` and `collrules try` with real programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use collrules_record::Profile;
use collrules_record::profile::Mode;
use collrules_rules::Operation;

use crate::support::{
    OpenMpi, Ran, bounded, prepare, skip, under_each_release, under_each_release_that, under_one_release,
};

/// The library: built with the tests, since they depend on its crate.
pub(crate) fn library() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_collrules")).parent().unwrap();
    let library = beside.join("deps/libcollrules_profile.so");
    assert!(library.is_file(), "{} is not there", library.display());
    library
}

/// A source of the tests, compiled; nothing where that cannot be done here.
pub(crate) fn compiled(
    mpi: &OpenMpi,
    scratch: &Path,
    compiler: &str,
    source: &str,
    options: &[&str],
) -> Option<PathBuf> {
    let program = scratch.join(format!("calls{}", options.join("")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(source);
    let output =
        Command::new(mpi.compiler(compiler)).args(options).arg(&source).arg("-o").arg(&program).arg("-ldl").output();
    if output.as_ref().is_ok_and(|output| output.status.success()) {
        return Some(program);
    }
    skip(&format!("no {compiler} that compiles {}", source.display()));
    None
}

/// The words that start a program.
fn job(mpi: &OpenMpi, ranks: u32, program: &[&str]) -> Vec<String> {
    let mut words = vec![mpi.mpirun.to_str().unwrap().to_owned(), "-np".to_owned(), ranks.to_string()];
    let oversubscribe: &[&str] = if mpi.is_before(5) { &["--oversubscribe"] } else { &["--map-by", ":OVERSUBSCRIBE"] };
    words.extend(oversubscribe.iter().chain(program).map(|word| (*word).to_owned()));
    words
}

/// A subcommand on a job of this installation.
fn on(mpi: &OpenMpi, arguments: &[&str], words: &[String]) -> Ran {
    let mut command = bounded();
    command.args(arguments).arg("--").args(words);
    if !mpi.is_before(5) {
        command.env("LD_LIBRARY_PATH", mpi.mpirun.parent().unwrap().parent().unwrap().join("lib"));
    }
    prepare(&mut command);
    Ran::from(command.output().unwrap())
}

fn profiled(mpi: &OpenMpi, out: &Path, more: &[&str], words: &[String]) -> Ran {
    let (library, out) = (library(), out.to_str().unwrap());
    let fixed = ["profile", "--library", library.to_str().unwrap(), "--out", out];
    on(mpi, &[&fixed[..], more].concat(), words)
}

pub(crate) fn read(out: &Path) -> Profile {
    serde_json::from_str(&fs::read_to_string(out.join("profile.json")).unwrap()).unwrap()
}

pub(crate) type Counts = BTreeMap<(Operation, Mode, u32, u64), u64>;

/// Calls of all ranks by operation, mode, communicator size and message bytes.
pub(crate) fn counts(profile: &Profile) -> Counts {
    let mut counts = Counts::new();
    for calls in &profile.calls {
        let key = (calls.operation, calls.mode, profile.communicator(calls).ranks.0, calls.bytes.0);
        assert_eq!(calls.up_to, None);
        *counts.entry(key).or_default() += calls.rank_calls;
    }
    counts
}

/// Returns the calls of `calls.c` on 4 ranks.
pub(crate) fn expected() -> Counts {
    use Mode::{Blocking, NonBlocking, Persistent};
    let mut all: Vec<(Operation, Mode, u32, u64, u64)> = vec![
        (Operation::Bcast, Blocking, 4, 1000, 7 * 4),
        (Operation::Bcast, Blocking, 4, 1001, 3 * 4),
        (Operation::Bcast, Blocking, 4, 40, 4),
        (Operation::Allreduce, Blocking, 4, 400, 7 * 4),
        (Operation::Allreduce, Blocking, 4, 4, 2 * 4),
        (Operation::Reduce, Blocking, 4, 160, 3 * 4),
        (Operation::ReduceScatter, Blocking, 4, 40, 2 * 4),
        (Operation::ReduceScatterBlock, Blocking, 4, 20, 2 * 4),
        (Operation::Scan, Blocking, 4, 12, 4),
        (Operation::Exscan, Blocking, 4, 12, 4),
        (Operation::Gather, Blocking, 4, 8, 2 * 4),
        (Operation::Scatter, Blocking, 4, 16, 2 * 4),
        // The root counts the mean of all blocks.
        (Operation::Gatherv, Blocking, 4, 10, 1),
        (Operation::Scatterv, Blocking, 4, 10, 1),
        (Operation::Allgatherv, Blocking, 4, 10, 4),
        (Operation::Alltoall, Blocking, 4, 24, 2 * 4),
        (Operation::Alltoallw, Blocking, 4, 8, 4),
        (Operation::Allgather, Blocking, 2, 32, 3 * 4),
        (Operation::Barrier, Blocking, 4, 0, 6 * 4),
        (Operation::Barrier, Blocking, 1, 0, 4),
        (Operation::Bcast, NonBlocking, 4, 64, 2 * 4),
        (Operation::Barrier, NonBlocking, 4, 0, 2 * 4),
        (Operation::Bcast, Persistent, 4, 200, 4),
    ];
    for rank in 0..4 {
        all.push((Operation::Alltoallv, Blocking, 4, 4 * (rank + 1), 1));
        if rank > 0 {
            all.push((Operation::Gatherv, Blocking, 4, 4 * (rank + 1), 1));
            all.push((Operation::Scatterv, Blocking, 4, 4 * (rank + 1), 1));
        }
    }
    all.into_iter().map(|(operation, mode, ranks, bytes, calls)| ((operation, mode, ranks, bytes), calls)).collect()
}

#[test]
fn a_program_in_c_is_counted_to_the_last_call() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let out = scratch.path().join("out");
        let ran = profiled(mpi, &out, &[], &job(mpi, 4, &[program.to_str().unwrap()])).exits(0);
        assert_eq!(ran.stdout, "done\n", "{}", mpi.version);
        let profile = read(&out);
        assert_eq!(counts(&profile), expected(), "{}", mpi.version);
        assert!(profile.is_complete() && profile.library.contains(&mpi.version), "{}", profile.library);
        assert_eq!(profile.communicators.len(), 3);
        assert!(!out.join("ranks").exists(), "what ranks left is in the profile");

        let find = |operation, bytes| {
            profile
                .calls
                .iter()
                .find(|calls| (calls.operation, calls.bytes.0, calls.mode) == (operation, bytes, Mode::Blocking))
        };
        let all = |operation, bytes| find(operation, bytes).unwrap().clone();
        assert_eq!(all(Operation::Allreduce, 400).in_place, 28);
        assert_eq!(
            (all(Operation::Allreduce, 4).not_commutative, all(Operation::Allreduce, 400).not_commutative),
            (8, 0)
        );
        assert_eq!((all(Operation::Bcast, 40).derived, all(Operation::Bcast, 1000).derived), (4, 0));
        assert_eq!(all(Operation::ReduceScatter, 40).unequal, 8);
        assert_eq!(all(Operation::Scatter, 16).ignored_differ, 6, "three ranks of four, twice");
        assert_eq!(all(Operation::Gather, 8).ignored_differ, 0);
        let roots = [1000, 1001].map(|bytes| all(Operation::Bcast, bytes).same_root);
        assert_eq!(roots, [Some(true), Some(false)]);
        let world = profile.communicator(find(Operation::Scan, 12).unwrap());
        assert_eq!((world.ranks.0, world.groups.len(), world.groups[0].communicators), (4, 1, 2));
        assert!(world.agree.contains(&Operation::Bcast) && world.disagree.contains(&Operation::Alltoallv), "{world:?}");
        let half = profile.communicator(find(Operation::Allgather, 32).unwrap());
        let members: Vec<_> = half.groups.iter().map(|group| group.ranks.clone().unwrap()).collect();
        assert!(members.contains(&vec![(0, 2, 2)]) && members.contains(&vec![(1, 2, 2)]), "{members:?}");
        assert!(profile.messages.rank_calls == 4 && profile.waiting.rank_calls == 4 * 3);

        let shown =
            Ran::from(bounded().env("COLUMNS", "120").args(["profile", "show"]).arg(&out).output().unwrap()).exits(0);
        for said in ["allreduce", "MPI_COMM_WORLD", "starting non-blocking", "half (ranks"] {
            assert!(shown.stdout.contains(said), "`{said}` is not in\n{}", shown.stdout);
        }
        assert!(fs::read_to_string(out.join("profile.html")).unwrap().contains("class=\"map\""));
        // A second profile does not replace the first.
        profiled(mpi, &out, &[], &job(mpi, 4, &[program.to_str().unwrap()])).exits(6);
    });
}

#[test]
fn a_program_that_profiles_itself_works_and_is_counted_once() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &["-DPROFILES_ITSELF"]) else { return };
        let out = scratch.path().join("out");
        let ran = profiled(mpi, &out, &[], &job(mpi, 4, &[program.to_str().unwrap()])).exits(0);
        ran.says("counted 11 broadcasts");
        assert_eq!(counts(&read(&out)), expected(), "{}", mpi.version);
    });
}

#[test]
fn exit_codes_are_the_programs_and_what_was_seen_of_a_bad_end_is_kept() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let run = |end: &str| {
            let out = scratch.path().join(end);
            (profiled(mpi, &out, &[], &job(mpi, 4, &[program.to_str().unwrap(), end])), out)
        };
        let (ran, out) = run("fail");
        ran.exits(3);
        assert!(read(&out).is_complete());
        let (ran, out) = run("abort");
        ran.exits(9);
        let profile = read(&out);
        assert!(profile.unfinished.contains(&1) && profile.exit_code == Some(9));
        let seen = counts(&profile);
        assert!(seen.get(&(Operation::Bcast, Mode::Blocking, 4, 1000)).is_some_and(|calls| *calls >= 5), "{seen:?}");
        // Killed after two seconds: what was written after one is there.
        let (ran, out) = run("kill");
        assert_eq!(ran.code, Some(137), "{}", ran.stderr);
        let profile = read(&out);
        assert_eq!((profile.missing.len(), profile.unfinished.len()), (0, 4));
        assert_eq!(counts(&profile).get(&(Operation::Bcast, Mode::Blocking, 4, 1000)), Some(&20));
        assert!(profile.communicators.iter().all(|one| one.agree.is_empty()), "nothing is known of what came later");
    });
}

#[test]
fn waiting_for_late_ranks_is_told_from_the_collective() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let out = scratch.path().join("out");
        profiled(mpi, &out, &["--imbalance=1"], &job(mpi, 4, &[program.to_str().unwrap(), "late"])).exits(0);
        let profile = read(&out);
        let late = profile.calls.iter().find(|calls| calls.bytes.0 == 3000).unwrap();
        let sampled = late.sampled.unwrap();
        assert_eq!((late.rank_calls, sampled.rank_calls), (16, 16));
        // Three ranks wait for 50 ms in each of four calls.
        assert!(sampled.waiting.0 > 0.3, "{sampled:?}");
        assert_eq!(profile.imbalance, Some(1));
        assert_eq!(late.arrivals.len(), 4);
        for arrivals in &late.arrivals {
            let others = arrivals[1..].iter().map(|arrival| arrival.0).fold(0.0, f64::max);
            assert!(arrivals[0].0 > others + 0.01, "rank 0 comes 50 ms after the others: {late:?}");
        }
    });
}

/// In each of four calls three ranks wait for the root, which leaves at once.
#[test]
fn the_slowest_rank_of_each_call_is_known() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let out = scratch.path().join("out");
        profiled(mpi, &out, &[], &job(mpi, 4, &[program.to_str().unwrap(), "late"])).exits(0);
        let profile = read(&out);
        let late = profile.calls.iter().find(|calls| calls.bytes.0 == 3000).unwrap();
        let each = late.each.unwrap();
        assert_eq!((late.rank_calls, each.calls), (16, 4));
        assert!(each.slowest.0 > 4.0 * 0.045 && each.mean.0 < each.slowest.0, "{each:?}");
        assert!((each.mean.0 - late.time.mean().0).abs() < 1e-9, "all calls were kept");
        // Of every blocking call on a communicator all ranks kept the time, but for those of different sizes.
        let bcast = profile.calls.iter().find(|calls| calls.bytes.0 == 1000 && calls.mode == Mode::Blocking).unwrap();
        assert_eq!(bcast.each.map(|each| each.calls), Some(7));
    });
}

#[test]
fn programs_in_fortran_are_counted_by_each_binding() {
    // There are no Fortran bindings in this 5.0, nor an mpi4py for it.
    under_each_release_that(
        |mpi| mpi.is_before(5),
        |mpi| {
            for binding in ["-DMPIF_H", "-DMODULE", "-DF08"] {
                let scratch = tempfile::tempdir().unwrap();
                let Some(program) = compiled(mpi, scratch.path(), "mpifort", "calls.F90", &[binding]) else { return };
                let out = scratch.path().join("out");
                profiled(mpi, &out, &[], &job(mpi, 2, &[program.to_str().unwrap()])).exits(0).says("done");
                let expected = [
                    ((Operation::Bcast, Mode::Blocking, 2, 400), 8),
                    ((Operation::Allreduce, Mode::Blocking, 2, 80), 6),
                    ((Operation::Alltoall, Mode::Blocking, 2, 40), 2),
                    ((Operation::Bcast, Mode::NonBlocking, 2, 16), 2),
                    ((Operation::Barrier, Mode::Blocking, 2, 0), 2),
                ];
                let profile = read(&out);
                assert_eq!(counts(&profile), Counts::from(expected), "{binding}");
                let reduced = profile.calls.iter().find(|calls| calls.operation == Operation::Allreduce);
                assert_eq!(reduced.map(|calls| calls.in_place), Some(6), "{binding}: Fortran's MPI_IN_PLACE");
            }
        },
    );
}

/// Python loads MPI out of sight of the library.
#[test]
fn a_program_in_python_is_counted() {
    const PROGRAM: &str = "from mpi4py import MPI\nimport array\nworld = MPI.COMM_WORLD\n\
        for turn in range(6): world.Bcast(array.array('d', [0.0] * 30), root=0)\n\
        world.Barrier()\n";
    under_each_release_that(
        |mpi| mpi.is_before(5),
        |mpi| {
            let has = Command::new("/usr/bin/python3").args(["-c", "import mpi4py"]).output();
            if !has.is_ok_and(|output| output.status.success()) {
                return skip("no mpi4py for this Open MPI");
            }
            let scratch = tempfile::tempdir().unwrap();
            let out = scratch.path().join("out");
            profiled(mpi, &out, &[], &job(mpi, 2, &["/usr/bin/python3", "-c", PROGRAM])).exits(0);
            let seen = counts(&read(&out));
            assert_eq!(seen.get(&(Operation::Bcast, Mode::Blocking, 2, 240)), Some(&12), "{seen:?}");
        },
    );
}

#[test]
fn what_cannot_be_profiled_is_said_in_a_sentence() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = |name: &str| scratch.path().join(name);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        profiled(mpi, &out("a"), &[], &words(&["ls", "-l"])).exits(2);
        profiled(mpi, &out("b"), &[], &job(mpi, 1, &["true"])).exits(4);
        let missing = on(mpi, &["profile", "--library", "/nonexistent.so"], &job(mpi, 1, &["true"]));
        missing.exits(3);
        let source = scratch.path().join("still.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let program = scratch.path().join("still");
        let made = Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program).output();
        if made.is_ok_and(|output| output.status.success()) {
            let ran = profiled(mpi, &out("c"), &[], &job(mpi, 1, &[program.to_str().unwrap()]));
            ran.exits(4).complains("is linked statically");
        }
        let show = |file: &Path| Ran::from(bounded().args(["profile", "show"]).arg(file).output().unwrap());
        show(&out("none")).exits(3);
        let other = scratch.path().join("other.json");
        fs::write(&other, "{\"format\": {\"major\": 9, \"minor\": 0}}").unwrap();
        show(&other).exits(3);
        fs::write(&other, "hello").unwrap();
        show(&other).exits(3);
    });
}

#[test]
fn threads_that_call_at_once_are_counted_to_the_last_call() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "threads.c", &["-pthread"]) else { return };
        let out = scratch.path().join("out");
        let ran = profiled(mpi, &out, &[], &job(mpi, 2, &[program.to_str().unwrap()])).exits(0);
        if ran.stdout.contains("no threads") {
            return skip("this Open MPI has no MPI_THREAD_MULTIPLE");
        }
        let bcasts = (1..=4).map(|thread| ((Operation::Bcast, Mode::Blocking, 2, 8 * thread), 2 * 2000));
        let reduced = [((Operation::Allreduce, Mode::Blocking, 2, 4), 4 * 2 * 1000)];
        let profile = read(&out);
        assert_eq!(counts(&profile), bcasts.chain(reduced).collect(), "{}", mpi.version);
        assert!(profile.is_complete());
        // Each communicator had its own calls in order, whatever the order of the threads.
        let communicator = &profile.communicators[0];
        assert_eq!(communicator.agree, [Operation::Allreduce, Operation::Bcast]);
    });
}

/// A batch system's launcher that starts what Open MPI's own would: `srun -n N [--export=LIST] PROGRAM`.
fn srun(mpi: &OpenMpi, scratch: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let file = scratch.join("srun");
    let mpirun = job(mpi, 4, &[])[..].join(" ");
    let script = format!(
        "#!/bin/sh\nshift 2\nfor word in \"$1\" \"$2\"; do case \"$word\" in --export=*) echo \"$word\" >&2; shift;; \
         --multi-prog) shift;; esac; done\nexec {mpirun} \"$@\"\n"
    );
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

#[test]
fn programs_that_srun_starts_are_counted() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let srun = srun(mpi, scratch.path());
        let words = |more: &[&str]| {
            let all = [&[srun.to_str().unwrap(), "-n", "4"], more, &[program.to_str().unwrap()]].concat();
            all.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let out = scratch.path().join("plain");
        profiled(mpi, &out, &[], &words(&[])).exits(0).says("done");
        assert_eq!(counts(&read(&out)), expected(), "{}", mpi.version);
        // What srun hands on by name gets ours as well.
        let out = scratch.path().join("listed");
        let ran = profiled(mpi, &out, &[], &words(&["--export=HOME,LANG"])).exits(0);
        ran.complains("--export=HOME,LANG,COLLRULES_PROFILE_DIR");
        ran.complains(",LD_PRELOAD");
        let out = scratch.path().join("none");
        profiled(mpi, &out, &[], &words(&["--export=NONE"])).exits(2);
    });
}

#[test]
fn programs_of_another_mpi_are_told_apart() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/foreign.c");
        let (library, program) = (scratch.path().join("libforeign.so"), scratch.path().join("foreign"));
        let cc = |words: &[&str], out: &Path| {
            let made = Command::new("cc").args(words).arg("-o").arg(out).output();
            made.is_ok_and(|made| made.status.success())
        };
        let source = source.to_str().unwrap();
        let beside = format!("-Wl,-rpath,{}", scratch.path().display());
        let directory = format!("-L{}", scratch.path().display());
        if !cc(&["-shared", "-fPIC", source], &library)
            || !cc(&["-DPROGRAM", source, &directory, "-lforeign", &beside], &program)
        {
            return skip("no cc");
        }
        let ran = profiled(mpi, &scratch.path().join("out"), &[], &job(mpi, 1, &[program.to_str().unwrap()]));
        ran.exits(4).complains("the program uses another MPI (MPICH Version:      4.1.2)");
    });
}

/// Result of a trial of a program.
fn tried(out: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(out.join("try.json")).unwrap()).unwrap()
}

/// A rules file that says something.
fn rules(scratch: &Path) -> PathBuf {
    let file = scratch.join("rules.conf");
    fs::write(&file, "1\n7\n1\n2\n1\n0 1 0 0\n").unwrap();
    file
}

#[test]
fn a_program_is_tried_in_pairs_until_it_is_clear() {
    const SLOWER: &str = "if test -n \"$OMPI_MCA_coll_tuned_dynamic_rules_filename\"; then echo took 2.0$RANDOM; \
        else echo took 1.0; fi";
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = rules(scratch.path());
        let attempt = |out: &str, more: &[&str], script: &str| {
            let out = scratch.path().join(out);
            let fixed = ["try", rules.to_str().unwrap(), "--out", out.to_str().unwrap(), "--pairs", "4"];
            on(mpi, &[&fixed[..], more].concat(), &job(mpi, 1, &["sh", "-c", script]))
        };
        let metric = ["--metric", "took ([0-9.]+)"];
        attempt("slower", &metric, SLOWER).exits(8);
        assert!(scratch.path().join("slower/pair-2-with/stdout.txt").is_file());
        attempt("higher", &[&metric[..], &["--higher-is-better"]].concat(), SLOWER).exits(0);
        attempt("same", &metric, "echo took 1.5").exits(0);
        for (name, outcome) in [("slower", "slower"), ("higher", "faster"), ("same", "same")] {
            assert_eq!(tried(&scratch.path().join(name))["judgement"]["outcome"], outcome);
        }
        attempt("nothing", &metric, "echo nothing").exits(3);
        attempt("fails", &[], "exit 4").exits(3);
        attempt("bad", &["--metric", "("], "true").exits(2);
        attempt("setup", &["--setup", "exit 1"], "true").exits(3);
        let other = scratch.path().join("other.conf");
        fs::write(&other, "{\"rules\": 1}").unwrap();
        on(mpi, &["try", other.to_str().unwrap()], &job(mpi, 1, &["true"])).exits(3);
    });
}

/// A tuning that changes results is found: by what the program prints, and by a file that it writes.
#[test]
fn a_program_that_computes_something_else_with_the_tuning_is_found() {
    const SUM: &str = "if test -n \"$OMPI_MCA_coll_tuned_dynamic_rules_filename\"; then sum=0.31; else sum=0.30; fi; ";
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = rules(scratch.path());
        let file = scratch.path().join("sum");
        let attempt = |out: &str, compared: &str, script: &str| {
            let out = scratch.path().join(out);
            let fixed = ["try", rules.to_str().unwrap(), "--out", out.to_str().unwrap(), "--pairs", "3"];
            let more = ["--metric", "took ([0-9.]+)", "--same-output", compared];
            on(
                mpi,
                &[&fixed[..], &more].concat(),
                &job(mpi, 1, &["sh", "-c", &format!("{SUM}{script}; echo took 1.5")]),
            )
        };
        attempt("printed", "-", "echo $sum").exits(1);
        attempt("same", "-", "echo 0.3").exits(0);
        // What differs from run to run is no effect of the tuning.
        attempt("varying", "-", "echo $$").exits(0);
        let (name, write) = (file.to_str().unwrap(), format!("echo $sum > {}", file.display()));
        attempt("written", name, &write).exits(1);
        assert_eq!(fs::read_to_string(scratch.path().join("written/pair-1-with/written")).unwrap(), "0.31\n");
        attempt("unwritten", name, "true").exits(3);
    });
}

/// Settings are tried without a tuning, and without the profiler.
#[test]
fn a_setting_is_tried_like_a_tuning() {
    const FASTER: &str = "if test -n \"$FASTER\"; then echo took 1.0; else echo took 2.0$RANDOM; fi";
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let words = ["try", "--setting", "env:FASTER=1", "--pairs", "4", "--metric", "took ([0-9.]+)", "--out"];
        let ran = on(mpi, &[&words[..], &[out.to_str().unwrap()]].concat(), &job(mpi, 1, &["sh", "-c", FASTER]));
        ran.exits(0);
        assert_eq!(tried(&out)["judgement"]["outcome"], "faster");
        assert!(!out.join("pair-1-with/ranks").exists(), "the profiler is not tried");
    });
}

/// A setting that no rank gets was once "faster 1.52x".
#[test]
fn settings_that_ranks_do_not_get_are_refused() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        // An mpirun that gives ranks a value of its own, as parameter files of a site can.
        let own = scratch.path().join("mpirun");
        let (real, information) = (mpi.mpirun.display(), mpi.mpirun.with_file_name("ompi_info"));
        let given = "-x OMPI_MCA_coll_tuned_priority=31";
        for (name, script) in [
            ("mpirun", format!("test \"$1\" = --version && exec {real} --version\nexec {real} {given} \"$@\"\n")),
            ("ompi_info", format!("exec {} \"$@\"\n", information.display())),
        ] {
            let file = scratch.path().join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let attempt = |mpirun: &Path, setting: &str, more: &[&str]| {
            let out = scratch.path().join("out");
            let words = ["try", "--setting", setting, "--pairs", "3", "--out", out.to_str().unwrap()];
            let mut job = job(mpi, 1, &[more, &["true"]].concat());
            job[0] = mpirun.to_str().unwrap().to_owned();
            on(mpi, &words, &job)
        };
        attempt(&mpi.mpirun, "nonsense=1", &[]).exits(2);
        attempt(&mpi.mpirun, "coll_tuned_priority=high", &[]).exits(2);
        attempt(&mpi.mpirun, "coll_tuned_priority=32", &["--mca", "coll_tuned_priority", "31"]).exits(2);
        // Ranks do not get this value, and have that one anyway.
        attempt(&own, "coll_tuned_priority=32", &[]).exits(3);
        attempt(&own, "coll_tuned_priority=31", &[]).exits(3);
    });
}

/// The cost of the profiler is found like the gain of a tuning.
#[test]
#[ignore = "part of `make test-all`"]
fn the_profiler_is_tried_like_a_tuning() {
    const SLOWER: &str = "if test -n \"$COLLRULES_PROFILE_DIR\"; then echo took 2.0$RANDOM; else echo took 1.0; fi";
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let attempt = |out: &str, more: &[&str], script: &str| {
            let (out, library) = (scratch.path().join(out), library());
            let fixed = ["try", "--profiler", "--library", library.to_str().unwrap(), "--pairs", "4"];
            on(
                mpi,
                &[&fixed[..], &["--out", out.to_str().unwrap()], more].concat(),
                &job(mpi, 4, &["sh", "-c", script]),
            )
        };
        let metric = ["--metric", "took ([0-9.]+)"];
        let calls = format!("{SLOWER}; {}", program.display());
        attempt("slower", &metric, &calls).exits(8);
        assert_eq!(fs::read_dir(scratch.path().join("slower/pair-1-with/ranks")).unwrap().count(), 4);
        attempt("same", &metric, &format!("echo took 1.5; {}", program.display())).exits(0);
        assert_eq!(tried(&scratch.path().join("same"))["judgement"]["outcome"], "same");
        attempt("nothing", &metric, SLOWER).exits(0).says("MPI_Init");
    });
}

#[test]
fn ranks_that_a_program_starts_do_not_replace_its_own() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "spawn.c", &[]) else { return };
        let out = scratch.path().join("out");
        profiled(mpi, &out, &[], &job(mpi, 2, &[program.to_str().unwrap()])).exits(0);
        let profile = read(&out);
        assert_eq!((profile.ranks.0, profile.missing.len(), profile.unfinished.len()), (2, 0, 0), "{}", mpi.version);
        let seen = counts(&profile);
        let called =
            |operation| seen.iter().filter(|((it, ..), _)| *it == operation).map(|(_, calls)| calls).sum::<u64>();
        assert_eq!(called(Operation::Allreduce), 2000, "{}: {seen:?}", mpi.version);
        if profile.spawned.is_empty() {
            // The launcher of 5.0 does not hand the library on.
            assert!(!mpi.is_before(5));
            return;
        }
        assert_eq!(called(Operation::Bcast), 20, "{}: {seen:?}", mpi.version);
        let worlds: Vec<_> = profile.spawned.iter().map(|world| (world.first, world.ranks.0, world.seen)).collect();
        assert_eq!((worlds, profile.started_processes), (vec![(2, 2, 2)], 2), "{}", mpi.version);
    });
}

#[test]
fn a_program_that_ends_by_exit_is_not_said_to_have_called_nothing() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "spawn.c", &[]) else { return };
        let out = scratch.path().join("out");
        let ran = profiled(mpi, &out, &[], &job(mpi, 2, &[program.to_str().unwrap(), "_exit"]));
        assert_ne!(ran.code, Some(0));
        ran.complains("no call of a collective was recorded");
        assert!(!ran.stderr.contains("called no collective"), "{}", ran.stderr);
    });
}
