//! The comparison of a tuning with the default: of its rules alone, and of the whole with settings, in the same launches.

use std::collections::BTreeSet;

use collrules_record::condition::{Arrival, ArrivalPattern, find_pattern};
use collrules_record::options::Validating;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::rundir::ComparisonLog;
use collrules_record::settings::{Finalist, SettingsFailure, WholeValidation};
use collrules_record::validation::{FORMAT, FailedCell, Round, ValidationCriteria};
use collrules_record::{ArmSubject, Candidate, Cell, Condition, Placement, Plan, Seconds, Settings, Stage, Validation};
use collrules_tuner::comparison::{ArmDemand, Compared, Comparison, Looks, MOST_BLOCKS, compare_in_parts};
use collrules_tuner::validation::{LOOKUP, charge_lookups, describe_check, describe_round};

use super::cells::CallsByCondition;
use super::parts::{self, BlockTimes, LEAST_BLOCKS};
use super::subject::{ResultPlace, ValidationSubject};
use crate::comparison::{
    ArmJobs, Arms, CellWeights, JobLauncher, guard_cells, guard_patterns, list_messages, loop_schedule,
};
use crate::error::WorkflowError;
use crate::plan::{refuse_impossible_calls, refuse_missing_arrivals};
use crate::publish::Published;
use crate::session::{Event, Session};
use crate::settings::{describe_finalist, loss_demand};
use crate::start::Started;

/// Most blocks of a part, while others wait.
const MOST_OF_PART: u32 = 16;

/// A comparison to make.
pub(super) struct ComparisonRequest<'a> {
    pub(super) options: &'a Validating,
    pub(super) arrivals: &'a [ArrivalPattern],
    pub(super) place: &'a ResultPlace<'a>,
    /// Stage of a tuning; none for a validation of its own.
    pub(super) stage: Option<Stage>,
    /// Time for all launches.
    pub(super) limit: Option<Seconds>,
    /// When such a comparison ended before: its launches take no time now.
    pub(super) ended: Option<&'a str>,
    /// Most blocks.
    pub(super) most_blocks: u32,
    /// Earlier results of these rules, or of others.
    pub(super) before: Option<&'a Round>,
}

impl<'a> ComparisonRequest<'a> {
    /// A validation of its own, without a limit of time.
    pub(super) fn new(options: &'a Validating, arrivals: &'a [ArrivalPattern], place: &'a ResultPlace<'a>) -> Self {
        let (stage, limit, ended, before) = (None, None, None, None);
        Self { options, arrivals, place, stage, limit, ended, most_blocks: MOST_BLOCKS, before }
    }
}

/// Results of a comparison.
pub(super) struct ComparisonResult {
    /// Of the rules alone, if there are any.
    pub(super) validation: Option<Validation>,
    /// Of the whole tuning, if it has settings.
    pub(super) whole: Option<WholeValidation>,
    pub(super) stage: Stage,
    /// The ranges of rules that it did not reach, with the time that their first look would take.
    pub(super) unreached: Option<(String, Seconds)>,
}

