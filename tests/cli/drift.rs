//! Sizes of a run that are timed again: as they were, slower, and where the tuning loses.

use std::path::Path;

use collrules_record::validation::Outcome;
use collrules_tuner::results::drift::{DRIFT, Drift};

use crate::made_once::{DECEIVED, TUNED};
use crate::support::collrules;

fn read(home: &Path) -> Drift {
    serde_json::from_str(&std::fs::read_to_string(home.join(DRIFT)).unwrap()).unwrap()
}

#[test]
#[ignore = "part of `make test-all`"]
fn a_machine_that_is_as_it_was_raises_no_alarm() {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    TUNED.at(&run);
    collrules("drift --cells 12", &run).exits(0);
    let homes = std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path());
    let homes: Vec<_> = homes.filter(|path| path.is_dir() && path.join(DRIFT).exists()).collect();
    assert_eq!(homes.len(), 1, "{homes:?}");
    let drift = read(&homes[0]);
    let cells: std::collections::BTreeSet<_> = drift.points.iter().map(|point| point.cell).collect();
    assert_eq!(cells.len(), 12);
    let collectives: std::collections::BTreeSet<_> = cells.iter().map(|cell| cell.collective).collect();
    assert_eq!(collectives.len(), 3, "all of them have anchors");
    assert!(!drift.loses());
    assert_eq!(drift.tuning.cells.len(), 12, "the tuning is timed beside today's default");
}

#[test]
#[ignore = "part of `make test-all`"]
fn a_slower_machine_and_rules_that_lose_are_told_apart() {
    let scratch = tempfile::tempdir().unwrap();
    let (run, slow, lost) = (scratch.path().join("run"), scratch.path().join("slow"), scratch.path().join("lost"));
    TUNED.at(&run);
    let drift = |scenario: &str, out: &Path| {
        let arguments = format!("drift {} --simulate={scenario} --out", run.display());
        collrules(&arguments, out)
    };
    drift("slowed", &slow).exits(11);
    let found = read(&slow);
    let slower = found.points_with(Outcome::Slower).count();
    assert!(slower > found.points.len() / 2 && found.points_with(Outcome::Faster).count() == 0, "{:?}", found.points);
    let together = found.together.unwrap().ratio.point;
    assert!((together - 1.25).abs() < 0.05, "{together}");
    // There every algorithm of coll/tuned takes 10 % longer than the builtin.
    drift("planted", &lost).exits(8);
    assert!(read(&lost).loses());
    collrules(&format!("drift {} --simulate --simulated-release 4.1 --out", run.display()), &scratch.path().join("x"))
        .exits(3);
    let alone = scratch.path().join("alone");
    DECEIVED.at(&alone);
    collrules("drift", &alone).exits(3).complains("collrules validate");
}
