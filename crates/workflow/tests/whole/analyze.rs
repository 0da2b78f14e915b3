//! Deciding anew on a run, and files of other rules.

use collrules_record::remark::Remark;
use collrules_record::rundir;
use collrules_record::tuning::revert_table;
use collrules_record::validation::RevertedRange;
use collrules_record::{Cell, Validation};
use collrules_rules::hazard::RankRange;
use collrules_rules::{Collective, RuleTable};
use collrules_workflow::publish::Published;

use crate::stage::TuningFixture;

#[test]
fn what_was_reverted_stays_reverted_in_later_analyses() {
    let (mut stage, published) = TuningFixture::tuned("--simulate=deceptive");
    let reverted = published.validation.unwrap().reverted;
    assert!(!reverted.is_empty());
    // Other criteria make other rules, which have another digest.
    let table = published.findings.table;
    for min_gain in [3, 90, 3] {
        let again = stage.analyze(None, &format!("--min-gain {min_gain}"));
        let kept = again.run.validation().unwrap().unwrap();
        assert_eq!(kept.reverted, reverted, "{min_gain}");
        assert!(kept.is_about(&again.tuning.as_ref().unwrap().digests()), "{min_gain}");
        assert_eq!(revert_table(&again.findings.table, &reverted), again.findings.table, "{min_gain}");
        let choice = |table: &RuleTable, cell: Cell| {
            table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(again.findings.release))
        };
        let is_left = |cell: Cell| {
            let now = choice(&again.findings.table, cell);
            now.is_builtin() || now == choice(&table, cell)
        };
        let is_left = again.findings.cells.iter().all(|found| is_left(found.cell));
        assert_eq!(is_left, kept.round.unreached == 0, "{min_gain}: other rules were compared");
    }
}

#[test]
fn a_validation_of_other_rules_changes_no_decision() {
    let (mut stage, published) = TuningFixture::tuned("--simulate=stale --no-validate");
    assert!(!published.findings.table.is_empty());
    let (other, _) = TuningFixture::tuned("--simulate=deceptive");
    let foreign = other.run().validation().unwrap().unwrap();
    let all =
        RevertedRange { collective: Collective::Bcast, ranks: RankRange { first: 0, end: None }, lookup: (0, None) };
    published.run.write_validation(&Validation { reverted: vec![all], ..foreign }).unwrap();
    let again = stage.analyze(None, "");
    assert_eq!(again.findings.table, published.findings.table);
    assert!(again.validation.is_none());
}

#[test]
fn rules_that_were_changed_are_neither_proven_nor_compared() {
    let (stage, published) = TuningFixture::tuned("--simulate=stale");
    let intact = Published::open(&stage.path()).unwrap();
    assert!(intact.validation.is_some() && intact.left_out.is_empty());
    assert_eq!(intact.proof, published.proof);
    std::fs::write(published.run.file(rundir::RULES), "0\n").unwrap();
    let changed = Published::open(&stage.path()).unwrap();
    assert!(changed.validation.is_none() && changed.proof.is_empty());
    let left_out = &changed.left_out[..];
    assert!(matches!(left_out, [Remark::OtherValidation(_), Remark::OtherProof(_)]), "{left_out:?}");
    assert_eq!(changed.context().proof.len(), left_out.len(), "the report says so");
}
