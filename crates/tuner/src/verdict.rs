//! From evidence to a verdict per cell.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use collrules_record::estimate::Estimate;
use collrules_record::findings::{Criteria, PointFinding, Stalling, Statistic, Verdict};
use collrules_record::policy::Assumptions;
use collrules_record::{Arrangement, Candidate, Cell};
use collrules_rules::{Choice, Release};

use crate::bars::{Bar, bar};
use crate::cells::CellTimings;
use crate::evidence::{Basis, Evidence, LEAST_VISITS, weigh};
use crate::launches::widen;
use crate::neighbours::{Belief, beliefs};
use crate::statistics::adjust;

/// A reading of the clock is off by up to a step at either end of a call.
const RESOLVED_STEPS: f64 = 2.0;

/// What keeps a candidate from replacing the builtin, in the order in which it is asked: a later one is nearer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shortfall {
    /// It is the builtin, or the two were never timed side by side.
    NoGain,
    /// The builtin is at least as fast.
    NotFaster,
    /// The gain is below the threshold.
    SmallGain,
    /// The times differ by no more than the clock can tell.
    Unresolved,
    /// In one of the launches in which the builtin was timed it was not, such as after it was dropped.
    NotTimedInEveryLaunch,
    /// Single calls, and too few of them for a test.
    FewVisits,
    /// No test is possible, and single values together with their neighbours' gain too little to do without.
    Doubtful,
    /// The test or the interval allows that there is no gain.
    NotSignificant,
    /// In one of the launches it is not faster.
    NotInEveryLaunch,
    /// Rare slow calls make it slower on average.
    Stalls(Stalling),
    /// Nothing shows that it does no harm where the ranks are like that.
    Risk(Arrangement),
    /// It must not be chosen.
    Barred(Bar),
}

/// A point with what keeps it from replacing the builtin, if anything does.
#[derive(Clone, Debug)]
pub(crate) struct JudgedPoint {
    pub(crate) finding: PointFinding,
    pub(crate) shortfall: Option<Shortfall>,
    pub(crate) basis: Basis,
    /// The gain that neighbours leave of its own; missing where there is no gain.
    pub(crate) cautious: Option<f64>,
    /// What forbids to choose it, however fast it is.
    pub(crate) bar: Option<Bar>,
    /// Whether it may be slower than the builtin in one of several layouts, as far as anybody knows.
    pub(crate) risk: bool,
}

/// A cell with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct JudgedCell {
    pub(crate) cell: Cell,
    /// The builtin first, if it was timed, then by candidate.
    pub(crate) points: Vec<JudgedPoint>,
    pub(crate) disqualified: Vec<(Candidate, String)>,
    pub(crate) verdict: Verdict,
}

/// Judges all cells, which are ordered by collective and communicator size.
///
/// The q values take every test of the analysis into account, those of candidates that are not chosen in the end too.
pub(crate) fn judge(
    cells: Vec<CellTimings>,
    statistic: Statistic,
    release: Release,
    criteria: Criteria,
    assumptions: Assumptions,
) -> Vec<JudgedCell> {
    let places: Vec<Cell> = cells.iter().map(|cell| cell.cell).collect();
    let mut evidence: Vec<Vec<Evidence>> = cells.iter().map(|cell| weigh(cell, statistic, criteria)).collect();
    widen(&places, &mut evidence);
    let p_values: Vec<f64> = evidence.iter().flatten().filter_map(|evidence| evidence.p_value).collect();
    let mut q_values = adjust(&p_values).into_iter();
    let beliefs = beliefs(&places, &evidence, statistic);
    let mut evidence = evidence.into_iter().zip(beliefs);
    let mut judged = Vec::with_capacity(cells.len());
    for block in cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        let failures = block.iter().flat_map(|cell| &cell.disqualified).map(|(candidate, _)| *candidate);
        let failed: BTreeSet<Candidate> = failures.collect();
        let mut bars: BTreeMap<Candidate, Option<Bar>> = BTreeMap::new();
        for cell in block {
            let Cell { collective, ranks, .. } = cell.cell;
            let mut judge_point = |(evidence, belief): (Evidence, Option<Belief>)| {
                let q_value = evidence.p_value.and_then(|_| q_values.next());
                let bar = bars
                    .entry(evidence.candidate)
                    .or_insert_with(|| bar(release, collective, ranks, evidence.candidate, &failed, assumptions));
                let shortfall = shortfall(&evidence, q_value, belief, bar.as_ref(), statistic, criteria);
                let (finding, basis) = evidence.into_finding(q_value, belief);
                let cautious = belief.map(|belief| belief.cautious);
                JudgedPoint { finding, shortfall, basis, cautious, bar: bar.clone(), risk: false }
            };
            let (evidence, beliefs) = evidence.next().unwrap_or_default();
            let points = evidence.into_iter().zip(beliefs).map(&mut judge_point).collect();
            let verdict = Verdict::Keep { why: String::new() };
            judged.push(JudgedCell { cell: cell.cell, points, disqualified: cell.disqualified.clone(), verdict });
        }
        let start = judged.len() - block.len();
        decide(&mut judged[start..], criteria);
    }
    judged
}

