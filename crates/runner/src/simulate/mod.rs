//! The backend that computes times from a cost model: no MPI, no clock, the same numbers for the same seed.
//!
//! It goes through the same engine, the same run directory and the same analysis as a real campaign, so the whole
//! pipeline can be tested with known crossovers, and tried without a cluster.

mod formulas;
mod han;
mod machine;
mod model;
mod planted;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collrules_record::cell::type_size;
use collrules_record::clock::LaunchEnd;
use collrules_record::plan::{Deployment, PatternPlan};
use collrules_record::units::{Bytes, Seconds};
use collrules_record::{Candidate, Cell, Component, HanAlgorithm, Layout, Plan, Survey};
use collrules_rules::effective::{EffectiveAlgorithm, effective};
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::{Behaviour, Choice, Collective, Loaded, Release, Version, load, registry};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use self::machine::PlayedMachine;
pub use collrules_record::options::Scenario;

#[cfg(test)]
pub(crate) use self::formulas::{BYTE_TIME, LATENCY};
use self::han::{HanPins, Hosts};
use self::model::{CostModel, normal};
use crate::backend::{Backend, Report};
use crate::engine::{self, CheckResult, Executor};
use crate::error::RunnerError;
use crate::grid::NOT_SWITCHABLE;
use crate::job_clock::JobClock;
use crate::launch::LaunchPlan;
use crate::schedule::Visit;
use crate::turns::{JobFailure, Jobs, LoopTimes, Turn};
use crate::wire::{CallEnd, RankTimes};

/// A cluster computed from formulas.
#[derive(Clone, Debug)]
pub struct Simulation {
    model: CostModel,
    release: Release,
    /// MCA settings of every launch.
    pins: BTreeMap<String, String>,
    clock: JobClock,
}

impl Simulation {
    /// A cluster with this many slots, one per host, or two if HAN is the default.
    pub fn new(scenario: Scenario, release: Release, slots: u32) -> Self {
        Self {
            model: CostModel::new(scenario, Hosts::new(scenario, release, slots, 1)),
            release,
            pins: BTreeMap::new(),
            clock: JobClock::of_model(),
        }
    }

    /// Changes the cluster to this many slots per host and this layout of communicators.
    #[must_use]
    pub fn on_nodes(mut self, each: u32, layout: Layout) -> Self {
        let slots = self.model.hosts.names().len() as u32;
        self.model.hosts = Hosts::new(self.model.scenario, self.release, slots, each);
        self.model.hosts.lay_out(layout);
        self
    }

    /// A cluster on which calls are played: this machine.
    pub fn played(scenario: Scenario, release: Release, machine: Arc<dyn PlayedMachine>) -> Result<Self, RunnerError> {
        if !matches!(scenario, Scenario::Stale | Scenario::Slowed | Scenario::Deceptive) {
            let why = "only --simulate=stale, slowed and deceptive work with a model";
            return Err(RunnerError::Unplayable(why.to_owned()));
        }
        let hosts = Hosts::from_names(machine.hosts());
        let model = CostModel::new(scenario, hosts).on(machine);
        Ok(Self { model, release, pins: BTreeMap::new(), clock: JobClock::of_model() })
    }

    /// Its release.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Checks that all calls of a launch can be played.
    fn check(&self, plan: &LaunchPlan) -> Result<(), RunnerError> {
        let Some(machine) = &self.model.machine else { return Ok(()) };
        for planned in &plan.cells {
            for candidate in planned.candidates.iter().copied() {
                let Candidate::Mockup(mockup) = candidate else {
                    self.model.machine_seconds(planned.cell, candidate).map_err(RunnerError::Unplayable)?;
                    continue;
                };
                // Calls among parts of a communicator are other ranks' than the first ones.
                if mockup.needs_nodes() || !self.model.seconds(planned.cell, candidate).is_finite() {
                    return Err(RunnerError::Unplayable(format!("the messages of {candidate} are unknown")));
                }
            }
        }
        let casts = plan.patterns.iter().flat_map(|planned| planned.casts.iter().map(|cast| (planned.pattern, cast)));
        let check =
            |(pattern, cast)| machine.pattern_seconds(pattern, cast).map(|_| ()).map_err(RunnerError::Unplayable);
        casts.into_iter().try_for_each(check)
    }

