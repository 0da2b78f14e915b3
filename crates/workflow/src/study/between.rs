//! Sizes between those of a study's definition, around those at which another class of algorithms becomes faster.

use std::collections::BTreeMap;

use collrules_lab::study::results::{Crossing, Rivalry, Study};
use collrules_record::cell::type_size;
use collrules_record::plan::CellPlan;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell, Manifest};
use collrules_report::progress;
use collrules_tuner::refine::middle;

use super::scope::Scope;
use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::refine;
use crate::session::Session;

/// Measures between the neighbouring sizes around each crossing of two classes, until they are close enough or no
/// rounds are left.
pub(super) fn measured(
    measured: &mut Measurement,
    scope: &mut Scope,
    session: &mut Session<'_>,
    study: impl Fn(&Manifest, &Scope) -> Result<Study, WorkflowError>,
) -> Result<(), WorkflowError> {
    let Measurement { started, manifest, experiment, campaign, .. } = measured;
    let mut planned: BTreeMap<Cell, CellPlan> =
        manifest.plan.cells.iter().map(|planned| (planned.cell, planned.clone())).collect();
    campaign.further(started.backend.as_mut(), session, |_, round, session| {
        if round > experiment.refinement.rounds {
            return Ok(None);
        }
        let found = study(manifest, scope)?;
        let cells = between(&found, &planned, experiment.refinement.width);
        if cells.is_empty() {
            session.say(progress::studies::refined(crossings(&found).next().is_some()));
            return Ok(None);
        }
        session.say(&progress::studies::round(round, cells.len()));
        planned.extend(cells.iter().map(|cell| (cell.cell, cell.clone())));
        scope.refine(&cells);
        Ok(Some(refine::plan(&manifest.plan, cells, experiment, round, None)))
    })
}

/// Lists the sizes at which one class becomes faster than another, with the two classes.
fn crossings(found: &Study) -> impl Iterator<Item = (&Rivalry, &Crossing)> {
    let is_class = |candidate: Candidate| matches!(candidate, Candidate::Builtin | Candidate::Reference(_));
    let classes = found.rivalries.iter().filter(move |rivalry| is_class(rivalry.one) && is_class(rivalry.other));
    classes.flat_map(|rivalry| rivalry.crossings.iter().map(move |crossing| (rivalry, crossing)))
}

/// The cells in the middle of the gaps in which classes cross, with all candidates of both ends.
fn between(found: &Study, planned: &BTreeMap<Cell, CellPlan>, width: f64) -> Vec<CellPlan> {
    let mut cells: BTreeMap<Cell, CellPlan> = BTreeMap::new();
    for (rivalry, crossing) in crossings(found) {
        let Rivalry { collective, ranks, .. } = *rivalry;
        let on = |bytes| Cell { collective, ranks, bytes };
        let own = || planned.values().filter(|planned| on(planned.cell.bytes) == planned.cell);
        let below = own().filter(|planned| planned.cell.bytes <= crossing.at).max_by_key(|planned| planned.cell.bytes);
        let above = own().filter(|planned| planned.cell.bytes > crossing.at).min_by_key(|planned| planned.cell.bytes);
        let (Some(below), Some(above)) = (below, above) else { continue };
        // Calls have whole elements.
        let element = type_size(collective);
        let (low, high) = (below.cell.bytes.0 / element, above.cell.bytes.0 / element);
        let Some(middle) = middle(low, high, width) else { continue };
        let cell = on(Bytes(middle * element));
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
