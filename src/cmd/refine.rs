//! After the grid: sizes between those of the grid where the choice changes, round by round.

use collrules_record::Plan;
use collrules_record::findings::Findings;
use collrules_record::plan::Schedule;
use collrules_record::rundir;
use collrules_record::units::Seconds;
use collrules_runner::campaign::{self, Policy as CampaignPolicy, Tally};
use collrules_runner::separate;
use collrules_tuner::refine::{Gap, Refinement, refine};

use super::analyze::findings_of_run;
use super::measure::Measured;
use crate::args::{RefineArgs, Tune};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::say;

/// The share of the budget that refinement may take.
const SHARE: f64 = 0.15;

/// The share of the budget that is left to the grid.
pub(super) fn grid_share(args: &RefineArgs) -> f64 {
    if args.refine == 0 { 1.0 } else { 1.0 - SHARE }
}

/// Measures what narrows crossovers, appends it to the run under launch numbers of its own, and decides anew; until
/// nothing is worth the time or the rounds are over. What each round measures is in `refinement-ROUND.json`, so that a
/// round that was interrupted is gone on with.
pub(super) fn rounds(measured: &mut Measured, mut findings: Findings) -> Result<Findings, Failure> {
    let args = measured.options.clone();
    let wanted = Refinement { width: args.refine.refine_width, ranks: args.refine.refine_np, ..Refinement::default() };
    let mut first = planned_launches(&measured.manifest.plan);
    for round in 1..=args.refine.refine {
        let plan = if let Some(begun) = measured.run.refinement(round)? {
            begun
        } else {
            let proposals = refine(&findings, wanted);
            if proposals.is_empty() {
                say("every change of choice is known as well as it is worth");
                break;
            }
            let gaps = proposals.iter().filter(|proposal| matches!(proposal.gap, Gap::Messages(..))).count();
            say(&format!(
                "round {round} of refinement: {gaps} sizes of messages and {} of communicators between those measured",
                proposals.len() - gaps,
            ));
            let cells = proposals.into_iter().map(|proposal| proposal.plan).collect();
            let plan = plan(&measured.manifest.plan, cells, &args, round);
            measured.run.write_refinement(round, &plan)?;
            plan
        };
        measure(measured, &plan, first)?;
        first += planned_launches(&plan);
        let Measured { run, manifest, started, .. } = measured;
        findings = findings_of_run(run, manifest, started.release, &args.criteria, args.policy.policy())?;
    }
    Ok(findings)
}

/// The planned launches of a plan.
fn planned_launches(plan: &Plan) -> u32 {
    separate::starts(plan).len() as u32
}

/// The cells of a round, in a job of as many ranks as that of the grid, so that ranks lie alike.
fn plan(base: &Plan, cells: Vec<collrules_record::plan::CellPlan>, args: &Tune, round: u32) -> Plan {
    // No cell gets more time than those of the grid have got.
    let alike = |launch: Seconds| launch.0 * cells.len() as f64 / base.cells.len().max(1) as f64;
    let share = |whole: Seconds| whole.0 * SHARE / f64::from(args.refine.refine.max(1)) / f64::from(base.launches);
    let budget =
        base.schedule.budget.zip(args.budget.0).map(|(launch, whole)| Seconds(alike(launch).min(share(whole))));
    let schedule = Schedule { budget, ..base.schedule };
    Plan { cells, schedule, seed: base.seed.wrapping_add(u64::from(round) << 48), ..base.clone() }
}

fn measure(measured: &mut Measured, plan: &Plan, first: u32) -> Result<(), Failure> {
    let Measured { started, run, log, reporter, options, .. } = measured;
    let policy = CampaignPolicy { failures: options.session.failures, stop: interrupt::flag() };
    let mut tally = Tally::default();
    reporter.begin(plan, first);
    let backend = started.backend.as_mut();
    campaign::measure_from(first, backend, plan, log, &policy, &mut tally, &mut |launch, notice| {
        reporter.see(launch, notice);
    })
    .map_err(|cause| Failure::Incomplete {
        cause: Box::new(cause),
        samples: tally.samples,
        cells: tally.cells,
        planned: plan.cells.len(),
        kept: run.file(rundir::SAMPLES).display().to_string(),
        run: run.path().display().to_string(),
    })
}
