//! Collects problems, and joins those that several versions have in common.

use std::borrow::Cow;
use std::collections::HashMap;

use super::code::Code;
use super::problem::{Problem, Related};
use crate::behaviour::Behaviour;
use crate::span::Span;

/// Largest number of other places named with a problem.
const MOST_RELATED: usize = 6;

/// The problems so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    problems: Vec<Problem>,
    /// The indices of problems by code, span and kind.
    places: HashMap<(Code, Span, u64), usize>,
    /// Numbers of further places that are not named.
    unnamed: HashMap<usize, usize>,
}

impl Collector {
    /// Adds a problem of these versions.
    pub(super) fn add(
        &mut self,
        code: Code,
        span: Span,
        versions: &[Behaviour],
        message: impl Into<String>,
    ) -> &mut Problem {
        self.merge(code, span, u64::MAX, versions, || message.into())
    }

    /// Adds a problem of these versions, or adds the versions to an existing problem. `kind` distinguishes problems
    /// with the same code and place.
    pub(super) fn merge(
        &mut self,
        code: Code,
        span: Span,
        kind: u64,
        versions: &[Behaviour],
        message: impl FnOnce() -> String,
    ) -> &mut Problem {
        let problems = &mut self.problems;
        let place = *self.places.entry((code, span, kind)).or_insert_with(|| {
            problems.push(Problem {
                code,
                severity: code.severity(),
                span,
                versions: Vec::new(),
                message: message(),
                explanation: Cow::Borrowed(code.explanation()),
                remedy: Cow::Borrowed(code.remedy()),
                related: Vec::new(),
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

    /// Adds a problem with all its places; the first one is the main place.
    pub(super) fn add_many(
        &mut self,
        code: Code,
        spans: &[Span],
        kind: u64,
        versions: &[Behaviour],
        message: impl FnOnce() -> String,
    ) -> Option<&mut Problem> {
        let (first, others) = spans.split_first()?;
        self.merge(code, *first, kind, versions, message);
        let place = self.places[&(code, *first, kind)];
        let problem = &mut self.problems[place];
        if !problem.related.is_empty() {
            return self.problems.get_mut(place);
        }
        let related = others.iter().take(MOST_RELATED).map(|span| Related { span: *span, message: "and here".into() });
        problem.related = related.collect();
        if let Some(more) = others.len().checked_sub(MOST_RELATED).filter(|more| *more > 0) {
            self.unnamed.entry(place).or_insert(more);
        }
        self.problems.get_mut(place)
    }

    /// Adds the problems of another collector, as far as they are requested.
    pub(super) fn extend(&mut self, others: Self, wanted: impl Fn(&Problem) -> bool) {
        self.problems.extend(others.finish().into_iter().filter(wanted));
    }

    /// The problems in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        for (place, more) in self.unnamed {
            self.problems[place].message += &format!(" (and in {more} more places than are shown)");
        }
        self.problems.sort_by_key(|problem| (problem.span, problem.code));
        self.problems
    }
}
