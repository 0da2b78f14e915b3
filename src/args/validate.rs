//! Arguments of `collrules validate`.

use std::path::PathBuf;

use collrules_record::options::Validating;

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if the file makes nothing slower (with --repair, any more), 8 if it does. For a rules \
file of a run, the cells that were tuned are compared, and the options about launching, simulation and timing are \
those of the run unless one of them is given."
)]
pub(crate) struct Validate {
    /// The rules file: that of a run (or the run's directory), or any other, also one of coll/han alone
    #[arg(value_name = "RULES")]
    pub(crate) rules: PathBuf,
    /// The rules file of coll/han beside one from elsewhere: both are put in force together
    #[arg(long, value_name = "FILE", help_heading = None)]
    pub(crate) han: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) validating: Validating,
    /// Directory for samples and results [default: the run; for other files collrules-validation-DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = None)]
    pub(crate) failures: u32,
}
