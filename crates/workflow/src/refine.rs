//! After the grid: sizes between those of the grid where the choice changes.

use std::time::Instant;

use collrules_record::Plan;
use collrules_record::findings::Findings;
use collrules_record::options::Tuning;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::units::Seconds;
use collrules_runner::separate;
use collrules_tuner::refine::{Gap, Refinement, refine};

use crate::campaign::Measured;
use crate::error::WorkflowError;
use crate::plan::{Shares, refinement, refines};
use crate::session::Session;
use crate::{analyze, profile};

/// Measures what narrows crossovers, and decides anew; until nothing is worth the time or the rounds are over.
pub(crate) fn refined(measured: &mut Measured, session: &mut Session<'_>) -> Result<Findings, WorkflowError> {
    let begun = Instant::now();
    let left = measured.left(1.0);
    let Measured { started, manifest, tuning, campaign, .. } = measured;
    let validation = Shares::of(tuning, started.startup).validation;
    // What measuring left, without what validation will take.
    let left = || left.map(|left| left.0 - validation - begun.elapsed().as_secs_f64());
    let (rounds, _) = refinement(tuning, started.startup);
    let wanted = Refinement { width: tuning.refinement.width, ranks: tuning.refinement.ranks, ..Refinement::default() };
    campaign.further(started.backend.as_mut(), session, |run, round, session| {
        if round > tuning.refinement.rounds || !refines(tuning) {
            return Ok(None);
        }
        if left().is_some_and(|left| left <= 0.0) {
            session.say("refinement ends: measuring has taken its time");
            return Ok(None);
        }
        if round > rounds {
            session.say(&format!(
                "refinement ends: starting {} launches, each of which takes {}, is too much for what is left of its time",
                tuning.launches,
                started.startup.rounded(),
            ));
            return Ok(None);
        }
        let findings = analyze::of_run(run, manifest, tuning.criteria, tuning.policy, session)?;
        let proposals = refine(&findings, profile::weights(manifest), wanted);
        if proposals.is_empty() {
            session.say("refinement ends: measuring more sizes would not pay");
            return Ok(None);
        }
        let gaps = proposals.iter().filter(|proposal| matches!(proposal.gap, Gap::Messages(..))).count();
        session.say(&format!(
            "refinement, round {round}: {gaps} message sizes and {} communicator sizes between the measured ones",
            proposals.len() - gaps,
        ));
        let cells = proposals.into_iter().map(|proposal| proposal.plan).collect();
        let mut plan = plan(&manifest.plan, cells, tuning, round, left());
        if let Some(said) = separate::afford(&mut plan, 0) {
            session.say(&format!("refinement ends: {said}"));
            return Ok(None);
        }
        Ok(Some(plan))
    })?;
    analyze::of_run(&campaign.run, manifest, tuning.criteria, tuning.policy, session)
}

/// The cells of a round, in a job of as many ranks as that of the grid, so that ranks lie alike.
pub(crate) fn plan(base: &Plan, cells: Vec<CellPlan>, tuning: &Tuning, round: u32, left: Option<f64>) -> Plan {
    // No cell gets more time than those of the grid have got.
    let alike = |launch: Seconds| launch.0 * cells.len() as f64 / base.cells.len().max(1) as f64;
    let budget = base.schedule.budget.zip(refinement(tuning, base.schedule.startup).1);
    let budget = budget.map(|(launch, most)| Seconds(alike(launch).min(most.0)));
    let starts = base.schedule.startup.0;
    let rest = left.map(|left| Seconds((left / f64::from(base.launches.max(1)) - starts).max(0.0)));
    let budget = budget.map(|budget| rest.filter(|rest| *rest < budget).unwrap_or(budget));
    let schedule = Schedule { budget, ..base.schedule };
    Plan { cells, patterns: Vec::new(), schedule, seed: base.seed.wrapping_add(u64::from(round) << 48), ..base.clone() }
}
