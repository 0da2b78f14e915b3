//! Workers that do not start, die, hang or talk nonsense, launchers that are stopped, controllers that are killed or asked
//! to end, disks that are full: one clear message, nothing measured is lost, nothing is left running.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use collrules_record::Candidate;
use collrules_record::findings::CellFinding;
use collrules_rules::{Choice, Collective};
use collrules_runner::mpi::worker::linked_library;
use collrules_runner::wire::PROTOCOL;

use crate::running::{Process, Running, is_alive, kill, wait_for};
use crate::support::{
    OpenMpi, Ran, alone_under_each_release, alone_under_one_release, bounded, collrules, findings, prepare, skip,
    under_each_release, under_one_release,
};

/// A stand-in for the worker.
pub(crate) fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("worker");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn tune_with_worker(mpi: &OpenMpi, directory: &Path, worker: &Path) -> Ran {
    let out = directory.join("run");
    let mut command = mpi.collrules("tune --np 2 --oversubscribe --hang-timeout 3s --out", &out);
    let ran = command.arg("--worker").arg(worker).output().unwrap();
    assert!(!out.exists(), "nothing was measured");
    ran.into()
}

#[test]
#[ignore = "part of `make test-all`"]
fn workers_that_do_not_do_their_job_are_named() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let run = |text: &str| tune_with_worker(mpi, scratch.path(), &script(scratch.path(), text));
        run("echo 'no such luck' >&2; exit 3").exits(4).complains("no such luck");
        run("exit 0").exits(4).complains("--worker");
        run("sleep 20").exits(5).complains("--hang-timeout");
        run("echo '@collrules {\"hello\":'; sleep 5").exits(4);
        tune_with_worker(mpi, scratch.path(), Path::new("/nowhere/collrules-worker")).exits(4);
    });
}

/// Ours, with the number of another version in all that it hears and says.
#[test]
fn a_worker_of_another_version_is_named() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let becomes = |other: &str| format!("sed -u 's/\"protocol\":{PROTOCOL},/\"protocol\":{other},/'");
        let ours = mpi.worker();
        let (ours, heard, said) = (ours.display(), becomes("999,\"new\":{}"), becomes("7"));
        // Only rank 0 hears anything.
        let text = format!("[ $OMPI_COMM_WORLD_RANK = 0 ] || exec {ours}\n{heard} | {ours} | {said}");
        let other = script(scratch.path(), &text);
        let ran = tune_with_worker(mpi, scratch.path(), &other).exits(4);
        ran.complains(&format!("`{}` belongs to another version of collrules (its protocol is 7", other.display()));
    });
}

/// PMIx before 5.0.11 puts the beginning of an incomplete line before the next line of the other stream.
#[test]
fn long_events_arrive_whole_beside_messages_of_the_same_rank() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        // More than a pipe holds, so that messages come in between.
        let long = "x".repeat(100_000);
        let script = script(
            scratch.path(),
            &format!(
                "[ \"$OMPI_COMM_WORLD_RANK\" = 0 ] || exit 0\n\
                 echo '@collrules {{\"hello\":{{\"protocol\":{PROTOCOL},\"ranks\":2}}}}'\n\
                 while :; do echo message >&2; done &\n\
                 echo '@collrules {{\"failed\":{{\"why\":\"{long}\"}}}}'\nkill $!"
            ),
        );
        tune_with_worker(mpi, scratch.path(), &script).exits(4).complains(&long);
    });
}

