//! How launches differ: one model for pairs of launches without and with something, and for launches of two runs.
//!
//! With three to five launches the variance of a single subject is very uncertain. Cells of a collective are similar, so
//! their variances borrow from each other (see [`moderation`](super::moderation)). But subjects of one launch share its
//! noise: fifty cells that are slower in a slow launch are not fifty independent observations. So the degrees of
//! freedom are reduced to their effective number. For residuals with correlation `r` between cells of a launch, the mean
//! square of N of them varies as that of `N / (1 + m r^2)` independent ones would, m being the number of others in its
//! launch; with `r = 1` that leaves the degrees of one cell. There are two such correlations, of cells on the same
//! communicator and of others.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;
use collrules_record::estimate::{TestedMean, Variance, mean};
use collrules_rules::Collective;

use super::moderation::moderate;

/// A logarithm by launch, or by pair of launches.
pub type LaunchLogs = BTreeMap<u32, f64>;

/// The logarithms of a subject. Those of one group are from pairs of launches, and their mean is tested; of two groups,
/// the launches of the first and of the second, the difference of the second mean from the first.
#[derive(Clone, Debug)]
pub(crate) struct Replicates {
    /// The subject, if it is a cell.
    pub(crate) cell: Option<Cell>,
    /// One group or two, neither empty.
    pub(crate) groups: Vec<LaunchLogs>,
}

/// A collective with fewer cells than this borrows from all others of its kind.
const LEAST_CELLS: usize = 6;

/// Lower bound of the variation of times, as a logarithm: medians of equal readings of a clock are not certain.
const FLOOR: f64 = 1e-3;

/// Tests the mean of each subject. If no subject of its kind has two launches in a group, there are no degrees of freedom.
pub(crate) fn test_all(subjects: &[Replicates]) -> Vec<TestedMean> {
    subjects.iter().zip(variances(subjects)).map(|(subject, variance)| subject.test(variance)).collect()
}

/// The mean over subjects in each launch that has all of them: a launch without some would give a mean of others.
pub fn common_means<'a>(subjects: impl IntoIterator<Item = &'a LaunchLogs>) -> LaunchLogs {
    let subjects: Vec<&LaunchLogs> = subjects.into_iter().collect();
    let launches: BTreeSet<u32> = subjects.iter().flat_map(|logs| logs.keys().copied()).collect();
    let of_launch = |launch: u32| {
        let logs: Option<Vec<f64>> = subjects.iter().map(|logs| logs.get(&launch).copied()).collect();
        Some((launch, mean(logs?)))
    };
    launches.into_iter().filter_map(of_launch).collect()
}

impl Replicates {
    fn test(&self, variance: Variance) -> TestedMean {
        let means = self.groups.iter().map(|logs| mean(logs.values()));
        let share: f64 = self.groups.iter().map(|logs| 1.0 / logs.len() as f64).sum();
        TestedMean {
            mean: means.reduce(|first, second| second - first).unwrap_or_default(),
            error: (variance.value * share).sqrt(),
            degrees: variance.degrees,
            samples: self.groups.iter().map(LaunchLogs::len).min().unwrap_or_default(),
        }
    }

    /// The variance of a logarithm, from the launches of each group about their mean.
    fn variance(&self) -> Variance {
        let own = Variance::pooled(self.groups.iter().map(|logs| Variance::from_values(logs.values())));
        let value = if own.degrees > 0.0 { own.value.max(FLOOR * FLOOR) } else { 0.0 };
        Variance { value, ..own }
    }
}

/// The variance of each subject's logarithms, moderated by the others of its kind.
fn variances(subjects: &[Replicates]) -> Vec<Variance> {
    let mut variances = vec![Variance::default(); subjects.len()];
    for kind in kinds(subjects) {
        let members: Vec<Variance> = kind.iter().map(|at| subjects[*at].variance()).collect();
        let pooled = Variance::pooled(members.iter().copied());
        if pooled.degrees == 0.0 {
            continue;
        }
        let worth = pooled.degrees / design_effect(kind.iter().map(|at| &subjects[*at]), pooled.value);
        for (at, moderated) in kind.iter().zip(moderate(&members, worth)) {
            variances[*at] = moderated;
        }
    }
    variances
}

/// Indices of subjects that borrow from each other: cells of a collective, small collectives together.
fn kinds(subjects: &[Replicates]) -> Vec<Vec<usize>> {
    let mut kinds: BTreeMap<Option<Collective>, Vec<usize>> = BTreeMap::new();
    for (at, subject) in subjects.iter().enumerate() {
        kinds.entry(subject.cell.map(|cell| cell.collective)).or_default().push(at);
    }
    let (mut large, small): (Vec<_>, Vec<_>) = kinds.into_values().partition(|kind| kind.len() >= LEAST_CELLS);
    large.extend((!small.is_empty()).then(|| small.concat()));
    large
}

