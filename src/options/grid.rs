//! Options that choose cells and candidates.

use clap::ArgAction;
use collrules_record::CandidateName;
use collrules_record::grid::{CommunicatorSizes, Grid};
use collrules_record::options::{RefinementOptions, SettingsOptions};
use collrules_record::units::Bytes;
use collrules_rules::Collective;
use collrules_rules::settings::request::RequestedSetting;
use collrules_workflow::values::{collectives, communicator_sizes, only, ratio, sizes};

use super::{Layer, List, layer};

/// The collectives that programs call most. MPI_Allreduce, MPI_Bcast, MPI_Barrier, MPI_Reduce, MPI_Allgather and MPI_Alltoall lead by
/// time or by calls in the profiles of Rabenseifner (Automatic MPI Counter Profiling, CUG 2000) and of Chunduri et al.
/// (Characterization of MPI Usage on a Production Supercomputer, SC 2018).
const MOST_CALLED: &str = "allreduce,bcast,alltoall,reduce,allgather,barrier";

layer! {
    GridArgs over Grid {
        /// Collectives to tune, separated by commas, or all; by default those that programs call most
        #[arg(long = "ops", value_name = "LIST", default_value = MOST_CALLED, value_parser = collectives)]
        collectives: Option<List<Collective>>,
        /// Communicator sizes, separated by commas; FIRST:LAST for the powers of two between, both ends, and 1, 2, 4 full
        /// nodes and so on between them; FIRST:LAST:STEP for steps [default: the same up to the available slots]
        #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicator_sizes)]
        ranks: Option<CommunicatorSizes>,
        /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
        #[arg(long, value_name = "SIZES", default_value = "1:1M", value_parser = sizes)]
        sizes: Option<List<Bytes>>,
        /// Segment sizes to try, besides none, separated by commas
        #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8K,64K")]
        segments: Option<Vec<Bytes>>,
        /// Fan-outs to try, if an algorithm has one, separated by commas
        #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4")]
        fanouts: Option<Vec<u32>>,
        /// Limits on requests to try, if an algorithm has one and this Open MPI reads it from a file (4.1.8, 5.0.7, 6.0)
        #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2")]
        requests: Option<Vec<u32>>,
        /// Maximum memory for the buffers of one rank; larger calls are left out
        #[arg(long, value_name = "SIZE", default_value = "512M")]
        max_memory: Option<Bytes>,
        /// Try only these algorithms and the default, with fixed parameters: COLLECTIVE:ALGORITHM by name or number, or
        /// complete such as bcast:tuned:2/4/0/0. Other collectives keep all
        #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = only)]
        only: Option<Vec<(Collective, CandidateName)>>,
        /// Start a job for each algorithm instead of switching within a job. Allgatherv always needs that
        #[arg(long, action = ArgAction::SetTrue)]
        launch_per_candidate: Option<bool>,
        /// Also time Chan et al.'s reference algorithms for short and long vectors, chan:short and chan:long, for
        /// collectives that --only does not name. They show what is possible; no rule can choose them
        #[arg(long, action = ArgAction::SetTrue)]
        reference: Option<bool>,
        /// Also time messages inside a node and between nodes, and the operation of reductions. Included in --reference
        #[arg(long, action = ArgAction::SetTrue)]
        patterns: Option<bool>,
    } ..Grid::default()
}

layer! {
    #[command(next_help_heading = "Refinement")]
    RefinementArgs over RefinementOptions {
        /// Rounds of measuring more sizes around each change of the choice, as long as it is worth the time; they share
        /// 15 % of the budget
        #[arg(long = "refine", value_name = "ROUNDS", default_value = "2")]
        rounds: Option<u32>,
        /// Stop refining a change if the size above it is at most this many times the size below it
        #[arg(long = "refine-width", value_name = "RATIO", default_value = "1.25", value_parser = ratio)]
        width: Option<f64>,
        /// Also measure communicator sizes between those of the grid
        #[arg(id = "refine_np", long = "refine-np", action = ArgAction::SetTrue)]
        ranks: Option<bool>,
    }
}

layer! {
    #[command(next_help_heading = "Settings")]
    SearchArgs over SettingsOptions {
        /// Skip the search for settings of Open MPI that make messages faster. It takes 40 % of the budget (20 %
        /// if the rules need more time), and what the rules leave of the rest, if the budget is at least a minute and enough for 24 jobs
        #[arg(id = "no_settings", long = "no-settings", action = ArgAction::SetTrue)]
        none: Option<bool>,
        /// A setting of your own with the values to try, as `collrules settings` has it, such as btl_vader_eager_limit=4K,16K or
        /// env:UCX_RNDV_THRESH=8K,64K. May be repeated
        #[arg(id = "settings", long = "setting", value_name = "NAME=VALUES", conflicts_with = "no_settings")]
        requests: Option<Vec<RequestedSetting>>,
        /// Try only the settings of --setting
        #[arg(id = "only_settings", long = "only-settings", requires = "settings", action = ArgAction::SetTrue)]
        only: Option<bool>,
    }
}
