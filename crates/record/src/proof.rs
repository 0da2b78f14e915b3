//! What was shown about the rules, so that a report can be written again: `proof.json`.

use serde::{Deserialize, Serialize};

use crate::format::FormatVersion;

/// The version of `proof.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// What was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownProof {
    /// The format of this structure.
    pub format: FormatVersion,
    /// Whole sentences.
    pub shown: Vec<String>,
}
