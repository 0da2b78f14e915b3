//! Correction of a measured gain by those at neighbouring sizes.
//!
//! A gain selected as the largest is partly luck. The gains of its candidate at neighbouring sizes were not selected,
//! and show the size of that luck. Message sizes of one job share noise, such as the placement of ranks; communicator
//! sizes are measured in different jobs. So neighbouring communicator sizes are used first, and message sizes only if
//! there is no other communicator size.

use std::collections::BTreeMap;

use collrules_record::estimate::{mean, median, medians, robust_deviation};
use collrules_record::findings::Statistic;
use collrules_record::{Candidate, Cell};

use crate::cells::CellTimings;
use crate::evidence::JudgedPoint;

/// Largest part of the log gain of an average that can be luck after one launch. Larger surprises are real, such as a
/// switch of protocol. Fitted to two clusters (RESULTS.md, Single values).
const LARGEST_LUCK: f64 = 0.14;

/// Largest part of the gain of samples that can be luck, in standard errors.
const LARGEST_ERROR: f64 = 2.0;

/// A log gain and where it was measured.
#[derive(Clone, Copy, Debug)]
pub struct GainSite {
    /// The cell.
    pub cell: Cell,
    /// The candidate.
    pub candidate: Candidate,
    /// Its log gain.
    pub log_gain: f64,
}

/// For each site, the mean log gain of its candidate at the next smaller and next larger size, or at the only one that
/// exists; none without neighbours. `place` returns the row of a cell, and its size within the row.
pub fn around(sites: &[GainSite], place: fn(Cell) -> (u64, u64)) -> Vec<Option<f64>> {
    let key = |site: &GainSite| {
        let (row, size) = place(site.cell);
        ((site.cell.collective, site.candidate, row), size)
    };
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_unstable_by_key(|place| key(&sites[*place]));
    let mut means = vec![None; sites.len()];
    for row in order.chunk_by(|a, b| key(&sites[*a]).0 == key(&sites[*b]).0) {
        for (at, place) in row.iter().enumerate() {
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| row.get(at));
            let gains: Vec<f64> = beside.map(|place| sites[*place].log_gain).collect();
            means[*place] = (!gains.is_empty()).then(|| mean(gains));
        }
    }
    means
}

/// Sets the gains of points after correction by their neighbours: the expected gain is an estimate for users, not the luckiest
/// value; the cautious one is the smaller of the gain itself and its mean with its neighbours'. Single values are judged by it:
/// neighbours can reject a candidate, but not qualify it. Cells are ordered by collective.
pub(crate) fn correct(cells: &[CellTimings], points: &mut [Vec<JudgedPoint>], statistic: Statistic) {
    let all = cells.iter().zip(points).flat_map(|(cell, own)| own.iter_mut().map(|point| (cell.cell, point)));
    let gained = all.filter_map(|(cell, point)| {
        let (candidate, log_gain) = (point.finding.candidate, point.finding.gain?.point.ln());
        Some((GainSite { cell, candidate, log_gain }, point))
    });
    let (sites, points): (Vec<GainSite>, Vec<&mut JudgedPoint>) = gained.unzip();
    let by_bytes = around(&sites, |cell| (cell.ranks.0.into(), cell.bytes.0));
    let near: Vec<Option<f64>> = around(&sites, |cell| (cell.bytes.0, cell.ranks.0.into()))
        .into_iter()
        .zip(by_bytes)
        .map(|(ranks, bytes)| ranks.or(bytes))
        .collect();
    let luck: Vec<f64> = if statistic.is_summary() {
        let launches = points.iter().map(|point| point.basis.launches.len());
        sites.iter().zip(&near).zip(launches).map(|((site, near), launches)| luck(site, *near, launches)).collect()
    } else {
        let errors: Vec<f64> = points.iter().map(|point| point.basis.deviation).collect();
        luck_of_samples(&sites, &near, &errors)
    };
    for ((point, site), (near, luck)) in points.into_iter().zip(&sites).zip(near.iter().zip(luck)) {
        point.finding.expected = Some((site.log_gain - luck).exp());
        point.cautious = Some((site.log_gain - surprise(site, *near) / 2.0).exp());
    }
}

/// Excess of a log gain over that of its neighbours.
fn surprise(site: &GainSite, near: Option<f64>) -> f64 {
    near.map_or(0.0, |near| (site.log_gain - near).max(0.0))
}

/// Estimates the part of an average's log gain that is luck: neighbours count as one launch more, and the limit is
/// shared by launches.
fn luck(site: &GainSite, near: Option<f64>, launches: usize) -> f64 {
    let launches = launches.max(1) as f64;
    (surprise(site, near) / (launches + 1.0)).min(LARGEST_LUCK / launches)
}

