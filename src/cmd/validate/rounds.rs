//! Comparisons and repairs, until nothing is slower or nothing is left to give back.

use std::path::Path;

use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Validation};
use collrules_report::Context;
use collrules_rules::emit::Notes;
use collrules_rules::emit::{Target, TargetFormat, write_accepting};
use collrules_rules::{Release, RuleTable};
use collrules_runner::proof::{self, Proof};
use collrules_tuner::repair::{Repair, repair, without};

use super::comparison::Bench;
use super::kept::Original;
use super::subject::Subject;
use crate::cmd::{analyze, served, tune};
use crate::deliver;
use crate::failure::Failure;
use crate::progress::say;

/// Comparisons and repairs of one file.
pub(super) struct Rounds<'a> {
    /// Where results go.
    pub(super) home: &'a RunDir,
}

impl Rounds<'_> {
    /// Compares, and repairs if that is wanted; the subject is then what was left behind. What is known is written after
    /// each comparison, and what was given back once the repaired file is in place.
    pub(super) fn run(&self, bench: &mut Bench<'_>, subject: &mut Subject) -> Result<Validation, Failure> {
        let mut validation = bench.validation(subject, Vec::new());
        validation.given_back = self.home.validation()?.map(|before| before.given_back).unwrap_or_default();
        loop {
            validation.rounds.push(bench.compare(self.home, subject)?);
            bench.share_the_rest();
            let repair = wanted(bench, subject, &validation);
            self.write(&validation)?;
            if repair.ranges.is_empty() {
                return Ok(validation);
            }
            say(&format!("{} way to the builtin: {}", counted(repair.cells.len()), named(&repair.cells)));
            let claimed = with(&validation, &repair);
            validation = if subject.run.is_some() && subject.manifest.is_some() {
                self.analyze_anew(bench, subject, claimed)?
            } else {
                self.rewrite(bench, subject, claimed, &repair)?
            };
            if let Some(kept) = &subject.kept {
                say(&format!("{} is repaired; what it was is kept as {}", subject.shown, kept.display()));
            }
            if subject.table.is_empty() {
                say("nothing is left of the rules: the builtin serves all calls");
                return Ok(validation);
            }
        }
    }

    fn write(&self, validation: &Validation) -> Result<(), Failure> {
        self.home.write(rundir::VALIDATION, &(serde_json::to_string_pretty(validation)? + "\n"))?;
        Ok(())
    }

    /// Decides on the run's samples anew, with what is to be given back, and puts all that comes of it in place of what was
    /// there, once it is proven.
    fn analyze_anew(
        &self,
        bench: &mut Bench<'_>,
        subject: &mut Subject,
        mut claimed: Validation,
    ) -> Result<Validation, Failure> {
        let (Some(run), Some(manifest), Some(before)) = (&subject.run, &subject.manifest, &subject.findings) else {
            return Ok(claimed);
        };
        let (criteria, policy) = (before.criteria, before.tree.policy);
        let findings = analyze::findings_under(run, manifest, subject.release, criteria, policy, &claimed.given_back)?;
        if findings.table == subject.table && findings.pins == subject.needed {
            return Err(unchanged(subject));
        }
        let pins = served::pins(&manifest.pins, &findings);
        let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
        let original = Original::of(&subject.file, subject.kept.as_deref())?;
        let text = deliver::rules_text(&findings)?;
        let proof = put_in_place(bench, run, &original, &text, &findings.table, subject.release, &cells)?;
        subject.pins = pins;
        claimed.settings = subject.settings();
        self.write(&claimed)?;
        deliver::findings(run, &findings)?;
        deliver::settings(run, &subject.pins)?;
        let context = Context {
            manifest: Some(manifest),
            switch_on: deliver::switch_on(run, &findings, &subject.pins),
            proof: tune::shown(&findings, &proof, bench.backend.name(), bench.survey),
            tool: deliver::TOOL.to_owned(),
            validation: Some(&claimed),
        };
        deliver::report(run, &findings, &context)?;
        subject.table = findings.table.clone();
        subject.needed = findings.pins.clone();
        subject.findings = Some(findings);
        subject.proof = Some(proof);
        subject.kept.get_or_insert(original.kept);
        Ok(claimed)
    }

    /// Writes a file of others anew, in place of itself, once that is proven.
    fn rewrite(
        &self,
        bench: &mut Bench<'_>,
        subject: &mut Subject,
        claimed: Validation,
        repair: &Repair,
    ) -> Result<Validation, Failure> {
        let table = without(&subject.table, &repair.ranges);
        if table == subject.table {
            return Err(unchanged(subject));
        }
        let before =
            std::fs::read(&subject.file).map_err(|cause| Failure::Open { path: subject.file.clone(), cause })?;
        let original = Original::of(&subject.file, subject.kept.as_deref())?;
        let text = in_format_of(&before, &table, subject, &original)?;
        put_in_place(bench, self.home, &original, &text, &table, subject.release, &subject.cells)?;
        subject.table = table;
        subject.kept.get_or_insert(original.kept);
        self.write(&claimed)?;
        Ok(claimed)
    }
}

