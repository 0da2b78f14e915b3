//! `collrules drift`: checks if a machine's times have changed, and if its rules are still faster.

use clap::FromArgMatches;
use collrules_record::drift::DRIFT;
use collrules_workflow::drift;

use crate::args::{DriftArgs, Given};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::{screen, session};

pub(crate) fn run(args: &DriftArgs) -> Result<Exit, Failure> {
    let mut options = args.drifting.clone();
    options.system = drift::as_measured(&args.run)?;
    let updated = options.system.update_from_arg_matches(&Given::here().matches);
    updated.map_err(|error| Failure::usage(error.to_string()))?;
    let repeated = session::with(args.failures, Output::new(args.json), |session| {
        drift::drift(&args.run, &options, args.out.as_deref(), session)
    })?;
    if !args.json {
        let text = collrules_report::drift::text(&repeated.drift);
        screen::print(&format!("{text}\nAll numbers: {}", repeated.home.file(DRIFT).display()))?;
    }
    Ok(match (repeated.drift.loses(), repeated.drift.blames_machine()) {
        (true, _) => Exit::Slower,
        (false, true) => Exit::Drifted,
        (false, false) => Exit::Done,
    })
}
