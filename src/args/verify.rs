//! The command line of `verify`.

use std::path::PathBuf;

use collrules_workflow::options::{Communicators, Sizes};

use super::Launch;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Verify {
    /// The rules file; with --deployed, the one that is expected to be in force
    #[arg(value_name = "FILE", required_unless_present = "deployed")]
    pub(crate) rules: Option<PathBuf>,
    /// Ask what Open MPI does with its settings as they are in this shell and its parameter files, instead of naming the
    /// file to it
    #[arg(long)]
    pub(crate) deployed: bool,
    /// Communicator sizes to call on, as for tune [default: powers of two up to the slots at hand, and the slots]
    #[arg(long, value_name = "SIZES")]
    pub(crate) np: Option<Communicators>,
    /// Message sizes to call with, beside both sides of every boundary
    #[arg(long, value_name = "SIZES", default_value = "1:1M")]
    pub(crate) sizes: Sizes,
    /// Directory for a copy of the file that exists while the command runs; all nodes have to see it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) scratch: PathBuf,
    /// Say it in JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) launch: Launch,
}
