//! Lines between those of a benchmark: warnings of the MPI library that went to the same file.

use super::finding::FindingCode;
use super::raw::Parsed;

/// Largest number of characters of a line that a message shows.
const SHOWN: usize = 60;

/// Adjoining stray lines, reported together.
#[derive(Default)]
pub(super) struct Stray {
    run: Option<(u64, u64, String)>,
}

impl Stray {
    pub(super) fn line(&mut self, line: u64, content: &str) {
        let (_, last, _) = self.run.get_or_insert_with(|| (line, line, short(content)));
        *last = line;
    }

    /// Reports the lines so far.
    pub(super) fn end(&mut self, parsed: &mut Parsed) {
        let Some((first, last, content)) = self.run.take() else { return };
        let what = if first == last {
            format!("not part of the benchmark's output, ignored: {content}")
        } else {
            format!("lines {first} to {last} are not part of the benchmark's output, ignored; they begin: {content}")
        };
        parsed.fault(first, FindingCode::StrayLines, what);
    }
}

/// The beginning of a line, in quotes, without control characters.
pub(super) fn short(content: &str) -> String {
    let mut shown: String = content.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if content.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
