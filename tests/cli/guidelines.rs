//! Checks of guidelines on real Open MPI, and every mock-up on real data. `crates/lab/tests` has those in simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use collrules_lab::guidelines::found::{Checked, Cure};
use collrules_program::CollectiveCall;
use collrules_program::mockup::MockupPattern;
use collrules_record::grid::Mockups;
use collrules_record::placement::UnevenNodes;
use collrules_record::plan::Schedule;
use collrules_record::{Bytes, Candidate, Cell, Even, Layout, Mockup, Nodes, Placement, Ranks, Seconds};
use collrules_rules::Collective;
use collrules_runner::Backend;
use collrules_runner::grid::select;
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend};
use collrules_runner::wire::WorkerEvent;

use crate::support::{OpenMpi, Ran, alone_under_one_release, no_networks, under_each_release, under_one_release};

fn checked(directory: &Path) -> Checked {
    serde_json::from_str(&fs::read_to_string(directory.join("guidelines.json")).unwrap()).unwrap()
}

/// Forced algorithms are many times as fast as the default, and several times as fast as any mock-up.
#[test]
#[ignore = "part of `make test-all`"]
fn a_slow_default_is_found_although_its_cure_is_faster_than_the_mockups() {
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (shim, out) = (scratch.path().join("libslow.so"), scratch.path().join("check"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/slow.c");
        let compiled = std::process::Command::new(mpi.compiler("mpicc"))
            .args(["-shared", "-fPIC", "-o"])
            .arg(&shim)
            .arg(source)
            .status();
        if !compiled.is_ok_and(|status| status.success()) {
            return crate::support::skip("no mpicc that makes a slow library");
        }
        let check = "lab guidelines --ops allreduce --np 2 --sizes 64K --budget 30s --out";
        let mut command = mpi.collrules(check, &out);
        command.args(["--mpirun-args", &format!("-x LD_PRELOAD={}", shim.display())]);
        Ran::from(command.output().unwrap()).exits(9);
        let cell = &checked(&out).cells[0];
        let severity = cell.severity.unwrap();
        let cure = cell.violation.as_ref().map(|violation| &violation.cure);
        assert!(matches!(cure, Some(Cure::Rule { .. })) && severity.low.unwrap() > 0.05, "{cure:?} {severity:?}");
    });
}

/// All mock-ups at two odd sizes on 2 to 5 ranks, whose calls are cut down as the fault says.
fn check(mpi: &OpenMpi, scratch: &Path, fault: Option<&str>, ranks: &str) -> Checked {
    let worker = mpi.worker();
    let out = scratch.join("check");
    let arguments = format!(
        "lab guidelines --np {ranks} --oversubscribe --sizes 20,2052 --no-remedies --launches 1 --budget none --calls \
         3 --out"
    );
    let mut command = mpi.collrules(&arguments, &out);
    if let Some(fault) = fault {
        let script = crate::faults::script(scratch, &format!("exec {} --fault '{fault}'", worker.display()));
        command.arg("--worker").arg(script);
    }
    let ran = Ran::from(command.output().unwrap());
    assert!(out.join("guidelines.json").exists(), "{}", ran.stderr);
    checked(&out)
}

#[test]
#[ignore = "part of `make test-all`"]
fn every_mockup_is_right_on_real_data() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let found = check(mpi, scratch.path(), None, "2,3,4,5");
        // 13 collectives at 2 sizes, and barrier, on 4 communicator sizes.
        assert_eq!(found.cells.len(), 4 * (2 * 13 + 1));
        for cell in &found.cells {
            assert_eq!(cell.failed, [], "{}", cell.cell);
            assert!(!cell.mockups.is_empty(), "{}", cell.cell);
        }
    });
}

