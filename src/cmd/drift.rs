//! `collrules drift`: checks if a machine's times have changed, and if its rules are still faster.

use std::path::PathBuf;

use clap::FromArgMatches;
use collrules_record::drift::DRIFT;
use collrules_record::options::Drifting;
use collrules_workflow::drift;

use crate::args::Given;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::{screen, session};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if times and rules are as they were, 8 if a rule makes something slower now, 11 if times \
changed and the rules still hold. Options about launching and simulation are those of the run unless one is given."
)]
pub(crate) struct DriftArgs {
    /// The run whose cells are measured again
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) drifting: Drifting,
    /// Directory for samples and result [default: drift-DATE-TIME in the run]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = None)]
    pub(crate) failures: u32,
}

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
