//! Lines through times, and the places where one line ends and another begins.
//!
//! All fits of lines use this: times of messages over sizes, and growth of times with sizes and ranks.

use std::collections::BTreeMap;
use std::ops::Range;

use collrules_record::estimate::{TestedMean, median};

/// An x, such as a size, and a y, such as its time.
pub type Coordinates = (f64, f64);

/// Unit of deviations from a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// As shares of y, which is positive: for times.
    Relative,
    /// As differences of y: for logarithms of times.
    Absolute,
}

impl Errors {
    fn weight(self, y: f64) -> f64 {
        match self {
            Self::Relative => 1.0 / (y * y),
            Self::Absolute => 1.0,
        }
    }
}

/// A line: y = start + slope x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StraightLine {
    /// Value at 0.
    pub start: f64,
    /// Increase of the value per unit of x.
    pub slope: f64,
}

impl StraightLine {
    /// The least-squares line through the points; none for fewer than two different x.
    pub fn through(points: &[Coordinates], errors: Errors) -> Option<Self> {
        Self::weighing(points, &vec![1.0; points.len()], errors)
    }

    /// Fits a line to points with errors of the size `noise`, one per point, in the unit of `errors`. Points with less
    /// noise count more.
    pub fn weighing(points: &[Coordinates], noise: &[f64], errors: Errors) -> Option<Self> {
        let weights: Vec<f64> =
            points.iter().zip(noise).map(|((_, y), noise)| errors.weight(*y) / (noise * noise)).collect();
        let total: f64 = weights.iter().sum();
        let sum = |of: &dyn Fn(&Coordinates) -> f64| {
            points.iter().zip(&weights).map(|(p, weight)| weight * of(p)).sum::<f64>()
        };
        let (x_mean, y_mean) = (sum(&|point| point.0) / total, sum(&|point| point.1) / total);
        let (spread, square) = (sum(&|(x, _)| (x - x_mean).powi(2)), total * x_mean * x_mean);
        // With one x there is no spread but for rounding; where weights overflow, it is no number.
        (spread.is_finite() && spread > 1e-18 * square && spread > 0.0).then(|| {
            let slope = sum(&|(x, y)| (x - x_mean) * (y - y_mean)) / spread;
            Self { start: y_mean - slope * x_mean, slope }
        })
    }

    /// Its y.
    pub fn at(self, x: f64) -> f64 {
        self.start + self.slope * x
    }

    /// The sum of its squared deviations.
    pub fn misses(self, points: &[Coordinates], errors: Errors) -> f64 {
        points.iter().map(|(x, y)| errors.weight(*y) * (y - self.at(*x)).powi(2)).sum()
    }
}

/// Least number of points of a segment: a line goes through any two.
pub const LEAST: usize = 3;

/// Smaller deviations are no sign of another segment, however well the times repeat: times are not exactly linear.
pub const ROUGHNESS: f64 = 0.03;

/// Price of a further segment: the reduction of the squared deviations that it must reach, in units of their variance
/// and of the logarithm of the number of points. It is Bayes' criterion for three more parameters, doubled, since the
/// place of a change is chosen from many.
const PRICE: f64 = 6.0;

