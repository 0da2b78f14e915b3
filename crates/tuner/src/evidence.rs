//! What the timings of a cell say about each candidate, before it is known how many comparisons there are.

use collrules_record::Candidate;
use collrules_record::estimate::Estimate;
use collrules_record::findings::{Criteria, Statistic};

use crate::cells::{CellTimings, Pair, Series};
use crate::statistics::{mann_whitney, signed_rank};

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
    /// The gain in the launch in which it is smallest.
    pub(crate) least_launch_gain: Option<f64>,
}

/// Weighs each candidate of a cell against the builtin, in the order of the series.
///
/// The unit of replication is the visit, a launch of an imported table being one. Rounds of one visit repeat whatever
/// stays through it and acts on one candidate alone, such as where its buffers lie: counted one by one they would make
/// certain what is chance. What stays through a whole launch needs several launches.
pub(crate) fn weigh(cell: &CellTimings, statistic: Statistic, criteria: Criteria) -> Vec<Evidence> {
    let builtin = cell.builtin().filter(|_| !cell.builtin_failed());
    let weigh_one = |series: &Series| {
        let time = Estimate::median(&series.seconds(), criteria.level)?;
        let reference = builtin.filter(|_| series.candidate != Candidate::Builtin);
        Some(match reference {
            Some(builtin) => against(builtin, series, time, statistic, criteria),
            None => Evidence::alone(series.candidate, time),
        })
    };
    cell.series.iter().filter_map(weigh_one).collect()
}

impl Evidence {
    fn alone(candidate: Candidate, time: Estimate) -> Self {
        Self { candidate, time, gain: None, p_value: None, least_launch_gain: None }
    }
}

fn against(builtin: &Series, series: &Series, time: Estimate, statistic: Statistic, criteria: Criteria) -> Evidence {
    let pairs = series.pairs(builtin);
    let visits = medians(&pairs, |a, b| (a.launch, a.visit) == (b.launch, b.visit));
    let tested = visits.len() >= LEAST_VISITS;
    let mut gain = Estimate::median(&visits, criteria.level).map(|log_gain| log_gain.map(f64::exp));
    if !tested {
        // At a low level a few values would have an interval, but not one to rely on.
        gain = gain.map(|gain| Estimate { low: None, high: None, ..gain });
    }
    let p_value = tested.then(|| match statistic {
        Statistic::RankMaximum => signed_rank(&visits.iter().map(|log_gain| -log_gain).collect::<Vec<_>>()),
        // Every launch of a table times one candidate, so that nothing is really paired.
        Statistic::RankAverage => mann_whitney(&series.seconds(), &builtin.seconds()),
    });
    let launches = medians(&pairs, |a, b| a.launch == b.launch);
    Evidence {
        candidate: series.candidate,
        time,
        gain,
        p_value,
        least_launch_gain: launches.into_iter().min_by(f64::total_cmp).map(f64::exp),
    }
}

/// The median log gain of each run of pairs that belong together.
fn medians(pairs: &[Pair], together: impl Fn(&Pair, &Pair) -> bool) -> Vec<f64> {
    let median = |pairs: &[Pair]| {
        let mut log_gains: Vec<f64> = pairs.iter().map(|pair| pair.log_gain).collect();
        log_gains.sort_unstable_by(f64::total_cmp);
        let count = log_gains.len();
        f64::midpoint(log_gains[(count - 1) / 2], log_gains[count / 2])
    };
    pairs.chunk_by(together).map(median).collect()
}
