//! `collrules plan`: what would be measured, and how long it will take.

use collrules_record::options::Tuning;
use collrules_record::units::Seconds;
use collrules_workflow::allotted::within;
use collrules_workflow::plan::{Shares, lay_out, plan};
use collrules_workflow::profile;
use collrules_workflow::start::start;

use super::foresee;
use crate::args::{Given, Tune};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::say;
use crate::screen;

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    if args.session.resume.is_some() {
        return Err(Failure::usage("the plan of a run is in its manifest.json; --resume resumes it"));
    }
    args.consistent()?;
    let mut tuning = tuning(args)?;
    let mut started = start(&tuning.system, &interrupt::flag())?;
    let (budget, remark) = within(tuning.budget, started.allocation.as_ref())?;
    tuning.budget = budget;
    let remarks = std::mem::take(&mut started.remarks).into_iter().chain(remark);
    let laid_out = lay_out(&mut tuning, &mut started);
    if !args.session.json {
        remarks.chain(laid_out).for_each(|remark| say(&remark));
    }
    let tuning = &tuning;
    let plan = plan(tuning, &started.survey, started.startup)?;
    if args.session.json {
        return screen::print(&serde_json::to_string(&plan)?);
    }
    let shares = Shares::of(tuning, started.startup);
    let beyond = [
        ("Refinement between sizes of the grid", Seconds(shares.refinement)),
        ("Validation in fresh launches", Seconds(shares.validation)),
    ];
    foresee::print(&mut started, &plan, tuning.budget, &beyond, args.verbose)
}

/// What is asked for, by options and profiles.
pub(super) fn tuning(args: &Tune) -> Result<Tuning, Failure> {
    let mut tuning = args.tuning.clone();
    if !args.profile.is_empty() {
        let mut tell = |sentence: &str| {
            if !args.quiet && !args.session.json {
                say(sentence);
            }
        };
        profile::tune_for(&args.profile, &mut tuning, &mut tell)?;
        tuning.grid.any_layout = Given::here().arguments().all(|argument| argument.get_id() != "layout");
    }
    Ok(tuning)
}
