//! A comparison: pairs of launches over all cells, then more pairs of undecided ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use collrules_record::condition::{Arrival, ArrivalPattern, find_pattern};
use collrules_record::manifest::Manifest;
use collrules_record::options::{Request, Validating};
use collrules_record::plan::{DeployedLaunches, Deployment, Schedule};
use collrules_record::rundir::{self, RunDir};
use collrules_record::validation::{FORMAT, Round, ValidationCriteria};
use collrules_record::{Cell, Plan, Ranks, Seconds, Survey, Validation};
use collrules_report::progress;
use collrules_rules::Collective;
use collrules_rules::deploy::quoted;
use collrules_runner::Backend;
use collrules_runner::validation::{Spending, pairs_before, plan, spending};
use collrules_tuner::Observations;
use collrules_tuner::repair::join_rounds;
use collrules_tuner::validation::{compare, undecided};

use super::subject::ValidationSubject;
use crate::campaign::{self, Campaign};
use crate::error::WorkflowError;
use crate::evidence::RulesEvidence;
use crate::plan::{refuse_impossible_calls, refuse_missing_arrivals};
use crate::session::{Event, Session};

/// Multiple of its share of the time after which a launch begins no visits, not even first ones.
const LIMIT: f64 = 3.0;

/// Time for a repair with its proof, in starts of jobs; HAN's file needs more than others.
pub(super) const REPAIR: f64 = 6.0;

/// Backend, options and time for comparisons.
pub(super) struct Bench<'a> {
    pub(super) backend: &'a mut dyn Backend,
    pub(super) survey: &'a Survey,
    pub(super) options: &'a Validating,
    /// Arrivals of ranks in programs, in which rules are compared as well.
    pub(super) arrivals: Vec<ArrivalPattern>,
    /// Schedule without a budget, which follows from `spending`.
    pub(super) schedule: Schedule,
    pub(super) spending: Spending,
    /// Deadline of all comparisons together.
    pub(super) deadline: Option<Instant>,
    /// Time after the deadline for conditions under which a loss has to be excluded.
    pub(super) overtime: Duration,
    /// Time reserved for comparisons under other conditions.
    pub(super) reserved: Duration,
    /// Times of the default in comparisons so far.
    pub(super) default_times: BTreeMap<Cell, Seconds>,
    /// The longest time in which a launch visited every cell once, including its start.
    pub(super) pass: Duration,
    /// Time for a repair with its proof, if known.
    pub(super) repair: Duration,
    pub(super) criteria: ValidationCriteria,
    /// Number of further comparisons of undecided cells.
    pub(super) further_looks: u32,
    pub(super) command: Vec<String>,
    pub(super) layouts: OtherLayouts,
}

/// The other layouts of a run, which share its rules.
#[derive(Default)]
pub(super) struct OtherLayouts {
    /// Results of the compared ones.
    pub(super) compared: Vec<Round>,
    /// Collectives and communicator sizes of those without a comparison so far.
    pub(super) awaited: BTreeSet<(Collective, Ranks)>,
}

impl OtherLayouts {
    /// The layouts of a run other than the one compared in `home`.
    pub(super) fn read(run: &RunDir, home: &RunDir) -> Result<Self, WorkflowError> {
        let mut others = Self::default();
        let all = std::iter::once(run.clone()).chain(run.layouts()?);
        for other in all.filter(|other| other.path() != home.path()) {
            match RulesEvidence::read(&other)?.validation {
                Some(validation) => others.compared.extend(join_rounds(&validation.rounds, validation.criteria)),
                None => {
                    let cells = other.manifest()?.plan.cells;
                    others.awaited.extend(cells.iter().map(|planned| (planned.cell.collective, planned.cell.ranks)));
                }
            }
        }
        Ok(others)
    }
}

