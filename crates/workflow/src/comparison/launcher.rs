//! Blocks of launches, from the log if they are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use collrules_record::comparison::{ArmLaunch, LaunchFailure, SubjectTime};
use collrules_record::condition::ArrivalPattern;
use collrules_record::criteria::Middle;
use collrules_record::estimate::{Variance, mean, median};
use collrules_record::manifest::{SIMULATED, now};
use collrules_record::plan::{DeployWay, Deployment, PatternPlan, Schedule};
use collrules_record::rundir::ComparisonLog;
use collrules_record::settings::{MemoryUse, describe};
use collrules_record::{ArmSubject, Candidate, Cell, Launch, Placement, Ranks, Seconds, Settings, Stage};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_runner::backend::{silence_within, with_patience};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::turns::{JobFailure, LoopTimes, TurnSchedule, TurnSubject, TurnsTaken, take_turns};
use collrules_runner::{Backend, RunnerError};
use collrules_tuner::comparison::{ArmBlock, ArmLauncher, has_control};

use super::arms::{Arms, TURN, calls_of_turn, count_passes, expected_seconds};
use crate::error::WorkflowError;
use crate::session::{Event, Session};

/// Multiple of the longest finished launch after which a silent job is ended, but not before this part of the time that
/// users allow.
const PATIENCE: (f64, f64) = (10.0, 0.125);

/// Failures in a row after which jobs of an arm are given up, if it is to be kept.
const TRIES: u32 = 3;

/// Failures of one subject with an arm, after which it is no longer called with this arm.
const STRIKES: usize = 2;

/// Failures of jobs next to others that work alone, after which jobs no longer live at the same time.
const BESIDE: u32 = 2;

/// Share of a processor that a rank may use while its job sleeps: more disturbs the job whose turn it is.
const MOST_ASLEEP: f64 = 0.1;

/// What the jobs of arms have in common: subjects, schedule, and time limit.
#[derive(Clone, Default)]
pub(crate) struct ArmJobs {
    pub(crate) arms: Arms,
    pub(crate) way: DeployWay,
    /// Everything that launches may time.
    pub(crate) subjects: Vec<ArmSubject>,
    /// Times of calls with the default, as far as they are known: blocks are planned by them, and they are the lateness of ranks
    /// under conditions that leave it open.
    pub(crate) call_times: BTreeMap<Cell, Seconds>,
    pub(crate) arrivals: Vec<ArrivalPattern>,
    pub(crate) ranks: Ranks,
    pub(crate) placement: Placement,
    /// Schedule of a launch. Its budget is the time of a launch after its start.
    pub(crate) schedule: Schedule,
    pub(crate) middle: Middle,
    pub(crate) seed: u64,
    /// Time for all launches; none if unlimited.
    pub(crate) limit: Option<Seconds>,
    /// Blocks that are made in any case: fewer say nothing.
    pub(crate) least: u32,
    /// When an earlier step ended whose launches are in the log: they took time of that step.
    pub(crate) ended: Option<String>,
}

/// Launches of arms: backend, log, and what happened so far.
pub(crate) struct JobLauncher<'a, 's> {
    pub(crate) backend: &'a mut dyn Backend,
    pub(crate) session: &'a mut Session<'s>,
    pub(crate) log: &'a mut ComparisonLog,
    pub(crate) jobs: ArmJobs,
    /// Seconds that launches took, also those in the log since an earlier step ended.
    pub(crate) spent: f64,
    /// Arms whose jobs cannot live next to others, and why; the base stands for all.
    apart: BTreeMap<Settings, String>,
    /// The arm with which others are compared.
    base: Settings,
    /// Subjects that are no longer called with an arm.
    barred: BTreeMap<Settings, BTreeMap<ArmSubject, String>>,
    /// Calls of a turn, the same in all jobs.
    calls: BTreeMap<ArmSubject, u32>,
    /// Number of failures of jobs next to others that worked alone.
    beside: u32,
}

/// Failures of arms in a block.
#[derive(Default)]
struct BlockFailures {
    /// Failures in a row.
    in_a_row: BTreeMap<Settings, u32>,
    /// Subjects that jobs were calling when they failed.
    struck: Vec<(Settings, ArmSubject)>,
    /// Arms that are given up.
    failed: BTreeMap<Settings, LaunchFailure>,
}

