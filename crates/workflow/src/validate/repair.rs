//! Comparisons and repairs, until nothing is slower or nothing is left to revert.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::validation::NotAgain;
use collrules_record::{Cell, Manifest, Tuning, Validation};
use collrules_report::progress;
use collrules_tuner::repair::{Reach, Repair, join_rounds, repair, share_gains, withdraw};

use super::comparison::{Bench, left};
use super::conditions::{SHARE, check_conditions, ruled_cells};
use super::kept::Original;
use super::subject::ValidationSubject;
use crate::error::WorkflowError;
use crate::evidence;
use crate::publish::{self, Published};
use crate::session::Session;
use crate::{TOOL, analyze, prove, tuning};

/// Compares and, if wanted, repairs; then once more under each other condition.
pub(super) fn rounds(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    if !ruled_cells(subject).is_empty() {
        bench.reserved = left(bench.until())
            .map_or(Duration::ZERO, |left| Duration::try_from_secs_f64(SHARE * left.0).unwrap_or_default());
    }
    let validation = confirm(home, bench, subject, session)?;
    check_conditions(home, bench, subject, validation, session)
}

/// Compares and, if wanted, repairs; `subject` is then the repaired tuning. Results are written to `home` after each
/// comparison, and the reverted ranges once the repaired file is in place.
fn confirm(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let mut validation = bench.validation(subject, Vec::new());
    let before = home.validation()?.filter(|before| before.is_about(&subject.tuning.digests()));
    validation.reverted = before.map(|before| before.reverted).unwrap_or_default();
    loop {
        validation.rounds.push(bench.compare(home, subject, session)?);
        validation.not_again = None;
        let repair = wanted(bench, subject, &validation);
        home.write_validation(&validation)?;
        if repair.ranges.is_empty() {
            return Ok(validation);
        }
        if !repair.cells.is_empty() {
            session.say(&progress::validation::removed(&repair.cells));
        }
        let begun = Instant::now();
        validation = apply_repair(home, bench, subject, claim(&validation, &repair), &repair, session)?;
        bench.repair = begun.elapsed();
        if let Some(kept) = &subject.kept {
            session.say(&progress::validation::repaired(&subject.name(), kept));
        }
        if subject.is_empty() {
            session.say(progress::validation::no_rule_left());
        }
        // Otherwise what is left is as it was confirmed.
        let is_changed = validation.not_again.as_ref().is_some_and(|left| !left.otherwise.is_empty());
        if !is_changed || !bench.share_the_rest() {
            return withdraw_uncompared(home, bench, subject, validation, session);
        }
    }
}

/// Number of times that unconfirmed rules are removed without another comparison: the analysis without them may find
/// others.
const WITHDRAWALS: usize = 4;

/// Removes the rules that a repair changed, if no time is left to compare them.
pub(super) fn withdraw_uncompared(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    mut validation: Validation,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    for _ in 0..WITHDRAWALS {
        let Some(NotAgain { otherwise, .. }) = validation.not_again.take().filter(|_| !subject.is_empty()) else {
            break;
        };
        if otherwise.is_empty() {
            break;
        }
        session.say(&progress::validation::changes_left_out(&otherwise));
        validation = withdraw_cells(home, bench, subject, (validation, otherwise), session)?;
    }
    if validation.not_again.as_ref().is_some_and(|left| left.otherwise.is_empty()) {
        validation.not_again = None;
    }
    home.write_validation(&validation)?;
    Ok(validation)
}

/// Removes the rules for cells that another comparison showed to be slower, and those that this changes.
pub(super) fn remove(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    (validation, cells): (Validation, Vec<Cell>),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let validation = withdraw_cells(home, bench, subject, (validation, cells), session)?;
    withdraw_uncompared(home, bench, subject, validation, session)
}

/// Removes the rules for cells, as a result of the last comparison.
fn withdraw_cells(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    (validation, cells): (Validation, Vec<Cell>),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let ranges = withdraw(&cells, (&subject.tuning.table(), &subject.tuning.han_rules()), subject.release);
    let repair = Repair { cells, ranges };
    let mut claimed = claim(&validation, &repair);
    if let (Some(round), Some(before)) = (claimed.rounds.last_mut(), validation.last()) {
        round.repaired = before.repaired.iter().chain(&repair.cells).copied().collect();
        round.repaired.sort_unstable();
        round.repaired.dedup();
    }
    apply_repair(home, bench, subject, claimed, &repair, session)
}

/// Replaces the subject's file with a proven repaired one, and records that in the validation.
pub(super) fn apply_repair(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    validation: Validation,
    repair: &Repair,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    match &subject.published {
        Some(Published { run, manifest: Some(manifest), findings, .. }) => {
            let (run, manifest, before) = (run.clone(), manifest.clone(), findings.clone());
            analyze_anew(home, bench, subject, validation, (run, manifest, &before), session)
        }
        Some(_) => Err(unchanged(subject)),
        None => rewrite(home, bench, subject, validation, repair),
    }
}