fn wanted(bench: &Bench<'_>, subject: &Subject, validation: &Validation) -> Repair {
    let Some(round) = validation.last().filter(|_| bench.repair) else { return Repair::default() };
    repair(round, bench.criteria, &subject.table, subject.release, subject.assumptions, &subject.freed())
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

/// Another comparison would show the same, and so on without end.
fn unchanged(subject: &Subject) -> Failure {
    Failure::NotRepaired { rules: subject.shown.clone() }
}

/// Shows in `directory` that a text is obeyed, keeps the original, and puts the text in its place. Only a text that is not
/// obeyed stays there, to be looked at.
fn put_in_place(
    bench: &mut Bench<'_>,
    directory: &RunDir,
    original: &Original,
    text: &str,
    table: &RuleTable,
    release: Release,
    cells: &[Cell],
) -> Result<Proof, Failure> {
    let unproven = directory.write(rundir::UNPROVEN, text)?;
    let placed = proof::prove(bench.backend, &unproven, directory.path(), table, release, cells)
        .map_err(Failure::from)
        .and_then(|proof| {
            refuse(&unproven, &proof)?;
            original.keep()?;
            let written = rundir::replace(&original.file, text);
            written.map_err(|cause| Failure::Write { path: original.file.clone(), cause })?;
            Ok(proof)
        });
    if !matches!(placed, Err(Failure::Unproven { .. })) {
        let _ = std::fs::remove_file(&unproven);
    }
    placed
}

/// The table in the format that the file had.
fn in_format_of(before: &[u8], table: &RuleTable, subject: &Subject, original: &Original) -> Result<String, Failure> {
    let format = match before.trim_ascii_start().first() {
        Some(b'{') => TargetFormat::Json,
        _ if before.starts_with(b"rule-file-version-") => TargetFormat::V2,
        _ => TargetFormat::Classic,
    };
    let header = vec![
        format!("{}: {} without what was slower than the builtin", deliver::TOOL, subject.shown),
        format!("under Open MPI {}; the file as it was is beside it:", subject.version),
        original.name(),
    ];
    // Hazards of the file are its author's.
    Ok(write_accepting(table, &Notes { header, ..Notes::default() }, &Target::all(format), |_| true)?)
}

fn refuse(file: &Path, proof: &Proof) -> Result<(), Failure> {
    if proof.faults.is_empty() {
        return Ok(());
    }
    let what = format!(
        "the repaired rules are NOT obeyed by this Open MPI; {} must not be installed, and the file that was compared \
         stays",
        file.display(),
    );
    Err(Failure::unproven(what, proof))
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell gives".to_owned() } else { format!("{cells} cells give") }
}

fn named(cells: &[Cell]) -> String {
    const NAMED: usize = 4;
    let mut names: Vec<String> = cells.iter().take(NAMED).map(ToString::to_string).collect();
    if cells.len() > NAMED {
        names.push(format!("{} more", cells.len() - NAMED));
    }
    names.join(", ")
}
