//! Components and collectives whose calls end jobs: found before measuring, and left out, so that the rest can be measured.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::competitor::{self, Competitor};
use collrules_record::obstacle::CellObstacle;
use collrules_record::plan::{CellPlan, Skipped};
use collrules_record::{Candidate, Cell, Component, Plan, RunningComponent, Settings, Survey};
use collrules_rules::Collective;
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::wire::WorkerEvent;
use collrules_runner::{Backend, RunnerError};

use crate::session::Session;

/// Number of consecutive jobs that must fail: a single one may have another cause.
const TRIALS: usize = 2;

/// The settings that leave out components whose calls end the job, in cells that they handle by default. HAN is tried
/// within the campaign: it is on by default, so its crashes would be known.
pub(crate) fn leave_out(
    backend: &mut dyn Backend,
    plan: &Plan,
    found: &[RunningComponent],
    session: &mut Session<'_>,
) -> Result<Settings, RunnerError> {
    let mut collectives_of: BTreeMap<Component, BTreeSet<Collective>> = BTreeMap::new();
    for running in found.iter().filter(|running| ![Component::TUNED, Component::HAN].contains(&running.by)) {
        collectives_of.entry(running.by).or_default().insert(running.collective);
    }
    let mut pins = Settings::new();
    for (component, collectives) in collectives_of {
        let is_run = |cell: &Cell| {
            let runs = |running: &RunningComponent| running.by == component && running.ranks == cell.ranks;
            found.iter().any(|running| runs(running) && running.collective == cell.collective)
        };
        let cells = plan.cells.iter().map(|planned| planned.cell).filter(is_run);
        let cells = cells.map(|cell| LaunchCell::new(cell, vec![Candidate::Builtin])).collect();
        let launch = LaunchPlan {
            ranks: plan.ranks,
            placement: plan.placement.clone(),
            is_trial: true,
            ..LaunchPlan::new(cells, plan.schedule, plan.seed)
        };
        let Some((cell, error)) = try_calls(backend, &launch)? else { continue };
        let leaving = Competitor::from_component(component).leaving(&collectives);
        session.say(&describe_crashes(component, &leaving, &format!("{cell}: {error}")));
        pins.extend(leaving);
    }
    backend.leave_out(&pins);
    Ok(pins)
}

/// Repeats a failed check without each of the components that precede coll/tuned, one after the other. Returns the
/// result without one of them, and the settings that leave it out.
pub(crate) fn look_without<T>(
    backend: &mut dyn Backend,
    survey: &Survey,
    collectives: &BTreeSet<Collective>,
    error: RunnerError,
    look: impl Fn(&mut dyn Backend) -> Result<T, RunnerError>,
    session: &mut Session<'_>,
) -> Result<(T, Settings), RunnerError> {
    let tuned = survey.components.get(&Component::TUNED);
    let competitor = |component: &Component| competitor::components().any(|competitor| competitor == *component);
    let in_front =
        survey.components.iter().filter(|(component, priority)| Some(*priority) >= tuned && competitor(component));
    for (component, _) in in_front.filter(|(component, _)| **component != Component::HAN) {
        let leaving = Competitor::from_component(*component).leaving(collectives);
        let before = backend.pin(&leaving);
        if let Ok(found) = look(backend) {
            backend.leave_out(&leaving);
            session.say(&describe_crashes(*component, &leaving, &error.to_string()));
            return Ok((found, leaving));
        }
        backend.set_pins(before);
    }
    Err(error)
}

/// Repeats a failed check for each collective by itself, and takes those that fail alone out of the plan. Fails if none is
/// left.
pub(crate) fn look_at_each<T>(
    backend: &mut dyn Backend,
    plan: &mut Plan,
    error: RunnerError,
    look: impl Fn(&mut dyn Backend, &[Cell]) -> Result<Vec<T>, RunnerError>,
    session: &mut Session<'_>,
) -> Result<Vec<T>, RunnerError> {
    let collectives: BTreeSet<Collective> = plan.cells.iter().map(|planned| planned.cell.collective).collect();
    if collectives.len() == 1 {
        return Err(error);
    }
    let mut found = Vec::new();
    for collective in collectives {
        let (own, others): (Vec<CellPlan>, _) =
            plan.cells.iter().cloned().partition(|planned| planned.cell.collective == collective);
        let cells: Vec<Cell> = own.iter().map(|planned| planned.cell).collect();
        match look(&mut *backend, &cells) {
            Ok(theirs) => found.extend(theirs),
            Err(error) if is_own(&error) => {
                let why = CellObstacle::Default(error.to_string().lines().next().unwrap_or_default().to_owned());
                session.say(&format!("left out: {collective}: {why}"));
                plan.cells = others;
                plan.skipped.extend(cells.into_iter().map(|cell| Skipped { cell, why: why.clone() }));
            }
            Err(error) => return Err(error),
        }
    }
    if plan.cells.is_empty() { Err(error) } else { Ok(found) }
}

/// Returns true for the failure of a job that nothing outside of it caused.
pub(crate) fn is_own(error: &RunnerError) -> bool {
    error.is_of_job() && !error.came_from_outside()
}

/// Describes a component whose calls end the job, with the settings that leave it out.
fn describe_crashes(component: Component, leaving: &Settings, why: &str) -> String {
    let settings: Vec<String> = leaving.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let why = why.lines().next().unwrap_or_default();
    format!("{component} is left out ({}), since its calls end the job: {why}", settings.join(", "))
}

/// The call with which every trial fails, and the failure; none if a trial succeeds.
fn try_calls(backend: &mut dyn Backend, launch: &LaunchPlan) -> Result<Option<(Cell, RunnerError)>, RunnerError> {
    let mut failed = None;
    for _ in 0..TRIALS {
        let mut at = 0;
        let outcome = backend.measure(launch, &mut |event| {
            if let WorkerEvent::Checking { cell, .. } | WorkerEvent::Visiting { cell } = event {
                at = cell;
            }
            Ok(())
        });
        match outcome {
            Ok(()) => return Ok(None),
            Err(error) if !is_own(&error) => return Err(error),
            Err(error) => failed = launch.cells.get(at).map(|planned| (planned.cell, error)),
        }
    }
    Ok(failed)
}