/// Compares the rules of a tuning, if it has any, and if `whole` is given the settings of its run with the rules that are
/// named with them.
pub(super) fn compare_tuning(
    request: ComparisonRequest<'_>,
    subject: &mut ValidationSubject,
    whole: Option<&Published>,
    started: &mut Started,
    session: &mut Session<'_>,
) -> Result<ComparisonResult, WorkflowError> {
    let ComparisonRequest { options, arrivals, limit, place: ResultPlace { home, base, .. }, .. } = request;
    refuse_bad_calls(subject, options.condition, arrivals)?;
    let mut log = ComparisonLog::open(home)?;
    let begin = || log.begin_validation(&about(options, subject, whole, started)?).map_err(WorkflowError::from);
    let stage = request.stage.map_or_else(begin, Ok)?;
    if log.launches().iter().any(|launch| launch.stage == stage) {
        session.say(&format!("resuming the comparison in {}", home.path().display()));
    }
    let mut compared = ArmCalls::new(&request, stage, subject, whole, started)?;
    let arms = compared.list();
    let times = BlockTimes { startup: started.startup, jobs: 1.0 + arms.len() as f64 };
    let parts = parts::split(subject, &compared.jobs.subjects, (times, options.pairs), limit, request.before);
    let (pairs, most, begin) = match parts.first() {
        Some(Some(part)) => (LEAST_BLOCKS, MOST_OF_PART.min(request.most_blocks), times.block(subject, part)),
        _ => (options.pairs, request.most_blocks, times.block(subject, &compared.jobs.subjects)),
    };
    let (first, launch) = plan_launches(times, begin, pairs, limit, session);
    session.tell(Event::Comparing { home, cells: subject.cells.len(), pairs: first, limit });
    compared.jobs.schedule = loop_schedule(&options.timing, started.startup, launch);
    let mut launcher = JobLauncher::new(compared.jobs.clone(), started.backend.as_mut(), &mut log, session);
    let (looks, middle) = (Looks::between(first, most), options.middle.unwrap_or_default());
    let criteria = ValidationCriteria {
        min_difference: options.min_difference,
        error_rate: options.error_rate,
        middle,
        clock_step: started.survey.clock_step,
        looks: looks.ends().len() as u32,
        ..ValidationCriteria::default()
    };
    let comparison = Comparison {
        demand: &|arm, it| compared.demand(subject, options.max_loss, arm, it),
        weight: &|arm, it| compared.weight(options.condition, arm, it),
        criteria,
        max_loss: options.max_loss,
        looks,
        ..Comparison::new(stage, base, &arms)
    };
    let found = compare_in_parts(&comparison, &parts, &mut launcher)?;
    let memory = compared.tuning.as_ref().and_then(|arm| launcher.memory(stage, arm));
    let validation = compared.describe_rules(&found, subject, options, criteria);
    let whole = whole.map(Published::whole).zip(compared.tuning.as_ref()).map(|(whole, arm)| {
        let describe =
            |result| Finalist { memory, ..describe_finalist(&found, result, &compared.asked, options.max_loss) };
        let compared = found.of(arm).map(describe);
        WholeValidation { digests: whole.digests(), compared, failed: find_failure(&found, arm) }
    });
    let round = validation.as_ref().map(|found| &found.round);
    let open = round.map(|round| compared.list_open(subject, round, request.before)).unwrap_or_default();
    let unreached = parts::describe_unreached(subject, &open, 1 + compared.calls.others.len(), times);
    Ok(ComparisonResult { validation, whole, stage, unreached })
}

/// Pairs of launches before the first look, of which each takes `block` seconds, and the time of a launch after its start.
fn plan_launches(
    BlockTimes { startup, jobs }: BlockTimes,
    block: f64,
    pairs: u32,
    limit: Option<Seconds>,
    session: &mut Session<'_>,
) -> (u32, Option<Seconds>) {
    let affordable = limit.map_or(pairs, |limit| (limit.0 / block.max(1e-9)) as u32);
    let first = pairs.min(affordable.max(LEAST_BLOCKS));
    if first < pairs {
        session.say(&format!("too little time for {pairs} pairs of launches: {first}"));
    }
    let launches = f64::from(first) * jobs;
    (first, limit.map(|limit| Seconds((limit.0 / launches - startup.0).max(0.0))))
}

/// The arms of a comparison, and the calls by which they are compared.
struct ArmCalls {
    jobs: ArmJobs,
    /// The rules alone, if there are any.
    rules: Option<Settings>,
    /// The whole tuning, if it has settings.
    tuning: Option<Settings>,
    calls: CallsByCondition,
    /// Weights of the requested sizes.
    asked: CellWeights,
}

