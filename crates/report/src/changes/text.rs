//! Changes since an earlier run, for a terminal.

use collrules_tuner::results::comparison::Comparison;

use super::sentences::{answer, sentences, side, warning};
use super::tables::{CHANGED, RESERVED, changed, reserved};
use crate::terminal::aligned;
use crate::{plain, words};

/// For a terminal with this many columns.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let mut lines =
        vec![format!("Before: {}", side(&comparison.before)), format!("After:  {}", side(&comparison.after))];
    lines.extend(warning(comparison).map(str::to_owned));
    lines.push(String::new());
    let wrapped = |sentence: &str, indent: &str| words::wrapped(width, &plain::line(sentence), "", indent);
    lines.extend(wrapped(&answer(comparison), ""));
    lines.push(String::new());
    lines.extend(sentences(comparison).iter().flat_map(|sentence| wrapped(&format!("- {sentence}"), "  ")));
    if !comparison.differences.is_empty() {
        lines.extend([String::new(), "What differs:".to_owned()]);
        for difference in &comparison.differences {
            let text = format!("- {}: {} before, {} after", difference.what, difference.before, difference.after);
            lines.extend(wrapped(&text, "  "));
        }
    }
    let changed = changed(comparison);
    if !changed.is_empty() {
        lines.extend([String::new(), "The default changed:".to_owned()]);
        let rows = changed.into_iter().map(Vec::from);
        lines.push(aligned(width, &CHANGED, rows, &[1]));
    }
    let reserved = reserved(comparison);
    if !reserved.is_empty() {
        lines.extend([String::new(), "The choice changed:".to_owned()]);
        lines.push(aligned(width, &RESERVED, reserved.into_iter().map(Vec::from), &[1, 5]));
    }
    lines.join("\n") + "\n"
}
