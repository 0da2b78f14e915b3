//! Evidence of the timings of a cell for each candidate, before the number of comparisons is known.

use std::collections::BTreeSet;

use collrules_record::Candidate;
use collrules_record::criteria::{Criteria, Middle};
use collrules_record::estimate::{Estimate, TestedMean, Variance, mean, median, ratio, student_quantile};
use collrules_record::findings::{PointFinding, Statistic};
use collrules_record::reason::{Bar, Shortfall, Stalling};
use collrules_record::units::Seconds;
use statrs::distribution::{DiscreteCDF, Hypergeometric};

use crate::cells::{CellTimings, PointTimings, TimingPair, log_gains};
use crate::statistics::{launch_variance, signed_rank, standard_error};

/// With fewer visits no one-sided signed-rank test can reach 0.02, and no 95 % interval for the median exists.
pub const LEAST_VISITS: usize = 6;

/// A point with the reason why it does not replace the builtin, if there is one.
#[derive(Clone, Debug)]
pub struct JudgedPoint {
    /// Times, gain and test.
    pub finding: PointFinding,
    /// Reason why it does not replace the builtin.
    pub shortfall: Option<Shortfall>,
    /// Basis of the comparison.
    pub basis: Basis,
    /// Its gain after correction by its neighbours; missing if there is no gain.
    pub(crate) cautious: Option<f64>,
    /// Reason why it must not be chosen, however fast it is.
    pub(crate) bar: Option<Bar>,
    /// True if it may be slower than the builtin in one of several layouts.
    pub(crate) risk: bool,
}

/// Basis of the comparison of a candidate with the builtin.
#[derive(Clone, Debug, Default)]
pub struct Basis {
    /// The median log gain in each launch in which the two were timed side by side.
    pub launches: Vec<(u32, f64)>,
    /// True if both were timed in every launch in which the builtin was.
    pub every_launch: bool,
    /// Standard error of the log gain, from visits and launches; 0 if it cannot be estimated.
    pub deviation: f64,
    /// Variance between launches in addition to that between visits; missing if it cannot be estimated.
    pub(crate) launch_variance: Option<Variance>,
}

/// Computes the evidence of each candidate of a cell against the builtin, in the order of the series. It is not judged so far.
///
/// The unit of replication is the visit, a launch of an imported table being one. Rounds of one visit share effects on
/// a single candidate, such as the address of its buffers; counted one by one, they would make noise look significant.
/// Effects that last for a whole launch need several launches.
pub fn weigh(cell: &CellTimings, statistic: Statistic, criteria: Criteria) -> Vec<JudgedPoint> {
    let builtin = cell.builtin().filter(|_| !cell.builtin_failed());
    let weigh_one = |series: &PointTimings| {
        let time = match criteria.middle {
            Middle::Median => Estimate::median(&series.seconds(), criteria.level)?,
            Middle::Mean => Estimate::mean(series.seconds(), criteria.level)?,
        };
        Some(match builtin.filter(|_| series.candidate != Candidate::Builtin) {
            Some(builtin) => against(builtin, series, time, statistic, criteria),
            None => JudgedPoint::new(series.candidate, time),
        })
    };
    cell.series.iter().filter_map(weigh_one).collect()
}

impl JudgedPoint {
    /// A point that is compared with nothing.
    pub(crate) fn new(candidate: Candidate, time: Estimate) -> Self {
        let (gain, expected, p_value, q_value, stalls) = (None, None, None, None, None);
        let finding = PointFinding { candidate, time, gain, expected, p_value, q_value, stalls };
        let (shortfall, basis) = (Some(Shortfall::NoGain), Basis::default());
        Self { finding, shortfall, basis, cautious: None, bar: None, risk: false }
    }

    /// Sets or lifts a bar, which is a shortfall if there is no other one.
    pub(crate) fn set_bar(&mut self, bar: Option<Bar>) {
        if matches!(self.shortfall, None | Some(Shortfall::Barred(_))) {
            self.shortfall = bar.clone().map(Shortfall::Barred);
        }
        self.bar = bar;
    }
}

impl Basis {
    /// The gain in the launch in which it is smallest.
    pub(crate) fn least_launch_gain(&self) -> Option<f64> {
        self.launches.iter().map(|(_, log_gain)| log_gain.exp()).min_by(f64::total_cmp)
    }
}

fn against(
    builtin: &PointTimings,
    series: &PointTimings,
    time: Estimate,
    statistic: Statistic,
    criteria: Criteria,
) -> JudgedPoint {
    let pairs = series.pairs(builtin);
    let means = (criteria.middle == Middle::Mean).then(|| by_means(&pairs)).flatten();
    let by_visit = log_gains(&pairs, criteria.middle, TimingPair::visit);
    let visits: Vec<f64> = by_visit.iter().map(|(_, gain)| *gain).collect();
    let tested = visits.len() >= LEAST_VISITS;
    let of_medians = || Estimate::median(&visits, criteria.level).map(|log_gain| log_gain.exp());
    let mut gain = means.map_or_else(of_medians, |means| Some(means.estimate(criteria.level).exp()));
    if !tested {
        // At a low confidence level a few values would have an interval, but an unreliable one.
        gain = gain.map(|gain| Estimate { low: None, high: None, ..gain });
    }
    let test = || match means {
        Some(means) => means.p_above(0.0),
        // Each launch of a table times one candidate, so the pairs are not really paired.
        None if statistic.is_summary() => series.test_launches(builtin)?.p_above(0.0),
        None => Some(signed_rank(&visits.iter().map(|log_gain| -log_gain).collect::<Vec<_>>())),
    };
    let p_value = if tested { test() } else { None };
    let launches = log_gains(&pairs, criteria.middle, |pair| pair.launch);
    // Pairs come from launches of the builtin, so equal numbers mean equal launches.
    let every_launch = launches.len() == builtin.launches().len();
    let launch_variance = if statistic.is_summary() { None } else { launch_variance(&by_visit) };
    // Only single calls show rare events, which matter only if the median hides them.
    let hidden = !statistic.is_summary() && gain.is_some_and(|gain| gain.point > 1.0);
    let stalls = if hidden && means.is_none() { stalling(builtin, series) } else { None };
    let deviation = means.map_or_else(|| standard_error(&visits), |means| means.error);
    let basis = Basis { launches, every_launch, deviation, launch_variance };
    let point = JudgedPoint::new(series.candidate, time);
    JudgedPoint { finding: PointFinding { gain, p_value, stalls, ..point.finding }, basis, ..point }
}

