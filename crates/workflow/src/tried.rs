//! Whether a tuning makes a program faster, or the profiler makes it slower: runs without and with it, in pairs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use collrules_record::Seconds;
use collrules_record::manifest;
use collrules_record::options::Trying;
use collrules_record::rundir::RunDir;
use collrules_record::tried::{FILE, FORMAT, Judgement, Metric, ProgramRun, Tried};
use collrules_record::validation::{Criteria, Outcome};
use collrules_rules::deploy::SWITCHES;
use collrules_runner::mpi::deployed;
use collrules_runner::mpi::program::{Program, kept_apart, run};
use collrules_tuner::tried::{judged, looks};
use regex::Regex;

use crate::error::WorkflowError;
use crate::profile::{Watched, library, preloaded};
use crate::session::Session;
use crate::validate::Opened;

/// What a run prints.
const STDOUT: &str = "stdout.txt";

/// What it says about itself.
const STDERR: &str = "stderr.txt";

/// What ranks with the profiler leave, in the directory of the run.
const RANKS: &str = "ranks";

/// Runs a program without and with a tuning (without one, the profiler) until it is clear whether that is faster, or pairs or
/// time are over. Results go to `out`.
pub fn try_program(
    opened: Option<&Opened>,
    options: &Trying,
    out: &Path,
    session: &mut Session<'_>,
) -> Result<Tried, WorkflowError> {
    let program = Program::new(&options.command)?;
    let metric = metric(options)?;
    let settings = opened.map(|opened| settings_of(opened, &program)).transpose()?.unwrap_or_default();
    let library = (opened.is_none() || options.collectives).then(|| library(options.library.as_deref())).transpose()?;
    let directory = RunDir::prepare_derived(out)?;
    if directory.file(FILE).exists() {
        return Err(WorkflowError::Occupied(format!(
            "{} is there already; choose another --out",
            directory.file(FILE).display()
        )));
    }
    let looks = looks(options.pairs);
    let criteria = Criteria {
        min_difference: options.min_difference,
        error_rate: options.error_rate,
        looks: looks.len() as u32,
        ..Criteria::default()
    };
    let mut trial = Trial {
        program: &program,
        options,
        library,
        directory: &directory,
        pattern: pattern(options)?,
        deadline: options.budget.and_then(|budget| {
            Some((Instant::now(), Instant::now().checked_add(Duration::try_from_secs_f64(budget.0).ok()?)?))
        }),
        tried: Tried {
            format: FORMAT,
            rules: opened.map(|opened| opened.shown().to_owned()),
            settings,
            command: program.words().to_vec(),
            started: manifest::now(),
            metric,
            judgement: nothing(),
            criteria,
            runs: Vec::new(),
            collectives: None,
        },
    };
    trial.pairs(&looks, session)?;
    if options.collectives {
        trial.watch(session)?;
    }
    Ok(trial.tried)
}

fn nothing() -> Judgement {
    Judgement { gain: None, pairs: Vec::new(), q_value: None, outcome: Outcome::Same, clear: false, further: None }
}

/// The settings that put a tuning in force.
fn settings_of(opened: &Opened, program: &Program) -> Result<BTreeMap<String, String>, WorkflowError> {
    refuse_settings(program)?;
    opened.refuse_unreadable()?;
    let settings = opened.settings()?;
    if settings.is_empty() {
        return Err(WorkflowError::Usage(format!(
            "{} leaves everything to the builtin: there is nothing to try",
            opened.shown()
        )));
    }
    Ok(settings)
}

/// Settings on the command line are stronger than those of the tuning.
fn refuse_settings(program: &Program) -> Result<(), WorkflowError> {
    match program.words().iter().find(|word| SWITCHES.contains(&word.as_str())) {
        None => Ok(()),
        Some(setting) => Err(WorkflowError::Usage(format!(
            "the command sets {setting} itself, so that runs without the tuning could not be told from those with it: leave \
             it out"
        ))),
    }
}

fn metric(options: &Trying) -> Result<Metric, WorkflowError> {
    Ok(match &options.metric {
        None => Metric::WallTime,
        Some(pattern) => Metric::Printed { pattern: pattern.clone(), higher_is_better: options.higher_is_better },
    })
}