/// A launcher of another Open MPI than the one that the worker loads, in a prefix of its own.
#[test]
fn the_library_is_looked_for_beside_mpirun_and_named_where_it_is_the_wrong_one() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (bin, lib) = (scratch.path().join("bin"), scratch.path().join("lib64"));
        fs::create_dir(&bin).unwrap();
        fs::create_dir(&lib).unwrap();
        // Its interface decides which of several workers is taken, which may find its library here alone.
        let library = linked_library(&mpi.worker()).expect("the worker is linked with MPI");
        let own = mpi.mpirun.parent().and_then(Path::parent).map(|prefix| prefix.join("lib"));
        match own.filter(|own| own.join(&library).exists()) {
            Some(own) => {
                for file in fs::read_dir(own).unwrap().flatten() {
                    symlink(file.path(), lib.join(file.file_name())).unwrap();
                }
            }
            None => fs::write(lib.join(format!("{library}.0.0")), "").unwrap(),
        }
        let run = |text: &str| {
            let version = format!("[ \"$1\" = --version ] && echo 'mpirun (Open MPI) {}' && exit", mpi.version);
            fs::rename(script(scratch.path(), &format!("{version}\n{text}")), bin.join("mpirun")).unwrap();
            let mut command = bounded();
            prepare(&mut command);
            command.args(["tune", "--np", "2", "--hang-timeout", "20s", "--out"]).arg(scratch.path().join("run"));
            Ran::from(command.arg("--mpirun").arg(bin.join("mpirun")).output().unwrap())
        };
        run("echo searching \"$LD_LIBRARY_PATH\" >&2; exit 3")
            .exits(4)
            .complains(&format!("searching {}", lib.display()));
        // Every rank is alone, and has nothing to read.
        run("for worker; do :; done; exec \"$worker\" < /dev/null").exits(4).complains("libmpi.so");
    });
}

/// A worker is linked with one binary interface of MPI: nothing is started that the loader would refuse, or worse, take.
#[test]
fn a_worker_for_another_interface_is_refused_with_the_command_that_builds_the_right_one() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (bin, lib) = (scratch.path().join("my mpi/bin"), scratch.path().join("my mpi/lib"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir(&lib).unwrap();
        fs::write(lib.join("libmpi.so.99.1.2"), "").unwrap();
        fs::rename(script(scratch.path(), &format!("echo 'mpirun (Open MPI) {}'", mpi.version)), bin.join("mpirun"))
            .unwrap();
        let run = |arguments: &[&str]| {
            let mut command = bounded();
            prepare(&mut command);
            Ran::from(command.args(arguments).arg("--mpirun").arg(bin.join("mpirun")).output().unwrap())
        };
        let remedy = format!("collrules worker build --for '{}'", scratch.path().join("my mpi").display());
        let ran = run(&["measure", "--np", "2", "--out", "run"]).exits(4);
        ran.complains(&remedy);
        let doctor = run(&["doctor"]).exits(4);
        doctor.says(&remedy);
        doctor.says("and the Open MPI in");
        assert!(doctor.stdout.contains("\nproblem  worker "), "{}", doctor.stdout);
        // One for that interface, named by it, would be taken: a copy of ours that says so.
        let ours = fs::read(env!("CARGO_BIN_EXE_collrules-worker")).unwrap();
        let place = ours.windows(10).position(|name| name == b"libmpi.so.").expect("it is linked with MPI");
        let mut other = ours;
        other[place + 10..place + 12].copy_from_slice(b"99");
        let named = scratch.path().join("collrules-worker-libmpi.so.99");
        fs::write(&named, other).unwrap();
        fs::set_permissions(&named, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = bounded();
        prepare(&mut command);
        command.env("PATH", format!("{}:{}", scratch.path().display(), std::env::var("PATH").unwrap()));
        let found = Ran::from(command.arg("doctor").arg("--mpirun").arg(bin.join("mpirun")).output().unwrap());
        found.says("collrules-worker-libmpi.so.99");
    });
}

