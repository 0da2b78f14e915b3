//! Comparison of the remaining rules in other calls than those that decided on them.
//!
//! Rules are decided on calls of root 0 with buffers that are in no cache, after a barrier. Programs also call with warm
//! buffers; from other roots, from which ranks are elsewhere in the tree of an algorithm, and on other nodes; in place; and
//! when a rank is late, or ranks are as late as a profile saw them.

use std::time::Duration;

use collrules_record::condition::{Arrival, BufferUse, Condition, find_pattern};
use collrules_record::rundir::RunDir;
use collrules_record::validation::{Check, Round, ValidationCriteria};
use collrules_record::{Cell, Validation};
use collrules_report::progress;
use collrules_runner::validation::Spending;
use collrules_tuner::repair::{Repair, withdraw};

use super::comparison::{Bench, left};
use super::repair::{apply_repair, withdraw_uncompared};
use super::subject::ValidationSubject;
use crate::error::WorkflowError;
use crate::session::Session;

/// Share of the time for these comparisons, if there is something to compare.
pub(super) const SHARE: f64 = 0.4;

/// Share of that time for a condition under which a loss has to be excluded: it decides on rules as well.
const EXCLUSION_SHARE: f64 = 0.5;

/// Number of pairs of launches, and of further comparisons of cells for which a loss is neither shown nor has to be
/// excluded.
const PAIRS: u32 = 3;
const FURTHER_LOOKS: u32 = 2;

/// The cells with a rule.
pub(super) fn ruled_cells(subject: &ValidationSubject) -> Vec<Cell> {
    let is_ruled = |cell: &Cell| {
        let known = subject.known(*cell);
        cell.ranks.0 > 1 && (known.handed || !known.served.is_builtin())
    };
    subject.cells.iter().copied().filter(is_ruled).collect()
}

/// Compares the remaining rules under each other condition, and removes slower ones if repairs are wanted.
pub(super) fn check_conditions(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    mut validation: Validation,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let decided = bench.schedule.condition;
    let arrivals = bench.arrivals.clone();
    // Of calls that the profile saw, its arrivals take the place of a random rank that is late.
    let has_arrivals = |condition: Condition, cell: &Cell| match condition.arrival {
        Arrival::Random if condition != decided => find_pattern(&arrivals, *cell).is_none(),
        Arrival::Profile => find_pattern(&arrivals, *cell).is_some(),
        _ => true,
    };
    let cells = |subject: &ValidationSubject, condition: Condition| {
        let mut all = if subject.is_empty() { Vec::new() } else { ruled_cells(subject) };
        all.retain(|cell| condition.differs_for(decided, cell.collective) && has_arrivals(condition, cell));
        all
    };
    let mut conditions = decided.others();
    if decided.arrival == Arrival::None && !arrivals.is_empty() {
        conditions.push(Condition { arrival: Arrival::Profile, ..decided });
        // What loses in the program matters more than what loses in other calls.
        conditions.rotate_right(1);
    }
    conditions.retain(|condition| !cells(subject, *condition).is_empty());
    bench.reserved = Duration::ZERO;
    for (place, condition) in conditions.iter().enumerate() {
        let ruled = cells(subject, *condition);
        if ruled.is_empty() {
            continue;
        }
        let deadline = bench.deadline;
        let mut share = 0.0;
        if must_exclude_loss(decided, *condition) {
            share = EXCLUSION_SHARE;
            bench.deadline = deadline.and_then(|deadline| deadline.checked_add(bench.overtime));
        }
        bench.reserved = time_of_others(bench, conditions.len() - place, share);
        let checked = check_condition(home, bench, subject, (*condition, ruled, validation), session);
        (bench.deadline, bench.reserved) = (deadline, Duration::ZERO);
        validation = checked?;
    }
    Ok(validation)
}

