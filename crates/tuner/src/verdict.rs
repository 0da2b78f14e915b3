//! The verdict of each cell, from its evidence.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use collrules_record::criteria::Criteria;
use collrules_record::estimate::Estimate;
use collrules_record::findings::{PointFinding, Statistic, Verdict};
use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::reason::{Bar, KeepReason, Shortfall};
use collrules_record::{Candidate, Cell, Placement, Policy};
use collrules_rules::bits::Keep;
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Choice, Release, RuleTable, hazard, registry};

use crate::cells::CellTimings;
use crate::evidence::{JudgedPoint, weigh, widen};
use crate::neighbours::correct;
use crate::statistics::adjust;
use crate::terms::{Block, Terms};

/// Resolution of a time in steps of the clock: a reading is wrong by up to a step at either end of a call.
const RESOLVED_STEPS: f64 = 2.0;

/// A cell with its verdict.
#[derive(Clone, Debug)]
pub struct JudgedCell {
    /// The cell.
    pub cell: Cell,
    /// The builtin first, if it was timed, then by candidate.
    pub points: Vec<JudgedPoint>,
    /// Candidates that failed, with the reason.
    pub disqualified: Vec<(Candidate, String)>,
    /// The decision.
    pub verdict: Verdict,
}

/// Judges all cells, which are ordered by collective and communicator size.
///
/// `adjusted` returns q values for the p values of each cell, in their order; these account for every test of the analysis,
/// including those of candidates that are not chosen.
pub fn judge(
    cells: Vec<CellTimings>,
    statistic: Statistic,
    release: Release,
    criteria: Criteria,
    assumptions: Assumptions,
    adjusted: impl Fn(&[Vec<Option<f64>>]) -> Vec<Option<f64>>,
) -> Vec<JudgedCell> {
    let mut points: Vec<Vec<JudgedPoint>> = cells.iter().map(|cell| weigh(cell, statistic, criteria)).collect();
    widen(&cells, &mut points);
    correct(&cells, &mut points, statistic);
    let p_values = |points: &Vec<JudgedPoint>| points.iter().map(|point| point.finding.p_value).collect();
    let q_values = adjusted(&points.iter().map(p_values).collect::<Vec<_>>());
    for (point, q_value) in points.iter_mut().flatten().zip(q_values) {
        point.finding.q_value = q_value;
        point.shortfall = shortfall(point, statistic, criteria);
    }
    let of_cell = |(CellTimings { cell, disqualified, .. }, points)| {
        let verdict = Verdict::Keep { why: KeepReason::NothingTimed };
        JudgedCell { cell, points, disqualified, verdict }
    };
    let mut judged: Vec<JudgedCell> = cells.into_iter().zip(points).map(of_cell).collect();
    set_bars(&mut judged, release, criteria, assumptions);
    judged
}

/// Judges the cells of a layout, with q values over all candidates.
pub(crate) fn judge_layout(cells: Vec<CellTimings>, placement: &Placement, terms: &Terms<'_>) -> Vec<JudgedCell> {
    let Terms { statistic, release, criteria, policy: Policy { assumptions, .. }, .. } = *terms;
    let adjusted = |p_values: &[Vec<Option<f64>>]| adjust(p_values.concat());
    let mut judged = judge(cells, statistic, release, criteria, assumptions, adjusted);
    bar_other_bits(&mut judged, placement, terms);
    judged
}

/// Returns the reason why a candidate does not replace the builtin, apart from bars, if there is one.
///
/// It must be timed in every launch of the builtin: a launch without it might contradict. With a test: q within the
/// error rate, the gain at the threshold, its interval above 1, some gain in every launch. A table of averages without
/// enough launches for a test can convince by a large gain that its neighbours share, and by some gain in each of its
/// launches; single calls, which scatter far more, cannot.
fn shortfall(point: &JudgedPoint, statistic: Statistic, criteria: Criteria) -> Option<Shortfall> {
    let PointFinding { time, gain, q_value, stalls, .. } = &point.finding;
    let Some(gain) = gain else { return Some(Shortfall::NoGain) };
    if gain.point <= 1.0 {
        return Some(Shortfall::NotFaster);
    }
    if gain.point < 1.0 + criteria.min_gain {
        return Some(Shortfall::SmallGain);
    }
    if !resolved(time, gain, criteria) {
        return Some(Shortfall::Unresolved);
    }
    if !point.basis.every_launch {
        return Some(Shortfall::NotTimedInEveryLaunch);
    }
    let is_doubtful = || point.cautious.is_none_or(|gain| gain < 1.0 + criteria.untested_gain);
    match *q_value {
        None if !statistic.is_summary() => return Some(Shortfall::FewVisits),
        None if is_doubtful() => return Some(Shortfall::Doubtful),
        Some(q_value) if q_value > criteria.error_rate || gain.low.is_none_or(|low| low <= 1.0) => {
            return Some(Shortfall::NotSignificant);
        }
        _ => {}
    }
    // The test does not cover effects that last for a whole launch, such as the address of a communicator.
    if point.basis.least_launch_gain().is_none_or(|least| least <= 1.0) {
        return Some(Shortfall::NotInEveryLaunch);
    }
    stalls.filter(|_| !criteria.accept_stalls).map(Shortfall::Stalls)
}