/// Parts that are missing to build a worker are named before cargo is started.
#[test]
fn workers_are_built_where_there_are_headers_and_sources() {
    let scratch = tempfile::tempdir().unwrap();
    let prefix = scratch.path().join("prefix");
    let build = |more: &[&str]| {
        let mut command = bounded();
        command.args(["worker", "build", "--for"]).arg(&prefix).args(more);
        Ran::from(command.output().unwrap())
    };
    build(&[]).exits(4);
    fs::create_dir_all(prefix.join("bin")).unwrap();
    let tool = |name: &str, text: &str| {
        fs::rename(script(scratch.path(), text), prefix.join("bin").join(name)).unwrap();
    };
    tool("mpirun", "echo 'mpirun (Open MPI) 5.0.11'");
    tool("ompi_info", &format!("echo \"path:$3:{}\"", prefix.display()));
    build(&[]).exits(3).complains("libopenmpi-dev");
    tool("mpicc", "exec cc \"$@\"");
    build(&[]).exits(3).complains("mpi.h");
    tool("mpicc", "exit 0");
    build(&["--source", "/nowhere"]).exits(3);
    // mpirun that does not start, as one whose libraries lie elsewhere.
    tool("mpirun", "echo \"$0: error while loading shared libraries: libopen-pal.so.80: cannot open\" >&2; exit 127");
    build(&[]).exits(4).complains("libopen-pal.so.80");
}

/// A worker with a fault, and a small campaign with it.
fn measure_with_fault(mpi: &OpenMpi, scratch: &Path, fault: &str, more: &str) -> (Ran, String) {
    let worker = mpi.worker();
    let script = script(scratch, &format!("exec {} --fault '{fault}'", worker.display()));
    let out = scratch.join("run");
    let arguments =
        "measure --ops bcast --np 4 --sizes 1K:4K --segments 1K --oversubscribe --launches 2 --hang-timeout 4s --out";
    let mut command = mpi.collrules(arguments, &out);
    command.args(more.split_whitespace()).arg("--worker").arg(script);
    let ran = Ran::from(command.output().unwrap());
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap_or_default();
    (ran, samples)
}

/// Whatever a candidate does, it is recorded, it alone is left out, and everything else is measured.
#[test]
#[ignore = "part of `make test-all`"]
fn candidates_that_fail_are_quarantined_and_the_campaign_goes_on() {
    alone_under_each_release(|mpi| {
        for (fault, reason) in [
            ("crash check bcast 4 2048 tuned:3/0/0/0", "its calls end the job: a rank was ended by SIGABRT"),
            ("crash time bcast 4 * tuned:5/0/1024/0", "its calls end the job: a rank was ended by SIGABRT"),
            ("hang time bcast 4 4096 tuned:5/0/0/0", "its calls hang: nothing was heard for 4 s"),
            ("wrong check bcast 4 1024 tuned:6/0/0/0", "wrong result"),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let (ran, samples) = measure_with_fault(mpi, scratch.path(), fault, "--budget none --calls 3");
            let ran = ran.exits(0);
            let culprit = fault.split_whitespace().last().unwrap();
            let disqualified: Vec<&str> = samples.lines().filter(|line| line.contains("disqualified")).collect();
            assert!(!disqualified.is_empty(), "{fault}\n{}", ran.stderr);
            for line in disqualified {
                assert!(line.contains(&format!(",{culprit},")) && line.contains(reason), "{fault}: {line}");
            }
            // Every other algorithm has times in every cell.
            for bytes in [1024, 2048, 4096] {
                for id in (1..=9).filter(|id| !culprit.starts_with(&format!("tuned:{id}/"))) {
                    let point = format!("bcast,4,{bytes},tuned:{id}/");
                    let timed = |line: &&str| line.contains(&point) && line.ends_with(',');
                    assert!(samples.lines().any(|line| timed(&line)), "{fault}: no time of {point}");
                }
            }
        }
    });
}

/// Without a time limit of the user's, a collective that hangs takes a part of the budget, and the others have the rest.
#[test]
#[ignore = "part of `make test-all`"]
fn a_collective_that_hangs_leaves_most_of_a_budget_to_the_others() {
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let worker = mpi.worker();
        let script = script(scratch.path(), &format!("exec {} --fault 'hang check bcast * * *'", worker.display()));
        let out = scratch.path().join("run");
        let arguments =
            "tune --ops bcast,allreduce --np 2 --sizes 1K:64K --oversubscribe --budget 60s --no-settings --out";
        let began = Instant::now();
        let ran = Ran::from(mpi.collrules(arguments, &out).arg("--worker").arg(script).output().unwrap());
        let seconds = began.elapsed().as_secs_f64();
        // On a busy machine nothing may be decided.
        assert!(matches!(ran.code, Some(0 | 13)) && seconds < 66.0, "{seconds} s\n{}", ran.stderr);
        ran.complains("left out bcast: its failing calls took too much time");
        for cell in findings(&out).cells {
            let is_timed = cell.points.iter().any(|point| point.gain.is_some_and(|gain| gain.samples >= 6));
            assert_eq!(is_timed, cell.cell.collective == Collective::Allreduce, "{}\n{}", cell.cell, ran.stderr);
        }
    });
}

