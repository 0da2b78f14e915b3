//! `collrules lab guidelines`: in simulation, and every mock-up on real data.

use std::fs;
use std::path::Path;

use collrules_lab::guidelines::found::{Change, Checked, Cure};
use collrules_record::findings::Findings;
use collrules_record::{Bytes, Candidate, HanAlgorithm, Layout, Mockup};
use collrules_rules::Collective;

use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, collrules};

fn checked(directory: &Path) -> Checked {
    serde_json::from_str(&fs::read_to_string(directory.join("guidelines.json")).unwrap()).unwrap()
}

/// Violations of known severity in named cells, and nowhere else; and files for everybody.
#[test]
fn planted_violations_are_found_and_nothing_else_is() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("check");
    let check =
        "guidelines --simulate=planted --ops bcast,allreduce,scatter,barrier --np 4 --sizes 4,1K,256K --budget none";
    collrules(&format!("{check} --out"), &out).exits(9);
    let found = checked(&out);
    let violated: Vec<_> = found.cells.iter().filter(|cell| cell.violation.is_some()).collect();
    let at = |cell: &collrules_record::Cell| (cell.collective, cell.bytes);
    let cells: Vec<_> = violated.iter().map(|cell| at(&cell.cell)).collect();
    assert_eq!(cells, [(Collective::Allreduce, Bytes(4)), (Collective::Bcast, Bytes(256 << 10))]);
    for (cell, planted) in violated.iter().zip([1.0, 0.5]) {
        let severity = cell.severity.unwrap();
        assert!(severity.low.unwrap() <= planted && planted <= severity.high.unwrap(), "{severity:?}");
    }
    let cures: Vec<&Cure> = violated.iter().map(|cell| &cell.violation.as_ref().unwrap().cure).collect();
    assert_eq!(*cures[0], Cure::Nothing);
    assert!(matches!(cures[1], Cure::Rule { choice, .. } if choice.algorithm == 8), "{:?}", cures[1]);
    let page = fs::read_to_string(out.join("guidelines.html")).unwrap();
    assert!(page.contains("class=\"map\"") && page.contains("scatter+allgather"));
    assert!(out.join("guidelines.md").is_file());
    assert!(fs::read_to_string(out.join("guidelines.csv")).unwrap().starts_with("collective,comm_size"));

    // Judged again, with a threshold that only one of them exceeds.
    let again = scratch.path().join("again");
    let judge = format!("guidelines {} --tolerate 60 --out", out.display());
    collrules(&judge, &again).exits(9);
    assert_eq!(checked(&again).violations().len(), 1);
    // Nothing is new since then; the same check a second time.
    let judge = format!("guidelines {} --compare {} --out", out.display(), out.display());
    collrules(&judge, &scratch.path().join("same")).exits(0);
}

/// Remedies that are faster than every mock-up hide no violation: each group races for itself.
#[test]
fn remedies_hide_no_violation() {
    let scratch = tempfile::tempdir().unwrap();
    let violated = |remedies: &str| -> Vec<collrules_record::Cell> {
        let out = scratch.path().join(format!("check{remedies}"));
        let check = "guidelines --simulate --ops all --np 2,4,8 --sizes 4,1K,64K,1M";
        collrules(&format!("{check} {remedies} --out"), &out).exits(9);
        let cells = checked(&out).cells;
        cells.into_iter().filter(|cell| cell.violation.is_some()).map(|cell| cell.cell).collect()
    };
    let with = violated("");
    assert_eq!((with.len(), &with), (38, &violated("--no-remedies")));
}

/// If HAN runs the calls, its own algorithms are remedies too.
#[test]
fn another_algorithm_of_han_is_a_cure() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("check");
    let check = "guidelines --simulate=han --ops reduce --np 8 --sizes 1K --budget none --out";
    collrules(check, &out).exits(9);
    let cure = checked(&out).cells[0].violation.as_ref().unwrap().cure.clone();
    assert!(matches!(cure, Cure::Han { algorithm: HanAlgorithm::Simple, gain } if gain > 1.4), "{cure:?}");
}