/// Returns true if the clock can resolve the difference to the builtin.
pub(crate) fn resolved(time: &Estimate, gain: &Estimate, criteria: Criteria) -> bool {
    time.point * (gain.point - 1.0) > RESOLVED_STEPS * criteria.clock_step.0
}

/// Returns true if a candidate without a significant gain costs at most this share.
///
/// Its possible loss against the builtin has to be within the bound: the lower end of its interval. Without an interval
/// the loss has no bound, so no launch and no neighbour may show one.
pub(crate) fn is_harmless(point: &JudgedPoint, max_regret: f64) -> bool {
    let Some(gain) = point.finding.gain.filter(|_| point.basis.every_launch && !point.risk) else { return false };
    match gain.low {
        Some(low) => low >= 1.0 / (1.0 + max_regret),
        None => {
            point.cautious.is_some_and(|gain| gain >= 1.0)
                && point.basis.least_launch_gain().is_some_and(|least| least >= 1.0)
        }
    }
}

/// Changes the cells of each collective and communicator size, and decides again. Cells are ordered by these.
pub(crate) fn decide_again(cells: &mut [JudgedCell], criteria: Criteria, mut change: impl FnMut(&mut [JudgedCell])) {
    for block in cells.chunk_by_mut(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        change(block);
        let mut cells_won: HashMap<Candidate, usize> = HashMap::new();
        for point in block.iter().flat_map(JudgedCell::qualified) {
            *cells_won.entry(point.candidate).or_default() += 1;
        }
        for cell in block {
            cell.verdict = match cell.pick(&cells_won, criteria) {
                Some((candidate, gain)) => Verdict::Replace { candidate, gain },
                None => Verdict::Keep { why: cell.why_kept() },
            };
        }
    }
}

/// Returns the reason why a candidate must not be chosen for a collective on this number of ranks, if there is one.
fn bar(release: Release, (collective, ranks): Block, candidate: Candidate, assumptions: Assumptions) -> Option<Bar> {
    // Rules of coll/tuned choose nothing else. HAN itself takes care of operations that do not commute.
    let Candidate::Tuned(choice) = candidate else { return None };
    if ranks.0 < 2 {
        return Some(Bar::Alone);
    }
    let algorithm = match registry::algorithm(release, collective, choice.algorithm) {
        Ok(algorithm) => algorithm,
        Err(unknown) => return Some(Bar::Unknown(unknown)),
    };
    if let Some(lacking) = assumptions.lacking(algorithm, choice.segsize) {
        return Some(Bar::Lacking(lacking));
    }
    if !algorithm.admits(ranks) {
        return Some(Bar::Ranks(ranks));
    }
    let mut blocks = all_builtin();
    blocks.set(ranks.0.into(), Some(u64::from(ranks.0) + 1), Steps::constant(choice));
    let mut alone = RuleTable::new();
    alone.set(collective, blocks);
    hazard::check(&alone).into_iter().find(|hazard| !assumptions.accept(hazard)).map(Bar::Hazard)
}

/// Sets the candidates that must not be chosen under these assumptions, and decides again. Nothing is tested again, since bars
/// are the last check. Cells are ordered by collective and communicator size.
fn set_bars(cells: &mut [JudgedCell], release: Release, criteria: Criteria, assumptions: Assumptions) {
    decide_again(cells, criteria, |block| {
        let failures = block.iter().flat_map(|cell| &cell.disqualified).map(|(candidate, _)| *candidate);
        let failed: BTreeSet<Candidate> = failures.collect();
        let mut bars: BTreeMap<Candidate, Option<Bar>> = BTreeMap::new();
        for JudgedCell { cell: Cell { collective, ranks, .. }, points, .. } in block {
            for point in points {
                let candidate = point.finding.candidate;
                // It may fail at other sizes as well, in ways that the grid does not show.
                let failed = failed.contains(&candidate).then_some(Bar::Failed);
                let find = || failed.or_else(|| bar(release, (*collective, *ranks), candidate, assumptions));
                point.set_bar(bars.entry(candidate).or_insert_with(find).clone());
            }
        }
    });
}

/// The cells as judged under the assumptions of these terms.
pub(crate) fn judged_under(cells: &[JudgedCell], terms: &Terms<'_>) -> Vec<JudgedCell> {
    let mut cells = cells.to_vec();
    set_bars(&mut cells, terms.release, terms.criteria, terms.policy.assumptions);
    bar_other_bits(&mut cells, terms.placement, terms);
    cells
}