/// A component that was switched on and that crashes by itself costs its own calls alone, also in a session that
/// resumes.
#[test]
#[ignore = "part of `make test-all`"]
fn a_component_whose_calls_crash_is_left_out_and_the_rest_is_measured() {
    under_one_release(|mpi| {
        if !mpi.is_before(6) {
            // It has no coll/sm; xhc crashes there by itself.
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let worker = mpi.worker().display().to_string();
        let on = "[ \"$OMPI_MCA_coll_sm_priority\" = 50 ]";
        let script = script(
            scratch.path(),
            &format!("{on} && exec {worker} --fault 'crash check bcast 4 4096 builtin'\nexec {worker}"),
        );
        let out = scratch.path().join("run");
        let arguments = "measure --ops bcast,allgather --np 4 --sizes 1K:4K --only bcast:binomial,allgather:ring \
                         --oversubscribe --launches 1 --budget none --calls 3 --hang-timeout 10s --out";
        let mut command = mpi.collrules(arguments, &out);
        command.args(["--mpirun-args", "--mca coll_sm_priority 50"]).arg("--worker").arg(&script);
        Ran::from(command.output().unwrap()).exits(0);
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["pins"]["coll_sm_priority"], "0");
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        assert!(!samples.contains("disqualified"), "{samples}");
        for point in ["bcast,4,4096,builtin", "bcast,4,4096,tuned:6/0/0/0", "allgather,4,4096,tuned:4/0/0/0"] {
            assert!(samples.contains(point), "{point}");
        }
        let mut command = bounded();
        prepare(&mut command);
        Ran::from(command.args(["measure", "--resume"]).arg(&out).output().unwrap()).exits(0);
    });
}

/// A pattern that ends jobs, or hangs, is left out like a candidate would be, and no candidate is blamed for it. It takes three
/// launches that fail, each of which waits for 4 s where it hangs.
#[test]
#[ignore = "part of `make test-all`"]
fn a_pattern_that_fails_is_blamed_alone() {
    let more = "--patterns --only bcast:chain --budget none --calls 3";
    // How releases end is tried with candidates.
    under_one_release(|mpi| {
        for (fault, culprit) in [
            ("crash time pattern:rotation 4 2048 *", "pattern:rotation,4,2048,ranks:0-3"),
            ("hang time pattern:pingpong 2 4096 *", "pattern:pingpong,2,4096,ranks:0+1"),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let (ran, samples) = measure_with_fault(mpi, scratch.path(), fault, more);
            let ran = ran.exits(0);
            let timed = |line: &&str| line.ends_with(',');
            let rows = || samples.lines().skip(2);
            // A candidate may be dropped for being slow all the same.
            let ended: Vec<&str> = rows().filter(|line| !timed(line) && !line.contains(",dropped: ")).collect();
            assert!(!ended.is_empty(), "{fault}: nothing is left out\n{}", ran.stderr);
            assert!(ended.iter().all(|line| line.contains(culprit)), "{fault}: {ended:#?}");
            assert!(!rows().any(|line| line.contains(culprit) && timed(&line)), "{fault}: it was timed");
            for point in [
                "bcast,4,2048,builtin",
                "bcast,4,4096,tuned:2/4/0/0",
                "pattern:rotation,4,1024",
                "pattern:pingpong,2,0",
            ] {
                assert!(rows().any(|line| line.contains(point) && timed(&line)), "{fault}: no time of {point}");
            }
        }
    });
}

