//! Calls as programs make them: late ranks, other buffers, in place.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use collrules_record::RunDir;
use collrules_record::clock::{Arrivals, ClockFact};
use collrules_record::findings::Findings;
use collrules_rules::{Collective, Operation, Release};
use serde_json::{Value, json};

use crate::programs::profile;
use crate::support::{OpenMpi, Ran, alone_under_one_release, collrules, under_each_release};

/// The entries of ranks, on clocks that are set by messages: the rank that is to be late is, by the time that was asked for, and
/// the time of a call does not contain it.
#[test]
#[ignore = "part of `make test-all`"]
fn ranks_are_late_by_what_was_asked() {
    const LATENESS: f64 = 0.05;
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let late_ranks = ["first", "last", "random"].map(|arrival| {
            let out = scratch.path().join(arrival);
            let calls = "--np 3 --oversubscribe --sizes 8,64,1K,8K --calls 4 --launches 1 --budget none";
            let arguments =
                format!("measure --ops allreduce --only allreduce:recursive_doubling {calls} --separate-clocks");
            let arguments = format!("{arguments} --arrival {arrival} --lateness 50ms --out");
            Ran::from(mpi.collrules(&arguments, &out).output().unwrap()).exits(0);
            let run = RunDir::open(&out).unwrap();
            let lines = run.clock().unwrap();
            let arrivals = lines.iter().filter_map(|line| match &line.fact {
                ClockFact::Arrivals(arrivals) => Some(arrivals),
                _ => None,
            });
            let arrivals: Vec<&Arrivals> = arrivals.collect();
            assert_eq!(arrivals.len(), 4, "one for each size: {lines:?}");
            for found in &arrivals {
                let late = found.asked.iter().position(|asked| asked.0 == LATENESS).unwrap();
                assert!(found.asked.len() == 3 && found.asked.iter().filter(|asked| asked.0 == 0.0).count() == 2);
                // Processors are shared, so that others may be late by a time slice.
                assert!(found.spread.0 > 0.8 * LATENESS && found.spread.0 < 3.0 * LATENESS, "{found:?}");
                let others = found.entries.iter().enumerate().filter(|(rank, _)| *rank != late);
                let last = others.map(|(_, entry)| entry.0).fold(0.0, f64::max);
                assert!(found.entries[late].0 - last > 0.5 * LATENESS, "{found:?}");
            }
            let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
            let columns: Vec<&str> = samples.lines().nth(1).unwrap().split(',').collect();
            let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
            let times = |name: &str| {
                let at = column(name);
                let times = samples.lines().skip(2).filter_map(|line| line.split(',').nth(at)?.parse::<f64>().ok());
                let mut times: Vec<f64> = times.collect();
                times.sort_by(f64::total_cmp);
                times
            };
            let (from_last, own) = (times("max_s"), times("mean_s"));
            assert!(from_last[0] > 0.0 && from_last[from_last.len() / 2] < 0.5 * LATENESS, "{samples}");
            assert!(own[own.len() / 2] > 0.5 * LATENESS, "two of three ranks wait for the third: {samples}");
            let late = |found: &&Arrivals| found.asked.iter().position(|asked| asked.0 > 0.0);
            arrivals.iter().filter_map(late).collect::<BTreeSet<usize>>()
        });
        assert_eq!(late_ranks[..2], [BTreeSet::from([0]), BTreeSet::from([2])]);
        assert!(late_ranks[2].len() > 1, "{late_ranks:?}");
    });
}

