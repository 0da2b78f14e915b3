//! Which component serves what is to be measured, and what follows from it.

use std::collections::BTreeSet;

use collrules_record::findings::Findings;
use collrules_record::rundir::RunDir;
use collrules_record::{Candidate, Cell, Component, Plan, Survey};
use collrules_rules::{Collective, Release};
use collrules_runner::{Backend, serving};

use crate::deliver::Pins;
use crate::failure::Failure;
use crate::progress::say;

/// Finds out who serves the cells of a plan. Where it is not `coll/tuned`, what it would do by itself is measured as
/// well: that is what happens wherever the rules say nothing once they have an effect.
pub(super) fn find(
    backend: &mut dyn Backend,
    run: &RunDir,
    plan: &mut Plan,
    survey: &Survey,
    release: Release,
) -> Result<(), Failure> {
    let cells: Vec<Cell> = plan.cells.iter().map(|planned| planned.cell).collect();
    let found = serving::serving(backend, run.path(), &cells, release, &survey.components, &plan.placement)?;
    for serving in found.iter().filter(|serving| !serving.without.is_empty()) {
        let nodes = plan.placement.nodes.get(&serving.ranks);
        let place = nodes.map_or(String::new(), |nodes| format!(" ({nodes})"));
        say(&format!(
            "{} on {} ranks{place} is served by {}: that is the builtin there, and coll/tuned is measured without it",
            serving.collective, serving.ranks, serving.by,
        ));
    }
    plan.placement.serving = found;
    for planned in &mut plan.cells {
        if !plan.placement.without(planned.cell.collective, planned.cell.ranks).is_empty() {
            planned.candidates.push(Candidate::Component(Component::TUNED));
        }
    }
    Ok(())
}

/// The settings that put other components out of the way of these collectives.
pub(super) fn needed(findings: &Findings, freed: &BTreeSet<Collective>) -> Pins {
    let servings = findings.placement.serving.iter().filter(|serving| freed.contains(&serving.collective));
    servings.flat_map(|serving| serving::pins(serving.collective, &serving.without)).collect()
}

/// The settings of a run together with those that its rules need.
pub(super) fn pins(of_run: &Pins, findings: &Findings) -> Pins {
    of_run.iter().chain(&findings.pins).map(|(name, value)| (name.clone(), value.clone())).collect()
}
