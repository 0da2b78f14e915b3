//! One thing that was looked at.

use collrules_rules::words::counted;
use serde::Serialize;
use serde_json::{Value, json};

use crate::screen::{Ink, paint, wrapped};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Numbers will suffer.
    Warning,
    /// Nothing can be measured.
    Problem,
}

/// What was found, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at, in a word.
    pub(super) subject: &'static str,
    pub(super) state: State,
    pub(super) what: String,
    /// Missing where there is nothing to do, or `what` says it.
    pub(super) remedy: Option<String>,
}

impl Finding {
    fn new(subject: &'static str, state: State, what: impl Into<String>) -> Self {
        Self { subject, state, what: what.into(), remedy: None }
    }

    pub(super) fn ok(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, State::Ok, what)
    }

    pub(super) fn note(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, State::Note, what)
    }

    pub(super) fn warning(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, State::Warning, what)
    }

    pub(super) fn problem(subject: &'static str, what: impl Into<String>) -> Self {
        Self::new(subject, State::Problem, what)
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

impl State {
    fn ink(self) -> Ink {
        match self {
            Self::Ok => Ink::Good,
            Self::Note => Ink::Note,
            Self::Warning => Ink::Warning,
            Self::Problem => Ink::Bad,
        }
    }
}

/// The answer for programs.
pub(super) fn json(findings: &[Finding], able: bool) -> Value {
    json!({ "able": able, "findings": findings })
}

/// The answer for people. Quoted commands and paths are left whole, to be copied.
pub(super) fn lines(findings: &[Finding], able: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for Finding { subject, state, what, remedy } in findings {
        // Escape codes take no columns: they come on top of lines that are wrapped without them.
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
        let (warnings, notes) = (count(State::Warning), count(State::Note));
        format!("collrules can measure here; {}, {}.", counted(warnings, "warning"), counted(notes, "note"))
    } else {
        format!("collrules cannot measure here: {} to fix first.", count(State::Problem))
    });
    lines
}
