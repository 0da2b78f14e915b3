//! Times of points, one for each.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::{Candidate, Cell};

use crate::cells::{CellTimings, PointTimings};

/// Seconds by cell and candidate.
pub(super) type PointSeconds = BTreeMap<Cell, BTreeMap<Candidate, f64>>;

/// The median over launches of the median of each.
pub(super) fn times(cells: &[CellTimings]) -> PointSeconds {
    let point = |series: &PointTimings| {
        let mut medians: Vec<f64> = series.launch_medians().into_values().collect();
        Some((series.candidate, median(&mut medians)?))
    };
    cells.iter().map(|cell| (cell.cell, cell.series.iter().filter_map(point).collect())).collect()
}
