//! A tuning without the rules that a comparison did not confirm. No job reads a file that changes: proven files take the
//! place of others as a whole.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::validation::{Outcome, Round, ValidationCriteria};
use collrules_record::{Cell, Layout, RunDir, Settings, Validation, rundir};
use collrules_rules::words::{counted, some};
use collrules_tuner::repair::{Reach, Repair, repair, share_gains, withdraw};

use super::subject::{ResultPlace, ValidationSubject};
use crate::analyze::Source;
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::Session;
use crate::start::Started;
use crate::{TOOL, prove, tuning};

/// Cells that a sentence lists at most.
const LISTED: usize = 4;

/// Results in the other layouts of a run, which share its rules.
#[derive(Default)]
pub(super) struct OtherLayouts {
    /// Of the compared ones.
    pub(super) compared: Vec<Round>,
    /// Cells of those without a comparison so far.
    pub(super) awaited: Vec<Cell>,
}

impl OtherLayouts {
    /// The layouts of a run other than one of them, or its own if none is named.
    pub(super) fn of(published: &Published, layout: Option<Layout>) -> Self {
        let own = published.manifest.as_ref().filter(|_| layout.is_some()).map(|manifest| (None, &manifest.plan));
        let others = published.layouts.iter().map(|(_, plan)| (Some(plan.placement.layout), plan));
        let mut found = Self::default();
        for (other, plan) in own.into_iter().chain(others.filter(|(other, _)| *other != layout)) {
            match published.judge(other, &Settings::new()) {
                Some(compared) => found.compared.push(compared.round),
                None => found.awaited.extend(plan.cells.iter().map(|planned| planned.cell)),
            }
        }
        found
    }
}

/// Removes the rules that a comparison did not confirm, and those of these cells, which it did not reach. `subject` is then the
/// tuning that is left, with what was reverted. Nothing changes if all are confirmed. Returns the result for what is left.
pub(super) fn remove_unconfirmed(
    place: &ResultPlace<'_>,
    subject: &mut ValidationSubject,
    validation: Validation,
    untimed: &[Cell],
    layouts: &OtherLayouts,
    started: &mut Started,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let mut round = validation.round.clone();
    // What an earlier stretch removed has no rule any more.
    let removed = validation.removed();
    round.cells.retain(|it| !removed.contains(&it.cell));
    // What loses in other calls, or may lose, is confirmed in none.
    let verdicts = validation.verdicts(None);
    round.cells.iter_mut().for_each(|it| it.verdict = verdicts.get(&it.cell).copied().unwrap_or(it.verdict));
    let of = |is_wanted: fn(Outcome) -> bool| -> Vec<Cell> {
        round.cells.iter().filter(|it| is_wanted(it.verdict)).map(|it| it.cell).collect()
    };
    let (cells, kept, undecided) = (of(|_| true), of(Outcome::holds), of(|it| it == Outcome::Undecided));
    let mut repair = list_unconfirmed(subject, round, validation.criteria, layouts);
    let lost = repair.ranges.clone();
    repair.ranges.extend(withdraw(untimed, &kept, &subject.rule_set()));
    let carried = undecided.into_iter().filter(|cell| repair.carried.contains(cell));
    subject.state_mut().carried.extend(carried);
    if repair.ranges.is_empty() {
        return Ok(subject.judge(place).unwrap_or(validation));
    }
    let before = subject.clone();
    tuning::add_new(&mut subject.state_mut().reverted, &repair.ranges);
    match &subject.published {
        Some(_) => analyze_anew(started, subject, &cells, session)?,
        None => write_copy(place.home, started, subject)?,
    }
    let all: BTreeSet<Cell> = cells.iter().copied().chain(repair.cells).chain(before.tuned()).collect();
    // Also those that the present comparison left out.
    let known = before.published.iter().filter_map(|published| published.validation.as_ref());
    let known: BTreeSet<Cell> =
        known.flat_map(|found| &found.round.cells).map(|it| it.cell).chain(all.clone()).collect();
    let is_gone = |cell: &Cell| before.is_ruled(*cell) && !subject.is_ruled(*cell);
    let is_lost = |cell: &Cell| lost.iter().any(|range| range.covers(*cell, subject.release));
    let is_untimed = |cell: &Cell| !cells.contains(cell) || kept.contains(cell) && !is_lost(cell);
    let withdrawn: Vec<Cell> = known.into_iter().filter(|cell| is_gone(cell) && is_untimed(cell)).collect();
    let (tried, untried): (Vec<Cell>, _) = all.into_iter().filter(is_gone).partition(|cell| cells.contains(cell));
    say_removed(&[(tried, "removed", "after"), (untried, "left out", "without")], subject, place.base, session);
    subject.state_mut().withdrawn.extend(withdrawn);
    Ok(subject.judge(place).unwrap_or(validation))
}

