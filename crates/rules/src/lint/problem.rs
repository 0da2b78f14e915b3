//! What a check reports.

use std::borrow::Cow;

use serde::Serialize;

use super::code::{Code, Severity};
use super::edit::Edit;
use crate::behaviour::Behaviour;
use crate::span::Span;

/// Another place that a problem is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// The place.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Which problem it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub span: Span,
    /// The versions that it concerns.
    pub versions: Vec<Behaviour>,
    /// What is wrong here.
    pub message: String,
    /// Why that is a problem.
    pub explanation: Cow<'static, str>,
    /// What to do about it.
    pub remedy: Cow<'static, str>,
    /// Other places that it is about, some of them where there are many.
    pub related: Vec<Related>,
    /// The changes of the text that mend it, all of them together; none where somebody has to decide.
    pub edits: Vec<Edit>,
}

/// What a version does with the file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// Its rules are in force.
    Accepted,
    /// All of it is ignored, silently.
    Rejected,
    /// `MPI_Init` crashes.
    Crashes,
}

/// A version and what it does with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// The version.
    pub version: Behaviour,
    /// What it does.
    #[serde(rename = "verdict")]
    pub fate: Fate,
}

/// The component that a rules file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// coll/tuned.
    Tuned,
    /// coll/han.
    Han,
}

/// Everything about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Which component the file is for.
    pub kind: Kind,
    /// What each version does with it as a whole.
    #[serde(rename = "outcomes")]
    pub readings: Vec<Reading>,
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Problem {
    /// Points to another place that it has to do with.
    pub(super) fn points_to(&mut self, span: Span, message: impl Into<String>) {
        self.related = vec![Related { span, message: message.into() }];
    }
}

impl Report {
    /// How many problems are exactly this bad.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }

    /// How bad the worst problem is.
    pub fn worst(&self) -> Option<Severity> {
        self.problems.iter().map(|problem| problem.severity).max()
    }
}