/// The part of the time left for the comparisons after the first, for as many as fit, if the first gets at least this
/// share.
fn time_of_others(bench: &Bench<'_>, conditions: usize, share: f64) -> Duration {
    let Some(left) = left(bench.until()) else { return Duration::ZERO };
    let least = bench.pass.as_secs_f64() * f64::from(2 * Spending::LEAST.pairs);
    let affordable = (left.0 / least.max(1e-9)).clamp(1.0, conditions as f64).floor();
    Duration::try_from_secs_f64(left.0 * (1.0 - share.max(1.0 / affordable))).unwrap_or_default()
}

/// Compares these cells under one condition, and removes slower rules if repairs are wanted.
fn check_condition(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    (condition, ruled, validation): (Condition, Vec<Cell>, Validation),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let max_loss = bench.options.max_loss;
    let must_exclude = must_exclude_loss(bench.schedule.condition, condition);
    let check = |round, untried| Check { condition, round, max_loss, must_exclude, untried };
    let (schedule, criteria, before) = (bench.schedule, bench.criteria, bench.spending);
    let is_known = |cell: &Cell| !condition.is_relative() || bench.default_time(*cell, subject).is_some();
    let cells: Vec<Cell> = ruled.iter().copied().filter(is_known).collect();
    bench.spending.pairs = PAIRS;
    if cells.is_empty() || !bench.share_the_rest() {
        bench.spending = before;
        session.say(&progress::validation::no_time(condition));
        let check = check(Round::default(), ruled);
        return conclude(home, bench, subject, (check, validation), session);
    }
    session.say(&progress::validation::comparing(condition, cells.len()));
    bench.schedule.condition = condition;
    let further_looks = bench.further_looks;
    if !must_exclude {
        bench.further_looks = FURTHER_LOOKS;
    }
    bench.criteria = ValidationCriteria { min_difference: max_loss, looks: 1 + bench.further_looks, ..criteria };
    let times = bench.default_times.clone();
    let all = std::mem::replace(&mut subject.cells, cells);
    let compared = bench.compare(home, subject, session);
    subject.cells = all;
    bench.further_looks = further_looks;
    (bench.schedule, bench.criteria, bench.spending, bench.default_times) = (schedule, criteria, before, times);
    let round = compared?;
    let is_tried = |cell: &Cell| {
        round.cells.iter().any(|tried| tried.cell == *cell) || round.failed.iter().any(|failed| failed.cell == *cell)
    };
    let untried = ruled.into_iter().filter(|cell| !is_tried(cell)).collect();
    conclude(home, bench, subject, (check(round, untried), validation), session)
}

/// Records a comparison, and removes rules that lose there, or for which a loss is not excluded, if repairs are wanted.
fn conclude(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    (mut check, mut validation): (Check, Validation),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let condition = check.condition;
    let (lost, open): (Vec<Cell>, Vec<Cell>) = (check.losses().collect(), check.unexcluded().collect());
    if lost.len() + open.len() == 0 || !bench.options.repair {
        validation.checks.push(check);
        home.write_validation(&validation)?;
        return Ok(validation);
    }
    if !lost.is_empty() {
        session.say(&progress::validation::slower(condition, lost.len()));
    }
    if !open.is_empty() {
        session.say(&progress::validation::not_excluded(condition, open.len()));
    }
    let cells: Vec<Cell> = lost.into_iter().chain(open).collect();
    let ranges = withdraw(&cells, (&subject.tuning.table(), &subject.tuning.han_rules()), subject.release);
    check.round.repaired.clone_from(&cells);
    validation.checks.push(check);
    validation.reverted.extend(ranges.iter().copied());
    let validation = apply_repair(home, bench, subject, validation, &Repair { cells, ranges }, session)?;
    withdraw_uncompared(home, bench, subject, validation, session)
}

/// Returns true if a loss has to be excluded under a condition: programs call with warm buffers as well as with others,
/// and what gains with the one often loses with the other.
fn must_exclude_loss(decided: Condition, condition: Condition) -> bool {
    condition.buffers != decided.buffers && condition.buffers != BufferUse::InPlace
}
