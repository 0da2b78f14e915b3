//! Tunings in which calls of a collective hang: it is named, the others are decided, and the budget is kept.

use std::collections::BTreeMap;

use collrules_record::obstacle::CellObstacle;
use collrules_record::{Candidate, Cell};
use collrules_rules::{Choice, Collective};
use collrules_workflow::publish::Published;

use crate::stage::{Hang, TuningFixture};

const BUDGET: f64 = 60.0;

/// The collective whose calls hang.
const HANGING: Collective = Collective::Bcast;

/// Tunes three collectives, one of which hangs, in no more than a tenth above the budget. Returns the confirmed sizes.
fn tune(hang: Hang) -> (TuningFixture, Published, BTreeMap<Collective, usize>) {
    let mut stage = TuningFixture::new();
    stage.hang = Some(hang);
    let words = format!(
        "--simulate --simulated-slots 16 --np 2:16 --sizes 1:1M --ops bcast,allgather,allreduce --refine 0 --budget \
         {BUDGET}s"
    );
    let published = stage.tune(&words).unwrap();
    let seconds = stage.clock.borrow().now();
    assert!(seconds <= 1.1 * BUDGET, "{seconds} s of {BUDGET} s: {:?}", stage.notes);
    let (mut confirmed, gains) = (BTreeMap::new(), published.gains());
    let count = |cell: Cell| usize::from(gains.get(cell).state.is_confirmed());
    for found in &published.findings.cells {
        *confirmed.entry(found.cell.collective).or_default() += count(found.cell);
    }
    for other in [Collective::Allgather, Collective::Allreduce] {
        assert!(confirmed[&other] > 20, "{confirmed:?}: {:?}", stage.notes);
    }
    (stage, published, confirmed)
}

/// The candidates of the collective that failed somewhere.
fn failed(published: &Published) -> Vec<Candidate> {
    let cells = published.findings.cells.iter().filter(|found| found.cell.collective == HANGING);
    cells.flat_map(|found| found.disqualified.iter().map(|(candidate, _)| *candidate)).collect()
}

#[test]
fn a_collective_that_hangs_is_named_and_the_others_are_decided() {
    for candidate in [None, Some(Candidate::Builtin)] {
        let (stage, published, confirmed) = tune(Hang::Measured(HANGING, candidate));
        assert!(!stage.left_out.is_empty() && stage.left_out.iter().all(|it| *it == HANGING), "{:?}", stage.left_out);
        assert!(failed(&published).contains(&Candidate::Builtin));
        assert_eq!(confirmed.get(&HANGING).copied().unwrap_or_default(), 0);
    }
}

#[test]
fn a_default_that_hangs_before_it_is_measured_is_left_out_alone() {
    let (_, published, confirmed) = tune(Hang::Looked(HANGING));
    assert_eq!(confirmed.get(&HANGING), None);
    let skipped = published.manifest.unwrap().plan.skipped;
    let hanging = skipped.iter().filter(|skipped| matches!(skipped.why, CellObstacle::Default(_)));
    let collectives: Vec<Collective> = hanging.map(|skipped| skipped.cell.collective).collect();
    assert!(collectives.len() > 20 && collectives.iter().all(|it| *it == HANGING), "{collectives:?}");
}

#[test]
fn an_algorithm_that_hangs_is_left_out_alone() {
    let chain = Candidate::Tuned(Choice::plain(2).with_faninout(4));
    let (stage, published, confirmed) = tune(Hang::Measured(HANGING, Some(chain)));
    assert!(stage.left_out.is_empty());
    assert_eq!(failed(&published), [chain]);
    assert!(confirmed[&HANGING] > 10, "{confirmed:?}");
}

#[test]
fn rules_that_hang_are_removed_and_the_others_confirmed() {
    let (_, _, confirmed) = tune(Hang::Compared(HANGING, true));
    assert_eq!(confirmed[&HANGING], 0);
}

#[test]
fn a_default_that_hangs_in_fresh_launches_confirms_nothing() {
    let (_, _, confirmed) = tune(Hang::Compared(HANGING, false));
    assert_eq!(confirmed[&HANGING], 0);
}
