//! Launches with settings. Each is recorded in a journal, so that a resumed search does not repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use collrules_record::clock::ClockFact;
use collrules_record::estimate::{interquartile_mean, mean, median};
use collrules_record::manifest::now;
use collrules_record::plan::{DeployWay, DeployedLaunches, Deployment, PatternPlan, Schedule};
use collrules_record::rundir::{self, RunDir};
use collrules_record::settings::{
    FailedSettings, Measure, MeasureTime, MemoryUse, SearchStage, Settings, SettingsFailure, SettingsLaunch, describe,
};
use collrules_record::{Candidate, Cell, Launch, Placement, Plan, Ranks, Seconds};
use collrules_report::progress;
use collrules_runner::circumstances::is_same_value;
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::wire::WorkerEvent;
use collrules_runner::{Backend, RunnerError};
use collrules_tuner::settings::{MeasureTimes, SettingsBlock, SettingsLauncher, default_launches, spread_default};

use crate::error::WorkflowError;
use crate::session::Session;

/// Multiple of the longest launch so far after which a silent job is ended, and the smallest such time in seconds.
const PATIENCE: (f64, f64) = (10.0, 15.0);

/// Number of attempts with the default before the search is given up.
const TRIES: u32 = 3;

/// The journal of a search.
pub(super) struct SearchJournal {
    path: PathBuf,
    known: BTreeMap<(SearchStage, u32, Settings), Vec<SettingsLaunch>>,
}

impl SearchJournal {
    /// Opens the journal of a run. An incomplete last line is ignored: its launch is repeated.
    pub(super) fn open(run: &RunDir) -> Self {
        let path = run.file(rundir::SETTINGS_LOG);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<SettingsLaunch>(line).ok());
        let mut journal = Self { path, known: BTreeMap::new() };
        lines.for_each(|launch| journal.insert(launch));
        journal
    }

    fn insert(&mut self, launch: SettingsLaunch) {
        self.known.entry((launch.stage, launch.block, launch.settings.clone())).or_default().push(launch);
    }

    /// The launches of a combination in a block, in order.
    fn launches_with(&self, stage: SearchStage, block: u32, settings: &Settings) -> &[SettingsLaunch] {
        self.known.get(&(stage, block, settings.clone())).map_or(&[], Vec::as_slice)
    }

    /// The number of the next comparison of a whole tuning. None is resumed: rules and system may have changed.
    pub(super) fn next_validation(&self) -> u32 {
        let number = |stage: SearchStage| if let SearchStage::Validation(number) = stage { number + 1 } else { 0 };
        self.launches().map(|launch| number(launch.stage)).max().unwrap_or(0)
    }

    /// Launches so far.
    pub(super) fn launches(&self) -> impl Iterator<Item = &SettingsLaunch> {
        self.known.values().flatten()
    }

    fn append(&mut self, launch: SettingsLaunch) -> Result<(), WorkflowError> {
        let failed = |cause| WorkflowError::write(&self.path, cause);
        let line = serde_json::to_string(&launch)? + "\n";
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(failed)?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)?;
        self.insert(launch);
        Ok(())
    }
}

/// Cells and patterns that a launch times.
#[derive(Clone, Debug, Default)]
pub(super) struct Subjects {
    pub(super) cells: Vec<Cell>,
    pub(super) patterns: Vec<PatternPlan>,
}

impl Subjects {
    pub(super) fn count(&self) -> usize {
        self.cells.len() + self.patterns.iter().map(|plan| plan.casts.len()).sum::<usize>()
    }

    /// Leaves out all but these.
    fn retain(&mut self, wanted: &BTreeSet<Measure>) {
        self.cells.retain(|cell| wanted.contains(&Measure::Call(*cell)));
        for PatternPlan { pattern, casts } in &mut self.patterns {
            casts.retain(|cast| wanted.contains(&Measure::Messages(*pattern, cast.clone())));
        }
        self.patterns.retain(|plan| !plan.casts.is_empty());
    }
}

/// The result of a job: median times, or why they do not count; and the memory of the largest rank.
struct JobResult {
    outcome: Result<Vec<MeasureTime>, SettingsFailure>,
    resident: Option<u64>,
}

