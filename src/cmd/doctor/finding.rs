//! A finding of the doctor.

use collrules_rules::names;
use collrules_rules::words::counted;
use serde::Serialize;
use serde_json::{Value, json};

use crate::screen::{TextStyle, paint, wrapped};

names! {
    /// Severity of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub(super) enum FindingState {
        /// A good state.
        Ok "ok",
        /// For information.
        Note "note",
        /// The numbers will be less precise.
        Warning "warning",
        /// Nothing can be measured.
        Problem "problem",
    }
}

/// A finding and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct DoctorFinding {
    /// Subject of the check, in a word.
    pub(super) subject: &'static str,
    pub(super) state: FindingState,
    pub(super) what: String,
    /// Missing if there is nothing to do, or if `what` contains it.
    pub(super) remedy: Option<String>,
}

impl DoctorFinding {
    fn new(subject: &'static str, state: FindingState, what: impl Into<String>) -> Self {
        Self { subject, state, what: what.into(), remedy: None }
    }

    pub(super) fn ok(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, FindingState::Ok, what)
    }

    pub(super) fn note(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, FindingState::Note, what)
    }

    pub(super) fn warning(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, FindingState::Warning, what)
    }

    pub(super) fn problem(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, FindingState::Problem, what)
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl FindingState {
    fn ink(self) -> TextStyle {
        match self {
            Self::Ok => TextStyle::Good,
            Self::Note => TextStyle::Note,
            Self::Warning => TextStyle::Warning,
            Self::Problem => TextStyle::Bad,
        }
    }
}

/// Findings as JSON, for programs.
pub(super) fn json(findings: &[DoctorFinding], able: bool) -> Value {
    json!({ "able": able, "findings": findings })
}

/// Findings as lines, for people. Quoted commands and paths are not broken, so that they can be copied.
pub(super) fn lines(findings: &[DoctorFinding], able: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for DoctorFinding { subject, state, what, remedy } in findings {
        // Escape codes take no columns: lines are wrapped without them.
        let (name, indent) = (format!("{:8}", state.name()), " ".repeat(21));
        let mut said = what.lines();
        let first = wrapped(said.next().unwrap_or_default(), &format!("{name} {subject:11} "), &indent);
        lines.extend(first.into_iter().map(|line| line.replacen(&name, &paint(state.ink(), &name), 1)));
        lines.extend(said.flat_map(|line| wrapped(line, &indent, &indent)));
        lines.extend(remedy.iter().flat_map(|remedy| wrapped(&format!("remedy: {remedy}"), &indent, &indent)));
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    lines.push(String::new());
    lines.push(if able {
        let (warnings, notes) = (count(FindingState::Warning), count(FindingState::Note));
        format!("collrules can measure here; {}, {}.", counted(warnings, "warning"), counted(notes, "note"))
    } else {
        format!("collrules cannot measure here: {} to fix first.", count(FindingState::Problem))
    });
    lines
}