impl<'a, 's> JobLauncher<'a, 's> {
    /// No launches so far.
    pub(crate) fn new(
        jobs: ArmJobs,
        backend: &'a mut dyn Backend,
        log: &'a mut ComparisonLog,
        session: &'a mut Session<'s>,
    ) -> Self {
        let (apart, base, barred, calls) = Default::default();
        Self { backend, session, log, jobs, spent: 0.0, apart, base, barred, calls, beside: 0 }
    }

    /// Sets the time for all launches from now on.
    pub(crate) fn limit_to(&mut self, limit: Option<Seconds>) {
        (self.jobs.limit, self.spent) = (limit, 0.0);
    }

    /// Memory of a rank with an arm and by default, over the launches of a stage.
    pub(crate) fn memory(&self, stage: Stage, arm: &Settings) -> Option<MemoryUse> {
        let of = |arm: &Settings| {
            let launches = self.log.launches().iter().filter(|it| it.stage == stage && it.arm == *arm);
            median(&mut launches.filter_map(|it| Some(it.resident? as f64)).collect::<Vec<_>>())
        };
        Some(MemoryUse {
            default: of(&Settings::new())?,
            settings: of(arm)?,
            peers: self.jobs.ranks.0.saturating_sub(1),
        })
    }

    /// Expected measuring time of a launch with these subjects, in seconds.
    pub(crate) fn expect_measuring(&self, subjects: &[ArmSubject]) -> f64 {
        let is_first = |subject: &ArmSubject| !self.calls.contains_key(subject);
        expected_seconds(self.jobs.schedule.startup, subjects, &self.jobs.call_times, is_first)
    }

    /// The mean time of a launch in the last block of a stage, without those that failed: a job that hangs is not planned
    /// again. The planned time if some subjects were not timed so far.
    fn mean_seconds(&self, stage: Stage, subjects: &[ArmSubject]) -> f64 {
        let is_own = |launch: &&ArmLaunch| launch.stage == stage && launch.outcome.is_ok();
        let last = self.log.launches().iter().rfind(is_own);
        let is_known = |subject: &ArmSubject| self.calls.contains_key(subject);
        let Some(last) = last.filter(|_| subjects.iter().all(is_known)) else {
            let (Schedule { startup, budget, .. }, measuring) = (self.jobs.schedule, self.expect_measuring(subjects));
            return startup.0 + budget.map_or(measuring, |budget| budget.0.min(measuring));
        };
        let of_block = self.log.launches().iter().rev().filter(is_own).take_while(|it| it.block == last.block);
        mean(of_block.map(|launch| launch.seconds.0))
    }

    /// Returns true if a subject is no longer called with an arm.
    fn is_barred(&self, arm: &Settings, subject: &ArmSubject) -> bool {
        self.barred.get(arm).is_some_and(|barred| barred.contains_key(subject))
    }

    /// The subjects of a block that are called with the base.
    fn wanted(&self, subjects: Option<&BTreeSet<ArmSubject>>) -> Vec<ArmSubject> {
        let is_open = |subject: &&ArmSubject| {
            subjects.is_none_or(|wanted| wanted.contains(subject)) && !self.is_barred(&self.base, subject)
        };
        self.jobs.subjects.iter().filter(is_open).cloned().collect()
    }

    /// Leaves out a subject with an arm, and all other calls of its cell: they use the same rule.
    fn bar(&mut self, arm: &Settings, subject: &ArmSubject, why: &str) {
        let is_alike =
            |other: &&ArmSubject| *other == subject || subject.cell().is_some() && other.cell() == subject.cell();
        let alike: Vec<ArmSubject> = self.jobs.subjects.iter().filter(is_alike).cloned().collect();
        let barred = self.barred.entry(arm.clone()).or_default();
        let is_new = !barred.contains_key(subject);
        barred.extend(alike.into_iter().map(|subject| (subject, why.to_owned())));
        if is_new {
            self.session.say(&format!("{subject} fails with {} and is left out: {why}", describe(arm)));
        }
    }

