//! One start of the job, with the alternatives that take turns in it.

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;

/// One start of the job. Each kind has numbers of its own; the samples file has the number only, and
/// [`Plan::launch`](crate::Plan::launch) finds the kind. Timings with the same number are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// All alternatives take turns, except those with separate launches.
    Shared {
        /// In a plan the index among launches of this kind, from 0; in a job, its number in the journal.
        number: u32,
        /// True if a tuning is active, as its users switch it on.
        deployed: bool,
    },
    /// One alternative: the job loads a file with its single rule, or none for the default. A series has a launch for
    /// each alternative.
    Alone {
        /// The series, from 0.
        series: u32,
        /// The collective; none for an alternative that is timed separately in every cell that has it.
        collective: Option<Collective>,
        /// The alternative.
        candidate: Candidate,
    },
    /// The job is started as users start theirs, with the settings of an arm, or without any for the default.
    Arm {
        /// The block, in which each arm has a launch.
        block: u32,
    },
}

impl Launch {
    /// All alternatives, and no active tuning.
    pub fn shared(number: u32) -> Self {
        Self::Shared { number, deployed: false }
    }

    /// The number that samples carry.
    pub fn number(self) -> u32 {
        match self {
            Self::Shared { number, .. } => number,
            Self::Alone { series, .. } => series,
            Self::Arm { block } => block,
        }
    }

    /// Returns true if the job is started as users start theirs, without switching algorithms.
    pub fn is_as_users_do(self) -> bool {
        matches!(self, Self::Arm { .. } | Self::Shared { deployed: true, .. })
    }

    /// Returns true if all alternatives take turns under an active tuning.
    pub fn is_under_rules(self) -> bool {
        matches!(self, Self::Shared { deployed: true, .. })
    }

    /// The only alternative of the job, if the job loads its rule.
    pub fn alone(self) -> Option<Candidate> {
        match self {
            Self::Alone { candidate, .. } => Some(candidate),
            Self::Shared { .. } | Self::Arm { .. } => None,
        }
    }
}