/// Launches with settings: backend, journal, subjects and time limit.
pub(super) struct SettingsJobs<'a, 's> {
    pub(super) backend: &'a mut dyn Backend,
    pub(super) session: &'a mut Session<'s>,
    pub(super) journal: SearchJournal,
    pub(super) subjects: Subjects,
    pub(super) ranks: Ranks,
    pub(super) placement: Placement,
    pub(super) schedule: Schedule,
    /// Subjects and schedule before only some are timed.
    whole: Option<(Subjects, Schedule)>,
    pub(super) seed: u64,
    /// Seconds for all launches from now on.
    pub(super) limit: Option<f64>,
    /// Seconds that launches took since the limit was set.
    pub(super) spent: f64,
    /// True if failures with settings end the comparison, after as many attempts as with the default.
    pub(super) ends_on_failure: bool,
    /// The failure that ended it.
    pub(super) failure: Option<SettingsFailure>,
}

impl<'a, 's> SettingsJobs<'a, 's> {
    /// Launches on the system of a plan, recorded in the journal of a directory.
    pub(super) fn new(
        backend: &'a mut dyn Backend,
        (home, plan): (&RunDir, &Plan),
        (subjects, schedule): (Subjects, Schedule),
        seed: u64,
        session: &'a mut Session<'s>,
    ) -> Self {
        Self {
            journal: SearchJournal::open(home),
            ranks: plan.ranks,
            placement: Placement { serving: Vec::new(), ..plan.placement.clone() },
            backend,
            session,
            subjects,
            schedule,
            whole: None,
            seed,
            limit: None,
            spent: 0.0,
            ends_on_failure: false,
            failure: None,
        }
    }

    /// Sets the time for all launches from now on.
    pub(super) fn limit_to(&mut self, seconds: Option<f64>) {
        (self.limit, self.spent) = (seconds, 0.0);
    }

    /// The combinations whose parameters have the right values on the ranks of a job, and those that Open MPI ignores
    /// in part.
    pub(super) fn separate_ignored(
        &mut self,
        combinations: Vec<Settings>,
    ) -> Result<(Vec<Settings>, Vec<FailedSettings>), WorkflowError> {
        let (mut obeyed, mut ignored) = (Vec::new(), Vec::new());
        for settings in combinations {
            let names: Vec<String> = settings.keys().cloned().collect();
            let why = match self.backend.values(&settings, &names) {
                Ok(ranks) => find_ignored(&settings, &ranks),
                Err(error) if error.is_of_job() => Some(SettingsFailure::Job(first_line(&error))),
                Err(error) => return Err(error.into()),
            };
            match why {
                None => obeyed.push(settings),
                Some(why) => {
                    self.session.say(&progress::settings::left_out(&settings, &why));
                    ignored.push(FailedSettings { settings, why });
                }
            }
        }
        Ok((obeyed, ignored))
    }

    /// Memory of a rank with these settings and by default, over the launches of a stage.
    pub(super) fn memory(&self, stage: SearchStage, settings: &Settings) -> Option<MemoryUse> {
        let of = |settings: &Settings| {
            let launches = self.journal.launches().filter(|it| it.stage == stage);
            let mut bytes: Vec<f64> =
                launches.filter(|it| it.settings == *settings).filter_map(|it| Some(it.resident? as f64)).collect();
            median(&mut bytes)
        };
        Some(MemoryUse { default: of(&Settings::new())?, settings: of(settings)?, peers: self.ranks.0 - 1 })
    }

    /// The mean time of a launch in the last block of a stage, according to the journal.
    fn mean_seconds(&self, stage: SearchStage) -> f64 {
        let own = || self.journal.launches().filter(|launch| launch.stage == stage);
        let last = own().map(|launch| launch.block).max();
        let times: Vec<f64> = own().filter(|it| Some(it.block) == last).map(|launch| launch.seconds.0).collect();
        let planned = self.schedule.startup.0 + self.schedule.budget.map_or(0.0, |budget| budget.0);
        if times.is_empty() { planned } else { mean(times) }
    }

