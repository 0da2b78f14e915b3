//! Timings sorted into cells, and the pairs that are compared.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::Middle;
use collrules_record::estimate::{TestedMean, mean, median, medians};
use collrules_record::{Candidate, Cell};

use crate::statistics::{LaunchLogs, Replicates, test_all};

/// One timing of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The launch.
    pub launch: u32,
    /// The visit in the launch.
    pub visit: u32,
    /// The round in the visit.
    pub round: u32,
    /// Time in seconds, above 0.
    pub seconds: f64,
}

/// The timings of one candidate in one cell, in the order of measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct PointTimings {
    /// The candidate.
    pub candidate: Candidate,
    /// Its timings.
    pub timings: Vec<Timing>,
}

/// Timings of the builtin and a candidate from the same round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimingPair {
    /// The launch.
    pub launch: u32,
    /// The visit in the launch.
    pub visit: u32,
    /// Natural logarithm of builtin time over candidate time: positive if the candidate is faster.
    pub log_gain: f64,
    /// The seconds of the builtin and of the candidate.
    pub seconds: (f64, f64),
}

/// Timings of one cell.
#[derive(Clone, Debug)]
pub struct CellTimings {
    /// The cell.
    pub cell: Cell,
    /// The builtin first, if it was timed, then by candidate.
    pub series: Vec<PointTimings>,
    /// Candidates that failed, with the reason.
    pub disqualified: Vec<(Candidate, String)>,
    /// Candidates that were clearly beaten in a launch, and hence not timed in later ones.
    pub dropped: BTreeSet<Candidate>,
}

impl Timing {
    pub(crate) fn turn(&self) -> (u32, u32, u32) {
        (self.launch, self.visit, self.round)
    }
}

impl PointTimings {
    /// The times in seconds.
    pub(crate) fn seconds(&self) -> Vec<f64> {
        self.timings.iter().map(|timing| timing.seconds).collect()
    }

    /// The launches that have a timing of the candidate.
    pub fn launches(&self) -> BTreeSet<u32> {
        self.timings.iter().map(|timing| timing.launch).collect()
    }

    /// The median of each launch, in seconds. Calls of one launch are not replications.
    pub fn launch_medians(&self) -> BTreeMap<u32, f64> {
        let launches = self.timings.chunk_by(|a, b| a.launch == b.launch);
        let of_launch = |launch: &[Timing]| (launch[0].launch, launch.iter().map(|timing| timing.seconds).collect());
        medians(launches.map(of_launch)).collect()
    }

    /// The logarithms of [`launch_medians`](Self::launch_medians).
    pub(crate) fn launch_logs(&self) -> LaunchLogs {
        self.launch_medians().into_iter().map(|(launch, seconds)| (launch, seconds.ln())).collect()
    }

    /// The mean log gain over the builtin, from the launches of both, which are no pairs.
    pub fn test_launches(&self, builtin: &PointTimings) -> Option<TestedMean> {
        test_all(&[Replicates { cell: None, groups: vec![self.launch_logs(), builtin.launch_logs()] }]).pop()
    }

    /// Pairs the timings of this candidate and the builtin that are from the same round.
    pub fn pairs(&self, builtin: &PointTimings) -> Vec<TimingPair> {
        let mut pairs = Vec::with_capacity(self.timings.len());
        let mut reference = builtin.timings.iter().peekable();
        for timing in &self.timings {
            while reference.next_if(|other| other.turn() < timing.turn()).is_some() {}
            if let Some(other) = reference.next_if(|other| other.turn() == timing.turn()) {
                let log_gain = (other.seconds / timing.seconds).ln();
                let seconds = (other.seconds, timing.seconds);
                pairs.push(TimingPair { launch: timing.launch, visit: timing.visit, log_gain, seconds });
            }
        }
        pairs
    }
}

impl TimingPair {
    /// The launch, and the visit in it.
    pub fn visit(&self) -> (u32, u32) {
        (self.launch, self.visit)
    }
}

