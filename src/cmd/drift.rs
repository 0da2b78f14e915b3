//! `collrules drift`: checks if a machine's times have changed, and if its tuning is still faster.

use std::path::PathBuf;

use collrules_tuner::results::drift::DRIFT;
use collrules_workflow::WorkflowError;
use collrules_workflow::drift::{self, Drifting};

use crate::exit::Exit;
use crate::options::{EventArgs, Given};
use crate::progress::OutputMode;
use crate::screen;
use crate::session::run_in_session;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Options about launching and simulation are those of the run unless they are given.

Exit codes:
   0  times and tuning are as they were
   5  that is undecided, or the check was interrupted
   8  the tuning makes calls slower than the default now
  11  the default's times changed, and the tuning still holds")]
pub(crate) struct DriftArgs {
    // Read this first: `Given` removes options when read.
    #[command(flatten)]
    given: Given,
    /// The run whose message sizes are timed again
    #[arg(value_name = "RUN")]
    run: PathBuf,
    #[command(flatten)]
    options: Drifting,
    /// Directory for launches and result [default: drift-DATE-TIME in the run]
    #[arg(long, value_name = "DIR", help_heading = None)]
    out: Option<PathBuf>,
    #[command(flatten)]
    events: EventArgs,
}

pub(crate) fn run(args: &DriftArgs) -> Result<Exit, WorkflowError> {
    let mut options = args.options.clone();
    let recorded = drift::as_measured(&args.run)?;
    args.given.refuse_other_jobs(&recorded.jobs)?;
    options.system = args.given.over(recorded)?;
    let repeated = run_in_session(args.events.failures, OutputMode::new(args.events.json), |session| {
        drift::drift(&args.run, &options, args.out.as_deref(), session)
    })?;
    if !args.events.json {
        let text = collrules_report::drift::document(&repeated.drift).text(screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", repeated.home.file(DRIFT).display()))?;
    }
    let drift = &repeated.drift;
    Ok(match (drift.loses(), drift.blames_machine()) {
        (true, _) => Exit::SLOWER,
        (false, true) => Exit::DRIFTED,
        (false, false) if drift.is_unchanged() => Exit::DONE,
        (false, false) => Exit::INCOMPLETE,
    })
}
