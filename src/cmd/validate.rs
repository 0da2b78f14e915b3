//! `collrules validate`: whether a rules file makes anything slower, in fresh launches without it and with it.

use clap::Arg;
use collrules_record::rundir;
use collrules_workflow::validate;

use crate::args::{Given, Validate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen;
use crate::session;

/// The headings of options that a run has decided on.
const HOW_TO_MEASURE: [&str; 3] = ["Launching", "Simulation", "Timing"];

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let opened = validate::open(&args.rules, args.han.as_deref())?;
    let mut options = args.validating.clone();
    // A run is validated as it was measured, unless the user says anything about that.
    let about = |argument: &Arg| argument.get_help_heading().is_some_and(|heading| HOW_TO_MEASURE.contains(&heading));
    if !Given::here().arguments().any(about)
        && let Some((system, timing)) = validate::as_measured(&opened)?
    {
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
