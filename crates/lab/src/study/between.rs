//! Sizes between those of a study's definition, around those at which another class of algorithms becomes faster.

use std::collections::BTreeMap;

use collrules_record::cell::type_size;
use collrules_record::plan::CellPlan;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell};
use collrules_tuner::refine::middle;
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::Measurement;
use collrules_workflow::refine;

use super::scope::Scope;
use crate::study::results::{Rivalry, Study};

/// Measures between the neighbouring sizes around each crossing of two classes, until they are close enough or no
/// rounds are left.
pub(super) fn measure(
    measured: &mut Measurement,
    mut scope: Scope,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let mut planned: BTreeMap<Cell, CellPlan> =
        measured.manifest.plan.cells.iter().map(|planned| (planned.cell, planned.clone())).collect();
    // What an earlier session of a resumed study planned.
    for plan in measured.run.refinements()? {
        scope.refine(&plan.cells);
        planned.extend(plan.cells.into_iter().map(|cell| (cell.cell, cell)));
    }
    measured.measure_kept(session)?;
    while measured.next_round() <= measured.experiment.refinement.rounds {
        let found = scope.study(&measured.run, &measured.manifest, &measured.run.samples()?)?;
        let cells = between(&found, &planned, measured.experiment.refinement.width);
        if cells.is_empty() {
            session.say("no size is left to measure at crossovers between classes");
            break;
        }
        session.say(&format!("refinement, round {}: {} more message sizes", measured.next_round(), cells.len()));
        planned.extend(cells.iter().map(|cell| (cell.cell, cell.clone())));
        scope.refine(&cells);
        let mut plan = refine::plan(measured, cells, None);
        plan.sort_groups();
        measured.measure_round(&plan, session)?;
    }
    Ok(())
}

/// The cells in the middle of the gaps in which classes cross, with all candidates of both ends.
fn between(found: &Study, planned: &BTreeMap<Cell, CellPlan>, width: f64) -> Vec<CellPlan> {
    let is_class = |candidate: Candidate| matches!(candidate, Candidate::Builtin | Candidate::Reference(_));
    let classes = found.rivalries.iter().filter(|rivalry| is_class(rivalry.one) && is_class(rivalry.other));
    let crossings = classes.flat_map(|rivalry| rivalry.crossings.iter().map(move |crossing| (rivalry, crossing.at)));
    let mut cells: BTreeMap<Cell, CellPlan> = BTreeMap::new();
    for (Rivalry { collective, ranks, .. }, at) in crossings {
        let on = |bytes| Cell { collective: *collective, ranks: *ranks, bytes: Bytes(bytes) };
        let below = planned.range(on(0)..=on(at.0)).next_back();
        let above = planned.range(on(at.0 + 1)..=on(u64::MAX)).next();
        let (Some((_, below)), Some((_, above))) = (below, above) else { continue };
        // Calls have whole elements.
        let element = type_size(*collective);
        let (low, high) = (below.cell.bytes.0 / element, above.cell.bytes.0 / element);
        let Some(middle) = middle(low, high, width) else { continue };
        let cell = on(middle * element);
        let mut plan = CellPlan::new(cell, below.candidates.clone());
        // Candidates of either end are timed here, and those shared at both ends are shared here.
        let others = above.candidates.iter().filter(|candidate| !below.candidates.contains(candidate));
        plan.candidates.extend(others.copied());
        let is_timed = |candidate: Candidate| plan.candidates.contains(&candidate);
        plan.shared = below.shared.iter().filter(|shared| !is_timed(shared.candidate)).cloned().collect();
        cells.insert(cell, plan);
    }
    cells.into_values().collect()
}
