//! Calls that take several times as long now and then: medians do not show them, and programs wait for them.

use std::collections::BTreeSet;

use collrules_record::estimate::median;
use collrules_record::findings::Stalling;
use collrules_record::units::Seconds;
use statrs::distribution::{DiscreteCDF, Hypergeometric};

use crate::cells::Series;
use crate::statistics::mean;

/// A call is slow if it takes so many times as long as the builtin usually does.
const FOLD: f64 = 4.0;

/// So many calls have to be slow, in two visits at least: what disturbs a visit disturbs neighbouring calls.
const LEAST: usize = 3;

/// The largest probability of so many slow calls among those of the candidate, if slow calls hit both alike.
const CHANCE: f64 = 0.01;

/// The slow calls of a candidate, if it has more of them than the builtin, not by chance, and they make it slower on average.
pub(crate) fn stalling(builtin: &Series, series: &Series) -> Option<Stalling> {
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
    fn series(calls: u32, nth: u32) -> Series {
        let timing = |call: u32| {
            let seconds = if nth > 0 && call.is_multiple_of(nth) { 2e-3 } else { 10e-6 };
            Timing { launch: 0, visit: call / 6, round: call % 6, seconds }
        };
        Series::new(Candidate::Builtin, (0..calls).map(timing).collect())
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