impl ArmCalls {
    fn new(
        request: &ComparisonRequest<'_>,
        stage: Stage,
        subject: &ValidationSubject,
        whole: Option<&Published>,
        started: &Started,
    ) -> Result<Self, WorkflowError> {
        let options = request.options;
        let mut calls = CallsByCondition::new(subject, options.condition, request.arrivals);
        if stage.is_again() {
            calls.others.clear();
        }
        let mut arms = Arms::default();
        let rules_job = || subject.job().into_iter().chain(request.place.base.clone()).collect();
        let rules = (!subject.is_empty()).then(|| arms.add(rules_job())).transpose()?;
        let asked = whole.map(Published::weights).unwrap_or_default();
        let tuning = whole.map(|whole| arms.add(whole.switch().by_name())).transpose()?;
        let mut of_whole = BTreeSet::new();
        if tuning.is_some() {
            let cells = asked.keys().copied().chain(guard_cells(&asked, subject.ranks));
            of_whole.extend(cells.map(|cell| ArmSubject::Call(cell, Condition::UNALIGNED)));
            of_whole.extend(list_messages(&guard_patterns(&started.survey, subject.ranks)));
        }
        let mut subjects = if rules.is_some() { calls.subjects(&subject.cells) } else { Vec::new() };
        // Rules may have been decided on the same calls.
        subjects.retain(|it| !of_whole.contains(it));
        subjects.extend(of_whole);
        let ranks = subjects.iter().filter_map(|it| it.cell().map(|cell| cell.ranks));
        let call_times = subject.cells.iter().map(|cell| (*cell, subject.estimate_call(*cell)));
        let jobs = ArmJobs {
            arms,
            way: options.deploy,
            call_times: call_times.filter(|(_, time)| time.0 > 0.0).collect(),
            arrivals: request.arrivals.to_vec(),
            ranks: subject.ranks,
            placement: Placement::new(options.system.layout, &started.survey.hosts, ranks),
            subjects,
            middle: options.middle.unwrap_or_default(),
            seed: options.seed,
            limit: request.limit,
            least: LEAST_BLOCKS,
            ended: request.ended.map(str::to_owned),
            ..ArmJobs::default()
        };
        Ok(Self { jobs, rules, tuning, calls, asked })
    }

    fn list(&self) -> Vec<Settings> {
        self.rules.iter().chain(&self.tuning).cloned().collect()
    }

    /// The cells with a rule for which neither a comparison nor those before answer, without sizes between those that were tuned.
    fn list_open(&self, subject: &ValidationSubject, round: &Round, before: Option<&Round>) -> Vec<Cell> {
        let tuned = subject.tuned();
        let is_asked = |cell: &Cell| tuned.is_empty() || tuned.contains(cell);
        let is_open = |cell: &Cell| before.into_iter().chain([round]).all(|round| subject.is_open(*cell, round));
        subject.cells.iter().copied().filter(|cell| is_asked(cell) && is_open(cell)).collect()
    }

    fn demand(&self, subject: &ValidationSubject, max_loss: f64, arm: &Settings, it: &ArmSubject) -> ArmDemand {
        match (it.cell(), it.condition()) {
            (_, None | Some(Condition::UNALIGNED)) if self.tuning.as_ref() == Some(arm) => loss_demand(arm),
            (Some(cell), Some(condition)) if self.rules.as_ref() == Some(arm) => {
                let loses_by_lookups = || {
                    subject.known(cell).feels_lookups(cell.bytes) && subject.estimate_call(cell).0 * max_loss < LOOKUP
                };
                match subject.is_ruled(cell) {
                    true => self.calls.demand(condition),
                    false if loses_by_lookups() => ArmDemand::NoLoss,
                    false => ArmDemand::Report,
                }
            }
            _ => ArmDemand::Report,
        }
    }

    fn weight(&self, decided: Condition, arm: &Settings, it: &ArmSubject) -> f64 {
        match (it.cell(), it.condition()) {
            (Some(cell), Some(Condition::UNALIGNED)) if self.tuning.as_ref() == Some(arm) => {
                self.asked.get(&cell).copied().unwrap_or(0.0)
            }
            (Some(_), Some(condition)) if self.rules.as_ref() == Some(arm) => f64::from(u8::from(condition == decided)),
            _ => 0.0,
        }
    }