    fn executor(&self, plan: LaunchPlan) -> Result<Computed<'_>, RunnerError> {
        self.check(&plan)?;
        let deployed = plan.settings().map(|(_, settings)| settings);
        if let Some(settings) = deployed.as_ref().filter(|_| self.model.scenario == Scenario::Settings) {
            planted::start(settings)?;
        }
        let (is_deployed, deployed) = (deployed.is_some(), deployed.unwrap_or_default());
        // A file that the release rejects has no effect, as in Open MPI.
        let read = |path: &String| -> Result<_, RunnerError> {
            let path = PathBuf::from(path);
            let bytes = std::fs::read(&path).map_err(|cause| RunnerError::Rules { path, cause })?;
            Ok(load(&bytes, &self.behaviour()?).ok())
        };
        let rules = deployed.get(Deployment::FILE).map(read).transpose()?.flatten();
        let han = HanPins::read(&deployed, self.version()?)?;
        let settings = self.pins.clone().into_iter().chain(deployed).collect();
        let (model, release, common, known) = (&self.model, self.release, &self.clock, BTreeMap::new());
        Ok(Computed { model, release, plan, is_deployed, rules, han, settings, common, clock: 0.0, known })
    }

    fn behaviour(&self) -> Result<Behaviour, RunnerError> {
        Behaviour::from_version(self.version()?).map_err(RunnerError::UnknownRelease)
    }

    /// The first version of its release.
    fn version(&self) -> Result<Version, RunnerError> {
        let text = format!("{}.0", self.release);
        text.parse().map_err(|cause| RunnerError::BadLibrary { said: text, cause })
    }
}

