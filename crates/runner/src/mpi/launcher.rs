//! Finding mpirun, or what starts jobs in its place, and the worker, and putting the command together.

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

/// Places in the template of a launcher.
const NP: &str = "{np}";
const MCA: &str = "{mca}";
const PROGRAM: &str = "{program}";

/// What the user said about launching.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The mpirun to use; where none is given, the first in PATH.
    pub mpirun: Option<PathBuf>,
    /// What starts jobs in place of mpirun: a command line, see [`Launcher`].
    pub template: Option<String>,
    /// Variables for whatever starts jobs.
    pub environment: BTreeMap<String, String>,
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

/// How to start a job: by mpirun, or by the words of a template.
///
/// In a template, `{np}` stands for the number of ranks, `{mca}` for settings as mpirun takes them, and `{program}` for the
/// program with its arguments. Without `{np}` it fills all slots, without `{mca}` settings travel by the environment, and
/// without `{program}` the program comes last.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The mpirun, and its version; beside a template, the Open MPI whose libraries the worker gets.
    mpirun: Option<(PathBuf, Version)>,
    template: Option<Vec<String>>,
    environment: BTreeMap<String, String>,
    worker: PathBuf,
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
        let template = wishes.template.as_deref().map(shell_words::split).transpose()?;
        let mpirun = match (in_path(&name), &template) {
            (None, None) => return Err(RunnerError::NoLauncher(name.to_string_lossy().into_owned())),
            (Some(mpirun), None) => Some((open_mpi_version(&mpirun)?, mpirun)),
            // What is in PATH need not be Open MPI's where another starts the jobs.
            (mpirun, Some(_)) => mpirun.and_then(|mpirun| Some((open_mpi_version(&mpirun).ok()?, mpirun))),
        };
        let mpirun = mpirun.map(|(version, mpirun)| (mpirun, version));
        if let Some(words) = &template {
            let program = words.iter().find(|word| !is_assignment(word)).map_or("", String::as_str);
            in_path(Path::new(program)).ok_or_else(|| RunnerError::NoOtherLauncher(words.join(" ")))?;
        }
        let worker = match &wishes.worker {
            Some(worker) => in_path(worker),
            None => beside_this_program().or_else(|| in_path(Path::new(WORKER))),
        };
        Ok(Self {
            worker: worker.ok_or(RunnerError::NoWorker)?,
            template,
            environment: wishes.environment.clone(),
            arguments: shell_words::split(&wishes.arguments)?,
            oversubscribe: wishes.oversubscribe,
            patience: wishes.patience,
            stop: Arc::clone(&wishes.stop),
            libraries: mpirun.as_ref().and_then(|(mpirun, _)| own_libraries(mpirun)),
            has_guard: has_guard(),
            mpirun,
        })
    }

    /// The mpirun that is used, or that belongs to the Open MPI in use, with its version.
    pub fn mpirun(&self) -> Option<(&Path, Version)> {
        self.mpirun.as_ref().map(|(mpirun, version)| (mpirun.as_path(), *version))
    }

    /// What starts jobs in place of mpirun.
    pub fn template(&self) -> Option<String> {
        self.template.as_ref().map(|words| words.join(" "))
    }

    /// The worker that is started.
    pub fn worker(&self) -> &Path {
        &self.worker
    }

    /// The MCA parameters among the user's own options of mpirun, by name.
    pub fn user_settings(&self) -> BTreeMap<String, String> {
        let settings = self.arguments.windows(3).filter(|words| is_mca(&words[0]));
        settings.map(|words| (words[1].clone(), words[2].clone())).collect()
    }

    /// What `ompi_info` beside mpirun says about the source of a parameter of `coll/tuned`, or of the coll framework. It
    /// sees the environment and the parameter files of this host, and no options of mpirun.
    pub fn source_of(&self, parameter: &str) -> Option<String> {
        let program = match &self.mpirun {
            Some((mpirun, _)) => mpirun.with_file_name("ompi_info"),
            None => PathBuf::from("ompi_info"),
        };
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
        let (mpirun, template) = (&self.mpirun, &self.template);
        let Some((mpirun, _)) = mpirun.as_ref().filter(|_| template.is_none()) else {
            return filled_in(template.as_deref().unwrap_or_default(), ranks, settings, &self.worker);
        };
        let mut command = vec![mpirun.to_string_lossy().into_owned()];
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
        if !outcome.as_ref().is_err_and(is_worth_another_try) {
            return outcome;
        }
        conversation::hold(self.process(changes, command), job, self.patience, &self.stop, react)
    }

    fn process(&self, changes: &BTreeMap<String, Option<String>>, command: &[String]) -> Command {
        let mut process = if self.has_guard { Command::new(GUARD[0]) } else { Command::new(&command[0]) };
        if self.has_guard {
            process.args(&GUARD[1..]).arg(&command[0]);
        }
        process.args(&command[1..]).envs(&self.environment);
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

/// Whether a start failed for a reason that is gone a moment later; nothing was done yet.
fn is_worth_another_try(error: &RunnerError) -> bool {
    match error {
        // One start in ten hung in the launcher of a 6.0.0a1 before it handed on its input.
        RunnerError::StartHung { .. } => true,
        // Another mpirun of 4.1 that ends at this moment takes away the directory that both share.
        RunnerError::WorkerDidNotStart { output, .. } => output.contains("orte_session_dir failed"),
        _ => false,
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

/// The command that a template comes to.
fn filled_in(template: &[String], ranks: Option<Ranks>, settings: &[(String, String)], worker: &Path) -> Vec<String> {
    let has = |mark: &str| template.iter().any(|word| word.contains(mark));
    let mut command = Vec::new();
    if !has(MCA) && !settings.is_empty() {
        command.push("env".to_owned());
        command.extend(settings.iter().map(|(name, value)| format!("OMPI_MCA_{name}={value}")));
    }
    let program = worker.to_string_lossy();
    for word in template {
        match (word.as_str(), ranks) {
            (MCA, _) => {
                let each = settings.iter().flat_map(|(name, value)| ["--mca", name.as_str(), value.as_str()]);
                command.extend(each.map(str::to_owned));
            }
            // Whatever fills the slots by itself is told nothing, and neither is the option before.
            (NP, None) => drop(command.pop()),
            (word, None) if word.contains(NP) => {}
            (word, ranks) => {
                let ranks = ranks.map(|ranks| ranks.to_string()).unwrap_or_default();
                command.push(word.replace(NP, &ranks).replace(PROGRAM, &program));
            }
        }
    }
    if !has(PROGRAM) {
        command.push(program.into_owned());
    }
    command
}

/// Whether a word sets a variable, as before a command in a shell or behind `env`.
fn is_assignment(word: &str) -> bool {
    word == "env" || word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '-']))
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
    fn templates_are_filled_in() {
        let settings = [("coll".to_owned(), "^han,adapt".to_owned())];
        let made = |template: &str, ranks| {
            let words = shell_words::split(template).expect("words");
            filled_in(&words, ranks, &settings, Path::new("/w")).join(" ")
        };
        let four = Some(Ranks(4));
        assert_eq!(made("srun --mpi=pmix", four), "env OMPI_MCA_coll=^han,adapt srun --mpi=pmix /w");
        assert_eq!(made("run -n {np} {mca} {program} --end", four), "run -n 4 --mca coll ^han,adapt /w --end");
        assert_eq!(made("run -n {np} {mca}", None), "run --mca coll ^han,adapt /w");
        assert_eq!(made("run --ranks={np} 'sh -c {program}' {mca}", None), "run sh -c /w --mca coll ^han,adapt");
        assert!(is_assignment("A=1") && !is_assignment("./a=b") && !is_assignment("--np=2"));
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
