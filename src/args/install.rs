//! Arguments of `collrules install` and `collrules installed`.

use collrules_record::options::{Inquiring, Installing};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "The lines go to the end of the installation's openmpi-mca-params.conf, between two markers. What was \
there stays, and --undo takes the lines out again."
)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) installing: Installing,
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if every tuning that is installed is as it was installed, 1 otherwise.")]
pub(crate) struct InstalledArgs {
    #[command(flatten)]
    pub(crate) inquiring: Inquiring,
    /// Say it in JSON
    #[arg(long)]
    pub(crate) json: bool,
}
