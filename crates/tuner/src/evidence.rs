//! Evidence of the timings of a cell for each candidate, before the number of comparisons is known.

use collrules_record::Candidate;
use collrules_record::estimate::{Estimate, median};
use collrules_record::findings::{Criteria, Middle, Stalling, Statistic};

use crate::cells::{CellTimings, PointTimings, TimingPair};
use crate::means::{by_means, log_gains};
use crate::stalls::stalling;
use crate::statistics::{LaunchVariance, Score, launch_variance, standard_error};
use crate::statistics::{mann_whitney, mann_whitney_score, signed_rank, signed_rank_score};

/// With fewer visits no one-sided signed-rank test can reach 0.02, and no 95 % interval for the median exists.
pub const LEAST_VISITS: usize = 6;

/// The evidence on one point.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The candidate.
    pub candidate: Candidate,
    /// Seconds.
    pub time: Estimate,
    /// Builtin time over candidate time; none without pairs.
    pub gain: Option<Estimate>,
    /// P value of the one-sided test; missing if there are too few visits.
    pub p_value: Option<f64>,
    /// Rare slow calls that make it slower on average.
    pub stalls: Option<Stalling>,
    /// Basis of the comparison.
    pub basis: Basis,
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
    pub(crate) launch_variance: Option<LaunchVariance>,
}

/// Computes the evidence of each candidate of a cell against the builtin, in the order of the series.
///
/// The unit of replication is the visit, a launch of an imported table being one. Rounds of one visit share effects on
/// a single candidate, such as the address of its buffers; counted one by one, they would make noise look significant.
/// Effects that last for a whole launch need several launches.
pub fn weigh(cell: &CellTimings, statistic: Statistic, criteria: Criteria) -> Vec<Evidence> {
    let builtin = cell.builtin().filter(|_| !cell.builtin_failed());
    let weigh_one = |series: &PointTimings| {
        let time = match criteria.middle {
            Middle::Median => Estimate::median(&series.seconds(), criteria.level)?,
            Middle::Mean => Estimate::mean(&series.seconds(), criteria.level)?,
        };
        let reference = match series.candidate {
            Candidate::Builtin => None,
            _ => builtin,
        };
        Some(match reference {
            Some(builtin) => against(builtin, series, time, statistic, criteria),
            None => Evidence::alone(series.candidate, time),
        })
    };
    cell.series.iter().filter_map(weigh_one).collect()
}

impl Evidence {
    fn alone(candidate: Candidate, time: Estimate) -> Self {
        Self { candidate, time, gain: None, p_value: None, stalls: None, basis: Basis::default() }
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
) -> Evidence {
    let pairs = series.pairs(builtin);
    let means = (criteria.middle == Middle::Mean).then(|| by_means(&pairs, criteria.level)).flatten();
    let by_visit = match &means {
        Some(_) => log_gains(&pairs, |pair| (pair.launch, pair.visit)),
        None => medians(&pairs, |pair| (pair.launch, pair.visit)),
    };
    let visits: Vec<f64> = by_visit.iter().map(|(_, gain)| *gain).collect();
    let tested = visits.len() >= LEAST_VISITS;
    let of_medians = || Estimate::median(&visits, criteria.level).map(|log_gain| log_gain.exp());
    let mut gain = means.as_ref().map_or_else(of_medians, |means| Some(means.gain));
    if !tested {
        // At a low confidence level a few values would have an interval, but an unreliable one.
        gain = gain.map(|gain| Estimate { low: None, high: None, ..gain });
    }
    let (p_value, score) = match (statistic, &means) {
        _ if !tested => (None, None),
        (_, Some(means)) => (Some(means.p_value), Some(means.score)),
        (Statistic::RankMaximum, None) => {
            let losses: Vec<f64> = visits.iter().map(|log_gain| -log_gain).collect();
            (Some(signed_rank(&losses)), Some(signed_rank_score(&losses)))
        }
        // Each launch of a table times one candidate, so the pairs are not really paired.
        (Statistic::RankAverage | Statistic::SlowestRankSummary, None) => {
            let times_of =
                |series: &PointTimings| series.launch_medians().into_iter().map(|(_, seconds)| seconds).collect();
            let (times, reference): (Vec<f64>, Vec<f64>) = (times_of(series), times_of(builtin));
            (Some(mann_whitney(&times, &reference)), Some(mann_whitney_score(&times, &reference)))
        }
    };
    let launches = match &means {
        Some(_) => log_gains(&pairs, |pair| pair.launch),
        None => medians(&pairs, |pair| pair.launch),
    };
    // Pairs come from launches of the builtin, so equal numbers mean equal launches.
    let every_launch = launches.len() == builtin.launches().len();
    let launch_variance = match statistic {
        Statistic::RankMaximum => launch_variance(&by_visit),
        Statistic::RankAverage | Statistic::SlowestRankSummary => None,
    };
    // Only single calls show rare events, which matter only if the median hides them.
    let hidden = statistic == Statistic::RankMaximum && gain.is_some_and(|gain| gain.point > 1.0);
    let stalls = if hidden && means.is_none() { stalling(builtin, series) } else { None };
    let deviation = means.as_ref().map_or_else(|| standard_error(&visits), |means| means.error);
    let basis = Basis { score, launches, every_launch, deviation, launch_variance };
    Evidence { candidate: series.candidate, time, gain, p_value, stalls, basis }
}

/// The median log gain of each group of consecutive pairs with equal keys.
fn medians<K: PartialEq>(pairs: &[TimingPair], key: impl Fn(&TimingPair) -> K) -> Vec<(K, f64)> {
    let one = |pairs: &[TimingPair]| {
        let mut log_gains: Vec<f64> = pairs.iter().map(|pair| pair.log_gain).collect();
        Some((key(&pairs[0]), median(&mut log_gains)?))
    };
    pairs.chunk_by(|a, b| key(a) == key(b)).filter_map(one).collect()
}