    /// Failures in a row after which jobs of an arm are given up. Rules may lose single calls; settings have to work for all.
    fn tries(&self, stage: Stage, arm: &Settings) -> u32 {
        let is_kept = !stage.is_search() && stage != Stage::Tuning;
        if *arm == self.base || is_kept { TRIES } else { 1 }
    }

    /// Draws the consequences of a launch that failed, or had wrong data.
    fn note(&mut self, launch: &ArmLaunch, failures: &mut BlockFailures) {
        let (arm, tries) = (&launch.arm, self.tries(launch.stage, &launch.arm));
        if let (Some((subject, finding)), true) = (launch.wrong.first(), tries == 1) {
            let failure = LaunchFailure { why: finding.clone(), subject: Some(subject.clone()) };
            failures.failed.insert(arm.clone(), failure);
            return;
        }
        for (subject, finding) in &launch.wrong {
            self.bar(arm, subject, finding);
        }
        let Err(failure) = &launch.outcome else {
            failures.in_a_row.remove(arm);
            return;
        };
        let in_a_row = failures.in_a_row.entry(arm.clone()).or_default();
        *in_a_row += 1;
        if let Some(subject) = failure.subject.as_ref().filter(|_| tries > 1) {
            let struck = (arm.clone(), subject.clone());
            failures.struck.push(struck.clone());
            if failures.struck.iter().filter(|other| **other == struck).count() >= STRIKES {
                *in_a_row = 0;
                self.bar(arm, subject, &failure.why);
            }
        }
        let is_left = self.jobs.subjects.iter().any(|subject| !self.is_barred(arm, subject));
        if failures.in_a_row[arm] >= tries || !is_left {
            failures.failed.insert(arm.clone(), failure.clone());
        }
    }

    /// The launches of a block in the log, of those jobs that did not fail; none if one is missing. Failures count as if they
    /// occurred now, unless the arm succeeded as well.
    fn recorded(
        &mut self,
        (stage, number): (Stage, u32),
        jobs: &[Settings],
        subjects: Option<&BTreeSet<ArmSubject>>,
        failures: &mut BlockFailures,
    ) -> Option<Vec<ArmLaunch>> {
        let own = |launch: &&ArmLaunch| (launch.stage, launch.block) == (stage, number);
        let launches: Vec<ArmLaunch> = self.log.launches().iter().filter(own).cloned().collect();
        let timed = launches.iter().flat_map(|launch| launch.outcome.iter().flatten().map(|timed| &timed.subject));
        let timed: BTreeSet<_> =
            timed.chain(launches.iter().flat_map(|it| it.wrong.iter().map(|(it, _)| it))).collect();
        if !timed.is_empty() && !self.wanted(subjects).iter().all(|subject| timed.contains(subject)) {
            // With another budget other sizes come first.
            return None;
        }
        for launch in &launches {
            if self.jobs.ended.as_ref().is_none_or(|ended| launch.at > *ended) {
                self.spent += launch.seconds.0;
            }
            self.note(launch, failures);
            let timed = launch.outcome.iter().flatten().map(|timed| (timed.subject.clone(), timed.calls));
            self.calls.extend(timed);
        }
        let is_right = |launch: &ArmLaunch| launch.outcome.is_ok() && launch.wrong.is_empty();
        let succeeds = |arm: &Settings| launches.iter().any(|launch| launch.arm == *arm && is_right(launch));
        failures.failed.retain(|arm, _| !succeeds(arm));
        let at = &launches.iter().rfind(|launch| launch.outcome.is_ok())?.at;
        let block: Vec<ArmLaunch> =
            launches.iter().filter(|launch| launch.at == *at && launch.outcome.is_ok()).cloned().collect();
        let count = |arm: &Settings| block.iter().filter(|launch| launch.arm == *arm).count();
        let is_whole = |arm: &Settings| {
            failures.failed.contains_key(arm) || count(arm) >= jobs.iter().filter(|job| *job == arm).count()
        };
        jobs.iter().all(is_whole).then_some(block)
    }

