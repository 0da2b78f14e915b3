//! `collrules validate`: finds sizes that a rules file makes slower, in fresh launches with and without it.

use clap::FromArgMatches;
use collrules_record::condition::Arrival;
use collrules_record::experiment::Experiment;
use collrules_record::rundir;
use collrules_workflow::{profile, tuning, validate};

use crate::args::{Given, Validate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen;
use crate::session;

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let tuning = tuning::open(&args.rules, args.han.as_deref())?;
    let (mut options, mut arrivals, given) = (args.validating.clone(), Vec::new(), Given::here());
    // A run is validated with its own options, unless the user gives others.
    if let Some(Experiment { mut system, mut timing, mut condition, arrivals: known, .. }) =
        validate::as_measured(&tuning)?
    {
        let updated = system
            .update_from_arg_matches(&given.matches)
            .and_then(|()| timing.update_from_arg_matches(&given.matches))
            .and_then(|()| condition.update_from_arg_matches(&given.matches));
        updated.map_err(|error| Failure::usage(error.to_string()))?;
        (options.system, options.timing, options.condition, arrivals) = (system, timing, condition, known);
    }
    if args.validating.condition.arrival == Arrival::Profile {
        arrivals = profile::read_arrivals(&given.arrival())?;
    }
    let validated = session::with(args.failures, Output::new(args.json), |session| {
        validate::validate(tuning, (&options, arrivals), args.out.as_deref(), session)
    })?;
    if !args.json {
        let text = collrules_report::validation::text(&validated.validation, validated.release);
        let file = validated.home.file(rundir::VALIDATION);
        screen::print(&format!("{text}\nAll numbers: {}", file.display()))?;
    }
    Ok(if validated.validation.loses() { Exit::Slower } else { Exit::Done })
}
