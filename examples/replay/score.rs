//! Estimate of a method's worth: it decides on some launches and is judged by the others.
//!
//! Includes the candidates that were timed on both sides, and the cells in which these are the builtin and at least one
//! more. A time is the median over the launches of a side, each launch being the median of its timings. Unsafe choices
//! are allowed: the question is the worth of the timings.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use collrules_record::criteria::Criteria;
use collrules_record::estimate::{geometric_mean, median};
use collrules_record::findings::Verdict;
use collrules_record::policy::Assumptions;
use collrules_record::{Candidate, Cell};
use collrules_rules::Release;
use collrules_tuner::Observations;
use collrules_tuner::judging::{CellTimings, Competitors, GainSite, PointTimings, adjust, around, judge, lift_bars};

/// A choice counts as slower than the builtin if it takes more than this multiple of its time.
const SLOWER: f64 = 1.05;

/// Results of each method.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// The number of cells.
    cells: usize,
    /// Simple methods first, then that of collrules.
    pub(crate) scores: Vec<Score>,
    /// Speedup that collrules predicts, corrected for the selection of the best, over the cells that it changes.
    pub(crate) promised: Option<f64>,
    /// Speedup of collrules in the launches for judgement, over these cells.
    pub(crate) kept: Option<f64>,
}

/// Result of a method on the launches for judgement, over all cells.
#[derive(Clone, Debug)]
pub(crate) struct Score {
    /// The method, in words.
    pub(crate) method: String,
    /// Builtin time over the time of the choice, geometric mean; 1 if the builtin stays.
    pub(crate) speedup: f64,
    /// The share of cells in which the choice takes more than 1.05 times as long as the builtin.
    pub(crate) slower: f64,
    /// Time of the choice over the time of the best candidate, geometric mean, less 1.
    regret: f64,
    /// Rules that the choices need: ranges of neighbouring message sizes, per communicator size, that share a choice
    /// other than the builtin.
    rules: usize,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} cells.", self.cells)?;
        writeln!(f, "{:<24} {:>8} {:>12} {:>8} {:>6}", "method", "speedup", "slower", "regret", "rules")?;
        for Score { method, speedup, slower, regret, rules } in &self.scores {
            let (slower, regret) = (100.0 * slower, 100.0 * regret);
            writeln!(f, "{method:<24} {speedup:>7.4}x {slower:>10.2} % {regret:>6.2} % {rules:>6}")?;
        }
        if let (Some(promised), Some(kept)) = (self.promised, self.kept) {
            writeln!(f, "Where the default is replaced, {promised:.3}x was expected and {kept:.3}x found.")?;
        }
        Ok(())
    }
}

/// Decides on the launches `train` and judges by the launches `test`, which must not share any.
pub(crate) fn replay(
    observations: &Observations,
    train: &[u32],
    test: &[u32],
    release: Release,
    criteria: Criteria,
) -> Result<Replay, Box<dyn Error>> {
    if let Some(launch) = train.iter().find(|launch| test.contains(launch)) {
        return Err(refuse(&format!("launch {launch} is on both sides")));
    }
    let side = |launches: &[u32]| {
        let side = observations.of_launches(|launch| launches.contains(&launch));
        if side.is_empty() {
            let list = launches.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            return Err(refuse(&format!("there are no timings of launch {list}")));
        }
        Ok(side)
    };
    let (known, unseen) = (side(train)?, side(test)?);
    let statistic = known.statistic();
    let known_cells = known.cells_with(Competitors::Candidates);
    let (before, after) = (times(&known_cells), times(&unseen.cells_with(Competitors::Candidates)));
    let mut judged = judge(known_cells, statistic, release, criteria, Assumptions::default(), |p| adjust(p.concat()));
    lift_bars(&mut judged, criteria);
    let mut ours = BTreeMap::new();
    let mut promises = BTreeMap::new();
    for cell in &judged {
        if let Verdict::Replace { candidate, gain } = &cell.verdict {
            ours.insert(cell.cell, *candidate);
            let expected = cell.point(*candidate).and_then(|finding| finding.expected);
            promises.insert(cell.cell, expected.unwrap_or(gain.point));
        }
    }
    let pairs = pairs(&before, &after);
    let smooth = smooth(&before);
    let mut scores: Vec<Score> = Method::LADDER
        .iter()
        .map(|method| score(method.to_string(), &pairs, |pair| method.choose(pair.cell, &pair.before, &smooth)))
        .collect();
    let our_choice = |pair: &CellPair| {
        ours.get(&pair.cell).copied().filter(|it| pair.after.contains_key(it)).unwrap_or(Candidate::Builtin)
    };
    scores.push(score("collrules".to_owned(), &pairs, our_choice));
    let changed = || pairs.iter().filter(|pair| our_choice(pair) != Candidate::Builtin);
    let promised = geometric_mean(changed().filter_map(|pair| promises.get(&pair.cell)).copied());
    let kept = geometric_mean(changed().map(|pair| pair.gain(our_choice(pair))));
    Ok(Replay { cells: pairs.len(), scores, promised, kept })
}