    /// Makes the launches of a block: side by side if they can, again without those that fail. None if failures took all of
    /// the time.
    fn make(
        &mut self,
        (stage, number): (Stage, u32),
        jobs: &[Settings],
        subjects: Option<&BTreeSet<ArmSubject>>,
        failures: &mut BlockFailures,
    ) -> Result<Option<Vec<ArmLaunch>>, WorkflowError> {
        let mut why: Option<String> = None;
        loop {
            let open: Vec<Settings> = jobs.iter().filter(|arm| !failures.failed.contains_key(*arm)).cloned().collect();
            if failures.failed.contains_key(&self.base) || self.wanted(subjects).is_empty() {
                return Ok(Some(Vec::new()));
            }
            if let Some(why) = why.take().filter(|_| self.left() == Some(0.0)) {
                self.session.say(&format!("no time to compare again what failed: {why}"));
                return Ok(None);
            }
            let apart = [&self.base].into_iter().chain(&open).find_map(|arm| self.apart.get(arm)).cloned();
            let made = match &apart {
                None => self.launch((stage, number), (&open, None), subjects)?,
                Some(why) => self.launch_apart((stage, number), (&open, why), subjects)?,
            };
            let failed = match made {
                Ok(launches) => match self.find_restless(&launches) {
                    Some((arm, why)) => {
                        self.separate(arm, why);
                        continue;
                    }
                    None => return self.record(launches, failures).map(Some),
                },
                Err(failed) => failed,
            };
            self.spent += failed.seconds.0;
            why = failed.outcome.as_ref().err().map(|failure| failure.why.clone());
            // Is the arm the cause, or the others that live at the same time?
            if open.len() > 1 && apart.is_none() && self.left() != Some(0.0) {
                let alone = (std::slice::from_ref(&failed.arm), "a job next to others failed");
                match self.launch_apart((stage, number), alone, subjects)? {
                    Ok(_) => {
                        self.beside += 1;
                        if self.beside >= BESIDE {
                            let why = failed.outcome.as_ref().err().map_or("", |failure| &failure.why);
                            self.separate(self.base.clone(), format!("jobs fail next to others ({why})"));
                        }
                    }
                    Err(again) => {
                        self.spent += again.seconds.0;
                        self.give_up(*failed, failures)?;
                        self.give_up(*again, failures)?;
                    }
                }
                continue;
            }
            self.give_up(*failed, failures)?;
        }
    }

    /// Seconds that are left for launches; none if unlimited.
    fn left(&self) -> Option<f64> {
        self.jobs.limit.map(|limit| (limit.0 - self.spent).max(0.0))
    }

    /// Records a launch that failed, with its consequences.
    fn give_up(&mut self, failed: ArmLaunch, failures: &mut BlockFailures) -> Result<(), WorkflowError> {
        self.note(&failed, failures);
        Ok(self.log.append(failed)?)
    }

    /// Records the launches of a block.
    fn record(
        &mut self,
        mut launches: Vec<ArmLaunch>,
        failures: &mut BlockFailures,
    ) -> Result<Vec<ArmLaunch>, WorkflowError> {
        let at = launches.first().map_or_else(String::new, |launch| launch.at.clone());
        for launch in &mut launches {
            launch.at.clone_from(&at);
            self.spent += launch.seconds.0;
            self.note(launch, failures);
            self.log.append(launch.clone())?;
        }
        Ok(launches)
    }

    /// The arm of a job that uses a processor while it sleeps.
    fn find_restless(&self, launches: &[ArmLaunch]) -> Option<(Settings, String)> {
        let is_restless = |launch: &&ArmLaunch| launch.apart.is_none() && launch.asleep > Some(MOST_ASLEEP);
        let launch = launches.iter().find(is_restless)?;
        let share = 100.0 * launch.asleep.unwrap_or_default();
        Some((launch.arm.clone(), format!("a rank of its jobs uses {share:.0} % of a processor while they sleep")))
    }

    /// Lets jobs of an arm run one after the other from now on; those of all arms if it is the base.
    fn separate(&mut self, arm: Settings, why: String) {
        self.session.say(&format!("comparing {} one after the other, not side by side: {why}", describe(&arm)));
        self.apart.insert(arm, why);
    }

