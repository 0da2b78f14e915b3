//! Results of reading a file.

use super::model::Loaded;
use super::rejection::{FaultKind, TextFault};
use crate::json::SyntaxError;
use crate::span::Span;

/// Result of a version reading a file.
#[derive(Clone, Debug)]
pub enum Load<T = Loaded> {
    /// Its rules are active.
    Accepted(T),
    /// All of it is ignored, without a message at default verbosity.
    Rejected(Rejection),
    /// `MPI_Init` crashes with a segmentation fault.
    Crashes(Crash),
}

/// Reason why a file is ignored as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Rejection {
    /// Place of the fault.
    pub span: Span,
    /// The fault.
    pub cause: RejectionCause,
    /// Syntax error that made a version that tries JSON first read the file as classic.
    pub not_json: Option<SyntaxError>,
}

/// Fault of a rejected file, by the format it was read as.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectionCause {
    /// It is an invalid classic file, or an invalid file of HAN.
    #[error("{0}")]
    Text(TextFault),
    /// It is JSON but no rules file, and the classic reader is not tried.
    #[error("{0}")]
    Json(JsonFault),
    /// It is a file of HAN, and the version has no HAN (4.0).
    #[error("this version has no HAN")]
    NoHan,
}

/// Fault that makes Open MPI ignore a JSON file as a whole, or crash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The root has no `collectives`, or is no object.
    #[error("the file is JSON without the member `collectives`")]
    NoCollectives,
    /// `collectives` has another type.
    #[error("`collectives` must be an object")]
    CollectivesNotObject,
    /// A name that is no collective.
    #[error("`{0}` is not a collective; names are in lower case with underscores, as in reduce_scatter_block")]
    UnknownCollective(String),
    /// A collective whose value has another type.
    #[error("the value of `{0}` must be an array of communicator rules")]
    NotAnArray(String),
    /// A number of another type under this key: a float, a number in quotes, or too large.
    #[error("`{0}` must be an integer of 64 bits")]
    NotAnInteger(&'static str),
    /// A distribution of another type than string.
    #[error("`comm_rank_distribution` must be a string")]
    DistributionNotString,
    /// A communicator rule without `rules`, or with `rules` of another type.
    #[error("a communicator rule needs the member `rules`")]
    NoRules,
    /// `rules` without elements, of another type.
    #[error("`rules` must be an array")]
    RulesNotArray,
}

/// A crash in `MPI_Init`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MPI_Init crashes: {cause}")]
pub struct Crash {
    /// Place of the cause.
    pub span: Span,
    /// The cause.
    pub cause: CrashCause,
}

/// Cause of a crash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrashCause {
    /// Classic: Open MPI allocates fewer entries than it then reads, and overwrites memory.
    #[error("{0}; what it reads beyond that overwrites memory")]
    Overwrites(TextFault),
    /// A fault after a valid communicator rule: the error path frees that one again.
    #[error("{0}; after a valid communicator rule Open MPI does not ignore this, it crashes")]
    AfterGoodRule(JsonFault),
    /// An algorithm for a collective that has none: the missing table is used nonetheless.
    #[error("`{0}` has no tuned algorithms, and so no rule for it may have the member `alg`, whatever its value")]
    AlgorithmOfUntuned(&'static str),
    /// `rules` is an object with members, which are then read as if they were elements.
    #[error("`rules` must be an array; an object is read as if it were one")]
    RulesAreObject,
    /// HAN: an algorithm for a collective that has none; the missing table is used nonetheless.
    #[error("HAN has no algorithms for {0}, and looks this one up in a table that does not exist")]
    NoTable(&'static str),
}

/// Fault that ends the reading of a text, with its place.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The text is invalid.
    Rejected(Span, FaultKind),
    /// `MPI_Init` crashes.
    Crashed(Span, CrashCause),
}

impl Stop {
    /// The result of reading the text.
    pub(crate) fn load<T>(self, text: &[u8], not_json: Option<SyntaxError>) -> Load<T> {
        match self {
            Self::Crashed(span, cause) => Load::Crashes(Crash { span, cause }),
            Self::Rejected(span, kind) => {
                let cause = RejectionCause::Text(TextFault { line: span.line(text), kind });
                Load::Rejected(Rejection { span, cause, not_json })
            }
        }
    }
}

impl<T> Load<T> {
    /// The rules, if they are active.
    pub fn accepted(&self) -> Option<&T> {
        if let Self::Accepted(loaded) = self { Some(loaded) } else { None }
    }

    /// The rules, if they are active.
    pub fn into_accepted(self) -> Option<T> {
        self.read().ok()
    }

    /// The rules, or the reason why they are not active.
    pub fn read(self) -> Result<T, String> {
        match self {
            Self::Accepted(loaded) => Ok(loaded),
            Self::Rejected(rejection) => Err(rejection.to_string()),
            Self::Crashes(crash) => Err(crash.to_string()),
        }
    }

    /// This result with other rules.
    pub fn map<U>(self, rules: impl FnOnce(T) -> U) -> Load<U> {
        match self {
            Self::Accepted(loaded) => Load::Accepted(rules(loaded)),
            Self::Rejected(rejection) => Load::Rejected(rejection),
            Self::Crashes(crash) => Load::Crashes(crash),
        }
    }
}
