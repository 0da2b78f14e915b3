//! Rounds after the grid: sizes that earlier sessions had no time for, and sizes between those of the grid at which the
//! choice changes.

use collrules_record::Plan;
use collrules_record::findings::Findings;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::units::Seconds;
use collrules_rules::words::counted;
use collrules_runner::separate;
use collrules_tuner::refine::{Gap, Refinement, refine as propose};

use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::plan::{VALIDATION, concluding, refinement, refines};
use crate::session::Session;

/// Plans a round of the sizes that are undecided or not reached, in a run that goes on with more time; none without such sizes
/// or time.
pub(crate) fn plan_open(
    measured: &Measurement,
    findings: &Findings,
    session: &mut Session<'_>,
) -> Result<Option<Plan>, WorkflowError> {
    let base = &measured.manifest.plan;
    let cells = measured.list_open(findings)?;
    let share = if measured.experiment.validate { 1.0 - VALIDATION } else { 1.0 };
    let startup = base.schedule.startup.0;
    let concluding = concluding(&measured.experiment, base.schedule.startup);
    let left = measured.rules_time().map(|left| (share * left.0).min(left.0 - concluding));
    // Twice the launches so far: what they left open needs many more. Starting takes half of the time at most.
    let affordable = left.map_or(f64::INFINITY, |left| left / (2.0 * startup));
    let launches = f64::from(measured.planned()).min(affordable).max(1.0) as u32;
    let launch = left.map(|left| left / f64::from(launches) - startup);
    if cells.is_empty() || launch.is_some_and(|launch| launch <= 0.0) {
        return Ok(None);
    }
    session.say(&format!("more timings of {} that are undecided or were not reached", counted(cells.len(), "size")));
    let mut plan = plan(measured, cells, None);
    (plan.launches, plan.schedule.budget) = (launches, launch.map(Seconds));
    separate::afford(&mut plan, 0).iter().for_each(|why| session.say(why));
    Ok(Some(plan))
}

/// Plans the next round of sizes between measured ones; none if no size is worth its time, or no time is left.
pub(crate) fn plan_round(measured: &Measurement, findings: &Findings, session: &mut Session<'_>) -> Option<Plan> {
    let Measurement { started, experiment, .. } = measured;
    let round = measured.next_round();
    if round > experiment.refinement.rounds || !refines(experiment) {
        return None;
    }
    // The time left after measuring, without that for validation.
    let left = measured.rules_time().map(|left| left.0 - measured.shares().validation);
    if left.is_some_and(|left| left <= 0.0) {
        session.say("refinement skipped: time budget used up");
        return None;
    }
    if round > refinement(experiment, started.startup).0 {
        session.say(&format!(
            "refinement skipped: too little time left to start {} launches of {} each",
            experiment.launches,
            started.startup.rounded()
        ));
        return None;
    }
    let wanted =
        Refinement { width: experiment.refinement.width, ranks: experiment.refinement.ranks, ..Refinement::default() };
    let proposals = propose(findings, &experiment.grid.weights, wanted);
    if proposals.is_empty() {
        session.say("refinement done: more sizes would not pay off");
        return None;
    }
    let gaps = proposals.iter().filter(|proposal| matches!(proposal.gap, Gap::Messages(..))).count();
    let more = [(gaps, "more message size"), (proposals.len() - gaps, "more communicator size")];
    let more = more.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what));
    session.say(&format!("refining: {}", more.collect::<Vec<_>>().join(", ")));
    let cells = proposals.into_iter().map(|proposal| proposal.plan).collect();
    let mut plan = plan(measured, cells, left);
    if let Some(why) = separate::afford(&mut plan, 0) {
        session.say(&format!("refinement skipped: {why}"));
        return None;
    }
    Some(plan)
}

/// The cells of the next round, in a job with as many ranks as that of the grid, so that ranks are placed identically;
/// within the seconds that are left, if there is a limit.
pub fn plan(measured: &Measurement, cells: Vec<CellPlan>, left: Option<f64>) -> Plan {
    let (base, experiment) = (&measured.manifest.plan, &measured.experiment);
    // No cell gets more time than those of the grid.
    let alike = |launch: Seconds| launch.0 * cells.len() as f64 / base.cells.len().max(1) as f64;
    let budget = base.schedule.budget.zip(refinement(experiment, base.schedule.startup).1);
    let budget = budget.map(|(launch, most)| Seconds(alike(launch).min(most.0)));
    let starts = base.schedule.startup.0;
    let rest = left.map(|left| Seconds((left / f64::from(base.launches.max(1)) - starts).max(0.0)));
    let budget = budget.map(|budget| rest.filter(|rest| *rest < budget).unwrap_or(budget));
    let schedule = Schedule { budget, ..base.schedule };
    let seed = base.seed.wrapping_add(u64::from(measured.next_round()) << 48);
    let mut plan = Plan { cells, patterns: Vec::new(), schedule, seed, ..base.clone() };
    plan.sort_groups();
    plan
}
