//! Arguments about the program that runs in MPI jobs.

use clap::Subcommand;
use collrules_record::options::WorkerBuilding;

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) action: WorkerAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerAction {
    /// Build the worker for an Open MPI, from the sources of collrules, next to those for others
    #[command(after_help = "One worker runs under every Open MPI with the same binary interface: one for 4.0 to 5.0, \
                            another for 6.0. Commands pick the one that fits their mpirun.")]
    Build(WorkerBuilding),
}
