//! `collrules lab irregular`: calls that sometimes take many times as long, and remedies.

use std::path::PathBuf;

use clap::Args;
use collrules_lab::irregular::Irregularity;
use collrules_lab::irregular::document as report;
use collrules_model::stalls;
use collrules_workflow::WorkflowError;

use super::instrument::{self, InstrumentArgs};
use crate::exit::Exit;
use crate::screen;

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Stalls are calls that take several times as long as usual, all by about the same; on TCP they are \
timeouts for retransmission. A median does not show them."
)]
pub(crate) struct IrregularArgs {
    /// Measure nothing: look at the calls of this run, of whichever command, or of an import of single calls (ReproMPI)
    #[arg(value_name = "RUN")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Irregularity,
    #[command(flatten)]
    pub(crate) instrument: InstrumentArgs,
}

pub(crate) fn run(args: &IrregularArgs) -> Result<Exit, WorkflowError> {
    let files = [
        (stalls::PAGE, "times by size for every alternative, and all distributions"),
        (stalls::TEXT, "the same as text"),
        (stalls::FILE, "all of it for programs"),
        (stalls::HEADER, "gathers and scatters in pieces, for programs in C"),
    ];
    instrument::run(&args.options, args.input.as_deref(), &args.instrument, &files, |found| {
        let exit = if found.default_failed.is_empty() { Exit::DONE } else { Exit::PROBLEMS };
        (report::document(found).text(screen::width()), exit)
    })
}
