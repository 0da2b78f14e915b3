//! Implausible numbers: reported, never repaired.
//!
//! Each check looks at all timings together and knows nothing of files. Its thresholds are stated next to it, with
//! their rate of false alarms.

mod limits;
mod neighbours;
mod series;
mod twins;

use std::ops::Range;

use collrules_rules::collective::{CallData, Extent};
use collrules_rules::{Collective, Release};

use super::finding::FindingCode;
use super::group::group;
use super::timing::Imported;
use collrules_record::estimate::median;
use collrules_record::findings::Statistic;
use collrules_record::{Candidate, Cell, Seconds};

/// A suspicion about timings.
pub(super) struct Suspicion {
    /// The timing at which it is reported.
    pub(super) place: usize,
    pub(super) code: FindingCode,
    pub(super) what: String,
    /// All timings that it concerns.
    pub(super) timings: Vec<usize>,
}

/// One candidate in one cell and launch: the median of its calls.
pub(super) struct PointValue {
    pub(super) cell: Cell,
    pub(super) candidate: Candidate,
    pub(super) launch: u32,
    /// Natural logarithm of the time in seconds.
    pub(super) log: f64,
    /// `log`, less the median of the other candidates in its cell and launch, if there are at least two.
    pub(super) beside: Option<f64>,
    /// The timings of these calls.
    pub(super) timings: Range<usize>,
}

impl PointValue {
    fn time(&self) -> Seconds {
        Seconds(self.log.exp())
    }

    /// The time and what was timed.
    fn describe(&self) -> String {
        format!("{} in {} with {}", self.time(), self.cell, self.candidate)
    }

    /// A suspicion that is reported at this point and concerns all of `points`.
    fn suspicion<'a>(&self, points: impl IntoIterator<Item = &'a Self>, code: FindingCode, what: String) -> Suspicion {
        let timings = points.into_iter().flat_map(|point| point.timings.clone()).collect();
        Suspicion { place: self.timings.start, code, what, timings }
    }
}

/// All suspicions about timings, which have to be ordered by cell, candidate, launch and round.
pub(super) fn check(
    timings: &[Imported],
    statistic: Statistic,
    release: Release,
    process_bandwidth: f64,
) -> Vec<Suspicion> {
    let points = points(timings, statistic);
    let checks = [
        limits::check_digits(timings),
        limits::check_bandwidth(&points, process_bandwidth),
        limits::check_growth(&points),
        twins::check(&points, release),
        neighbours::check(&points),
        series::check(&points),
    ];
    checks.into_iter().flatten().collect()
}

fn points(timings: &[Imported], statistic: Statistic) -> Vec<PointValue> {
    let same = |a: &Imported, b: &Imported| (a.cell, a.candidate, a.launch) == (b.cell, b.candidate, b.launch);
    let mut points = Vec::new();
    let mut start = 0;
    for calls in timings.chunk_by(same) {
        let mut seconds: Vec<f64> = calls.iter().filter_map(|call| call.time(statistic)).map(|time| time.0).collect();
        if let Some(middle) = median(&mut seconds) {
            let Imported { cell, candidate, launch, .. } = calls[0];
            let timings = start..start + calls.len();
            points.push(PointValue { cell, candidate, launch, log: middle.ln(), beside: None, timings });
        }
        start += calls.len();
    }
    for places in group(0..points.len(), |place| (points[*place].cell, points[*place].launch)).into_values() {
        for &place in places.iter().filter(|_| places.len() >= 3) {
            let others = places.iter().filter(|other| **other != place);
            let middle = median(&mut others.map(|other| points[*other].log).collect::<Vec<f64>>());
            points[place].beside = middle.map(|middle| points[place].log - middle);
        }
    }
    points
}

/// Returns true if each rank has a block of its own.
fn moves_blocks(collective: Collective) -> bool {
    let CallData { sends, receives, .. } = collective.data();
    [sends, receives].contains(&Extent::Blocks) && !collective.reduces()
}

/// Returns true if all ranks work on the same vector.
fn moves_vectors(collective: Collective) -> bool {
    let CallData { sends, receives, .. } = collective.data();
    sends != Extent::Blocks && receives == Extent::Message
}

/// Bytes that at least one process has to send or receive in a call.
fn through_one_process(cell: Cell) -> f64 {
    let (ranks, bytes) = (f64::from(cell.ranks.0), cell.bytes.0 as f64);
    match cell.collective {
        collective if moves_blocks(collective) => bytes * (ranks - 1.0),
        // Of a single rank nothing.
        collective if moves_vectors(collective) => bytes * (ranks - 1.0).min(1.0),
        // Benchmarks of reduce-scatters count the whole vector for one and a block for the other; this holds for both.
        _ => bytes * (ranks - 1.0) / ranks,
    }
}

/// Logarithm of the factor between units of time: a thousand.
const THOUSAND: f64 = 6.907_755_278_982_137;

/// Tolerance of such a factor, as a logarithm: a factor of three.
const ABOUT: f64 = 1.098_612_288_668_109_8;

/// `3.4 times longer`, `1000 times shorter`: a factor for people.
fn factor(log: f64) -> String {
    let (factor, much) = (log.abs().exp(), if log > 0.0 { "longer" } else { "shorter" });
    if factor < 20.0 { format!("{factor:.1} times {much}") } else { format!("{factor:.0} times {much}") }
}
