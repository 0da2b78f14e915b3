//! Normal mixtures: how far the truth lies from what neighbours predict, how far the measured value lies from the truth,
//! and what follows for the truth.

use super::noise::Noise;
use crate::statistics::normal_cdf;

/// Standard deviations of log gains about their prediction, from the same to anything.
const SCALES: [f64; 6] = [0.01, 0.03, 0.08, 0.2, 0.5, 1.2];

/// What each scale has of one pseudo-observation.
const PSEUDO_COUNT: f64 = 1.0 / SCALES.len() as f64;

/// Steps of expectation maximisation; the weights change by less than a per cent after a few dozen.
const STEPS: usize = 50;

/// A measured value and where the truth is expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    /// The place of the point it belongs to.
    pub(super) point: usize,
    pub(super) value: f64,
    pub(super) centre: f64,
    /// Of the centre itself, which comes from measured values.
    pub(super) variance: f64,
    /// Which noise it has.
    pub(super) group: usize,
    /// The factor of the noise of its group.
    pub(super) factor: f64,
}

/// Values that lie about their predictions alike, and the weights of the scales for it.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) observations: Vec<Observed>,
    weights: [f64; SCALES.len()],
}

/// What is known of the weights of the noise, and for how many observations that stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) noise: &'a Noise,
    pub(super) count: f64,
}

impl Class {
    pub(super) fn new(observations: Vec<Observed>) -> Self {
        Self { observations, weights: [1.0 / SCALES.len() as f64; SCALES.len()] }
    }

    /// The posterior mean of the truth.
    pub(super) fn mean(&self, observed: &Observed, noise: &Noise) -> f64 {
        let mut sum = 0.0;
        self.components(observed, noise, |weight, mean, _| sum += weight * mean);
        sum
    }

    /// The posterior mean of the truth, and the probability that the truth with the noise of a fresh launch, of which
    /// the factor is given, lies below a limit.
    pub(super) fn posterior(&self, observed: &Observed, noise: &Noise, fresh: f64, limit: f64) -> (f64, f64) {
        let (mut sum, mut below) = (0.0, 0.0);
        self.components(observed, noise, |weight, mean, variance| {
            sum += weight * mean;
            for (deviation, share) in noise.parts() {
                let spread = (variance + (fresh * deviation).powi(2)).sqrt().max(f64::MIN_POSITIVE);
                below += weight * share * normal_cdf((limit - mean) / spread);
            }
        });
        (sum, below.min(1.0))
    }

    /// Goes through the components of the posterior: weight, mean, variance. The weights sum to 1.
    fn components(&self, observed: &Observed, noise: &Noise, mut each: impl FnMut(f64, f64, f64)) {
        let surprise = observed.value - observed.centre;
        let parts = || {
            SCALES.iter().zip(&self.weights).flat_map(move |(scale, weight)| {
                let prior = scale * scale + observed.variance;
                noise.parts().map(move |(deviation, share)| {
                    let total = prior + (observed.factor * deviation).powi(2);
                    (weight * share * normal_density(surprise, total), prior, total)
                })
            })
        };
        let all: f64 = parts().map(|(weight, ..)| weight).sum();
        if all > 0.0 {
            for (weight, prior, total) in parts() {
                let trust = prior / total;
                each(weight / all, observed.centre + trust * surprise, (1.0 - trust) * prior);
            }
        } else {
            // Beyond what any scale allows: the value itself.
            each(1.0, observed.value, (observed.factor * noise.deviation()).powi(2));
        }
    }
}

/// Gives classes their weights, and with something to start from the noise of each group too: those of largest
/// likelihood, by expectation maximisation. A pseudo-observation that all scales share keeps all of them possible.
///
/// A class has values of all groups and a group those of many classes. So what makes values of one group lie wider than
/// those of another passes for noise, and what all have in common for structure, as far as what is known allows.
pub(super) fn learn(classes: &mut [Class], groups: &mut [Noise], known: Option<Known<'_>>) {
    let likelihoods: Vec<Vec<f64>> = classes.iter().map(|class| likelihoods(class, groups)).collect();
    if known.is_some() {
        groups.iter_mut().for_each(Noise::open);
    }
    for _ in 0..STEPS {
        let mut noise_counts: Vec<Vec<f64>> = groups
            .iter()
            .map(|group| known.map_or_else(|| vec![0.0; group.len()], |known| known.noise.counts(known.count)))
            .collect();
        for (class, likelihoods) in classes.iter_mut().zip(&likelihoods) {
            let mut counts = [PSEUDO_COUNT; SCALES.len()];
            let mut rest = likelihoods.as_slice();
            for observed in &class.observations {
                let noise = &groups[observed.group];
                let (own, others) = rest.split_at(SCALES.len() * noise.len());
                rest = others;
                let joint = || {
                    own.chunks_exact(noise.len()).zip(class.weights).flat_map(|(row, weight)| {
                        row.iter().zip(noise.weights()).map(move |(likelihood, share)| likelihood * weight * share)
                    })
                };
                let total: f64 = joint().sum();
                if total > 0.0 {
                    for (place, part) in joint().enumerate() {
                        counts[place / noise.len()] += part / total;
                        noise_counts[observed.group][place % noise.len()] += part / total;
                    }
                }
            }
            let all: f64 = counts.iter().sum();
            class.weights = counts.map(|count| count / all);
        }
        if known.is_some() {
            for (group, counts) in groups.iter_mut().zip(noise_counts) {
                group.reweigh(&counts);
            }
        }
    }
}