/// Says which rules were removed from a subject, how and why, over a base that is the default or has settings.
fn say_removed(
    removed: &[(Vec<Cell>, &str, &str)],
    subject: &ValidationSubject,
    base: &Settings,
    session: &mut Session<'_>,
) {
    let under = if base.is_empty() { "" } else { " under these settings" };
    let removed: Vec<_> = removed.iter().filter(|(cells, ..)| !cells.is_empty()).collect();
    for (cells, what, why) in &removed {
        let cells: Vec<String> = cells.iter().map(Cell::to_string).collect();
        let (sizes, cells) = (counted(cells.len(), "size"), some(&cells, LISTED));
        session.say(&format!("{what} the rules for {sizes}{under} {why} fresh launches: {cells}"));
    }
    if subject.is_empty() && !removed.is_empty() {
        session.say(match base.is_empty() {
            true => "no rule is left: the default stays for all calls",
            false => "no rule adds anything to these settings",
        });
    }
}

/// The ranges whose rules were not confirmed.
fn list_unconfirmed(
    subject: &ValidationSubject,
    mut round: Round,
    criteria: ValidationCriteria,
    layouts: &OtherLayouts,
) -> Repair {
    let is_awaited = |cell: Cell| {
        layouts.awaited.iter().any(|other| (other.collective, other.ranks) == (cell.collective, cell.ranks))
    };
    share_gains(&mut round, is_awaited, &layouts.compared);
    let inside = |cell: Cell| subject.inside(cell);
    let of_han = subject.tuning.below_han();
    let below = |cell: Cell| subject.is_reached(cell.ranks) && of_han.contains(&cell.collective);
    let reach = Reach { freed: subject.freed(), below: &below, inside: &inside };
    repair(&round, criteria, &subject.rule_set(), subject.assumptions(), &reach)
}

/// Analyses the run's samples again without the reverted ranges, until each of these cells has the rule that was compared or
/// none: the analysis may find others. Then proves the files that are left, and puts them in place.
fn analyze_anew(
    started: &mut Started,
    subject: &mut ValidationSubject,
    cells: &[Cell],
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let compared = subject.clone();
    let Some(published @ Published { run, manifest: Some(manifest), findings: before, .. }) = &compared.published
    else {
        return Err(unchanged(subject));
    };
    // Also those between compared ones, which share their rule.
    let mut all = compared.tuned();
    all.extend(cells);
    let (criteria, policy) = (before.criteria, before.tree.policy);
    let mut state = published.state.clone();
    let source = Source::of_measured(run, manifest.clone(), before.release, run.samples()?, session)?;
    let (findings, tuning) = loop {
        let findings = source.decide_reverting(criteria, policy, &state.reverted)?;
        let tuning = tuning::decide(run, &findings, &manifest.pins)?;
        let left = ValidationSubject { tuning: tuning.clone(), ..compared.clone() };
        let is_other = |cell: &Cell| {
            let now = left.known(*cell);
            now.is_ruled() && compared.known(*cell).rule() != now.rule()
        };
        let (others, kept): (Vec<Cell>, Vec<Cell>) = all.iter().copied().partition(is_other);
        let kept: Vec<Cell> = kept.into_iter().filter(|cell| left.is_ruled(*cell)).collect();
        let ranges = withdraw(&others, &kept, &left.rule_set());
        if !tuning::add_new(&mut state.reverted, &ranges) {
            break (findings, tuning);
        }
    };
    if subject.tuning.differs_from(&findings).is_none() && subject.tuning.parameters == tuning.parameters {
        return Err(unchanged(subject));
    }
    let measured: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let proof = prove::prove(started, run, &tuning, &measured, not_obeyed)?;
    tuning::pin_files(run, &tuning)?;
    let proof = prove::facts(&findings, &proof, started);
    subject.published = Some(Published { findings, tuning: Some(tuning.clone()), proof, state, ..published.clone() });
    subject.tuning = tuning;
    Ok(())
}

/// Writes what is left of a tuning from elsewhere into the directory of the result. The files stay as they are: jobs may be
/// reading them.
fn write_copy(home: &RunDir, started: &mut Started, subject: &mut ValidationSubject) -> Result<(), WorkflowError> {
    let header = |_: &str| header(subject);
    let Some(tuning) = subject.tuning.revert(subject.release, &subject.state().reverted, header)? else {
        return Err(unchanged(subject));
    };
    let tuning = tuning.moved(home.path(), rundir::RULES, rundir::HAN);
    prove::prove(started, home, &tuning, &subject.cells, not_obeyed)?;
    tuning.files().try_for_each(|(name, _, text)| home.write(name, text).map(drop))?;
    subject.tuning = tuning;
    Ok(())
}

/// Error if removing rules changes nothing.
fn unchanged(subject: &ValidationSubject) -> WorkflowError {
    WorkflowError::NotRepaired { rules: subject.name() }
}

fn not_obeyed(file: &Path) -> String {
    format!(
        "this Open MPI does NOT obey the repaired rules; {} must not be installed, and the compared file stays",
        file.display(),
    )
}

/// Returns the comment at the top of a file without the removed rules.
fn header(subject: &ValidationSubject) -> Vec<String> {
    vec![
        format!("{TOOL}: {} without the rules that fresh launches", subject.name()),
        format!("did not confirm under Open MPI {}.", subject.version),
    ]
}