impl Bench<'_> {
    /// Compares the present file. The samples go to a separate directory below `home`; an incomplete comparison of an
    /// identical file is resumed.
    pub(super) fn compare(
        &mut self,
        home: &RunDir,
        subject: &ValidationSubject,
        session: &mut Session<'_>,
    ) -> Result<Round, WorkflowError> {
        let (mut campaign, begun) = self.begin(home, subject, session)?;
        campaign.until = self.until();
        session.tell(Event::Comparing { run: campaign.run.path(), plan: &begun });
        let (until, startup) = (campaign.until, self.schedule.startup);
        let Self { backend, criteria, spending, pass, further_looks, .. } = self;
        let run = campaign.run.clone();
        let mut measure = || {
            campaign.measure(&begun, *backend, session)?;
            *pass = campaign.pass;
            campaign.further(*backend, session, |run, look, session| {
                if look > *further_looks {
                    return Ok(None);
                }
                let cells = undecided(&look_at(run, *criteria, subject)?);
                let each = spending.of_further(cells.len(), begun.cells.len()).map_or(0.0, |each| each.0) + startup.0;
                let wanted = pairs_before(look, begun.launches) - pairs_before(look - 1, begun.launches);
                let pairs = left(until).map_or(wanted, |left| wanted.min((left.0 / (2.0 * each).max(1e-9)) as u32));
                if cells.is_empty() || pairs == 0 {
                    return Ok(None);
                }
                session.say(&progress::validation::more_pairs(pairs as usize, cells.len()));
                Ok(Some(further(&begun, &cells, (look, pairs), *spending)))
            })
        };
        measure().map_err(|error| self.interrupted(error, &run, subject))?;
        let mut round = look_at(&run, self.criteria, subject)?;
        self.default_times.extend(round.cells.iter().map(|cell| (cell.cell, Seconds(cell.without.point))));
        round.samples = run.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        round.unreached = begun.cells.len().saturating_sub(round.cells.len() + round.failed.len());
        // A validation in it marks it as complete.
        run.write_validation(&self.validation(subject, vec![round.clone()]))?;
        Ok(round)
    }

    /// Returns the validation with these rounds, before any range is reverted.
    pub(super) fn validation(&self, subject: &ValidationSubject, rounds: Vec<Round>) -> Validation {
        Validation {
            format: FORMAT,
            rules: subject.name(),
            version: subject.version,
            settings: subject.tuning.settings().by_name(),
            digests: subject.tuning.digests(),
            criteria: self.criteria,
            rounds,
            reverted: Vec::new(),
            not_again: None,
            checks: Vec::new(),
        }
    }

    /// Deadline of a comparison, with time left to prove a repair.
    pub(super) fn until(&self) -> Option<Instant> {
        let repair = if self.options.repair { self.repair } else { Duration::ZERO };
        self.deadline.map(|deadline| deadline.checked_sub(repair + self.reserved).unwrap_or(deadline))
    }

    /// Divides the rest of the time again. False if it is too short for two pairs with one visit to each cell.
    pub(super) fn share_the_rest(&mut self) -> bool {
        let Some(left) = left(self.until()) else { return true };
        let startup = self.schedule.startup;
        self.spending = spending(Some(left), startup, self.spending.pairs).unwrap_or(Spending::LEAST);
        left.0 >= self.pass.as_secs_f64() * f64::from(2 * Spending::LEAST.pairs)
    }

    /// The directory of a comparison, new or resumed.
    fn begin(
        &self,
        home: &RunDir,
        subject: &ValidationSubject,
        session: &mut Session<'_>,
    ) -> Result<(Campaign, Plan), WorkflowError> {
        let plan = self.plan(subject)?;
        refuse_impossible_calls(&plan)?;
        let mut number = 0;
        loop {
            number += 1;
            let path = home.file(&rundir::comparison(number));
            if !path.exists() {
                let request = Request::Validate(Box::new(self.options.clone()));
                let manifest = campaign::manifest(
                    request,
                    self.backend,
                    self.survey,
                    &plan,
                    &subject.tuning.further(),
                    self.command.clone(),
                );
                let run = RunDir::create(path, &manifest)?;
                subject.tuning.files().try_for_each(|(name, _, text)| run.write_bytes(name, text).map(drop))?;
                return Ok((Campaign::new(run)?, plan));
            }
            let Ok(run) = RunDir::open(path) else { continue };
            if run.file(rundir::VALIDATION).exists() {
                continue;
            }
            let texts: BTreeMap<&str, &[u8]> = subject.tuning.files().map(|(name, _, text)| (name, text)).collect();
            let is_same = |name| std::fs::read(run.file(name)).ok().as_deref() == texts.get(name).copied();
            let same_file = is_same(rundir::RULES) && is_same(rundir::HAN);
            let Manifest { plan: begun, survey, .. } = run.manifest()?;
            let same_system = (&survey.version, &survey.hosts) == (&self.survey.version, &self.survey.hosts);
            let same_cells = begun.cells == plan.cells || !self.options.chooses_cells();
            let same_condition =
                (begun.schedule.condition, &begun.arrivals) == (plan.schedule.condition, &plan.arrivals);
            if same_file && same_system && same_cells && same_condition && begun.deployment == plan.deployment {
                session.say(&progress::validation::resuming(run.path()));
                return Ok((Campaign::new(run)?, begun));
            }
        }
    }

    fn plan(&self, subject: &ValidationSubject) -> Result<Plan, WorkflowError> {
        let (way, settings) = (self.options.deploy, subject.tuning.settings().by_name());
        let deployment = Deployment { way, settings, launches: DeployedLaunches::Paired { first: 0 } };
        let limit = self.spending.launch.filter(|launch| launch.0 > 0.0).map(|launch| Seconds(LIMIT * launch.0));
        let schedule = Schedule { budget: self.spending.launch, limit, ..self.schedule };
        let place = (self.options.system.layout, self.survey);
        let pairs = self.spending.pairs;
        let is_late = schedule.condition.arrival == Arrival::Profile;
        let mut cells = subject.cells.clone();
        // Other communicators than those of the program, between which rules were compared.
        cells.retain(|cell| !is_late || find_pattern(&self.arrivals, *cell).is_some());
        if cells.is_empty() {
            refuse_missing_arrivals(&subject.cells, &self.arrivals)?;
        }
        let mut plan = plan(&cells, subject.ranks, place, deployment, pairs, schedule, self.options.seed);
        if is_late {
            plan.arrivals.clone_from(&self.arrivals);
        }
        if schedule.condition.is_relative() {
            for planned in &mut plan.cells {
                let time = self.default_time(planned.cell, subject).ok_or_else(|| {
                    WorkflowError::Usage(format!(
                        "--arrival: the time of the default for {} is not known; give --lateness",
                        planned.cell
                    ))
                })?;
                planned.lateness = Some(Seconds(schedule.condition.lateness_factor() * time.0));
            }
        }
        Ok(plan)
    }

    /// The time of the default for a cell, from a comparison or from the run of the tuning.
    pub(super) fn default_time(&self, cell: Cell, subject: &ValidationSubject) -> Option<Seconds> {
        self.default_times.get(&cell).copied().or_else(|| subject.default_time(cell))
    }

    /// Adds how to resume, if measuring ended early.
    fn interrupted(&self, error: WorkflowError, run: &RunDir, subject: &ValidationSubject) -> WorkflowError {
        let WorkflowError::Incomplete { cause, .. } = error else { return error };
        WorkflowError::Unvalidated {
            cause,
            kept: run.path().display().to_string(),
            arguments: arguments(subject, run.path().parent(), self.options.repair),
            original: subject.kept.clone(),
        }
    }
}