/// Analyses the run's samples again with the ranges to revert, and replaces earlier results.
fn analyze_anew(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    mut validation: Validation,
    (run, manifest, before): (RunDir, Manifest, &Findings),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let (criteria, policy) = (before.criteria, before.tree.policy);
    let findings = analyze::analyze_reverting(&run, &manifest, criteria, policy, &validation.reverted, session)?;
    let mut tuning = tuning::decide(&run, &findings, &manifest.pins)?;
    if let Some((file, before)) = tuning.tuned.as_mut().zip(subject.tuning.tuned.as_ref()) {
        file.path.clone_from(&before.path);
    }
    if subject.tuning.differs_from(&findings).is_none() && subject.tuning.parameters == tuning.parameters {
        return Err(unchanged(subject));
    }
    let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let originals = originals(subject)?;
    let proof = prove::prove(bench.backend, &run, &tuning, (subject.release, &cells), not_obeyed, || {
        originals.values().try_for_each(Original::keep)?;
        replace(rundir::RULES, &tuning, &originals)?;
        prove::name_han(&run, &tuning)?;
        run.write_findings(&findings)?;
        evidence::carry_over(&run, &subject.tuning, &tuning, true)
    })?;
    subject.tuning = tuning.clone();
    validation.bind(tuning.digests());
    subject.kept.get_or_insert_with(|| backup_name(&originals));
    validation.settings = tuning.settings().by_name();
    validation.not_again = not_again(subject, &validation);
    home.write_validation(&validation)?;
    let proof = prove::facts(&findings, &proof, bench.backend.name(), bench.survey);
    subject.published = Some(publish::place(run, findings, Some(manifest), tuning, proof, session)?);
    Ok(validation)
}

/// Rewrites a file from elsewhere.
fn rewrite(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut ValidationSubject,
    mut validation: Validation,
    repair: &Repair,
) -> Result<Validation, WorkflowError> {
    let originals = originals(subject)?;
    let header = |name: &str| header(subject, originals.get(name).map(Original::name));
    let Some(tuning) = subject.tuning.revert(subject.release, &repair.ranges, header)? else {
        return Err(unchanged(subject));
    };
    prove::prove(bench.backend, home, &tuning, (subject.release, &subject.cells), not_obeyed, || {
        originals.values().try_for_each(Original::keep)?;
        [rundir::RULES, rundir::HAN].iter().try_for_each(|name| replace(name, &tuning, &originals))
    })?;
    subject.tuning = tuning;
    validation.bind(subject.tuning.digests());
    subject.kept.get_or_insert_with(|| backup_name(&originals));
    let validation = Validation { not_again: not_again(subject, &validation), ..validation };
    home.write_validation(&validation)?;
    Ok(validation)
}

/// The originals of a tuning's files, by their names in a run directory.
type Originals = BTreeMap<&'static str, Original>;

fn originals(subject: &ValidationSubject) -> Result<Originals, WorkflowError> {
    // An earlier repair copied the first of them.
    let mut kept = subject.kept.as_deref();
    subject.tuning.files().map(|(name, path, _)| Ok((name, Original::new(path, kept.take())?))).collect()
}

/// The name of the copy of the file that represents a tuning.
fn backup_name(originals: &Originals) -> PathBuf {
    let original = originals.get(rundir::RULES).or_else(|| originals.get(rundir::HAN));
    original.map(|original| original.kept.clone()).unwrap_or_default()
}

/// Replaces a file of a tuning.
fn replace(file: &str, tuning: &Tuning, originals: &Originals) -> Result<(), WorkflowError> {
    let text = tuning.files().find(|(name, ..)| *name == file).map(|(.., text)| text);
    text.zip(originals.get(file)).map_or(Ok(()), |(text, original)| original.replace(text))
}

fn wanted(bench: &Bench<'_>, subject: &ValidationSubject, validation: &Validation) -> Repair {
    if !bench.options.repair {
        return Repair::default();
    }
    let Some(mut round) = join_rounds(&validation.rounds, bench.criteria) else { return Repair::default() };
    let layouts = &bench.layouts;
    share_gains(&mut round, |cell| layouts.awaited.contains(&(cell.collective, cell.ranks)), &layouts.compared);
    let (table, han) = (subject.tuning.table(), subject.tuning.han_rules());
    let inside = |cell: Cell| subject.inside(cell);
    let below = |cell: Cell| subject.acts_below(cell);
    let reach = Reach { freed: subject.freed(), below: &below, inside: &inside };
    let halves = (&table, &han);
    repair(&round, bench.criteria, halves, subject.release, subject.assumptions(), &reach)
}

/// Returns the validation that is valid after the repair.
fn claim(validation: &Validation, repair: &Repair) -> Validation {
    let mut claimed = validation.clone();
    if let Some(round) = claimed.rounds.last_mut() {
        round.repaired = repair.cells.clone();
    }
    for range in &repair.ranges {
        if !claimed.reverted.contains(range) {
            claimed.reverted.push(*range);
        }
    }
    claimed
}

/// Returns the parts of a repaired subject that were not compared after the repair.
fn not_again(subject: &ValidationSubject, validation: &Validation) -> Option<NotAgain> {
    let round = validation.last().filter(|_| !subject.is_empty())?;
    let left = || round.cells.iter().map(|cell| (cell, subject.known(cell.cell))).filter(|(_, known)| !known.control);
    let otherwise = left().filter(|(cell, known)| (cell.served, cell.handed) != (known.served, known.handed));
    // Reverted cells run as without the file, unless a setting acts on them.
    let otherwise = otherwise.filter(|(_, known)| known.handed || !known.served.is_builtin());
    Some(NotAgain { cells: left().count(), otherwise: otherwise.map(|(cell, _)| cell.cell).collect() })
}

/// Error if a repair changes nothing: another comparison would have an identical result, endlessly.
fn unchanged(subject: &ValidationSubject) -> WorkflowError {
    WorkflowError::NotRepaired { rules: subject.name() }
}

fn not_obeyed(file: &Path) -> String {
    format!(
        "this Open MPI does NOT obey the repaired rules; {} must not be installed, and the compared file stays",
        file.display(),
    )
}

/// Returns the comment at the top of a rewritten file.
fn header(subject: &ValidationSubject, original: Option<String>) -> Vec<String> {
    let mut lines = vec![
        format!("{TOOL}: {} without the rules that were slower than the default", subject.name()),
        format!("under Open MPI {}; the old file is next to it:", subject.version),
    ];
    lines.extend(original);
    lines
}
