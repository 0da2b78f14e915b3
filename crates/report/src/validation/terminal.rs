//! Each cell of the last comparison, then the result, for a terminal of 80 columns.

use collrules_record::validation::{ValidatedCell, Validation};
use collrules_rules::Release;
use collrules_rules::registry;

use super::sentences::sentences;
use crate::terminal::{side_by_side, side_by_side_head};
use crate::words::wrapped;

/// Default width of a terminal.
const WIDTH: usize = 80;

/// Each cell of the last comparison, then the result.
pub fn text(validation: &Validation, release: Release) -> String {
    let mut lines = Vec::new();
    if let Some(round) = validation.last() {
        for collective in round.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
            lines.push(collective[0].cell.collective.to_string());
            lines.push(side_by_side_head(["without", "with", "speedup"], "rule"));
            lines.extend(collective.iter().map(|cell| row(cell, release)));
            lines.push(String::new());
        }
    }
    lines.extend(sentences(validation).iter().flat_map(|sentence| wrapped(WIDTH, sentence, "", "")));
    lines.join("\n")
}

fn row(found: &ValidatedCell, release: Release) -> String {
    let cell = found.cell;
    let algorithm = registry::algorithm(release, cell.collective, found.served.algorithm);
    let rule = match (found.served.is_builtin(), found.handed) {
        (true, true) => "HAN's file",
        (true, false) => "-",
        (false, _) => algorithm.map_or("?", |algorithm| algorithm.name),
    };
    side_by_side(cell, [found.without.point, found.with.point], found.speedup, found.verdict, rule)
}

#[cfg(test)]
mod tests {
    use collrules_record::validation::Outcome;

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
