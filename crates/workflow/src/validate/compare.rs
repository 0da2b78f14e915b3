//! The comparison of a tuning with the default: of its rules alone, and of the whole with settings, in the same launches.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::comparison::{ArmSubject, Stage};
use collrules_record::condition::{Arrival, ArrivalPattern, Condition, find_pattern};
use collrules_record::options::Validating;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::rundir::{ComparisonLog, RunDir};
use collrules_record::settings::{Finalist, Settings, SettingsFailure, WholeValidation};
use collrules_record::validation::{FORMAT, FailedCell, ValidationCriteria};
use collrules_record::{Candidate, Cell, Placement, Plan, Seconds, Validation};
use collrules_tuner::comparison::{ArmDemand, Compared, Comparison, Looks, compare};
use collrules_tuner::validation::{describe_check, describe_round};

use super::calls::CallsByCondition;
use super::cells::count_unreached;
use super::subject::ValidationSubject;
use crate::comparison::{Arms, JobLauncher, guard_cells, guard_patterns, list_messages, loop_schedule, measuring_time};
use crate::error::WorkflowError;
use crate::plan::{refuse_impossible_calls, refuse_missing_arrivals};
use crate::publish::Published;
use crate::session::{Event, Session};
use crate::settings::describe_finalist;
use crate::start::Started;

/// Blocks that a comparison has in any case: one shows nothing.
const LEAST_BLOCKS: u32 = 2;

/// A comparison to make.
pub(super) struct ComparisonRequest<'a> {
    pub(super) options: &'a Validating,
    pub(super) arrivals: Vec<ArrivalPattern>,
    /// Directory of the result.
    pub(super) home: &'a RunDir,
    /// Stage of a tuning; none for a validation of its own.
    pub(super) stage: Option<Stage>,
    /// Settings under which rules are compared; none for the default.
    pub(super) base: Settings,
    /// Time for all launches.
    pub(super) limit: Option<Seconds>,
    /// Most blocks.
    pub(super) most_blocks: u32,
    /// True if the stage had its result before, so that its launches are in the log.
    pub(super) is_concluded: bool,
}

/// Results of a comparison.
pub(super) struct ComparisonResult {
    /// Of the rules alone, if there are any.
    pub(super) validation: Option<Validation>,
    /// Of the whole tuning, if it has settings.
    pub(super) whole: Option<WholeValidation>,
    /// The log, in which the stage is to be concluded with the result.
    pub(super) log: ComparisonLog,
    pub(super) stage: Stage,
}

