//! Components that handle the calls to measure, with the consequences.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::{
    Candidate, Cell, Component, Findings, HanAlgorithm, Layout, Placement, Plan, Ranks, RunDir, RunningComponent,
    Settings, Survey, competitor,
};
use collrules_rules::{Collective, Release};
use collrules_runner::{Backend, RunnerError, running};

use crate::crashing;
use crate::error::WorkflowError;
use crate::session::Session;

/// Finds the components that handle the cells of a plan. If one is not `coll/tuned`, the own decision of `coll/tuned`
/// is also measured: once rules have an effect, calls without a rule use it. Returns settings that leave out crashing
/// components in all further launches.
pub(crate) fn find(
    backend: &mut dyn Backend,
    run: &RunDir,
    plan: &mut Plan,
    survey: &Survey,
    release: Release,
    session: &mut Session<'_>,
) -> Result<Settings, WorkflowError> {
    let placement = plan.placement.clone();
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

/// Names components that take the calls of cells before `coll/tuned` does, in whole sentences with the remedy. Asked
/// only if ranks share one of several nodes: there a failing rule can make other components hang, while elsewhere the
/// proof itself gives the answer.
pub fn displacing(
    backend: &mut dyn Backend,
    scratch: &Path,
    cells: &[Cell],
    survey: &Survey,
    release: Release,
    layout: Layout,
) -> Result<Vec<String>, WorkflowError> {
    let placement = Placement::new(layout, &survey.hosts, cells.iter().map(|cell| cell.ranks));
    if !placement.nodes.values().any(|nodes| nodes.are_several() && nodes.share()) {
        return Ok(Vec::new());
    }
    let found = match running::find(backend, scratch, cells, release, &survey.components, &placement) {
        // No component is known to handle these calls first; the proof will show the effect on the file.
        Err(RunnerError::NotRunByTuned { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let sentence = |running: &RunningComponent| {
        let pins = competitor::pins([running]);
        let settings: Vec<String> = pins.iter().map(|(name, value)| format!("--mca {name} {value}")).collect();
        format!(
            "  {} on {} ranks runs in {}, which ignores these rules; --mpirun-args '{}' switches that off",
            running.collective,
            running.ranks,
            running.by,
            settings.join(" "),
        )
    };
    Ok(found.iter().filter(|running| !running.without.is_empty()).map(sentence).collect())
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
