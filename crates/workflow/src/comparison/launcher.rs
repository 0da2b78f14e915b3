//! Blocks of launches, from the log if they are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use collrules_record::clock::ClockFact;
use collrules_record::comparison::{ArmLaunch, ArmSubject, LaunchFailure, Processors, Stage, SubjectTime};
use collrules_record::condition::ArrivalPattern;
use collrules_record::criteria::Middle;
use collrules_record::estimate::{mean, median};
use collrules_record::manifest::{SIMULATED, now};
use collrules_record::plan::{DeployWay, Deployment, PatternPlan, Schedule};
use collrules_record::rundir::ComparisonLog;
use collrules_record::settings::{MemoryUse, Settings, describe};
use collrules_record::{Candidate, Cell, Launch, Placement, Ranks, Seconds};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::wire::WorkerEvent;
use collrules_runner::{Backend, RunnerError};
use collrules_tuner::comparison::{ArmBlock, ArmLauncher, SubjectTimes, default_launches, spread_default};

use super::arms::Arms;
use super::subjects::timing_per_subject;
use crate::error::WorkflowError;
use crate::session::{Event, Session};

/// Multiple of the longest finished launch after which a silent job is ended, but not before this part of the time that
/// users allow.
const PATIENCE: (f64, f64) = (10.0, 0.125);

/// Failures in a row after which jobs of an arm are given up, if it is to be kept.
const TRIES: u32 = 3;

/// Failures of one subject with an arm, after which it is no longer called with this arm.
const STRIKES: usize = 2;

/// Share of the slowest calls of a loop that a mean leaves out: other work on the machine makes a call slow.
const LEFT_OUT: f64 = 0.05;

/// Multiple of the median from which on a call is slow.
const SLOW: f64 = 2.0;

/// Launches of arms: backend, log, subjects and time limit.
pub(crate) struct JobLauncher<'a, 's> {
    pub(crate) backend: &'a mut dyn Backend,
    pub(crate) session: &'a mut Session<'s>,
    pub(crate) log: &'a mut ComparisonLog,
    pub(crate) arms: Arms,
    pub(crate) way: DeployWay,
    /// Everything that launches may time.
    pub(crate) subjects: Vec<ArmSubject>,
    /// Lateness of ranks for calls under conditions that leave it open.
    pub(crate) lateness: BTreeMap<Cell, Seconds>,
    pub(crate) arrivals: Vec<ArrivalPattern>,
    pub(crate) ranks: Ranks,
    pub(crate) placement: Placement,
    pub(crate) schedule: Schedule,
    pub(crate) middle: Middle,
    pub(crate) seed: u64,
    /// Seconds for all launches from now on; none if unlimited.
    limit: Option<f64>,
    /// Blocks that are made in any case: fewer say nothing.
    least: u32,
    /// Seconds that launches took, also those that are in the log.
    pub(crate) spent: f64,
    /// The arm with which others are compared.
    base: Settings,
    /// Subjects that are no longer called with an arm.
    barred: BTreeMap<Settings, BTreeMap<ArmSubject, String>>,
}

/// A loop of calls.
struct Loop {
    /// The time of each call.
    calls: Vec<f64>,
    /// The time of the whole loop.
    seconds: f64,
}

impl<'a, 's> JobLauncher<'a, 's> {
    /// Launches with this many ranks in a placement.
    pub(crate) fn new(
        backend: &'a mut dyn Backend,
        ranks: Ranks,
        placement: &Placement,
        schedule: Schedule,
        seed: u64,
        log: &'a mut ComparisonLog,
        session: &'a mut Session<'s>,
    ) -> Self {
        Self {
            backend,
            session,
            log,
            arms: Arms::default(),
            way: DeployWay::Environment,
            subjects: Vec::new(),
            lateness: BTreeMap::new(),
            arrivals: Vec::new(),
            ranks,
            placement: Placement { serving: Vec::new(), ..placement.clone() },
            schedule,
            middle: Middle::default(),
            seed,
            limit: None,
            least: 0,
            spent: 0.0,
            base: Settings::new(),
            barred: BTreeMap::new(),
        }
    }