/// A crash in a mock-up, checked or timed, without a rules file or under it, blames it alone.
#[test]
#[ignore = "part of `make test-all`"]
fn a_crash_in_a_mockup_blames_it_alone() {
    // What each release does when a rank dies, tests of faults show.
    under_one_release(|mpi| {
        for (fault, culprit) in [
            ("crash time bcast 3 2048 mockup:allgatherv", "mockup:allgatherv"),
            ("crash check bcast 3 2048 split:4", "split:4"),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let out = scratch.path().join("check");
            let rules = scratch.path().join("rules.conf");
            fs::write(&rules, "1\n7\n3\n3 1\n0 6 0 0\n4 1\n0 6 0 0\n4 1\n0 0 0 0\n").unwrap();
            let worker = mpi.worker();
            let script = crate::faults::script(scratch.path(), &format!("exec {} --fault '{fault}'", worker.display()));
            let arguments = format!(
                "lab guidelines --ops bcast,barrier --np 3 --oversubscribe --sizes 2K,4K --no-remedies --launches 1 \
                 --budget none --calls 3 --hang-timeout 4s --rules {} --out",
                rules.display()
            );
            let ran = Ran::from(mpi.collrules(&arguments, &out).arg("--worker").arg(script).output().unwrap());
            assert!(ran.code == Some(0) || ran.code == Some(9), "{}", ran.stderr);
            let found = checked(&out);
            let under = found.under_rules.as_ref().unwrap();
            for cell in found.cells.iter().chain(&under.cells) {
                for (mockup, why) in &cell.failed {
                    assert_eq!(mockup.to_string(), culprit, "{}: {why}", cell.cell);
                    assert!(why.contains("its calls end the job"), "{why}");
                }
                // All others have times; those of the culprit are not wanted in other sizes either.
                let timed: Vec<String> = cell.mockups.iter().map(|found| found.mockup.to_string()).collect();
                let others = ["mockup:scatter+allgather", "mockup:scatterv+allgatherv", "split:4+barrier"];
                let wanted = others.iter().filter(|_| cell.cell.collective == Collective::Bcast);
                for other in wanted {
                    assert!(timed.iter().any(|it| it == other), "{fault}: {other} of {} has no time", cell.cell);
                }
            }
            let failed = found.cells.iter().filter(|cell| !cell.failed.is_empty()).count();
            assert!(failed > 0, "{fault}: {}", ran.stderr);
        }
    });
}

/// Returns the failures of the mock-ups of nodes, in a job whose ranks are taken to be on these nodes, with this
/// fault.
fn of_nodes(mpi: &OpenMpi, scratch: &Path, fault: Option<&str>) -> Vec<(Cell, Mockup, Option<String>)> {
    let mut worker = mpi.worker();
    if let Some(fault) = fault {
        worker = crate::faults::script(scratch, &format!("exec {} --fault '{fault}'", worker.display()));
    }
    let wishes = LauncherOptions {
        mpirun: Some(mpi.mpirun.clone()),
        worker: Some(worker),
        arguments: no_networks(),
        oversubscribe: true,
        patience: Duration::from_secs(60),
        ..LauncherOptions::default()
    };
    let mut backend = MpiBackend::new(Launcher::find(&wishes).unwrap(), Layout::Block);
    let nodes = BTreeMap::from([(Ranks(4), Nodes(vec![2, 2])), (Ranks(6), Nodes(vec![2, 2, 2]))]);
    let placement = Placement { nodes, ..Placement::default() };
    let mockups = [MockupPattern::Hier, MockupPattern::Lane].map(Mockup::Pattern);
    let mut cells = Vec::new();
    for collective in Collective::ALL {
        for (ranks, bytes) in [(4, 4), (4, 2052), (6, 20)] {
            let bytes = if collective.has_sizes() { Bytes(bytes) } else { Bytes(0) };
            let cell = Cell { collective, ranks: Ranks(ranks), bytes };
            let even = placement.even(cell.ranks).ok_or(UnevenNodes::OneNode);
            let (only, pieces, max_extra_memory) = (mockups.to_vec(), Vec::new(), Bytes(u64::MAX));
            let wanted = Mockups { only, pieces, max_extra_memory, remedies: false };
            let own = select(cell, &wanted, &[], even).0.into_iter().map(Candidate::Mockup);
            let candidates: Vec<Candidate> = std::iter::once(Candidate::Builtin).chain(own).collect();
            if candidates.len() > 1 {
                cells.push(LaunchCell::new(cell, candidates));
            }
        }
    }
    let schedule = Schedule { max_rounds: 1, min_rounds: 1, budget: Some(Seconds(0.0)), ..Schedule::default() };
    let plan = LaunchPlan { placement, ..LaunchPlan::new(cells, schedule, 1) };
    let (mut failed, mut timed) = (BTreeMap::new(), BTreeSet::new());
    let mut see = |event| {
        match event {
            WorkerEvent::Disqualified { cell, candidate, why } => drop(failed.insert((cell, candidate), why)),
            WorkerEvent::Visited { cell, candidates, .. } => timed.extend(candidates.into_iter().map(|it| (cell, it))),
            _ => {}
        }
        Ok(())
    };
    backend.measure(&plan, &mut see).unwrap();
    let mut outcome = Vec::new();
    for (place, planned) in plan.cells.iter().enumerate() {
        for (index, candidate) in planned.candidates.iter().enumerate() {
            let why = failed.get(&(place, index)).cloned();
            if let Candidate::Mockup(mockup) = candidate {
                assert!(why.is_some() || timed.contains(&(place, index)), "{candidate} of {}", planned.cell);
                outcome.push((planned.cell, *mockup, why));
            }
        }
    }
    outcome
}

