//! Aligned tables for a terminal.

use collrules_record::findings::Findings;
use collrules_record::validation::Outcome;
use collrules_record::{Candidate, Cell, Estimate, Seconds};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use crate::facts::candidate_name;
use crate::summary::{Gain, stretches};
use crate::words::{number, times};

/// The verdicts, in this many columns. Sizes with the same candidate are on one line.
pub fn verdicts(findings: &Findings, width: usize) -> String {
    let header = ["collective", "ranks", "message sizes", "algorithm", "gain", "by size"];
    let rows = stretches(findings).into_iter().map(|stretch| {
        let serve_by = candidate_name(findings, stretch.collective, stretch.by);
        let (gain, range) = match stretch.gain {
            None if stretch.by == Candidate::Builtin => (String::new(), String::new()),
            None => ("doubted".to_owned(), String::new()),
            Some(Gain { mean, least, most, .. }) => {
                let range = format!("{}..{}", times(least), times(most));
                (times(mean), if stretch.first == stretch.last { String::new() } else { range })
            }
        };
        vec![stretch.collective.to_string(), stretch.ranks.to_string(), stretch.sizes(), serve_by, gain, range]
    });
    aligned(width, &header, rows, &[1, 4])
}

/// Number of blanks between columns.
const GAP: usize = 2;

/// A table without lines; columns in `right` are aligned to the right.
///
/// Cells are wrapped to lines of at most `width` columns: between words if whole words fit, otherwise within the
/// longest words.
pub fn aligned(width: usize, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, right: &[usize]) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    // The gap behind the last column is not seen.
    let width = width + GAP;
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let least = least_widths(width, header, &rows);
    for ((place, column), least) in table.column_iter_mut().enumerate().zip(least) {
        let least = Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX));
        column.set_padding((0, GAP as u16)).set_constraint(ColumnConstraint::LowerBoundary(least));
        if right.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.add_rows(rows);
    table.trim_fmt()
}

/// Returns the width that each column needs for its longest word, reduced in the widest ones if they do not fit.
fn least_widths(width: usize, header: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let words =
        |place: usize| rows.iter().filter_map(move |row| row.get(place)).flat_map(|cell| cell.split_whitespace());
    let of_header = header.iter().map(|name| name.split_whitespace());
    let longest =
        of_header.enumerate().map(|(place, name)| name.chain(words(place)).map(|word| word.chars().count()).max());
    let mut least: Vec<usize> = longest.map(|longest| longest.unwrap_or(0) + GAP).collect();
    while least.iter().sum::<usize>() > width {
        match least.iter_mut().max() {
            Some(widest) if *widest > GAP + 1 => *widest -= 1,
            _ => break,
        }
    }
    least
}

/// The head of lines like [`side_by_side`]: names of the two times, of their ratio, and of the last column.
pub(crate) fn side_by_side_head([one, other, ratio]: [&str; 3], by: &str) -> String {
    let line = format!("{:>5} {:>8} {one:>8} {other:>8} {ratio:>7} {:^11} {:<10}{by}", "ranks", "size", "interval", "");
    line.trim_end().to_owned()
}

/// Two times of a cell with their ratio and its meaning, on a line of 80 columns.
pub(crate) fn side_by_side(cell: Cell, times: [f64; 2], ratio: Estimate, said: Outcome, by: &str) -> String {
    let size = if cell.collective.has_sizes() { cell.bytes.to_string() } else { "-".to_owned() };
    let [one, other] = times.map(|seconds| Seconds(seconds).to_string());
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{:>5}-{:<5}", number(low), number(high)),
        _ => String::new(),
    };
    let said = match said {
        Outcome::Faster => "faster",
        Outcome::Same => "same",
        Outcome::Slower => "SLOWER",
        Outcome::Undecided => "undecided",
    };
    let line = format!(
        "{:>5} {size:>8} {one:>8} {other:>8} {:>6}x {interval:^11} {said:<10}{by}",
        cell.ranks.0,
        number(ratio.point),
    );
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: usize) -> String {
        let rows = [["4", "pipeline, 64 KiB segments"], ["16", "recursive_doubling"]];
        aligned(width, &["ranks", "serve by"], rows.map(|row| row.map(str::to_owned).to_vec()), &[0])
    }

    #[test]
    fn words_are_whole_at_any_width() {
        assert_eq!(table(80), "ranks  serve by\n    4  pipeline, 64 KiB segments\n   16  recursive_doubling");
        assert_eq!(table(25), "ranks  serve by\n    4  pipeline, 64 KiB\n       segments\n   16  recursive_doubling");
    }

    #[test]
    fn lines_fit_even_if_words_do_not() {
        assert!(table(20).lines().all(|line| line.chars().count() <= 20), "{}", table(20));
    }
}
