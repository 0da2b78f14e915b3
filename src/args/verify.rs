//! The command line of `verify`.

use collrules_record::options::Verifying;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) verifying: Verifying,
    /// Say it in JSON
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
}