impl Backend for Simulation {
    fn name(&self) -> &'static str {
        "simulation"
    }

    fn clock(&self) -> JobClock {
        self.clock.clone()
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        let version = self.version()?;
        let algorithms = Collective::ALL.into_iter().map(|collective| {
            let listed = registry::algorithms(self.release, collective);
            (collective, listed.map(|algorithm| (algorithm.id, algorithm.name.to_owned())).collect())
        });
        Ok(Survey {
            library: match &self.model.machine {
                None => format!("simulation of Open MPI {}", self.release),
                // Another model is another machine, with which a run is not resumed.
                Some(machine) => format!("simulation of Open MPI {} on {}", self.release, machine.name()),
            },
            version,
            hosts: self.model.hosts.names().to_vec(),
            algorithms: algorithms.collect(),
            not_switchable: BTreeSet::from(NOT_SWITCHABLE),
            preset: BTreeMap::new(),
            components: self.model.hosts.components(),
            places: Vec::new(),
            transport: None,
            eager: BTreeMap::new(),
            clock_step: Seconds(1e-9),
        })
    }

    fn launcher(&self, _plan: &Plan) -> Vec<String> {
        Vec::new()
    }

    fn parameters(&self) -> Result<Parameters, RunnerError> {
        let has_settings = self.model.scenario == Scenario::Settings;
        Ok(if has_settings { planted::parameters(self.release) } else { Parameters::default() })
    }

    fn measure(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError> {
        let (mut outcome, mut ended) = (Ok(()), None);
        let Ok(()) = engine::run(plan, &mut self.executor(plan.clone())?, &mut |event| {
            if outcome.is_ok() {
                outcome = report(event);
                ended = outcome.is_err().then(|| self.clock.now());
            }
        });
        // After an error nothing runs.
        ended.iter().for_each(|ended| self.clock.pass(ended - self.clock.now()));
        outcome
    }

    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure> {
        let mut jobs = Vec::with_capacity(plans.len());
        for (job, plan) in plans.iter().enumerate() {
            let started = self.executor(plan.clone());
            jobs.push(started.map_err(|error| JobFailure { job, subject: None, error })?);
        }
        // Jobs one after the other do not share what happens to the machine.
        let seed = plans.first().map_or(0, |plan| plan.seed);
        Ok(Box::new(SimulatedJobs { jobs, seed }))
    }

    fn probe_without(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        let with_all = [Vec::new()];
        let without = if without.is_empty() { &with_all } else { without };
        let behaviour = self.behaviour()?;
        let settings = HanPins::read(&self.pins, self.version()?)?;
        // A file that the version rejects is no rules file to it, and every call is right.
        let file = load(&std::fs::read(rules)?, &behaviour).ok();
        let outcome = |call: &Cell| {
            let bytes = call.lookup_bytes(self.release);
            let in_use = file.as_ref()?.lookup_by_size(
                call.collective,
                call.ranks,
                bytes,
                self.model.hosts.distribution(call.ranks),
            );
            let seen = collrules_rules::Call::new(call.collective, call.ranks, call.bytes)
                .with_type_size(type_size(call.collective));
            match effective(self.release, call.collective, in_use.choice, &seen).algorithm {
                EffectiveAlgorithm::Error(class) => Some(CallEnd::Refused(class.number())),
                _ => None,
            }
        };
        let ends = |call: &Cell| {
            let of_tuned = outcome(call).unwrap_or(CallEnd::Right);
            let by_han = self.model.hosts.stay_with_han(*call, &settings);
            let end = |without: &Vec<Component>| {
                // Rules do not reach it.
                if by_han && !without.contains(&Component::HAN) { CallEnd::Right } else { of_tuned }
            };
            without.iter().map(end).collect()
        };
        Ok(calls.iter().map(ends).collect())
    }

    fn lay_out(&mut self, layout: Layout) {
        self.model.hosts.lay_out(layout);
    }

    fn pins(&mut self) -> Option<&mut BTreeMap<String, String>> {
        Some(&mut self.pins)
    }
}

/// An executor that computes times, which pass on its clock.
struct Computed<'a> {
    model: &'a CostModel,
    release: Release,
    plan: LaunchPlan,
    /// True if the launch is compared with others: it has noise of its own, which calls cannot average out.
    is_deployed: bool,
    /// The active rules file.
    rules: Option<Loaded>,
    /// Settings of HAN.
    han: HanPins,
    /// All settings of the launch.
    settings: BTreeMap<String, String>,
    /// The clock of all launches.
    common: &'a JobClock,
    /// Seconds of this one.
    clock: f64,
    /// The times of subjects that were called before, since playing takes long.
    known: BTreeMap<usize, Vec<f64>>,
}

