//! A user's own job: a command line of mpirun or srun, which is carried out as it is, with variables for its ranks.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use collrules_record::Seconds;

use super::launcher::{in_path, open_mpi_version};
use super::running::Running;
use crate::error::RunnerError;

/// The variable that names libraries for the loader to load first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Names of Open MPI's launcher.
const MPIRUN: [&str; 6] = ["mpirun", "mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"];

/// The variable that says the same as srun's `--export`.
const SRUN_EXPORT: &str = "SLURM_EXPORT_ENV";

/// How often to look whether a job is over.
const LOOK: Duration = Duration::from_millis(2);

/// A user's own job.
#[derive(Clone, Debug)]
pub struct Program {
    words: Vec<String>,
    /// Whether mpirun starts it, and not srun.
    by_mpirun: bool,
}

/// A list of variables that srun hands on.
struct Export {
    list: String,
    /// Its place among the words, and what stands before it there; none where it is a variable.
    place: Option<(usize, &'static str)>,
}

impl Export {
    fn has_all(&self) -> bool {
        self.list.split(',').any(|name| name.eq_ignore_ascii_case("ALL"))
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// What the launcher left.
    pub status: ExitStatus,
    /// How long it took, starting included.
    pub took: Seconds,
}

impl Ended {
    /// The code for whoever waits, as shells make it: 128 and the number of the signal, where a signal ended the job.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }
}

impl Program {
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

    /// What srun hands on to the ranks instead of its whole environment.
    fn export(&self) -> Option<Export> {
        if self.by_mpirun {
            return None;
        }
        let own = self.words.iter().enumerate().skip(1);
        // Behind the program's name stand its own arguments.
        for (place, word) in own.take_while(|(_, word)| word.starts_with('-') || in_path(Path::new(word)).is_none()) {
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

    /// The command with these variables for the ranks, and these in the environment of the launcher, which hands on what
    /// Open MPI reads itself.
    ///
    /// mpirun gets `-x`, so that it is not preloaded into itself; in each part of a command line of several programs. srun
    /// hands its environment on, or what `--export` names, to which these are added.
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
            let own = own.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
            let ours = variables.iter().copied().chain(own).map(|(name, value)| format!(",{name}={value}"));
            let list = ours.fold(list, |list, variable| list + &variable);
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

    /// The first program of the command line that is linked statically, so that nothing can be preloaded into it.
    pub fn static_program(&self) -> Option<PathBuf> {
        self.words[1..].iter().filter_map(|word| in_path(Path::new(word))).find(|file| is_static(file))
    }
}

fn export(command: &mut Command, variables: &[(&String, &String)]) {
    for (name, value) in variables {
        command.arg("-x").arg(format!("{name}={value}"));
    }
}

/// Takes what the user preloads into the ranks out of the command line.
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

/// Whether a file is a program without a loader: an ELF executable without an interpreter.
fn is_static(file: &Path) -> bool {
    let Ok(bytes) = fs::read(file) else { return false };
    // 64-bit, little endian; types 2 and 3 are programs. Libraries have no interpreter either, but nobody starts them.
    if bytes.len() < 64 || !bytes.starts_with(b"\x7fELF\x02\x01") || !matches!(bytes[16], 2 | 3) {
        return false;
    }
    let number = |at: usize, size: usize| {
        let field = bytes.get(at..at + size)?;
        Some(field.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) as usize)
    };
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((first, size, count)) = headers() else { return false };
    let kinds: Option<Vec<usize>> = (0..count).map(|place| number(first.checked_add(place * size)?, 4)).collect();
    // PT_INTERP is 3.
    kinds.is_some_and(|kinds| !kinds.contains(&3))
}

/// Runs a job to its end, with the input and output that the command has. Ends it where `stop` is set, or after `limit`,
/// and then there is no result.
pub fn run(command: &mut Command, stop: &AtomicBool, limit: Option<Duration>) -> Result<Option<Ended>, RunnerError> {
    let program = PathBuf::from(command.get_program());
    let begin = Instant::now();
    let child = command.spawn().map_err(|cause| RunnerError::CannotStart { program, cause })?;
    let mut running = Running::new(child);
    loop {
        if let Some(status) = running.child.try_wait()? {
            running.left = true;
            return Ok(Some(Ended { status, took: Seconds(begin.elapsed().as_secs_f64()) }));
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

/// Lets a command write into files and read nothing.
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

    fn program(words: &str) -> Program {
        Program { words: words.split(' ').map(str::to_owned).collect(), by_mpirun: !words.starts_with("srun") }
    }

    fn line(program: &Program, ranks: &[(&str, &str)]) -> String {
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

    /// Where srun hands on what is named alone, what is set for the ranks is named as well.
    #[test]
    fn what_srun_hands_on_by_name_includes_what_is_set_here() {
        let said = |words: &str| {
            let own = BTreeMap::from([("OWN".to_owned(), Some("1".to_owned())), ("GONE".to_owned(), None)]);
            let command = program(words).command(&BTreeMap::from([("A".to_owned(), "b".to_owned())]), &own);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said("srun --export=HOME -n 2 sh -c x"), "--export=HOME,A=b,OWN=1 -n 2 sh -c x");
        assert_eq!(said("srun -n 2 --export HOME,X=y sh"), "-n 2 --export HOME,X=y,A=b,OWN=1 sh");
        for untouched in ["-n 2 --export=ALL sh", "--export=X=1,all sh", "-n 2 sh --export=HOME", "-n 2 sh"] {
            assert_eq!(said(&format!("srun {untouched}")), untouched);
        }
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
            let error = Program::new(&words).expect_err("no job").to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(Program::new(&[]).expect_err("no job").to_string().contains("empty"));
    }

    #[test]
    fn programs_with_a_loader_are_not_static() {
        assert!(!is_static(&env::current_exe().expect("this test")));
        assert!(!is_static(Path::new("/etc/hostname")) && !is_static(Path::new("/nonexistent")));
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
