//! One way to carry out a collective call that can be timed.

use std::fmt;
use std::str::FromStr;

use collrules_rules::Choice;
use serde::{Deserialize, Serialize};

/// A candidate; its text form is `builtin` or `tuned:algorithm/faninout/segsize/max_requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Candidate {
    /// What Open MPI does when nobody tells it anything.
    Builtin,
    /// An algorithm of `coll/tuned` with all its parameters.
    Tuned(Choice),
}

/// A text that names no candidate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a candidate; write builtin or tuned:algorithm/faninout/segsize/max_requests")]
pub struct BadCandidate(String);

impl Candidate {
    /// The choice that a rule line needs to get this candidate.
    pub fn choice(self) -> Choice {
        match self {
            Self::Builtin => Choice::BUILTIN,
            Self::Tuned(choice) => choice,
        }
    }

    /// The candidate that a choice asks for.
    pub fn of(choice: Choice) -> Self {
        if choice.is_builtin() { Self::Builtin } else { Self::Tuned(choice) }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.pad("builtin"),
            Self::Tuned(choice) => f.pad(&format!("tuned:{choice}")),
        }
    }
}

impl FromStr for Candidate {
    type Err = BadCandidate;

    fn from_str(text: &str) -> Result<Self, BadCandidate> {
        if text == "builtin" {
            return Ok(Self::Builtin);
        }
        let choice: Option<Choice> = text.strip_prefix("tuned:").and_then(|choice| choice.parse().ok());
        match choice {
            Some(choice) if !choice.is_builtin() => Ok(Self::Tuned(choice)),
            _ => Err(BadCandidate(text.to_owned())),
        }
    }
}

impl From<Candidate> for String {
    fn from(candidate: Candidate) -> Self {
        candidate.to_string()
    }
}

impl TryFrom<String> for Candidate {
    type Error = BadCandidate;

    fn try_from(text: String) -> Result<Self, BadCandidate> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_read_back() {
        for candidate in [Candidate::Builtin, Candidate::Tuned(Choice::plain(3).with_segsize(8192))] {
            assert_eq!(candidate.to_string().parse(), Ok(candidate));
        }
        for bad in ["", "tuned", "tuned:3", "tuned:0/0/0/0", "Builtin"] {
            assert!(bad.parse::<Candidate>().is_err(), "{bad}");
        }
    }
}