impl Evidence {
    fn into_finding(self, q_value: Option<f64>, belief: Option<Belief>) -> (PointFinding, Basis) {
        let Self { candidate, time, gain, p_value, stalls, basis } = self;
        let expected = belief.map(|belief| belief.expected);
        (PointFinding { candidate, time, gain, expected, p_value, q_value, stalls }, basis)
    }
}

/// What keeps a candidate from replacing the builtin.
///
/// It has to be timed in every launch in which the builtin was: a launch without it might have spoken against it.
/// With a test: q within the error rate, the gain at the threshold, its interval above 1, some gain in every launch. A
/// table of averages without enough launches for a test can convince by a large gain that its neighbours share, and by
/// some gain in each of its launches; single calls, which scatter far more, cannot.
fn shortfall(
    evidence: &Evidence,
    q_value: Option<f64>,
    belief: Option<Belief>,
    bar: Option<&Bar>,
    statistic: Statistic,
    criteria: Criteria,
) -> Option<Shortfall> {
    let Some(gain) = evidence.gain else { return Some(Shortfall::NoGain) };
    if gain.point <= 1.0 {
        return Some(Shortfall::NotFaster);
    }
    if gain.point < 1.0 + criteria.min_gain {
        return Some(Shortfall::SmallGain);
    }
    if !resolved(&evidence.time, &gain, criteria) {
        return Some(Shortfall::Unresolved);
    }
    if !evidence.basis.every_launch {
        return Some(Shortfall::NotTimedInEveryLaunch);
    }
    let least_launch_gain = evidence.basis.least_launch_gain();
    match (q_value, statistic) {
        (None, Statistic::RankMaximum) => return Some(Shortfall::FewVisits),
        (None, Statistic::RankAverage | Statistic::SlowestRankSummary) => {
            if !belief.is_some_and(|belief| belief.cautious >= 1.0 + criteria.untested_gain) {
                return Some(Shortfall::Doubtful);
            }
            if least_launch_gain.is_none_or(|least| least <= 1.0) {
                return Some(Shortfall::NotInEveryLaunch);
            }
        }
        (Some(q_value), _) => {
            if q_value > criteria.error_rate || gain.low.is_none_or(|low| low <= 1.0) {
                return Some(Shortfall::NotSignificant);
            }
            // What stays the same through a launch, such as where a communicator's memory lies, is beyond the test.
            if least_launch_gain.is_none_or(|least| least <= 1.0) {
                return Some(Shortfall::NotInEveryLaunch);
            }
        }
    }
    if let Some(stalls) = evidence.stalls.filter(|_| !criteria.accept_stalls) {
        return Some(Shortfall::Stalls(stalls));
    }
    bar.cloned().map(Shortfall::Barred)
}

/// Whether the clock can tell how much less time a candidate takes than the builtin.
pub(crate) fn resolved(time: &Estimate, gain: &Estimate, criteria: Criteria) -> bool {
    time.point * (gain.point - 1.0) > RESOLVED_STEPS * criteria.clock_step.0
}

