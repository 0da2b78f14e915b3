//! A user's own job: a command line of mpirun or srun, run unchanged, with variables for its ranks.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use collrules_record::Seconds;
use collrules_rules::Version;
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::settings::variable;

use super::elf::is_static;
use super::host::{in_path, open_mpi_version, output_of, own_libraries, with_libraries};
use super::installed::WithoutInstalled;
use super::running::JobGuard;
use crate::error::RunnerError;

/// The variable with libraries that the loader loads first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Names of Open MPI's launcher.
const MPIRUN: [&str; 6] = ["mpirun", "mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"];

/// The variable with the same effect as srun's `--export`.
const SRUN_EXPORT: &str = "SLURM_EXPORT_ENV";

/// Interval between two checks that a job is over.
const LOOK: Duration = Duration::from_millis(2);

/// A user's own job.
#[derive(Clone, Debug)]
pub struct UserJob {
    words: Vec<String>,
    /// True if mpirun starts it, false if srun does.
    by_mpirun: bool,
}

/// The Open MPI of a user's job.
#[derive(Clone, Debug)]
pub struct JobOpenMpi {
    /// Its version.
    pub version: Version,
    /// Its parameters.
    pub parameters: Parameters,
    /// The values of installed settings without their installation.
    pub reset: BTreeMap<String, String>,
}

/// A list of variables that srun passes on.
struct Export {
    list: String,
    /// Its place among the words, with the text before it; none if it is a variable.
    place: Option<(usize, &'static str)>,
}

impl Export {
    fn has_all(&self) -> bool {
        self.list.split(',').any(|name| name.eq_ignore_ascii_case("ALL"))
    }
}

/// End of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobEnd {
    /// Exit status of the launcher.
    pub status: ExitStatus,
    /// Duration, starting included.
    pub took: Seconds,
}

impl JobEnd {
    /// The exit code, as shells define it: 128 plus the number of the signal if a signal ended the job.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }
}

impl UserJob {
    /// A command line that starts an Open MPI job.
    pub fn new(words: &[String]) -> Result<Self, RunnerError> {
        let not = |why: &str| Err(RunnerError::NotAJob { words: words.join(" "), why: why.to_owned() });
        let Some((first, rest)) = words.split_first() else { return not("it is empty") };
        let name = Path::new(first).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let by_mpirun = MPIRUN.contains(&name.as_str());
        if !by_mpirun && name != "srun" {
            return not(&format!("`{first}` is neither mpirun nor srun"));
        }
        if rest.is_empty() {
            return not("it names no program");
        }
        let launcher = in_path(Path::new(first)).ok_or_else(|| RunnerError::NoLauncher(first.clone()))?;
        let program = Self { words: words.to_vec(), by_mpirun };
        if by_mpirun {
            open_mpi_version(&launcher)?;
        } else if let Some(Export { list, .. }) = program.export()
            && ["NONE", "NIL"].contains(&list.to_ascii_uppercase().as_str())
        {
            return not(&format!(
                "--export={list} keeps all variables from the ranks, and so what is set for them here: leave it out (or \
                 {SRUN_EXPORT}), or name the variables that the program needs"
            ));
        }
        Ok(program)
    }

    /// The Open MPI of the job.
    pub fn open_mpi(&self) -> Result<JobOpenMpi, RunnerError> {
        let (program, libraries) = self.information();
        let WithoutInstalled { output, values, .. } = WithoutInstalled::read(&program, libraries.as_deref())?;
        let version = output.lines().find_map(|line| line.strip_prefix("ompi:version:full:"));
        let Some(version) = version.and_then(|version| version.trim().parse().ok()) else {
            let said = output.lines().next().unwrap_or_default().to_owned();
            return Err(RunnerError::NotOpenMpi { launcher: program, said });
        };
        Ok(JobOpenMpi { version, parameters: Parameters::read(&output, ""), reset: values })
    }

    /// `ompi_info` of the job's Open MPI, and the libraries that it needs.
    fn information(&self) -> (PathBuf, Option<PathBuf>) {
        let mpirun = Some(Path::new(&self.words[0])).filter(|_| self.by_mpirun).and_then(in_path);
        let program = mpirun.as_ref().map_or_else(|| PathBuf::from("ompi_info"), |it| it.with_file_name("ompi_info"));
        (program, mpirun.as_deref().and_then(own_libraries))
    }