/// For each observation the likelihood of each scale with each part of its noise.
fn likelihoods(class: &Class, groups: &[Noise]) -> Vec<f64> {
    let parts = class.observations.iter().flat_map(|observed| {
        SCALES.into_iter().flat_map(move |scale| {
            groups[observed.group].parts().map(move |(deviation, _)| {
                let variance = scale * scale + observed.variance + (observed.factor * deviation).powi(2);
                normal_density(observed.value - observed.centre, variance)
            })
        })
    });
    parts.collect()
}

/// The density of N(0, variance), up to the factor that all share.
fn normal_density(x: f64, variance: f64) -> f64 {
    (-0.5 * x * x / variance).exp() / variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(value: f64, factor: f64) -> Observed {
        Observed { point: 0, value, centre: 0.0, variance: 0.0, group: 0, factor }
    }

    /// One scale s and normal noise e: the posterior is normal with mean z s^2 / (s^2 + e^2) and variance
    /// s^2 e^2 / (s^2 + e^2) (Gelman et al., *Bayesian Data Analysis*, section 2.5). With s = e = 0.2 and z = 0.1 that
    /// is 0.05 and 0.02; with fresh noise of 0.2, P(f < 0) = Phi(-0.05 / sqrt(0.06)) = 0.4191.
    #[test]
    fn one_scale_is_the_normal_model() {
        let mut class = Class::new(Vec::new());
        class.weights = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let noise = Noise::unit();
        let (mean, below) = class.posterior(&observed(0.1, 0.2), &noise, 0.2, 0.0);
        assert!((mean - 0.05).abs() < 1e-12, "{mean}");
        assert!((below - 0.419_129).abs() < 1e-5, "{below}");
        assert_eq!(class.mean(&observed(0.1, 0.2), &noise), mean);
    }

    /// Values without any structure are taken for noise; one that noise cannot explain is believed.
    #[test]
    fn small_surprises_are_noise_and_large_ones_are_real() {
        let mut values: Vec<f64> = (1..=200).map(|k| 0.07 * f64::from(k * k).sin()).collect();
        values.extend([2.0, -1.5, 1.0, -2.0]);
        let mut classes = [Class::new(values.iter().map(|value| observed(*value, 0.05)).collect())];
        let mut groups = [Noise::unit()];
        learn(&mut classes, &mut groups, None);
        assert_eq!(groups, [Noise::unit()], "what is known for sure is not learned");
        assert!(classes[0].mean(&observed(0.05, 0.05), &groups[0]) < 0.02);
        assert!((classes[0].mean(&observed(1.5, 0.05), &groups[0]) - 1.5).abs() < 0.03);
    }

    /// Two groups in one class, one of them ten times as wide: the surplus is noise of that group.
    #[test]
    fn the_wider_group_is_the_noisier_one() {
        let value = |k: u32, group: usize| Observed {
            group,
            ..observed(if group == 0 { 0.03 } else { 0.3 } * f64::from(k * k).sin(), 1.0)
        };
        let known = super::super::noise::of_launches(&[]);
        let mut classes = [Class::new((1..=2000).map(|k| value(k, k as usize % 2)).collect())];
        let mut groups = vec![known.clone(), known.clone()];
        learn(&mut classes, &mut groups, Some(Known { noise: &known, count: 200.0 }));
        let [quiet, loud] = [groups[0].deviation(), groups[1].deviation()];
        assert!(quiet < 0.7 * known.deviation() && loud > 1.2 * known.deviation(), "{quiet} {loud}");
    }

    #[test]
    fn nothing_at_all_is_no_division_by_zero() {
        let mut classes = [Class::new(Vec::new())];
        learn(&mut classes, &mut [Noise::unit()], None);
        let (mean, below) = classes[0].posterior(&observed(1e6, 0.0), &Noise::unit(), 0.0, 0.0);
        assert!(mean.is_finite() && (0.0..=1.0).contains(&below));
    }
}
