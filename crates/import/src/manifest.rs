//! Where imported numbers come from, as far as that is known: nothing is made up for what no file says.

use std::collections::BTreeSet;
use std::path::PathBuf;

use collrules_rules::Release;
use collrules_rules::words::counted;
use serde::{Deserialize, Serialize};

use super::collect::{Import, Source};
use super::finding::{Code, Finding, Severity};
use super::imported::Imported;
use collrules_record::findings::Statistic;
use collrules_record::manifest::{FORMAT, FormatVersion, IMPORTED, now};
use collrules_record::rundir::{self, RunDir, RunDirError};
use collrules_record::{Candidate, Cell};

/// The version of `import.json` that this version writes: since 1.1 findings name their points.
const REPORT_FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// The manifest of a run that was imported. It has no survey and no plan: nobody looked at the system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportManifest {
    /// The format of the run directory.
    pub format: FormatVersion,
    /// The version of collrules that imported.
    pub collrules: String,
    /// When it was imported, in UTC, as in RFC 3339. When it was measured is not known.
    pub imported: String,
    /// Always [`IMPORTED`].
    pub backend: String,
    /// The command line of collrules.
    pub command: Vec<String>,
    /// The release whose algorithm numbers are meant.
    pub release: Release,
    /// Whether the user said so; otherwise it is assumed.
    pub release_stated: bool,
    /// What one timing is.
    pub statistic: Statistic,
    /// The files that the timings come from.
    pub sources: Vec<Source>,
}

/// What was noticed, as in `import.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The format of this file.
    pub format: FormatVersion,
    /// By file and line.
    pub findings: Vec<Finding>,
}

impl ImportManifest {
    /// The manifest of an import that happens now.
    pub fn new(import: &Import, release: Release, release_stated: bool, command: Vec<String>, version: &str) -> Self {
        Self {
            format: FORMAT,
            collrules: version.to_owned(),
            imported: now(),
            backend: IMPORTED.to_owned(),
            command,
            release,
            release_stated,
            statistic: import.statistic,
            sources: import.sources.clone(),
        }
    }
}

impl ImportReport {
    /// The report of an import.
    pub fn new(import: &Import) -> Self {
        Self { format: REPORT_FORMAT, findings: import.findings.clone() }
    }
}

/// Makes the run directory of an import, whole. Refuses what [`RunDir::create`] refuses.
pub fn create(path: impl Into<PathBuf>, manifest: &ImportManifest, import: &Import) -> Result<RunDir, RunDirError> {
    let run = RunDir::prepare_derived(path)?;
    // The manifest last: what has one is complete.
    run.write(rundir::SAMPLES, &rundir::samples_text(import.timings.iter().map(Imported::to_row)))?;
    run.write_json(rundir::IMPORT, &ImportReport::new(import))?;
    run.write_json(rundir::MANIFEST, manifest)?;
    Ok(run)
}

/// The manifest and the report of an import, if the run is one.
pub fn open(run: &RunDir) -> Result<Option<(ImportManifest, ImportReport)>, RunDirError> {
    if !run.is_imported()? {
        return Ok(None);
    }
    Ok(Some((run.read_json(rundir::MANIFEST, FORMAT)?, run.read_json(rundir::IMPORT, REPORT_FORMAT)?)))
}

/// What the findings of an analysis have to say about an import: whole sentences.
pub fn remarks(findings: &[Finding]) -> Vec<String> {
    let mut remarks: Vec<String> = findings
        .iter()
        .filter(|finding| is_suspicion(finding.code))
        .map(|finding| {
            let line = finding.line.map_or(String::new(), |line| format!(", line {line}"));
            let what = if finding.left_out { "left out" } else { "kept" };
            format!("Suspicious in {}{line}: {} ({what}).", finding.file, finding.message)
        })
        .collect();
    let lost: usize = findings
        .iter()
        .filter(|finding| finding.left_out && finding.severity >= Severity::Warning && !is_suspicion(finding.code))
        .map(|finding| finding.timings)
        .sum();
    if lost > 0 {
        let rows = counted(lost, "row");
        remarks.push(format!("{rows} of the imported files could not be used; import.json names what and why."));
    }
    remarks
}

/// The points that were kept though their times can hardly be true.
pub fn doubted(findings: &[Finding]) -> BTreeSet<(Cell, Candidate)> {
    findings.iter().filter(|finding| !finding.left_out).flat_map(|finding| &finding.points).copied().collect()
}

/// Whether it is a judgement about a number rather than about a row.
pub fn is_suspicion(code: Code) -> bool {
    matches!(code, Code::Gap | Code::Outlier | Code::UnitSlip | Code::DigitSlip | Code::Bandwidth | Code::TwinColumn)
}
