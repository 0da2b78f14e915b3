//! Comparisons and repairs, until nothing is slower or nothing is left to give back.

use std::path::{Path, PathBuf};

use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Validation};
use collrules_report::Context;
use collrules_rules::classic::Notes;
use collrules_rules::emit::{Target, TargetFormat, write_accepting};
use collrules_runner::proof::{self, Proof};
use collrules_tuner::repair::{Repair, repair, without};

use super::comparison::Bench;
use super::subject::Subject;
use crate::cmd::{analyze, served, tune};
use crate::deliver;
use crate::failure::Failure;
use crate::progress::say;

/// How far to go.
pub(super) struct Rounds<'a> {
    /// Where results go.
    pub(super) home: &'a RunDir,
    /// Whether to give back what is slower.
    pub(super) repair: bool,
}

impl Rounds<'_> {
    /// Compares, and repairs if that is wanted; the subject is then what was left behind. What is known is written after
    /// each comparison.
    pub(super) fn run(&self, bench: &mut Bench<'_>, subject: &mut Subject) -> Result<Validation, Failure> {
        let mut validation = bench.validation(subject, Vec::new());
        validation.given_back = self.home.validation()?.map(|before| before.given_back).unwrap_or_default();
        loop {
            validation.rounds.push(bench.compare(self.home, subject)?);
            bench.share_the_rest();
            let Repair { cells, ranges } = self.wanted(bench, subject, &validation);
            if ranges.is_empty() {
                self.write(&validation)?;
                return Ok(validation);
            }
            say(&format!("{} way to the builtin: {}", counted(cells.len()), named(&cells)));
            if let Some(round) = validation.rounds.last_mut() {
                round.repaired = cells;
            }
            validation.given_back.extend(ranges.iter().copied());
            let repaired = without(&subject.table, &ranges);
            // An analysis of the run reads it.
            self.write(&validation)?;
            if subject.run.is_some() && subject.manifest.is_some() {
                self.analyze_anew(bench, subject, &validation)?;
            } else {
                subject.table = repaired;
                self.rewrite(bench, subject)?;
            }
            validation.settings = subject.settings();
            self.write(&validation)?;
            if subject.table.is_empty() {
                say("nothing is left of the rules: the builtin serves all calls");
                return Ok(validation);
            }
        }
    }

    fn wanted(&self, bench: &Bench<'_>, subject: &Subject, validation: &Validation) -> Repair {
        let Some(round) = validation.last().filter(|_| self.repair) else { return Repair::default() };
        repair(round, bench.criteria, &subject.table, subject.release, subject.assumptions, &subject.freed())
    }

    fn write(&self, validation: &Validation) -> Result<(), Failure> {
        self.home.write(rundir::VALIDATION, &(serde_json::to_string_pretty(validation)? + "\n"))?;
        Ok(())
    }

    /// Decides on the run's samples anew, with what was given back, and puts all that comes of it in place of what was there, once
    /// it is proven.
    fn analyze_anew(
        &self,
        bench: &mut Bench<'_>,
        subject: &mut Subject,
        validation: &Validation,
    ) -> Result<(), Failure> {
        let (Some(run), Some(manifest), Some(before)) = (&subject.run, &subject.manifest, &subject.findings) else {
            return Ok(());
        };
        let findings = analyze::findings_under(run, manifest, subject.release, before.criteria, before.tree.policy)?;
        let pins = served::pins(&manifest.pins, &findings);
        deliver::rules(run, &findings, rundir::UNPROVEN)?;
        let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
        let unproven = run.file(rundir::UNPROVEN);
        let proof = proof::prove(bench.backend, &unproven, run.path(), &findings.table, subject.release, &cells)?;
        refuse(&unproven, &proof)?;
        keep(&subject.file, &run.file(rundir::BEFORE_REPAIR))?;
        run.rename(rundir::UNPROVEN, rundir::RULES)?;
        deliver::settings(run, &pins)?;
        let context = Context {
            manifest: Some(manifest),
            switch_on: deliver::switch_on(run, &findings, &pins),
            proof: tune::shown(&findings, &proof, bench.backend.name(), bench.survey),
            tool: deliver::TOOL.to_owned(),
            validation: Some(validation),
        };
        deliver::report(run, &findings, &context)?;
        subject.table = findings.table.clone();
        subject.needed = findings.pins.clone();
        subject.pins = pins;
        subject.findings = Some(findings);
        subject.proof = Some(proof);
        Ok(())
    }

    /// Writes a file of others anew, in place of itself, once that is proven.
    fn rewrite(&self, bench: &mut Bench<'_>, subject: &Subject) -> Result<(), Failure> {
        let before = std::fs::read_to_string(&subject.file)
            .map_err(|cause| Failure::Open { path: subject.file.clone(), cause })?;
        let text = in_format_of(&before, subject)?;
        let unproven = self.home.write(rundir::UNPROVEN, &text)?;
        let proof =
            proof::prove(bench.backend, &unproven, self.home.path(), &subject.table, subject.release, &subject.cells)?;
        refuse(&unproven, &proof)?;
        keep(&subject.file, &beside(&subject.file))?;
        let written = rundir::replace(&subject.file, &text);
        written.map_err(|cause| Failure::Write { path: subject.file.clone(), cause })?;
        // The proven text is in place: what held it until then is not needed any more.
        let _ = std::fs::remove_file(&unproven);
        Ok(())
    }
}

/// The table in the format that the file had.
fn in_format_of(before: &str, subject: &Subject) -> Result<String, Failure> {
    let format = match before.trim_start().chars().next() {
        Some('{') => TargetFormat::Json,
        _ if before.starts_with("rule-file-version-") => TargetFormat::V2,
        _ => TargetFormat::Classic,
    };
    let header = vec![
        format!("{}: {} without what was slower than the builtin", deliver::TOOL, subject.shown),
        format!("under Open MPI {}; the file as it was is beside it.", subject.version),
    ];
    // Hazards of the file are its author's.
    Ok(write_accepting(&subject.table, &Notes { header, ..Notes::default() }, &Target::all(format), |_| true)?)
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".before-repair");
    file.with_file_name(name)
}

/// Keeps the file as it was before the first repair.
fn keep(file: &Path, kept: &Path) -> Result<(), Failure> {
    if kept.exists() {
        return Ok(());
    }
    std::fs::copy(file, kept).map(drop).map_err(|cause| Failure::Write { path: kept.to_owned(), cause })
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