    /// The values of settings on the ranks, several if they differ: those of `ompi_info` and the environment in place of the
    /// program. None if these cannot be started so.
    pub fn values_on_ranks(
        &self,
        settings: &BTreeMap<String, String>,
        own: &BTreeMap<String, Option<String>>,
    ) -> Option<BTreeMap<String, BTreeSet<String>>> {
        let program = self.program_place()?;
        // Lines of the answer, up to the value. The variables of mpirun hold the pattern as well, further on in a line.
        let line = |name: &String| match variable(name) {
            Some(name) => ("", format!("{name}=")),
            None => ("mca:", format!(":param:{name}:value:")),
        };
        let pattern = |(begin, end): (&str, String)| format!("^{begin}[^ ]*{end}");
        let patterns: Vec<String> = settings.keys().map(|name| pattern(line(name))).collect();
        let (information, libraries) = self.information();
        let mut job = Self { words: self.words[..program].to_vec(), ..self.clone() };
        let script = "{ \"$0\" --all --parsable; env; } | grep -E \"$1\"";
        let asked = ["sh", "-c", script, &information.to_string_lossy(), &patterns.join("|")];
        job.words.extend(asked.map(str::to_owned));
        let mut command = job.command(&BTreeMap::new(), own);
        with_libraries(libraries.as_deref(), &mut command);
        let output = output_of(&mut command).ok().filter(|output| !output.is_empty())?;
        let values = |name: &String| {
            let (begin, end) = line(name);
            let found = output.lines().filter_map(|line| line.split_once(&end));
            let own = found.filter(|(before, _)| before.starts_with(begin) && before.is_empty() == begin.is_empty());
            (name.clone(), own.map(|(_, value)| value.to_owned()).collect())
        };
        Some(settings.keys().map(values).collect())
    }

    /// The place of the program among the words: the first one that can be started, unlike a file with hosts.
    fn program_place(&self) -> Option<usize> {
        let is_executable = |file: PathBuf| file.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
        let is_program = |word: &String| !word.starts_with('-') && in_path(Path::new(word)).is_some_and(is_executable);
        self.words[1..].iter().position(is_program).map(|place| place + 1)
    }

    /// Returns the list of variables that srun passes on to the ranks instead of its whole environment.
    fn export(&self) -> Option<Export> {
        if self.by_mpirun {
            return None;
        }
        // Behind the program's name stand its own arguments.
        let own = self.words.iter().enumerate().take(self.program_place().unwrap_or(self.words.len()));
        for (place, word) in own.skip(1) {
            match word.strip_prefix("--export") {
                Some("") => {
                    let list = self.words.get(place + 1)?.clone();
                    return Some(Export { list, place: Some((place + 1, "")) });
                }
                Some(rest) if rest.starts_with('=') => {
                    return Some(Export { list: rest[1..].to_owned(), place: Some((place, "--export=")) });
                }
                _ => {}
            }
        }
        let list = env::var(SRUN_EXPORT).ok()?;
        Some(Export { list, place: None })
    }

