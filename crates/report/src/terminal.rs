//! Aligned tables for a terminal.

use collrules_record::findings::Findings;
use collrules_record::validation::Outcome;
use collrules_record::{Candidate, Cell, Estimate, Seconds};

pub use crate::document::terminal::aligned;
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
