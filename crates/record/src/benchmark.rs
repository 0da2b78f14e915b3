//! Benchmarks in the usual form: calls one after the other, averaged over calls and ranks.
//!
//! Tuning never uses these figures, which hide the slowest rank and the spread; they exist for comparison with those of
//! the OSU micro-benchmarks.

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::component::Component;
use crate::units::{Bytes, Ranks};
use collrules_program::Even;

/// Calls that one job benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// The collective.
    pub collective: Collective,
    /// The size of the communicator, which is the number of ranks of the job.
    pub ranks: Ranks,
    /// Algorithm to time. The builtin is whatever the job does by itself, rules files and settings included.
    pub candidate: Candidate,
    /// The components that take calls from `coll/tuned`, and are switched off for its candidates.
    pub without: Vec<Component>,
    /// The message sizes, in this order; size 0 alone for a collective without sizes.
    pub lengths: Vec<Length>,
    /// The requested quantiles, in percent.
    pub percentiles: Vec<f64>,
    /// True if one call of each size is checked on known data.
    pub validate: bool,
    /// The nodes, for a mock-up that makes calls on them.
    pub even: Option<Even>,
}

/// Numbers of calls for one message size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Length {
    /// The message bytes.
    pub bytes: Bytes,
    /// Untimed calls before the timed ones.
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
pub struct BenchmarkLine {
    /// The size, and how it was timed.
    pub length: Length,
    /// The mean over calls and ranks.
    pub average: f64,
    /// The smallest mean of a rank.
    pub least: f64,
    /// The largest mean of a rank.
    pub most: f64,
    /// For each requested percentile, its value over calls, each averaged over ranks.
    pub percentiles: Vec<f64>,
    /// True if the data of the checked call was correct on all ranks; none if no call was checked.
    pub valid: Option<bool>,
}

impl BenchmarkLine {
    /// Summarizes the times of every rank: one list per rank, with a time per call.
    ///
    /// # Panics
    /// If there is no rank, or a rank without times.
    pub fn summarize(length: Length, times: &[Vec<f64>], percentiles: &[f64], valid: Option<bool>) -> Self {
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

/// The value that this percentage of ascending values does not exceed, by the nearest-rank method.
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
        let line = BenchmarkLine::summarize(length, &times, &[0.0, 50.0, 75.0, 99.0], Some(true));
        assert_eq!((line.average, line.least, line.most), (3.5, 2.5, 4.5));
        assert_eq!(line.percentiles, [2.0, 3.0, 4.0, 5.0]);
    }
}
