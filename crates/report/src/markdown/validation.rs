//! The section on what fresh launches showed.

use std::fmt::{self, Write};

use collrules_record::findings::Findings;
use collrules_record::validation::Validation;

use super::bullets::bullets;
use crate::plain;
use crate::validation::rows;

pub(super) fn write(out: &mut String, findings: &Findings, validation: &Validation) -> fmt::Result {
    writeln!(out, "\n## What fresh launches showed\n")?;
    bullets(out, &rows::paragraphs(validation))?;
    writeln!(
        out,
        "\n| file | pairs of launches | cells | faster | same | slower | failed | geometric mean | worst cell |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---|")?;
    for row in rows::rounds(validation) {
        let rows::RoundRow { name, pairs, cells, faster, same, slower, failed, mean, worst, .. } = row;
        let name = plain::cell(&name);
        writeln!(out, "| {name} | {pairs} | {cells} | {faster} | {same} | {slower} | {failed} | {mean} | {worst} |")?;
    }
    let telling = rows::telling(findings, validation);
    if telling.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nCells that were slower, failed, or were given back to the builtin:\n")?;
    writeln!(out, "| file | cell | rule | without | with | speedup | verdict |\n|---|---|---|---:|---:|---|---|")?;
    telling.iter().try_for_each(|row| {
        let row = row.each_ref().map(|text| plain::cell(text));
        writeln!(out, "| {} |", row.join(" | "))
    })
}
