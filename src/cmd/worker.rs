//! `collrules worker`: the program that runs in MPI jobs.

use clap::Subcommand;
use collrules_workflow::WorkflowError;
use collrules_workflow::worker::{self, WorkerBuild, WorkerBuilding};

use crate::screen::{self, wrapped};

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

pub(crate) fn run(args: &WorkerArgs) -> Result<(), WorkflowError> {
    let WorkerAction::Build(building) = &args.action;
    let WorkerBuild { openmpi, worker, library } = worker::build(building)?;
    let line = format!(
        "{} is the worker for {library}: Open MPI {} in {}, and others with this interface.",
        worker.display(),
        openmpi.version,
        openmpi.prefix.display()
    );
    let mut lines = wrapped(&line, "", "");
    lines.push(format!("  collrules doctor --mpirun {}", openmpi.prefix.join("bin/mpirun").display()));
    screen::print(&lines.join("\n"))
}
