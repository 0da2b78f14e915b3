//! JSON files of a run directory. One function reads them and checks the format first; one writes them, whole or not at
//! all.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounded::read_text;
use super::error::{FoundPath, RunDirError, check_format};
use super::{
    FILES, FINDINGS, HAN, HAN_UNPROVEN, LAUNCHES, MANIFEST, NEXT_STATE, PROOF, RULES, RunDir, SETTINGS, STATE,
    UNPROVEN, VALIDATION, refinement,
};
use crate::file::{Digests, FormatVersion};
use crate::findings::{self, Findings};
use crate::manifest::{self, IMPORTED, MEASURED, Manifest, SIMULATED};
use crate::plan::Plan;
use crate::proof::{self, ProofFact, ShownProof};
use crate::settings::{self, SettingsFindings};
use crate::state::{self, TuningState};
use crate::validation::{self, Validation};

/// Head of every file: its format tells if the rest can be read.
#[derive(Deserialize)]
struct Head {
    format: FormatVersion,
    /// The backend; only in manifests.
    #[serde(default)]
    backend: String,
}

impl RunDir {
    /// Reads the manifest of a run that was measured.
    pub fn manifest(&self) -> Result<Manifest, RunDirError> {
        if self.is_imported()? {
            return Err(RunDirError::Imported { path: self.path().to_owned() });
        }
        let manifest: Manifest = self.read_json(MANIFEST, manifest::FORMAT)?;
        manifest.plan.check().map_err(|cause| RunDirError::Damaged { path: self.file(MANIFEST), cause })?;
        Ok(manifest)
    }

    /// Returns true if the timings were imported, so that the system is unknown. Refuses an unknown backend: its times
    /// may be real or not.
    pub fn is_imported(&self) -> Result<bool, RunDirError> {
        let path = self.file(MANIFEST);
        let backend = head(&path, &text_of(&path)?, manifest::FORMAT)?.backend;
        if [IMPORTED, MEASURED, SIMULATED].contains(&backend.as_str()) {
            return Ok(backend == IMPORTED);
        }
        let backend = backend.escape_debug().to_string();
        let cause = format!("its backend `{backend}` is none of {MEASURED}, {SIMULATED} and {IMPORTED}");
        Err(RunDirError::Damaged { path, cause })
    }

    /// Replaces the manifest.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), RunDirError> {
        self.write_plan(MANIFEST, manifest)
    }

    /// Replaces a file with a plan, after the journal has announced it.
    fn write_plan(&self, name: &str, content: &impl Serialize) -> Result<(), RunDirError> {
        if self.file(LAUNCHES).exists() {
            self.announce(Some((name, self.to_text(name, content)?.as_bytes())))?;
        }
        self.write_json(name, content)
    }

    fn to_text(&self, name: &str, content: &impl Serialize) -> Result<String, RunDirError> {
        let text = serde_json::to_string_pretty(content);
        let failed = |cause: serde_json::Error| RunDirError::Write { path: self.file(name), cause: cause.to_string() };
        Ok(text.map_err(failed)? + "\n")
    }

    /// Reads the conclusions of the analysis.
    pub fn findings(&self) -> Result<Findings, RunDirError> {
        if !self.file(FINDINGS).exists() {
            if !self.file(MANIFEST).exists() {
                return Err(RunDirError::not_a_run(self.path().to_owned()));
            }
            let resume = self.manifest()?.request.resume(self.path());
            return Err(RunDirError::Undecided { path: self.path().to_owned(), resume });
        }
        read_json_file(&self.file(FINDINGS), findings::FORMAT)
    }

    /// Writes the conclusions of the analysis.
    pub fn write_findings(&self, findings: &Findings) -> Result<(), RunDirError> {
        self.write_json(FINDINGS, findings)
    }

    /// Reads the results of the proof; none if none were stored.
    pub fn proof(&self) -> Result<Option<ShownProof>, RunDirError> {
        optional(&self.file(PROOF), proof::FORMAT)
    }

    /// Writes the facts that a proof of the rules files with these digests showed.
    pub fn write_proof(&self, shown: &[ProofFact], digests: Digests) -> Result<(), RunDirError> {
        self.write_json(PROOF, &ShownProof { format: proof::FORMAT, shown: shown.to_vec(), digests })
    }

    /// Reads the comparison of fresh launches without and with the rules; none if there was none.
    pub fn validation(&self) -> Result<Option<Validation>, RunDirError> {
        optional(&self.file(VALIDATION), validation::FORMAT)
    }

    /// Writes the results of fresh launches without and with the rules.
    pub fn write_validation(&self, validation: &Validation) -> Result<(), RunDirError> {
        self.write_json(VALIDATION, validation)
    }

    /// Reads the result of a search for settings; none if there was none.
    pub fn settings(&self) -> Result<Option<SettingsFindings>, RunDirError> {
        let path = self.file(SETTINGS);
        let found: Option<SettingsFindings> = optional(&path, settings::FORMAT)?;
        found.iter().try_for_each(SettingsFindings::check).map_err(|cause| RunDirError::Damaged { path, cause })?;
        Ok(found)
    }

    /// Reads the state of a tuning; none if it has no results yet.
    pub fn state(&self) -> Result<Option<TuningState>, RunDirError> {
        self.read_state(STATE)
    }

    /// Reads the state of a tuning that goes on; none if it has no results, or all of them are in place.
    pub fn next_state(&self) -> Result<Option<TuningState>, RunDirError> {
        self.read_state(NEXT_STATE)
    }

    fn read_state(&self, name: &str) -> Result<Option<TuningState>, RunDirError> {
        let path = self.file(name);
        let state: Option<TuningState> = optional(&path, state::FORMAT)?;
        let mut found = state.iter().filter_map(|state| state.settings.as_ref());
        found.try_for_each(SettingsFindings::check).map_err(|cause| RunDirError::Damaged { path, cause })?;
        Ok(state)
    }

    /// Writes the state of a tuning that goes on: it is on the disk when a step ends.
    pub fn write_next_state(&self, state: &TuningState) -> Result<(), RunDirError> {
        self.write_json(NEXT_STATE, state)
    }

    /// Writes the state of a tuning whose results are put in place.
    pub fn write_state(&self, state: &TuningState) -> Result<(), RunDirError> {
        self.write_json(STATE, state)
    }

    /// Writes the result of a search for settings.
    pub fn write_settings(&self, found: &SettingsFindings) -> Result<(), RunDirError> {
        self.write_json(SETTINGS, found)
    }

    /// Reads the plan of a round of refinement, from 1 on; none if the round was not begun.
    pub fn refinement(&self, round: u32) -> Result<Option<Plan>, RunDirError> {
        let path = self.file(&refinement(round));
        let plan: Option<Plan> = optional(&path, manifest::FORMAT)?;
        plan.iter().try_for_each(Plan::check).map_err(|cause| RunDirError::Damaged { path, cause })?;
        Ok(plan)
    }

    /// Reads the plans of all rounds of refinement, in order.
    pub fn refinements(&self) -> Result<Vec<Plan>, RunDirError> {
        (1..).map_while(|round| self.refinement(round).transpose()).collect()
    }

    /// Writes the plan of a round of refinement.
    pub fn write_refinement(&self, round: u32, plan: &Plan) -> Result<(), RunDirError> {
        /// A plan with a format of its own, outside of a manifest.
        #[derive(Serialize)]
        struct RefinementFile<'a> {
            format: FormatVersion,
            #[serde(flatten)]
            plan: &'a Plan,
        }
        self.write_plan(&refinement(round), &RefinementFile { format: manifest::FORMAT, plan })
    }

    /// Reads a file of a known format, or of a newer minor one.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str, known: FormatVersion) -> Result<T, RunDirError> {
        read_json_file(&self.file(name), known)
    }

    /// Writes a file whole, or not at all.
    pub fn write_json(&self, name: &str, content: &impl Serialize) -> Result<(), RunDirError> {
        let text = self.to_text(name, content)?;
        let path = self.file(name);
        // Results of a later collrules stay: they could not be made again here.
        if let (Ok(ours), Ok(there)) = (head_of(&text), text_of(&path).map(|text| head_of(&text))) {
            there.map_or(Ok(()), |there| check_format(&path, there, ours))?;
        }
        self.write(name, &text).map(drop)
    }
}

