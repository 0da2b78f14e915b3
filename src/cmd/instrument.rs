//! The part of an instrument's command line that is the same for all: measure, resume, foresee, or analyse.

use std::path::Path;

use collrules_record::Seconds;
use collrules_record::rundir::RunDir;
use collrules_workflow::campaign::RunPlace;
use collrules_workflow::instrument::{self, Instrument};
use collrules_workflow::plan::plan;
use collrules_workflow::start::start;

use super::dry_run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{SessionArgs, named_or_new};
use crate::progress::Output;
use crate::{interrupt, screen, session};

/// Origin of the times, and destination of the result.
pub(super) struct Source<'a> {
    /// Earlier measurements; without them, new ones.
    pub(super) input: Option<&'a Path>,
    pub(super) out: Option<&'a Path>,
    pub(super) session: &'a SessionArgs,
    pub(super) dry_run: bool,
}

/// Result of an instrument, with the directory that has its files; none for a table.
pub(super) type FoundIn<I> = (Option<RunDir>, <I as Instrument>::Found);

/// Measures or analyses, and writes the result; none for a dry run.
pub(super) fn drive<I: Instrument>(instrument: &I, source: Source<'_>) -> Result<Option<FoundIn<I>>, Failure> {
    let Source { input, out, session: args, dry_run } = source;
    if dry_run {
        return foresee(instrument, args.json).map(|()| None);
    }
    if let Some(input) = input {
        return Ok(Some(session::plain(|session| instrument::of_input(instrument, input, out, session))?));
    }
    let place = match &args.resume {
        Some(run) => RunPlace::Resumed(run.clone()),
        None => RunPlace::New(named_or_new(out, I::NAME)),
    };
    let (run, found) =
        session::with(args.failures, Output::new(args.json), |session| instrument::run(instrument, &place, session))?;
    Ok(Some((Some(run), found)))
}

/// Prints what would be measured.
fn foresee<I: Instrument>(instrument: &I, json: bool) -> Result<(), Failure> {
    let mut started = start(instrument.system(), &interrupt::flag())?;
    let experiment = instrument.experiment(&started.survey)?;
    let plan = plan(&experiment, &started.survey, started.startup)?;
    if json {
        return screen::json_line(&plan);
    }
    let again = Seconds(plan.budget().unwrap_or_default().0 * f64::from(experiment.passes() - 1));
    let beyond = [("Measuring the mock-ups once more with the rules file active", again)];
    dry_run::print(&mut started, &plan, experiment.budget, &beyond, None)
}

/// Prints a result with its files, each with a description: page, text, file for programs, and others.
pub(super) fn print<I: Instrument>(
    (run, found): &FoundIn<I>,
    json: bool,
    text: String,
    files: &[(&str, &str)],
    exit: Exit,
) -> Result<Exit, Failure> {
    if json {
        return screen::json_line(found).map(|()| exit);
    }
    let width = files.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let files = run.as_ref().map(|run| screen::list_files(run.path(), width, files.iter().copied()).join("\n"));
    screen::print(&[text].into_iter().chain(files).collect::<Vec<_>>().join("\n")).map(|()| exit)
}
