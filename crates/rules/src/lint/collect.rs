//! Collects problems, and joins those that several versions have in common.

use std::borrow::Cow;
use std::collections::HashMap;

use super::code::Code;
use super::problem::Problem;
use crate::behaviour::Behaviour;
use crate::span::Span;

/// The problems so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// The versions that problems of the text concern.
    versions: Vec<Behaviour>,
    problems: Vec<Problem>,
    /// The indices of problems by code, span and kind.
    places: HashMap<(Code, Span, u64), usize>,
}

impl Collector {
    /// A collector for a text that these versions read.
    pub(super) fn new(versions: Vec<Behaviour>) -> Self {
        Self { versions, ..Self::default() }
    }

    /// Adds a problem of the text.
    pub(super) fn add(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Problem {
        let versions = self.versions.clone();
        self.merge_kind(code, span, 0, &versions, message)
    }

    /// Adds a problem of a version, or adds the version to an existing problem.
    pub(super) fn merge(
        &mut self,
        code: Code,
        span: Span,
        version: Behaviour,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.merge_kind(code, span, 0, &[version], message)
    }

    /// Like `merge`, for several versions. `kind` distinguishes problems with the same code and place.
    pub(super) fn merge_kind(
        &mut self,
        code: Code,
        span: Span,
        kind: u64,
        versions: &[Behaviour],
        message: impl Into<String>,
    ) -> &mut Problem {
        let problems = &mut self.problems;
        let place = *self.places.entry((code, span, kind)).or_insert_with(|| {
            problems.push(Problem {
                code,
                severity: code.severity(),
                span,
                versions: Vec::new(),
                message: message.into(),
                explanation: Cow::Borrowed(code.explanation()),
                remedy: Cow::Borrowed(code.remedy()),
                related: Vec::new(),
                met: span.start,
            });
            problems.len() - 1
        });
        let problem = &mut problems[place];
        for version in versions {
            if problem.versions.iter().all(|known| known.name() != version.name()) {
                problem.versions.push(*version);
            }
        }
        problem
    }

    /// Adds to the message of a problem.
    pub(super) fn extend(&mut self, code: Code, span: Span, more: &str) {
        let found = self.problems.iter_mut().find(|problem| (problem.code, problem.span) == (code, span));
        if let Some(problem) = found.filter(|problem| !problem.message.contains(more)) {
            problem.message += more;
        }
    }

    /// The problems in the order in which Open MPI meets them.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| (problem.met, problem.span, problem.code));
        self.problems
    }
}