/// The logarithm of the ratio of means, the builtin's over the candidate's, with Student's error; rare slow calls count. The visit
/// is the unit of replication, as it is for medians. None without pairs.
fn by_means(pairs: &[TimingPair]) -> Option<TestedMean> {
    let visits: Vec<&[TimingPair]> = pairs.chunk_by(|a, b| a.visit() == b.visit()).collect();
    let means =
        |of: fn(&TimingPair) -> f64| -> Vec<f64> { visits.iter().map(|visit| mean(visit.iter().map(of))).collect() };
    let (builtin, own) = (means(|pair| pair.seconds.0), means(|pair| pair.seconds.1));
    let (of_builtin, of_own) = (mean(&builtin), mean(&own));
    // To first order, the logarithm of a ratio of means varies like the difference of the values, each over its mean.
    let residuals = builtin.iter().zip(&own).map(|(b, c)| b / of_builtin - c / of_own);
    let test = TestedMean { mean: (of_builtin / of_own).ln(), ..TestedMean::from_values(residuals) };
    test.mean.is_finite().then_some(test)
}

/// Widens the intervals and standard errors of gains by the variance between launches, which is estimated for each
/// collective: noise that visits of one launch share. One point has too few launches to show it.
///
/// The half width of an interval and that of a normal interval for the mean over launches are added in quadrature.
/// Cells are ordered by collective.
pub fn widen(cells: &[CellTimings], evidence: &mut [Vec<JudgedPoint>]) {
    let mut rest = evidence;
    for block in cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let (own, others) = rest.split_at_mut(block.len());
        rest = others;
        let variance = Variance::pooled(own.iter().flatten().filter_map(|point| point.basis.launch_variance));
        if variance.value > 0.0 {
            own.iter_mut().flatten().for_each(|point| widen_one(point, variance));
        }
    }
}

fn widen_one(JudgedPoint { finding, basis, .. }: &mut JudgedPoint, variance: Variance) {
    let launches = basis.launches.len();
    if launches == 0 {
        return;
    }
    let of_mean = variance.value / launches as f64;
    basis.deviation = (basis.deviation.powi(2) + of_mean).sqrt();
    if let Some(gain) = &mut finding.gain {
        let reach = student_quantile(gain.level, variance.degrees) * of_mean.sqrt();
        let point = gain.point.ln();
        let end = |end: Option<f64>, sign: f64| end.map(|end| ratio(point + sign * (end.ln() - point).hypot(reach)));
        *gain = Estimate { low: end(gain.low, -1.0), high: end(gain.high, 1.0), ..*gain };
    }
}

/// A call is slow if it takes more than this multiple of the builtin's median.
const FOLD: f64 = 4.0;

/// Smallest number of slow calls, which must be in two visits at least: a disturbance hits neighbouring calls.
const LEAST: usize = 3;

/// Largest probability of the candidate's share of the slow calls, if slow calls are equally likely in both.
const CHANCE: f64 = 0.01;

/// The slow calls of a candidate, if it has significantly more of them than the builtin and they make it slower on
/// average.
fn stalling(builtin: &PointTimings, series: &PointTimings) -> Option<Stalling> {
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
    use super::*;
    use crate::cells::Timing;

    /// By hand: the residuals -1/4, 1/4, 1/2, -1/2 of b/4 - c/2 have the standard error sqrt(5/8 / 3 / 4), so that
    /// t = ln 2 / 0.228218 = 3.0372; with 3 degrees of freedom, P(T > t) = 1/2 - (atan x + x / (1 + x^2)) / pi for
    /// x = t / sqrt 3.
    #[test]
    fn a_ratio_of_means_has_the_error_of_its_residuals() {
        let pair = |(visit, b, c): (u32, f64, f64)| TimingPair { launch: 0, visit, log_gain: 0.0, seconds: (b, c) };
        let pairs = [(0, 3.0, 2.0), (1, 5.0, 2.0), (2, 4.0, 1.0), (3, 4.0, 3.0)].map(pair);
        let found = by_means(&pairs).expect("pairs");
        assert!((found.mean.exp() - 2.0).abs() < 1e-12 && (found.error - 0.228_218).abs() < 1e-6, "{}", found.error);
        assert!((found.p_above(0.0).expect("tested") - 0.0279951).abs() < 1e-6, "{found:?}");
        assert!(by_means(&[]).is_none());
    }

    /// Calls of 10 us, of which every n-th takes 2 ms, six in a visit.
    fn series(calls: u32, nth: u32) -> PointTimings {
        let timing = |call: u32| {
            let seconds = if nth > 0 && call.is_multiple_of(nth) { 2e-3 } else { 10e-6 };
            Timing { launch: 0, visit: call / 6, round: call % 6, seconds }
        };
        PointTimings { candidate: Candidate::Builtin, timings: (0..calls).map(timing).collect() }
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
