//! One choice for all message sizes of a communicator size, where the sizes have to share one.
//!
//! Such a choice replaces the builtin at every size, so that it is judged over all of them: what convinces at one size
//! alone does not convince for the others.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{Criteria, PointFinding, Statistic};
use collrules_record::policy::Assumptions;
use collrules_record::{Candidate, Ranks};
use collrules_rules::{Collective, Release};

use crate::statistics::{Score, adjust, mean, stratified};
use crate::verdict::{JudgedCell, JudgedPoint, resolved};
use crate::weights::Weights;

/// A collective on so many ranks.
pub(crate) type Block = (Collective, Ranks);

/// Candidates other than the builtin that may serve all sizes of a block.
pub(crate) type Convincing = BTreeMap<Block, BTreeSet<Candidate>>;

/// The choices that may serve all sizes, for every block in which sizes have to share one.
///
/// In a single cell they are those that may replace the builtin there, in several cells those that meet the criteria as a
/// whole. The tests of all blocks make a family of their own for the error rate, since each of them stands for one
/// decision.
pub(crate) fn convincing_choices(
    cells: &[JudgedCell],
    statistic: Statistic,
    release: Release,
    criteria: Criteria,
    assumptions: Assumptions,
    weights: Weights<'_>,
) -> Convincing {
    let mut convincing = Convincing::new();
    let mut rivals = Vec::new();
    let blocks = cells.chunk_by(|a, b| block(a) == block(b));
    for cells in blocks.filter(|cells| assumptions.one_choice(release, cells[0].cell.collective, cells[0].cell.ranks)) {
        let single = cells.iter().filter(|_| cells.len() == 1).flat_map(JudgedCell::qualified);
        convincing.insert(block(&cells[0]), single.map(|finding| finding.candidate).collect());
        if cells.len() > 1 {
            rivals.extend(rivals_of(cells, criteria, weights));
        }
    }
    let p_values: Vec<f64> = rivals.iter().filter_map(|rival| rival.p_value).collect();
    let mut q_values = adjust(&p_values).into_iter();
    for rival in rivals {
        let q_value = rival.p_value.and_then(|_| q_values.next());
        if rival.convinces(q_value, statistic, criteria) {
            convincing.entry(rival.block).or_default().insert(rival.candidate);
        }
    }
    convincing
}

fn block(cell: &JudgedCell) -> Block {
    (cell.cell.collective, cell.cell.ranks)
}

/// A candidate that was compared with the builtin in every cell of a block, and in every launch.
struct Rival {
    block: Block,
    candidate: Candidate,
    /// What is gained over all cells, gains that the clock cannot tell counting as none.
    gain: f64,
    /// The mean of the log gains in the launch in which it is smallest.
    least_launch: f64,
    /// Of the test over all cells; missing where a cell has too few visits.
    p_value: Option<f64>,
    /// Whether it is slower than the builtin in a cell.
    slower: bool,
    barred: bool,
}

/// The rivals of a block.
fn rivals_of(cells: &[JudgedCell], criteria: Criteria, weights: Weights<'_>) -> Vec<Rival> {
    let candidates = cells[0].points.iter().map(|point| point.finding.candidate);
    let points = |candidate| cells.iter().map(|cell| cell.judged(candidate)).collect::<Option<Vec<_>>>();
    candidates.filter_map(|candidate| Rival::new(cells, &points(candidate)?, weights, criteria)).collect()
}

impl Rival {
    /// `points` are those of one candidate, one for each of the cells.
    fn new(cells: &[JudgedCell], points: &[&JudgedPoint], weights: Weights<'_>, criteria: Criteria) -> Option<Self> {
        let first = points.first()?;
        let mut log_gains = Vec::with_capacity(points.len());
        let mut slower = false;
        for JudgedPoint { finding, basis, .. } in points {
            let gain = finding.gain.filter(|_| basis.every_launch)?;
            let told = gain.point <= 1.0 || resolved(&finding.time, &gain, criteria);
            log_gains.push(if told { gain.point.ln() } else { 0.0 });
            let stalls = finding.stalls.is_some() && !criteria.accept_stalls;
            slower |= stalls || is_slower(finding, criteria);
        }
        // A launch that was cut short has some of the cells only, and still has to agree.
        let mut launches: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (launch, log_gain) in points.iter().flat_map(|point| &point.basis.launches) {
            launches.entry(*launch).or_default().push(*log_gain);
        }
        let scores: Option<Vec<Score>> = points.iter().map(|point| point.basis.score).collect();
        let gained = cells.iter().zip(log_gains).map(|(cell, log_gain)| (cell.cell, 0.0, -log_gain));
        Some(Self {
            block: block(cells.first()?),
            candidate: first.finding.candidate,
            gain: weights.ratio(gained),
            least_launch: launches.values().map(|gains| mean(gains)).min_by(f64::total_cmp)?,
            p_value: scores.map(|scores| stratified(&scores)),
            slower,
            // Bars of layouts are of single cells.
            barred: points.iter().any(|point| point.bar.is_some()),
        })
    }

    /// Whether it may replace the builtin in the whole block.
    ///
    /// It must neither be slower nor stall anywhere, and what is gained over all cells has to reach the threshold. The test over
    /// all cells has to say that it is faster, and the mean has to in every launch; for a table of averages without
    /// enough launches for a test the mean has to reach what is asked for instead in each of them.
    fn convinces(&self, q_value: Option<f64>, statistic: Statistic, criteria: Criteria) -> bool {
        let shown = match (q_value, statistic) {
            (Some(q_value), _) => q_value <= criteria.error_rate && self.least_launch > 0.0,
            (None, Statistic::RankAverage | Statistic::SlowestRankSummary) => {
                self.least_launch.exp() >= 1.0 + criteria.untested_gain
            }
            (None, Statistic::RankMaximum) => false,
        };
        shown && !self.slower && !self.barred && self.gain >= 1.0 + criteria.min_gain
    }
}

/// Slower is a gain below the inverse of the threshold, or an interval wholly below 1.
fn is_slower(finding: &PointFinding, criteria: Criteria) -> bool {
    finding
        .gain
        .is_some_and(|gain| gain.point < 1.0 / (1.0 + criteria.min_gain) || gain.high.is_some_and(|high| high < 1.0))
}