fn refuse(why: &str) -> Box<dyn Error> {
    format!("the launches cannot be replayed: {why}").into()
}

/// Seconds by cell and candidate.
type PointSeconds = BTreeMap<Cell, BTreeMap<Candidate, f64>>;

/// The median over launches of the median of each.
fn times(cells: &[CellTimings]) -> PointSeconds {
    let point = |series: &PointTimings| {
        let mut medians: Vec<f64> = series.launch_medians().into_values().collect();
        Some((series.candidate, median(&mut medians)?))
    };
    cells.iter().map(|cell| (cell.cell, cell.series.iter().filter_map(point).collect())).collect()
}

/// A cell with the candidates that were timed on both sides.
struct CellPair {
    cell: Cell,
    before: BTreeMap<Candidate, f64>,
    after: BTreeMap<Candidate, f64>,
}

impl CellPair {
    /// Builtin time over the time of a candidate, in the launches for judgement.
    fn gain(&self, choice: Candidate) -> f64 {
        self.after[&Candidate::Builtin] / self.after[&choice]
    }
}

fn pairs(before: &PointSeconds, after: &PointSeconds) -> Vec<CellPair> {
    let pair = |(cell, before): (&Cell, &BTreeMap<Candidate, f64>)| {
        let after = after.get(cell)?;
        let both = |side: &BTreeMap<Candidate, f64>| -> BTreeMap<Candidate, f64> {
            let shared = side.iter().filter(|(it, _)| before.contains_key(it) && after.contains_key(it));
            shared.map(|(it, seconds)| (*it, *seconds)).collect()
        };
        let pair = CellPair { cell: *cell, before: both(before), after: both(after) };
        (pair.before.contains_key(&Candidate::Builtin) && pair.before.len() >= 2).then_some(pair)
    };
    before.iter().filter_map(pair).collect()
}

fn score(method: String, pairs: &[CellPair], choose: impl Fn(&CellPair) -> Candidate) -> Score {
    let choices: Vec<(&CellPair, Candidate)> = pairs.iter().map(|pair| (pair, choose(pair))).collect();
    let gains = || choices.iter().map(|(pair, choice)| pair.gain(*choice));
    let slower = gains().filter(|gain| *gain < 1.0 / SLOWER).count();
    let regrets = choices.iter().map(|(pair, choice)| {
        let best = pair.after.values().copied().fold(f64::INFINITY, f64::min);
        pair.after[choice] / best
    });
    let ranges = choices.chunk_by(|(a, chosen), (b, next)| {
        (a.cell.collective, a.cell.ranks, *chosen) == (b.cell.collective, b.cell.ranks, *next)
    });
    Score {
        method,
        speedup: geometric_mean(gains()).unwrap_or(1.0),
        slower: slower as f64 / choices.len().max(1) as f64,
        regret: geometric_mean(regrets).unwrap_or(1.0) - 1.0,
        rules: ranges.filter(|range| range[0].1 != Candidate::Builtin).count(),
    }
}

/// A method that chooses by times alone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// The fastest candidate other than the builtin, as the predecessor chooses.
    FastestOther,
    /// The fastest, including the builtin.
    Fastest,
    /// The fastest if its gain over the builtin exceeds this share, such as 0.15.
    Margin(f64),
    /// The fastest of those whose gain is that large, and also in the mean with their neighbours': half of it their own,
    /// a quarter each that of neighbouring message sizes and communicator sizes.
    Smooth(f64),
}

/// For each candidate, the smaller of its own log gain and its mean with its neighbours'.
type Smooth = BTreeMap<(Cell, Candidate), f64>;

/// Computes these logarithms for all points of a side. If there are no neighbours in a direction, the others count for
/// more.
fn smooth(times: &PointSeconds) -> Smooth {
    let mut sites = Vec::new();
    for (cell, seconds) in times {
        let Some(builtin) = seconds.get(&Candidate::Builtin) else { continue };
        let others = seconds.iter().filter(|(candidate, _)| **candidate != Candidate::Builtin);
        sites.extend(others.map(|(candidate, seconds)| GainSite {
            cell: *cell,
            candidate: *candidate,
            log_gain: (builtin / seconds).ln(),
        }));
    }
    let beside = around(&sites, |cell| (cell.ranks.0.into(), cell.bytes.0))
        .into_iter()
        .zip(around(&sites, |cell| (cell.bytes.0, cell.ranks.0.into())));
    let gain = |(site, (bytes, ranks)): (&GainSite, (Option<f64>, Option<f64>))| {
        let (mut sum, mut weight) = (0.5 * site.log_gain, 0.5);
        for near in [bytes, ranks].into_iter().flatten() {
            sum += 0.25 * near;
            weight += 0.25;
        }
        ((site.cell, site.candidate), site.log_gain.min(sum / weight))
    };
    sites.iter().zip(beside).map(gain).collect()
}

