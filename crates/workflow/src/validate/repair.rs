//! Comparisons and repairs, until nothing is slower or nothing is left to give back.

use std::path::Path;
use std::time::Instant;

use collrules_record::rundir::{self, RunDir};
use collrules_record::validation::NotAgain;
use collrules_record::{Cell, Handover, Validation};
use collrules_rules::RuleTable;
use collrules_rules::emit::{Notes, Target, TargetFormat, write_accepting};
use collrules_rules::han::write as write_han;
use collrules_runner::proof::Proof;
use collrules_tuner::repair::{Reach, Repair, all_told, repair, without};

use super::comparison::Bench;
use super::kept::Original;
use super::subject::{RulesFrom, Subject, Tuned};
use crate::error::WorkflowError;
use crate::prove::{self, Draft};
use crate::publish::{self, Published};
use crate::session::Session;
use crate::{TOOL, analyze, served};

/// Compares, and repairs if that is wanted; the subject is then what was left behind. What is known is written to `home`
/// after each comparison, and what was given back once the repaired file is in place.
pub(super) fn rounds(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut Subject,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let mut validation = bench.validation(subject, Vec::new());
    validation.given_back = home.validation()?.map(|before| before.given_back).unwrap_or_default();
    loop {
        validation.rounds.push(bench.compare(home, subject, session)?);
        validation.not_again = None;
        let repair = wanted(bench, subject, &validation);
        home.write_validation(&validation)?;
        if repair.ranges.is_empty() {
            return Ok(validation);
        }
        session.say(&format!("{} to the builtin: {}", counted(repair.cells.len()), named(&repair.cells)));
        let begun = Instant::now();
        validation = repaired(home, bench, subject, with(&validation, &repair), &repair, session)?;
        bench.repair = begun.elapsed();
        if let Some(kept) = &subject.kept {
            session.say(&format!("{} is repaired; the old file is kept as {}", subject.shown, kept.display()));
        }
        if subject.is_empty() {
            session.say("no rule is left: the builtin serves all calls");
            return Ok(validation);
        }
        if !bench.share_the_rest() {
            session.say("the time is spent: what was repaired is not compared again");
            return Ok(validation);
        }
    }
}

/// Puts a repaired file in the place of the subject's, once it is proven, and says so in the validation.
fn repaired(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut Subject,
    claimed: Validation,
    repair: &Repair,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    if matches!(subject.origin, RulesFrom::Run(_)) {
        analyze_anew(home, bench, subject, claimed, session)
    } else {
        rewrite(home, bench, subject, claimed, repair)
    }
}

/// Decides on the run's samples anew, with what is to be given back, and puts all that comes of it in place of what was
/// there.
fn analyze_anew(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut Subject,
    mut claimed: Validation,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    let RulesFrom::Run(tuned) = &subject.origin else { return Ok(claimed) };
    let Tuned { run, manifest, findings: before } = tuned.as_ref().clone();
    let (criteria, policy) = (before.criteria, before.tree.policy);
    let findings = analyze::giving_back(&run, &manifest, criteria, policy, &claimed.given_back, session)?;
    if findings.table == subject.table && findings.handover == before.handover && findings.pins == before.pins {
        return Err(unchanged(subject));
    }
    let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let original = Original::of(&subject.file, subject.kept.as_deref())?;
    let text = publish::rules_text(&findings)?;
    let han = publish::han_text(&findings)?.map(|text| (text, &findings.handover));
    let draft = Draft { text: &text, table: &findings.table, han, release: subject.release, cells: &cells };
    let han_before = subject.han_file().map(|file| Original::of(&file, None)).transpose()?;
    let proof = put_in_place(bench, &run, (&original, han_before.as_ref()), &draft)?;
    subject.table = findings.table.clone();
    subject.handover = findings.handover.clone();
    subject.pins = served::pins(&manifest.pins, &findings);
    subject.kept.get_or_insert(original.kept);
    let tuning = publish::tuning(&run, &findings, subject.pins.clone());
    claimed.settings = tuning.by_name();
    claimed.not_again = not_again(subject, &claimed);
    home.write_validation(&claimed)?;
    publish::settings(&run, &tuning, session)?;
    let proof = prove::sentences(&findings, &proof, bench.backend.name(), bench.survey);
    let published = Published {
        run: run.clone(),
        findings: findings.clone(),
        manifest: Some(manifest.clone()),
        validation: if home.path() == run.path() { Some(claimed.clone()) } else { run.validation()? },
        proof,
    };
    published.write()?;
    subject.origin = RulesFrom::Run(Box::new(Tuned { run, manifest, findings }));
    Ok(claimed)
}

