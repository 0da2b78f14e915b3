//! Decisions of a tuning, and the files that it leaves.

use collrules_record::findings::CellFinding;
use collrules_record::options::Request;
use collrules_record::remark::Remark;
use collrules_record::validation::Outcome;
use collrules_record::{Cell, rundir};
use collrules_rules::{Choice, Collective, Release};
use collrules_workflow::publish::Published;

use crate::agreement::contradictions;
use crate::stage::{TuningFixture, bcast, means, tuning, verdicts};

#[test]
fn tuning_leaves_proven_and_compared_rules_and_its_options() {
    let (stage, published) = TuningFixture::tuned("--simulate=stale");
    assert!(!published.findings.table.is_empty(), "an outdated builtin can be beaten");
    assert!(published.validation.as_ref().is_some_and(|validation| !validation.loses()));
    assert_eq!((stage.concluded, stage.compared), (1, 2), "once more at the end");
    for name in [rundir::RULES, rundir::MCA_PARAMS, rundir::REPORT, rundir::PAGE, rundir::PROOF] {
        assert!(published.run.file(name).is_file(), "{name}");
    }
    assert!(!published.run.file(rundir::UNPROVEN).exists());
    assert_eq!(stage.run().manifest().unwrap().request, Request::Tune(Box::new(tuning("--simulate=stale"))));
}

#[test]
fn the_fastest_builtin_keeps_its_calls() {
    let (stage, published) = TuningFixture::tuned("--simulate=fastest --ops bcast,scatter,barrier");
    assert!(published.findings.table.is_empty());
    assert!(means(&published.run.file(rundir::RULES), Release::V4_1).is_empty(), "a legal file without rules");
    for name in [rundir::MCA_PARAMS, rundir::REPORT, rundir::MANIFEST, rundir::SAMPLES] {
        assert!(stage.path().join(name).is_file(), "{name}");
    }
    assert!(published.validation.is_none(), "there is nothing to compare");
    assert_eq!(published.context().switch_on, Vec::<String>::new());
}

/// Rules that gain while they are measured, and take 1.5 times as long as the default under the file from 256 KiB on,
/// are reverted there and nowhere else.
#[test]
fn rules_that_do_not_hold_in_fresh_launches_are_reverted() {
    let (mut stage, Published { validation, findings, run, .. }) =
        TuningFixture::tuned("--simulate=deceptive --np 2,8 --sizes 32K:1M");
    assert_eq!(contradictions(&stage.path()), [""; 0]);
    let validation = validation.unwrap();
    assert!(!validation.loses() && validation.is_confirmed());
    assert!(findings.remarks.contains(&Remark::Reverted(validation.reverted)));
    let held = stage.in_use(128 << 10);
    assert!(!held.is_builtin());
    assert_eq!(stage.in_use(32 << 10), held);
    for bytes in [256 << 10, 300_000, 512 << 10, 1 << 20] {
        assert_eq!(stage.in_use(bytes), Choice::BUILTIN, "{bytes}");
    }
    let round = validation.round;
    let loses = |cell: &Cell| cell.bytes.0 >= 256 << 10;
    assert!(round.repaired.iter().all(loses), "{:?}", round.repaired);
    assert!([256 << 10, 512 << 10, 1 << 20].iter().all(|bytes| round.repaired.contains(&bcast(*bytes))));
    assert_eq!(verdicts(&round)[&bcast(128 << 10)], Outcome::Faster);
    assert!(run.file(rundir::COMPARISON).is_file());
    let pinned = std::fs::read_dir(run.file(rundir::TUNINGS)).unwrap();
    assert_eq!(pinned.count(), 2, "the compared rules, and those that are left");
    // All that is derived agrees with what is left.
    for CellFinding { cell, in_use, .. } in &findings.cells {
        let bytes = cell.lookup_bytes(Release::V5_0);
        assert_eq!(*in_use, findings.table.lookup(Collective::Bcast, cell.ranks.0.into(), bytes));
    }
    assert!(findings.crossovers.iter().all(|crossover| crossover.at.0 < 256 << 10), "{:?}", findings.crossovers);
    assert!(findings.crossovers.iter().any(|crossover| crossover.above.is_builtin()), "{:?}", findings.crossovers);
    assert!(findings.tree.worst_regret < 0.03, "what is not to be had is no loss: {}", findings.tree.worst_regret);
    // An analysis of the run does not bring it back.
    let again = stage.analyze(Some("again"), "").findings.table;
    assert_eq!(again.lookup(Collective::Bcast, 8, 512 << 10), Choice::BUILTIN);
}