/// The time until a deadline.
pub(super) fn left(until: Option<Instant>) -> Option<Seconds> {
    until.map(|until| Seconds(until.saturating_duration_since(Instant::now()).as_secs_f64()))
}

/// More pairs of the undecided cells.
fn further(begun: &Plan, cells: &[Cell], (look, pairs): (u32, u32), spending: Spending) -> Plan {
    let launches = DeployedLaunches::Paired { first: pairs_before(look - 1, begun.launches) };
    let deployment = begun.deployment.clone().map(|deployment| Deployment { launches, ..deployment });
    Plan {
        cells: begun.cells.iter().filter(|planned| cells.contains(&planned.cell)).cloned().collect(),
        launches: pairs,
        schedule: Schedule { budget: spending.of_further(cells.len(), begun.cells.len()), ..begun.schedule },
        deployment,
        ..begun.clone()
    }
}

fn look_at(run: &RunDir, criteria: ValidationCriteria, subject: &ValidationSubject) -> Result<Round, WorkflowError> {
    let failed = WorkflowError::analysis(run.path().display());
    let observations = Observations::from_samples(&run.samples()?.text).map_err(&failed)?;
    compare(&observations, criteria, |cell| subject.known(cell)).map_err(failed)
}

/// Returns the arguments with which `collrules validate` resumes a comparison below `home`.
fn arguments(subject: &ValidationSubject, home: Option<&Path>, repair: bool) -> String {
    let mut words = vec![quoted(&subject.name())];
    if repair {
        words.insert(0, "--repair".to_owned());
    }
    // Results of a run go into it by default.
    if let Some(home) = home.filter(|home| subject.run().is_none_or(|run| run.path() != *home)) {
        words.push(format!("--out {}", quoted(&home.to_string_lossy())));
    }
    words.join(" ")
}