/// Writes a file of others anew, in place of itself.
fn rewrite(
    home: &RunDir,
    bench: &mut Bench<'_>,
    subject: &mut Subject,
    claimed: Validation,
    repair: &Repair,
) -> Result<Validation, WorkflowError> {
    let RulesFrom::Foreign(foreign) = &subject.origin else { return Err(unchanged(subject)) };
    let table = without(&subject.table, &repair.ranges);
    let han = foreign.without(subject.release, &repair.ranges);
    if table == subject.table && han.as_ref() == foreign.han.as_ref().map(|(_, table)| table) {
        return Err(unchanged(subject));
    }
    let before = std::fs::read(&subject.file).map_err(|cause| WorkflowError::open(&subject.file, cause))?;
    let original = Original::of(&subject.file, subject.kept.as_deref())?;
    let han_file = subject.han_file();
    let of_han = han_file.filter(|_| !subject.is_han_alone()).map(|file| Original::of(&file, None)).transpose()?;
    let text = in_format_of(&before, &table, subject, &original)?;
    let handover = han.as_ref().map(Handover::of_han).unwrap_or_default();
    let said = han.as_ref().map(|han| {
        let beside = of_han.as_ref().unwrap_or(&original);
        let text = write_han(han, &header(subject, beside));
        text.map_err(|error| WorkflowError::Input(format!("HAN's rules file cannot be written: {error}")))
    });
    let said = said.transpose()?;
    let draft_han = said.clone().map(|text| (text, &handover));
    let draft = Draft { text: &text, table: &table, han: draft_han, release: subject.release, cells: &subject.cells };
    prove::prove(bench.backend, home, &draft, not_obeyed, |_| {
        original.keep()?;
        of_han.as_ref().map(Original::keep).transpose()?;
        if !subject.is_han_alone() {
            original.replace(&text)?;
        }
        said.iter().try_for_each(|text| of_han.as_ref().unwrap_or(&original).replace(text))
    })?;
    // The proof leaves a file of HAN's where it worked.
    let _ = std::fs::remove_file(home.file(rundir::HAN));
    subject.put(table, han);
    subject.kept.get_or_insert(original.kept);
    let claimed = Validation { not_again: not_again(subject, &claimed), ..claimed };
    home.write_validation(&claimed)?;
    Ok(claimed)
}

fn wanted(bench: &Bench<'_>, subject: &Subject, validation: &Validation) -> Repair {
    if !bench.options.repair {
        return Repair::default();
    }
    let Some(round) = all_told(&validation.rounds) else { return Repair::default() };
    let halves = (&subject.table, &subject.handover);
    let inside = |cell: Cell| subject.inside(cell);
    let settles = |cell: Cell| subject.settles(cell);
    let reach = Reach { freed: subject.freed(), settles: &settles, inside: &inside };
    repair(&round, bench.criteria, halves, subject.release, subject.assumptions(), &reach)
}

/// What is true once the repair is in place.
fn with(validation: &Validation, repair: &Repair) -> Validation {
    let mut claimed = validation.clone();
    if let Some(round) = claimed.rounds.last_mut() {
        round.repaired = repair.cells.clone();
    }
    for range in &repair.ranges {
        if !claimed.given_back.contains(range) {
            claimed.given_back.push(*range);
        }
    }
    claimed
}

/// What is left of a subject that was repaired after the last comparison.
fn not_again(subject: &Subject, validation: &Validation) -> Option<NotAgain> {
    let round = validation.last().filter(|_| !subject.is_empty())?;
    let left = || round.cells.iter().map(|cell| (cell, subject.known(cell.cell))).filter(|(_, known)| !known.control);
    let otherwise = left().filter(|(cell, known)| (cell.served, cell.handed) != (known.served, known.handed));
    // What was given back is served as without the file, unless a setting acts on it.
    let otherwise = otherwise.filter(|(_, known)| known.handed || !known.served.is_builtin());
    Some(NotAgain { cells: left().count(), otherwise: otherwise.map(|(cell, _)| cell.cell).collect() })
}

/// Another comparison would show the same, and so on without end.
fn unchanged(subject: &Subject) -> WorkflowError {
    WorkflowError::NotRepaired { rules: subject.shown.clone() }
}

/// Shows in `directory` that a draft is obeyed, keeps the original, and puts the draft in its place.
fn put_in_place(
    bench: &mut Bench<'_>,
    directory: &RunDir,
    (original, han): (&Original, Option<&Original>),
    draft: &Draft<'_>,
) -> Result<Proof, WorkflowError> {
    prove::prove(bench.backend, directory, draft, not_obeyed, |_| {
        original.keep()?;
        han.map(Original::keep).transpose()?;
        original.replace(draft.text)
    })
}

fn not_obeyed(file: &Path) -> String {
    format!(
        "the repaired rules are NOT obeyed by this Open MPI; {} must not be installed, and the file that was compared \
         stays",
        file.display(),
    )
}

/// The table in the format that the file had.
fn in_format_of(
    before: &[u8],
    table: &RuleTable,
    subject: &Subject,
    original: &Original,
) -> Result<String, WorkflowError> {
    let format = match before.trim_ascii_start().first() {
        Some(b'{') => TargetFormat::Json,
        _ if before.starts_with(b"rule-file-version-") => TargetFormat::V2,
        _ => TargetFormat::Classic,
    };
    // Hazards of the file are its author's.
    let notes = Notes { header: header(subject, original), ..Notes::default() };
    Ok(write_accepting(table, &notes, &Target::all(format), |_| true)?)
}

/// What a file that was written anew says of itself.
fn header(subject: &Subject, original: &Original) -> Vec<String> {
    vec![
        format!("{TOOL}: {} without what was slower than the builtin", subject.shown),
        format!("under Open MPI {}; the file as it was is beside it:", subject.version),
        original.name(),
    ]
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell is given back".to_owned() } else { format!("{cells} cells are given back") }
}

fn named(cells: &[Cell]) -> String {
    const NAMED: usize = 4;
    let mut names: Vec<String> = cells.iter().take(NAMED).map(ToString::to_string).collect();
    if cells.len() > NAMED {
        names.push(format!("{} more", cells.len() - NAMED));
    }
    names.join(", ")
}
