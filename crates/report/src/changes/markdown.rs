//! What changed, as Markdown.

use std::fmt::{self, Write};

use collrules_record::comparison::Comparison;

use super::sentences::{answer, sentences, side, warning};
use super::tables::{changed, reserved};
use crate::plain;

/// As Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_markdown(&mut out, comparison);
    out
}

fn write_markdown(out: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(out, "# What changed\n")?;
    warning(comparison).map_or(Ok(()), |warning| writeln!(out, "{warning}\n"))?;
    writeln!(out, "**{}**\n", answer(comparison))?;
    writeln!(
        out,
        "- Before: {}\n- After: {}",
        plain::markdown(&side(&comparison.before)),
        plain::markdown(&side(&comparison.after))
    )?;
    let all = sentences(comparison);
    all.iter()
        .chain(&comparison.obstacles)
        .try_for_each(|sentence| writeln!(out, "- {}", plain::markdown(sentence)))?;
    if !comparison.differences.is_empty() {
        writeln!(out, "\n## What differs\n\n| what | before | after |\n|---|---|---|")?;
        for difference in &comparison.differences {
            let (before, after) = (plain::cell(&difference.before), plain::cell(&difference.after));
            writeln!(out, "| {} | {before} | {after} |", plain::cell(&difference.what))?;
        }
    }
    let changed = changed(comparison);
    if !changed.is_empty() {
        writeln!(out, "\n## The builtin changed\n")?;
        writeln!(out, "| collective | ranks | message sizes | change | as fast as before |\n|---|---:|---|---|---|")?;
        changed.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))?;
    }
    let reserved = reserved(comparison);
    if !reserved.is_empty() {
        writeln!(out, "\n## Served otherwise\n")?;
        writeln!(
            out,
            "| collective | ranks | message sizes | before | after | the earlier rules lose |\n|---|---:|---|---|---|---:|"
        )?;
        reserved.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))?;
    }
    Ok(())
}
