//! Rare calls that take several times as long: medians hide them, and programs wait for them.

use std::collections::BTreeSet;

use collrules_record::estimate::{mean, median};
use collrules_record::reason::Stalling;
use collrules_record::units::Seconds;
use statrs::distribution::{DiscreteCDF, Hypergeometric};

use crate::cells::PointTimings;

/// A call is slow if it takes more than this multiple of the builtin's median.
const FOLD: f64 = 4.0;

/// Smallest number of slow calls, which must be in two visits at least: a disturbance hits neighbouring calls.
const LEAST: usize = 3;

/// Largest probability of the candidate's share of the slow calls, if slow calls are equally likely in both.
const CHANCE: f64 = 0.01;

/// The slow calls of a candidate, if it has significantly more of them than the builtin and they make it slower on
/// average.
pub(crate) fn stalling(builtin: &PointTimings, series: &PointTimings) -> Option<Stalling> {
    let (reference, times) = (builtin.seconds(), series.seconds());
    let mean_ratio = mean(&times) / mean(&reference);
    if mean_ratio.is_nan() || mean_ratio <= 1.0 {
        return None;
    }
    let beyond = FOLD * median(&mut reference.clone())?;
    let slow = |times: &[f64]| times.iter().filter(|seconds| **seconds > beyond).count();
    let (own, others) = (slow(&times), slow(&reference));
    let of_slow = series.timings.iter().filter(|timing| timing.seconds > beyond);
    let visits: BTreeSet<(u32, u32)> = of_slow.map(|timing| (timing.launch, timing.visit)).collect();
    if own < LEAST || visits.len() < 2 {
        return None;
    }
    let (all, drawn) = (times.len() + reference.len(), times.len());
    let chance = Hypergeometric::new(all as u64, (own + others) as u64, drawn as u64).ok()?.sf(own as u64 - 1);
    (chance <= CHANCE).then_some(Stalling {
        beyond: Seconds(beyond),
        slow: own,
        calls: times.len(),
        builtin_slow: others,
        builtin_calls: reference.len(),
        mean_ratio,
    })
}

#[cfg(test)]
mod tests {
    use collrules_record::Candidate;

    use super::*;
    use crate::cells::Timing;

    /// Calls of 10 us, of which every n-th takes 2 ms, six in a visit.
    fn series(calls: u32, nth: u32) -> PointTimings {
        let timing = |call: u32| {
            let seconds = if nth > 0 && call.is_multiple_of(nth) { 2e-3 } else { 10e-6 };
            Timing { launch: 0, visit: call / 6, round: call % 6, seconds }
        };
        PointTimings::new(Candidate::Builtin, (0..calls).map(timing).collect())
    }

    #[test]
    fn rare_slow_calls_are_seen_beside_a_builtin_without_them() {
        let found = stalling(&series(96, 0), &series(96, 10)).expect("stalls");
        assert_eq!((found.slow, found.calls, found.builtin_slow), (10, 96, 0));
        assert!((found.mean_ratio - (10.0 * 2e-3 + 86.0 * 10e-6) / (96.0 * 10e-6)).abs() < 1e-9);
        assert_eq!(stalling(&series(96, 10), &series(96, 10)), None, "both have them");
        assert_eq!(stalling(&series(96, 0), &series(96, 0)), None);
        assert_eq!(stalling(&series(96, 0), &series(12, 10)), None, "two slow calls may be chance");
    }
}
