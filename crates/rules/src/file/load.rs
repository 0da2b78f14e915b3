//! What comes of reading a file.

use super::model::Loaded;
use super::rejection::ClassicFault;
use crate::json::SyntaxError;
use crate::span::Span;

/// What a version does with a file.
#[derive(Clone, Debug)]
pub enum Load {
    /// Its rules are in force.
    Accepted(Loaded),
    /// All of it is ignored, without a message at default verbosity.
    Rejected(Rejection),
    /// `MPI_Init` crashes with a segmentation fault (6.0, JSON).
    Crashes(Crash),
}

/// Why a file is ignored as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Rejection {
    /// Where.
    pub span: Span,
    /// What stands against it.
    pub cause: RejectionCause,
    /// Why a version that tries JSON first did not take it for that.
    pub not_json: Option<SyntaxError>,
}

/// What stands against a file, by the format that it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectionCause {
    /// It is no classic file.
    #[error("{0}")]
    Classic(ClassicFault),
    /// It is JSON, but no rules file, and then the classic reader is not tried.
    #[error("{0}")]
    Json(JsonFault),
}

/// What a JSON file has wrong so that all of it is ignored, if nothing worse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The root has no `collectives`, or is no object.
    #[error("the file is JSON without the member `collectives`")]
    NoCollectives,
    /// `collectives` is something else.
    #[error("`collectives` must be an object")]
    CollectivesNotObject,
    /// A name that is no collective.
    #[error("`{name}` is not a collective; names are in lower case with underscores, as in reduce_scatter_block")]
    UnknownCollective {
        /// The name.
        name: String,
    },
    /// A collective whose value is something else.
    #[error("the value of `{name}` must be an array of communicator rules")]
    NotAnArray {
        /// The collective.
        name: String,
    },
    /// A number that is something else: a float, a number in quotes, or too large.
    #[error("`{key}` must be an integer of 64 bits")]
    NotAnInteger {
        /// Its key.
        key: &'static str,
    },
    /// A distribution that is no string.
    #[error("`comm_rank_distribution` must be a string")]
    DistributionNotString,
    /// A communicator rule without `rules`, or something else in its place.
    #[error("a communicator rule needs the member `rules`")]
    NoRules,
    /// `rules` that hold nothing.
    #[error("`rules` must be an array")]
    RulesNotArray,
}

/// Why `MPI_Init` crashes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MPI_Init of Open MPI 6.0 crashes: {cause}")]
pub struct Crash {
    /// Where.
    pub span: Span,
    /// What leads to it.
    pub cause: CrashCause,
}

/// What leads to a crash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrashCause {
    /// Classic: Open MPI makes room for fewer entries than it then reads, and overwrites memory.
    #[error("{0}; what it reads beyond that overwrites memory")]
    Overwrites(ClassicFault),
    /// A fault behind a communicator rule that was read to its end: the error path frees that one again.
    #[error("{0}; after a valid communicator rule Open MPI does not ignore this, it crashes")]
    AfterGoodRule(JsonFault),
    /// An algorithm for a collective that has none: their table is missing and used nonetheless.
    #[error("`{name}` has no tuned algorithms, and so no rule for it may have the member `alg`, whatever its value")]
    AlgorithmOfUntuned {
        /// The collective.
        name: &'static str,
    },
    /// `rules` is an object with members, which are then read as if they were elements.
    #[error("`rules` must be an array; an object is read as if it were one")]
    RulesAreObject,
}

impl Load {
    /// The rules, if they are in force.
    pub fn accepted(&self) -> Option<&Loaded> {
        match self {
            Self::Accepted(loaded) => Some(loaded),
            Self::Rejected(_) | Self::Crashes(_) => None,
        }
    }

    /// The rules, if they are in force.
    pub fn into_accepted(self) -> Option<Loaded> {
        match self {
            Self::Accepted(loaded) => Some(loaded),
            Self::Rejected(_) | Self::Crashes(_) => None,
        }
    }
}
