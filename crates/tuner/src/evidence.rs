//! What the timings of a cell say about each candidate, before it is known how many comparisons there are.

use collrules_record::estimate::{Estimate, median};
use collrules_record::findings::{Criteria, Middle, Stalling, Statistic};
use collrules_record::{Candidate, Component};

use crate::cells::{CellTimings, Pair, Series};
use crate::means::{by_means, log_gains};
use crate::stalls::stalling;
use crate::statistics::{LaunchVariance, Score, launch_variance, standard_error};
use crate::statistics::{mann_whitney, mann_whitney_score, signed_rank, signed_rank_score};

/// With fewer visits no one-sided signed-rank test can reach 0.02, and no 95 % interval for the median exists.
pub(crate) const LEAST_VISITS: usize = 6;

/// The evidence on one point.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) candidate: Candidate,
    /// Seconds.
    pub(crate) time: Estimate,
    /// Builtin time over candidate time; without pairs there is none.
    pub(crate) gain: Option<Estimate>,
    /// Of the one-sided test; missing where there are too few visits.
    pub(crate) p_value: Option<f64>,
    /// Rare slow calls that make it slower on average.
    pub(crate) stalls: Option<Stalling>,
    pub(crate) basis: Basis,
}

/// What the comparison of a candidate with the builtin rests on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Basis {
    /// The statistic of the test, for tests over several cells; missing where there are too few visits.
    pub(crate) score: Option<Score>,
    /// The median log gain in each launch in which the two were timed side by side.
    pub(crate) launches: Vec<(u32, f64)>,
    /// Whether they were in every launch in which the builtin was timed.
    pub(crate) every_launch: bool,
    /// The standard error of the log gain, as far as visits and launches show it; 0 where they can't.
    pub(crate) deviation: f64,
    /// How much more launches differ than their visits explain; missing where that can't be seen.
    pub(crate) launch_variance: Option<LaunchVariance>,
}

/// Weighs each candidate of a cell against the builtin, in the order of the series.
///
/// The unit of replication is the visit, a launch of an imported table being one. Rounds of one visit repeat whatever
/// stays through it and acts on one candidate alone, such as where its buffers lie: counted one by one they would make
/// certain what is chance. What stays through a whole launch needs several launches.
pub(crate) fn weigh(cell: &CellTimings, statistic: Statistic, criteria: Criteria) -> Vec<Evidence> {
    let builtin = cell.builtin().filter(|_| !cell.builtin_failed());
    // What was timed in jobs of its own is compared with HAN as it is in such jobs; that is the builtin once more.
    let apart = || cell.series.iter().find(|series| series.candidate == Candidate::Component(Component::HAN));
    let weigh_one = |series: &Series| {
        let time = match criteria.middle {
            Middle::Median => Estimate::median(&series.seconds(), criteria.level)?,
            Middle::Mean => Estimate::mean(&series.seconds(), criteria.level)?,
        };
        let reference = match series.candidate {
            Candidate::Builtin | Candidate::Component(Component::HAN) => None,
            candidate if candidate.is_apart() => builtin.and_then(|_| apart()),
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

fn against(builtin: &Series, series: &Series, time: Estimate, statistic: Statistic, criteria: Criteria) -> Evidence {
    let pairs = series.pairs(builtin);
    let means = (criteria.middle == Middle::Mean).then(|| by_means(&pairs, criteria.level)).flatten();
    let by_visit = match &means {
        Some(_) => log_gains(&pairs, |pair| (pair.launch, pair.visit)),
        None => medians(&pairs, |pair| (pair.launch, pair.visit)),
    };
    let visits: Vec<f64> = by_visit.iter().map(|(_, gain)| *gain).collect();
    let tested = visits.len() >= LEAST_VISITS;
    let of_medians = || Estimate::median(&visits, criteria.level).map(|log_gain| log_gain.map(f64::exp));
    let mut gain = means.as_ref().map_or_else(of_medians, |means| Some(means.gain));
    if !tested {
        // At a low level a few values would have an interval, but not one to rely on.
        gain = gain.map(|gain| Estimate { low: None, high: None, ..gain });
    }
    let (p_value, score) = match (statistic, &means) {
        _ if !tested => (None, None),
        (_, Some(means)) => (Some(means.p_value), Some(means.score)),
        (Statistic::RankMaximum, None) => {
            let losses: Vec<f64> = visits.iter().map(|log_gain| -log_gain).collect();
            (Some(signed_rank(&losses)), Some(signed_rank_score(&losses)))
        }
        // Every launch of a table times one candidate, so that nothing is really paired.
        (Statistic::RankAverage | Statistic::SlowestRankSummary, None) => {
            let times_of = |series: &Series| series.launch_medians().into_iter().map(|(_, seconds)| seconds).collect();
            let (times, reference): (Vec<f64>, Vec<f64>) = (times_of(series), times_of(builtin));
            (Some(mann_whitney(&times, &reference)), Some(mann_whitney_score(&times, &reference)))
        }
    };
    let launches = match &means {
        Some(_) => log_gains(&pairs, |pair| pair.launch),
        None => medians(&pairs, |pair| pair.launch),
    };
    // Pairs are of launches of the builtin, so that as many launches are the same ones.
    let every_launch = launches.len() == builtin.launches().len();
    let launch_variance = match statistic {
        Statistic::RankMaximum => launch_variance(&by_visit),
        Statistic::RankAverage | Statistic::SlowestRankSummary => None,
    };
    // Only single calls show what is rare, and only where a median hides it does anybody have to be told.
    let hidden = statistic == Statistic::RankMaximum && gain.is_some_and(|gain| gain.point > 1.0);
    let stalls = if hidden && means.is_none() { stalling(builtin, series) } else { None };
    let deviation = means.as_ref().map_or_else(|| standard_error(&visits), |means| means.error);
    let basis = Basis { score, launches, every_launch, deviation, launch_variance };
    Evidence { candidate: series.candidate, time, gain, p_value, stalls, basis }
}

/// The median log gain of each run of pairs that belong together by the same key.
fn medians<K: PartialEq>(pairs: &[Pair], key: impl Fn(&Pair) -> K) -> Vec<(K, f64)> {
    let one = |pairs: &[Pair]| {
        let mut log_gains: Vec<f64> = pairs.iter().map(|pair| pair.log_gain).collect();
        Some((key(&pairs[0]), median(&mut log_gains)?))
    };
    pairs.chunk_by(|a, b| key(a) == key(b)).filter_map(one).collect()
}
