//! Components that handle the calls to measure, with the consequences.

use std::collections::BTreeSet;

use collrules_record::{
    Candidate, Cell, Component, Findings, HanAlgorithm, Plan, Ranks, RunDir, RunningComponent, Settings, competitor,
};
use collrules_rules::{Collective, Release};
use collrules_runner::{Backend, running};

use crate::crashing;
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::Started;

/// Finds the components that handle the cells of a plan. If one is not `coll/tuned`, the own decision of `coll/tuned`
/// is also measured: once rules have an effect, calls without a rule use it. Returns settings that leave out crashing
/// components in all further launches.
pub(crate) fn find(
    started: &mut Started,
    run: &RunDir,
    plan: &mut Plan,
    session: &mut Session<'_>,
) -> Result<Settings, WorkflowError> {
    let Started { backend, survey, release, .. } = started;
    let (backend, release, placement) = (backend.as_mut(), *release, plan.placement.clone());
    let look = |backend: &mut dyn Backend, cells: &[Cell]| {
        running::find(backend, run.path(), cells, release, &survey.components, &placement)
    };
    let mut pins = Settings::new();
    let cells = list_cells(plan);
    let mut found = match look(&mut *backend, &cells) {
        Err(error) if crashing::is_own(&error) => {
            let collectives = cells.iter().map(|cell| cell.collective).collect();
            let look_again = |backend: &mut dyn Backend| look(backend, &cells);
            match crashing::look_without(backend, survey, &collectives, error, look_again, session) {
                Ok((found, left)) => {
                    pins.extend(left);
                    found
                }
                Err(error) => crashing::look_at_each(backend, plan, error, look, session)?,
            }
        }
        found => found?,
    };
    pins.extend(crashing::leave_out(backend, plan, &found, session)?);
    if !pins.is_empty() {
        found = look(&mut *backend, &list_cells(plan))?;
    }
    for running in found.iter().filter(|running| !running.without.is_empty()) {
        let RunningComponent { collective, ranks, by, .. } = running;
        let place = plan.placement.nodes.get(ranks).map_or(String::new(), |nodes| format!(" ({nodes})"));
        session.say(&format!(
            "{collective} on {ranks} ranks{place} uses the component {by}: this is the default there; coll/tuned is \
             measured with it switched off"
        ));
    }
    plan.placement.running = found;
    for planned in &mut plan.cells {
        if !plan.placement.without(planned.cell.collective, planned.cell.ranks).is_empty() {
            planned.candidates.push(Candidate::Component(Component::TUNED));
        }
    }
    Ok(pins)
}

fn list_cells(plan: &Plan) -> Vec<Cell> {
    plan.cells.iter().map(|planned| planned.cell).collect()
}

/// Adds HAN's own algorithms if its file can select them, and they are wanted.
pub(crate) fn add_han(plan: &mut Plan, release: Release, wanted: impl Fn(Collective) -> bool) {
    let handable: BTreeSet<(Collective, Ranks)> = plan.placement.handable(release).collect();
    for planned in &mut plan.cells {
        let Cell { collective, ranks, .. } = planned.cell;
        if handable.contains(&(collective, ranks)) && wanted(collective) {
            let own = HanAlgorithm::others(release, collective);
            planned.candidates.extend(own.map(Candidate::Han));
        }
    }
}

/// The settings of the tuning in addition to its files: those that switch off other components for these collectives,
/// unless HAN has a file.
pub(crate) fn needed(findings: &Findings, freed: &BTreeSet<Collective>) -> Settings {
    let running = findings
        .placement
        .running
        .iter()
        .filter(|running| freed.contains(&running.collective) && !running.can_hand_over(findings.release));
    competitor::pins(running)
}
