//! Effects of rules for several layouts on each of them.

use serde::{Deserialize, Serialize};

use crate::arrangement::Arrangement;
use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::placement::Layout;

/// A layout among several that share rules, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaidOut {
    /// Order in which its communicators took their ranks.
    pub layout: Layout,
    /// The run with its timings.
    pub run: String,
    /// Its cells.
    pub cells: Vec<CellInLayout>,
}

/// A cell in one layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellInLayout {
    /// The cell.
    pub cell: Cell,
    /// Arrangement of its ranks on nodes.
    pub arrangement: Arrangement,
    /// The candidate that would be chosen if there were no other layout.
    pub wanted: Candidate,
    /// Builtin time over the time of `wanted`; missing for the builtin.
    pub wanted_gain: Option<Estimate>,
    /// The candidate that is used.
    pub served: Candidate,
    /// Builtin time over the time of `served`; missing for the builtin, and if it was not timed.
    pub served_gain: Option<Estimate>,
}
