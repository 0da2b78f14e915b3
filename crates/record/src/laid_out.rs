//! What rules for several layouts mean to each of them.

use serde::{Deserialize, Serialize};

use crate::arrangement::Arrangement;
use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::placement::Layout;

/// A layout among several that share rules, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaidOut {
    /// How its communicators took their ranks.
    pub layout: Layout,
    /// The run with its timings.
    pub run: String,
    /// Its cells.
    pub cells: Vec<CellInLayout>,
}

/// A cell as one layout has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellInLayout {
    /// The cell.
    pub cell: Cell,
    /// Where its ranks were.
    pub arrangement: Arrangement,
    /// What it counted for in the decision, all layouts together being 1.
    pub weight: f64,
    /// What would serve it if there were no other layout, and its gain.
    pub wanted: Candidate,
    /// Builtin time over the time of `wanted`; missing for the builtin.
    pub wanted_gain: Option<Estimate>,
    /// What serves it.
    pub served: Candidate,
    /// Builtin time over the time of `served`; missing for the builtin, and where it was not timed.
    pub served_gain: Option<Estimate>,
}
