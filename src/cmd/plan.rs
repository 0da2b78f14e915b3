//! `collrules plan`: planned measurements, and their duration.

use std::path::PathBuf;

use collrules_record::experiment::Experiment;
use collrules_record::units::Seconds;
use collrules_workflow::WorkflowError;
use collrules_workflow::budget::{Shares, searches_settings, within};
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::plan::{lay_out, plan};
use collrules_workflow::start::start;

use super::begin::{self, Tune};
use super::dry_run;
use crate::interrupt;
use crate::progress::say;
use crate::screen;

/// Multiples of the budget for which the sizes are stated that it decides.
const FACTORS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

pub(crate) fn run(args: &Tune) -> Result<(), WorkflowError> {
    if args.session.resume.is_some() {
        return Err(WorkflowError::usage("the plan of a run is in its manifest.json; --resume resumes it"));
    }
    args.consistent()?;
    let Begin { mut experiment, place, .. } = begin::new(args, PathBuf::new())?;
    let mut started = start(&experiment.system, &interrupt::flag())?;
    let (budget, remark) = within(experiment.budget, started.allocation.as_ref())?;
    experiment.budget = budget;
    experiment.searches = searches_settings(&args.options, budget)?;
    let remarks = std::mem::take(&mut started.remarks).into_iter().chain(remark);
    let laid_out = match place {
        RunPlace::NewInBestLayout(_) => lay_out(&mut experiment, &mut started),
        RunPlace::New(_) | RunPlace::Resumed(_) => None,
    };
    if !args.session.events.json {
        remarks.chain(laid_out).for_each(|remark| say(&remark));
    }
    let plan = plan(&experiment, &started.survey, started.startup)?;
    if args.session.events.json {
        return screen::print(&serde_json::to_string(&plan)?);
    }
    let shares = Shares::new(&experiment, started.startup);
    let beyond = [
        ("Refinement between sizes of the grid", shares.refinement()),
        ("Validation in fresh launches", shares.validation()),
        ("Search for settings, and the comparison of the whole tuning", shares.settings()),
    ];
    let mut budgets = Vec::new();
    for factor in experiment.budget.iter().flat_map(|_| FACTORS) {
        let budget = experiment.budget.map(|budget| Seconds(factor * budget.0));
        let searches = searches_settings(&args.options, budget)?;
        let experiment = Experiment { budget, searches, ..experiment.clone() };
        budgets.extend(budget.zip(Some(self::plan(&experiment, &started.survey, started.startup)?)));
    }
    dry_run::print(&mut started, &plan, experiment.budget, &beyond, &budgets, Some(args.verbose))
}
