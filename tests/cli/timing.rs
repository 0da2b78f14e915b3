//! Timing of calls: synchronisation, common clock, what the harness adds, memory, and predictions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use collrules_record::RunDir;
use collrules_record::clock::{ClockCheck, ClockFact, ClockLine, Harness, LaunchEnd};

use crate::support::{OpenMpi, Ran, alone_under_each_release, alone_under_one_release, collrules, under_each_release};

fn tune(mpi: &OpenMpi, out: &Path, arguments: &str, worker: Option<&Path>) -> Vec<ClockLine> {
    let mut command = mpi.collrules(&format!("tune --oversubscribe {arguments} --out"), out);
    worker.into_iter().for_each(|worker| {
        command.arg("--worker").arg(worker);
    });
    Ran::from(command.output().unwrap()).exits(0);
    RunDir::open(out).unwrap().clock().unwrap()
}

fn harness(lines: &[ClockLine]) -> Vec<&Harness> {
    lines.iter().filter_map(|line| if let ClockFact::Harness(it) = &line.fact { Some(it) } else { None }).collect()
}

fn checks(lines: &[ClockLine]) -> Vec<&ClockCheck> {
    lines.iter().filter_map(|line| if let ClockFact::Check(it) = &line.fact { Some(it) } else { None }).collect()
}

fn ends(lines: &[ClockLine]) -> Vec<&LaunchEnd> {
    lines.iter().filter_map(|line| if let ClockFact::End(it) = &line.fact { Some(it) } else { None }).collect()
}

/// The bound is that of the harness, not of the machine: tests share the processors, and a mean would too.
#[test]
fn the_harness_says_what_it_adds_and_that_is_little() {
    alone_under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let lines = tune(
            mpi,
            &out,
            "--ops bcast --np 2 --sizes 1 --budget none --calls 30 --launches 2 --refine 0 --no-validate",
            None,
        );
        assert_eq!((harness(&lines).len(), ends(&lines).len()), (2, 2), "{lines:?}");
        for found in harness(&lines) {
            assert!(found.turn.0 > 0.0 && found.turn.0 < 1e-6, "{found:?}");
            assert!(found.empty_call.0 > 0.0 && found.empty_call < found.turn, "{found:?}");
            assert!(found.step.0 > 0.0 && found.exit_skew.0 >= 0.0, "{found:?}");
            assert_eq!(found.clocks, 1, "ranks of one host share a clock");
        }
        let report = fs::read_to_string(out.join("report.md")).unwrap();
        assert!(report.contains("overhead per timed call"), "{report}");
    });
}

/// Ranks in time namespaces of their own, whose clocks are hours apart: the difference is found, and calls begin and end
/// on one clock all the same. Two such clocks are one in truth, so that whatever a check finds is an error.
#[test]
fn clocks_that_are_hours_apart_are_set_by_one() {
    let can = std::process::Command::new("unshare").args(["--time", "--monotonic", "9", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        crate::support::skip("this user cannot make time namespaces");
        return;
    }
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let worker = scratch.path().join("worker");
        let script = format!(
            "#!/bin/sh\nexec unshare --time --monotonic $((3600 * OMPI_COMM_WORLD_RANK)) {}\n",
            shell_quoted(&mpi.worker())
        );
        fs::write(&worker, script).unwrap();
        fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
        // 5.0's shared memory and PMIx live across namespaces; only clocks differ.
        let out = scratch.path().join(format!("run-{}", mpi.version));
        let arguments = "--ops bcast --np 2 --sizes 1,4K --budget none --calls 12 --launches 1 --sync roundtime \
                         --refine 0 --no-validate";
        let lines = tune(mpi, &out, arguments, Some(&worker));
        assert_eq!(harness(&lines)[0].clocks, 2);
        let found = checks(&lines);
        // An hour is what it would be without; a processor that is shared delays some messages by milliseconds.
        assert!(!found.is_empty() && found.iter().all(|check| check.error.0 < 0.01), "{found:?}");
        let mut errors: Vec<f64> = found.iter().map(|check| check.error.0 - check.uncertainty.0).collect();
        errors.sort_unstable_by(f64::total_cmp);
        assert!(errors[0] < 1e-4, "{found:?}");
        assert!(found.iter().all(|check| check.set_anew == (check.error.0 > check.bound.0 + check.uncertainty.0)));
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        let times: Vec<f64> = samples.lines().skip(2).filter_map(|line| line.split(',').nth(7)?.parse().ok()).collect();
        assert!(times.len() > 10 && times.iter().all(|time| *time > 0.0 && *time < 1.0), "{} samples", times.len());
    });
}

fn shell_quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// 24 segment sizes make more than 150 candidates of a cell: more communicators are made than are ever kept, and memory
/// stays where it was.
#[test]
#[ignore = "part of `make test-all`"]
fn memory_is_bounded_whatever_the_number_of_candidates() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let segments: Vec<String> = (1..=24).map(|step| (64 * step).to_string()).collect();
        let segments = segments.join(",");
        let arguments = format!(
            "--ops bcast,scatter,barrier --np 3,4 --sizes 2K,4K --budget none --calls 2 --refine 0 --no-validate \
             --launches 1 --buffers reuse --segments {segments}"
        );
        let lines = tune(mpi, &out, &arguments, None);
        let (start, end) = (harness(&lines)[0], ends(&lines)[0]);
        assert!(end.communicators > end.most_communicators, "{end:?}");
        // At most as many as one cell needs, per communicator size.
        assert!(end.most_communicators < 400, "{end:?}");
        let (Some(before), Some(after)) = (start.resident, end.resident) else { panic!("{start:?} {end:?}") };
        assert!(after < before + (64 << 20), "{before} bytes before, {after} after");
    });
}

/// Exactly so many calls of each candidate in each launch, however clear the decision is.
#[test]
fn calls_are_as_many_as_are_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let arguments =
        "measure --simulate --ops bcast,barrier --np 4,8 --sizes 8,64K --launches 2 --calls 7 --budget none --out";
    collrules(arguments, &out).exits(0);
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
    let mut calls = std::collections::BTreeMap::new();
    for line in samples.lines().skip(2) {
        let fields: Vec<&str> = line.split(',').collect();
        // Launch, collective, ranks, bytes and candidate.
        *calls.entry([fields[0], fields[3], fields[4], fields[5], fields[6]]).or_insert(0) += 1;
    }
    assert!(calls.len() > 2 * 2 * (2 * 10 + 6), "{}", calls.len());
    assert!(calls.values().all(|count| *count == 7), "{calls:?}");
    collrules("measure --simulate --ops bcast,scatter,barrier --calls 1 --out", &scratch.path().join("other"))
        .exits(2)
        .complains("1 is not in 2..");
}

#[test]
fn a_dry_run_foresees_the_time_without_measuring_all() {
    let nowhere = Path::new("/nonexistent/run");
    let ran = collrules("plan --simulate --ops bcast,scatter,barrier --np 2,8 --budget none --out", nowhere).exits(0);
    ran.says("a rough estimate from calls of the default for");
    ran.says("All times are simulated");
    let ran = collrules("plan --simulate --ops bcast,scatter,barrier --np 2,8 --budget 2s --out", nowhere).exits(0);
    ran.says("With --budget none it would take about");
    under_each_release(|mpi| {
        let arguments = "plan --ops bcast --np 2 --sizes 1:4K --budget none --oversubscribe --out";
        Ran::from(mpi.collrules(arguments, nowhere).output().unwrap())
            .exits(0)
            .says("a rough estimate from calls of the default for 2 sizes");
    });
}