fn pattern(options: &Trying) -> Result<Option<Regex>, WorkflowError> {
    let compiled = options.metric.as_deref().map(Regex::new).transpose();
    compiled.map_err(|cause| WorkflowError::Usage(format!("--metric is no regular expression: {cause}")))
}

/// Runs that are made.
struct Trial<'a> {
    program: &'a Program,
    options: &'a Trying,
    /// Where the profiler is tried, or asked for time in collectives.
    library: Option<PathBuf>,
    directory: &'a RunDir,
    pattern: Option<Regex>,
    /// The beginning and the end of the time for all of it.
    deadline: Option<(Instant, Instant)>,
    tried: Tried,
}

impl Trial<'_> {
    /// Pairs until it is clear, or pairs or time are over.
    fn pairs(&mut self, looks: &[u32], session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let mut longest = Duration::ZERO;
        for pair in 0..self.options.pairs {
            if self.time_left().is_some_and(|left| left < longest) {
                session.say(&format!("the budget is over after {pair} of {} pairs", self.options.pairs));
                break;
            }
            let begin = Instant::now();
            // ABBA: what drifts from run to run does not favour one side.
            let order = if pair % 2 == 0 { [false, true] } else { [true, false] };
            for with in order {
                let made = self.run(pair, with, session)?;
                self.tried.runs.push(made);
                self.judge()?;
            }
            longest = longest.max(begin.elapsed());
            self.tell(pair, session);
            self.refuse_hopeless(pair)?;
            if looks.contains(&(pair + 1)) && self.tried.judgement.clear {
                break;
            }
        }
        Ok(())
    }

    fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|(_, end)| end.saturating_duration_since(Instant::now()))
    }

    /// Judges what there is, and writes it down.
    fn judge(&mut self) -> Result<(), WorkflowError> {
        let higher = matches!(self.tried.metric, Metric::Printed { higher_is_better: true, .. });
        self.tried.judgement = judged(&self.tried.runs, higher, self.tried.criteria);
        Ok(self.directory.write_json(FILE, &self.tried)?)
    }

    /// One run, in the place where the user stands, with its output kept.
    fn run(&self, pair: u32, with: bool, session: &mut Session<'_>) -> Result<ProgramRun, WorkflowError> {
        self.set_up()?;
        let name = format!("pair-{}-{}", pair + 1, if with { "with" } else { "without" });
        let place = self.place(&name)?;
        let (stdout, stderr) = (place.join(STDOUT), place.join(STDERR));
        let ranks = self.ranks(&place, with)?;
        let variables =
            self.library.iter().zip(&ranks).flat_map(|(library, ranks)| preloaded(library, ranks)).collect();
        let mut command = self.program.command(&variables, &deployed::environment(&self.tried.settings, with));
        kept_apart(&mut command, &stdout, &stderr).map_err(|cause| WorkflowError::write(&place, cause))?;
        let begin = Instant::now();
        let ended = run(&mut command, &session.stop, self.time_left())?;
        let (took, result) = match ended {
            None => (Seconds(begin.elapsed().as_secs_f64()), Err("the budget was over before it ended".to_owned())),
            Some(ended) if !ended.status.success() => {
                (ended.took, Err(format!("it ended with exit code {}", ended.code())))
            }
            Some(ended) => (ended.took, self.value(ended.took, &stdout)),
        };
        let result = result.and_then(|value| seen(ranks.as_deref()).map(|()| value));
        Ok(ProgramRun { pair, with, took, value: result.as_ref().ok().copied(), failed: result.err(), output: name })
    }

    /// Where the ranks of a run with the profiler leave their records.
    fn ranks(&self, place: &Path, with: bool) -> Result<Option<PathBuf>, WorkflowError> {
        if !with || self.tried.rules.is_some() {
            return Ok(None);
        }
        let ranks = place.join(RANKS);
        fs::create_dir_all(&ranks).map_err(|cause| WorkflowError::write(&ranks, cause))?;
        Ok(Some(ranks))
    }

    fn place(&self, name: &str) -> Result<PathBuf, WorkflowError> {
        let place = self.directory.absolute().join(name);
        fs::create_dir_all(&place).map_err(|cause| WorkflowError::write(&place, cause))?;
        Ok(place)
    }

    /// Restores what a run changes.
    fn set_up(&self) -> Result<(), WorkflowError> {
        let Some(command) = &self.options.setup else { return Ok(()) };
        let ended = Command::new("sh").args(["-c", command]).output();
        let ended = ended.map_err(|cause| WorkflowError::open(Path::new("sh"), cause))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        Err(WorkflowError::Input(format!("--setup `{command}` failed ({}): {said}", ended.status)))
    }

    /// What is compared of a run.
    fn value(&self, took: Seconds, stdout: &Path) -> Result<f64, String> {
        let Some(pattern) = &self.pattern else { return Ok(took.0) };
        let bytes = fs::read(stdout).map_err(|cause| format!("its output cannot be read: {cause}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let last =
            pattern.captures_iter(&text).last().ok_or_else(|| format!("`{pattern}` matches nothing in its output"))?;
        let found = last.get(1).or_else(|| last.get(0)).map_or("", |found| found.as_str());
        let number: f64 = found.trim().parse().map_err(|_| format!("`{found}`, which --metric found, is no number"))?;
        if number.is_finite() && number > 0.0 { Ok(number) } else { Err(format!("`{found}` is not above 0")) }
    }

    fn tell(&self, pair: u32, session: &mut Session<'_>) {
        let side = |with: bool| {
            let made = self.tried.runs.iter().find(|run| run.pair == pair && run.with == with);
            match made.map(|run| (run.value, &self.tried.metric)) {
                Some((Some(value), Metric::WallTime)) => Seconds(value).to_string(),
                Some((Some(value), _)) => value.to_string(),
                _ => "failed".to_owned(),
            }
        };
        session.say(&format!(
            "pair {}: {} without {}, {} with it",
            pair + 1,
            side(false),
            self.tried.subject(),
            side(true)
        ));
    }

    /// Ends where the first pair has failed on both sides: later ones would too.
    fn refuse_hopeless(&self, pair: u32) -> Result<(), WorkflowError> {
        let failed: Vec<&ProgramRun> = self.tried.failures().collect();
        if pair > 0 || failed.len() < 2 {
            return Ok(());
        }
        let why = failed.iter().filter_map(|run| run.failed.clone()).next().unwrap_or_default();
        Err(WorkflowError::Input(format!(
            "both runs of the first pair failed: {why}; what they printed is in {}",
            self.directory.path().display()
        )))
    }

    /// One more run of each side, with the library in it.
    fn watch(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let Some(library) = &self.library else { return Ok(()) };
        let mut times = [Seconds(0.0); 2];
        for with in [false, true] {
            self.set_up()?;
            let place = self.place(if with { "profiled-with" } else { "profiled-without" })?;
            let directory = RunDir::derived(&place)?;
            let environment = deployed::environment(&self.tried.settings, with);
            let watched = Watched { program: self.program, library, imbalance: None };
            let prepare = |mut command: Command| {
                kept_apart(&mut command, &place.join(STDOUT), &place.join(STDERR))
                    .map_err(|cause| WorkflowError::write(&place, cause))?;
                for (name, value) in &environment {
                    match value {
                        Some(value) => command.env(name, value),
                        None => command.env_remove(name),
                    };
                }
                Ok(command)
            };
            let seen = watched.run(&directory, prepare, session)?;
            directory.write_json(collrules_record::profile::FILE, &seen.profile)?;
            let total = seen.profile.calls.iter().map(|calls| calls.time.total.0).sum();
            times[usize::from(with)] = seen.profile.wall_of(Seconds(total));
        }
        self.tried.collectives = Some(times);
        Ok(self.directory.write_json(FILE, &self.tried)?)
    }
}

/// Whether ranks with the profiler left something: else the run shows nothing of it.
fn seen(ranks: Option<&Path>) -> Result<(), String> {
    let left = |ranks: &Path| fs::read_dir(ranks).is_ok_and(|mut files| files.next().is_some());
    if ranks.is_none_or(left) { Ok(()) } else { Err("no rank called MPI_Init with the profiler in it".to_owned()) }
}

/// The directory for results where none is named.
pub fn default_home() -> PathBuf {
    PathBuf::from(format!("collrules-try-{}", manifest::stamp()))
}