/// The file itself, or the file of this name in a directory.
pub fn within(path: &Path, name: &str) -> PathBuf {
    if path.is_dir() { path.join(name) } else { path.to_owned() }
}

/// The rules file itself, or that of a run. Fails for a directory without one, with what is there instead, and for another
/// file of a run.
pub fn rules_within(path: &Path) -> Result<PathBuf, RunDirError> {
    let rules = [RULES, UNPROVEN, HAN, HAN_UNPROVEN];
    let is_other = |name: &str| FILES.contains(&name) && !rules.contains(&name);
    if path.file_name().and_then(OsStr::to_str).is_some_and(is_other)
        && let meant @ RunDirError::NotARun { found: FoundPath::FileOf(_), .. } =
            RunDirError::not_a_run(path.to_owned())
    {
        return Err(meant);
    }
    let file = within(path, RULES);
    if path.is_dir() && !file.exists() {
        RunDir::derived(path)?.findings()?;
    }
    Ok(file)
}

fn optional<T: DeserializeOwned>(path: &Path, known: FormatVersion) -> Result<Option<T>, RunDirError> {
    match path.symlink_metadata() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => read_json_file(path, known).map(Some),
    }
}

/// Reads a file anywhere.
pub fn read_json_file<T: DeserializeOwned>(path: &Path, known: FormatVersion) -> Result<T, RunDirError> {
    let text = text_of(path)?;
    head(path, &text, known)?;
    serde_json::from_str(&text)
        .map_err(|cause| cause.to_string())
        .and_then(|value| check_numbers(&value))
        .map_err(|cause| damaged(path, &cause))?;
    serde_json::from_str(&text).map_err(|cause| damaged(path, &cause))
}

/// More than any time, rate, ratio or fraction in a file.
const MOST: f64 = 1e15;

/// Fails if a number with a fraction or an exponent is larger than collrules ever writes.
fn check_numbers(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => match number.as_f64().filter(|float| number.is_f64() && float.abs() > MOST) {
            Some(float) => Err(format!("{float:.0e} is out of range")),
            None => Ok(()),
        },
        Value::Array(values) => values.iter().try_for_each(check_numbers),
        Value::Object(fields) => fields.values().try_for_each(check_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

fn head(path: &Path, text: &str, known: FormatVersion) -> Result<Head, RunDirError> {
    let head: Head = serde_json::from_str(text).map_err(|cause| damaged(path, &cause))?;
    check_format(path, head.format, known)?;
    Ok(head)
}

fn head_of(text: &str) -> Result<FormatVersion, serde_json::Error> {
    serde_json::from_str::<Head>(text).map(|head| head.format)
}

fn text_of(path: &Path) -> Result<String, RunDirError> {
    read_text(path).map_err(|cause| RunDirError::Read { path: path.to_owned(), cause: cause.to_string() })
}

fn damaged(path: &Path, cause: &impl ToString) -> RunDirError {
    RunDirError::Damaged { path: path.to_owned(), cause: cause.to_string() }
}
