//! Rounds after the grid: sizes that earlier sessions had no time for, and sizes between those of the grid at which the
//! choice changes.

use std::collections::BTreeSet;

use collrules_record::findings::CellFinding;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::question::TEST_VISITS;
use collrules_record::{Cell, Findings, Plan, Seconds};
use collrules_rules::words::counted;
use collrules_runner::separate;
use collrules_tuner::refine::{Gap, Refinement, refine as propose};

use crate::campaign::Measurement;
use crate::publish::Published;
use crate::session::Session;

/// The planned sizes without timings, or for lack of time with fewer visits than a test needs.
pub(crate) fn unreached(plan: &Plan, findings: &Findings) -> Vec<CellPlan> {
    let Schedule { budget, min_rounds, max_rounds, .. } = plan.schedule;
    let least = if budget.is_some() && min_rounds < max_rounds { TEST_VISITS as usize } else { 1 };
    let is_reached = |found: &&CellFinding| {
        let visits = found.points.iter().filter_map(|point| point.gain).map(|gain| gain.samples).max();
        !found.disqualified.is_empty() || visits.is_some_and(|visits| visits >= least)
    };
    let reached: BTreeSet<Cell> = findings.cells.iter().filter(is_reached).map(|found| found.cell).collect();
    plan.cells.iter().filter(|planned| !reached.contains(&planned.cell)).cloned().collect()
}

/// Returns true if rules are undecided, or sizes need more timings.
pub(crate) fn is_open(measured: &Measurement, published: &Published) -> bool {
    let is_undecided = published.validation.is_some() && published.gains().fates().undecided > 0;
    is_undecided || !list_open(measured, &published.findings).is_empty()
}

/// The sizes, also of further plans, without a decision for lack of timings.
fn list_open(measured: &Measurement, findings: &Findings) -> Vec<CellPlan> {
    let plan = &measured.manifest.plan;
    let mut open = unreached(plan, findings);
    let planned = || plan.cells.iter().chain(measured.further.iter().flat_map(|plan| &plan.cells));
    for found in findings.cells.iter().filter(|found| found.is_open(findings.criteria.min_gain)) {
        let is_known = open.iter().any(|known| known.cell == found.cell);
        open.extend(planned().find(|it| it.cell == found.cell).filter(|_| !is_known).cloned());
    }
    open
}

/// Plans a further round: of open sizes alone, or of sizes between measured ones; none without such sizes, or time for them.
pub(crate) fn plan_round(
    measured: &Measurement,
    findings: &Findings,
    only_open: bool,
    session: &mut Session<'_>,
) -> Option<Plan> {
    let mut plan = match only_open {
        true => plan_open(measured, findings, session)?,
        false => plan_between(measured, findings, session)?,
    };
    let fewer = separate::afford(&mut plan, 0);
    let skipped = if only_open { "" } else { "refinement skipped: " };
    fewer.iter().for_each(|why| session.say(&format!("{skipped}{why}")));
    (only_open || fewer.is_none()).then_some(plan)
}

/// The sizes that are undecided or not reached, in a run that goes on with more time.
fn plan_open(measured: &Measurement, findings: &Findings, session: &mut Session<'_>) -> Option<Plan> {
    let (cells, left) = (list_open(measured, findings), measured.time().timings());
    let startup = measured.started.startup.0;
    // Twice the launches so far: what they left open needs many more. Starting takes half of the time at most.
    let affordable = left.map_or(f64::INFINITY, |left| left / (2.0 * startup));
    let launches = f64::from(measured.planned).min(affordable).max(1.0) as u32;
    let launch = left.map(|left| left / f64::from(launches) - startup);
    if cells.is_empty() || launch.is_some_and(|launch| launch <= 0.0) {
        return None;
    }
    session.say(&format!("more timings of {} that are undecided or were not reached", counted(cells.len(), "size")));
    let mut plan = plan(measured, cells, None);
    (plan.launches, plan.schedule.budget) = (launches, launch.map(Seconds));
    Some(plan)
}

/// The next round of sizes between measured ones.
fn plan_between(measured: &Measurement, findings: &Findings, session: &mut Session<'_>) -> Option<Plan> {
    let Measurement { started, experiment, .. } = measured;
    let (round, time) = (measured.next_round(), measured.time());
    if round > experiment.refinement.rounds || !time.shares.refines() {
        return None;
    }
    let left = time.refinement();
    if left.is_some_and(|left| left <= 0.0) {
        session.say("refinement skipped: time budget used up");
        return None;
    }
    if round > time.shares.refinement_rounds().0 {
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
    Some(plan(measured, cells, left))
}

/// The cells of the next round, in a job with as many ranks as that of the grid, so that ranks are placed identically;
/// within the seconds that are left, if there is a limit. They race in the groups in which they were planned before; the rules
/// on both sides of a crossover are all permitted.
pub fn plan(measured: &Measurement, cells: Vec<CellPlan>, left: Option<f64>) -> Plan {
    let base = &measured.manifest.plan;
    // No cell gets more time than those of the grid.
    let alike = |launch: Seconds| launch.0 * cells.len() as f64 / base.cells.len().max(1) as f64;
    let budget = base.schedule.budget.zip(measured.time().shares.refinement_rounds().1);
    let budget = budget.map(|(launch, most)| Seconds(alike(launch).min(most.0)));
    let startup = measured.started.startup.0;
    let rest = left.map_or(f64::INFINITY, |left| (left / f64::from(base.launches.max(1)) - startup).max(0.0));
    let budget = budget.map(|budget| Seconds(budget.0.min(rest)));
    let schedule = Schedule { budget, ..base.schedule };
    let seed = base.seed.wrapping_add(u64::from(measured.next_round()) << 48);
    Plan { cells, patterns: Vec::new(), schedule, seed, ..base.clone() }
}
