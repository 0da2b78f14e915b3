//! What people and files call a candidate.

use collrules_rules::{Collective, Release, registry};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;

/// A name for a candidate of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateName {
    /// The number that `coll_tuned_COLLECTIVE_algorithm` takes; 0 is the builtin.
    Id(u32),
    /// Open MPI's name, or a word for the builtin.
    Word(String),
    /// A complete candidate.
    Complete(Candidate),
}

/// Words that mean algorithm 0: `tuned` is how the tables of ompi-collectives-tuning call it.
const BUILTIN_WORDS: [&str; 5] = ["builtin", "default", "ignore", "tuned", "fixed"];

impl CandidateName {
    /// Reads an id, a candidate (`builtin`, `tuned:3/0/8192/0`), or a name.
    pub fn read(text: &str) -> Self {
        if let (Ok(id), true) = (text.parse(), text.bytes().all(|byte| byte.is_ascii_digit())) {
            return Self::Id(id);
        }
        match text.parse() {
            Ok(candidate) => Self::Complete(candidate),
            Err(_) => Self::Word(text.to_owned()),
        }
    }

    /// The candidate meant, of a collective in a release; otherwise why there is none.
    pub fn candidate(&self, release: Release, collective: Collective) -> Result<Candidate, String> {
        let forced = |id| registry::forced(release, collective, id).map(Candidate::of).map_err(|e| e.to_string());
        match self {
            Self::Complete(candidate) => {
                // An algorithm that the release lacks is an error whoever names it.
                if let Some(choice) = candidate.choice() {
                    forced(choice.algorithm)?;
                }
                Ok(*candidate)
            }
            Self::Id(id) => forced(*id),
            Self::Word(name) => {
                let name = name.to_lowercase().replace(['-', ' '], "_");
                if let Some(id) = registry::id_of(release, collective, &name) {
                    return forced(id);
                }
                if BUILTIN_WORDS.contains(&name.as_str()) {
                    return Ok(Candidate::Builtin);
                }
                let known: Vec<&str> = registry::algorithms(release, collective).map(|known| known.name).collect();
                Err(format!(
                    "Open MPI {release} has no {collective} algorithm `{name}`; known are builtin, {}",
                    known.join(", ")
                ))
            }
        }
    }
}
