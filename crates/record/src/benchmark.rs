//! Benchmarks as people know them: calls one after the other, averaged over calls and ranks.
//!
//! What is tuned is never decided by these figures, which hide the slowest rank and the spread; they are there to be
//! put beside those of the OSU micro-benchmarks.

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::component::Component;
use crate::placement::Even;
use crate::units::{Bytes, Ranks};

/// What one job benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// The collective.
    pub collective: Collective,
    /// The size of the communicator, which is the number of ranks of the job.
    pub ranks: Ranks,
    /// How it is carried out. The builtin is whatever the job does by itself, rules files and settings included.
    pub candidate: Candidate,
    /// The components that would take the calls from `coll/tuned`, and do not for its candidates.
    pub without: Vec<Component>,
    /// The message sizes, in this order; size 0 alone for a collective without sizes.
    pub lengths: Vec<Length>,
    /// The quantiles wanted, in percent.
    pub percentiles: Vec<f64>,
    /// Whether a call of each size is checked on known data.
    pub validate: bool,
    /// The nodes, for a mock-up that makes calls on them.
    pub even: Option<Even>,
}

/// How a message size is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Length {
    /// The message bytes.
    pub bytes: Bytes,
    /// Calls that are not timed, first.
    pub warmup: u32,
    /// Timed calls.
    pub iterations: u32,
}

impl Benchmark {
    /// The cell of a length.
    pub fn cell(&self, length: Length) -> Cell {
        Cell { collective: self.collective, ranks: self.ranks, bytes: length.bytes }
    }
}

/// The result for one message size. All times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The size, and how it was timed.
    pub length: Length,
    /// The mean over calls, on each rank: the mean of these.
    pub average: f64,
    /// The least of them.
    pub least: f64,
    /// The largest of them.
    pub most: f64,
    /// For each percentile wanted, that of the calls, each averaged over ranks.
    pub percentiles: Vec<f64>,
    /// Whether the data of the checked call was right on all ranks, if there was one.
    pub valid: Option<bool>,
}

impl Line {
    /// Sums up the times of every rank, one list per rank, each with a time per call.
    ///
    /// # Panics
    /// If there is no rank, or a rank without times.
    pub fn of(length: Length, times: &[Vec<f64>], percentiles: &[f64], valid: Option<bool>) -> Self {
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let ranks: Vec<f64> = times.iter().map(|times| mean(times)).collect();
        let mut calls: Vec<f64> = (0..times[0].len())
            .map(|call| times.iter().map(|rank| rank[call]).sum::<f64>() / times.len() as f64)
            .collect();
        calls.sort_unstable_by(f64::total_cmp);
        Self {
            length,
            average: mean(&ranks),
            least: ranks.iter().copied().fold(f64::INFINITY, f64::min),
            most: ranks.iter().copied().fold(0.0, f64::max),
            percentiles: percentiles.iter().map(|percent| nearest_rank(&calls, *percent)).collect(),
            valid,
        }
    }
}

/// The value that this share of ascending values, in percent, does not exceed: one of the values, by the nearest-rank
/// method.
fn nearest_rank(ascending: &[f64], percent: f64) -> f64 {
    let place = (percent / 100.0 * ascending.len() as f64).ceil() as usize;
    ascending[place.clamp(1, ascending.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_sum_up_calls_and_ranks() {
        let length = Length { bytes: Bytes(8), warmup: 0, iterations: 4 };
        // Two ranks, four calls: rank means 2.5 and 4.5, calls averaged over ranks 2, 3, 4, 5.
        let times = [vec![4.0, 1.0, 3.0, 2.0], vec![6.0, 3.0, 5.0, 4.0]];
        let line = Line::of(length, &times, &[0.0, 50.0, 75.0, 99.0], Some(true));
        assert_eq!((line.average, line.least, line.most), (3.5, 2.5, 4.5));
        assert_eq!(line.percentiles, [2.0, 3.0, 4.0, 5.0]);
    }
}
