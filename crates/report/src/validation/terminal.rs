//! Each cell of the last comparison, then what they come to, for a terminal of 80 columns.

use collrules_record::Seconds;
use collrules_record::validation::{Outcome, ValidatedCell, Validation};
use collrules_rules::Release;
use collrules_rules::registry;

use super::sentences::sentences;
use crate::words::{number, wrapped};

/// The width of a terminal that nobody has widened.
const WIDTH: usize = 80;

/// Everything: each cell of the last comparison, then what they come to.
pub fn text(validation: &Validation, release: Release) -> String {
    let mut lines = Vec::new();
    if let Some(round) = validation.last() {
        for collective in round.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
            lines.push(collective[0].cell.collective.to_string());
            lines.push(
                format!(
                    "{:>5} {:>7} {:>8} {:>8} {:>8} {:^14} {:<7}{}",
                    "ranks", "size", "without", "with", "speedup", "interval", "", "rule",
                )
                .trim_end()
                .to_owned(),
            );
            lines.extend(collective.iter().map(|cell| row(cell, release)));
            lines.push(String::new());
        }
    }
    lines.extend(sentences(validation).iter().flat_map(|sentence| wrapped(WIDTH, sentence, "", "")));
    lines.join("\n")
}

fn row(cell: &ValidatedCell, release: Release) -> String {
    let verdict = match cell.verdict {
        Outcome::Faster => "faster",
        Outcome::Same => "same",
        Outcome::Slower => "SLOWER",
    };
    let size = if cell.cell.collective.has_sizes() { cell.cell.bytes.to_string() } else { "-".to_owned() };
    let interval = match (cell.speedup.low, cell.speedup.high) {
        (Some(low), Some(high)) => format!("{:>5} to {:<5}", number(low), number(high)),
        _ => String::new(),
    };
    let algorithm = registry::algorithm(release, cell.cell.collective, cell.served.algorithm);
    let rule = match (cell.served.is_builtin(), cell.handed) {
        (true, true) => "HAN's file",
        (true, false) => "-",
        (false, _) => algorithm.map_or("?", |algorithm| algorithm.name),
    };
    let line = format!(
        "{:>5} {size:>7} {:>8} {:>8} {:>7}x {interval:^14} {verdict:<7}{rule}",
        cell.cell.ranks.0,
        Seconds(cell.without.point).to_string(),
        Seconds(cell.with.point).to_string(),
        number(cell.speedup.point),
    );
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::validation;
    use super::*;

    #[test]
    fn lines_fit_into_eighty_columns_and_say_what_was_found() {
        for (verdict, speedup) in [(Outcome::Faster, 12345.6), (Outcome::Slower, 0.0123), (Outcome::Same, 123.4)] {
            let text = text(&validation(verdict, speedup), Release::V5_0);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert_eq!(text.contains("SLOWER"), verdict == Outcome::Slower, "{text}");
        }
    }
}
