//! Options of the session.

use std::path::PathBuf;

/// Options of the session, which do not change what is measured.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Resume the run in this directory, with the options that it began with
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) failures: u32,
}
