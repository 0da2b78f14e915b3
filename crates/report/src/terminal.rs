//! Aligned tables for a terminal.

use collrules_record::findings::Findings;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::summary::{Gain, candidate_name, stretches};

/// The verdicts, sizes that are served alike on one line.
pub fn verdicts(findings: &Findings) -> String {
    let header = ["collective", "ranks", "message sizes", "serve by", "gain", "in cells from .. to"];
    let rows = stretches(findings).into_iter().map(|stretch| {
        let serve_by = candidate_name(findings, stretch.collective, stretch.by);
        let (gain, range) = match stretch.gain {
            None => (String::new(), String::new()),
            Some(Gain { mean, least, most, .. }) => (format!("{mean:.2}x"), format!("{least:.2}x .. {most:.2}x")),
        };
        vec![stretch.collective.to_string(), stretch.ranks.to_string(), stretch.sizes(), serve_by, gain, range]
    });
    aligned(&header, rows, &[1, 4])
}

/// A table without lines, wrapped to the width of the terminal; columns in `right` are aligned to the right.
pub fn aligned(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, right: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    table.add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