/// A check that was cut short and goes on has the samples, and so the verdicts, of one that was not.
#[test]
fn a_check_goes_on_where_it_was_cut_short() {
    let scratch = tempfile::tempdir().unwrap();
    let (whole, cut) = (scratch.path().join("whole"), scratch.path().join("cut"));
    let check = "guidelines --simulate=planted --ops bcast,allreduce --np 4 --sizes 4,256K --budget none --out";
    collrules(check, &whole).exits(9);
    collrules(check, &cut).exits(9);
    // What an end in the middle of the second launch leaves behind.
    let samples = fs::read_to_string(cut.join("samples.csv")).unwrap();
    let kept: Vec<&str> = samples.lines().take_while(|line| !line.starts_with("2,")).collect();
    let journal = fs::read_to_string(cut.join("launches.jsonl")).unwrap();
    let lines: Vec<&str> = journal.lines().filter(|line| !line.contains("\"launch\":2")).collect();
    fs::write(cut.join("samples.csv"), kept.join("\n") + "\n").unwrap();
    fs::write(cut.join("launches.jsonl"), lines.join("\n") + "\n").unwrap();
    assert!(kept.len() < samples.lines().count());
    // What is there can be judged.
    let judged = scratch.path().join("judged");
    let ran = collrules(&format!("guidelines {} --out", cut.display()), &judged);
    assert!(matches!(ran.code, Some(0 | 9)) && !checked(&judged).cells.is_empty(), "{}", ran.stderr);
    collrules("guidelines --resume", &cut).exits(9);
    assert_eq!(fs::read_to_string(cut.join("samples.csv")).unwrap(), samples);
    assert_eq!(checked(&cut).cells, checked(&whole).cells);
}

/// A file that cures one of two violations, which are planted, and brings about another: they are told apart.
#[test]
fn a_rules_file_is_checked_before_and_after_in_one_campaign() {
    let scratch = tempfile::tempdir().unwrap();
    let (out, rules) = (scratch.path().join("check"), scratch.path().join("rules.conf"));
    // scatter_allgather for long messages of bcast on 4 ranks; nothing reaches allreduce.
    fs::write(&rules, "1\n7\n2\n4 2\n0 0 0 0\n262144 8 0 0\n5 1\n0 0 0 0\n").unwrap();
    let check = format!(
        "guidelines --simulate=planted --ops bcast,allreduce,scatter --np 4 --sizes 4,1K,256K --budget none --rules {} \
         --out",
        rules.display()
    );
    collrules(&check, &out).exits(9);
    let found = checked(&out);
    let under = found.under_rules.as_ref().unwrap();
    let changes: Vec<_> = under.changes.iter().map(|it| (it.cell.collective, it.cell.bytes, it.how)).collect();
    let expected =
        [(Collective::Allreduce, Bytes(4), Change::Stays), (Collective::Bcast, Bytes(256 << 10), Change::Gone)];
    assert_eq!(changes, expected);
    assert_eq!((found.cells.len(), under.cells.len()), (9, 9));
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
    let launches = |candidate: &str| -> std::collections::BTreeSet<u32> {
        let rows = samples.lines().filter(|line| line.split(',').any(|field| field == candidate));
        rows.filter_map(|line| line.split(',').next()?.parse().ok()).collect()
    };
    assert_eq!(launches("builtin"), [0, 1, 2].into());
    assert_eq!(launches("rules"), [3, 4, 5].into());
    assert!(fs::read_to_string(out.join("guidelines.csv")).unwrap().contains(",true\n"));

    // Cut short in the second half, it goes on to the same samples.
    let kept: Vec<&str> = samples.lines().take_while(|line| !line.starts_with("4,")).collect();
    let journal = fs::read_to_string(out.join("launches.jsonl")).unwrap();
    let later = |line: &&str| line.contains("\"launch\":4") || line.contains("\"launch\":5");
    let lines: Vec<&str> = journal.lines().filter(|line| !later(line)).collect();
    fs::write(out.join("samples.csv"), kept.join("\n") + "\n").unwrap();
    fs::write(out.join("launches.jsonl"), lines.join("\n") + "\n").unwrap();
    collrules("guidelines --resume", &out).exits(9);
    assert_eq!(fs::read_to_string(out.join("samples.csv")).unwrap(), samples);
    assert_eq!(checked(&out), found);
    // What is judged again says the same, and rules rest on what was measured without the file.
    let again = scratch.path().join("again");
    collrules(&format!("guidelines {} --out", out.display()), &again).exits(9);
    assert_eq!(checked(&again).under_rules, found.under_rules);
    let analyzed = scratch.path().join("analyzed");
    collrules(&format!("analyze {} --out", out.display()), &analyzed).exits(0);
    let findings: Findings = crate::support::findings(&analyzed);
    let timed = findings.cells.iter().flat_map(|cell| &cell.points).map(|point| point.candidate);
    assert_eq!(timed.filter(|candidate| *candidate == Candidate::Rules).count(), 0);

    for (text, code) in [("1\n7\n0\n", 2), ("no rules\n", 3)] {
        fs::write(&rules, text).unwrap();
        let none = scratch.path().join("none");
        collrules(&check, &none).exits(code);
        assert!(!none.join("samples.csv").exists());
    }
    fs::write(&rules, "1\n7\n1\n4 1\n0 6 0 0\n").unwrap();
    collrules("guidelines --resume", &out).exits(3);
}

