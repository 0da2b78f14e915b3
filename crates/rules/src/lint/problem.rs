//! Results of a check.

use std::borrow::Cow;

use serde::Serialize;

use super::code::{Code, Severity};
use crate::behaviour::Behaviour;
use crate::file::Fault;
use crate::kind::FileKind;
use crate::span::Span;

/// Largest number of other places named with a problem.
const MOST_RELATED: usize = 6;

/// Another place that a problem concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// The place.
    pub span: Span,
    /// Remark on that place.
    pub message: String,
}

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Code of a problem.
    pub code: Code,
    /// Severity of the problem.
    pub severity: Severity,
    /// Place of the problem.
    pub span: Span,
    /// The versions that it concerns.
    pub versions: Vec<Behaviour>,
    /// Description of the problem in this file.
    pub message: String,
    /// Reason why it is a problem.
    pub explanation: Cow<'static, str>,
    /// Advice for fixing it.
    pub remedy: Cow<'static, str>,
    /// Other places that it concerns, or some of them if there are many.
    pub related: Vec<Related>,
    /// The byte at which a reader of the counts meets it.
    #[serde(skip)]
    pub(super) met: usize,
}

/// Treatment of the file as a whole by a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFate {
    /// Its rules are active.
    Accepted,
    /// The whole file is silently ignored.
    Rejected,
    /// `MPI_Init` crashes.
    Crashes,
}

/// A version, and its treatment of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VersionReading {
    /// The version.
    pub version: Behaviour,
    /// Treatment of the file by the version.
    #[serde(rename = "verdict")]
    pub fate: FileFate,
}

impl VersionReading {
    /// The treatment that is the result of reading.
    pub(super) fn new<T>(version: Behaviour, load: &Result<T, Fault>) -> Self {
        let fate = match load {
            Ok(_) => FileFate::Accepted,
            Err(fault) if fault.kind.crashes() => FileFate::Crashes,
            Err(_) => FileFate::Rejected,
        };
        Self { version, fate }
    }
}

/// Everything about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintReport {
    /// The component that the file is for.
    pub kind: FileKind,
    /// Treatment of the file as a whole by each version.
    #[serde(rename = "outcomes")]
    pub readings: Vec<VersionReading>,
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Problem {
    /// Adds a related place.
    pub(super) fn points_to(&mut self, span: Span, message: impl Into<String>) {
        self.related = vec![Related { span, message: message.into() }];
    }

    /// Adds related places, unless it has some already.
    pub(super) fn related_to(&mut self, places: &[Span], message: &str) {
        if self.related.is_empty() {
            self.related = places.iter().map(|span| Related { span: *span, message: message.to_owned() }).collect();
        }
    }

    /// Adds other places of the same problem, unless it has some already.
    pub(super) fn also_at(&mut self, others: &[Span]) {
        if self.related.is_empty() && others.len() > MOST_RELATED {
            let more = others.len() - MOST_RELATED;
            self.message += &format!(" (and in {more} more places than are shown)");
        }
        self.related_to(&others[..others.len().min(MOST_RELATED)], "and here");
    }
}

impl LintReport {
    /// Counts the problems of exactly this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }

    /// Returns the severity of the worst problem.
    pub fn worst(&self) -> Option<Severity> {
        self.problems.iter().map(|problem| problem.severity).max()
    }
}
