//! One time for each point of a side.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::{Candidate, Cell};

use crate::cells::{CellTimings, Series};

/// Seconds by cell and candidate.
pub(super) type Times = BTreeMap<Cell, BTreeMap<Candidate, f64>>;

/// The median over launches of the median of each.
pub(super) fn times(cells: &[CellTimings]) -> Times {
    let point = |series: &Series| {
        let mut medians: Vec<f64> = series.launch_medians().into_iter().map(|(_, seconds)| seconds).collect();
        Some((series.candidate, median(&mut medians)?))
    };
    cells.iter().map(|cell| (cell.cell, cell.series.iter().filter_map(point).collect())).collect()
}
