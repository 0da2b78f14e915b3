//! One choice for all message sizes of a communicator size, for formats and releases that allow only one.
//!
//! Such a choice replaces the builtin at every size, so that it is judged over all of them: what convinces at one size
//! alone does not convince for the others.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Candidate;
use collrules_record::criteria::Criteria;
use collrules_record::estimate::mean;
use collrules_record::findings::PointFinding;

use crate::evidence::JudgedPoint;
use crate::statistics::{adjust, combine};
use crate::terms::{Block, Terms};
use crate::verdict::{JudgedCell, resolved};

/// Candidates other than the builtin that all sizes of a block may use.
pub(crate) type Convincing = BTreeMap<Block, BTreeSet<Candidate>>;

/// Returns the choices that all sizes may use, for each block whose sizes must share one.
///
/// In a single cell they are those that may replace the builtin there, in several cells those that meet the criteria as a
/// whole. The tests of all blocks make a family of their own for the error rate, since each of them stands for one
/// decision.
pub(crate) fn convincing_choices(cells: &[JudgedCell], terms: &Terms<'_>) -> Convincing {
    let assumptions = terms.policy.assumptions;
    let mut convincing = Convincing::new();
    let mut competitors = Vec::new();
    let blocks = cells.chunk_by(|a, b| block(a) == block(b));
    for cells in
        blocks.filter(|cells| assumptions.one_choice(terms.release, cells[0].cell.collective, cells[0].cell.ranks))
    {
        let single = cells.iter().filter(|_| cells.len() == 1).flat_map(JudgedCell::qualified);
        convincing.insert(block(&cells[0]), single.map(|finding| finding.candidate).collect());
        if cells.len() > 1 {
            let candidates = cells[0].points.iter().map(|point| point.finding.candidate);
            competitors.extend(candidates.filter_map(|candidate| BlockCandidate::new(cells, candidate, terms)));
        }
    }
    let q_values = adjust(competitors.iter().map(|competitor| competitor.p_value));
    for (competitor, q_value) in competitors.into_iter().zip(q_values) {
        if competitor.convinces(q_value, terms) {
            convincing.entry(competitor.block).or_default().insert(competitor.candidate);
        }
    }
    convincing
}

fn block(cell: &JudgedCell) -> Block {
    (cell.cell.collective, cell.cell.ranks)
}

/// A candidate that was compared with the builtin in every cell of a block, and in every launch.
struct BlockCandidate {
    block: Block,
    candidate: Candidate,
    /// Mean of the log gains in the launch with the smallest mean.
    least_launch: f64,
    /// P value of the test over all cells; missing if a cell has too few visits.
    p_value: Option<f64>,
    /// True if it is neither barred nor slower than the builtin in any cell, and its gain over all cells reaches the threshold.
    is_eligible: bool,
}

impl BlockCandidate {
    /// A competitor in all cells of a block.
    fn new(cells: &[JudgedCell], candidate: Candidate, terms: &Terms<'_>) -> Option<Self> {
        let criteria = terms.criteria;
        let points: Vec<&JudgedPoint> = cells.iter().map(|cell| cell.judged(candidate)).collect::<Option<_>>()?;
        let mut log_gains = Vec::with_capacity(points.len());
        let mut is_eligible = true;
        for JudgedPoint { finding, basis, bar, .. } in &points {
            let gain = finding.gain.filter(|_| basis.every_launch)?;
            // Gains below the resolution of the clock count as none.
            let told = gain.point <= 1.0 || resolved(&finding.time, &gain, criteria);
            log_gains.push(if told { gain.point.ln() } else { 0.0 });
            let stalls = finding.stalls.is_some() && !criteria.accept_stalls;
            // A bar of a layout applies to a single cell.
            is_eligible &= !stalls && !is_slower(finding, criteria) && bar.is_none();
        }
        // An interrupted launch has only some of the cells, and must still agree.
        let mut launches: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (launch, log_gain) in points.iter().flat_map(|point| &point.basis.launches) {
            launches.entry(*launch).or_default().push(*log_gain);
        }
        let p_values: Option<Vec<f64>> = points.iter().map(|point| point.finding.p_value).collect();
        let gained = cells.iter().zip(log_gains).map(|(cell, log_gain)| (cell.cell, 0.0, -log_gain));
        Some(Self {
            block: block(cells.first()?),
            candidate,
            least_launch: launches.values().map(mean).min_by(f64::total_cmp)?,
            p_value: p_values.map(|p_values| combine(&p_values)),
            is_eligible: is_eligible && terms.weights.ratio(gained) >= 1.0 + criteria.min_gain,
        })
    }

    /// Returns true if it may replace the builtin in the whole block.
    ///
    /// It must neither be slower nor stall anywhere, and the gain over all cells must reach the threshold. The test
    /// over all cells must show that it is faster, and its mean must be faster in every launch. In a table of averages
    /// with too few launches for a test, the mean must instead reach `untested_gain` in each of them.
    fn convinces(&self, q_value: Option<f64>, terms: &Terms<'_>) -> bool {
        let criteria = terms.criteria;
        let shown = match q_value {
            Some(q_value) => q_value <= criteria.error_rate && self.least_launch > 0.0,
            None => terms.statistic.is_summary() && self.least_launch.exp() >= 1.0 + criteria.untested_gain,
        };
        shown && self.is_eligible
    }
}

/// Returns true if the gain is below the inverse of the threshold, or the interval is entirely below 1.
fn is_slower(finding: &PointFinding, criteria: Criteria) -> bool {
    finding
        .gain
        .is_some_and(|gain| gain.point < 1.0 / (1.0 + criteria.min_gain) || gain.high.is_some_and(|high| high < 1.0))
}
