//! `collrules try`: A/B test of a tuning, or of the profiler, on a program.

use std::path::PathBuf;

use collrules_tuner::results::ab_test::{FILE, OutputComparison};
use collrules_workflow::WorkflowError;
use collrules_workflow::ab_test::{self, Trying};
use collrules_workflow::publish;

use crate::exit::Exit;
use crate::{screen, session};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 unless the program is shown to be slower with the tuning (or the profiler), 8 if it is. \
                  The runs take turns (without, with, with, without, and so on), so that drift favours neither side."
)]
pub(crate) struct Try {
    /// The rules file: that of a run (or the run's directory), or any other
    #[arg(value_name = "RULES|RUN", required_unless_present_any = ["profiler", "settings"], conflicts_with = "profiler")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    options: Trying,
    /// Directory for try.json and the output of each run [default: collrules-try-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Try) -> Result<Exit, WorkflowError> {
    let tuning = args.rules.as_deref().map(publish::open_whole).transpose()?;
    let out = args.out.clone().unwrap_or_else(ab_test::default_home);
    let tried = session::plain(|session| ab_test::try_program(tuning.as_ref(), &args.options, &out, session))?;
    if args.json {
        screen::raw((serde_json::to_string_pretty(&tried)? + "\n").as_bytes())?;
    } else {
        let text = collrules_report::ab_test::document(&tried).text(screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", out.join(FILE).display()))?;
    }
    Ok(match tried.compare_written() {
        _ if tried.loses() => Exit::SLOWER,
        Some(OutputComparison::Different) => Exit::PROBLEMS,
        _ => Exit::DONE,
    })
}
