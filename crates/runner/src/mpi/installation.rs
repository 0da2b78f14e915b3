//! Finding an Open MPI on this host and its parameter files, with its own `ompi_info`, since packagers choose their
//! place.

use std::path::{Path, PathBuf};
use std::process::Command;

use collrules_record::installed::Installation;
use collrules_rules::settings::parameters::Parameters;

use super::host::{find_mpirun, open_mpi_version, output_of, own_libraries, with_libraries};
use super::worker::prefix_of;
use crate::error::RunnerError;

/// The installation that a directory or an mpirun names; without one, that of the first mpirun in PATH.
pub fn find(named: Option<&Path>) -> Result<Installation, RunnerError> {
    let mpirun = find_mpirun(named)?;
    let version = open_mpi_version(&mpirun)?;
    let prefix = prefix_of(&std::path::absolute(&mpirun)?);
    // A relocated installation needs its path, as it does for its users.
    let moved = was_moved(&mpirun, &prefix)?;
    Ok(Installation { configuration: ask(&mpirun, &prefix, "sysconfdir", moved)?, prefix, version })
}

/// A command that runs a program of this installation, even if it was moved.
pub fn tool(openmpi: &Installation, program: &Path) -> Result<Command, RunnerError> {
    let mpirun = openmpi.prefix.join("bin/mpirun");
    let mut command = Command::new(program);
    with_libraries(own_libraries(&mpirun).as_deref(), &mut command);
    if was_moved(&mpirun, &openmpi.prefix)? {
        command.env("OPAL_PREFIX", &openmpi.prefix);
    }
    Ok(command)
}

/// Reads the parameters that an installation has.
pub fn parameters(openmpi: &Installation) -> Result<Parameters, RunnerError> {
    let program = openmpi.prefix.join("bin/ompi_info");
    let said = output_of(tool(openmpi, &program)?.args(["--all", "--parsable"]))?;
    Ok(Parameters::read(&said, ""))
}

/// Returns true if an installation is not in the place that it was built for.
fn was_moved(mpirun: &Path, prefix: &Path) -> Result<bool, RunnerError> {
    let same = |path: &Path| path.canonicalize().ok();
    Ok(same(&ask(mpirun, prefix, "prefix", false)?) != same(prefix))
}

/// Asks `ompi_info` next to mpirun for one of its directories.
fn ask(mpirun: &Path, prefix: &Path, what: &str, moved: bool) -> Result<PathBuf, RunnerError> {
    let program = mpirun.with_file_name("ompi_info");
    let mut command = Command::new(&program);
    command.args(["--parsable", "--path", what]);
    with_libraries(own_libraries(mpirun).as_deref(), &mut command);
    if moved {
        command.env("OPAL_PREFIX", prefix);
    }
    let said = output_of(&mut command)?;
    let mark = format!("path:{what}:");
    let path = said.lines().find_map(|line| line.strip_prefix(&mark)).map(|path| PathBuf::from(path.trim()));
    path.filter(|path| path.is_absolute()).ok_or_else(|| RunnerError::NotOpenMpi {
        launcher: program,
        said: said.lines().next().unwrap_or_default().to_owned(),
    })
}