/// With a radix of 1, Open MPI's bcast knomial builds its tree for ever (4.1.4 and 5.0.11).
#[test]
#[ignore = "part of `make test-all`"]
fn a_candidate_that_hangs_inside_open_mpi_is_left_out_of_the_rules() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let arguments = "tune --verbose --ops bcast --np 4 --sizes 2K --oversubscribe --budget none --calls 3 \
                         --launches 2 --hang-timeout 4s --refine 0 --no-validate --out";
        let mut command = mpi.collrules(arguments, &out);
        command.args(["--mpirun-args", "--mca coll_tuned_bcast_algorithm_knomial_radix 1"]);
        Ran::from(command.output().unwrap()).exits(0);
        let knomial = Candidate::Tuned(Choice::plain(7));
        let failed = |cell: &CellFinding| cell.disqualified.iter().any(|(candidate, _)| *candidate == knomial);
        assert!(findings(&out).cells.iter().all(failed));
    });
}

/// A launcher that does not listen, and has children that don't either.
#[test]
#[ignore = "part of `make test-all`"]
fn a_launcher_that_ignores_the_end_is_killed_with_all_its_processes() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let pids = scratch.path().join("pids");
        let text = format!(
            "[ \"$1\" = --version ] && exec {} --version\ntrap '' TERM HUP INT\n\
             sh -c 'echo $$ >>{pids}; while :; do sleep 1; done' &\necho $$ >>{pids}; while :; do sleep 1; done",
            mpi.mpirun.display(),
            pids = pids.display(),
        );
        let launcher = script(scratch.path(), &text);
        let mut command = bounded();
        command.args(["tune", "--np", "2", "--hang-timeout", "1s", "--out"]).arg(scratch.path().join("run"));
        Ran::from(command.arg("--mpirun").arg(launcher).output().unwrap()).exits(5);
        let pids = fs::read_to_string(pids).unwrap();
        // Two starts, since one that hangs is tried once more, with two processes each.
        assert_eq!(pids.lines().count(), 4);
        for pid in pids.lines() {
            assert!(!is_alive(pid.parse().unwrap()), "{pid} is left");
        }
    });
}

#[test]
#[ignore = "part of `make test-all`"]
fn a_builtin_that_fails_costs_its_cell_alone() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (ran, samples) =
            measure_with_fault(mpi, scratch.path(), "exit time bcast 4 2048 builtin", "--budget none --calls 3");
        ran.exits(0);
        let disqualified: Vec<&str> = samples.lines().filter(|line| line.contains("disqualified")).collect();
        assert_eq!(disqualified.len(), 1, "{disqualified:?}");
        assert!(disqualified[0].contains("bcast,4,2048,builtin,"), "{}", disqualified[0]);
        assert!(samples.contains("bcast,4,1024,builtin,") && samples.contains("bcast,4,4096,builtin,"));
    });
}

#[test]
#[ignore = "part of `make test-all`"]
fn when_a_rank_or_mpirun_dies_or_stops_the_campaign_goes_on_by_itself() {
    under_each_release(|mpi| {
        for (signal, launcher) in [("SEGV", false), ("STOP", true), ("KILL", true)] {
            let scratch = tempfile::tempdir().unwrap();
            let mut run = Running::start(mpi, scratch.path(), 1);
            run.await_samples(100);
            let before = run.text();
            let jobs = run.descendants();
            let victim = if launcher { run.launcher() } else { run.rank() };
            kill(victim.expect("there is a job"), signal);
            wait_for("more samples in another launch", || {
                !run.is_running() || run.text().lines().any(|line| line.starts_with("1,"))
            });
            run.complete();
            assert!(run.text().starts_with(&before), "something was lost");
            run.check_samples();
            wait_for("the end of the first job", || !jobs.iter().any(|process| process.is_alive()));
        }
    });
}

