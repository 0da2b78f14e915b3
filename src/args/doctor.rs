//! Arguments of `collrules doctor`.

use std::path::PathBuf;

use collrules_record::options::{Launching, System};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if collrules can measure here, though perhaps with warnings; 4 if something has to be \
                  fixed first."
)]
pub(crate) struct Doctor {
    /// Directory for a file that exists while the command runs; all nodes have to see it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) scratch: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) system: System<Launching>,
}