#[test]
fn the_catalogue_is_listed_for_people_and_programs() {
    let listed = Ran::from(bounded().args(["guidelines", "--list"]).output().unwrap()).exits(0);
    let json = Ran::from(bounded().args(["guidelines", "--list", "--json"]).output().unwrap()).exits(0);
    let entries: Vec<serde_json::Value> = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(entries.len(), 53);
    for entry in entries {
        let name = entry["candidate"].as_str().unwrap();
        name.parse::<Mockup>().unwrap();
        assert!(listed.stdout.contains(name.strip_prefix("mockup:").unwrap_or(name)), "{name} is not listed");
    }
}

#[test]
fn a_table_with_mockups_is_judged_and_what_cannot_be_is_said() {
    let session = Session::new();
    let mut text = "collective,candidate,comm_size,message_bytes,launch,avg_latency_us\n".to_owned();
    for launch in 0..12 {
        let noise = f64::from(launch) / 100.0;
        text += &format!("bcast,builtin,8,1048576,{launch},{}\n", 40.0 + noise);
        text += &format!("bcast,mockup:scatter+allgather,8,1048576,{launch},{}\n", 10.0 + noise);
    }
    session.write("table.csv", &text);
    Ran::from(session.command("guidelines table.csv --out check").output().unwrap()).exits(9);
    let severity = checked(&session.path("check")).cells[0].severity.unwrap().point;
    assert!((severity - 2.98).abs() < 0.01, "{severity}");
    for without in
        [text.replace("builtin", "mockup:allgatherv"), text.replace("mockup:scatter+allgather", "tuned:6/0/0/0")]
    {
        session.write("table.csv", without);
        session.run("guidelines table.csv").exits(3);
    }
    for arguments in [
        "--ops brodcast",
        "--only reduce+bcst",
        "--only split:0",
        "--only lane --ops bcast --simulate",
        "--only split:8 --ops bcast --sizes 4 --simulate",
        "--only pad:4 --ops bcast --sizes 64 --simulate",
        "--only scan+shift --ops bcast --simulate",
        "--max-extra-memory 1 --only allgatherv --ops bcast --simulate",
    ] {
        session.run(&format!("guidelines {arguments} --out none")).exits(2);
        assert!(!session.path("none").exists(), "{arguments}");
    }
    assert_said!(session);
}

#[cfg(feature = "mpi")]
mod real {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use collrules_program::CollectiveCall;
    use collrules_program::mockup::MockupPattern;
    use collrules_record::grid::Mockups;
    use collrules_record::placement::UnevenNodes;
    use collrules_record::plan::Schedule;
    use collrules_record::{Cell, Even, Nodes, Placement, Ranks, Seconds};
    use collrules_runner::Backend;
    use collrules_runner::grid::select;
    use collrules_runner::launch::{LaunchCell, LaunchPlan};
    use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend};
    use collrules_runner::wire::WorkerEvent;

    use super::*;
    use crate::support::{OpenMpi, alone_under_one_release, no_networks, under_each_release};

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
            let check = "guidelines --ops allreduce --np 2 --sizes 64K --budget 30s --out";
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
            "guidelines --np {ranks} --oversubscribe --sizes 20,2052 --no-remedies --launches 1 --budget none --calls \
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
    fn a_crash_in_a_mockup_blames_it_alone() {
        under_each_release(|mpi| {
            for (fault, culprit) in [
                ("crash time bcast 3 2048 mockup:allgatherv", "mockup:allgatherv"),
                ("crash check bcast 3 2048 split:4", "split:4"),
            ] {
                let scratch = tempfile::tempdir().unwrap();
                let out = scratch.path().join("check");
                let rules = scratch.path().join("rules.conf");
                fs::write(&rules, "1\n7\n3\n3 1\n0 6 0 0\n4 1\n0 6 0 0\n4 1\n0 0 0 0\n").unwrap();
                let worker = mpi.worker();
                let script =
                    crate::faults::script(scratch.path(), &format!("exec {} --fault '{fault}'", worker.display()));
                let arguments = format!(
                    "guidelines --ops bcast,barrier --np 3 --oversubscribe --sizes 2K,4K --no-remedies --launches 1 \
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
                WorkerEvent::Visited { cell, candidates, .. } => {
                    timed.extend(candidates.into_iter().map(|it| (cell, it)))
                }
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
}
