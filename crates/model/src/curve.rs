//! Times over sizes: lines, and where one line gives way to another.

/// A size and the time that it takes.
pub(crate) type Point = (f64, f64);

/// A line: time = start + slope * size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// The time of size 0.
    pub start: f64,
    /// The time for each byte.
    pub slope: f64,
}

impl Line {
    /// The time of a size.
    pub(crate) fn at(self, size: f64) -> f64 {
        self.start + self.slope * size
    }

    /// The line that deviates least from the points in shares of their times; none for fewer than 2 sizes.
    pub(crate) fn through(points: &[Point]) -> Option<Self> {
        let mut sums = [0.0; 5];
        for (size, time) in points {
            let weight = 1.0 / (time * time);
            for (sum, value) in sums.iter_mut().zip([1.0, *size, size * size, *time, size * time]) {
                *sum += weight * value;
            }
        }
        let [n, x, xx, y, xy] = sums;
        let spread = n * xx - x * x;
        // With one size there is no spread but for rounding.
        (spread > 1e-9 * n * xx).then(|| {
            let slope = (n * xy - x * y) / spread;
            Self { start: (y - slope * x) / n, slope }
        })
    }

    fn misfit(self, points: &[Point]) -> f64 {
        points.iter().map(|(size, time)| ((time - self.at(*size)) / time).powi(2)).sum()
    }

    /// The largest deviation, as a share of the time.
    pub(crate) fn residual(self, points: &[Point]) -> f64 {
        points.iter().map(|(size, time)| ((time - self.at(*size)) / time).abs()).fold(0.0, f64::max)
    }
}

/// Fewer points make no regime: a line goes through any two.
const LEAST: usize = 3;

/// Deviations of so much are no sign of another regime, however well the times repeat: times are not lines to the last
/// digit.
const ROUGHNESS: f64 = 0.03;

/// What a further regime must gain in squared deviations, in units of their variance and of the logarithm of the number of
/// points: Bayes' criterion for three more parameters, doubled, since the place of a change is chosen from many.
const PRICE: f64 = 6.0;

/// Divides points, in ascending order of size, into ranges in which the time is a line. `noise` is the relative deviation of
/// a time that comes from chance. The ranges are in order and cover all points.
pub(crate) fn regimes(points: &[Point], noise: f64) -> Vec<std::ops::Range<usize>> {
    let count = points.len();
    if count < 2 * LEAST {
        return std::iter::once(0..count).filter(|all| !all.is_empty()).collect();
    }
    let variance = noise.max(ROUGHNESS).powi(2);
    let price = PRICE * (count as f64).ln();
    let cost = |from: usize, to: usize| {
        Line::through(&points[from..to]).map_or(f64::INFINITY, |line| line.misfit(&points[from..to]) / variance)
    };
    // The cheapest division of the first points, and where its last range begins.
    let mut best: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-price, 0);
    for end in LEAST..=count {
        for begin in (0..=end - LEAST).filter(|begin| *begin == 0 || *begin >= LEAST) {
            let total = best[begin].0 + price + cost(begin, end);
            if total < best[end].0 {
                best[end] = (total, begin);
            }
        }
    }
    let mut ranges = Vec::new();
    let mut end = count;
    while end > 0 {
        let begin = best[end].1;
        ranges.push(begin..end);
        end = begin;
    }
    ranges.reverse();
    ranges
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    use super::*;

    fn sizes() -> Vec<f64> {
        std::iter::once(0.0).chain((0..=22).map(|power| f64::from(1 << power))).collect()
    }

    fn noisy(seed: u64, noise: f64, time: impl Fn(f64) -> f64) -> Vec<Point> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let normal = Normal::new(1.0, noise).expect("a spread");
        sizes().into_iter().map(|size| (size, time(size) * normal.sample(&mut rng))).collect()
    }

    #[test]
    fn a_line_through_exact_points_is_exact() {
        let points: Vec<Point> = sizes().into_iter().map(|size| (size, 2e-6 + 3e-9 * size)).collect();
        let line = Line::through(&points).expect("a line");
        assert!((line.start - 2e-6).abs() < 1e-15 && (line.slope - 3e-9).abs() < 1e-18, "{line:?}");
        assert_eq!(Line::through(&[(5.0, 1.0), (5.0, 2.0)]), None);
        assert_eq!(Line::through(&[]), None);
    }

    #[test]
    fn changes_are_not_invented() {
        let wrong = (0..500)
            .filter(|seed| {
                let points = noisy(*seed, 0.02, |size| 5e-6 + 1e-9 * size);
                regimes(&points, 0.02).len() > 1
            })
            .count();
        assert!(wrong <= 5, "{wrong} of 500");
    }

    #[test]
    fn planted_changes_are_found_where_they_are() {
        let right = (0..200)
            .filter(|seed| {
                let points = noisy(*seed, 0.02, |size| match size {
                    short if short <= 4096.0 => 5e-6 + 2e-9 * short,
                    long => 30e-6 + 1e-9 * long,
                });
                let found = regimes(&points, 0.02);
                // The last of the first regime is 4096, which is point 13.
                found.len() == 2 && found[0].end == 14
            })
            .count();
        assert!(right >= 196, "{right} of 200");
    }

    #[test]
    fn few_points_are_one_regime() {
        assert_eq!(regimes(&[(1.0, 1.0), (2.0, 9.0)], 0.01), vec![0..2]);
        assert!(regimes(&[], 0.01).is_empty());
    }
}