/// The logarithm of the gain, by medians or means, of each group of consecutive pairs with equal keys.
pub fn log_gains<K: PartialEq>(pairs: &[TimingPair], middle: Middle, key: impl Fn(&TimingPair) -> K) -> Vec<(K, f64)> {
    let one = |pairs: &[TimingPair]| {
        let log_gain = match middle {
            Middle::Median => median(&mut pairs.iter().map(|pair| pair.log_gain).collect::<Vec<_>>())?,
            Middle::Mean => {
                (mean(pairs.iter().map(|pair| pair.seconds.0)) / mean(pairs.iter().map(|pair| pair.seconds.1))).ln()
            }
        };
        Some((key(&pairs[0]), log_gain))
    };
    pairs.chunk_by(|a, b| key(a) == key(b)).filter_map(one).collect()
}

impl CellTimings {
    /// A cell without timings.
    pub(crate) fn new(cell: Cell) -> Self {
        Self { cell, series: Vec::new(), disqualified: Vec::new(), dropped: BTreeSet::new() }
    }

    /// The builtin's timings.
    pub fn builtin(&self) -> Option<&PointTimings> {
        self.series.first().filter(|series| series.candidate == Candidate::Builtin)
    }

    /// Returns true if the builtin itself failed, which leaves no baseline.
    pub fn builtin_failed(&self) -> bool {
        self.failure(Candidate::Builtin).is_some()
    }

    /// The reason why a candidate failed, if it did.
    pub fn failure(&self, candidate: Candidate) -> Option<&str> {
        self.disqualified.iter().find(|(failed, _)| *failed == candidate).map(|(_, why)| why.as_str())
    }

    /// The launches that have any timing.
    pub fn launches(&self) -> BTreeSet<u32> {
        self.series.iter().flat_map(PointTimings::launches).collect()
    }

    /// Returns true if nothing is left to time: the builtin failed, or all other timed candidates were beaten or
    /// failed.
    pub(crate) fn finished(&self) -> bool {
        let ended = |it: Candidate| self.dropped.contains(&it) || self.failure(it).is_some();
        let mut candidates = self.series.iter().map(|series| series.candidate);
        self.builtin_failed() || candidates.all(|it| it == Candidate::Builtin || ended(it))
    }
}

#[cfg(test)]
mod tests {
    use collrules_rules::Choice;

    use super::*;

    fn series(candidate: Candidate, timings: &[(u32, u32, u32, f64)]) -> PointTimings {
        let timing = |(launch, visit, round, seconds): &(u32, u32, u32, f64)| Timing {
            launch: *launch,
            visit: *visit,
            round: *round,
            seconds: *seconds,
        };
        PointTimings { candidate, timings: timings.iter().map(timing).collect() }
    }

    #[test]
    fn only_timings_of_one_round_are_paired() {
        let builtin = series(Candidate::Builtin, &[(0, 0, 0, 2.0), (0, 0, 1, 4.0), (0, 1, 1, 6.0), (1, 0, 0, 8.0)]);
        let chosen = Candidate::Tuned(Choice::plain(1));
        let candidate = series(chosen, &[(0, 0, 1, 1.0), (0, 0, 2, 1.0), (0, 1, 0, 1.0), (1, 0, 0, 4.0)]);
        let pairs = candidate.pairs(&builtin);
        let expected = [(0, 0, 4.0f64.ln()), (1, 0, 2.0f64.ln())];
        assert_eq!(pairs.iter().map(|pair| (pair.launch, pair.visit, pair.log_gain)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_timing_is_paired_once() {
        let builtin = series(Candidate::Builtin, &[(0, 0, 0, 2.0), (0, 0, 0, 3.0)]);
        let candidate = series(Candidate::Tuned(Choice::plain(1)), &[(0, 0, 0, 1.0)]);
        assert_eq!(candidate.pairs(&builtin).len(), 1);
    }
}
