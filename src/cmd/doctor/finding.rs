//! One thing that was looked at.

use serde_json::{Value, json};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The answer for programs.
pub(super) fn json(findings: &[Finding], able: bool) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "subject": finding.subject,
            "state": finding.state.name(),
            "what": finding.what,
            "remedy": finding.remedy,
        })
    };
    json!({ "able": able, "findings": findings.iter().map(finding).collect::<Vec<_>>() })
}

/// The answer for people. Commands and paths are left whole, to be copied.
pub(super) fn lines(findings: &[Finding], able: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for Finding { subject, state, what, remedy } in findings {
        let mut text = what.lines();
        lines.push(format!("{:8} {subject:11} {}", state.name(), text.next().unwrap_or_default()));
        lines.extend(text.map(|line| format!("{:20} {line}", "")));
        lines.extend(remedy.iter().map(|remedy| format!("{:20} remedy: {remedy}", "")));
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    lines.push(String::new());
    lines.push(if able {
        format!("collrules can measure here; {} warnings, {} notes.", count(State::Warning), count(State::Note))
    } else {
        format!("collrules cannot measure here: {} to put right first.", count(State::Problem))
    });
    lines
}
