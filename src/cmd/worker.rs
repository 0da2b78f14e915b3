//! `collrules worker`: the program that runs in MPI jobs.

use collrules_workflow::worker::{self, WorkerBuild};

use crate::args::{WorkerAction, WorkerArgs};
use crate::failure::Failure;
use crate::screen::{self, wrapped};

pub(crate) fn run(args: &WorkerArgs) -> Result<(), Failure> {
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
