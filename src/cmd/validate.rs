//! `collrules validate`: whether a rules file makes anything slower, in fresh launches without it and with it.

use clap::FromArgMatches;
use collrules_record::rundir;
use collrules_workflow::validate;

use crate::args::{Given, Validate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen;
use crate::session;

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let opened = validate::open(&args.rules, args.han.as_deref())?;
    let mut options = args.validating.clone();
    // A run is validated as it was measured, but for what the user says.
    if let Some((mut system, mut timing)) = validate::as_measured(&opened)? {
        let given = Given::here();
        let updated = system
            .update_from_arg_matches(&given.matches)
            .and_then(|()| timing.update_from_arg_matches(&given.matches));
        updated.map_err(|error| Failure::usage(error.to_string()))?;
        (options.system, options.timing) = (system, timing);
    }
    let validated = session::with(args.failures, Output::of(args.json), |session| {
        validate::validate(opened, &options, args.out.as_deref(), session)
    })?;
    if !args.json {
        let text = collrules_report::validation::text(&validated.validation, validated.release);
        let file = validated.home.file(rundir::VALIDATION);
        screen::print(&format!("{text}\nAll numbers: {}", file.display()))?;
    }
    Ok(if validated.validation.loses() { Exit::Slower } else { Exit::Done })
}
