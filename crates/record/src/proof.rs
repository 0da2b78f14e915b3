//! Results of a proof of the rules, stored so that a report can be written again: `proof.json`.

use serde::{Deserialize, Serialize};

use crate::file::FormatVersion;
use crate::tuning::Digests;

/// The version of `proof.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Results of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownProof {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The results, in whole sentences.
    pub shown: Vec<String>,
    /// The digests of the rules files.
    pub digests: Digests,
}

impl ShownProof {
    /// Returns true if the sentences are about these rules files.
    pub fn is_about(&self, digests: &Digests) -> bool {
        self.digests == *digests
    }
}