impl Computed<'_> {
    fn pass(&mut self, seconds: f64) {
        self.clock += seconds;
        self.common.pass(seconds);
    }

    /// The times of the candidates, or casts, of a subject.
    fn all_seconds(&mut self, subject: usize) -> Vec<f64> {
        if let Some(known) = self.known.get(&subject) {
            return known.clone();
        }
        let seconds = self.computed_seconds(subject);
        self.known.insert(subject, seconds.clone());
        seconds
    }

    fn computed_seconds(&self, subject: usize) -> Vec<f64> {
        let Some(planned) = self.plan.cells.get(subject) else {
            let PatternPlan { pattern, casts } = self.plan.pattern(subject);
            let factor = self.of_settings(pattern.bytes, false);
            return casts.iter().map(|cast| factor * self.model.pattern_seconds(*pattern, cast)).collect();
        };
        let seconds = |candidate: &Candidate| {
            let choice = self.choice(planned.cell).or_else(|| candidate.choice());
            let factor = self.model.factor_under((&self.plan, subject), planned.cell, choice, &self.settings);
            factor * self.seconds(planned.cell, *candidate)
        };
        planned.candidates.iter().map(seconds).collect()
    }

    /// Returns the delay that the machine's model adds to a call.
    fn planted(&self, subject: usize, candidate: usize, rng: &mut ChaCha8Rng) -> f64 {
        let Some(planned) = self.plan.cells.get(subject) else { return 0.0 };
        let Some(candidate) = planned.candidates.get(candidate).copied() else { return 0.0 };
        self.model.delay(planned.cell, candidate, &|| self.choice(planned.cell).or(candidate.choice()), rng)
    }

    /// The time of a candidate's calls without noise of single calls.
    fn seconds(&self, cell: Cell, candidate: Candidate) -> f64 {
        let seconds = match candidate {
            Candidate::Mockup(mockup) => {
                let even = self.model.hosts.even(cell.ranks);
                self.model.mockup_seconds((cell, even), mockup, &|inner| self.default_seconds(inner, None))
            }
            _ if self.is_deployed => self.default_seconds(cell, None),
            Candidate::Builtin | Candidate::Component(Component::HAN) => self.default_seconds(cell, None),
            Candidate::Han(algorithm) => self.default_seconds(cell, Some(algorithm)),
            _ => self.model.seconds(cell, candidate),
        };
        let noise = if self.is_deployed { launch_noise(self.plan.seed, cell).exp() } else { 1.0 };
        self.of_settings(cell.bytes, true) * (seconds * noise)
    }

    /// Returns the choice of the active rules file for a cell, if there is a file.
    fn choice(&self, cell: Cell) -> Option<Choice> {
        let on = self.model.hosts.distribution(cell.ranks);
        let lookup = cell.lookup_bytes(self.release);
        self.rules.as_ref().map(|file| file.lookup_by_size(cell.collective, cell.ranks, lookup, on).choice)
    }

    /// Factor of the launch's settings on a time.
    fn of_settings(&self, bytes: Bytes, is_collective: bool) -> f64 {
        match self.model.scenario {
            Scenario::Settings => planted::factor(&self.settings, bytes.0, is_collective),
            _ => 1.0,
        }
    }

    /// The time of the component that carries out a cell; HAN uses this algorithm, or that of its rules.
    fn default_seconds(&self, cell: Cell, algorithm: Option<HanAlgorithm>) -> f64 {
        let of_tuned = |cell| match self.choice(cell) {
            None => self.model.seconds(cell, Candidate::Builtin),
            Some(choice) => self.model.deployed_seconds(cell, choice),
        };
        let hosts = &self.model.hosts;
        let by_han = || hosts.seconds(cell, algorithm.or(self.han.algorithm(cell)), &of_tuned);
        let by_han = hosts.stay_with_han(cell, &self.han).then(by_han).flatten();
        by_han.unwrap_or_else(|| of_tuned(cell))
    }
}

/// The logarithm of the noise that the calls of a cell share in a launch.
fn launch_noise(seed: u64, cell: Cell) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    let shared = CostModel::LAUNCH_NOISE * normal(&mut rng);
    // Cells are identified by value, since launches may have different ones.
    let fields = [cell.collective.id().into(), cell.ranks.0.into(), cell.bytes.0];
    let number = fields.into_iter().fold(0, |hash: u64, field: u64| (hash ^ field).wrapping_mul(0x0100_0000_01b3)) >> 1;
    rng.set_stream(u64::MAX - 1 - number);
    shared + CostModel::CELL_NOISE * normal(&mut rng)
}

/// Simulated jobs that take turns: what disturbs the machine in a turn disturbs all alike.
struct SimulatedJobs<'a> {
    jobs: Vec<Computed<'a>>,
    /// Seed of what jobs share.
    seed: u64,
}

