//! Facts that a proof of the rules showed, as codes with their numbers: `proof.json`. `report` has the words.

use collrules_rules::{Collective, Version};
use serde::{Deserialize, Serialize};

use crate::file::Digests;
use crate::file::FormatVersion;

/// The version of `proof.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Result of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownProof {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The facts.
    pub shown: Vec<ProofFact>,
    /// The digests of the rules files.
    pub digests: Digests,
}

impl ShownProof {
    /// Returns true if the facts are about these rules files.
    pub fn is_about(&self, digests: &Digests) -> bool {
        self.digests == *digests
    }
}

/// A fact about the rules files and an Open MPI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum ProofFact {
    /// Nothing was checked.
    NotChecked,
    /// There is no rule to check.
    NoRule,
    /// It accepts the rules file and uses the right rule.
    Rules {
        /// The Open MPI.
        openmpi: ProofLibrary,
        /// The collectives with rules.
        collectives: Vec<Collective>,
        /// Number of their measured cells that use the right rule.
        cells: usize,
        /// Number of calls that show it, on both sides of every threshold within reach.
        calls: usize,
    },
    /// It accepts HAN's rules file and uses the component that it names.
    HanRules {
        /// The Open MPI.
        openmpi: ProofLibrary,
        /// Number of calls that show it, on both sides of its thresholds.
        calls: usize,
    },
    /// Number of calls with the tuning active that were checked, and returned correct data.
    CorrectCalls(usize),
}

/// The Open MPI of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofLibrary {
    /// Its version.
    pub version: Version,
    /// True if it is simulated.
    pub simulated: bool,
}
