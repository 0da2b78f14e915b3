//! JSON files of a run directory. There is one way in, which looks at the format before anything else, and one way out,
//! which puts files in place whole.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bounded::read_text;
use super::error::{RunDirError, check_format};
use super::{FINDINGS, MANIFEST, PROOF, RunDir, VALIDATION, refinement};
use crate::findings::{self, Findings};
use crate::manifest::{self, FormatVersion, IMPORTED, Manifest};
use crate::plan::Plan;
use crate::proof::{self, ShownProof};
use crate::validation::{self, Validation};

/// What every file says first: it decides whether the rest means what it seems to.
#[derive(Deserialize)]
struct Head {
    #[serde(default = "first_format")]
    format: FormatVersion,
    /// In manifests.
    #[serde(default)]
    backend: String,
}

/// Refinements had no format before they got one.
fn first_format() -> FormatVersion {
    FormatVersion { major: 1, minor: 0 }
}

impl RunDir {
    /// Reads the manifest of a run that was measured.
    pub fn manifest(&self) -> Result<Manifest, RunDirError> {
        if self.is_imported()? {
            return Err(RunDirError::Imported { path: self.path().to_owned() });
        }
        self.read_json(MANIFEST, manifest::FORMAT)
    }

    /// Whether the timings were imported, so that nothing is known of the system.
    pub fn is_imported(&self) -> Result<bool, RunDirError> {
        let path = self.file(MANIFEST);
        Ok(head(&path, &text_of(&path)?, manifest::FORMAT)?.backend == IMPORTED)
    }

    /// Replaces the manifest.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), RunDirError> {
        self.write_json(MANIFEST, manifest)
    }

    /// Reads what the analysis concluded.
    pub fn findings(&self) -> Result<Findings, RunDirError> {
        read_json_file(&self.file(FINDINGS), findings::FORMAT)
    }

    /// Writes what the analysis concluded.
    pub fn write_findings(&self, findings: &Findings) -> Result<(), RunDirError> {
        self.write_json(FINDINGS, findings)
    }

    /// What was shown about the rules; none where nothing was written down.
    pub fn proof(&self) -> Result<Option<ShownProof>, RunDirError> {
        optional(&self.file(PROOF), proof::FORMAT)
    }

    /// Writes what was shown about the rules, in whole sentences.
    pub fn write_proof(&self, shown: &[String]) -> Result<(), RunDirError> {
        self.write_json(PROOF, &ShownProof { format: proof::FORMAT, shown: shown.to_vec() })
    }

    /// What fresh launches without and with the rules showed; none where nobody looked.
    pub fn validation(&self) -> Result<Option<Validation>, RunDirError> {
        let read: Option<Validation> = optional(&self.file(VALIDATION), validation::FORMAT)?;
        Ok(read.map(Validation::completed))
    }

    /// Writes what fresh launches without and with the rules showed.
    pub fn write_validation(&self, validation: &Validation) -> Result<(), RunDirError> {
        self.write_json(VALIDATION, validation)
    }

    /// What a round of refinement measures, from 1 on; none where the round was not begun.
    pub fn refinement(&self, round: u32) -> Result<Option<Plan>, RunDirError> {
        optional(&self.file(&refinement(round)), manifest::FORMAT)
    }

    /// Writes what a round of refinement measures.
    pub fn write_refinement(&self, round: u32, plan: &Plan) -> Result<(), RunDirError> {
        /// A plan with the format that a manifest gives it otherwise.
        #[derive(Serialize)]
        struct Refinement<'a> {
            format: FormatVersion,
            #[serde(flatten)]
            plan: &'a Plan,
        }
        self.write_json(&refinement(round), &Refinement { format: manifest::FORMAT, plan })
    }

    /// Reads a file of a known format, or of a newer minor one.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str, known: FormatVersion) -> Result<T, RunDirError> {
        read_json_file(&self.file(name), known)
    }

    /// Writes a file whole, or not at all.
    pub fn write_json(&self, name: &str, content: &impl Serialize) -> Result<(), RunDirError> {
        let text = serde_json::to_string_pretty(content)
            .map_err(|cause| RunDirError::Write { path: self.file(name), cause: cause.to_string() })?;
        let path = self.file(name);
        // What a later collrules found out stays: nobody could make it again here.
        if let (Ok(ours), Ok(there)) = (head_of(&text), text_of(&path).map(|text| head_of(&text))) {
            there.map_or(Ok(()), |there| check_format(&path, there, ours))?;
        }
        self.write(name, &(text + "\n")).map(drop)
    }
}

/// The file that is meant: the one of this name, where its directory is named.
pub fn within(path: &Path, name: &str) -> PathBuf {
    if path.is_dir() { path.join(name) } else { path.to_owned() }
}

fn optional<T: DeserializeOwned>(path: &Path, known: FormatVersion) -> Result<Option<T>, RunDirError> {
    match path.symlink_metadata() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => read_json_file(path, known).map(Some),
    }
}

/// Reads a file, wherever it lies.
pub fn read_json_file<T: DeserializeOwned>(path: &Path, known: FormatVersion) -> Result<T, RunDirError> {
    let text = text_of(path)?;
    head(path, &text, known)?;
    serde_json::from_str(&text).map_err(|cause| damaged(path, &cause))
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

fn damaged(path: &Path, cause: &serde_json::Error) -> RunDirError {
    RunDirError::Damaged { path: path.to_owned(), cause: cause.to_string() }
}
