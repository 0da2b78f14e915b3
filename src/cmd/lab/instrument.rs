//! The part of an instrument's command line that is the same for all: measure, resume, foresee, or analyse.

use std::path::{Path, PathBuf};

use clap::Args;
use collrules_lab::instrument::{self, Instrument};
use collrules_record::Seconds;
use collrules_record::rundir::RunDir;
use collrules_workflow::WorkflowError;
use collrules_workflow::budget::within;
use collrules_workflow::campaign::RunPlace;
use collrules_workflow::plan::plan;
use collrules_workflow::start::start;
use serde::Serialize;

use crate::cmd::dry_run;
use crate::exit::Exit;
use crate::options::{SessionArgs, named_or_new};
use crate::progress::{OutputMode, say};
use crate::session::{self, run_in_session};
use crate::{interrupt, screen};

/// Options of every instrument.
#[derive(Clone, Debug, Args)]
pub(crate) struct InstrumentArgs {
    /// Directory for what is measured, and for the results, which must not hold any yet [default: collrules-COMMAND-DATE-TIME
    /// where something is measured]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// List what would be measured, and stop
    #[arg(long, help_heading = None)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Analyses earlier measurements or, without them, measures, and writes and prints the result with those of its files that
/// are there, each with a description. `conclude` has the result as text and as exit code. A dry run prints what would be
/// measured.
pub(crate) fn run<I: Instrument>(
    instrument: &I,
    input: Option<&Path>,
    InstrumentArgs { out, dry_run, session: args }: &InstrumentArgs,
    files: &[(&str, &str)],
    conclude: impl FnOnce(&I::Found) -> (String, Exit),
) -> Result<Exit, WorkflowError> {
    let out = out.as_deref();
    if *dry_run {
        return foresee(instrument, args.events.json).map(|()| Exit::DONE);
    }
    let (run, found) = match (input, &args.resume) {
        (Some(input), _) => session::plain(|session| instrument::of_input(instrument, input, out, session))?,
        (None, resumed) => {
            let new = || RunPlace::New(named_or_new(out, I::NAME));
            let place = resumed.clone().map_or_else(new, RunPlace::Resumed);
            let output = OutputMode::new(args.events.json);
            let (run, found) =
                run_in_session(args.events.failures, output, |session| instrument::run(instrument, &place, session))?;
            (Some(run), found)
        }
    };
    let concluded = conclude(&found);
    print(&found, run.as_ref().map(RunDir::path), args.events.json, files, concluded)
}

/// Prints a result with those of its files that are in the directory.
pub(crate) fn print(
    found: &impl Serialize,
    directory: Option<&Path>,
    json: bool,
    files: &[(&str, &str)],
    (text, exit): (String, Exit),
) -> Result<Exit, WorkflowError> {
    if json {
        return screen::json_line(found).map(|()| exit);
    }
    let files = directory.iter().flat_map(|directory| {
        let there: Vec<_> = files.iter().copied().filter(|(name, _)| directory.join(name).exists()).collect();
        let width = there.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        screen::list_files(directory, width, there)
    });
    screen::print(&[text].into_iter().chain(files).collect::<Vec<_>>().join("\n")).map(|()| exit)
}

/// Prints what would be measured.
fn foresee<I: Instrument>(instrument: &I, json: bool) -> Result<(), WorkflowError> {
    let mut started = start(instrument.system(), &interrupt::flag())?;
    let mut experiment = instrument.experiment(&started.survey)?;
    let (budget, remark) = within(experiment.budget, started.allocation.as_ref())?;
    experiment.budget = budget;
    if !json {
        remark.iter().for_each(|remark| say(remark));
    }
    let plan = plan(&experiment, &started.survey, started.startup)?;
    if json {
        return screen::json_line(&plan);
    }
    let again = Seconds(plan.budget().unwrap_or_default().0 * f64::from(experiment.passes() - 1));
    let beyond = [("Measuring the mock-ups once more with the rules file active", again)];
    dry_run::print(&mut started, &plan, experiment.budget, &beyond, &[], None)
}
