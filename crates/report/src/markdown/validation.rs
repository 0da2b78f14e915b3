//! The section on results of fresh launches.

use collrules_record::findings::Findings;
use collrules_record::validation::Validation;

use crate::plain::{bullets, table};
use crate::validation::rows;

pub(super) fn section(findings: &Findings, validation: &Validation) -> String {
    let rounds = rows::rounds(validation).into_iter().map(|row| {
        let rows::RoundRow { name, pairs, cells, faster, same, slower, failed, mean, worst, .. } = row;
        let counts = [pairs as usize, cells, faster, same, slower, failed].map(|count| count.to_string());
        [name].into_iter().chain(counts).chain([mean, worst])
    });
    let heads =
        ["file", "pairs of launches", "sizes", "faster", "same", "slower", "failed", "geometric mean", "worst size"];
    let rounds = table(&heads, &[1, 2, 3, 4, 5, 6, 7], rounds);
    let mut text = format!("{}\n{rounds}", bullets(rows::paragraphs(validation)));
    let telling = rows::telling(findings, validation);
    if !telling.is_empty() {
        let heads = ["file", "size", "rule", "without", "with", "speedup", "verdict"];
        let telling = table(&heads, &[3, 4], telling);
        text += &format!("\nSizes that were slower, failed, or lost their rule:\n\n{telling}");
    }
    text
}
