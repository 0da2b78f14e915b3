//! Estimate of a method's worth: it decides on some launches and is judged by the others.
//!
//! Includes the candidates that were timed on both sides, and the cells in which these are the builtin and at least one
//! more. A time is the median over the launches of a side, each launch being the median of its timings. Unsafe choices
//! are allowed: the question is the worth of the timings.

mod methods;
mod times;

use std::collections::BTreeMap;

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{Criteria, Verdict};
use collrules_record::policy::Assumptions;
use collrules_record::{Candidate, Cell};
use collrules_rules::Release;

use crate::analysis::check;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::verdict::{judge, lift_bars};
use crate::view::Competitors;
use methods::{Method, smooth};
use times::{PointSeconds, times};

/// A choice counts as slower than the builtin if it takes more than this multiple of its time.
const SLOWER: f64 = 1.05;

/// Results of each method.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The launches for decisions.
    pub train: Vec<u32>,
    /// The launches for judgement.
    pub test: Vec<u32>,
    /// The number of cells.
    pub cells: usize,
    /// Simple methods first, then that of collrules.
    pub scores: Vec<ReplayScore>,
    /// Speedup that collrules predicts, corrected for the selection of the best, over the cells that it changes.
    pub promised: Option<f64>,
    /// Speedup of collrules in the launches for judgement, over these cells.
    pub kept: Option<f64>,
}

/// Result of a method on the launches for judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayScore {
    /// The method, in words.
    pub method: String,
    /// Over all cells.
    pub total: ReplayTotal,
}

/// Figures over some cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayTotal {
    /// The number of cells.
    pub cells: usize,
    /// Builtin time over the time of the choice, geometric mean; 1 if the builtin stays.
    pub speedup: f64,
    /// The share of cells in which the choice takes more than 1.05 times as long as the builtin.
    pub slower: f64,
    /// Time of the choice over the time of the best candidate, geometric mean, less 1.
    pub regret: f64,
    /// Rules that the choices need: ranges of neighbouring message sizes, per communicator size, that share a choice
    /// other than the builtin.
    pub rules: usize,
    /// Like `rules`, with the ranges of the builtin.
    pub ranges: usize,
}

/// Decides on the launches `train` and judges by the launches `test`, which must not share any.
pub fn replay(
    observations: &Observations,
    train: &[u32],
    test: &[u32],
    release: Release,
    criteria: Criteria,
) -> Result<Replay, TunerError> {
    check(criteria)?;
    if let Some(launch) = train.iter().find(|launch| test.contains(launch)) {
        return Err(TunerError::Launches(format!("launch {launch} is on both sides")));
    }
    let side = |launches: &[u32]| {
        let side = observations.of_launches(launches)?;
        if side.is_empty() {
            let list = launches.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            return Err(TunerError::Launches(format!("there are no timings of launch {list}")));
        }
        Ok(side)
    };
    let (known, unseen) = (side(train)?, side(test)?);
    let statistic = known.statistic();
    let known_cells = known.cells_with(Competitors::default())?;
    let (before, after) = (times(&known_cells), times(&unseen.cells_with(Competitors::default())?));
    let mut judged = judge(known_cells, statistic, release, criteria, Assumptions::default());
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
    let mut scores: Vec<ReplayScore> = Method::LADDER
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
    Ok(Replay { train: train.to_vec(), test: test.to_vec(), cells: pairs.len(), scores, promised, kept })
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

fn score(method: String, pairs: &[CellPair], choose: impl Fn(&CellPair) -> Candidate) -> ReplayScore {
    let choices: Vec<(&CellPair, Candidate)> = pairs.iter().map(|pair| (pair, choose(pair))).collect();
    ReplayScore { method, total: total(&choices) }
}

fn total(choices: &[(&CellPair, Candidate)]) -> ReplayTotal {
    let gains = || choices.iter().map(|(pair, choice)| pair.gain(*choice));
    let slower = gains().filter(|gain| *gain < 1.0 / SLOWER).count();
    let regrets = choices.iter().map(|(pair, choice)| {
        let best = pair.after.values().copied().fold(f64::INFINITY, f64::min);
        pair.after[choice] / best
    });
    let ranges = choices.chunk_by(|(a, chosen), (b, next)| {
        (a.cell.collective, a.cell.ranks, *chosen) == (b.cell.collective, b.cell.ranks, *next)
    });
    ReplayTotal {
        cells: choices.len(),
        speedup: geometric_mean(gains()).unwrap_or(1.0),
        slower: slower as f64 / choices.len().max(1) as f64,
        regret: geometric_mean(regrets).unwrap_or(1.0) - 1.0,
        rules: ranges.clone().filter(|range| range[0].1 != Candidate::Builtin).count(),
        ranges: ranges.count(),
    }
}
