//! Options of timing calls, and their condition.

use std::path::{Path, PathBuf};

use clap::ArgAction;
use collrules_record::clock::SyncMethod;
use collrules_record::condition::{Arrival, BufferUse, Condition, Root};
use collrules_record::options::TimingOptions;
use collrules_record::units::Seconds;
use collrules_workflow::values::positive;

use super::{Layer, layer, words};

layer! {
    #[command(next_help_heading = "Timing")]
    TimingArgs over TimingOptions {
        /// Method to synchronise ranks before a timed call
        #[arg(long, value_name = "HOW", default_value = "barrier", value_parser = words!(
            SyncMethod,
            "A dissemination barrier; the time is that of the slowest rank",
            "A common start on a clock that all ranks share; the time ends when the last rank is done",
        ))]
        sync: Option<SyncMethod>,
        /// Maximum error of the common clock before it is set again
        #[arg(long, value_name = "TIME", value_parser = positive, default_value = "1us")]
        clock_bound: Option<Seconds>,
        /// Treat each rank's clock as separate, even on one host, to test the common clock
        #[arg(long, action = ArgAction::SetTrue)]
        separate_clocks: Option<bool>,
        /// Time each algorithm exactly N times per size and launch, from its first call on, unless the budget ends
        /// before. Default for irregular: 100
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
        calls: Option<u32>,
    }
}

layer! {
    #[command(next_help_heading = "Timing")]
    ConditionArgs over Condition {
        /// Root of bcast, gather, reduce and scatter
        #[arg(long, value_name = "RANK", default_value = "first", value_parser = words!(
            Root,
            "Rank 0",
            "The last rank; if there are several nodes, the last one that is on another node than rank 0",
        ))]
        root: Option<Root>,
        /// Buffers of the calls
        #[arg(long, value_name = "HOW", default_value = "rotate", value_parser = words!(
            BufferUse,
            "One buffer for all calls, so that caches are warm, as in benchmarks",
            "Others in each call, more than the last-level cache holds",
            "One for input and result (MPI_IN_PLACE)",
            "One buffer for all calls, 16 B after the beginning of a page, where malloc puts large ones",
        ))]
        buffers: Option<BufferUse>,
        /// Ranks that enter late: `none`, `random` (another rank in each call), `first`, `last`; or a profile made with
        /// `collrules profile --imbalance`, or its directory: ranks are late as they were for the program's calls
        #[arg(long, value_name = "WHO|PROFILE", default_value = "none", value_parser = arrival)]
        arrival: Option<ArrivalArgument>,
        /// Time by which the rank is late [default: half of the time of the default algorithm]. With a profile, the longest
        /// time from one arrival to the next [default: twice the time of the default algorithm]
        #[arg(long, value_name = "TIME", value_parser = positive)]
        lateness: Option<Seconds>,
    }
}

/// The ranks that are late, with the profile that says so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArrivalArgument {
    late: Arrival,
    profile: Option<PathBuf>,
}

/// Reads who is late. Everything that is not a word for it is the path of a profile, which has to exist.
fn arrival(text: &str) -> Result<ArrivalArgument, String> {
    let (late, profile) = match text {
        "none" => (Arrival::None, None),
        "random" => (Arrival::Random, None),
        "first" => (Arrival::First, None),
        "last" => (Arrival::Last, None),
        path if Path::new(path).exists() => (Arrival::Profile, Some(path.into())),
        path => {
            return Err(format!(
                "there is no file `{path}`; write none, random, first, last, or the path of a profile"
            ));
        }
    };
    Ok(ArrivalArgument { late, profile })
}

impl Layer<Arrival> for Option<ArrivalArgument> {
    fn over(self, below: Arrival) -> Arrival {
        self.map_or(below, |given| given.late)
    }
}

impl ConditionArgs {
    /// The profile that `--arrival` names.
    pub(crate) fn profile(&self) -> Option<&Path> {
        self.arrival.as_ref()?.profile.as_deref()
    }
}