#[test]
#[ignore = "part of `make test-all`"]
fn when_the_controller_dies_the_job_ends_and_the_run_is_gone_on_with() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut run = Running::start(mpi, scratch.path(), 2);
        run.await_samples(100);
        let jobs = run.descendants();
        assert!(jobs.len() >= 3, "{jobs:?}");
        // One that is stopped hears nothing, and goes all the same.
        kill(run.rank().expect("there is a job"), "STOP");
        kill(run.pid(), "KILL");
        run.wait();
        wait_for("the end of the job", || !jobs.iter().any(|process| process.is_alive()));
        let before = run.text();
        assert!(run.samples() > 100);
        // A line that was cut in the middle goes, and no other.
        fs::write(run.out.join("samples.csv"), format!("{before}0,9,1,bca")).unwrap();
        run.resume();
        run.complete();
        assert!(run.text().starts_with(&before), "something was lost");
        run.check_samples();
        // The grid is done: another session adds what narrows crossovers at most, and makes rules of it.
        let measured = run.text();
        let ran = Ran::from(run.collrules("tune").args(["--no-validate", "--budget", "20s"]).output().unwrap());
        // On a busy machine nothing may be decided.
        assert!(matches!(ran.code, Some(0 | 13)), "{}", ran.stderr);
        assert!(run.text().starts_with(&measured) && run.out.join("report.html").is_file());
    });
}

/// An mpirun that was stopped before its ranks came up hears nothing any more; it goes with its controller all the same.
#[test]
fn when_the_controller_dies_a_job_that_never_came_up_ends_as_well() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut run = Running::start(mpi, scratch.path(), 1);
        let mut launcher = None;
        wait_for("a job", || {
            let starts =
                |process: &Process| process.command.contains("run ") && process.command.contains("collrules-worker");
            launcher = run.descendants().into_iter().find(starts);
            launcher.is_some()
        });
        kill(launcher.unwrap().pid, "STOP");
        let jobs = run.descendants();
        kill(run.pid(), "KILL");
        run.wait();
        wait_for("the end of all jobs", || !jobs.iter().any(Process::is_alive));
    });
}

#[test]
fn who_asks_for_the_end_gets_it_in_order() {
    under_each_release(|mpi| {
        // Shells keep INT from what they start in the background, and so from what that starts.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored =
            status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        let hears_int = ignored.is_none_or(|mask| mask & 0b10 == 0);
        for signal in ["INT", "TERM"].into_iter().filter(|signal| hears_int || *signal != "INT") {
            let scratch = tempfile::tempdir().unwrap();
            let mut run = Running::start(mpi, scratch.path(), 3);
            run.await_samples(100);
            let jobs = run.descendants();
            kill(run.pid(), signal);
            let ran = run.wait().exits(5);
            ran.complains(&format!("collrules measure --resume {}", run.out.display()));
            assert!(!jobs.iter().any(|process| process.is_alive()), "{jobs:?}");
            let mut names: Vec<_> = fs::read_dir(&run.out)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, ["clock.jsonl", "launches.jsonl", "manifest.json", "samples.csv"]);
            collrules("analyze", &run.out).exits(0);
        }
    });
}

#[test]
#[ignore = "part of `make test-all`"]
fn two_controllers_do_not_share_a_directory() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut run = Running::start(mpi, scratch.path(), 4);
        run.await_samples(10);
        Ran::from(run.collrules("measure").output().unwrap()).exits(6);
        assert!(run.is_running());
        kill(run.pid(), "KILL");
        run.wait();
        // The lock of who is gone does not block.
        run.resume();
        run.complete();
        run.check_samples();
    });
}

#[test]
fn another_system_does_not_go_on_with_a_run() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut run = Running::start(mpi, scratch.path(), 5);
        run.await_samples(10);
        kill(run.pid(), "TERM");
        run.wait().exits(5);
        let manifest = fs::read_to_string(run.out.join("manifest.json")).unwrap();
        let other = manifest.replace(&format!("\"version\": \"{}\"", mpi.version), "\"version\": \"5.0.99\"");
        assert_ne!(manifest, other);
        fs::write(run.out.join("manifest.json"), other).unwrap();
        crate::reseal::reseal(&run.out);
        Ran::from(run.collrules("measure").output().unwrap()).exits(4).complains("5.0.99");
        fs::write(run.out.join("manifest.json"), &manifest).unwrap();
        crate::reseal::reseal(&run.out);
        let mut command = run.collrules("measure");
        let ran = Ran::from(command.env("OMPI_MCA_coll_basic_priority", "11").output().unwrap()).exits(4);
        ran.complains("coll_basic_priority=11");
        Ran::from(run.collrules("measure").args(["--np", "3"]).output().unwrap()).exits(2);
    });
}

