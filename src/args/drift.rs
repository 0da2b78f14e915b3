//! Arguments of `collrules drift`.

use std::path::PathBuf;

use collrules_record::options::Drifting;

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if times and rules are as they were, 8 if a rule makes something slower now, 11 if times \
changed and the rules still hold. Options about launching and simulation are those of the run unless one is given."
)]
pub(crate) struct DriftArgs {
    /// The run whose cells are measured again
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) drifting: Drifting,
    /// Directory for samples and result [default: drift-DATE-TIME in the run]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = None)]
    pub(crate) failures: u32,
}
