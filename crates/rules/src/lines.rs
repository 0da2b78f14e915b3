//! The lines of a source text, and excerpts that can be shown.

use serde::Serialize;

use crate::span::Span;

/// The most characters of a line that are shown.
const SHOWN: usize = 100;

/// A place in a source text, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The line, counted from 1.
    pub line: usize,
    /// Text at that place: the line, or the passage in question if that is longer or shorter.
    pub text: String,
}

/// A source text with its lines, found in logarithmic time.
#[derive(Clone, Debug)]
pub struct Lines<'s> {
    source: &'s [u8],
    starts: Vec<usize>,
}

impl<'s> Lines<'s> {
    /// Splits a source into lines.
    pub fn new(source: &'s [u8]) -> Self {
        let ends = source.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self { source, starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// Line and column of an offset, counted from 1; columns count bytes.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        (line, offset - self.starts[line - 1] + 1)
    }

    /// The bytes of these lines, both included and counted from 1, with their ends; empty after the last.
    pub fn range(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let start = |line: usize| self.starts.get(line).copied().unwrap_or(self.source.len());
        start(first.saturating_sub(1))..start(last)
    }

    /// The line on which a span begins, with its text.
    pub fn excerpt(&self, span: Span) -> Excerpt {
        let (line, _) = self.position(span.start);
        let line_range = self.range(line, line);
        let whole = Span::new(line_range.start, line_range.end);
        let text = if span.end <= whole.end && whole.len() <= SHOWN { whole } else { span };
        // Reading on is of no use where so much would not be shown.
        let bytes = text.of(self.source);
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(16 * SHOWN)]);
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(cut);
            text.push_str(" ...");
        }
        Excerpt { line, text: plain(&text) }
    }
}

/// Untrusted text for a terminal: control characters, and those that change the direction of writing, become question
/// marks.
pub fn plain(text: &str) -> String {
    let turns = |char| matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|char| if char.is_control() || turns(char) { '?' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_lines_fit_to_be_shown() {
        let long = format!("short \x1b[1m line\n{} end\n", "x".repeat(200));
        let lines = Lines::new(long.as_bytes());
        assert_eq!(lines.excerpt(Span::new(2, 4)), Excerpt { line: 1, text: "short ?[1m line".to_owned() });
        let place = lines.excerpt(Span::new(20, 300));
        assert_eq!((place.line, place.text.len()), (2, SHOWN + 4));
        assert_eq!(lines.excerpt(Span::at(long.len())).line, 3);
        assert_eq!(Lines::new(b"").excerpt(Span::at(0)), Excerpt { line: 1, text: String::new() });
    }

    #[test]
    fn lines_know_their_ranges_and_positions() {
        let lines = Lines::new(b"one\ntwo three\n");
        assert_eq!([0, 3, 4, 8, 14].map(|at| lines.position(at)), [(1, 1), (1, 4), (2, 1), (2, 5), (3, 1)]);
        assert_eq!(
            [lines.range(1, 1), lines.range(2, 2), lines.range(1, 9), lines.range(9, 9)],
            [0..4, 4..14, 0..14, 14..14]
        );
    }
}
