//! Options of commands that measure, about the session rather than about what is measured.

use std::path::PathBuf;

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct Session {
    /// Resume the run in this directory; what it measures, and how, was decided when it began
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) failures: u32,
}