    /// The longest silence of the jobs of a block: a multiple of the longest launch so far, and the time that is left.
    fn patience(&mut self) -> Option<Duration> {
        let finished = self.log.launches().iter().filter(|launch| launch.outcome.is_ok());
        let longest = finished.map(|launch| launch.seconds.0.max(self.jobs.schedule.startup.0)).reduce(f64::max);
        let least = PATIENCE.1 * self.backend.patience()?.as_secs_f64();
        let enough = longest.map(|longest| Duration::from_secs_f64((PATIENCE.0 * longest).max(least)));
        let left = self.left().map(|left| silence_within(left, self.jobs.schedule.startup));
        enough.into_iter().chain(left).min()
    }

    /// Schedule of the turns of a block with this number of jobs.
    fn turn_schedule(&self, (stage, block): (Stage, u32), jobs: usize, subjects: usize) -> TurnSchedule {
        let Schedule { startup, budget, rounds_per_visit, max_rounds, .. } = self.jobs.schedule;
        TurnSchedule {
            turn: TURN,
            calls: (rounds_per_visit, max_rounds),
            passes: count_passes(startup, subjects),
            limit: budget.map(|budget| Seconds((budget.0 + startup.0) * jobs as f64)),
            seed: launch_seed(self.jobs.seed, stage, block, &Settings::new()),
        }
    }

