//! Arguments of `collrules irregular`.

use std::path::PathBuf;

use clap::Args;
use collrules_record::options::Irregularity;

#[derive(Debug, Args)]
#[command(
    after_help = "Stalls are calls that take several times as long as usual, all by about the same; on TCP they are \
timeouts for retransmission. A median does not show them."
)]
pub(crate) struct IrregularArgs {
    /// Measure nothing: look at the calls of this run, of whichever command
    #[arg(value_name = "RUN")]
    pub(crate) input: Option<PathBuf>,
    /// Directory for what is measured, and for irregular.html, irregular.md, irregular.json and hmpi.h [default:
    /// collrules-irregular-DATE-TIME where something is measured]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) irregularity: Irregularity,
}
