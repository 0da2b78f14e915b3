//! A tuning without the rules that a comparison did not confirm. No job reads a file that changes: proven files take the
//! place of others as a whole.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::rundir::{self, RunDir};
use collrules_record::validation::{Outcome, RevertedRange, Round, ValidationCriteria};
use collrules_record::{Cell, Layout, Validation};
use collrules_rules::words::{counted, some};
use collrules_tuner::repair::{Reach, Repair, repair, share_gains, withdraw};
use collrules_tuner::validation::CellFacts;

use super::subject::ValidationSubject;
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
    pub(super) fn of(published: &Published, layout: Option<Layout>) -> Result<Self, WorkflowError> {
        let Published { run, manifest, validation, state, .. } = published;
        let mut all = Vec::new();
        if let Some(manifest) = manifest.as_ref().filter(|_| layout.is_some()) {
            all.push((manifest.plan.clone(), validation.as_ref()));
        }
        for other in run.layouts()? {
            let plan = other.manifest()?.plan;
            if layout != Some(plan.placement.layout) {
                let known = state.in_layout(plan.placement.layout);
                all.push((plan, known));
            }
        }
        let mut others = Self::default();
        for (plan, validation) in all {
            match validation.and_then(|validation| validation.round.clone()) {
                Some(round) => others.compared.push(round),
                None => others.awaited.extend(plan.cells.iter().map(|planned| planned.cell)),
            }
        }
        Ok(others)
    }
}

/// Removes the rules that a comparison did not confirm, or did not reach, and records that in its result; `subject` is then
/// the tuning that is left. Nothing changes if all are confirmed.
pub(super) fn remove_unconfirmed(
    home: &RunDir,
    started: &mut Started,
    subject: &mut ValidationSubject,
    mut validation: Validation,
    untimed: &[Cell],
    layouts: &OtherLayouts,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let Some(mut round) = validation.round.clone() else { return Ok(validation) };
    // What an earlier stretch removed has no rule any more.
    let removed = validation.removed();
    round.cells.retain(|it| !removed.contains(&it.cell));
    for check in &mut validation.checks {
        // What loses in other calls, or may lose, is confirmed in none.
        let (lost, open): (BTreeSet<Cell>, BTreeSet<Cell>) = (check.losses().collect(), check.unexcluded().collect());
        for cell in &mut round.cells {
            if lost.contains(&cell.cell) {
                cell.verdict = Outcome::Slower;
            } else if open.contains(&cell.cell) && cell.verdict.holds() {
                cell.verdict = Outcome::Undecided;
            }
        }
        check.round.repaired.extend(lost.into_iter().chain(open));
    }
    let kept: Vec<Cell> = round.cells.iter().filter(|it| it.verdict.holds()).map(|it| it.cell).collect();
    let mut repair = list_unconfirmed(subject, round, validation.criteria, layouts);
    let files = (&subject.tuning.table(), &subject.tuning.han_rules());
    repair.ranges.extend(withdraw(untimed, &kept, files, subject.release));
    repair.cells.extend(untimed);
    for cell in validation.round.iter_mut().flat_map(|round| &mut round.cells) {
        if cell.verdict == Outcome::Undecided && repair.carried.contains(&cell.cell) {
            cell.verdict = Outcome::Same;
        }
    }
    if repair.ranges.is_empty() {
        return Ok(validation);
    }
    remove(home, started, subject, validation, (repair, untimed), session)
}

/// Removes ranges of a tuning, as a result of a comparison.
fn remove(
    home: &RunDir,
    started: &mut Started,
    subject: &mut ValidationSubject,
    mut validation: Validation,
    (repair, untimed): (Repair, &[Cell]),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let before = subject.clone();
    add_ranges(&mut validation.reverted, repair.ranges);
    match &subject.published {
        Some(_) => analyze_anew(started, subject, &mut validation, session)?,
        None => write_copy(home, started, subject, &validation)?,
    }
    validation.digests = subject.tuning.digests();
    validation.settings = subject.job();
    if let Some(round) = &mut validation.round {
        round.unreached =
            round.unreached.saturating_sub(repair.cells.iter().filter(|cell| untimed.contains(cell)).count());
        let compared = round.cells.iter().map(|it| it.cell);
        let compared = compared.filter(|cell| is_gone(before.known(*cell), subject.known(*cell)));
        let gone: BTreeSet<Cell> = compared.chain(repair.cells).collect();
        let gone: Vec<Cell> = gone.into_iter().collect();
        let ruled = gone.iter().filter(|cell| before.is_ruled(**cell));
        let ruled: Vec<String> = ruled.map(ToString::to_string).collect();
        if !ruled.is_empty() {
            session.say(&format!(
                "removed the rules for {} after fresh launches: {}",
                counted(ruled.len(), "size"),
                some(&ruled, LISTED)
            ));
        }
        round.repaired.extend(gone);
        round.repaired.sort_unstable();
        round.repaired.dedup();
    }
    if subject.is_empty() {
        session.say("no rule is left: the default stays for all calls");
    }
    Ok(validation)
}