/// A limit on the size of files fails as a full disk does: some bytes are taken, the rest is refused.
#[test]
#[ignore = "part of `make test-all`"]
fn a_full_disk_loses_nothing_that_was_written() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let limited = format!(
        "ulimit -f 512; exec {} measure --simulate --np 4,8 --out {}",
        env!("CARGO_BIN_EXE_collrules"),
        out.display()
    );
    let mut command = Command::new("bash");
    prepare(&mut command);
    let ran = Ran::from(command.args(["-c", &limited]).output().unwrap()).exits(5);
    ran.complains("collrules measure --resume");
    let before = fs::read_to_string(out.join("samples.csv")).unwrap();
    assert!(before.len() > 32 << 10 && before.ends_with('\n'), "{}", before.len());
    let mut command = bounded();
    Ran::from(command.args(["tune", "--resume"]).arg(&out).output().unwrap()).exits(0);
    assert!(out.join("report.html").is_file());
    assert!(fs::read_to_string(out.join("samples.csv")).unwrap().starts_with(&before));
}

/// Tunings whose disk is full at any moment after their measurements, and which go on when it has space again, end as if it had
/// never been full: the same files for jobs, the same settings and verdicts.
#[test]
fn a_full_disk_changes_no_result() {
    const MEASURE: &str = "measure --simulate=settings --simulated-ppn 2 --simulated-slots 4 --np 2:4 --refine 0 \
                           --ops bcast,allreduce --sizes 4K:64K --budget none --only-settings --setting smsc=^cma --out";
    let scratch = tempfile::tempdir().unwrap();
    let (out, measured) = (scratch.path().join("run"), scratch.path().join("measured"));
    let text = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let results = || {
        let state: serde_json::Value = serde_json::from_str(&text("state.json")).unwrap();
        let cells = |step: &serde_json::Value| step["evidence"]["found"]["round"]["cells"].as_array().cloned();
        let cells = state["steps"].as_array().unwrap().iter().filter_map(cells).flatten();
        let verdicts: Vec<String> =
            cells.map(|it| format!("{} {} {}", it["cell"], it["in_use"], it["verdict"])).collect();
        let files = ["rules.conf", "env.sh", "mca-params.conf"].map(text);
        (files, verdicts, state["settings"]["chosen"].clone(), state["reverted"].clone())
    };
    // Files name the place of their run.
    let begin_again = || {
        let _ = fs::remove_dir_all(&out);
        assert!(Command::new("cp").arg("-r").args([&measured, &out]).status().unwrap().success());
    };
    collrules(MEASURE, &out).exits(0);
    fs::rename(&out, &measured).unwrap();
    begin_again();
    collrules("tune --resume", &out).exits(0);
    let expected = results();
    assert!(expected.2.is_number() && !expected.1.is_empty());
    let largest = fs::metadata(out.join("comparison.jsonl")).unwrap().len();
    let mut full = 0;
    for share in 0..12 {
        begin_again();
        // In units of 512 bytes.
        let limit = 1 + largest * share / 12 / 512;
        let limited = || {
            let program = env!("CARGO_BIN_EXE_collrules");
            let text =
                format!("trap '' XFSZ; ulimit -f {limit}; exec timeout 60 {program} tune --resume {}", out.display());
            let mut command = Command::new("sh");
            prepare(&mut command);
            Ran::from(command.args(["-c", &text]).output().unwrap())
        };
        full += u32::from(limited().code != Some(0));
        limited();
        collrules("tune --resume", &out).exits(0);
        assert!(results() == expected, "files of at most {limit} blocks");
    }
    assert!(full > 5, "{full}");
}