/// Compares the rules of a tuning, if it has any, and if `whole` is given the settings of its run with the rules that are
/// named with them.
pub(super) fn compare_tuning(
    task: ComparisonRequest<'_>,
    subject: &mut ValidationSubject,
    whole: Option<&Published>,
    started: &mut Started,
    session: &mut Session<'_>,
) -> Result<ComparisonResult, WorkflowError> {
    let ComparisonRequest { options, arrivals, home, stage, base, limit, most_blocks, is_concluded } = task;
    refuse_bad_calls(subject, options.condition, &arrivals)?;
    let mut log = ComparisonLog::open(home)?;
    let stage = match stage {
        Some(stage) => stage,
        None => log.begin_validation(&about(options, subject, whole, started)?)?,
    };
    if !is_concluded && log.launches().iter().any(|launch| launch.stage == stage) {
        session.say(&format!("resuming the comparison in {}", home.path().display()));
    }
    let mut calls = CallsByCondition::new(subject, options.condition, &arrivals);
    if stage.is_again() {
        calls.others.clear();
    }
    let mut arms = Arms::default();
    let with_base = |job: Settings| job.into_iter().chain(base.clone()).collect();
    let rules = (!subject.is_empty()).then(|| arms.add(with_base(subject.job()))).transpose()?;
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
    subjects.extend(of_whole.iter().cloned());
    let compared_arms: Vec<Settings> = rules.iter().chain(&tuning).cloned().collect();
    let least = started.startup.0 + measuring_time(started.startup, subjects.len());
    let per_block = (1.0 + compared_arms.len() as f64) * least;
    let affordable = limit.map_or(options.pairs, |limit| (limit.0 / per_block.max(1e-9)) as u32);
    let first = options.pairs.min(affordable.max(LEAST_BLOCKS));
    if first < options.pairs {
        session.say(&format!("too little time for {} pairs of launches: {first}", options.pairs));
    }
    let launch = limit.map(|limit| {
        let launches = f64::from(first) * (1.0 + compared_arms.len() as f64);
        Seconds((limit.0 / launches - started.startup.0).max(0.0))
    });
    if !is_concluded && !options.chooses_cells() {
        subject.afford(launch, session);
        let kept: BTreeSet<Cell> = subject.cells.iter().copied().collect();
        subjects.retain(|it| of_whole.contains(it) || it.cell().is_some_and(|cell| kept.contains(&cell)));
    }
    session.tell(Event::Comparing { home, cells: subject.cells.len(), pairs: first, limit });
    let placement = Placement::new(
        options.system.layout,
        &started.survey.hosts,
        subjects.iter().filter_map(|it| it.cell().map(|cell| cell.ranks)),
    );
    let schedule = loop_schedule(&options.timing, started.startup, launch);
    let lateness: BTreeMap<Cell, Seconds> =
        subject.cells.iter().filter_map(|cell| Some((*cell, subject.default_time(*cell)?))).collect();
    let backend = started.backend.as_mut();
    let mut launcher = JobLauncher::new(backend, subject.ranks, &placement, schedule, options.seed, &mut log, session);
    (launcher.arms, launcher.subjects, launcher.way) = (arms, subjects, options.deploy);
    (launcher.lateness, launcher.arrivals) = (lateness, arrivals);
    launcher.middle = options.middle.unwrap_or_default();
    match is_concluded {
        true => launcher.limit_to(Some(0.0), 0),
        false => launcher.limit_to(limit.map(|limit| limit.0), LEAST_BLOCKS),
    }
    let looks = Looks::between(first, most_blocks);
    let criteria = ValidationCriteria {
        min_difference: options.min_difference,
        error_rate: options.error_rate,
        middle: options.middle.unwrap_or_default(),
        clock_step: started.survey.clock_step,
        looks: looks.ends().len() as u32,
        ..ValidationCriteria::default()
    };
    let demand = |arm: &Settings, it: &ArmSubject| match (it.cell(), it.condition()) {
        (_, None | Some(Condition::UNALIGNED)) if tuning.as_ref() == Some(arm) => ArmDemand::ExcludeClassLoss,
        (Some(cell), Some(condition)) if rules.as_ref() == Some(arm) && subject.is_ruled(cell) => {
            calls.demand(condition)
        }
        _ => ArmDemand::Report,
    };
    let weight = |arm: &Settings, it: &ArmSubject| match (it.cell(), it.condition()) {
        (Some(cell), Some(Condition::UNALIGNED)) if tuning.as_ref() == Some(arm) => {
            asked.get(&cell).copied().unwrap_or(0.0)
        }
        (Some(_), Some(condition)) if rules.as_ref() == Some(arm) => {
            f64::from(u8::from(condition == options.condition))
        }
        _ => 0.0,
    };
    let comparison = Comparison {
        stage,
        base: &base,
        arms: &compared_arms,
        demand: &demand,
        weight: &weight,
        criteria,
        max_loss: options.max_loss,
        looks,
        cost: &|_| 0.0,
        chooses: false,
    };
    let compared = compare(&comparison, &mut launcher)?;
    let memory = tuning.as_ref().and_then(|arm| launcher.memory(stage, arm));
    let known = |cell: Cell| subject.known(cell);
    let validation = rules.as_ref().map(|arm| {
        let mut round = describe_round(&compared, arm, (calls.decided, options.min_difference), known);
        // When it had its result, sizes without a rule or between others may have been left out for lack of time.
        let is_counted = |cell: &&Cell| !is_concluded || subject.is_ruled(**cell) && known(**cell).tuned;
        round.unreached = count_unreached(&round, subject.cells.iter().filter(is_counted));
        // A result of jobs that fail is that the rules make them fail.
        if let Some(failure) = compared.failed.get(arm) {
            let ruled = subject.cells.iter().copied().filter(|cell| subject.is_ruled(*cell));
            let is_new = |cell: &Cell| !round.failed.iter().any(|failed| failed.cell == *cell);
            let failed = ruled.filter(is_new).map(|cell| FailedCell { cell, with: true, why: failure.why.clone() });
            let failed: Vec<FailedCell> = failed.collect();
            round.failed.extend(failed);
        }
        let check = |(condition, cells): &(Condition, Vec<Cell>)| {
            describe_check(&compared, arm, *condition, (cells, options.max_loss), known)
        };
        Validation {
            format: FORMAT,
            rules: subject.name(),
            version: subject.version,
            settings: subject.job(),
            digests: subject.tuning.digests(),
            criteria,
            round: Some(round),
            reverted: Vec::new(),
            checks: calls.others.iter().map(check).collect(),
        }
    });
    let digests = whole.map(|whole| whole.whole().digests()).unwrap_or_default();
    let whole = tuning.map(|arm| WholeValidation {
        digests,
        compared: compared
            .of(&arm)
            .map(|result| Finalist { memory, ..describe_finalist(&compared, result, &asked, options.max_loss) }),
        failed: find_failure(&compared, &arm),
    });
    Ok(ComparisonResult { validation, whole, log, stage })
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
    let compared = (subject.arm(&Settings::new())?, whole.map(|whole| whole.switch().by_name()), &subject.cells);
    let (version, hosts) = (started.survey.version.to_string(), &started.survey.hosts);
    let text = serde_json::to_string(&(compared, version, hosts, condition, timing, deploy, system.layout, seed))?;
    Ok(collrules_record::digest(text.as_bytes()))
}
