//! From a profile to rules, on a cost model: what programs call is what is measured, and what it saves is said.

use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::manifest::Manifest;
use collrules_record::plan::CellPlan;
use collrules_record::profile::{Activity, Calls, Communicator, FORMAT, Mode, Profile, Spread};
use collrules_record::{Bytes, Nodes, Ranks, Seconds};
use collrules_rules::Operation;

use crate::support::{Ran, bounded};

fn spread(ranks: u32, each: f64) -> Spread {
    let mut spread = Spread::default();
    (0..ranks).for_each(|_| spread.add(Seconds(each)));
    spread
}

/// A profile of a program on 8 hosts: communicator size, operation, message bytes and seconds of each entry.
pub(crate) fn profile(scratch: &Path, name: &str, entries: &[(u32, Operation, u64, f64)]) -> PathBuf {
    let mut communicators: Vec<Communicator> = Vec::new();
    let mut calls = Vec::new();
    for (ranks, operation, bytes, seconds) in entries {
        let place = communicators.iter().position(|known| known.ranks.0 == *ranks).unwrap_or_else(|| {
            communicators.push(Communicator {
                ranks: Ranks(*ranks),
                nodes: Nodes(vec![1; *ranks as usize]),
                between_groups: false,
                groups: Vec::new(),
                agree: Vec::new(),
                disagree: Vec::new(),
            });
            communicators.len() - 1
        });
        calls.push(Calls {
            sum: u64::from(*ranks) * bytes,
            rank_calls: u64::from(*ranks),
            time: spread(8, *seconds),
            longest: Seconds(*seconds),
            ..Calls::none(place, *operation, Mode::Blocking, Bytes(*bytes))
        });
    }
    let profile = Profile {
        format: FORMAT,
        command: vec!["mpirun".to_owned(), "./app".to_owned()],
        program: "./app".to_owned(),
        library: "Open MPI v5.0.11".to_owned(),
        started: "2026-11-22T03:00:00Z".to_owned(),
        ranks: Ranks(8),
        nodes: Nodes(vec![1; 8]),
        wall: spread(8, 100.0),
        missing: Vec::new(),
        spawned: Vec::new(),
        started_processes: 0,
        unfinished: Vec::new(),
        exit_code: Some(0),
        imbalance: None,
        communicators,
        calls,
        messages: Activity { rank_calls: 80, time: spread(8, 20.0) },
        waiting: Activity::default(),
    };
    let file = scratch.join(name);
    fs::write(&file, serde_json::to_string(&profile).unwrap()).unwrap();
    file
}

fn run(words: &[&str]) -> Ran {
    Ran::from(bounded().env("COLUMNS", "100").args(words).output().unwrap())
}

#[test]
fn what_a_program_calls_is_what_is_measured_and_what_is_saved_is_said() {
    let scratch = tempfile::tempdir().unwrap();
    let file = profile(
        scratch.path(),
        "profile.json",
        &[
            (8, Operation::Bcast, 1 << 20, 40.0),
            (4, Operation::Bcast, 300_000, 10.0),
            (8, Operation::Allreduce, 10, 5.0),
            // Less than 5 % of the time.
            (8, Operation::Gather, 64, 0.5),
            // More than there is here.
            (16, Operation::Bcast, 1 << 20, 7.0),
        ],
    );
    let (out, file) = (scratch.path().join("run"), file.to_str().unwrap().to_owned());
    let tune = ["tune", "--simulate", "--profile", &file, "--out", out.to_str().unwrap()];
    run(&tune).exits(0);
    let manifest: Manifest = serde_json::from_str(&fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
    let mut cells: Vec<String> = manifest.plan.cells.iter().map(|planned| planned.cell.to_string()).collect();
    cells.sort_unstable();
    // Elements of 4 bytes: 10 bytes are measured as 12.
    assert_eq!(cells, ["allreduce of 12 B on 8 ranks", "bcast of 1 MiB on 8 ranks", "bcast of 300000 B on 4 ranks"]);
    let weight = |planned: &CellPlan| planned.weight.unwrap().0;
    let mut weights: Vec<f64> = manifest.plan.cells.iter().map(weight).collect();
    weights.sort_by(f64::total_cmp);
    assert_eq!(weights, [5.0, 10.0, 40.0]);

    // The simulated builtin is a binomial tree, which long messages lose by.
    run(&["profile", "show", &file, "--run", out.to_str().unwrap()]).exits(0);
    assert!(scratch.path().join("profile.html").is_file());
    let json = run(&["profile", "show", &file, "--run", out.to_str().unwrap(), "--json"]).exits(0);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let saved = json["prospects"]["entries"][0]["saved"]["point"].as_f64().unwrap();
    assert!(saved > 8.0 && saved < 40.0, "{saved}");
    let unknown = json["prospects"]["entries"].as_array().unwrap().iter().filter(|entry| !entry["unknown"].is_null());
    assert!(unknown.count() >= 2, "gather, and bcast on 16 ranks, were not measured");

    // What was decided when the run began stays; other cells contradict a profile.
    run(&["tune", "--resume", out.to_str().unwrap(), "--profile", &file]).exits(2);
    run(&["tune", "--simulate", "--profile", &file, "--ops", "bcast"]).exits(2);
}

#[test]
fn programs_that_nothing_can_be_done_for_are_told_so() {
    let scratch = tempfile::tempdir().unwrap();
    let empty = profile(scratch.path(), "empty.json", &[(8, Operation::Gatherv, 64, 5.0)]);
    run(&["profile", "show", empty.to_str().unwrap()]).exits(0);
    run(&["tune", "--simulate", "--profile", empty.to_str().unwrap()]).exits(2);
    let large = profile(scratch.path(), "large.json", &[(64, Operation::Bcast, 64, 5.0)]);
    run(&["tune", "--simulate", "--profile", large.to_str().unwrap()]).exits(2);
    run(&["tune", "--simulate", "--profile", "/nonexistent.json"]).exits(3);
}

#[test]
fn several_programs_are_combined_by_how_much_each_counts() {
    let scratch = tempfile::tempdir().unwrap();
    let one = profile(scratch.path(), "one.json", &[(8, Operation::Bcast, 1 << 20, 1.0)]);
    let other = profile(scratch.path(), "other.json", &[(8, Operation::Scatter, 1024, 1.0)]);
    let planned = |factor: &str| {
        let other = format!("{}:{factor}", other.display());
        let words = ["plan", "--simulate", "--json", "--profile", one.to_str().unwrap(), "--profile", &other];
        let ran = run(&words).exits(0);
        let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        plan["cells"].as_array().unwrap().len()
    };
    // Algorithms may be named of whatever they call.
    let reduce = profile(scratch.path(), "reduce.json", &[(8, Operation::Allreduce, 1 << 20, 1.0)]);
    run(&["plan", "--simulate", "--profile", reduce.to_str().unwrap(), "--only", "allreduce:ring"]).exits(0);
    let words = ["plan", "--simulate", "--profile", reduce.to_str().unwrap(), "--only", "allreduce:ring,bcast:chain"];
    run(&words).exits(2);
    // A hundredth of the time is not measured.
    assert_eq!((planned("1"), planned("0.01"), planned("100")), (2, 1, 1));
}
