//! Finding the worker for an Open MPI: one program for each binary interface of the MPI library.
//!
//! The interface is the name of the library that a program is linked with: `libmpi.so.40` in 4.0 to 5.0, `libmpi.so.0`
//! in builds of the 6.0 branch. Workers for several interfaces may be in one directory, as
//! `collrules-worker-libmpi.so.0`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::MPI_LIBRARY;
pub use super::elf::mpi_library as linked_library;
use super::host::{in_path, own_libraries};
use crate::error::RunnerError;

/// The name of the worker program; builds for a certain interface have a suffix.
pub const WORKER: &str = "collrules-worker";

/// The name of the worker that is linked with this library.
pub fn name_worker(library: &str) -> String {
    format!("{WORKER}-{library}")
}

/// The directory of the user's own workers, for those who cannot write next to collrules.
pub fn user_workers() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(env::var_os("HOME").filter(|home| !home.is_empty())?).join(".local/share"));
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|data| data.is_absolute()).or_else(home)?;
    Some(data.join("collrules"))
}

/// Says which worker this is, where it was found, and the MPI library that it is linked with.
pub fn describe_worker(worker: &Path, named: bool) -> String {
    let lies_in = |directory: Option<PathBuf>| worker.parent() == directory.as_deref();
    let origin = match named {
        true => "named by --worker",
        false if lies_in(own_directory()) => "next to collrules",
        false if lies_in(user_workers()) => "of this user",
        false => "found in PATH",
    };
    let library = linked_library(worker).map(|library| format!(", for {library}")).unwrap_or_default();
    format!("{} ({origin}{library})", worker.display())
}

/// The directory of this program, the first to hold workers.
pub fn own_directory() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.parent()?.to_owned())
}

/// Names of the MPI libraries of an installation, usually one; empty if unknown.
pub fn list_interfaces(mpirun: &Path) -> BTreeSet<String> {
    let files = own_libraries(mpirun).map(|directory| fs::read_dir(directory).into_iter().flatten().flatten());
    let names = files.into_iter().flatten().filter_map(|file| interface(&file.file_name().to_string_lossy()));
    let names: BTreeSet<String> = names.collect();
    if !names.is_empty() {
        return names;
    }
    // Packagers put libraries where they like; the tools next to mpirun know.
    linked_library(&mpirun.with_file_name("ompi_info")).into_iter().collect()
}

/// `libmpi.so.40` of `libmpi.so.40.30.4`.
fn interface(file: &str) -> Option<String> {
    let number = file.strip_prefix(MPI_LIBRARY)?.split('.').next()?;
    number.parse::<u32>().is_ok().then(|| format!("{MPI_LIBRARY}{number}"))
}

/// The worker to start under an installation: the named one, or the first suitable one next to this program, in the
/// user's own directory, or in PATH.
pub(super) fn find_worker(given: Option<&Path>, mpirun: Option<&Path>) -> Result<PathBuf, RunnerError> {
    let interfaces = mpirun.map(list_interfaces).unwrap_or_default();
    let found = match given {
        Some(given) => in_path(given).into_iter().collect(),
        None => list_workers(&interfaces),
    };
    let libraries = found.into_iter().map(|worker| (linked_library(&worker), worker)).collect();
    let remedy = mpirun.map_or_else(|| "collrules worker build --for PREFIX".to_owned(), build_command);
    let needed = interfaces.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match (choose(libraries, &interfaces), given) {
        (Ok(worker), _) => Ok(worker),
        (Err(Some((library, worker))), _) => Err(RunnerError::WrongWorker {
            worker,
            library: library.into(),
            prefix: mpirun.map(prefix_of).unwrap_or_default(),
            interfaces: needed.into(),
            remedy: remedy.into(),
        }),
        (Err(None), Some(given)) => Err(RunnerError::NoSuchWorker(given.to_owned())),
        (Err(None), None) => {
            let needed = if needed.is_empty() { needed } else { format!(" for {needed}") };
            Err(RunnerError::NoWorker { needed, remedy })
        }
    }
}

/// The command that builds the worker for an installation.
pub fn build_command(mpirun: &Path) -> String {
    let prefix = prefix_of(mpirun);
    let shown = prefix.display().to_string();
    format!("collrules worker build --for {}", shell_words::quote(&shown))
}

/// The directory that holds an installation's `bin`.
pub(super) fn prefix_of(mpirun: &Path) -> PathBuf {
    mpirun.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned()
}

/// The first worker that is linked with one of these libraries, or whose libraries (or the installation's) are unknown.
/// If there is none, the first of the others.
fn choose(
    workers: Vec<(Option<String>, PathBuf)>,
    interfaces: &BTreeSet<String>,
) -> Result<PathBuf, Option<(String, PathBuf)>> {
    let mut wrong = None;
    for (library, worker) in workers {
        match library {
            Some(library) if !interfaces.is_empty() && !interfaces.contains(&library) => {
                wrong.get_or_insert((library, worker));
            }
            _ => return Ok(worker),
        }
    }
    Err(wrong)
}

/// Workers of any name; in each directory, those for one of these interfaces first.
fn list_workers(interfaces: &BTreeSet<String>) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = own_directory().into_iter().chain(user_workers()).chain(env::split_paths(&path));
    let names: Vec<String> = interfaces.iter().map(|library| name_worker(library)).chain([WORKER.to_owned()]).collect();
    let files =
        directories.flat_map(|directory| names.iter().map(move |name| directory.join(name)).collect::<Vec<_>>());
    files.filter(|file| file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_worker_of_the_installation_s_interface_is_chosen() {
        let workers = || {
            let worker = |library: &str, path: &str| (Some(library.to_owned()), PathBuf::from(path));
            vec![worker("libmpi.so.40", "/old"), worker("libmpi.so.0", "/new")]
        };
        assert_eq!(choose(workers(), &set(&["libmpi.so.0"])), Ok("/new".into()));
        assert_eq!(choose(workers(), &set(&["libmpi.so.40"])), Ok("/old".into()));
        // A link of the old name next to the new library makes both fit.
        assert_eq!(choose(workers(), &set(&["libmpi.so.0", "libmpi.so.40"])), Ok("/old".into()));
        assert_eq!(choose(workers(), &set(&[])), Ok("/old".into()), "nothing is known of the installation");
        let wrong = choose(workers(), &set(&["libmpi.so.12"]));
        assert_eq!(wrong, Err(Some(("libmpi.so.40".to_owned(), "/old".into()))));
        assert_eq!(choose(vec![(None, "/static".into())], &set(&["libmpi.so.40"])), Ok("/static".into()));
        assert_eq!(choose(Vec::new(), &set(&["libmpi.so.40"])), Err(None));
    }

    #[test]
    fn an_interface_is_the_first_number_of_a_library() {
        let prefix = tempfile::tempdir().expect("a directory");
        let mpirun = prefix.path().join("bin/mpirun");
        assert!(list_interfaces(&mpirun).is_empty());
        fs::create_dir(prefix.path().join("lib")).expect("makes it");
        for file in ["libmpi.so.0", "libmpi.so.0.0.0", "libmpi_abi.so.1", "libmpi.so.x", "libmpi.so"] {
            fs::write(prefix.path().join("lib").join(file), "").expect("writes");
        }
        assert_eq!(list_interfaces(&mpirun), set(&["libmpi.so.0"]));
    }

    #[test]
    fn the_command_that_builds_a_worker_can_be_pasted() {
        assert_eq!(build_command(Path::new("/opt/my mpi/bin/mpirun")), "collrules worker build --for '/opt/my mpi'");
    }
}
