//! Comparison of pairs of runs of a program, one without a tuning and one with it.
//!
//! The logarithms of the pairs' ratios are assumed to be normal and are judged by Student's t, like cells in a
//! validation; here, only the pairs of a single subject show how much runs differ.

use std::collections::BTreeMap;

use collrules_record::estimate::{TestedMean, Variance};
use collrules_record::validation::{Outcome, ValidationCriteria};

use crate::comparison::difference;
use crate::results::ab_test::{Judgement, ProgramRun};

/// Number of pairs before the first look: fewer do not show how much pairs differ.
const FIRST_LOOK: u32 = 4;

/// Maximum number of pairs, more than time ever allows.
const MOST: u32 = 1000;

/// Numbers of pairs after which a clear answer ends the test: 4, 8, 16 and so on, and the largest.
pub fn looks(pairs: u32) -> Vec<u32> {
    let mut looks: Vec<u32> =
        std::iter::successors(Some(FIRST_LOOK), |look| look.checked_mul(2)).take_while(|look| *look < pairs).collect();
    looks.push(pairs);
    looks
}

/// Judges the complete pairs among runs. `higher_is_better` is true if larger values are better.
pub fn judged(runs: &[ProgramRun], higher_is_better: bool, criteria: ValidationCriteria) -> Judgement {
    let mut values: BTreeMap<u32, [Option<f64>; 2]> = BTreeMap::new();
    for run in runs {
        values.entry(run.pair).or_default()[usize::from(run.with)] = run.value.filter(|value| *value > 0.0);
    }
    let pairs: Vec<(u32, f64)> = values
        .into_iter()
        .filter_map(|(pair, [without, with])| {
            let ratio = without? / with?;
            Some((pair, if higher_is_better { 1.0 / ratio } else { ratio }))
        })
        .collect();
    let logs: Vec<f64> = pairs.iter().map(|(_, gain)| gain.ln()).collect();
    let test = TestedMean::from_values(&logs);
    let gain = (!logs.is_empty()).then(|| test.estimate(criteria.level).exp());
    if logs.len() < 3 || !test.error.is_finite() {
        return Judgement { gain, pairs, q_value: None, outcome: Outcome::Same, clear: false, further: None };
    }
    let looks = f64::from(criteria.looks.max(1));
    let q_value = test.p_beyond(0.0).map(|p_value| (p_value * looks).min(1.0));
    let least = criteria.min_difference.ln_1p();
    let outcome = gain.and_then(|gain| difference(gain, q_value, criteria)).unwrap_or(Outcome::Same);
    let level = 1.0 - criteria.error_rate / looks;
    let clear = outcome != Outcome::Same || suffice(test, logs.len() as u32, level, least);
    let further = (!clear)
        .then(|| (logs.len() as u32 + 1..=MOST).find(|pairs| suffice(test, *pairs, level, least)))
        .flatten()
        .map(|pairs| pairs - logs.len() as u32);
    Judgement { gain, pairs, q_value, outcome, clear, further }
}

/// Returns true if this number of pairs, with this mean and deviation, shows either a difference of at least `least` or
/// that there is none.
fn suffice(seen: TestedMean, pairs: u32, level: f64, least: f64) -> bool {
    let variance = Variance { value: seen.error.powi(2) * seen.samples as f64, degrees: f64::from(pairs) - 1.0 };
    let reach = TestedMean::new(seen.mean, variance, pairs as usize).reach(level);
    if seen.mean.abs() >= least { reach < seen.mean.abs() } else { seen.mean.abs() + reach < least }
}

#[cfg(test)]
mod tests {
    use collrules_record::Seconds;

    use super::*;

    fn runs(pairs: &[(f64, f64)]) -> Vec<ProgramRun> {
        let run = |pair: usize, with: bool, value: f64| ProgramRun {
            pair: pair as u32,
            with,
            took: Seconds(value),
            value: Some(value),
            failed: None,
            output: String::new(),
            digest: None,
        };
        let both = |(pair, (without, with)): (usize, &(f64, f64))| [run(pair, false, *without), run(pair, true, *with)];
        pairs.iter().enumerate().flat_map(both).collect()
    }

    fn criteria(looks: u32) -> ValidationCriteria {
        ValidationCriteria { looks, ..ValidationCriteria::default() }
    }

    #[test]
    fn a_program_that_is_faster_every_time_is_faster() {
        let judged = judged(&runs(&[(2.0, 1.0), (2.1, 1.0), (2.0, 1.05), (1.9, 1.0)]), false, criteria(2));
        assert_eq!((judged.outcome, judged.clear, judged.further), (Outcome::Faster, true, None));
        assert!((judged.gain.expect("pairs").point - 1.95).abs() < 0.05);
    }

    #[test]
    fn what_is_printed_may_be_better_when_it_is_higher() {
        let runs = runs(&[(2.0, 1.0), (2.1, 1.0), (2.0, 1.05), (1.9, 1.0)]);
        assert_eq!(judged(&runs, true, criteria(2)).outcome, Outcome::Slower);
    }

    #[test]
    fn equal_runs_are_clearly_the_same_and_wild_ones_are_not_clear() {
        let equal = judged(&runs(&[(2.0, 2.001), (2.001, 2.0), (2.0, 2.0), (2.0, 2.001)]), false, criteria(1));
        assert_eq!((equal.outcome, equal.clear), (Outcome::Same, true));
        let wild = judged(&runs(&[(2.0, 1.0), (1.0, 1.9), (2.0, 1.2), (1.2, 1.5)]), false, criteria(1));
        assert_eq!((wild.outcome, wild.clear), (Outcome::Same, false));
        assert!(wild.further.is_some_and(|further| further > 4), "{wild:?}");
    }

    #[test]
    fn half_pairs_and_failed_runs_do_not_count() {
        let mut some = runs(&[(2.0, 1.0), (2.0, 1.0), (2.0, 1.0)]);
        some[0].value = None;
        some.pop();
        let judged = judged(&some, false, criteria(1));
        assert_eq!((judged.pairs.len(), judged.q_value, judged.clear), (1, None, false));
        assert_eq!(judged.gain.map(|gain| gain.point), Some(2.0));
    }

    #[test]
    fn one_looks_more_and_more_rarely() {
        assert_eq!(looks(10), [4, 8, 10]);
        assert_eq!(looks(4), [4]);
        assert_eq!(looks(2), [2]);
        assert_eq!(looks(16), [4, 8, 16]);
    }

    /// If nothing differs, the share of wrong verdicts over all looks is at most the stated one.
    #[test]
    fn noise_is_rarely_taken_for_a_difference() {
        use rand::SeedableRng;
        use rand_distr::{Distribution, Normal};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        let noise = Normal::new(0.0f64, 0.1).expect("a deviation");
        let looks = looks(16);
        let criteria =
            ValidationCriteria { min_difference: 0.0, looks: looks.len() as u32, ..ValidationCriteria::default() };
        let campaigns = 1000;
        let wrong = (0..campaigns)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> =
                    (0..16).map(|_| (noise.sample(&mut random).exp(), noise.sample(&mut random).exp())).collect();
                looks.iter().any(|look| {
                    let judged = judged(&runs(&pairs[..*look as usize]), false, criteria);
                    judged.outcome != Outcome::Same
                })
            })
            .count();
        assert!((5..=50).contains(&wrong), "{wrong} of {campaigns}");
    }
}
