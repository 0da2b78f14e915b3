//! Changes since an earlier run, as Markdown.

use collrules_tuner::results::comparison::Comparison;

use super::sentences::{answer, sentences, side, warning};
use super::tables::{CHANGED, RESERVED, changed, reserved};
use crate::plain::{bullets, table};

/// As Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let warning = warning(comparison).map_or(String::new(), |warning| format!("{warning}\n\n"));
    let mut out = format!("# What changed\n\n{warning}**{}**\n\n", answer(comparison));
    let sides = [("Before", &comparison.before), ("After", &comparison.after)];
    out += &bullets(sides.map(|(when, run)| format!("{when}: {}", side(run))));
    out += &bullets(sentences(comparison));
    let differences = comparison.differences.iter().map(|it| [&it.what, &it.before, &it.after].map(Clone::clone));
    let differences = table(&["what", "before", "after"], &[], differences);
    for (title, some, table) in [
        ("What differs", !comparison.differences.is_empty(), differences),
        ("The default changed", !changed(comparison).is_empty(), table(&CHANGED, &[1], changed(comparison))),
        ("The choice changed", !reserved(comparison).is_empty(), table(&RESERVED, &[1, 5], reserved(comparison))),
    ] {
        if some {
            out += &format!("\n## {title}\n\n{table}");
        }
    }
    out
}
