//! Origin of imported numbers, as far as the files say.

use std::collections::BTreeSet;
use std::path::PathBuf;

use collrules_record::findings::Statistic;
use collrules_record::manifest::{FORMAT, IMPORTED, now};
use collrules_record::remark::Remark;
use collrules_record::rundir::{self, RunDir, RunDirError};
use collrules_record::{Candidate, Cell, FormatVersion};
use collrules_rules::Release;
use serde::{Deserialize, Serialize};

use super::collect::{Import, SourceFile};
use super::finding::{Finding, FindingSeverity};
use super::timing::Imported;

/// The version of `import.json` that this version writes.
const REPORT_FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The manifest of a run that was imported. It has no survey and no plan, since the system was not surveyed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportManifest {
    /// The format of the run directory.
    pub format: FormatVersion,
    /// The version of collrules that imported.
    pub collrules: String,
    /// Time of the import in UTC, as in RFC 3339. The time of the measurement is unknown.
    pub imported: String,
    /// Always [`IMPORTED`].
    pub backend: String,
    /// The command line of collrules.
    pub command: Vec<String>,
    /// The release whose algorithm numbers are meant.
    pub release: Release,
    /// True if the user named it; otherwise it is assumed.
    pub release_stated: bool,
    /// Statistic that each timing holds.
    pub statistic: Statistic,
    /// The files that the timings come from.
    pub sources: Vec<SourceFile>,
}

/// Findings of an import, as in `import.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The format of this file.
    pub format: FormatVersion,
    /// By file and line.
    pub findings: Vec<Finding>,
}

impl ImportManifest {
    /// The manifest of an import made now.
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

/// Creates the run directory of an import. Fails like [`RunDir::create`].
pub fn create(path: impl Into<PathBuf>, manifest: &ImportManifest, import: &Import) -> Result<RunDir, RunDirError> {
    let run = RunDir::prepare_derived(path)?;
    // The manifest last: what has one is complete.
    run.write(rundir::SAMPLES, rundir::samples_text(import.timings.iter().map(Imported::to_row)))?;
    run.write_json(rundir::IMPORT, &ImportReport::new(import))?;
    run.write_json(rundir::MANIFEST, manifest)?;
    run.seal()?;
    Ok(run)
}

/// The manifest and the report of an import, if the run is one.
pub fn open(run: &RunDir) -> Result<Option<(ImportManifest, ImportReport)>, RunDirError> {
    if !run.is_imported()? {
        return Ok(None);
    }
    Ok(Some((run.read_json(rundir::MANIFEST, FORMAT)?, run.read_json(rundir::IMPORT, REPORT_FORMAT)?)))
}

/// Returns the remarks on an import for the findings of an analysis.
pub fn remarks(findings: &[Finding]) -> Vec<Remark> {
    let (suspicious, others): (Vec<_>, Vec<_>) = findings.iter().cloned().partition(|it| it.code.is_suspicion());
    let remark = |Finding { file, line, message, left_out, .. }| Remark::Suspicious { file, line, message, left_out };
    let is_lost = |finding: &&Finding| finding.left_out && finding.severity >= FindingSeverity::Warning;
    let rows: usize = others.iter().filter(is_lost).map(|finding| finding.timings).sum();
    suspicious.into_iter().map(remark).chain((rows > 0).then_some(Remark::LostImports(rows))).collect()
}

/// The points that were imported although their times are implausible.
pub fn doubted(findings: &[Finding]) -> BTreeSet<(Cell, Candidate)> {
    findings.iter().filter(|finding| !finding.left_out).flat_map(|finding| &finding.points).copied().collect()
}
