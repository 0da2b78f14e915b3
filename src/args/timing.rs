//! How calls are timed, and for how long.

use clap::ValueEnum;
use collrules_record::clock::SyncMethod;
use collrules_record::units::Seconds;

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Timing")]
pub(crate) struct Timing {
    /// How ranks are brought together before a timed call
    #[arg(long, value_name = "HOW", value_enum, default_value_t = SyncArg::Barrier)]
    pub(crate) sync: SyncArg,
    /// How far the common clock may be off on a rank before it is set again
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub(crate) clock_bound: Seconds,
    /// Treat each rank's clock as separate, even on one host: shows how exact the common clock is
    #[arg(long)]
    pub(crate) separate_clocks: bool,
}

/// How ranks are brought together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SyncArg {
    /// A dissemination barrier; the time is that of the slowest rank
    Barrier,
    /// A common start on a clock that all ranks share; the time ends when the last rank is done
    Roundtime,
}

impl From<SyncArg> for SyncMethod {
    fn from(arg: SyncArg) -> Self {
        match arg {
            SyncArg::Barrier => Self::Barrier,
            SyncArg::Roundtime => Self::RoundTime,
        }
    }
}