impl Method {
    /// From the boldest to the most cautious.
    const LADDER: [Self; 18] = [
        Self::FastestOther,
        Self::Fastest,
        Self::Margin(0.03),
        Self::Margin(0.05),
        Self::Margin(0.10),
        Self::Margin(0.15),
        Self::Margin(0.20),
        Self::Margin(0.30),
        Self::Margin(0.50),
        Self::Margin(1.00),
        Self::Smooth(0.03),
        Self::Smooth(0.05),
        Self::Smooth(0.08),
        Self::Smooth(0.10),
        Self::Smooth(0.12),
        Self::Smooth(0.15),
        Self::Smooth(0.20),
        Self::Smooth(0.30),
    ];

    /// Chooses for a cell by seconds, given the builtin and at least one other candidate.
    fn choose(self, cell: Cell, seconds: &BTreeMap<Candidate, f64>, smooth: &Smooth) -> Candidate {
        let builtin = seconds[&Candidate::Builtin];
        let stands = |candidate: &Candidate| match self {
            Self::Smooth(gain) => smooth.get(&(cell, *candidate)).is_some_and(|own| *own >= (1.0 + gain).ln()),
            _ => *candidate != Candidate::Builtin,
        };
        let others = seconds.iter().filter(|(candidate, _)| stands(candidate));
        let Some((fastest, time)) = others.min_by(|a, b| a.1.total_cmp(b.1)) else { return Candidate::Builtin };
        let replaces = match self {
            Self::FastestOther | Self::Smooth(_) => true,
            Self::Fastest => *time < builtin,
            Self::Margin(margin) => builtin >= time * (1.0 + margin),
        };
        if replaces { *fastest } else { Candidate::Builtin }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FastestOther => f.write_str("fastest but the default"),
            Self::Fastest => f.write_str("fastest"),
            Self::Margin(margin) => write!(f, "fastest if by {:.0} %", margin * 100.0),
            Self::Smooth(gain) => write!(f, "smooth gain of {:.0} %", gain * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::{Choice, Collective};

    use super::*;

    fn cell(ranks: u32, bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    #[test]
    fn each_method_chooses_by_its_rule() {
        let (slow, fast) = (Candidate::from_choice(Choice::plain(1)), Candidate::from_choice(Choice::plain(2)));
        let times = |builtin| BTreeMap::from([(Candidate::Builtin, builtin), (slow, 3.0), (fast, 1.0)]);
        for (method, builtin, expected) in [
            (Method::FastestOther, 0.5, fast),
            (Method::Fastest, 0.5, Candidate::Builtin),
            (Method::Fastest, 1.0, Candidate::Builtin),
            (Method::Fastest, 1.01, fast),
            (Method::Margin(0.5), 1.4, Candidate::Builtin),
            (Method::Margin(0.5), 1.5, fast),
        ] {
            assert_eq!(method.choose(cell(4, 8), &times(builtin), &Smooth::new()), expected, "{method} with {builtin}");
        }
    }
    /// A candidate twice as fast in one cell: log gains of 4 own halves, 0 at both message sizes, 2 at one communicator
    /// size make 4/2 + 0/4 + 2/4 quarters of ln 2.
    #[test]
    fn a_smooth_gain_is_that_of_neighbours_too() {
        let fast = Candidate::from_choice(Choice::plain(1));
        let at = |gain: f64| BTreeMap::from([(Candidate::Builtin, gain), (fast, 1.0)]);
        let times = PointSeconds::from([
            (cell(4, 4), at(1.0)),
            (cell(4, 8), at(16.0)),
            (cell(4, 16), at(1.0)),
            (cell(8, 8), at(4.0)),
            (cell(16, 2), at(3.0)),
        ]);
        let smooth = smooth(&times);
        assert!((smooth[&(cell(4, 8), fast)] - 2.5 * 2f64.ln()).abs() < 1e-12, "{smooth:?}");
        assert!((smooth[&(cell(8, 8), fast)] - 2.0 * 2f64.ln()).abs() < 1e-12, "its own is the smaller one");
        assert!((smooth[&(cell(16, 2), fast)] - 3f64.ln()).abs() < 1e-12, "no neighbours");
        let chosen = |gain| Method::Smooth(gain).choose(cell(4, 8), &times[&cell(4, 8)], &smooth);
        assert_eq!((chosen(4.6), chosen(4.7)), (fast, Candidate::Builtin));
    }
}
