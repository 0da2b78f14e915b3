//! `collrules lab guidelines`: finds collectives that are slower than equivalent calls.

use std::path::PathBuf;

use clap::Args;
use collrules_lab::guidelines::check;
use collrules_lab::guidelines::found as files;
use collrules_lab::guidelines::report;
use collrules_lab::guidelines::{self, Checking};
use collrules_workflow::WorkflowError;

use super::instrument::{self, InstrumentArgs};
use crate::exit::Exit;
use crate::screen;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 0 if no violation is shown, 9 if one is; with --compare, 9 if one is new or has become \
worse; 1 if the default gives wrong data."
)]
pub(crate) struct Guidelines {
    /// Judge this run, or timing table with a column candidate, instead of measuring
    #[arg(value_name = "RUN|TABLE")]
    pub(crate) input: Option<PathBuf>,
    /// Print the catalogue, and stop
    #[arg(long, conflicts_with = "input")]
    pub(crate) list: bool,
    /// Report what changed since this check: its directory, or its guidelines.json
    #[arg(long, value_name = "EARLIER")]
    pub(crate) compare: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Checking,
    #[command(flatten)]
    pub(crate) instrument: InstrumentArgs,
}

pub(crate) fn run(args: &Guidelines) -> Result<Exit, WorkflowError> {
    if args.list {
        let text = if args.instrument.session.events.json { report::list_json()? } else { report::list() };
        return screen::print(&text).map(|()| Exit::DONE);
    }
    // Unreadable files are reported before anything is measured.
    let earlier = args.compare.as_deref().map(guidelines::earlier).transpose()?;
    let files = [
        (files::PAGE, "the maps with all numbers, and each violation"),
        (files::TEXT, "the same as text"),
        (files::FILE, "all of it for programs, and for --compare"),
        (files::TABLE, "every comparison as a table"),
    ];
    instrument::run(&args.options, args.input.as_deref(), &args.instrument, &files, |checked| {
        let changes = earlier.map(|earlier| check::changes(&earlier, checked));
        let exit = match guidelines::fails(checked, changes.as_deref()) {
            _ if !checked.default_failed.is_empty() => Exit::PROBLEMS,
            true => Exit::VIOLATED,
            false => Exit::DONE,
        };
        (report::text(checked, changes.as_deref(), screen::width()), exit)
    })
}