    /// Sets the seconds for all launches from now on, and the blocks that are made in any case.
    pub(crate) fn limit_to(&mut self, seconds: Option<f64>, least: u32) {
        (self.limit, self.least, self.spent) = (seconds, least, 0.0);
    }

    /// Memory of a rank with an arm and by default, over the launches of a stage.
    pub(crate) fn memory(&self, stage: Stage, arm: &Settings) -> Option<MemoryUse> {
        let of = |arm: &Settings| {
            let launches = self.log.launches().iter().filter(|it| it.stage == stage && it.arm == *arm);
            median(&mut launches.filter_map(|it| Some(it.resident? as f64)).collect::<Vec<_>>())
        };
        Some(MemoryUse { default: of(&Settings::new())?, settings: of(arm)?, peers: self.ranks.0.saturating_sub(1) })
    }

    /// The mean time of a launch in the last block of a stage, or the planned one.
    fn mean_seconds(&self, stage: Stage, subjects: usize) -> f64 {
        let own = || self.log.launches().iter().filter(|launch| launch.stage == stage);
        let last = own().map(|launch| launch.block).max();
        let times: Vec<f64> = own().filter(|it| Some(it.block) == last).map(|launch| launch.seconds.0).collect();
        let measuring = timing_per_subject() * subjects as f64;
        let planned =
            self.schedule.startup.0 + self.schedule.budget.map_or(measuring, |budget| budget.0.min(measuring));
        if times.is_empty() { planned } else { mean(times) }
    }

    /// The arms of a block in the order of their launches: shuffled, and reversed in the next block. Several launches of the
    /// default are spread over the block.
    fn order(&self, stage: Stage, number: u32, (base, arms): (&Settings, &[Settings])) -> Vec<Settings> {
        let defaults = default_launches(stage, arms.len());
        let mut order = arms.to_vec();
        order.extend((defaults == 1).then(|| base.clone()));
        order.sort_by_key(|arm| launch_seed(self.seed, stage, number / 2, arm));
        if number % 2 == 1 {
            order.reverse();
        }
        if defaults > 1 { spread_default(order, defaults) } else { order }
    }

    /// The subjects of a launch of an arm.
    fn subjects_of(&self, arm: &Settings, wanted: Option<&BTreeSet<ArmSubject>>) -> Vec<ArmSubject> {
        let is_barred = |arm: &Settings, subject: &ArmSubject| {
            self.barred.get(arm).is_some_and(|barred| barred.contains_key(subject))
        };
        let is_open = |subject: &&ArmSubject| {
            wanted.is_none_or(|wanted| wanted.contains(subject))
                && !is_barred(arm, subject)
                && !is_barred(&self.base, subject)
        };
        self.subjects.iter().filter(is_open).cloned().collect()
    }

    /// Leaves out a subject with an arm, and all other calls of its cell: they use the same rule.
    fn bar(&mut self, arm: &Settings, subject: &ArmSubject, why: &str) {
        let is_alike =
            |other: &&ArmSubject| *other == subject || subject.cell().is_some() && other.cell() == subject.cell();
        let alike: Vec<ArmSubject> = self.subjects.iter().filter(is_alike).cloned().collect();
        let barred = self.barred.entry(arm.clone()).or_default();
        let is_new = !barred.contains_key(subject);
        barred.extend(alike.into_iter().map(|subject| (subject, why.to_owned())));
        if is_new {
            self.session.say(&format!("{subject} fails with {} and is left out: {why}", describe(arm)));
        }
    }

