//! `collrules drift`: whether a machine behaves as it did, and whether its rules still hold.

use clap::Arg;
use collrules_record::drift::DRIFT;
use collrules_workflow::drift;

use crate::args::{DriftArgs, Given};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::{screen, session};

/// The headings of options that a run has decided on.
const HOW_TO_MEASURE: [&str; 2] = ["Launching", "Simulation"];

pub(crate) fn run(args: &DriftArgs) -> Result<Exit, Failure> {
    let mut options = args.drifting.clone();
    let about = |argument: &Arg| argument.get_help_heading().is_some_and(|heading| HOW_TO_MEASURE.contains(&heading));
    if !Given::here().arguments().any(about) {
        options.system = drift::as_measured(&args.run)?.0;
    }
    let repeated = session::with(args.failures, Output::of(args.json), |session| {
        drift::drift(&args.run, &options, args.out.as_deref(), session)
    })?;
    if !args.json {
        let text = collrules_report::drift::text(&repeated.drift);
        screen::print(&format!("{text}\nAll numbers: {}", repeated.home.file(DRIFT).display()))?;
    }
    Ok(match (repeated.drift.loses(), repeated.drift.changed()) {
        (true, _) => Exit::Slower,
        (false, true) => Exit::Drifted,
        (false, false) => Exit::Done,
    })
}