/// Divides points, in ascending order of x, into ranges on a line each. `noise` is the deviation of each y that comes from
/// chance, in the unit of the errors. The ranges are in order and cover all points.
pub fn segments(points: &[Coordinates], noise: &[f64], errors: Errors) -> Vec<Range<usize>> {
    let count = points.len();
    if count < 2 * LEAST {
        return std::iter::once(0..count).filter(|all| !all.is_empty()).collect();
    }
    let noise: Vec<f64> = noise.iter().map(|noise| noise.max(ROUGHNESS)).collect();
    let price = PRICE * (count as f64).ln();
    let cost = |from: usize, to: usize| {
        let (points, noise) = (&points[from..to], &noise[from..to]);
        let misses = |line: StraightLine| -> f64 {
            points.iter().zip(noise).map(|(point, noise)| line.misses(&[*point], errors) / (noise * noise)).sum()
        };
        StraightLine::weighing(points, noise, errors).map_or(f64::INFINITY, misses)
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
    if best[count].0.is_infinite() {
        return std::iter::once(0..count).collect();
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

/// Times by size in each launch, in ascending order of size.
pub type LaunchCurves = BTreeMap<u32, Vec<Coordinates>>;

/// Divides sizes into ranges on a line each: the typical times of the sizes of a range, and the line of each launch that
/// has all of them. `through` has the points of a launch, and their noise.
pub fn ranges(
    launches: &LaunchCurves,
    typical: impl Fn(&mut [f64]) -> Option<f64>,
    through: impl Fn(&[Coordinates], &[f64]) -> Option<StraightLine>,
) -> Vec<(Vec<Coordinates>, Vec<StraightLine>)> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (size, time) in launches.values().flatten() {
        sizes.entry(*size as u64).or_default().push(*time);
    }
    let noise = noise(sizes.values().map(Vec::as_slice));
    let points = sizes.iter_mut().filter_map(|(size, times)| Some((*size as f64, typical(times)?)));
    let points: Vec<Coordinates> = points.collect();
    let one = |row: Range<usize>| {
        let (points, noise) = (&points[row.clone()], &noise[row]);
        let within = |all: &Vec<Coordinates>| {
            let (from, to) = (points.first()?.0, points.last()?.0);
            let own: Vec<Coordinates> = all.iter().filter(|(size, _)| (from..=to).contains(size)).copied().collect();
            // A launch that ended before it came to all sizes of the range knows no line of it.
            if own.len() == points.len() { through(&own, noise) } else { None }
        };
        (points.to_vec(), launches.values().filter_map(within).collect())
    };
    segments(&points, &noise, Errors::Relative).into_iter().map(one).collect()
}

/// Estimates the errors of means over launches, as shares, from the times of the launches at each x. Estimates from few
/// launches are moderated by the usual value over all x.
pub fn noise<'a>(times: impl IntoIterator<Item = &'a [f64]>) -> Vec<f64> {
    let one = |times: &[f64]| {
        let TestedMean { mean, error, .. } = TestedMean::from_values(times);
        (times.len() > 1).then(|| (times.len() as f64, error / mean))
    };
    let all: Vec<Option<(f64, f64)>> = times.into_iter().map(one).collect();
    let usual = median(&mut all.iter().flatten().map(|(_, own)| *own).collect::<Vec<_>>()).unwrap_or(0.0);
    let moderated = |(count, own): (f64, f64)| (((count - 1.0) * own * own + usual * usual) / count).sqrt();
    all.into_iter().map(|own| own.map_or(usual, moderated)).collect()
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

    fn noisy(seed: u64, noise: f64, time: impl Fn(f64) -> f64) -> Vec<Coordinates> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let normal = Normal::new(1.0, noise).expect("a spread");
        sizes().into_iter().map(|size| (size, time(size) * normal.sample(&mut rng))).collect()
    }

    #[test]
    fn a_line_through_exact_points_is_exact() {
        let points: Vec<Coordinates> = sizes().into_iter().map(|size| (size, 2e-6 + 3e-9 * size)).collect();
        for errors in [Errors::Relative, Errors::Absolute] {
            let line = StraightLine::through(&points, errors).expect("a line");
            assert!((line.start - 2e-6).abs() < 1e-15 && (line.slope - 3e-9).abs() < 1e-18, "{line:?}");
            assert!(line.misses(&points, errors) < 1e-20);
            assert_eq!(StraightLine::through(&[(5.0, 1.0), (5.0, 2.0)], errors), None);
            assert_eq!(StraightLine::through(&[], errors), None);
        }
        assert_eq!(StraightLine::through(&[(1.0, 1e-200), (2.0, 2e-200)], Errors::Relative), None, "weights overflow");
    }

    #[test]
    fn changes_are_not_invented() {
        let wrong = (0..500)
            .filter(|seed| {
                let points = noisy(*seed, 0.02, |size| 5e-6 + 1e-9 * size);
                segments(&points, &vec![0.02; points.len()], Errors::Relative).len() > 1
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
                let found = segments(&points, &vec![0.02; points.len()], Errors::Relative);
                // The last of the first segment is 4096, which is point 13.
                found.len() == 2 && found[0].end == 14
            })
            .count();
        assert!(right >= 196, "{right} of 200");
    }

    /// Flat to 64 KiB, then proportional: a bend in logarithms, and one line in the times themselves.
    #[test]
    fn what_is_a_bend_depends_on_what_deviations_are_counted_in() {
        let points: Vec<Coordinates> = sizes()[1..].iter().map(|size| (*size, 65536f64.max(*size))).collect();
        let logarithms: Vec<Coordinates> = points.iter().map(|(size, time)| (size.ln(), time.ln())).collect();
        let found = segments(&logarithms, &vec![0.0; logarithms.len()], Errors::Absolute);
        assert!(found.len() == 2 && (16..=17).contains(&found[0].end), "{found:?}");
    }

    /// Short messages scatter by 20 %, long ones by none, so only these determine their line.
    #[test]
    fn points_that_repeat_badly_hide_nothing() {
        let time = |size: f64| 20e-6 + 40e-9 * (size - 16384.0).max(0.0);
        let sizes = [0.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0];
        let launches: Vec<Vec<f64>> = sizes
            .iter()
            .enumerate()
            .map(|(place, size)| {
                let share = if *size <= 16384.0 { 0.2 } else { 0.001 };
                (0..6)
                    .map(|launch| time(*size) * (1.0 + share * f64::from((5 * launch + 2 * place as i32) % 7 - 3)))
                    .collect()
            })
            .collect();
        let noise = noise(launches.iter().map(Vec::as_slice));
        let points: Vec<Coordinates> =
            sizes.iter().zip(&launches).map(|(size, times)| (*size, times.iter().sum::<f64>() / 6.0)).collect();
        let found = segments(&points, &noise, Errors::Relative);
        let last = found.last().cloned().expect("a segment");
        let line = StraightLine::weighing(&points[last.clone()], &noise[last], Errors::Relative).expect("a line");
        assert!((line.slope / 40e-9 - 1.0).abs() < 0.01, "{found:?} {line:?}");
    }

    #[test]
    fn few_points_are_one_segment() {
        assert_eq!(segments(&[(1.0, 1.0), (2.0, 9.0)], &[0.01; 2], Errors::Relative), vec![0..2]);
        assert!(segments(&[], &[], Errors::Relative).is_empty());
        assert_eq!(segments(&[(1.0, 1.0); 7], &[0.01; 7], Errors::Relative), vec![0..7], "no line goes through one x");
    }
}
