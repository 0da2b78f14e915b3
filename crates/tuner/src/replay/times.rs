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
        let launches = series.timings.chunk_by(|a, b| a.launch == b.launch);
        let mut medians: Vec<f64> = launches
            .filter_map(|launch| median(&mut launch.iter().map(|timing| timing.seconds).collect::<Vec<_>>()))
            .collect();
        Some((series.candidate, median(&mut medians)?))
    };
    cells.iter().map(|cell| (cell.cell, cell.series.iter().filter_map(point).collect())).collect()
}
