//! What pairs of runs of a program, one without a tuning and one with it, say about the tuning.
//!
//! The logarithms of the pairs' ratios are taken to be normal about the true one and are judged by Student's t, as cells are in
//! a validation; here there is one of them, and its pairs alone say how much runs differ.

use std::collections::BTreeMap;

use collrules_record::Estimate;
use collrules_record::tried::{Judgement, ProgramRun};
use collrules_record::validation::{Criteria, Outcome};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::statistics::{Variance, mean, student_quantile};

/// Pairs before the first look: fewer say nothing of how much pairs differ.
const FIRST_LOOK: u32 = 4;

/// More pairs than anybody has time for.
const MOST: u32 = 1000;

/// After how many pairs to look whether it is clear: 4, 8, 16 and so on, and after the last one.
pub fn looks(pairs: u32) -> Vec<u32> {
    let mut looks: Vec<u32> =
        std::iter::successors(Some(FIRST_LOOK), |look| look.checked_mul(2)).take_while(|look| *look < pairs).collect();
    looks.push(pairs);
    looks
}

/// Judges the whole pairs among runs. `higher_is_better` of the value that is compared.
pub fn judged(runs: &[ProgramRun], higher_is_better: bool, criteria: Criteria) -> Judgement {
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
    let gain = Estimate::mean(&logs, criteria.level).map(|log| log.map(f64::exp));
    let Some(test) = Test::of(&logs) else {
        return Judgement { gain, pairs, q_value: None, outcome: Outcome::Same, clear: false, further: None };
    };
    let looks = f64::from(criteria.looks.max(1));
    let q_value = (test.p_value() * 2.0 * looks).min(1.0);
    let least = criteria.min_difference.ln_1p();
    let outcome = match test.mean {
        mean if q_value <= criteria.error_rate && mean >= least => Outcome::Faster,
        mean if q_value <= criteria.error_rate && mean <= -least => Outcome::Slower,
        _ => Outcome::Same,
    };
    let level = 1.0 - criteria.error_rate / looks;
    let clear = outcome != Outcome::Same || test.needs(logs.len() as u32, level, least);
    let further = (!clear)
        .then(|| (logs.len() as u32 + 1..=MOST).find(|pairs| test.needs(*pairs, level, least)))
        .flatten()
        .map(|pairs| pairs - logs.len() as u32);
    Judgement { gain, pairs, q_value: Some(q_value), outcome, clear, further }
}

struct Test {
    mean: f64,
    /// The standard deviation of a pair.
    deviation: f64,
    count: f64,
}

impl Test {
    /// None under three pairs.
    fn of(logs: &[f64]) -> Option<Self> {
        let variance = Variance::of(logs);
        let deviation = variance.value().sqrt();
        (logs.len() > 2 && deviation.is_finite()).then(|| Self {
            mean: mean(logs),
            deviation,
            count: logs.len() as f64,
        })
    }

    /// One-sided, in the direction that it has.
    fn p_value(&self) -> f64 {
        let error = self.deviation / self.count.sqrt();
        if error == 0.0 {
            return if self.mean == 0.0 { 0.5 } else { 0.0 };
        }
        StudentsT::new(0.0, 1.0, self.count - 1.0).map_or(1.0, |student| student.cdf(-self.mean.abs() / error))
    }

    /// Whether so many pairs with this mean and deviation suffice: to show a difference that counts, or that there is none.
    fn needs(&self, pairs: u32, level: f64, least: f64) -> bool {
        let degrees = f64::from(pairs) - 1.0;
        let reach = student_quantile(level, degrees) * self.deviation / f64::from(pairs).sqrt();
        if self.mean.abs() >= least { reach < self.mean.abs() } else { self.mean.abs() + reach < least }
    }
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
        };
        let both = |(pair, (without, with)): (usize, &(f64, f64))| [run(pair, false, *without), run(pair, true, *with)];
        pairs.iter().enumerate().flat_map(both).collect()
    }

    fn criteria(looks: u32) -> Criteria {
        Criteria { looks, ..Criteria::default() }
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

    /// The share of wrong verdicts where nothing differs, over all looks, is no larger than stated.
    #[test]
    fn noise_is_rarely_taken_for_a_difference() {
        use rand::SeedableRng;
        use rand_distr::{Distribution, Normal};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        let noise = Normal::new(0.0f64, 0.1).expect("a deviation");
        let looks = looks(16);
        let criteria = Criteria { min_difference: 0.0, looks: looks.len() as u32, ..Criteria::default() };
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