/// Whether a candidate that was not shown to be better costs at most this share.
///
/// What it might lose against the builtin has to be within the bound: the lower end of its interval. Without an interval
/// nothing bounds the loss, so that no launch may speak against it at all, and its neighbours may not either.
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

/// Gives each cell of one collective and one communicator size its verdict.
pub(crate) fn decide(block: &mut [JudgedCell], criteria: Criteria) {
    let mut cells_won: HashMap<Candidate, usize> = HashMap::new();
    for point in block.iter().flat_map(JudgedCell::qualified) {
        *cells_won.entry(point.candidate).or_default() += 1;
    }
    for cell in block {
        cell.verdict = match cell.pick(&cells_won, criteria) {
            Some((candidate, gain)) => Verdict::Replace { candidate, gain },
            None => Verdict::Keep { why: cell.why_kept(criteria) },
        };
    }
}

/// The same cells judged under other assumptions: nothing is measured or tested again, since a bar is the last thing that
/// is asked for.
pub(crate) fn judged_under(
    cells: &[JudgedCell],
    release: Release,
    criteria: Criteria,
    assumptions: Assumptions,
) -> Vec<JudgedCell> {
    let mut cells = cells.to_vec();
    for block in cells.chunk_by_mut(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        let failures = block.iter().flat_map(|cell| &cell.disqualified).map(|(candidate, _)| *candidate);
        let failed: BTreeSet<Candidate> = failures.collect();
        for cell in block.iter_mut() {
            for point in &mut cell.points {
                let (collective, ranks) = (cell.cell.collective, cell.cell.ranks);
                point.bar = bar(release, collective, ranks, point.finding.candidate, &failed, assumptions);
                if matches!(point.shortfall, None | Some(Shortfall::Barred(_))) {
                    point.shortfall = point.bar.clone().map(Shortfall::Barred);
                }
            }
        }
        decide(block, criteria);
    }
    cells
}

/// Decides again as if nothing were barred but what failed. Cells are ordered by collective and communicator size.
pub(crate) fn lift_bars(cells: &mut [JudgedCell], criteria: Criteria) {
    for block in cells.chunk_by_mut(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        for point in block.iter_mut().flat_map(|cell| &mut cell.points) {
            if matches!(&point.shortfall, Some(Shortfall::Barred(bar)) if *bar != Bar::Failed) {
                point.shortfall = None;
            }
        }
        decide(block, criteria);
    }
}

impl JudgedCell {
    /// The point of a candidate, if it was timed.
    pub(crate) fn point(&self, candidate: Candidate) -> Option<&PointFinding> {
        self.judged(candidate).map(|point| &point.finding)
    }

    /// The same, with what it rests on.
    pub(crate) fn judged(&self, candidate: Candidate) -> Option<&JudgedPoint> {
        self.points.iter().find(|point| point.finding.candidate == candidate)
    }

    /// The points that may replace the builtin.
    pub(crate) fn qualified(&self) -> impl Iterator<Item = &PointFinding> {
        self.points.iter().filter(|point| point.shortfall.is_none()).map(|point| &point.finding)
    }

    /// What the verdict asks for.
    pub(crate) fn wanted(&self) -> Candidate {
        match &self.verdict {
            Verdict::Replace { candidate, .. } => *candidate,
            Verdict::Keep { .. } => Candidate::Builtin,
        }
    }

    /// The qualified candidate to choose.
    ///
    /// Candidates whose expected gain cannot be told from the largest one are tied with it: the largest lies in their
    /// interval, or, where there is no interval, within the gain threshold. Of the tied ones the one that qualifies at the most
    /// message sizes is chosen, so that neighbouring sizes share a rule, then the one with the smallest parameters.
    fn pick(&self, cells_won: &HashMap<Candidate, usize>, criteria: Criteria) -> Option<(Candidate, Estimate)> {
        let qualified =
            || self.qualified().filter_map(|finding| Some((finding.candidate, finding.gain?, finding.expected?)));
        let best = qualified().map(|(.., expected)| expected).max_by(f64::total_cmp)?;
        let tied = |gain: &Estimate, expected: f64| {
            // Without noise the interval is a point, and the expectation may lie a rounding error beyond it.
            gain.high.unwrap_or(expected * (1.0 + criteria.min_gain)).max(expected) >= best
        };
        let popular = |candidate| cells_won.get(&candidate).copied().unwrap_or(0);
        qualified()
            .filter(|(_, gain, expected)| tied(gain, *expected))
            .max_by_key(|(candidate, ..)| (popular(*candidate), Reverse(candidate.choice().map(complexity))))
            .map(|(candidate, gain, _)| (candidate, gain))
    }