    /// The settings of a block in the order of their launches: shuffled, and reversed in the next block. Several launches
    /// of the default are spread over the block.
    fn order(&self, stage: SearchStage, number: u32, combinations: &[Settings]) -> Vec<Settings> {
        let defaults = default_launches(stage, combinations.len());
        let mut order = combinations.to_vec();
        order.extend((defaults == 1).then(Settings::new));
        order.sort_by_key(|settings| launch_seed(self.seed, stage, number / 2, settings));
        if number % 2 == 1 {
            order.reverse();
        }
        if defaults > 1 { spread_default(order, defaults) } else { order }
    }

    /// A launch, from the journal if it is there: with `before` launches of the same settings before it in the block.
    fn launch(
        &mut self,
        stage: SearchStage,
        block: u32,
        settings: &Settings,
        before: usize,
    ) -> Result<SettingsLaunch, WorkflowError> {
        if let Some(known) = self.journal.launches_with(stage, block, settings).get(before) {
            self.spent += known.seconds.0;
            return Ok(known.clone());
        }
        let longest = self.journal.launches().map(|launch| launch.seconds.0).fold(self.schedule.startup.0, f64::max);
        let patience = Duration::from_secs_f64((PATIENCE.0 * longest).max(PATIENCE.1));
        let usual = self.backend.limit_silence(patience);
        let (at, began) = (now(), Instant::now());
        let outcome = self.time(stage, block, settings);
        if let Some(usual) = usual {
            self.backend.limit_silence(usual);
        }
        let JobResult { outcome, resident } = match outcome {
            Ok(result) => result,
            Err(error) if error.is_of_job() => {
                JobResult { outcome: Err(SettingsFailure::Job(first_line(&error))), resident: None }
            }
            Err(error) => return Err(error.into()),
        };
        let seconds = Seconds(began.elapsed().as_secs_f64());
        self.spent += seconds.0;
        let launch = SettingsLaunch { stage, block, settings: settings.clone(), at, seconds, resident, outcome };
        // A failure with the default is not caused by settings, and the launch is repeated.
        if launch.outcome.is_ok() || !self.is_repeated(settings) {
            self.journal.append(launch.clone())?;
        }
        Ok(launch)
    }

    /// Returns true if a failed launch is repeated.
    fn is_repeated(&self, settings: &Settings) -> bool {
        settings.is_empty() || self.ends_on_failure
    }

    /// Starts a job with these settings, and times all subjects in it. Wrong data are blamed on the settings.
    fn time(&mut self, stage: SearchStage, block: u32, settings: &Settings) -> Result<JobResult, RunnerError> {
        let cells: Vec<LaunchCell> =
            self.subjects.cells.iter().map(|cell| LaunchCell::new(*cell, vec![Candidate::Builtin])).collect();
        let plan = LaunchPlan {
            cells,
            patterns: self.subjects.patterns.clone(),
            ranks: self.ranks,
            schedule: self.schedule,
            seed: launch_seed(self.seed, stage, block, settings),
            is_trial: false,
            launch: Launch::Paired { pair: block, deployed: !settings.is_empty() },
            deployment: Some(Deployment {
                way: DeployWay::Environment,
                settings: settings.clone(),
                launches: DeployedLaunches::Paired { first: 0 },
            }),
            placement: self.placement.clone(),
            arguments: Default::default(),
            arrivals: Vec::new(),
        };
        let mut times: BTreeMap<Measure, Vec<f64>> = BTreeMap::new();
        let (mut wrong, mut resident) = (None, None);
        let stop = self.session.stop.clone();
        self.backend.measure(&plan, &mut |event| {
            match &event {
                WorkerEvent::Visited { cell, candidates, rounds, .. } => {
                    for (place, turn) in candidates.iter().enumerate() {
                        let measure = match plan.cells.get(*cell) {
                            Some(planned) => Measure::Call(planned.cell),
                            None => {
                                let PatternPlan { pattern, casts } = plan.pattern(*cell);
                                Measure::Messages(*pattern, casts[*turn].clone())
                            }
                        };
                        let slowest = rounds.iter().filter_map(|round| round.get(place)).map(|times| times[0]);
                        times.entry(measure).or_default().extend(slowest);
                    }
                }
                WorkerEvent::Disqualified { cell, why, .. } => {
                    let measure = plan.subject(*cell).to_string();
                    wrong.get_or_insert_with(|| SettingsFailure::Wrong { measure, finding: why.to_string() });
                }
                WorkerEvent::Clock(ClockFact::End(end)) => resident = end.resident,
                _ => {}
            }
            if stop.load(Ordering::Relaxed) { Err(RunnerError::Interrupted) } else { Ok(()) }
        })?;
        if let Some(wrong) = wrong.filter(|_| !settings.is_empty()) {
            return Ok(JobResult { outcome: Err(wrong), resident });
        }
        let timed = times.into_iter().filter_map(|(measure, mut seconds)| {
            let rounds = seconds.len() as u32;
            Some(MeasureTime { measure, time: Seconds(interquartile_mean(&mut seconds)?), rounds })
        });
        Ok(JobResult { outcome: Ok(timed.collect()), resident })
    }
}