    /// The result of the rules alone, if there are any.
    fn describe_rules(
        &self,
        found: &Compared,
        subject: &ValidationSubject,
        options: &Validating,
        criteria: ValidationCriteria,
    ) -> Option<Validation> {
        let arm = self.rules.as_ref()?;
        let known = |cell: Cell| subject.known(cell);
        let mut round = describe_round(found, arm, (self.calls.decided, options.min_difference), known);
        charge_lookups(&mut round.cells, options.max_loss, known);
        round.unreached = self.list_open(subject, &round, None).len();
        // A result of jobs that fail is that the rules make them fail.
        if let Some(failure) = found.failed.get(arm) {
            let failed: BTreeSet<Cell> = round.failed.iter().map(|failed| failed.cell).collect();
            let ruled = subject.cells.iter().copied().filter(|cell| subject.is_ruled(*cell) && !failed.contains(cell));
            round.failed.extend(ruled.map(|cell| FailedCell { cell, with: true, why: failure.why.clone() }));
        }
        // A cell that was not reached as decided is no call of a rule that is left.
        let compared = round.known();
        let check = |(condition, cells): &(Condition, Vec<Cell>)| {
            let cells: Vec<Cell> = cells.iter().copied().filter(|cell| compared.contains(cell)).collect();
            describe_check(found, arm, *condition, (&cells, options.max_loss), known)
        };
        Some(Validation {
            format: FORMAT,
            rules: subject.name(),
            version: subject.version,
            settings: subject.job(),
            digests: subject.tuning.digests(),
            criteria,
            round,
            reverted: Vec::new(),
            withdrawn: Vec::new(),
            checks: self.calls.others.iter().map(check).collect(),
        })
    }
}

/// The failure of an arm's jobs or calls.
fn find_failure(compared: &Compared, arm: &Settings) -> Option<SettingsFailure> {
    let of_jobs = compared.failed.get(arm).map(|failure| SettingsFailure::Job(failure.why.clone()));
    let wrong = || {
        let (_, subject, why) = compared.barred.iter().find(|(barred, ..)| barred == arm)?;
        Some(SettingsFailure::Wrong { measure: subject.to_string(), finding: why.clone() })
    };
    of_jobs.or_else(wrong)
}

/// Refuses calls that are impossible under the condition that decided, or have no arrivals in the profile.
fn refuse_bad_calls(
    subject: &mut ValidationSubject,
    condition: Condition,
    arrivals: &[ArrivalPattern],
) -> Result<(), WorkflowError> {
    if condition.arrival == Arrival::Profile {
        let all = subject.cells.clone();
        // Other communicators than those of the program, between which rules were compared.
        subject.cells.retain(|cell| find_pattern(arrivals, *cell).is_some());
        if subject.cells.is_empty() {
            refuse_missing_arrivals(&all, arrivals)?;
        }
    }
    let cells = subject.cells.iter().map(|cell| CellPlan::new(*cell, vec![Candidate::Builtin])).collect();
    let schedule = Schedule { condition: Condition { arrival: Arrival::None, ..condition }, ..Schedule::default() };
    refuse_impossible_calls(&Plan::new(cells, 1, schedule, 1))?;
    Ok(())
}

/// The digest of the question of a validation, which an interrupted one has to share to be resumed: what is compared, in
/// which calls, on which system, with which options.
fn about(
    options: &Validating,
    subject: &ValidationSubject,
    whole: Option<&Published>,
    started: &Started,
) -> Result<String, WorkflowError> {
    let Validating { condition, timing, deploy, system, seed, .. } = options;
    let compared = (subject.arm()?, whole.map(|whole| whole.switch().by_name()), &subject.cells);
    let (version, hosts) = (started.survey.version.to_string(), &started.survey.hosts);
    let text = serde_json::to_string(&(compared, version, hosts, condition, timing, deploy, system.layout, seed))?;
    Ok(collrules_record::digest(text.as_bytes()))
}
