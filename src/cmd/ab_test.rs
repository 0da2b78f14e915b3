//! A/B test of a program: runs without and with a tuning, settings or the profiler, in pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use collrules_record::comparison::Stage;
use collrules_record::findings::Findings;
use collrules_record::options::Budget;
use collrules_record::pattern::ArmSubject;
use collrules_record::rundir::RunDir;
use collrules_record::settings::{Settings, describe};
use collrules_record::transport::Transport;
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::values::{limit, percent};
use collrules_record::{Seconds, Tuning, digest, manifest};
use collrules_report::ab_test::{describe_run, document};
use collrules_report::facts::describe_other_transport;
use collrules_rules::deploy::SWITCHES;
use collrules_rules::settings::request::RequestedSetting;
use collrules_rules::settings::{environment_name, variable};
use collrules_rules::{Behaviour, Release, Version};
use collrules_runner::RunnerError;
use collrules_runner::circumstances::is_same_value;
use collrules_runner::mpi::deployed;
use collrules_runner::mpi::program::{UserJob, kept_apart, run as run_job};
use collrules_runner::mpi::transport::{self, TransportLog};
use collrules_tuner::comparison::{ArmBlock, ArmDemand, ArmLauncher, Comparison, Looks, compare};
use collrules_tuner::results::ab_test::{
    AbTest, AbTestSubject, FILE, FORMAT, Judgement, OutputComparison, ProgramRun, RunMetric,
};
use collrules_workflow::WorkflowError;
use collrules_workflow::publish::{self, Published};
use regex::Regex;