impl SettingsLauncher for SettingsJobs<'_, '_> {
    type Error = WorkflowError;

    fn block(
        &mut self,
        stage: SearchStage,
        number: u32,
        combinations: &[Settings],
    ) -> Result<Option<SettingsBlock>, WorkflowError> {
        let order = self.order(stage, number, combinations);
        let known: usize = combinations
            .iter()
            .chain([&Settings::new()])
            .map(|it| self.journal.launches_with(stage, number, it).len())
            .sum();
        let missing = order.len().saturating_sub(known);
        let needed = self.mean_seconds(stage) * missing as f64;
        if self.limit.is_some_and(|limit| missing > 0 && self.spent + needed > limit) {
            return Ok(None);
        }
        let mut block = SettingsBlock::default();
        for settings in order {
            let before = block.launches.get(&settings).map_or(0, Vec::len);
            let mut launch = self.launch(stage, number, &settings, before)?;
            for _ in 1..TRIES {
                if launch.outcome.is_ok() || !self.is_repeated(&settings) {
                    break;
                }
                launch = self.launch(stage, number, &settings, before)?;
            }
            match launch.outcome {
                Ok(timed) => {
                    let times: MeasureTimes = timed.into_iter().map(|timed| (timed.measure, timed.time.0)).collect();
                    block.push(settings, times);
                }
                Err(why) if settings.is_empty() => {
                    self.session.say(&progress::settings::default_fails(&why));
                    return Ok(None);
                }
                Err(why) if self.ends_on_failure => {
                    self.failure = Some(why);
                    return Ok(None);
                }
                Err(why) => {
                    self.session.say(&progress::settings::left_out(&settings, &why));
                }
            }
        }
        Ok(Some(block))
    }

    fn focus(&mut self, subjects: Option<&BTreeSet<Measure>>) {
        let (all, schedule) = self.whole.take().unwrap_or_else(|| (self.subjects.clone(), self.schedule));
        (self.subjects, self.schedule) = (all.clone(), schedule);
        let Some(subjects) = subjects else { return };
        self.subjects.retain(subjects);
        let part = self.subjects.count() as f64 / all.count().max(1) as f64;
        // Starting a job is worth as much measuring.
        let least = self.schedule.startup.0;
        self.schedule.budget = self.schedule.budget.map(|budget| Seconds((budget.0 * part).max(least.min(budget.0))));
        self.whole = Some((all, schedule));
    }
}

/// The first parameter with another value on a rank.
fn find_ignored(settings: &Settings, ranks: &[BTreeMap<String, String>]) -> Option<SettingsFailure> {
    ranks.iter().find_map(|values| {
        settings.iter().find_map(|(name, wanted)| {
            let found = values.get(name).filter(|found| !is_same_value(found, wanted))?.clone();
            Some(SettingsFailure::Ignored { name: name.clone(), set: wanted.clone(), found })
        })
    })
}

/// Returns the first line of an error, without the job's own words.
fn first_line(error: &RunnerError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// A seed that is different for each launch.
fn launch_seed(seed: u64, stage: SearchStage, block: u32, settings: &Settings) -> u64 {
    let text = format!("{stage:?}/{block}/{}", describe(settings));
    // The prime of FNV-1a, of 64 bits.
    text.bytes()
        .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