/// Estimates the part of log gains with known standard errors that is luck, for each collective separately.
///
/// True gains are assumed to be normal about a line through those of the neighbours, which counts for as much as it
/// predicts (empirical Bayes: Efron and Morris, *Journal of the American Statistical Association* 70, 1975). No value
/// is moved by more than two standard errors, so that a gain that stands out stays (limited translation: volume 67,
/// 1972).
fn luck_of_samples(sites: &[GainSite], near: &[Option<f64>], errors: &[f64]) -> Vec<f64> {
    // A standard error that is small by chance would make a gain look certain, so candidates of a cell share theirs.
    let mut of_cell: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
    for (site, error) in sites.iter().zip(errors) {
        of_cell.entry(site.cell).or_default().push(*error);
    }
    let usual: BTreeMap<Cell, f64> = medians(of_cell).collect();
    let errors: Vec<f64> = sites.iter().map(|site| usual.get(&site.cell).copied().unwrap_or_default()).collect();
    let mut luck = Vec::with_capacity(sites.len());
    for own in sites.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let (near, errors) = (&near[luck.len()..][..own.len()], &errors[luck.len()..][..own.len()]);
        let surprises = beside_the_line(own, near);
        let mut distances: Vec<f64> = surprises.iter().map(|surprise| surprise.abs()).collect();
        let spread = robust_deviation(&mut distances).unwrap_or_default();
        let noise = median(&mut errors.to_vec()).unwrap_or_default();
        let real = (spread.powi(2) - noise.powi(2)).max(0.0);
        luck.extend(surprises.iter().zip(errors).map(|(surprise, error)| {
            let (share, limit) = (error.powi(2) / (real + error.powi(2)).max(f64::MIN_POSITIVE), LARGEST_ERROR * error);
            (share * surprise).clamp(-limit, limit)
        }));
    }
    luck
}

/// The distance of each log gain from the best line through its neighbours', relative to the median distance.
fn beside_the_line(sites: &[GainSite], near: &[Option<f64>]) -> Vec<f64> {
    let mut values: Vec<f64> = sites.iter().map(|site| site.log_gain).collect();
    let middle = median(&mut values).unwrap_or_default();
    let (mut joint, mut squares) = (0.0, 0.0);
    for (site, near) in sites.iter().zip(near) {
        let foretold = near.map_or(0.0, |near| near - middle);
        joint += foretold * (site.log_gain - middle);
        squares += foretold * foretold;
    }
    let slope = if squares > 0.0 { (joint / squares).clamp(0.0, 1.0) } else { 0.0 };
    let centre = |near: &Option<f64>| middle + near.map_or(0.0, |near| slope * (near - middle));
    sites.iter().zip(near).map(|(site, near)| site.log_gain - centre(near)).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::{Choice, Collective};

    use super::*;

    fn site(id: u32, ranks: u32, bytes: u64, log_gain: f64) -> GainSite {
        let cell = Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        GainSite { cell, candidate: Candidate::from_choice(Choice::plain(id)), log_gain }
    }

    #[test]
    fn neighbours_are_the_nearest_sizes_of_the_same_candidate() {
        let sites =
            [site(1, 16, 8, 4.0), site(1, 2, 8, 1.0), site(1, 4, 8, 2.0), site(2, 4, 8, 9.0), site(1, 4, 16, 7.0)];
        assert_eq!(
            around(&sites, |cell| (cell.bytes.0, cell.ranks.0.into())),
            [Some(2.0), Some(2.0), Some(2.5), None, None]
        );
        assert_eq!(
            around(&sites, |cell| (cell.ranks.0.into(), cell.bytes.0)),
            [None, None, Some(7.0), None, Some(2.0)]
        );
    }

    #[test]
    fn luck_is_a_share_of_the_surprise_within_limits() {
        let own = site(1, 4, 8, 0.3);
        assert_eq!(luck(&own, None, 1), 0.0);
        assert_eq!(luck(&own, Some(0.5), 1), 0.0, "neighbours do not persuade");
        assert!((luck(&own, Some(0.2), 1) - 0.05).abs() < 1e-12);
        assert!((luck(&own, Some(0.15), 2) - 0.05).abs() < 1e-12);
        assert_eq!((luck(&own, Some(-1.0), 1), luck(&own, Some(-1.0), 2)), (0.14, 0.07));
    }

    /// 200 values of deviation 0.05 that are noise of that deviation, one that stands out, and the same without noise.
    #[test]
    fn small_surprises_of_samples_are_luck_and_large_ones_are_real() {
        let value = |k: u32| 0.05 * 2f64.sqrt() * f64::from(k * k).sin();
        let mut sites: Vec<GainSite> = (1..=200).map(|k| site(k, 4, 8, value(k))).collect();
        sites.push(site(1000, 4, 8, 1.0));
        let near = vec![None; sites.len()];
        let luck = luck_of_samples(&sites, &near, &vec![0.05; sites.len()]);
        let left =
            sites.iter().zip(&luck).take(200).map(|(site, luck)| (site.log_gain - luck).abs()).fold(0.0, f64::max);
        assert!(left < 0.05, "{left}");
        assert_eq!(luck[200], 0.1);
        assert!(luck_of_samples(&sites, &near, &vec![0.0; sites.len()]).iter().all(|luck| *luck == 0.0));
        assert!(luck_of_samples(&[], &[], &[]).is_empty());
    }
}