    /// Launches jobs one after the other, for a reason, up to the first that fails.
    fn launch_apart(
        &mut self,
        block: (Stage, u32),
        (jobs, why): (&[Settings], &str),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<BlockLaunches, WorkflowError> {
        let mut all = Vec::new();
        for job in jobs {
            match self.launch(block, (std::slice::from_ref(job), Some(why)), subjects)? {
                Ok(launches) => all.extend(launches),
                failed => return Ok(failed),
            }
        }
        Ok(Ok(all))
    }

    /// Launches jobs that live at the same time.
    fn launch(
        &mut self,
        (stage, block): (Stage, u32),
        (jobs, apart): (&[Settings], Option<&str>),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<BlockLaunches, WorkflowError> {
        let (at, clock, wanted) = (now(), self.backend.clock(), self.wanted(subjects));
        let began = clock.now();
        let (plans, order) = self.plan((stage, block), jobs, &wanted);
        let known: Vec<BTreeSet<&ArmSubject>> = jobs.iter().map(|arm| self.list_timed(stage, arm)).collect();
        let turns: Vec<TurnSubject> = order.iter().map(|it| self.turn_subject(&known, jobs, it)).collect();
        drop(known);
        let patience = self.patience();
        self.session.tell(Event::ArmBlock { stage, block, jobs: jobs.len(), subjects: wanted.len() });
        let schedule = self.turn_schedule((stage, block), jobs.len(), wanted.len());
        let outcome = with_patience(self.backend, patience, |backend| {
            let mut started = backend.start_jobs(&plans)?;
            take_turns(started.as_mut(), jobs.len(), &turns, &schedule, &self.session.stop)
        });
        // A simulated job takes time only by its own clock, on which starts take none.
        let simulated =
            if self.backend.name() == SIMULATED { self.jobs.schedule.startup.0 * jobs.len() as f64 } else { 0.0 };
        let seconds = simulated + clock.now() - began;
        let empty = |arm: &Settings, seconds: f64| ArmLaunch {
            stage,
            block,
            arm: arm.clone(),
            at: at.clone(),
            seconds: Seconds(seconds),
            apart: apart.map(str::to_owned),
            resident: None,
            asleep: None,
            outcome: Ok(Vec::new()),
            wrong: Vec::new(),
        };
        let taken = match outcome {
            Ok(taken) => taken,
            Err(JobFailure { job, subject, error }) if error.is_of_job() => {
                let subject = subject.filter(|_| !error.came_from_outside()).map(|subject| order[subject].0.clone());
                let failure = LaunchFailure { why: first_line(&error), subject };
                return Ok(Err(Box::new(ArmLaunch { outcome: Err(failure), ..empty(&jobs[job], seconds) })));
            }
            Err(JobFailure { error, .. }) => return Err(error.into()),
        };
        let each = seconds / jobs.len() as f64;
        self.calls.extend(taken.calls.iter().map(|(subject, calls)| (order[*subject].0.clone(), *calls)));
        let launches = jobs.iter().enumerate().map(|(job, arm)| ArmLaunch {
            resident: taken.ends.get(job).and_then(|end| end.resident),
            asleep: taken.ends.get(job).and_then(|end| end.asleep),
            outcome: Ok(self.summarize(&taken, job, &order)),
            wrong: taken
                .wrong
                .iter()
                .filter(|(of, ..)| *of == job)
                .map(|(_, subject, finding)| (order[*subject].0.clone(), finding.clone()))
                .collect(),
            ..empty(arm, each)
        });
        Ok(Ok(launches.collect()))
    }

    /// The times of a job's subjects: medians over its turns.
    fn summarize(&self, taken: &TurnsTaken, job: usize, order: &[SubjectPlace]) -> Vec<SubjectTime> {
        let value = |times: &LoopTimes| if self.jobs.middle == Middle::Mean { times.mean } else { times.usual };
        let time = |(subject, turns): (&usize, &Vec<LoopTimes>)| {
            let mut times: Vec<f64> = turns.iter().map(value).collect();
            // Over the base in the same pass, as far as there is one.
            let base = taken.times[0].get(subject).filter(|_| job > 0).into_iter().flatten().map(|it| it.usual.ln());
            let base = base.chain(std::iter::repeat(0.0));
            let logs: Vec<f64> = times.iter().zip(base).map(|(time, base)| time.ln() - base).collect();
            Some(SubjectTime {
                subject: order[*subject].0.clone(),
                turns: turns.len() as u32,
                calls: taken.calls[subject],
                deviation: Variance::from_values(logs).value.sqrt(),
                time: Seconds(if self.jobs.middle == Middle::Mean { mean(times) } else { median(&mut times)? }),
            })
        };
        taken.times[job].iter().filter_map(time).collect()
    }

    /// The subjects that launches of an arm timed.
    fn list_timed(&self, stage: Stage, arm: &Settings) -> BTreeSet<&ArmSubject> {
        let earlier = self.log.launches().iter().filter(|launch| launch.stage == stage && launch.arm == *arm);
        earlier.flat_map(|launch| launch.outcome.iter().flatten().map(|timed| &timed.subject)).collect()
    }

    /// What turns need to know of a subject: data is checked in the first launch of an arm, later in one size of each
    /// collective.
    fn turn_subject(
        &self,
        known: &[BTreeSet<&ArmSubject>],
        jobs: &[Settings],
        (subject, index, place, is_least): &SubjectPlace,
    ) -> TurnSubject {
        let left_out = jobs.iter().enumerate().filter(|(_, arm)| self.is_barred(arm, subject)).map(|(job, _)| job);
        TurnSubject {
            subject: *index,
            place: *place,
            is_checked: *is_least || !known.iter().all(|known| known.contains(subject)),
            calls: self.calls.get(subject).copied().or_else(|| {
                let calls = calls_of_turn(*self.jobs.call_times.get(&subject.cell()?)?);
                calls.filter(|calls| *calls >= self.jobs.schedule.rounds_per_visit)
            }),
            left_out: left_out.collect(),
        }
    }

    /// The plans of jobs over these subjects, and the place of each subject in them.
    fn plan(
        &self,
        (stage, block): (Stage, u32),
        jobs: &[Settings],
        subjects: &[ArmSubject],
    ) -> (Vec<LaunchPlan>, Vec<SubjectPlace>) {
        let (mut cells, mut patterns): (Vec<LaunchCell>, Vec<PatternPlan>) = (Vec::new(), Vec::new());
        let mut order: Vec<SubjectPlace> = Vec::new();
        let mut known = BTreeSet::new();
        for subject in subjects {
            let (Some(cell), Some(condition)) = (subject.cell(), subject.condition()) else { continue };
            order.push((subject.clone(), cells.len(), 0, known.insert((cell.collective, cell.ranks, condition))));
            let lateness = self.jobs.call_times.get(&cell).filter(|_| condition.is_relative());
            let lateness = lateness.map(|time| Seconds(condition.lateness_factor() * time.0));
            let planned = LaunchCell::new(cell, vec![Candidate::Builtin]);
            cells.push(LaunchCell { condition: Some(condition), lateness, ..planned });
        }
        for subject in subjects {
            let ArmSubject::Messages(pattern, cast) = subject else { continue };
            let known = patterns.iter().position(|planned| planned.pattern == *pattern);
            let at = known.unwrap_or_else(|| {
                patterns.push(PatternPlan { pattern: *pattern, casts: Vec::new() });
                patterns.len() - 1
            });
            order.push((subject.clone(), cells.len() + at, patterns[at].casts.len(), false));
            patterns[at].casts.push(cast.clone());
        }
        let plan = |arm: &Settings| {
            let settings = self.jobs.arms.job(arm);
            let mut compared = self.jobs.arms.settings_of_jobs();
            compared.push(settings.clone());
            LaunchPlan {
                patterns: patterns.clone(),
                ranks: self.jobs.ranks,
                seed: launch_seed(self.jobs.seed, stage, block, &settings),
                launch: Launch::Arm { block },
                deployment: Some(Deployment { way: self.jobs.way, settings, compared }),
                placement: Placement { running: Vec::new(), ..self.jobs.placement.clone() },
                arrivals: self.jobs.arrivals.clone(),
                ..LaunchPlan::new(cells.clone(), self.jobs.schedule, self.jobs.seed)
            }
        };
        let mut plans: Vec<LaunchPlan> = jobs.iter().map(plan).collect();
        // The control is another job, with a seed of its own.
        if let [first, second, ..] = &mut plans[..]
            && first.seed == second.seed
        {
            second.seed ^= 1;
        }
        (plans, order)
    }
}

/// The launches of jobs, or the one that failed.
type BlockLaunches = Result<Vec<ArmLaunch>, Box<ArmLaunch>>;

/// A subject with its index in a plan, its place there, and true for the first size of its collective.
type SubjectPlace = (ArmSubject, usize, usize, bool);

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
        // The base, its control if the block has one, and the others.
        let bases = 1 + usize::from(has_control(stage, number));
        let jobs: Vec<Settings> = std::iter::repeat_n(base, bases).chain(arms).cloned().collect();
        let mut failures = BlockFailures::default();
        let launches = match self.recorded((stage, number), &jobs, subjects, &mut failures) {
            Some(launches) => launches,
            None => {
                let needed = self.mean_seconds(stage, &self.wanted(subjects)) * jobs.len() as f64;
                let is_over = self.jobs.limit.is_some_and(|limit| self.spent + needed > limit.0);
                if self.session.stop.load(Ordering::Relaxed) {
                    return Err(RunnerError::Interrupted.into());
                }
                if number >= self.jobs.least && is_over {
                    return Ok(None);
                }
                // A default that failed in an earlier session is tried again.
                failures.failed.remove(base);
                failures.in_a_row.remove(base);
                let made = self.make((stage, number), &jobs, subjects, &mut failures)?;
                let Some(made) = made else { return Ok(None) };
                made
            }
        };
        if let Some(failure) = failures.failed.get(base) {
            let error = WorkflowError::DefaultFails(failure.why.clone());
            if stage.is_search() {
                self.session.say(&error.to_string());
                return Ok(None);
            }
            return Err(error);
        }
        let apart = launches.iter().find_map(|launch| launch.apart.clone());
        let mut block = ArmBlock { apart, failed: failures.failed, ..ArmBlock::default() };
        for (arm, failure) in &block.failed {
            self.session.say(&format!("{} is left out: {}", describe(arm), failure.why));
        }
        for launch in launches.into_iter().filter(|launch| !block.failed.contains_key(&launch.arm)) {
            let times = launch.outcome.into_iter().flatten().map(|timed| (timed.subject, timed.time.0));
            block.launches.entry(launch.arm).or_default().push(times.collect());
        }
        let barred = self.barred.iter().flat_map(|(arm, barred)| barred.iter().map(move |(it, why)| (arm, it, why)));
        block.barred = barred.map(|(arm, subject, why)| (arm.clone(), subject.clone(), why.clone())).collect();
        Ok(Some(block))
    }
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