/// A profile with a call of bcast for each of these sizes on so many ranks, of which each call had these arrivals.
fn write_profile(directory: &Path, name: &str, (ranks, sizes): (u32, &[u64]), arrivals: &[&[f64]]) -> String {
    let calls: Vec<_> = sizes.iter().map(|bytes| (ranks, Operation::Bcast, *bytes, 10.0)).collect();
    let file = profile(directory, name, &calls);
    let mut profile: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for calls in profile["calls"].as_array_mut().unwrap() {
        calls["arrivals"] = json!(arrivals);
    }
    fs::write(&file, profile.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Ranks enter as late as they were in a profile, each by its own time, and calls take turns.
#[test]
#[ignore = "part of `make test-all`"]
fn ranks_are_late_as_in_a_profile() {
    const CALLS: [&[f64]; 2] = [&[0.0, 0.03, 0.09], &[0.09, 0.0, 0.04]];
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = write_profile(scratch.path(), "profile.json", (3, &[64]), &CALLS);
        let measure = |name: &str, longest: &str| {
            let out = scratch.path().join(name);
            let calls = "--np 3 --oversubscribe --sizes 8,64,1K,8K --calls 4 --launches 1 --budget none";
            let arguments = format!("measure --ops allreduce --only allreduce:recursive_doubling {calls}");
            let arguments = format!("{arguments} --separate-clocks --arrival {file} {longest} --out");
            Ran::from(mpi.collrules(&arguments, &out).output().unwrap()).exits(0);
            let lines = RunDir::open(&out).unwrap().clock().unwrap();
            let arrivals = lines.into_iter().filter_map(|line| match line.fact {
                ClockFact::Arrivals(arrivals) => Some(arrivals),
                _ => None,
            });
            arrivals.collect::<Vec<Arrivals>>()
        };
        let found = measure("whole", "--lateness 1s");
        assert_eq!(found.len(), 4);
        for found in &found {
            let asked: Vec<f64> = found.asked.iter().map(|asked| asked.0).collect();
            let call = CALLS.iter().find(|call| call.iter().zip(&asked).all(|(a, b)| (*a - *b).abs() < 1e-6)).unwrap();
            let first = found.asked.iter().position(|asked| asked.0 == 0.0).unwrap();
            for (rank, late) in call.iter().enumerate() {
                // Processors are shared, so that a rank may be late by a time slice more.
                let entry = found.entries[rank].0 - found.entries[first].0;
                assert!((entry - late).abs() < 0.015, "rank {rank} under {}: {found:?}", mpi.version);
            }
        }
        // Calls are over before the next rank comes, so that the gaps between arrivals are cut.
        for found in measure("cut", "--lateness 5ms") {
            let mut asked: Vec<f64> = found.asked.iter().map(|asked| asked.0).collect();
            asked.sort_by(f64::total_cmp);
            assert!(asked.iter().zip([0.0, 0.005, 0.01]).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        }
    });
}

/// scatter_allgather of bcast is the fastest behind a barrier and if rank 0 comes last, and loses if rank 0 waits for others.
#[test]
fn rules_that_lose_under_the_arrivals_of_a_profile_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let sizes: Vec<u64> = (16..=21).map(|power| 1 << power).collect();
    let write = |name: &str, late: usize| {
        let arrivals: Vec<f64> = (0..8).map(|rank| if rank == late { 1e-3 } else { 0.0 }).collect();
        write_profile(scratch.path(), name, (8, &sizes), &[&arrivals])
    };
    let (root_late, others_late) = (write("root.json", 0), write("others.json", 7));
    let tune = |name: &str, options: &str| {
        let out = scratch.path().join(name);
        let arguments = format!("tune --simulate=late {options} --budget 20s --refine 0 --no-settings --out");
        collrules(&arguments, &out).exits(0);
        let findings: Findings = RunDir::open(&out).unwrap().findings().unwrap();
        let algorithms = findings.table.choices().map(|(.., choice)| choice.algorithm).collect::<BTreeSet<u32>>();
        (algorithms, fs::read_to_string(out.join("report.md")).unwrap(), out)
    };
    let (kept, report, out) = tune("root", &format!("--profile {root_late}"));
    assert!(kept.contains(&8), "{kept:?}");
    assert!(report.contains("and arrivals of the profile (1."), "{report}");
    assert!(!report.contains("one rank late by half a call"), "the program's arrivals take its place: {report}");
    let is_removed = |report: &str| {
        let line = report.lines().find(|line| line.contains("Calls with ranks as late as in the profile: "));
        line.is_some_and(|line| line.contains(" removed"))
    };
    let (left, report, _) = tune("others", &format!("--profile {others_late}"));
    assert!(!left.contains(&8) && left.contains(&3), "{left:?}");
    assert!(is_removed(&report), "{report}");
    // Decided under these arrivals, the rules need no removal; a validation takes the arrivals from the run, or others.
    let sized = "--np 8 --ops bcast --sizes 64K:2M --simulated-slots 8";
    let (chosen, report, _) = tune("decided", &format!("{sized} --arrival {others_late}"));
    assert!(!chosen.contains(&8) && chosen.contains(&3), "{chosen:?}");
    assert!(!is_removed(&report), "{report}");
    assert!(tune("decided-root", &format!("{sized} --arrival {root_late}")).0.contains(&8));
    let validate = |options: &str, name: &str| {
        let arguments = format!("validate {} --simulate=late {options} --out", out.display());
        collrules(&arguments, &scratch.path().join(name))
    };
    validate("", "again").exits(0).says("with ranks as late as in the profile");
    validate(&format!("--arrival {others_late}"), "elsewhere").exits(8);
}