/// Returns true if what a comparison found for a cell is no longer about the tuning: its rule is another one, or nothing
/// acts on it any more, no component that a rule switched off and no rule for calls within it either.
fn is_gone(then: CellFacts, now: CellFacts) -> bool {
    let is_ruled = then.handed || !then.served.is_builtin();
    !then.control && now.control || is_ruled && (then.served, then.handed) != (now.served, now.handed)
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
    let (table, han) = (subject.tuning.table(), subject.tuning.han_rules());
    let inside = |cell: Cell| subject.inside(cell);
    let below = |cell: Cell| subject.acts_below(cell);
    let reach = Reach { freed: subject.freed(), below: &below, inside: &inside };
    repair(&round, criteria, (&table, &han), subject.release, subject.assumptions(), &reach)
}

/// Analyses the run's samples again without the reverted ranges, until every cell has the rule that was compared or none:
/// the analysis may find others. Then proves the files that are left, and puts them in place.
fn analyze_anew(
    started: &mut Started,
    subject: &mut ValidationSubject,
    validation: &mut Validation,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let compared = subject.clone();
    let Some(published @ Published { run, manifest: Some(manifest), findings: before, .. }) = &compared.published
    else {
        return Err(unchanged(subject));
    };
    // Also those between compared ones, which share their rule.
    let mut cells = compared.tuned();
    cells.extend(validation.round.iter().flat_map(Round::known));
    let (criteria, policy) = (before.criteria, before.tree.policy);
    let source = Source::of_measured(run, manifest.clone(), session)?;
    let (findings, tuning) = loop {
        let mut reverted = validation.reverted.clone();
        add_ranges(&mut reverted, published.state.reverted());
        let findings = source.decide_reverting(criteria, policy, &reverted)?;
        let tuning = tuning::decide(run, &findings, &manifest.pins)?;
        let left = ValidationSubject { tuning: tuning.clone(), ..compared.clone() };
        let is_other = |cell: &Cell| {
            let (then, now) = (compared.known(*cell), left.known(*cell));
            let has_rule = now.handed || !now.served.is_builtin();
            has_rule && (then.served, then.handed) != (now.served, now.handed)
        };
        let (others, kept): (Vec<Cell>, Vec<Cell>) = cells.iter().copied().partition(is_other);
        let kept: Vec<Cell> = kept.into_iter().filter(|cell| left.is_ruled(*cell)).collect();
        let ranges = withdraw(&others, &kept, (&tuning.table(), &tuning.han_rules()), subject.release);
        if !add_ranges(&mut validation.reverted, ranges) {
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
    subject.published = Some(Published { findings, tuning: Some(tuning.clone()), proof, ..published.clone() });
    subject.tuning = tuning;
    Ok(())
}

/// Writes what is left of a tuning from elsewhere into the directory of the result. The files stay as they are: jobs may be
/// reading them.
fn write_copy(
    home: &RunDir,
    started: &mut Started,
    subject: &mut ValidationSubject,
    validation: &Validation,
) -> Result<(), WorkflowError> {
    let header = |_: &str| header(subject);
    let Some(tuning) = subject.tuning.revert(subject.release, &validation.reverted, header)? else {
        return Err(unchanged(subject));
    };
    let tuning = tuning.moved(home.path(), rundir::RULES, rundir::HAN);
    prove::prove(started, home, &tuning, &subject.cells, not_obeyed)?;
    tuning.files().try_for_each(|(name, _, text)| home.write(name, text).map(drop))?;
    subject.tuning = tuning;
    Ok(())
}

/// Adds ranges; returns false if all are known.
pub(super) fn add_ranges(reverted: &mut Vec<RevertedRange>, ranges: Vec<RevertedRange>) -> bool {
    let before = reverted.len();
    for range in ranges {
        if !reverted.contains(&range) {
            reverted.push(range);
        }
    }
    reverted.len() > before
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

#[cfg(test)]
mod tests {
    use collrules_rules::Choice;

    use super::*;

    /// A rule that switches HAN off acts on sizes without a rule. If it goes, they have the default as well.
    #[test]
    fn a_size_on_which_nothing_acts_any_more_cannot_be_slower() {
        let default = CellFacts { tuned: true, served: Choice::BUILTIN, control: true, handed: false };
        let switched = CellFacts { control: false, ..default };
        let ruled = CellFacts { served: Choice::plain(6), ..switched };
        assert!(is_gone(switched, default) && is_gone(ruled, default) && is_gone(ruled, switched));
        assert!(!is_gone(default, default) && !is_gone(switched, switched) && !is_gone(ruled, ruled));
    }
}
