//! What would mend a problem where that is plain: changes of the text, and how they are carried out.

use serde::Serialize;

use crate::span::Span;

/// One change of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Edit {
    /// What goes; empty where something is only put in.
    pub span: Span,
    /// What comes in its place.
    pub text: String,
}

impl Edit {
    /// Puts a text in place of another.
    pub(super) fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    /// Puts a text in.
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(Span::at(at), text)
    }

    /// Takes a text out.
    pub(super) fn remove(span: Span) -> Self {
        Self::replace(span, "")
    }

    /// Whether both cannot be carried out together. Equal changes can: they are one.
    fn disagrees(&self, other: &Self) -> bool {
        let apart = self.span.end <= other.span.start || other.span.end <= self.span.start;
        self != other && (!apart || self.span == other.span)
    }
}

/// Those of several sets of changes that go together, the earlier ones first: nobody changes what another one changes.
pub(super) fn compatible<'e>(sets: impl Iterator<Item = &'e [Edit]>) -> Vec<usize> {
    // Changes that are taken do not overlap, so that their neighbours tell whether another one goes with them.
    let mut taken = std::collections::BTreeSet::<&Edit>::new();
    let mut places = Vec::new();
    for (place, set) in sets.enumerate() {
        let fits = |edit: &Edit| {
            let near =
                taken.range::<&Edit, _>(..=edit).next_back().into_iter().chain(taken.range::<&Edit, _>(edit..).next());
            near.into_iter().all(|other| !edit.disagrees(other))
        };
        if !set.is_empty() && set.iter().all(fits) {
            taken.extend(set);
            places.push(place);
        }
    }
    places
}

/// The text with these changes, which go together.
pub(super) fn apply(source: &[u8], edits: impl Iterator<Item = Edit>) -> Vec<u8> {
    let mut edits: Vec<Edit> = edits.collect();
    edits.sort_unstable();
    edits.dedup();
    let mut text = Vec::with_capacity(source.len());
    let mut at = 0;
    for Edit { span, text: new } in edits {
        text.extend_from_slice(Span::new(at, span.start).of(source));
        text.extend_from_slice(new.as_bytes());
        at = span.end;
    }
    text.extend_from_slice(Span::new(at, source.len()).of(source));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_overlap_do_not_go_together() {
        let sets = [
            vec![Edit::insert(2, "a"), Edit::remove(Span::new(4, 6))],
            vec![Edit::replace(Span::new(5, 7), "b")],
            vec![Edit::insert(2, "c")],
            vec![Edit::insert(2, "a")],
            vec![],
            vec![Edit::replace(Span::new(6, 7), "d")],
        ];
        let fit = compatible(sets.iter().map(Vec::as_slice));
        assert_eq!(fit, [0, 3, 5]);
        let text = apply(b"01234567", fit.iter().flat_map(|set| sets[*set].clone()));
        assert_eq!(String::from_utf8_lossy(&text), "01a23d7");
    }
}