/// Returns the ratio of apparent to effective degrees of freedom.
fn design_effect<'a>(subjects: impl Iterator<Item = &'a Replicates>, pooled: f64) -> f64 {
    // Residuals of unit variance, by launch and communicator.
    let mut launches: BTreeMap<(usize, u32), BTreeMap<_, Sum>> = BTreeMap::new();
    for subject in subjects {
        let block = subject.cell.map(|cell| (cell.collective, cell.ranks));
        for (group, logs) in subject.groups.iter().enumerate().filter(|(_, logs)| logs.len() > 1) {
            let (count, mean) = (logs.len() as f64, mean(logs.values()));
            let unit = (count / (count - 1.0) / pooled).sqrt();
            for (launch, log) in logs {
                launches.entry((group, *launch)).or_default().entry(block).or_default().add((log - mean) * unit);
            }
        }
    }
    // Products of different subjects of a launch: on the same communicator, and all.
    let (mut near, mut all) = (Sum::default(), Sum::default());
    let mut count = 0.0;
    for blocks in launches.values() {
        let mut whole = Sum::default();
        for block in blocks.values() {
            near.absorb(block.products());
            whole.absorb(*block);
        }
        all.absorb(whole.products());
        count += whole.count;
    }
    let far = Sum { sum: all.sum - near.sum, count: all.count - near.count, squares: 0.0 };
    let correlation = |products: Sum| (products.sum / products.count.max(1.0)).clamp(0.0, 1.0);
    let others = |products: Sum| products.count / f64::max(count, 1.0);
    1.0 + others(near) * correlation(near).powi(2) + others(far) * correlation(far).powi(2)
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    squares: f64,
    count: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.absorb(Self { sum: value, squares: value * value, count: 1.0 });
    }

    fn absorb(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.count += other.count;
    }

    /// The products of each value with each other one, and their number.
    fn products(self) -> Self {
        Self { sum: self.sum * self.sum - self.squares, count: self.count * (self.count - 1.0), squares: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Cell, Ranks};

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    /// Ten cells of a noisy collective next to thirty of a quiet one, of which none has a difference.
    #[test]
    fn collectives_of_different_noise_keep_the_error_rate() {
        let mut wrong = [0, 0];
        for seed in 0..100 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut logs = |noise: f64| -> LaunchLogs {
                (0..4).map(|launch| (launch, noise * rng.sample::<f64, _>(StandardNormal))).collect()
            };
            let subjects: Vec<Replicates> = (0..40)
                .map(|place| {
                    let is_noisy = place >= 30;
                    let collective = if is_noisy { Collective::Alltoall } else { Collective::Bcast };
                    let cell = Cell { collective, ranks: Ranks(2), bytes: Bytes(place) };
                    Replicates { cell: Some(cell), groups: vec![logs(if is_noisy { 0.2 } else { 0.01 })] }
                })
                .collect();
            for (place, test) in test_all(&subjects).iter().enumerate() {
                wrong[usize::from(place >= 30)] += usize::from(test.p_beyond(0.0).is_some_and(|p| p <= 0.05));
            }
        }
        assert!(wrong[0] <= 180 && wrong[1] <= 75, "quiet {} of 3000, noisy {} of 1000", wrong[0], wrong[1]);
    }

    fn subject(place: u64, groups: &[&[f64]]) -> Replicates {
        subject_on(4, place, groups)
    }

    fn subject_on(ranks: u32, place: u64, groups: &[&[f64]]) -> Replicates {
        let cell = Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(place) };
        let groups = groups.iter().map(|logs| (0..).zip(logs.iter().copied()).collect()).collect();
        Replicates { cell: Some(cell), groups }
    }

    /// Ten cells that move together are worth one: 3 degrees of freedom of 30.
    #[test]
    fn what_moves_together_counts_once() {
        let together: Vec<Replicates> = (0..10).map(|place| subject(place, &[&[0.1, -0.1, 0.2, 0.0]])).collect();
        let one = variances(&together)[0];
        assert!((one.value - 0.05 / 3.0).abs() < 1e-9, "{one:?}");
        assert!((one.degrees - 3.0).abs() < 1e-6, "{one:?}");
    }

    /// Communicators whose cells move together, each in its own way: 3 degrees of freedom of each, and not of each cell.
    #[test]
    fn what_moves_together_on_a_communicator_counts_once() {
        let [one, other] = [[0.1, -0.1, 0.1, -0.1], [0.1, 0.1, -0.1, -0.1]];
        let cells = (0..10).flat_map(|place| [subject_on(4, place, &[&one]), subject_on(8, place, &[&other])]);
        let degrees = variances(&cells.collect::<Vec<_>>())[0].degrees;
        assert!((degrees - 6.0).abs() < 0.5, "{degrees}");
    }

    #[test]
    fn without_a_second_pair_there_is_nothing_to_say() {
        let tests = test_all(&[subject(1, &[&[0.3]]), subject(2, &[&[0.1]])]);
        assert!(tests.iter().all(|test| test.p_above(0.0).is_none()), "{tests:?}");
        assert!(test_all(&[]).is_empty());
        // One with a single pair borrows from one with two.
        let both = test_all(&[subject(1, &[&[0.3]]), subject(2, &[&[0.1, 0.2]])]);
        assert!(both.iter().all(|test| test.p_above(0.0).is_some()), "{both:?}");
    }

    /// R: `t.test(c(2, 3, 4), c(1, 2, 3), var.equal = TRUE)` gives t = 1.2247, df = 4, p = 0.2879, and an interval from
    /// -1.2670 to 3.2670.
    #[test]
    fn two_samples_are_compared_as_textbooks_do() {
        let [test] = test_all(&[subject(1, &[&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]])])[..] else { panic!("one test") };
        assert!((test.p_beyond(0.0).expect("tested") - 0.2879).abs() < 1e-4, "{test:?}");
        assert!((test.mean - 1.0).abs() < 1e-12 && test.degrees == 4.0, "{test:?}");
        assert!((test.reach(0.95) - 2.2670).abs() < 1e-4, "{test:?}");
        let [single] = test_all(&[subject(1, &[&[1.0], &[1.0]])])[..] else { panic!("one test") };
        assert_eq!(single.p_beyond(0.0), None, "single launches tell nothing");
    }
}