    /// The times of an arm in a block, with the core-to-core latencies: of the first launch that ends well, from the log or
    /// made now. An error if its jobs fail.
    fn times(
        &mut self,
        stage: Stage,
        block: u32,
        before: &mut usize,
        arm: &Settings,
        wanted: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Result<(SubjectTimes, Processors), LaunchFailure>, WorkflowError> {
        let is_kept = !stage.is_search() && stage != Stage::Tuning;
        let tries = if *arm == self.base || is_kept { TRIES } else { 1 };
        let (mut failures, mut struck) = (0, Vec::new());
        loop {
            let recorded = self.log.launches_of(stage, block, arm).nth(*before).cloned();
            // What failed before it went well, or where the base did not go well either, is no reason to give up.
            let is_past = recorded.is_some()
                && (self.has_finished(stage, block, arm) || !self.has_finished(stage, block, &self.base));
            let launch = match recorded {
                Some(launch) => launch,
                None => self.make(stage, block, arm, wanted)?,
            };
            *before += 1;
            self.spent += launch.seconds.0;
            // What is to be kept may do without some calls; settings act on all.
            let keeps = tries > 1;
            if let (Some((subject, finding)), false) = (launch.wrong.first(), keeps) {
                return Ok(Err(LaunchFailure { why: finding.clone(), subject: Some(subject.clone()) }));
            }
            for (subject, finding) in &launch.wrong {
                self.bar(arm, subject, finding);
            }
            match launch.outcome {
                Ok(times) => {
                    let times = times.into_iter().map(|timed| (timed.subject, timed.time.0)).collect();
                    return Ok(Ok((times, launch.processors)));
                }
                Err(failure) => {
                    failures += u32::from(!is_past);
                    struck.extend(failure.subject.clone());
                    if let Some(subject) = failure.subject.as_ref().filter(|_| keeps)
                        && struck.iter().filter(|other| *other == subject).count() >= STRIKES
                    {
                        self.bar(arm, subject, &failure.why);
                        failures = 0;
                    }
                    if failures >= tries || self.subjects_of(arm, wanted).is_empty() {
                        return Ok(Err(failure));
                    }
                }
            }
        }
    }

    /// Returns true if the log has a launch of an arm in a block that ended well.
    fn has_finished(&self, stage: Stage, block: u32, arm: &Settings) -> bool {
        self.log.launches_of(stage, block, arm).any(|launch| launch.outcome.is_ok())
    }

    /// Makes a launch, and records it.
    fn make(
        &mut self,
        stage: Stage,
        block: u32,
        arm: &Settings,
        wanted: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<ArmLaunch, WorkflowError> {
        let finished = self.log.launches().iter().filter(|launch| launch.outcome.is_ok());
        let longest = finished.map(|launch| launch.seconds.0.max(self.schedule.startup.0)).reduce(f64::max);
        let usual = self.backend.patience().map(|patience| *patience);
        if let (Some(patience), Some(longest)) = (self.backend.patience(), longest) {
            let enough = Duration::from_secs_f64(PATIENCE.0 * longest).max(patience.mul_f64(PATIENCE.1));
            *patience = enough.min(*patience);
        }
        let subjects = self.subjects_of(arm, wanted);
        self.session.tell(Event::ArmLaunch { stage, block, subjects: subjects.len() });
        let launch = self.run(stage, block, arm, &subjects);
        if let (Some(patience), Some(usual)) = (self.backend.patience(), usual) {
            *patience = usual;
        }
        let launch = launch?;
        self.log.append(launch.clone())?;
        Ok(launch)
    }

    /// Starts a job of an arm, and times these subjects in it.
    fn run(
        &mut self,
        stage: Stage,
        block: u32,
        arm: &Settings,
        subjects: &[ArmSubject],
    ) -> Result<ArmLaunch, RunnerError> {
        let (at, began) = (now(), Instant::now());
        let settings = self.arms.job(arm);
        let mut compared = self.arms.jobs();
        compared.push(settings.clone());
        let deployment = Deployment { way: self.way, settings, compared };
        let (plan, order) = self.plan(stage, block, arm, deployment, subjects);
        let mut loops: BTreeMap<ArmSubject, Vec<Loop>> = BTreeMap::new();
        let (mut wrong, mut resident, mut place, mut clock) = (Vec::new(), None, None, 0.0_f64);
        let mut processors = Processors::default();
        let stop = self.session.stop.clone();
        let outcome = self.backend.measure(&plan, &mut |event| {
            match &event {
                WorkerEvent::Checking { cell, candidate } => place = Some((*cell, *candidate)),
                WorkerEvent::Visiting { cell } => place = Some((*cell, 0)),
                WorkerEvent::Opened { at, .. } => clock = clock.max(*at),
                WorkerEvent::Visited { cell, candidates, rounds, seconds, at, .. } => {
                    (place, clock) = (None, clock.max(*at));
                    for (column, turn) in candidates.iter().enumerate() {
                        let calls = rounds.iter().filter_map(|round| round.get(column)).map(|times| times[0]);
                        let done = Loop { calls: calls.collect(), seconds: *seconds };
                        loops.entry(order[&(*cell, *turn)].clone()).or_default().push(done);
                    }
                }
                WorkerEvent::Disqualified { cell, candidate, why } => {
                    wrong.push((order[&(*cell, *candidate)].clone(), why.clone()));
                }
                WorkerEvent::Clock(ClockFact::Harness(harness)) => processors.core_to_core.extend(harness.core_to_core),
                WorkerEvent::Clock(ClockFact::End(end)) => {
                    processors.core_to_core.extend(end.core_to_core);
                    processors.copy = end.copy;
                    resident = end.resident;
                }
                _ => {}
            }
            if stop.load(Ordering::Relaxed) { Err(RunnerError::Interrupted) } else { Ok(()) }
        });
        let outcome = match outcome {
            Ok(()) => Ok(loops.into_iter().filter_map(|(it, loops)| summarize(it, loops, self.middle)).collect()),
            Err(error) if error.is_of_job() => {
                let subject = place.filter(|_| !error.came_from_outside()).and_then(|place| order.get(&place).cloned());
                Err(LaunchFailure { why: first_line(&error), subject })
            }
            Err(error) => return Err(error),
        };
        // A simulated job takes time only by its own clock.
        let is_simulated = self.backend.name() == SIMULATED;
        let own = self.schedule.startup.0 + clock;
        let seconds = Seconds(if is_simulated { own } else { began.elapsed().as_secs_f64() });
        Ok(ArmLaunch { stage, block, arm: arm.clone(), at, seconds, resident, processors, outcome, wrong })
    }

    /// The subjects whose data an earlier launch of an arm checked, with the shortest time of a turn of their loops.
    fn checked(&self, stage: Stage, arm: &Settings) -> BTreeMap<&ArmSubject, Seconds> {
        let mut checked: BTreeMap<&ArmSubject, Seconds> = BTreeMap::new();
        let earlier = self.log.launches().iter().filter(|launch| launch.stage == stage && launch.arm == *arm);
        let timed = earlier.filter_map(|launch| launch.outcome.as_ref().ok()).flatten();
        for SubjectTime { subject, turn, .. } in timed.filter(|timed| timed.turn.0 > 0.0) {
            let least = checked.entry(subject).or_insert(*turn);
            *least = Seconds(turn.0.min(least.0));
        }
        checked
    }

    /// The plan of a launch over these subjects, and the subject of each turn. Data is checked in the first launch of an arm;
    /// later ones check one size of each collective.
    fn plan(
        &self,
        stage: Stage,
        block: u32,
        arm: &Settings,
        deployment: Deployment,
        subjects: &[ArmSubject],
    ) -> (LaunchPlan, BTreeMap<(usize, usize), ArmSubject>) {
        let (mut cells, mut patterns): (Vec<LaunchCell>, Vec<PatternPlan>) = (Vec::new(), Vec::new());
        let mut order = BTreeMap::new();
        let checked = self.checked(stage, arm);
        for subject in subjects {
            let (Some(cell), Some(condition)) = (subject.cell(), subject.condition()) else { continue };
            order.insert((cells.len(), 0), subject.clone());
            let lateness = self.lateness.get(&cell).filter(|_| condition.is_relative());
            let lateness = lateness.map(|time| Seconds(condition.lateness_factor() * time.0));
            let planned = LaunchCell::new(cell, vec![Candidate::Builtin]);
            let round = checked.get(subject).copied();
            cells.push(LaunchCell { condition: Some(condition), lateness, round, ..planned });
        }
        for subject in subjects {
            let ArmSubject::Messages(pattern, cast) = subject else { continue };
            let known = patterns.iter().position(|planned| planned.pattern == *pattern);
            let at = known.unwrap_or_else(|| {
                patterns.push(PatternPlan { pattern: *pattern, casts: Vec::new() });
                patterns.len() - 1
            });
            order.insert((cells.len() + at, patterns[at].casts.len()), subject.clone());
            patterns[at].casts.push(cast.clone());
        }
        let plan = LaunchPlan {
            patterns,
            ranks: self.ranks,
            seed: launch_seed(self.seed, stage, block, &deployment.settings),
            launch: Launch::Arm { block },
            deployment: Some(deployment),
            placement: self.placement.clone(),
            arrivals: self.arrivals.clone(),
            ..LaunchPlan::new(cells, self.schedule, self.seed)
        };
        (plan, order)
    }
}

impl ArmLauncher for JobLauncher<'_, '_> {
    type Error = WorkflowError;

    fn block(
        &mut self,
        stage: Stage,
        number: u32,
        (base, arms): (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, WorkflowError> {
        self.base.clone_from(base);
        let order = self.order(stage, number, (base, arms));
        let known: usize = arms
            .iter()
            .chain([base])
            .map(|arm| self.log.launches_of(stage, number, arm).filter(|launch| launch.outcome.is_ok()).count())
            .sum();
        let missing = order.len().saturating_sub(known);
        let count = subjects.map_or(self.subjects.len(), BTreeSet::len);
        let needed = self.mean_seconds(stage, count) * missing as f64;
        let is_over = self.limit.is_some_and(|limit| self.spent + needed > limit);
        if missing > 0 && number >= self.least && is_over {
            return Ok(None);
        }
        let mut block = ArmBlock::default();
        let mut before: BTreeMap<Settings, usize> = BTreeMap::new();
        for arm in order {
            let known = before.entry(arm.clone()).or_default();
            match self.times(stage, number, known, &arm, subjects)? {
                Ok((times, processors)) => {
                    block.processors.entry(arm.clone()).or_default().push(processors);
                    block.push(arm, times);
                }
                Err(failure) if arm == *base => {
                    let error = WorkflowError::DefaultFails(failure.why);
                    if stage.is_search() {
                        self.session.say(&error.to_string());
                        return Ok(None);
                    }
                    return Err(error);
                }
                Err(failure) => {
                    self.session.say(&format!("{} is left out: {}", describe(&arm), failure.why));
                    block.failed.insert(arm, failure);
                }
            }
        }
        let barred = self.barred.iter().flat_map(|(arm, barred)| barred.iter().map(move |(it, why)| (arm, it, why)));
        block.barred = barred.map(|(arm, subject, why)| (arm.clone(), subject.clone(), why.clone())).collect();
        Ok(Some(block))
    }
}

/// The time of a subject from its loops: their mean. Without the slowest calls, unless means decide.
fn summarize(subject: ArmSubject, loops: Vec<Loop>, middle: Middle) -> Option<SubjectTime> {
    let loops: Vec<Loop> = loops.into_iter().filter(|it| !it.calls.is_empty()).collect();
    let turn = loops.iter().map(|it| it.seconds / it.calls.len() as f64).fold(f64::INFINITY, f64::min);
    let mut all: Vec<f64> = loops.iter().flat_map(|it| it.calls.clone()).collect();
    let usual = median(&mut all)?;
    let slow = all.iter().filter(|time| **time > SLOW * usual).count() as f64 / all.len() as f64;
    let of_loop = |Loop { mut calls, .. }: Loop| {
        calls.sort_by(f64::total_cmp);
        let left_out = if middle == Middle::Mean { 0 } else { (LEFT_OUT * calls.len() as f64).ceil() as usize };
        mean(&calls[..calls.len().saturating_sub(left_out).max(1)])
    };
    let calls = all.len() as u32;
    let time = mean(loops.into_iter().map(of_loop).collect::<Vec<_>>());
    Some(SubjectTime { subject, time: Seconds(time), calls, slow, turn: Seconds(turn) })
}

/// Returns the first line of an error, without the job's own words.
pub(crate) fn first_line(error: &RunnerError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// A seed that is different for each launch. Digests of files do not count: comments in these name the run.
fn launch_seed(seed: u64, stage: Stage, block: u32, arm: &Settings) -> u64 {
    let of_file =
        |name: &str, value: &str| if [RULES_FILE, HAN_FILE].contains(&name) { String::new() } else { value.to_owned() };
    let settings = arm.iter().map(|(name, value)| (name.clone(), of_file(name, value))).collect();
    let text = format!("{stage:?}/{block}/{}", describe(&settings));
    // The prime of FNV-1a, of 64 bits.
    text.bytes()
        .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