/// Bars candidates that may change bits that rules must keep. The bits of the default are known if coll/tuned runs it,
/// or if coll/basic runs calls that coll/tuned does not.
fn bar_other_bits(cells: &mut [JudgedCell], placement: &Placement, terms: &Terms<'_>) {
    let Terms { release, criteria, policy: Policy { assumptions, .. }, .. } = *terms;
    let Some(keep) = assumptions.keep_bits else { return };
    let all: Vec<Cell> = cells.iter().map(|cell| cell.cell).collect();
    decide_again(cells, criteria, |block| {
        let Cell { collective, ranks, .. } = block[0].cell;
        let by = placement.find_running(collective, ranks).map(|running| running.by.to_string());
        let usual = by.is_none_or(|by| ["tuned", "basic"].contains(&by.as_str()));
        let unknown = keep == Keep::Default && collective.reduces() && !usual;
        for JudgedCell { cell, points, .. } in block {
            for point in points.iter_mut().filter(|point| point.finding.candidate != Candidate::Builtin) {
                let keeps = assumptions.keeps_bits(release, *cell, point.finding.candidate, &all) && !unknown;
                if !keeps && point.bar.is_none() {
                    point.set_bar(Some(Bar::Lacking(Assumption::OtherBits)));
                }
            }
        }
    });
}

/// Decides again with only the bars of failures, as methods without bars do. Cells are ordered by collective and communicator
/// size.
pub fn lift_bars(cells: &mut [JudgedCell], criteria: Criteria) {
    decide_again(cells, criteria, |block| {
        let points = block.iter_mut().flat_map(|cell| &mut cell.points);
        points.filter(|point| point.bar != Some(Bar::Failed)).for_each(|point| point.set_bar(None));
    });
}

impl JudgedCell {
    /// The point of a candidate, if it was timed.
    pub fn point(&self, candidate: Candidate) -> Option<&PointFinding> {
        self.judged(candidate).map(|point| &point.finding)
    }

    /// Returns the point of a candidate with the basis of its judgement, if it was timed.
    pub(crate) fn judged(&self, candidate: Candidate) -> Option<&JudgedPoint> {
        self.points.iter().find(|point| point.finding.candidate == candidate)
    }

    /// The points that may replace the builtin.
    pub(crate) fn qualified(&self) -> impl Iterator<Item = &PointFinding> {
        self.points.iter().filter(|point| point.shortfall.is_none()).map(|point| &point.finding)
    }

    /// The qualified candidate to choose.
    ///
    /// Candidates whose expected gain does not differ from the largest one are tied with it: the largest lies in their
    /// interval, or, where there is no interval, within the gain threshold. Of the tied ones the one that qualifies at
    /// the most message sizes is chosen, so that neighbouring sizes share a rule, then the one with the smallest
    /// parameters.
    fn pick(&self, cells_won: &HashMap<Candidate, usize>, criteria: Criteria) -> Option<(Candidate, Estimate)> {
        let qualified =
            || self.qualified().filter_map(|finding| Some((finding.candidate, finding.gain?, finding.expected?)));
        let best = qualified().map(|(.., expected)| expected).max_by(f64::total_cmp)?;
        let tied = |gain: &Estimate, expected: f64| {
            // Without noise the interval is a point, and the expected gain may exceed it by a rounding error.
            gain.high.unwrap_or(expected * (1.0 + criteria.min_gain)).max(expected) >= best
        };
        let popular = |candidate| cells_won.get(&candidate).copied().unwrap_or(0);
        qualified()
            .filter(|(_, gain, expected)| tied(gain, *expected))
            .max_by_key(|(candidate, ..)| (popular(*candidate), Reverse(candidate.choice().map(complexity))))
            .map(|(candidate, gain, _)| (candidate, gain))
    }

    /// Returns the reason why the builtin stays: the shortfall of the candidate that was nearest to replacing it.
    fn why_kept(&self) -> KeepReason {
        if self.disqualified.iter().any(|(candidate, _)| *candidate == Candidate::Builtin) {
            return KeepReason::DefaultFailed;
        }
        if self.point(Candidate::Builtin).is_none() {
            return KeepReason::DefaultNotTimed;
        }
        let others = self.points.iter().filter(|point| point.finding.candidate != Candidate::Builtin);
        let nearest = others.filter_map(|point| point.shortfall.as_ref()).max_by_key(|shortfall| nearness(shortfall));
        nearest.map_or(KeepReason::NothingTimed, |nearest| KeepReason::Nearest(nearest.clone()))
    }
}

fn nearness(shortfall: &Shortfall) -> u8 {
    match shortfall {
        Shortfall::NoGain => 0,
        Shortfall::NotFaster => 1,
        Shortfall::SmallGain => 2,
        Shortfall::Unresolved => 3,
        Shortfall::NotTimedInEveryLaunch => 4,
        Shortfall::FewVisits => 5,
        Shortfall::Doubtful => 6,
        Shortfall::NotSignificant => 7,
        Shortfall::NotInEveryLaunch => 8,
        Shortfall::Stalls(_) => 9,
        Shortfall::Risk(_) => 10,
        Shortfall::Barred(_) => 11,
    }
}

/// Orders choices from plain to elaborate: unsegmented before segmented, then by the other parameters, then by id.
pub(crate) fn complexity(choice: Choice) -> (u64, u32, u32, u32) {
    (choice.segsize, choice.faninout, choice.max_requests, choice.algorithm)
}
