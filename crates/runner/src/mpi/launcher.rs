//! Finding mpirun and the worker, and putting the command together.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use collrules_record::units::Ranks;
use collrules_rules::Version;

use crate::error::RunnerError;
use crate::mpi::conversation;
use crate::wire::{CONTROLLER, Event, Job};

/// The name of the worker program.
const WORKER: &str = "collrules-worker";

/// Asks the kernel to kill what follows when the controller dies, and becomes it: util-linux. A launcher whose ranks all left
/// while it started them waits forever, and for no signal that it can catch.
const GUARD: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// What the user said about launching.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The mpirun to use; where none is given, the first in PATH.
    pub mpirun: Option<PathBuf>,
    /// The worker to use; where none is given, the one beside this program, or the first in PATH.
    pub worker: Option<PathBuf>,
    /// More options of mpirun, as a shell would split them.
    pub arguments: String,
    /// Start more ranks than there are slots.
    pub oversubscribe: bool,
    /// How long a job may say nothing.
    pub patience: Duration,
    /// Ends whatever job there is once it is set.
    pub stop: Arc<AtomicBool>,
}

/// How to start a job.
#[derive(Clone, Debug)]
pub struct Launcher {
    mpirun: PathBuf,
    worker: PathBuf,
    version: Version,
    arguments: Vec<String>,
    oversubscribe: bool,
    patience: Duration,
    stop: Arc<AtomicBool>,
    /// The lib directory of an Open MPI outside the system's, for the worker.
    libraries: Option<PathBuf>,
    /// Whether this system has [`GUARD`].
    has_guard: bool,
}

impl Launcher {
    /// Finds what a launch needs.
    pub fn find(wishes: &Wishes) -> Result<Self, RunnerError> {
        let name = wishes.mpirun.clone().unwrap_or_else(|| PathBuf::from("mpirun"));
        let mpirun = in_path(&name).ok_or_else(|| RunnerError::NoLauncher(name.to_string_lossy().into_owned()))?;
        let version = open_mpi_version(&mpirun)?;
        let worker = match &wishes.worker {
            Some(worker) => in_path(worker),
            None => beside_this_program().or_else(|| in_path(Path::new(WORKER))),
        };
        Ok(Self {
            worker: worker.ok_or(RunnerError::NoWorker)?,
            version,
            arguments: shell_words::split(&wishes.arguments)?,
            oversubscribe: wishes.oversubscribe,
            patience: wishes.patience,
            stop: Arc::clone(&wishes.stop),
            libraries: own_libraries(&mpirun),
            has_guard: has_guard(),
            mpirun,
        })
    }

    /// The mpirun that is used.
    pub fn mpirun(&self) -> &Path {
        &self.mpirun
    }

    /// The worker that is started.
    pub fn worker(&self) -> &Path {
        &self.worker
    }

    /// The version of mpirun.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The MCA parameters among the user's own options of mpirun, by name.
    pub fn user_settings(&self) -> BTreeMap<String, String> {
        let settings = self.arguments.windows(3).filter(|words| is_mca(&words[0]));
        settings.map(|words| (words[1].clone(), words[2].clone())).collect()
    }

    /// What `ompi_info` beside mpirun says about the source of a parameter of `coll/tuned`, or of the coll framework. It
    /// sees the environment and the parameter files of this host, and no options of mpirun.
    pub fn source_of(&self, parameter: &str) -> Option<String> {
        let program = self.mpirun.with_file_name("ompi_info");
        let component = if parameter.starts_with("coll_tuned_") { "tuned" } else { "base" };
        let mut command = Command::new(program);
        command.args(["--parsable", "--level", "9", "--param", "coll", component]);
        self.find_libraries(&mut command);
        let text = command.output().ok()?.stdout;
        let text = String::from_utf8_lossy(&text);
        let mark = format!(":{parameter}:source:");
        let source = text.lines().find_map(|line| line.split_once(&mark)).map(|(_, source)| source.trim().to_owned());
        source.filter(|source| source != "default")
    }