use super::profile::{ProgramArgs, Watched, preloaded};
use crate::exit::Exit;
use crate::options::named_or_new;
use crate::progress::say;
use crate::{interrupt, screen};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 unless the program is shown to be slower with the tuning (or the profiler), 8 if it is. \
                  The runs take turns (without, with, with, without, and so on), so that drift favours neither side."
)]
pub(crate) struct Try {
    /// The rules file: that of a run (or the run's directory), or any other
    #[arg(value_name = "RULES|RUN", required_unless_present_any = ["profiler", "settings"], conflicts_with = "profiler")]
    rules: Option<PathBuf>,
    /// Maximum number of pairs of runs, one without and one with the tuning; stops earlier if the answer is clear
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pairs: u32,
    /// Time for all of it; begins no pair that would not end in time
    #[arg(long, value_name = "TIME|none", default_value = "none", value_parser = limit)]
    budget: Budget,
    /// Differences, in percent, that do not count
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    min_difference: f64,
    /// Maximum probability of a wrong verdict of faster or slower, in percent, over all looks at the pairs
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    error_rate: f64,
    /// Compare a number that the program prints, instead of the wall time: a regular expression, whose first group (or all
    /// of it) is the number. The last match counts, and lower is better
    #[arg(long, value_name = "REGEX")]
    metric: Option<Regex>,
    /// Higher is better
    #[arg(long, requires = "metric")]
    higher_is_better: bool,
    /// Compare this output file of the program byte by byte (- for its standard output): does the tuning change results?
    #[arg(long, value_name = "FILE")]
    same_output: Option<PathBuf>,
    /// Shell command that runs before each run, to restore what a run changes
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,
    /// Run the program twice more with the profiler, for its time in collectives without and with the tuning
    #[arg(long, conflicts_with = "profiler")]
    collectives: bool,
    /// Try this setting, with a tuning or alone: NAME=VALUE with an MCA parameter, or with env: and an environment
    /// variable. May be repeated
    #[arg(id = "settings", long = "setting", value_name = "NAME=VALUE", conflicts_with = "profiler")]
    settings: Vec<RequestedSetting>,
    /// Try the profiler instead of a tuning: measures what `collrules profile` costs this program
    #[arg(long)]
    profiler: bool,
    #[command(flatten)]
    program: ProgramArgs,
    /// Directory for try.json and the output of each run [default: collrules-try-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Pairs before the first look: fewer do not show how much runs differ.
const FIRST_LOOK: u32 = 4;

/// Name of the file with the standard output of a run.
const STDOUT: &str = "stdout.txt";

/// Name of the file with the standard error of a run.
const STDERR: &str = "stderr.txt";

/// Copy of the compared file that the program writes.
const WRITTEN: &str = "written";

/// Directory for the records of profiled ranks, in that of the run.
const RANKS: &str = "ranks";

pub(crate) fn run(args: &Try) -> Result<Exit, WorkflowError> {
    let tuning = args.rules.as_deref().map(publish::open_whole).transpose()?;
    let out = named_or_new(args.out.as_deref(), "try");
    let tried = try_program(tuning.as_ref(), args, &out)?;
    if args.json {
        screen::raw((serde_json::to_string_pretty(&tried)? + "\n").as_bytes())?;
    } else {
        let text = document(&tried).text(screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", out.join(FILE).display()))?;
    }
    Ok(match tried.compare_written() {
        _ if tried.loses() => Exit::SLOWER,
        Some(OutputComparison::Different) => Exit::PROBLEMS,
        _ => Exit::DONE,
    })
}

/// Runs a program without and with a tuning, settings or the profiler, until it is clear which is faster, or pairs or time
/// are over. Results go to `out`.
fn try_program(tuning: Option<&Tuning>, options: &Try, out: &Path) -> Result<AbTest, WorkflowError> {
    let program = UserJob::new(&options.program.command)?;
    let open_mpi = match program.open_mpi() {
        Ok(open_mpi) => Some(open_mpi),
        Err(error) if options.settings.is_empty() => {
            say(&format!("whether a tuning is installed is unknown: {error}"));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let version = open_mpi.as_ref().map(|open_mpi| open_mpi.version);
    let mut settings = tuning.map(|tuning| settings_of(tuning, version)).transpose()?.unwrap_or_default();
    for given in &options.settings {
        let values = open_mpi.as_ref().map(|open_mpi| given.resolve(&open_mpi.parameters)).transpose();
        let values = values.map_err(|bad| WorkflowError::Usage(bad.to_string()))?.unwrap_or_default();
        let [value] = &values[..] else {
            return Err(WorkflowError::Usage(format!("{given}: `try` takes one value of a setting")));
        };
        settings.insert(given.name().to_owned(), value.clone());
    }
    refuse_settings(&program, &settings)?;
    let library = (options.profiler || options.collectives).then(|| options.program.library()).transpose()?;
    let directory = RunDir::prepare_derived(out)?;
    if directory.file(FILE).exists() {
        return Err(WorkflowError::Occupied(format!(
            "{} is there already; choose another --out",
            directory.file(FILE).display()
        )));
    }
    let subject = match tuning {
        Some(tuning) if tuning.files().next().is_some() => AbTestSubject::Tuning(tuning.path().display().to_string()),
        None if options.profiler => AbTestSubject::Profiler,
        _ => AbTestSubject::Settings,
    };
    let first = FIRST_LOOK.min(options.pairs);
    let criteria = ValidationCriteria {
        min_difference: options.min_difference,
        same_within: options.min_difference,
        error_rate: options.error_rate,
        looks: Looks::from(first).ends().len() as u32,
        ..ValidationCriteria::default()
    };
    let reset = open_mpi.map(|open_mpi| open_mpi.reset).unwrap_or_default();
    if !reset.is_empty() {
        say("the installed tuning is switched off in all runs");
    }
    let behind = tuning.map(Published::of_tuning).transpose()?.flatten();
    let metric = match &options.metric {
        None => RunMetric::WallTime,
        Some(pattern) => {
            RunMetric::Printed { pattern: pattern.to_string(), higher_is_better: options.higher_is_better }
        }
    };
    let end = |budget: Seconds| Instant::now().checked_add(Duration::try_from_secs_f64(budget.0).ok()?);
    let mut trial = AbTrial {
        program: &program,
        measured: behind
            .filter(|_| !Transport::is_decided_by(&settings))
            .and_then(|published| published.findings.transport),
        reset,
        options,
        library,
        directory: &directory,
        deadline: options.budget.and_then(end),
        longest: Duration::ZERO,
        tried: AbTest {
            format: FORMAT,
            subject,
            settings,
            command: program.words().to_vec(),
            started: manifest::now(),
            metric,
            judgement: Judgement { gain: None, pairs: Vec::new(), q_value: None, outcome: Outcome::Undecided },
            same_output: options.same_output.as_ref().map(|file| file.display().to_string()),
            criteria,
            runs: Vec::new(),
            collectives: None,
        },
    };
    trial.check_on_ranks()?;
    trial.compare(first)?;
    if options.collectives {
        trial.watch()?;
    }
    Ok(trial.tried)
}

/// The settings that activate a tuning, which has to be one for this version of Open MPI.
fn settings_of(tuning: &Tuning, version: Option<Version>) -> Result<BTreeMap<String, String>, WorkflowError> {
    tuning.refuse_unreadable()?;
    let shown = tuning.path().display();
    let findings = Published::of_tuning(tuning)?.map(|published| published.findings);
    if tuning.parameters.is_empty() && findings.as_ref().is_some_and(Findings::changes_nothing) {
        let nothing = format!("{shown} leaves everything to the default: there is nothing to try");
        return Err(WorkflowError::Usage(nothing));
    }
    if let Some(version) = version {
        let behaviour = Behaviour::from_version(version).map_err(RunnerError::UnknownRelease)?;
        let is_other = |findings: &&Findings| Release::from_version(version).ok() != Some(findings.release);
        if let Some(Findings { release, .. }) = findings.as_ref().filter(is_other) {
            return Err(WorkflowError::Input(format!(
                "{shown} was made for Open MPI {release}, and the command starts {version}, where other algorithms and \
                 defaults have other times: tune there"
            )));
        }
        tuning.read_as(&behaviour)?;
    }
    if findings.is_some_and(|findings| findings.simulated) {
        say("the times behind this tuning are simulated: they say nothing about this machine");
    }
    Ok(tuning.settings().by_name())
}

/// Refuses a command that sets what is tried itself: that overrides the values of the runs.
fn refuse_settings(program: &UserJob, settings: &BTreeMap<String, String>) -> Result<(), WorkflowError> {
    let sets = |word: &&String| {
        let name = word.split('=').next().unwrap_or_default();
        let is_tried = |tried: &str| name == tried || name == environment_name(tried);
        settings.keys().any(|tried| is_tried(tried)) || (!settings.is_empty() && SWITCHES.into_iter().any(is_tried))
    };
    match program.words().iter().find(sets) {
        None => Ok(()),
        Some(setting) => Err(WorkflowError::Usage(format!(
            "the command sets {setting} itself, so all runs would use the same value: leave it out"
        ))),
    }
}

/// Runs of an A/B test, in pairs, which are blocks of a comparison.
struct AbTrial<'a> {
    program: &'a UserJob,
    /// Transport of the job in which the tuning was measured, if it is known.
    measured: Option<Transport>,
    /// Values that installed settings have without their installation.
    reset: BTreeMap<String, String>,
    options: &'a Try,
    /// Profiling library, if the profiler is tested, or time in collectives is requested.
    library: Option<PathBuf>,
    directory: &'a RunDir,
    /// End of the time for the test.
    deadline: Option<Instant>,
    /// Duration of the longest pair.
    longest: Duration,
    tried: AbTest,
}

impl ArmLauncher for AbTrial<'_> {
    type Error = WorkflowError;

    fn block(
        &mut self,
        _: Stage,
        pair: u32,
        (base, arms): (&Settings, &[Settings]),
        _: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, WorkflowError> {
        if pair >= self.options.pairs {
            return Ok(None);
        }
        if self.time_left().is_some_and(|left| left < self.longest) {
            say(&format!("the budget is used up after {pair} of {} pairs", self.options.pairs));
            return Ok(None);
        }
        let begin = Instant::now();
        let mut block = ArmBlock::default();
        // ABBA: a drift from run to run favours no side.
        let order = if pair.is_multiple_of(2) { [false, true] } else { [true, false] };
        for with in order {
            let made = self.run(pair, with)?;
            if let Some(cost) = self.tried.cost(&made) {
                let arm = if with { &arms[0] } else { base };
                block.push(arm.clone(), BTreeMap::from([(ArmSubject::Program, cost)]));
            }
            self.tried.runs.push(made);
            self.tried.judgement.pairs = self.tried.list_gains();
            self.directory.write_json(FILE, &self.tried)?;
        }
        self.longest = begin.elapsed().max(self.longest);
        let [without, with] = [false, true].map(|with| describe_run(&self.tried, pair, with));
        say(&format!("pair {}: {without} without {}, {with} with it", pair + 1, self.tried.describe_subject()));
        self.refuse_hopeless(pair)?;
        Ok(Some(block))
    }
}

impl AbTrial<'_> {
    /// Runs pairs until the difference is clear, or until pairs or time are used up.
    fn compare(&mut self, first: u32) -> Result<(), WorkflowError> {
        let base = Settings::new();
        // The profiler has no settings, which would tell it from the base.
        let arm = match self.tried.settings.is_empty() {
            true => Settings::from([("profiler".to_owned(), String::new())]),
            false => self.tried.settings.clone(),
        };
        let criteria = self.tried.criteria;
        let comparison = Comparison {
            stage: Stage::Program,
            base: &base,
            arms: std::slice::from_ref(&arm),
            demand: &|_, _| ArmDemand::Gain,
            weight: &|_, _| 1.0,
            criteria,
            max_loss: criteria.min_difference,
            looks: Looks::from(first),
            chooses: false,
        };
        let compared = compare(&comparison, self)?;
        if let Some(found) = compared.of(&arm).and_then(|result| result.subjects.first()) {
            let judgement = &mut self.tried.judgement;
            (judgement.gain, judgement.q_value, judgement.outcome) =
                (Some(found.speedup), found.q_value, found.verdict);
        }
        Ok(self.directory.write_json(FILE, &self.tried)?)
    }

    /// Checks that ranks get the settings, and that runs without them have others.
    fn check_on_ranks(&mut self) -> Result<(), WorkflowError> {
        let tried = &self.tried.settings;
        if tried.is_empty() {
            return Ok(());
        }
        let values = |with| self.program.values_on_ranks(tried, &self.environment(with));
        let (Some(without), Some(with)) = (values(false), values(true)) else {
            say("whether ranks get the settings is unknown: `ompi_info` cannot run in place of the program");
            return Ok(());
        };
        let is_set = |values: &BTreeMap<String, BTreeSet<String>>, name: &String, wanted: &String| {
            let found = values.get(name);
            found.is_some_and(|found| !found.is_empty() && found.iter().all(|value| is_same_value(value, wanted)))
        };
        if let Some((name, wanted)) = tried.iter().find(|(name, wanted)| !is_set(&with, name, wanted)) {
            let found: Vec<&str> = with.get(name).into_iter().flatten().map(String::as_str).collect();
            let found = if found.is_empty() { "no value".to_owned() } else { found.join(" and ") };
            return Err(WorkflowError::Input(format!(
                "ranks do not get {name} = {wanted}, but {found}: an option of the command or a parameter file is stronger, or \
                 mpirun does not pass the variable on (-x)"
            )));
        }
        if tried.iter().all(|(name, wanted)| is_set(&without, name, wanted)) {
            return Err(WorkflowError::Input(format!(
                "ranks have {} anyway, so all runs would be the same: switch it off first",
                describe(tried)
            )));
        }
        Ok(())
    }

    fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// One run in the user's current directory, with its output saved.
    fn run(&mut self, pair: u32, with: bool) -> Result<ProgramRun, WorkflowError> {
        self.set_up()?;
        let name = format!("pair-{}-{}", pair + 1, if with { "with" } else { "without" });
        let place = self.place(&name)?;
        let (stdout, stderr) = (place.join(STDOUT), place.join(STDERR));
        let ranks = self.ranks(&place, with)?;
        let mut variables: BTreeMap<String, String> =
            self.library.iter().zip(&ranks).flat_map(|(library, ranks)| preloaded(library, ranks)).collect();
        let mut own = self.environment(with);
        // Both runs of a pair, so that it favours no side.
        let is_logged = pair == 0 && self.measured.is_some();
        for (name, value) in transport::logging().into_iter().filter(|_| is_logged) {
            match variable(&name) {
                Some(name) => drop(variables.insert(name.to_owned(), value)),
                None => drop(own.insert(environment_name(&name), Some(value))),
            }
        }
        let mut command = self.program.command(&variables, &own);
        kept_apart(&mut command, &stdout, &stderr).map_err(|cause| WorkflowError::write(&place, cause))?;
        let before = self.modified();
        let begin = Instant::now();
        let ended = run_job(&mut command, &interrupt::flag(), self.time_left())?;
        if is_logged && !with {
            let mut log = TransportLog::default();
            fs::read_to_string(&stderr).unwrap_or_default().lines().for_each(|line| log.read_line(line));
            describe_other_transport(&self.measured, &log.into_transport()).iter().for_each(|said| say(said));
        }
        let (took, result) = match ended {
            None => (Seconds(begin.elapsed().as_secs_f64()), Err("the budget was used up before it ended".to_owned())),
            Some(ended) if !ended.status.success() => {
                (ended.took, Err(format!("it ended with exit code {}", ended.code())))
            }
            Some(ended) => (ended.took, self.value(ended.took, &stdout)),
        };
        let result = result.and_then(|value| seen(ranks.as_deref()).map(|()| value));
        let result = result.and_then(|value| Ok((value, self.keep_written(before, &place)?)));
        let (value, digest) = result.as_ref().map_or((None, None), |(value, digest)| (Some(*value), digest.clone()));
        Ok(ProgramRun { pair, with, took, value, failed: result.err(), output: name, digest })
    }

    /// Changes to the environment of a run.
    fn environment(&self, with: bool) -> BTreeMap<String, Option<String>> {
        let tried = &self.tried.settings;
        let own = if with { tried.clone() } else { BTreeMap::new() };
        let own = deployed::environment(&own, std::slice::from_ref(tried));
        deployed::combine(own, deployed::environment(&self.reset, &[]))
    }

    /// Time at which the compared file was last written.
    fn modified(&self) -> Option<SystemTime> {
        fs::metadata(self.options.same_output.as_ref()?).and_then(|file| file.modified()).ok()
    }

    /// Digest of the compared file that a run wrote, if there is one. A copy stays in the directory of the run.
    fn keep_written(&self, before: Option<SystemTime>, place: &Path) -> Result<Option<String>, String> {
        let Some(file) = &self.options.same_output else { return Ok(None) };
        let is_printed = file == Path::new("-");
        if !is_printed && self.modified() == before {
            return Err(format!("it did not write {} (--same-output)", file.display()));
        }
        let from = if is_printed { place.join(STDOUT) } else { file.clone() };
        let bytes = fs::read(&from).map_err(|cause| format!("{} cannot be read: {cause}", from.display()))?;
        if !is_printed {
            let to = place.join(WRITTEN);
            fs::write(&to, &bytes).map_err(|cause| format!("{} cannot be written: {cause}", to.display()))?;
        }
        Ok(Some(digest(&bytes)))
    }

    /// Creates the directory for the records of ranks; none for a run in which the profiler is not tried.
    fn ranks(&self, place: &Path, with: bool) -> Result<Option<PathBuf>, WorkflowError> {
        if !with || self.tried.subject != AbTestSubject::Profiler {
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

    /// Restores the files that a run changes.
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

    /// Returns the compared value of a run: its time, or a number that it printed.
    fn value(&self, took: Seconds, stdout: &Path) -> Result<f64, String> {
        let Some(pattern) = &self.options.metric else { return Ok(took.0) };
        let bytes = fs::read(stdout).map_err(|cause| format!("its output cannot be read: {cause}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let last =
            pattern.captures_iter(&text).last().ok_or_else(|| format!("`{pattern}` matches nothing in its output"))?;
        let found = last.get(1).or_else(|| last.get(0)).map_or("", |found| found.as_str());
        let number: f64 = found.trim().parse().map_err(|_| format!("`{found}`, which --metric found, is no number"))?;
        if number.is_finite() && number > 0.0 { Ok(number) } else { Err(format!("`{found}` is not above 0")) }
    }

    /// Ends the test if the first pair failed on both sides: later ones would too.
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

    /// One more run of each side, with profiling.
    fn watch(&mut self) -> Result<(), WorkflowError> {
        let Some(library) = &self.library else { return Ok(()) };
        let mut times = [Seconds(0.0); 2];
        for with in [false, true] {
            self.set_up()?;
            let place = self.place(if with { "profiled-with" } else { "profiled-without" })?;
            let directory = RunDir::derived(&place)?;
            let environment = self.environment(with);
            let watched = Watched { program: self.program, library, imbalance: None, environment };
            let apart = |command: &mut Command| kept_apart(command, &place.join(STDOUT), &place.join(STDERR));
            let (profile, _) = watched.run(&directory, apart)?;
            directory.write_json(collrules_record::profile::FILE, &profile)?;
            let total = profile.calls.iter().map(|calls| calls.time.total.0).sum();
            times[usize::from(with)] = profile.wall_of(Seconds(total));
        }
        self.tried.collectives = Some(times);
        Ok(self.directory.write_json(FILE, &self.tried)?)
    }
}

/// Checks that profiled ranks left records: without them the run says nothing about the profiler.
fn seen(ranks: Option<&Path>) -> Result<(), String> {
    let left = |ranks: &Path| fs::read_dir(ranks).is_ok_and(|mut files| files.next().is_some());
    if ranks.is_none_or(left) { Ok(()) } else { Err("no rank called MPI_Init with the profiler loaded".to_owned()) }
}
