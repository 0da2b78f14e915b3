//! `collrules validate`: whether a rules file makes anything slower, in fresh launches without it and with it.

use clap::parser::ValueSource;
use clap::{Args as _, CommandFactory};
use collrules_record::rundir;
use collrules_workflow::validate;

use crate::args::{Args, Launch, Simulate, Timing, Validate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen;
use crate::session;

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let opened = validate::open(&args.rules)?;
    let mut options = args.options();
    if !says_how_to_measure()
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

/// Whether the user says anything about launching, simulation or timing; otherwise a run is validated as it was measured.
fn says_how_to_measure() -> bool {
    let matches = Args::command().get_matches();
    let about = [Launch::augment_args, Simulate::augment_args, Timing::augment_args];
    let names = about.iter().flat_map(|augment| {
        let command = augment(clap::Command::new(""));
        command.get_arguments().map(|argument| argument.get_id().to_string()).collect::<Vec<_>>()
    });
    let given = matches.subcommand().map(|(_, given)| given);
    given.is_some_and(|given| names.into_iter().any(|name| given.value_source(&name) == Some(ValueSource::CommandLine)))
}
