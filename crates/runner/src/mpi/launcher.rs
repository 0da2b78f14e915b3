//! Finding mpirun, or another launcher, and the worker; building the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use collrules_record::units::Ranks;
use collrules_rules::Version;
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::settings::{environment_name, variable};

use crate::error::RunnerError;
use crate::mpi::conversation::{self, Conversation};
use crate::mpi::host::{find_mpirun, in_path, open_mpi_version, output_of, own_libraries, with_libraries};
use crate::mpi::installed::WithoutInstalled;
use crate::mpi::worker::find_worker;
use crate::wire::{CONTROLLER, WorkerEvent, WorkerRequest};

/// Command of util-linux that asks the kernel to kill the program after it when the controller dies. A launcher whose
/// ranks all ended while it started them waits forever, and ignores signals.
const GUARD: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// Options of mpirun from 5.0 on that hand on output as it comes. Otherwise PMIx holds back the beginning of a line, and
/// before 5.0.11 and in 6.0 and 6.1 hands it on with the next output of another stream of the rank: the worker's events
/// got lost among messages of Open MPI.
const UNBUFFERED: [&str; 2] = ["--output", ":raw"];

/// Placeholders in the template of a launcher.
const NP: &str = "{np}";
const MCA: &str = "{mca}";
const PROGRAM: &str = "{program}";

/// The user's options for launching.
#[derive(Clone, Debug, Default)]
pub struct LauncherOptions {
    /// The mpirun to use; if missing, the first in PATH.
    pub mpirun: Option<PathBuf>,
    /// Command line that starts jobs instead of mpirun, see [`Launcher`].
    pub template: Option<String>,
    /// Variables for the launcher.
    pub environment: BTreeMap<String, String>,
    /// The worker to use; if missing, the first suitable one: see [`super::worker`].
    pub worker: Option<PathBuf>,
    /// More options of mpirun, as a shell would split them.
    pub arguments: String,
    /// True if more ranks than slots may be started.
    pub oversubscribe: bool,
    /// Maximum silence of a job.
    pub patience: Duration,
    /// Ends any job once it is set.
    pub stop: Arc<AtomicBool>,
}

/// Launcher of jobs: mpirun, or the words of a template.
///
/// In a template, `{np}` stands for the number of ranks, `{mca}` for settings as mpirun's options, and `{program}` for
/// the program with its arguments. Without `{np}` it fills all slots, without `{mca}` settings are in the environment,
/// and without `{program}` the program comes last. A word with blanks is a command line for another shell.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The mpirun and its version; with a template, the Open MPI whose libraries the worker uses.
    mpirun: Option<(PathBuf, Version)>,
    template: Option<Vec<String>>,
    environment: BTreeMap<String, String>,
    worker: PathBuf,
    arguments: Vec<String>,
    oversubscribe: bool,
    pub(super) patience: Duration,
    stop: Arc<AtomicBool>,
    /// The lib directory of an Open MPI outside the system's, for the worker.
    libraries: Option<PathBuf>,
    /// True if this system has [`GUARD`].
    has_guard: bool,
}

/// Start of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct JobStart {
    /// Changes to the environment; variables without a value are removed.
    pub(super) changes: BTreeMap<String, Option<String>>,
    pub(super) command: Vec<String>,
}

