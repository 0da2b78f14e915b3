//! Lines with bends: where one line gives way to another.

use std::ops::Range;

/// A line, neither end of which is below 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) start: f64,
    pub(crate) slope: f64,
}

/// What lines may miss points by, in parts of the value, before a bend is looked for.
const TOLERATED: f64 = 0.02;

impl Line {
    /// Least squares over `(x, y)` of errors relative to `y`, which is positive. What would be below 0 is 0. None where all x
    /// are the same.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let sum = |of: fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(*x, *y) / (y * y)).sum::<f64>();
        let (w, x, xx) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|x, _| x * x));
        let (y, xy) = (sum(|_, y| y), sum(|x, y| x * y));
        let spread = w * xx - x * x;
        // Without points, or where their weights overflow, this is no number.
        if spread.is_nan() || spread <= 1e-12 * w * xx {
            return None;
        }
        let (start, slope) = ((y * xx - x * xy) / spread, (w * xy - x * y) / spread);
        Some(if start < 0.0 {
            Self { start: 0.0, slope: xy / xx }
        } else if slope < 0.0 {
            Self { start: y / w, slope: 0.0 }
        } else {
            Self { start, slope }
        })
    }

    pub(crate) fn at(self, x: f64) -> f64 {
        self.start + self.slope * x
    }

    /// The sum of squares of what it misses, in parts of the value.
    pub(crate) fn misses(self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(x, y)| (self.at(*x) / y - 1.0).powi(2)).sum()
    }
}

/// The points, in order of x, in rows that lie on a line each: as many rows as lower the Bayesian information criterion,
/// each of so many points at least, and no more rows than `most`. Misses that hardly matter count as none.
pub(crate) fn rows(points: &[(f64, f64)], least: usize, most: usize) -> Vec<Range<usize>> {
    let n = points.len();
    let cost = |row: Range<usize>| {
        let points = &points[row];
        Line::through(points).filter(|_| points.len() >= least).map_or(f64::INFINITY, |line| line.misses(points))
    };
    // best[k][end]: the least misses of the first `end` points in k + 1 rows, and where the last row begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![(0..=n).map(|end| (cost(0..end), 0)).collect()];
    for _ in 1..most {
        let before = &best[best.len() - 1];
        let split = |end: usize| {
            let splits = (0..end).map(|begin| (before[begin].0 + cost(begin..end), begin));
            splits.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        };
        best.push((0..=n).map(split).collect());
    }
    let size = n as f64;
    // Each further row has a line, and a place where it begins.
    let criterion = |rows: usize, misses: f64| {
        size * (misses / size).max(TOLERATED * TOLERATED).ln() + 3.0 * rows as f64 * size.ln()
    };
    let possible = (0..most).filter(|rows| best[*rows][n].0.is_finite());
    let chosen = possible.min_by(|a, b| criterion(*a, best[*a][n].0).total_cmp(&criterion(*b, best[*b][n].0)));
    let Some(mut rows) = chosen else { return Vec::new() };
    let mut found = Vec::new();
    let mut end = n;
    loop {
        let begin = best[rows][end].1;
        found.push(begin..end);
        if rows == 0 {
            break;
        }
        (rows, end) = (rows - 1, begin);
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_through_points_on_them_and_cost_nothing_below_zero() {
        let on = |start: f64, slope: f64| [1.0, 2.0, 50.0].map(|x| (x, start + slope * x));
        let line = Line::through(&on(3.0, 2.0)).expect("a line");
        assert!((line.start - 3.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9, "{line:?}");
        assert_eq!(Line::through(&on(-0.5, 2.0)).map(|line| line.start), Some(0.0));
        assert_eq!(Line::through(&on(9.0, -0.1)).map(|line| line.slope), Some(0.0));
        assert_eq!(Line::through(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }

    /// A line of 1 + x / 64 to 4096, then of 200 + x / 256: what is at fault is known.
    fn bent(noise: f64) -> Vec<(f64, f64)> {
        let factor = |place: u32| if place.is_multiple_of(2) { 1.0 + noise } else { 1.0 - noise };
        let at = |place: u32| {
            let x = f64::from(1 << place);
            let y = if place <= 12 { 10.0 + x / 64.0 } else { 200.0 + x / 256.0 };
            (x, y * factor(place))
        };
        (0..20).map(at).collect()
    }

    #[test]
    fn a_bend_is_found_where_it_is_and_none_where_there_is_none() {
        for noise in [0.0, 0.03] {
            assert_eq!(rows(&bent(noise), 3, 3), [0..13, 13..20], "{noise}");
            let straight: Vec<(f64, f64)> = bent(noise)
                .iter()
                .zip(bent(0.0))
                .map(|((x, y), (_, exact))| (*x, (7.0 + x / 9.0) * y / exact))
                .collect();
            let found = rows(&straight, 3, 3);
            assert_eq!((found.len(), found.first()), (1, Some(&(0..20))), "{noise}");
        }
        assert!(rows(&bent(0.0)[..2], 3, 3).is_empty() && rows(&[], 3, 3).is_empty());
    }
}
