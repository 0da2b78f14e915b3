//! Programs and libraries of Open MPI on this host.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collrules_record::ask::{PATIENCE, ask};
use collrules_record::units::Bytes;
use collrules_rules::Version;
use nix::sys::statvfs::statvfs;

use crate::error::RunnerError;

/// The file of a program name: itself if it has a directory, else the first one in PATH.
pub(super) fn in_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| std::path::absolute(name).unwrap_or_else(|_| name.to_owned()));
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}

/// Free space in the directory for temporary files below which jobs of Open MPI hang or crash while they start.
const LEAST_SPACE: u64 = 1 << 20;

/// Fails if the directory for temporary files is full.
pub(super) fn refuse_full_disk() -> Result<(), RunnerError> {
    let directory = env::temp_dir();
    // What cannot be found out is no reason.
    let Ok(found) = statvfs(&directory) else { return Ok(()) };
    let free = found.blocks_available() * found.fragment_size();
    match free < LEAST_SPACE {
        true => Err(RunnerError::NoSpace { directory, free: Bytes(free) }),
        false => Ok(()),
    }
}

/// The mpirun that a user names by itself or by the directory of its Open MPI; without a name, the first one in PATH.
pub(super) fn find_mpirun(named: Option<&Path>) -> Result<PathBuf, RunnerError> {
    let Some(named) = named else {
        return in_path(Path::new("mpirun")).ok_or_else(|| RunnerError::NoLauncher("mpirun".to_owned()));
    };
    if named.is_dir() {
        return in_path(&named.join("bin/mpirun")).ok_or_else(|| RunnerError::NoInstallation(named.to_owned()));
    }
    in_path(named).ok_or_else(|| RunnerError::NoSuchLauncher(named.to_owned()))
}

/// The version in the first line of mpirun's `--version`: `mpirun (Open MPI) 4.1.4`.
pub(super) fn open_mpi_version(mpirun: &Path) -> Result<Version, RunnerError> {
    let mut command = Command::new(mpirun);
    command.arg("--version");
    with_libraries(own_libraries(mpirun).as_deref(), &mut command);
    let output = answer(&mut command)?;
    let text = String::from_utf8_lossy(if output.stdout.is_empty() { &output.stderr } else { &output.stdout });
    let said = text.lines().next().unwrap_or_default().trim();
    if let Some((_, missing)) = said.split_once("error while loading shared libraries: ") {
        return Err(RunnerError::NoLibraries { launcher: mpirun.to_owned(), missing: missing.to_owned() });
    }
    said.split_once("(Open MPI)")
        .and_then(|(_, version)| version.trim().parse().ok())
        .ok_or_else(|| RunnerError::NotOpenMpi { launcher: mpirun.to_owned(), said: said.to_owned() })
}

/// Returns what a program prints on standard output.
pub(super) fn output_of(command: &mut Command) -> Result<String, RunnerError> {
    Ok(String::from_utf8_lossy(&answer(command)?.stdout).into_owned())
}

fn answer(command: &mut Command) -> Result<Output, RunnerError> {
    ask(command, b"", PATIENCE).map_err(|cause| match cause.kind() {
        ErrorKind::TimedOut | ErrorKind::FileTooLarge => RunnerError::NoAnswer(cause),
        _ => RunnerError::CannotStart { program: command.get_program().into(), cause },
    })
}

/// The library directory next to mpirun's bin directory, if it has an MPI library of any interface (`libmpi.so.40` up
/// to 5.0, `libmpi.so.0` in a build of 6.0). A worker built for it finds it there.
pub(super) fn own_libraries(mpirun: &Path) -> Option<PathBuf> {
    let prefix = mpirun.parent()?.parent()?;
    let has_library = |directory: &PathBuf| {
        let mut files = fs::read_dir(directory).into_iter().flatten().flatten();
        files.any(|file| file.file_name().to_string_lossy().starts_with("libmpi.so."))
    };
    ["lib", "lib64"].map(|name| prefix.join(name)).into_iter().find(has_library)
}

/// Lets a program find libraries in this directory first.
pub(super) fn with_libraries(libraries: Option<&Path>, process: &mut Command) {
    let Some(libraries) = libraries else { return };
    let rest = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let paths = std::iter::once(libraries.to_owned()).chain(env::split_paths(&rest));
    // A directory with a colon in its name cannot be in such a list; the survey will find the wrong library.
    if let Ok(joined) = env::join_paths(paths.filter(|path| !path.as_os_str().is_empty())) {
        process.env("LD_LIBRARY_PATH", joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpirun_is_named_by_its_directory_as_well() {
        let prefix = tempfile::tempdir().expect("a directory");
        let find = |path: &Path| find_mpirun(Some(path));
        assert!(matches!(find(prefix.path()), Err(RunnerError::NoInstallation(_))));
        assert!(matches!(find(&prefix.path().join("none")), Err(RunnerError::NoSuchLauncher(_))));
        let mpirun = prefix.path().join("bin/mpirun");
        fs::create_dir(prefix.path().join("bin")).expect("makes it");
        fs::write(&mpirun, "").expect("writes");
        for named in [prefix.path(), &mpirun] {
            assert_eq!(find(named).expect("is there"), mpirun);
        }
    }

    #[test]
    fn a_library_is_found_by_what_the_prefix_holds() {
        let prefix = tempfile::tempdir().expect("a directory");
        let mpirun = prefix.path().join("bin/mpirun");
        assert_eq!(own_libraries(&mpirun), None, "there is no such directory");
        for (directory, library) in [("lib64", "libmpi.so.0"), ("lib", "libmpi.so.40")] {
            let directory = prefix.path().join(directory);
            fs::create_dir(&directory).expect("makes it");
            fs::write(directory.join("libmpi_mpifh.so.40"), "").expect("writes");
            assert_ne!(own_libraries(&mpirun), Some(directory.clone()), "Fortran's alone does not count");
            fs::write(directory.join(library), "").expect("writes");
            assert_eq!(own_libraries(&mpirun), Some(directory));
        }
    }
}