impl Jobs for SimulatedJobs<'_> {
    fn check(&mut self, job: usize, subject: usize) -> Result<Vec<(usize, String)>, RunnerError> {
        let Ok(checked) = self.jobs[job].open(subject, &mut |_| {});
        Ok(checked.failed)
    }

    fn time(&mut self, job: usize, turns: &[Turn]) -> Result<Vec<Option<LoopTimes>>, RunnerError> {
        let seed = self.seed;
        let time = |turn: &Turn| {
            let common = noise_of(seed, turn, CostModel::COMMON_NOISE, 1.0);
            let own = noise_of(self.jobs[job].plan.seed, turn, CostModel::OWN_NOISE, f64::from(turn.calls));
            let seconds = self.jobs[job].all_seconds(turn.subject)[turn.place];
            let mut rng = ChaCha8Rng::seed_from_u64(self.jobs[job].plan.seed);
            rng.set_stream(1 + ((turn.subject as u64) << 32 | u64::from(turn.number)));
            let time = seconds * (common + own).exp();
            // Without delays all calls of a turn are the same.
            let different = if self.jobs[job].model.machine.is_some() { turn.calls } else { 1 };
            let delays = (0..different).map(|_| self.jobs[job].planted(turn.subject, turn.place, &mut rng));
            let calls: Vec<f64> = delays.map(|delay| time + delay).collect();
            let all = calls.iter().sum::<f64>() * f64::from(turn.calls) / f64::from(different.max(1));
            let duration = all + f64::from(turn.warmup) * time;
            self.jobs[job].pass(duration);
            let lap = duration / f64::from(turn.calls + turn.warmup);
            LoopTimes::new(calls, lap)
        };
        Ok(turns.iter().map(time).collect())
    }

    fn end(&mut self) -> Result<Vec<LaunchEnd>, JobFailure> {
        Ok(self.jobs.iter().map(|_| LaunchEnd::default()).collect())
    }

    fn elapsed(&self) -> f64 {
        self.jobs.iter().map(|job| job.clock).sum()
    }
}

/// Noise of a turn, as the mean over so many calls with this deviation.
fn noise_of(seed: u64, turn: &Turn, deviation: f64, calls: f64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(1 << 62 | (turn.subject as u64) << 32 | (turn.place as u64) << 24 | u64::from(turn.number));
    deviation / calls.sqrt() * normal(&mut rng)
}

impl Executor for Computed<'_> {
    type Error = Infallible;

    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<CheckResult, Infallible> {
        (0..self.plan.turns(cell)).for_each(checking);
        let checks = self.all_seconds(cell);
        let round_cost = checks.iter().sum();
        self.pass(round_cost);
        Ok(CheckResult { failed: Vec::new(), checks, round_cost })
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, Infallible> {
        let all = self.all_seconds(visit.cell);
        let seconds: Vec<f64> = visit.candidates.iter().map(|place| all[*place]).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        // Noise depends on the seed, the cell and the visit alone, not on what was done before.
        rng.set_stream(1 + ((visit.cell as u64) << 32 | u64::from(visit.visit)));
        let mut rounds = Vec::with_capacity(visit.rounds as usize);
        for round in 0..visit.warmup + visit.rounds {
            // What disturbs the machine in a round disturbs all candidates alike; the rest is each call's own.
            let common = CostModel::COMMON_NOISE * normal(&mut rng);
            let timings: Vec<RankTimes> = seconds
                .iter()
                .zip(&visit.candidates)
                .map(|(seconds, place)| {
                    let noise = common + CostModel::OWN_NOISE * normal(&mut rng);
                    let slowest = seconds * noise.exp() + self.planted(visit.cell, *place, &mut rng);
                    [slowest, 0.9 * slowest, 0.95 * slowest]
                })
                .collect();
            self.pass(timings.iter().map(|timing| timing[0]).sum());
            if round >= visit.warmup {
                rounds.push(timings);
            }
        }
        Ok(rounds)
    }

    fn elapsed(&self) -> f64 {
        self.clock
    }
}
