//! Jobs that live at the same time and take turns.

use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::comparison::ArmLaunch;
use collrules_record::rundir::{ComparisonLog, RunDir};

use crate::faults::script;
use crate::running::{Process, Running, kill, wait_for};
use crate::support::{OpenMpi, Ran, alone_under_each_release, under_each_release};

/// A rule for bcast on two ranks, which changes little.
fn rules(directory: &Path) -> PathBuf {
    let path = directory.join("rules.conf");
    fs::write(&path, "1\n7\n1\n2 2\n0 1 0 0\n1024 2 0 0\n").unwrap();
    path
}

/// Compares these rules in a few blocks, with this worker if there is one, and returns the log.
fn compare(mpi: &OpenMpi, scratch: &Path, worker: Option<PathBuf>) -> (Ran, Vec<ArmLaunch>) {
    let out = scratch.join("out");
    // Jobs that crash or run one after the other take more time.
    let budget = if worker.is_some() { "40s" } else { "20s" };
    let asked = format!("validate --np 2 --ops bcast --sizes 8,1K --pairs 4 --budget {budget} --out");
    let mut command = mpi.collrules(&asked, &out);
    command.arg(rules(scratch)).args(["--hang-timeout", "20s"]);
    if let Some(worker) = worker {
        command.arg("--worker").arg(worker);
    }
    let ran = Ran::from(command.output().unwrap());
    let log = ComparisonLog::open(&RunDir::derived(&out).unwrap()).unwrap();
    (ran, log.launches().to_vec())
}

/// Alone, since a budget of 20 s leaves a job 2 s of silence.
#[test]
fn jobs_take_turns_and_sleep_in_between() {
    alone_under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (ran, launches) = compare(mpi, scratch.path(), None);
        assert!(launches.len() >= 5, "two blocks, the first with a control: {}\n{}", launches.len(), ran.stderr);
        for launch in &launches {
            assert_eq!((&launch.apart, launch.outcome.as_ref().err()), (&None, None), "{}", ran.stderr);
        }
        let blocks = launches.iter().map(|launch| launch.block).max().unwrap() + 1;
        let controls = launches.iter().filter(|launch| launch.arm.is_empty()).count() as u32 - blocks;
        assert_eq!(controls, blocks.div_ceil(4));
        for launch in &launches {
            assert!(launch.asleep.is_some(), "{launch:?}");
            assert!(launch.outcome.iter().flatten().all(|timed| timed.turns >= 2 && timed.calls >= 1), "{launch:?}");
        }
    });
}

/// A rank with a thread that polls, such as one of a network's library.
#[test]
fn jobs_that_poll_while_they_sleep_run_one_after_the_other() {
    alone_under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let worker = script(scratch.path(), &format!("exec {} --fault 'poll time * * * *'", mpi.worker().display()));
        let (ran, launches) = compare(mpi, scratch.path(), Some(worker));
        assert!(!launches.is_empty(), "{}", ran.stderr);
        assert!(launches.iter().all(|launch| launch.apart.is_some()), "{launches:?}");
    });
}

/// Only jobs with the rules crash: their rule is lost, and the rest is compared.
#[test]
#[ignore = "part of `make test-all`"]
fn a_call_that_crashes_with_the_rules_loses_its_rule_alone() {
    alone_under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (worker, fault) = (mpi.worker(), "--fault 'crash time bcast * 1024 *'");
        let own = "[ -n \"$OMPI_MCA_coll_tuned_dynamic_rules_filename\" ]";
        let text = format!("{own} && exec {} {fault}\nexec {}", worker.display(), worker.display());
        let (_, launches) = compare(mpi, scratch.path(), Some(script(scratch.path(), &text)));
        let is_timed = |bytes: u64, launch: &ArmLaunch| {
            let mut times = launch.outcome.iter().flatten();
            times.any(|timed| timed.subject.cell().is_some_and(|cell| cell.bytes.0 == bytes))
        };
        let with: Vec<&ArmLaunch> = launches.iter().filter(|launch| !launch.arm.is_empty()).collect();
        assert!(with.iter().any(|launch| launch.outcome.is_err()), "{with:?}");
        assert!(with.iter().any(|launch| is_timed(8, launch)) && !with.iter().any(|launch| is_timed(1024, launch)));
        assert!(launches.iter().any(|launch| launch.arm.is_empty() && launch.outcome.is_ok()));
    });
}

/// Whether the controller is asked to end or killed: no process of the two jobs is left.
#[test]
#[ignore = "part of `make test-all`"]
fn no_process_is_left_of_jobs_that_take_turns() {
    under_each_release(|mpi| {
        for signal in ["TERM", "KILL"] {
            let scratch = tempfile::tempdir().unwrap();
            let mut run = Running::compare(mpi, scratch.path(), &rules(scratch.path()));
            let is_rank =
                |process: &Process| process.command.starts_with('/') && process.command.contains("/collrules-worker");
            wait_for("two jobs", || run.descendants().iter().filter(|it| is_rank(it)).count() >= 4);
            let jobs = run.descendants();
            kill(run.pid(), signal);
            run.wait();
            wait_for("the end of all jobs", || !jobs.iter().any(Process::is_alive));
        }
    });
}
