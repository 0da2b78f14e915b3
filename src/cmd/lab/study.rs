//! `collrules lab study`: chosen algorithms compared on a grid.

use std::path::PathBuf;

use clap::Args;
use collrules_lab::instrument::Instrument;
use collrules_lab::study::{self, OneStudy, Studying, compare_variants};
use collrules_workflow::WorkflowError;

use super::instrument::{self, InstrumentArgs};
use crate::exit::Exit;
use crate::options::named_or_new;
use crate::progress::OutputMode;
use crate::screen;
use crate::session::run_in_session;

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "docs/guide/studies.md in collrules' sources describes definitions; examples/studies has several."
)]
pub(crate) struct StudyArgs {
    /// Measure nothing, and study this run directory, measured or imported, or table of timings; what it lacks is said. With
    /// placements, it is the directory of such a study
    #[arg(long, value_name = "RUN|TABLE")]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Studying,
    #[command(flatten)]
    pub(crate) instrument: InstrumentArgs,
}

pub(crate) fn run(args: &StudyArgs) -> Result<Exit, WorkflowError> {
    let StudyArgs { run, options, instrument: shared } = args;
    let input = if options.is_table() { Some(&options.definition) } else { run.as_ref() }.map(PathBuf::as_path);
    let (study, variants) = options.clone().read(run.as_deref())?;
    let exit = |default_is_right: bool| if default_is_right { Exit::DONE } else { Exit::PROBLEMS };
    if variants.is_empty() {
        let files = [
            (study::README, "the study, with all tables and figures"),
            (study::TIMES, "every time"),
            (study::STUDY, "all of it for programs"),
        ];
        return instrument::run(&study, input, shared, &files, |found| {
            (found.document.text(screen::width()), exit(found.study.failed_defaults().is_empty()))
        });
    }
    let InstrumentArgs { out, dry_run, session: args } = shared;
    if *dry_run {
        return Err(WorkflowError::usage("--dry-run lists one measurement, and this study has several"));
    }
    let new = || named_or_new(out.as_deref(), OneStudy::NAME);
    let (out, resumes) = (args.resume.clone().unwrap_or_else(new), args.resume.is_some());
    let (document, studies) = run_in_session(args.events.failures, OutputMode::new(args.events.json), |session| {
        compare_variants(&study, &variants, input, &out, resumes, session)
    })?;
    let exit = exit(studies.values().all(|study| study.failed_defaults().is_empty()));
    let files = [(study::README, "the comparison, with links to each study")];
    instrument::print(&studies, Some(&out), args.events.json, &files, (document.text(screen::width()), exit))
}