/// Permissions do not bind root, but a file system that is mounted for reading only does.
#[test]
fn a_directory_that_cannot_be_written_is_named_and_nothing_is_lost() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let measure = "measure --simulate --ops bcast,scatter,barrier --np 4 --sizes 1:1K";
    let mut command = bounded();
    command.args(measure.split_whitespace()).arg("--out").arg(&out);
    Ran::from(command.output().unwrap()).exits(0);
    let before = fs::read_to_string(out.join("samples.csv")).unwrap();

    let read_only = |arguments: &str| {
        let text = format!(
            "mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}' || exit 99; exec {1} {arguments}",
            scratch.path().display(),
            env!("CARGO_BIN_EXE_collrules"),
        );
        let mut command = Command::new("unshare");
        prepare(&mut command);
        Ran::from(command.args(["--mount", "sh", "-c", &text]).output().unwrap())
    };
    let other = scratch.path().join("other");
    let ran = read_only(&format!("{measure} --out {}", other.display()));
    if ran.code == Some(99) || ran.stderr.contains("unshare") {
        return skip(&format!("nothing can be mounted here: {}", ran.stderr.trim()));
    }
    ran.exits(6).complains(&format!("{}: Read-only file system", other.display()));
    let ran = read_only(&format!("tune --resume {}", out.display())).exits(6);
    ran.complains("Read-only file system");
    assert_eq!(fs::read_to_string(out.join("samples.csv")).unwrap(), before);
    collrules("tune --resume", &out).exits(0);
}

#[test]
fn programs_can_follow_and_plans_can_be_listed() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let ran =
        collrules("tune --simulate --np 4 --ops bcast --sizes 1K:64K --refine 0 --no-validate --json --out", &out)
            .exits(0);
    let events: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((events[0]["event"].as_str(), events[0]["cells"].as_u64()), (Some("started"), Some(7)));
    assert_eq!((named("launch"), named("launch_ended"), named("measured"), named("concluded")), (3, 3, 1, 1));
    let visited = events.iter().find(|event| event["event"] == "visited").unwrap();
    for field in ["launch", "collective", "comm_size", "message_bytes", "visit", "rounds", "done", "left_s"] {
        assert!(!visited[field].is_null(), "{field} is not in {visited}");
    }
    let plan =
        |arguments: &str| Ran::from(bounded().args(arguments.split_whitespace()).output().unwrap()).exits(0).stdout;
    assert_eq!(
        plan("plan --simulate --ops bcast,scatter,barrier --np 4"),
        plan("plan --simulate --ops bcast,scatter,barrier --np 4")
    );
}

/// A library that flips a byte once left a line on stderr, and no trace in result and exit code.
#[test]
fn wrong_data_of_the_default_is_in_results_and_exit_codes() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let faulty = format!("exec {} --fault 'wrong check * 2 64 builtin'", mpi.worker().display());
        let worker = script(scratch.path(), &faulty);
        let definition = scratch.path().join("study.toml");
        let text = "title = \"t\"\nquestion = \"q\"\nnp = [2]\nsizes = \"64,256\"\nlaunches = 2\nbudget = \"10s\"\n[algorithms]\nbcast = [\"basic_linear\"]\n";
        fs::write(&definition, text).unwrap();
        let calls = "--np 2 --sizes 64,256 --calls 3 --budget none";
        for (command, result) in [
            (format!("lab guidelines --ops bcast {calls}"), "guidelines.json"),
            (format!("lab irregular --ops gather {calls}"), "irregular.json"),
            (format!("lab study {}", definition.display()), "study.json"),
        ] {
            let out = scratch.path().join(result);
            let mut command = mpi.collrules(&format!("{command} --oversubscribe --out"), &out);
            let ran = Ran::from(command.arg("--worker").arg(&worker).output().unwrap()).exits(1);
            ran.says("WRONG: the default itself failed, and was left out, for");
            let found: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(out.join(result)).unwrap()).unwrap();
            let failed = match result {
                "study.json" => &found["cells"][0]["disqualified"][0][1],
                _ => &found["default_failed"][0][1],
            };
            assert_eq!(failed, "wrong result", "{found}");
        }
    });
}