    /// Why the builtin stays: what kept the candidate that came nearest.
    fn why_kept(&self, criteria: Criteria) -> String {
        if self.disqualified.iter().any(|(candidate, _)| *candidate == Candidate::Builtin) {
            return "the builtin itself failed".to_owned();
        }
        if self.point(Candidate::Builtin).is_none() {
            return "the builtin was not timed".to_owned();
        }
        let others = self.points.iter().filter(|point| point.finding.candidate != Candidate::Builtin);
        let nearest = others.filter_map(|point| point.shortfall.as_ref()).max_by_key(|shortfall| shortfall.nearness());
        match nearest {
            None => "no candidate was timed".to_owned(),
            Some(Shortfall::NoGain) => "no candidate was timed side by side with the builtin".to_owned(),
            Some(Shortfall::NotFaster) => "no candidate is faster".to_owned(),
            Some(Shortfall::SmallGain) => format!("faster by less than {}", percent(criteria.min_gain)),
            Some(Shortfall::Unresolved) => "faster by less than the clock can tell".to_owned(),
            Some(Shortfall::NotTimedInEveryLaunch) => "not timed in every launch".to_owned(),
            Some(Shortfall::FewVisits) => format!("timed in fewer than {LEAST_VISITS} visits"),
            Some(Shortfall::Doubtful) => {
                format!("faster by less than {} together with neighbouring sizes", percent(criteria.untested_gain))
            }
            Some(Shortfall::NotSignificant) => "not significant".to_owned(),
            Some(Shortfall::NotInEveryLaunch) => "not faster in every launch".to_owned(),
            Some(Shortfall::Stalls(stalls)) => format!("the faster candidate stalls: {}", told(stalls)),
            Some(Shortfall::Risk(on)) => format!("nothing shows that the faster candidate does no harm on {on}"),
            Some(Shortfall::Barred(bar)) => format!("the faster candidate must not be chosen: {bar}"),
        }
    }
}

impl Shortfall {
    /// Whether only a failure keeps the candidate from replacing the builtin.
    pub(crate) fn is_failure(&self) -> bool {
        *self == Self::Barred(Bar::Failed)
    }

    fn nearness(&self) -> u8 {
        match self {
            Self::NoGain => 0,
            Self::NotFaster => 1,
            Self::SmallGain => 2,
            Self::Unresolved => 3,
            Self::NotTimedInEveryLaunch => 4,
            Self::FewVisits => 5,
            Self::Doubtful => 6,
            Self::NotSignificant => 7,
            Self::NotInEveryLaunch => 8,
            Self::Stalls(_) => 9,
            Self::Risk(_) => 10,
            Self::Barred(_) => 11,
        }
    }
}

/// What rare slow calls come to.
pub(crate) fn told(stalls: &Stalling) -> String {
    let Stalling { beyond, slow, calls, builtin_slow, builtin_calls, mean_ratio } = stalls;
    format!(
        "{slow} of {calls} calls take more than {beyond}, against {builtin_slow} of {builtin_calls} of the builtin, so that its \
         mean is {mean_ratio:.2} times as long"
    )
}

/// Orders choices from plain to elaborate: unsegmented before segmented, then by the other parameters, then by id.
pub(crate) fn complexity(choice: Choice) -> (u64, u32, u32, u32) {
    (choice.segsize, choice.faninout, choice.max_requests, choice.algorithm)
}

/// A share as `3%`, with as many digits as it has.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", (share * 1e10).round() / 1e8)
}