impl Launcher {
    /// Finds everything that a launch needs.
    pub fn find(wishes: &LauncherOptions) -> Result<Self, RunnerError> {
        let template = wishes.template.as_deref().map(shell_words::split).transpose()?;
        let mpirun = find_mpirun(wishes.mpirun.as_deref());
        let mpirun = match &template {
            None => Some(mpirun.and_then(|mpirun| Ok((open_mpi_version(&mpirun)?, mpirun)))?),
            // What is in PATH need not be Open MPI's where another starts the jobs.
            Some(_) => mpirun.ok().and_then(|mpirun| Some((open_mpi_version(&mpirun).ok()?, mpirun))),
        };
        let mpirun = mpirun.map(|(version, mpirun)| (mpirun, version));
        if let Some(words) = &template {
            let program = words.iter().find(|word| !is_assignment(word)).map_or("", String::as_str);
            in_path(Path::new(program)).ok_or_else(|| RunnerError::NoOtherLauncher(words.join(" ")))?;
        }
        let worker = find_worker(wishes.worker.as_deref(), mpirun.as_ref().map(|(mpirun, _)| mpirun.as_path()))?;
        Ok(Self {
            worker,
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

    /// The mpirun in use, or that of the Open MPI in use, with its version.
    pub fn mpirun(&self) -> Option<(&Path, Version)> {
        self.mpirun.as_ref().map(|(mpirun, version)| (mpirun.as_path(), *version))
    }

    /// Returns the command line that starts jobs instead of mpirun.
    pub fn template(&self) -> Option<String> {
        self.template.as_ref().map(|words| words.join(" "))
    }

    /// The worker to start.
    pub fn worker(&self) -> &Path {
        &self.worker
    }

    /// The MCA parameters among the user's own options of mpirun, by name.
    pub fn user_settings(&self) -> BTreeMap<String, String> {
        let settings = self.arguments.windows(3).filter(|words| is_mca(&words[0]));
        settings.map(|words| (words[1].clone(), words[2].clone())).collect()
    }

    /// The parameters of the `ompi_info` next to mpirun without an installed tuning.
    pub(super) fn without_installed(&self) -> Result<WithoutInstalled, RunnerError> {
        WithoutInstalled::read(&self.information(), self.libraries.as_deref())
    }

    /// The parameters listed by the `ompi_info` next to mpirun, without an installed tuning.
    pub fn parameters(&self) -> Result<Parameters, RunnerError> {
        let program = self.information();
        let WithoutInstalled { output: said, .. } = self.without_installed()?;
        let mut parameters =
            Parameters::read(&said, &self.output_of(Path::new("ucx_info"), &["-c"]).unwrap_or_default());
        for (name, value) in self.user_settings() {
            parameters.set(&name, &value, "an option of mpirun");
        }
        if parameters.is_empty() {
            let said = said.lines().next().unwrap_or_default().to_owned();
            return Err(RunnerError::NotOpenMpi { launcher: program, said });
        }
        Ok(parameters)
    }

    /// Returns what a program of this Open MPI prints.
    fn output_of(&self, program: &Path, arguments: &[&str]) -> Result<String, RunnerError> {
        let mut command = Command::new(program);
        self.find_libraries(command.args(arguments));
        output_of(&mut command)
    }

    /// The `ompi_info` next to mpirun, or else the first in PATH.
    fn information(&self) -> PathBuf {
        match &self.mpirun {
            Some((mpirun, _)) => mpirun.with_file_name("ompi_info"),
            None => PathBuf::from("ompi_info"),
        }
    }

    /// Asks `ompi_info` next to mpirun for the source of a parameter of `coll/tuned`, or of the coll framework. It sees
    /// the environment and the parameter files of this host, but no options of mpirun.
    pub fn source_of(&self, parameter: &str) -> Option<String> {
        let component = if parameter.starts_with("coll_tuned_") { "tuned" } else { "base" };
        let arguments = ["--parsable", "--level", "9", "--param", "coll", component];
        let text = self.output_of(&self.information(), &arguments).ok()?;
        let mark = format!(":{parameter}:source:");
        let source = text.lines().find_map(|line| line.split_once(&mark)).map(|(_, source)| source.trim().to_owned());
        source.filter(|source| source != "default")
    }

    /// The command for a job; without a number of ranks, one that fills all slots.
    pub fn command(&self, ranks: Option<Ranks>, settings: &[(String, String)]) -> Vec<String> {
        let (mpirun, template) = (&self.mpirun, &self.template);
        let Some((mpirun, version)) = mpirun.as_ref().filter(|_| template.is_none()) else {
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
        // mpirun takes one option about output only, and the user's counts.
        if version.major >= 5 && !self.arguments.iter().any(|word| word.contains("output")) {
            command.extend(UNBUFFERED.map(str::to_owned));
        }
        command.extend(mca_options(settings));
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

    /// Runs a job to its end. `react` gets every event and returns the job's activity; `hear` gets all other output of Open MPI
    /// and the job.
    pub(super) fn converse(
        &self,
        start: &JobStart,
        job: &WorkerRequest,
        hear: &mut dyn FnMut(&str),
        react: &mut dyn FnMut(WorkerEvent) -> Result<String, RunnerError>,
    ) -> Result<(), RunnerError> {
        let mut hold = || conversation::hold(self.process(start), job, self.patience, &self.stop, hear, react);
        let outcome = hold();
        if outcome.as_ref().is_err_and(is_worth_another_try) { hold() } else { outcome }
    }

    /// Starts a job that waits for further requests.
    pub(super) fn begin(&self, start: &JobStart, job: &WorkerRequest) -> Result<Conversation, RunnerError> {
        Conversation::begin(self.process(start), job)
    }

    /// The flag that ends any job.
    pub(super) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn process(&self, JobStart { changes, command }: &JobStart) -> Command {
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

/// Returns true if a start failed for a transient reason, before anything was done.
pub(super) fn is_worth_another_try(error: &RunnerError) -> bool {
    match error {
        // One start in ten hung in the launcher of a 6.0.0a1 before it handed on its input.
        RunnerError::StartHung { .. } => true,
        // Another mpirun of 4.1 that ends at this moment takes away the directory that both share.
        RunnerError::WorkerDidNotStart { output, .. } => output.contains("orte_session_dir failed"),
        _ => false,
    }
}

/// Settings as options of mpirun.
fn mca_options(settings: &[(String, String)]) -> impl Iterator<Item = String> {
    settings.iter().flat_map(|(name, value)| match variable(name) {
        Some(variable) => vec!["-x".to_owned(), format!("{variable}={value}")],
        None => vec!["--mca".to_owned(), name.clone(), value.clone()],
    })
}

/// The command of a template with its placeholders filled in.
fn filled_in(template: &[String], ranks: Option<Ranks>, settings: &[(String, String)], worker: &Path) -> Vec<String> {
    let has = |mark: &str| template.iter().any(|word| word.contains(mark));
    let mut command = Vec::new();
    if !has(MCA) && !settings.is_empty() {
        command.push("env".to_owned());
        command.extend(settings.iter().map(|(name, value)| format!("{}={value}", environment_name(name))));
    }
    let program = worker.to_string_lossy();
    let options: Vec<String> = mca_options(settings).collect();
    for word in template {
        if word.contains(' ') {
            let quoted: Vec<String> = options.iter().map(|word| shell_words::quote(word).into_owned()).collect();
            let mut line = Vec::new();
            word.split(' ').for_each(|word| fill(&mut line, word, ranks, &quoted, &shell_words::quote(&program)));
            command.push(line.join(" "));
        } else {
            fill(&mut command, word, ranks, &options, &program);
        }
    }
    if !has(PROGRAM) {
        command.push(program.into_owned());
    }
    command
}

/// Adds a word of a template, with its placeholder filled in, to a command.
fn fill(command: &mut Vec<String>, word: &str, ranks: Option<Ranks>, options: &[String], program: &str) {
    match (word, ranks) {
        (MCA, _) => command.extend_from_slice(options),
        // Launchers that fill the slots themselves get neither this option nor the one before.
        (NP, None) => drop(command.pop()),
        (word, None) if word.contains(NP) => {}
        (word, ranks) => {
            let ranks = ranks.map(|ranks| ranks.to_string()).unwrap_or_default();
            command.push(word.replace(NP, &ranks).replace(PROGRAM, program));
        }
    }
}

/// Returns true if a word sets a variable, as before a command in a shell or after `env`.
fn is_assignment(word: &str) -> bool {
    word == "env" || word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '-']))
}

fn has_guard() -> bool {
    let mut trial = Command::new(GUARD[0]);
    trial.args(&GUARD[1..]).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

/// Returns true if a word of a command line is followed by the name and the value of an MCA parameter.
fn is_mca(option: &str) -> bool {
    matches!(option, "--mca" | "-mca" | "--gmca" | "-gmca")
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
        let remote = "ssh n1 'exec mpirun -np {np} {mca} {program}'";
        assert_eq!(made(remote, None), "ssh n1 exec mpirun --mca coll ^han,adapt /w");
        assert_eq!(made(remote, four), "ssh n1 exec mpirun -np 4 --mca coll ^han,adapt /w");
        assert!(is_assignment("A=1") && !is_assignment("./a=b") && !is_assignment("--np=2"));
    }
}