    /// The command for a job; without a number of ranks, one that fills all slots.
    pub fn command(&self, ranks: Option<Ranks>, settings: &[(String, String)]) -> Vec<String> {
        let mut command = vec![self.mpirun.to_string_lossy().into_owned()];
        if let Some(ranks) = ranks {
            command.extend(["-np".to_owned(), ranks.to_string()]);
            if self.oversubscribe {
                // 5.0 calls it deprecated, but its successor there excludes any --map-by of the user's.
                command.push("--oversubscribe".to_owned());
            }
        }
        for (key, value) in settings {
            command.extend(["--mca".to_owned(), key.clone(), value.clone()]);
        }
        let mut arguments = self.arguments.iter().peekable();
        while let Some(word) = arguments.next() {
            // mpirun refuses two values for one parameter.
            if is_mca(word) && arguments.peek().is_some_and(|name| settings.iter().any(|(key, _)| key == *name)) {
                arguments.by_ref().take(2).for_each(drop);
            } else {
                command.push(word.clone());
            }
        }
        command.push(self.worker.to_string_lossy().into_owned());
        command
    }

    /// Runs a job to its end: hands it the job, and every event to `react`, which says what the job is doing.
    pub(crate) fn converse(
        &self,
        command: &[String],
        job: &Job,
        react: &mut dyn FnMut(Event) -> Result<String, RunnerError>,
    ) -> Result<(), RunnerError> {
        self.converse_in(&BTreeMap::new(), command, job, react)
    }

    /// The same in an environment that is changed by these variables; those without a value are removed.
    pub(crate) fn converse_in(
        &self,
        changes: &BTreeMap<String, Option<String>>,
        command: &[String],
        job: &Job,
        react: &mut dyn FnMut(Event) -> Result<String, RunnerError>,
    ) -> Result<(), RunnerError> {
        let outcome = conversation::hold(self.process(changes, command), job, self.patience, &self.stop, react);
        if !matches!(outcome, Err(RunnerError::StartHung { .. })) {
            return outcome;
        }
        // One start in ten hung in the launcher of a 6.0.0a1 before it handed on its input. Nothing was done yet.
        conversation::hold(self.process(changes, command), job, self.patience, &self.stop, react)
    }

    fn process(&self, changes: &BTreeMap<String, Option<String>>, command: &[String]) -> Command {
        let mut process = if self.has_guard { Command::new(GUARD[0]) } else { Command::new(&command[0]) };
        if self.has_guard {
            process.args(&GUARD[1..]).arg(&command[0]);
        }
        process.args(&command[1..]);
        for (name, value) in changes {
            match value {
                Some(value) => process.env(name, value),
                None => process.env_remove(name),
            };
        }
        self.find_libraries(&mut process);
        process.env(CONTROLLER, std::process::id().to_string());
        process
    }

    /// Lets a program find the libraries of this Open MPI.
    fn find_libraries(&self, process: &mut Command) {
        with_libraries(self.libraries.as_deref(), process);
    }
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

fn has_guard() -> bool {
    let mut trial = Command::new(GUARD[0]);
    trial.args(&GUARD[1..]).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

/// Whether a word of a command line is followed by the name and the value of an MCA parameter.
fn is_mca(option: &str) -> bool {
    matches!(option, "--mca" | "-mca" | "--gmca" | "-gmca")
}

/// The file that a program name stands for: itself if it names a directory, else the first one in PATH.
pub(super) fn in_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| std::path::absolute(name).unwrap_or_else(|_| name.to_owned()));
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}

fn beside_this_program() -> Option<PathBuf> {
    let worker = env::current_exe().ok()?.with_file_name(WORKER);
    worker.is_file().then_some(worker)
}

/// The version in the first line that mpirun says of itself: `mpirun (Open MPI) 4.1.4`.
pub(super) fn open_mpi_version(mpirun: &Path) -> Result<Version, RunnerError> {
    let output = Command::new(mpirun)
        .arg("--version")
        .output()
        .map_err(|cause| RunnerError::CannotStart { program: mpirun.to_owned(), cause })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().next().unwrap_or_default().trim();
    said.split_once("(Open MPI)")
        .and_then(|(_, version)| version.trim().parse().ok())
        .ok_or_else(|| RunnerError::NotOpenMpi { launcher: mpirun.to_owned(), said: said.to_owned() })
}

/// The library directory beside mpirun's bin directory, if it has an MPI library: whatever its version of the interface
/// is (`libmpi.so.40` up to 5.0, `libmpi.so.0` in a build of 6.0), a worker that was built against it finds it there.
pub(super) fn own_libraries(mpirun: &Path) -> Option<PathBuf> {
    let prefix = mpirun.parent()?.parent()?;
    let has_library = |directory: &PathBuf| {
        let mut files = fs::read_dir(directory).into_iter().flatten().flatten();
        files.any(|file| file.file_name().to_string_lossy().starts_with("libmpi.so."))
    };
    ["lib", "lib64"].map(|name| prefix.join(name)).into_iter().find(has_library)
}

#[cfg(test)]
mod tests {
    use super::*;

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
