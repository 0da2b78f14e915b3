//! Aligned tables for a terminal.

use collrules_record::findings::Findings;
use collrules_record::tree::LeafGain;
use collrules_record::{Candidate, Cell};

use crate::document::Table;
pub use crate::document::terminal::aligned;
use crate::facts::candidate_name;
use crate::summary::stretches;
use crate::words::times;

/// The verdicts, in this many columns. Sizes with the same candidate are on one line.
pub fn verdicts(findings: &Findings, width: usize) -> String {
    let heads = ["collective", "ranks:", "message sizes", "algorithm", "gain:", "by size"];
    let rows = stretches(findings).into_iter().map(|stretch| {
        let Cell { collective, ranks, .. } = stretch.first;
        let algorithm = candidate_name(findings, collective, stretch.by);
        let (gain, range) = match stretch.gain {
            None if stretch.by == Candidate::Builtin => (String::new(), String::new()),
            None => ("doubted".to_owned(), String::new()),
            Some(LeafGain { mean, least, most, .. }) => {
                let range = format!("{}..{}", times(least), times(most));
                (times(mean), if stretch.first == stretch.last { String::new() } else { range })
            }
        };
        [collective.to_string(), ranks.to_string(), stretch.sizes(), algorithm, gain, range]
    });
    Table::new(heads, rows).text(width)
}
