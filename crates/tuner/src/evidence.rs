//! Evidence of the timings of a cell for each candidate, before the number of comparisons is known.

use collrules_record::Candidate;
use collrules_record::criteria::{Criteria, Middle};
use collrules_record::estimate::{Estimate, TestedMean, Variance, mean, ratio, student_quantile};
use collrules_record::findings::{PointFinding, Statistic};
use collrules_record::reason::{Bar, Shortfall};

use crate::cells::{CellTimings, PointTimings, TimingPair, log_gains};
use crate::stalls::stalling;
use crate::statistics::{Score, launch_variance, mann_whitney_test, signed_rank_test, standard_error};

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
    /// The statistic of the test, for tests over several cells; missing if there are too few visits.
    pub(crate) score: Option<Score>,
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
        let reference = match series.candidate {
            Candidate::Builtin => None,
            _ => builtin,
        };
        Some(match reference {
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
    let means = (criteria.middle == Middle::Mean).then(|| by_means(&pairs, criteria.level)).flatten();
    let by_visit = log_gains(&pairs, criteria.middle, TimingPair::visit);
    let visits: Vec<f64> = by_visit.iter().map(|(_, gain)| *gain).collect();
    let tested = visits.len() >= LEAST_VISITS;
    let of_medians = || Estimate::median(&visits, criteria.level).map(|log_gain| log_gain.exp());
    let mut gain = means.as_ref().map_or_else(of_medians, |means| Some(means.gain));
    if !tested {
        // At a low confidence level a few values would have an interval, but an unreliable one.
        gain = gain.map(|gain| Estimate { low: None, high: None, ..gain });
    }
    let test = || match &means {
        Some(means) => Some((means.p_value?, means.score)),
        // Each launch of a table times one candidate, so the pairs are not really paired.
        None if statistic.is_summary() => {
            let [times, reference] = [series, builtin].map(|it| it.launch_medians().into_values().collect::<Vec<_>>());
            Some(mann_whitney_test(&times, &reference))
        }
        None => Some(signed_rank_test(&visits.iter().map(|log_gain| -log_gain).collect::<Vec<_>>())),
    };
    let (p_value, score) = if tested { test() } else { None }.unzip();
    let launches = log_gains(&pairs, criteria.middle, |pair| pair.launch);
    // Pairs come from launches of the builtin, so equal numbers mean equal launches.
    let every_launch = launches.len() == builtin.launches().len();
    let launch_variance = if statistic.is_summary() { None } else { launch_variance(&by_visit) };
    // Only single calls show rare events, which matter only if the median hides them.
    let hidden = !statistic.is_summary() && gain.is_some_and(|gain| gain.point > 1.0);
    let stalls = if hidden && means.is_none() { stalling(builtin, series) } else { None };
    let deviation = means.as_ref().map_or_else(|| standard_error(&visits), |means| means.error);
    let basis = Basis { score, launches, every_launch, deviation, launch_variance };
    let point = JudgedPoint::new(series.candidate, time);
    JudgedPoint { finding: PointFinding { gain, p_value, stalls, ..point.finding }, basis, ..point }
}

/// Comparison of two candidates by their means, which include rare slow calls.
struct ByMeans {
    /// The builtin's mean over the candidate's.
    gain: Estimate,
    p_value: Option<f64>,
    score: Score,
    /// The standard error of the gain's logarithm.
    error: f64,
}

/// A normal statistic has no steps to correct for: this unit is large enough to make the correction for ranks vanish.
const UNIT: f64 = 1e9;

/// The ratio of means with Student's interval; the visit is the unit of replication, as it is for medians. None without pairs.
fn by_means(pairs: &[TimingPair], level: f64) -> Option<ByMeans> {
    let visits: Vec<&[TimingPair]> = pairs.chunk_by(|a, b| a.visit() == b.visit()).collect();
    let means =
        |of: fn(&TimingPair) -> f64| -> Vec<f64> { visits.iter().map(|visit| mean(visit.iter().map(of))).collect() };
    let (builtin, own) = (means(|pair| pair.seconds.0), means(|pair| pair.seconds.1));
    let (of_builtin, of_own) = (mean(&builtin), mean(&own));
    let log_gain = (of_builtin / of_own).ln();
    // To first order, the logarithm of a ratio of means varies like the difference of the values, each over its mean.
    let residuals = builtin.iter().zip(&own).map(|(b, c)| b / of_builtin - c / of_own);
    let test = TestedMean { mean: log_gain, ..TestedMean::from_values(residuals) };
    log_gain.is_finite().then(|| ByMeans {
        gain: test.estimate(level).exp(),
        p_value: test.p_above(0.0),
        score: Score { excess: -UNIT * log_gain / test.error, deviation: UNIT },
        error: test.error,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the residuals -1/4, 1/4, 1/2, -1/2 of b/4 - c/2 have the standard error sqrt(5/8 / 3 / 4), so that
    /// t = ln 2 / 0.228218 = 3.0372; with 3 degrees of freedom, P(T > t) = 1/2 - (atan x + x / (1 + x^2)) / pi for
    /// x = t / sqrt 3.
    #[test]
    fn a_ratio_of_means_has_the_error_of_its_residuals() {
        let pair = |(visit, b, c): (u32, f64, f64)| TimingPair { launch: 0, visit, log_gain: 0.0, seconds: (b, c) };
        let pairs = [(0, 3.0, 2.0), (1, 5.0, 2.0), (2, 4.0, 1.0), (3, 4.0, 3.0)].map(pair);
        let found = by_means(&pairs, 0.95).expect("pairs");
        assert!((found.gain.point - 2.0).abs() < 1e-12 && (found.error - 0.228_218).abs() < 1e-6, "{}", found.error);
        assert!((found.p_value.expect("tested") - 0.0279951).abs() < 1e-6, "{:?}", found.p_value);
        assert!(by_means(&[], 0.95).is_none());
    }
}
