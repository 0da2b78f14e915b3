//! Finding an Open MPI on this host, and where its parameter files are. Its own `ompi_info` is asked, since packagers put
//! them where they like.

use std::path::{Path, PathBuf};
use std::process::Command;

use collrules_record::installed::Installation;

use super::launcher::{in_path, open_mpi_version, own_libraries, with_libraries};
use crate::error::RunnerError;

/// The installation that a directory or an mpirun names; without one, that of the first mpirun in PATH.
pub fn find(named: Option<&Path>) -> Result<Installation, RunnerError> {
    let mpirun = match named {
        Some(directory) if directory.is_dir() => directory.join("bin/mpirun"),
        Some(file) => file.to_owned(),
        None => PathBuf::from("mpirun"),
    };
    let mpirun = in_path(&mpirun).ok_or_else(|| RunnerError::NoLauncher(mpirun.to_string_lossy().into_owned()))?;
    let version = open_mpi_version(&mpirun)?;
    let found = std::path::absolute(&mpirun)?;
    let prefix = found.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
    let ask = |what: &str, moved: bool| ask(&mpirun, &prefix, what, moved);
    // One that was moved since it was built is told where it is, as its users have to.
    let built = ask("prefix", false)?;
    let same = |path: &Path| path.canonicalize().ok();
    let moved = same(&built) != same(&prefix);
    Ok(Installation { configuration: ask("sysconfdir", moved)?, prefix, version })
}

/// What `ompi_info` beside mpirun says of one of its directories.
fn ask(mpirun: &Path, prefix: &Path, what: &str, moved: bool) -> Result<PathBuf, RunnerError> {
    let program = mpirun.with_file_name("ompi_info");
    let mut command = Command::new(&program);
    command.args(["--parsable", "--path", what]);
    with_libraries(own_libraries(mpirun).as_deref(), &mut command);
    if moved {
        command.env("OPAL_PREFIX", prefix);
    }
    let output = command.output().map_err(|cause| RunnerError::CannotStart { program: program.clone(), cause })?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mark = format!("path:{what}:");
    let path = said.lines().find_map(|line| line.strip_prefix(&mark)).map(|path| PathBuf::from(path.trim()));
    path.filter(|path| path.is_absolute()).ok_or_else(|| RunnerError::NotOpenMpi {
        launcher: program,
        said: said.lines().next().unwrap_or_default().to_owned(),
    })
}