#[test]
fn profiles_without_fitting_arrivals_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, arrivals: &[&[f64]]| write_profile(scratch.path(), name, (8, &[64]), arrivals);
    let refused = |arrival: &str, options: &str, (code, why): (i32, &str)| {
        let arguments = format!("measure --simulate=stale --ops bcast --sizes 64 {options} --arrival {arrival} --out");
        collrules(&arguments, &scratch.path().join("run")).exits(code).complains(why);
    };
    let eight = file("eight.json", &[&[0.0; 8]]);
    refused(&eight, "--np 4", (2, "has arrivals on 8 ranks, and none on 4 ranks"));
    refused(&eight, "--simulated-slots 4", (2, "has arrivals on 8 ranks, and none on 2 and 4 ranks"));
    refused(&eight, "--np 16 --simulated-slots 16", (2, "has arrivals on 8 ranks, and none on 16 ranks"));
    refused(&file("none.json", &[]), "--np 8", (3, "profile the program with `collrules profile --imbalance=1`"));
    refused(&file("few.json", &[&[0.0; 7]]), "--np 8", (3, "is damaged"));
    refused(&file("negative.json", &[&[0.0, -1e-6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), "--np 8", (3, "is damaged"));
    refused("sometimes", "--np 8", (2, "write none, random, first, last, or the path of a profile"));
    refused(&eight, "--np 8 --lateness=-1us", (2, "--lateness"));
}

/// Algorithms of allgather that are wrong in place on 3 ranks: sparbit from 5.0 on, direct-messaging of 6.0, which sends with the
/// arguments that MPI ignores in place (`coll_base_allgather.c`).
fn wrong_in_place(mpi: &OpenMpi) -> &'static [u32] {
    match mpi.release() {
        Release::V4_0 | Release::V4_1 => &[],
        Release::V5_0 => &[7],
        Release::V6_0 => &[7, 8],
    }
}

/// No rule may choose an algorithm that is wrong in place, though it is right with two buffers.
#[test]
fn an_algorithm_that_is_wrong_in_place_is_left_out() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let calls = "--np 3 --oversubscribe --sizes 8 --calls 2 --launches 1 --budget none";
        Ran::from(mpi.collrules(&format!("measure --ops allgather {calls} --out"), &out).output().unwrap()).exits(0);
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        let wrong: Vec<&str> = samples.lines().filter(|line| line.contains("disqualified")).collect();
        let expected = wrong_in_place(mpi);
        assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
        for (line, id) in wrong.iter().zip(expected) {
            assert!(line.contains(&format!(",tuned:{id}/0/0/0,")) && line.ends_with("wrong result in place"), "{line}");
        }
    });
}

/// Every collective gives the right data in place from rank 0 and from the last rank, and with buffers that take turns.
#[test]
fn calls_in_place_and_with_other_buffers_are_right() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let measure = |name: &str, condition: &str, ops: &str| {
            let out = scratch.path().join(name);
            let calls = "--np 3 --oversubscribe --sizes 8,2K --segments 8K --calls 2 --launches 1 --budget none";
            let arguments = format!("measure --ops {ops} {calls} {condition} --out");
            Ran::from(mpi.collrules(&arguments, &out).output().unwrap()).exits(0);
            let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
            let wrong = samples.lines().filter(|line| line.contains("disqualified"));
            let is_known = |line: &&str| {
                let is_it = |id: &u32| line.contains(&format!(",tuned:{id}/"));
                line.contains("allgather,3,") && wrong_in_place(mpi).iter().any(is_it)
            };
            let wrong: Vec<&str> = wrong.filter(|line| !is_known(line)).collect();
            assert!(wrong.is_empty(), "{condition} under {}: {wrong:?}", mpi.version);
            RunDir::open(&out).unwrap().clock().unwrap()
        };
        // Allgatherv cannot be switched within a job.
        let all = Collective::ALL.into_iter().filter(|it| it.has_in_place() && *it != Collective::Allgatherv);
        let ops = all.map(|collective| collective.to_string()).collect::<Vec<_>>().join(",");
        measure("in-place", "--buffers in-place", &ops);
        measure("rooted", "--buffers in-place --root last", "gather,reduce,scatter");
        let lines = measure("rotated", "--buffers rotate", &format!("{ops},bcast"));
        let cache = lines.iter().find_map(|line| match &line.fact {
            ClockFact::Harness(harness) => harness.cache,
            _ => None,
        });
        assert!(cache.is_some_and(|cache| cache > 0), "{lines:?}");
    });
}