/// 8 collectives in 3 cells with both, and 3 times barrier with `hier`.
const OF_NODES: usize = 8 * 3 * 2 + 3;

#[test]
#[ignore = "part of `make test-all`"]
fn mockups_of_nodes_are_right_on_real_data() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let outcome = of_nodes(mpi, scratch.path(), None);
        assert_eq!(outcome.len(), OF_NODES);
        for (cell, mockup, failed) in outcome {
            assert_eq!(failed, None, "{mockup} of {cell}");
        }
    });
}

/// Each of their calls is needed, on every size of communicator; a barrier does not hold back a late rank without it.
#[test]
#[ignore = "part of `make test-all`"]
fn a_mockup_of_nodes_that_lacks_a_call_is_found_out() {
    // A barrier is found out by waits, which other jobs would disturb.
    alone_under_one_release(|mpi| {
        for skipped in 0..4 {
            let scratch = tempfile::tempdir().unwrap();
            let outcome = of_nodes(mpi, scratch.path(), Some(&format!("skip:{skipped} check * * * *")));
            for (cell, mockup, failed) in outcome {
                let even = Some(Even { nodes: cell.ranks.0 / 2, each: 2 });
                let program = mockup.program(cell.seat(0, even)).unwrap();
                let wrong = program.calls().nth(skipped).is_some();
                assert_eq!(failed.is_some(), wrong, "{mockup} of {cell} without call {skipped}: {failed:?}");
            }
        }
    });
}

/// The check of every mock-up fails when its first call is left out, and that of all with two calls, when the second is.
#[test]
#[ignore = "part of `make test-all`"]
fn a_mockup_that_lacks_a_call_is_found_out() {
    // A barrier is found out by waits, which other jobs would disturb.
    alone_under_one_release(|mpi| {
        for skipped in [0, 1] {
            let scratch = tempfile::tempdir().unwrap();
            let found = check(mpi, scratch.path(), Some(&format!("skip:{skipped} check * * * *")), "3");
            for cell in &found.cells {
                let timed = cell.mockups.iter().map(|timed| timed.mockup);
                for mockup in timed.chain(cell.failed.iter().map(|(mockup, _)| *mockup)) {
                    let failed = cell.failed.iter().any(|(failed, why)| *failed == mockup && why == "wrong result");
                    let seat = cell.cell.seat(0, None);
                    let program = mockup.program(seat).unwrap();
                    let left_out = program.calls().nth(skipped).map(|(_, call, ..)| call.clone());
                    // A barrier between pieces changes no data.
                    let matters = left_out.is_some_and(|call| call != CollectiveCall::Barrier);
                    assert_eq!(failed, matters, "{mockup} of {} without call {skipped}", cell.cell);
                }
            }
        }
    });
}