    /// The words as they were given.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The command with these variables for the ranks, and these in the environment of the launcher, which passes on
    /// those that Open MPI reads.
    ///
    /// mpirun gets `-x` in each part of its command line, so that nothing is preloaded into mpirun itself. srun passes
    /// its environment on, or the variables in `--export`, to which these are added.
    pub fn command(&self, ranks: &BTreeMap<String, String>, own: &BTreeMap<String, Option<String>>) -> Command {
        let mut words = self.words.clone();
        let mut command = Command::new(&words[0]);
        let preload = ranks.get(PRELOAD).map(|ours| {
            let theirs = take_preload(&mut words).or_else(|| env::var(PRELOAD).ok());
            theirs.filter(|theirs| !theirs.is_empty()).map_or(ours.clone(), |theirs| format!("{ours}:{theirs}"))
        });
        let variables = ranks.iter().map(|(name, value)| match &preload {
            Some(preload) if name == PRELOAD => (name, preload),
            _ => (name, value),
        });
        let variables: Vec<(&String, &String)> = variables.collect();
        if let Some(Export { list, place }) = self.export().filter(|export| !export.has_all()) {
            let own = own.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name);
            // Names alone, whose values are in srun's environment: it would divide a value at its commas.
            let list = variables.iter().map(|(name, _)| *name).chain(own).fold(list, |list, name| list + "," + name);
            match place {
                Some((place, before)) => words[place] = format!("{before}{list}"),
                None => {
                    command.env(SRUN_EXPORT, list);
                }
            }
        }
        for (place, word) in words[1..].iter().enumerate() {
            if self.by_mpirun && place == 0 {
                export(&mut command, &variables);
            }
            command.arg(word);
            if self.by_mpirun && word == ":" {
                export(&mut command, &variables);
            }
        }
        if !self.by_mpirun {
            command.envs(variables);
        }
        for (name, value) in own {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// The first statically linked program of the command line, into which nothing can be preloaded.
    pub fn static_program(&self) -> Option<PathBuf> {
        self.words[1..].iter().filter_map(|word| in_path(Path::new(word))).find(|file| is_static(file))
    }
}

fn export(command: &mut Command, variables: &[(&String, &String)]) {
    for (name, value) in variables {
        command.arg("-x").arg(format!("{name}={value}"));
    }
}

/// Removes the user's own preloaded libraries from the command line, and returns them.
fn take_preload(words: &mut Vec<String>) -> Option<String> {
    let mut found = None;
    while let Some(place) = words.windows(2).position(|pair| {
        pair[0] == "-x" && pair[1].strip_prefix(PRELOAD).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    }) {
        let word = words.drain(place..place + 2).next_back();
        found = found.or(word.and_then(|word| word.split_once('=').map(|(_, value)| value.to_owned())));
    }
    found
}

/// Runs a job to its end, with the input and output that the command has. Ends it, without a result, if `stop` is set
/// or after `limit`.
pub fn run(command: &mut Command, stop: &AtomicBool, limit: Option<Duration>) -> Result<Option<JobEnd>, RunnerError> {
    let program = PathBuf::from(command.get_program());
    let begin = Instant::now();
    let child = command.spawn().map_err(|cause| RunnerError::CannotStart { program, cause })?;
    let mut running = JobGuard::new(child);
    loop {
        if let Some(status) = running.child.try_wait()? {
            running.left = true;
            return Ok(Some(JobEnd { status, took: Seconds(begin.elapsed().as_secs_f64()) }));
        }
        if stop.load(Ordering::Relaxed) {
            running.end();
            return Err(RunnerError::Interrupted);
        }
        if limit.is_some_and(|limit| begin.elapsed() > limit) {
            running.end();
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Redirects a command's output to files and its input from nothing.
pub fn kept_apart(command: &mut Command, stdout: &Path, stderr: &Path) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    command.stdin(Stdio::null()).stdout(fs::File::create(stdout)?).stderr(fs::File::create(stderr)?);
    // A group of its own: what a terminal sends on Ctrl-C comes here alone, and the job is ended in order.
    command.process_group(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(words: &str) -> UserJob {
        UserJob { words: words.split(' ').map(str::to_owned).collect(), by_mpirun: !words.starts_with("srun") }
    }

    fn line(program: &UserJob, ranks: &[(&str, &str)]) -> String {
        let ranks = ranks.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let command = program.command(&ranks, &BTreeMap::new());
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn variables_are_for_every_program_of_the_job_and_not_for_mpirun() {
        let said = line(&program("mpirun -np 1 a : -np 3 b"), &[("A", "1"), ("B", "2")]);
        assert_eq!(said, "mpirun -x A=1 -x B=2 -np 1 a : -x A=1 -x B=2 -np 3 b");
        let srun = program("srun -n 2 a");
        assert_eq!(line(&srun, &[("A", "1")]), "srun -n 2 a");
        let command = srun.command(&BTreeMap::from([("A".to_owned(), "1".to_owned())]), &BTreeMap::new());
        assert!(command.get_envs().any(|(name, value)| name == "A" && value.is_some_and(|value| value == "1")));
    }

    /// If srun passes on only named variables, those set for the ranks are added.
    #[test]
    fn what_srun_hands_on_by_name_includes_what_is_set_here() {
        let said = |words: &str| {
            let own = BTreeMap::from([("OWN".to_owned(), Some("1".to_owned())), ("GONE".to_owned(), None)]);
            let command = program(words).command(&BTreeMap::from([("A".to_owned(), "b".to_owned())]), &own);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said("srun --export=HOME -n 2 sh -c x"), "--export=HOME,A,OWN -n 2 sh -c x");
        assert_eq!(said("srun -n 2 --export HOME,X=y sh"), "-n 2 --export HOME,X=y,A,OWN sh");
        for untouched in ["-n 2 --export=ALL sh", "--export=X=1,all sh", "-n 2 sh --export=HOME", "-n 2 sh"] {
            assert_eq!(said(&format!("srun {untouched}")), untouched);
        }
    }

    #[test]
    fn files_of_options_are_no_programs() {
        let hosts = tempfile::NamedTempFile::new().expect("a file");
        let words = format!("mpirun --hostfile {} -np 2 sh -c x", hosts.path().display());
        assert_eq!(program(&words).program_place(), Some(5));
    }

    #[test]
    fn what_users_preload_stays_preloaded() {
        let said = line(&program("mpirun -x LD_PRELOAD=/t.so -np 1 a"), &[(PRELOAD, "/o.so")]);
        assert_eq!(said, "mpirun -x LD_PRELOAD=/o.so:/t.so -np 1 a");
        assert_eq!(line(&program("mpirun -x LD_PRELOADS=1 a"), &[]), "mpirun -x LD_PRELOADS=1 a");
    }

    #[test]
    fn only_launchers_are_launchers() {
        for (words, why) in [("ls -l", "neither mpirun nor srun"), ("mpirun", "names no program"), ("", "neither")] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let error = UserJob::new(&words).expect_err("no job").to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(UserJob::new(&[]).expect_err("no job").to_string().contains("empty"));
    }

    #[test]
    fn jobs_end_by_themselves_or_in_time() {
        let stop = AtomicBool::new(false);
        let ended = run(Command::new("sh").args(["-c", "exit 7"]), &stop, None).expect("runs").expect("ends");
        assert_eq!(ended.code(), 7);
        let late = run(Command::new("sleep").arg("60"), &stop, Some(Duration::from_millis(30))).expect("runs");
        assert!(late.is_none());
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run(Command::new("sleep").arg("60"), &stop, None), Err(RunnerError::Interrupted)));
    }
}
