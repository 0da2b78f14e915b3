//! Places in a source text.

use serde::Serialize;

/// A range of bytes in a source text, half-open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The empty range at an offset.
    pub fn at(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }

    /// Returns the number of bytes that it covers.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Returns true if it covers nothing.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The range from the beginning of this one to the end of a later one.
    pub fn to(self, later: Self) -> Self {
        Self { start: self.start, end: later.end }
    }

    /// Returns a span that can be shown: one after the end of the source becomes that of its last visible character.
    pub fn within(self, source: &[u8]) -> Self {
        if self.start < source.len() {
            return self;
        }
        let end = source.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
        Self { start: end.saturating_sub(1), end }
    }

    /// The bytes of the source that it covers, as far as they exist.
    pub fn of(self, source: &[u8]) -> &[u8] {
        let end = self.end.min(source.len());
        &source[self.start.min(end)..end]
    }

    /// The line on which it begins, counted from 1. Takes time linear in the offset.
    pub fn line(self, source: &[u8]) -> usize {
        let before = &source[..self.start.min(source.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_know_their_lines() {
        let source = b"one\ntwo three\n";
        let three = Span::new(8, 13);
        assert_eq!(three.of(source), b"three");
        assert_eq!(three.line(source), 2);
        assert_eq!(Span::at(source.len()).line(source), 3);
        assert_eq!(Span::at(0).to(three), Span::new(0, 13));
        // A span of another text is cut off, not a panic.
        assert_eq!(Span::new(12, 99).of(source), b"e\n");
        assert_eq!(Span::new(99, 100).of(source), b"");
        assert_eq!(Span::at(99).line(source), 3);
    }
}
