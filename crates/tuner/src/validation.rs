//! Comparison of pairs of launches, one without a rules file and one with it.
//!
//! The launch is the unit of replication: the medians, or means, of a cell in the two launches of a pair are compared.
//! There are usually three to five pairs, so that a cell alone cannot show how much launches differ. All cells together
//! can: see `noise`.
//!
//! | module | job |
//! |---|---|
//! | here | samples to verdicts |
//! | `noise` | how much pairs differ, cell by cell, from what all cells show |
//! | `moderation` | variances that borrow from each other |

pub(crate) mod moderation;
pub(crate) mod noise;

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::{Estimate, median};
use collrules_record::findings::Middle;
use collrules_record::validation::{FailedCell, Outcome, Round, ValidatedCell, ValidationCriteria};
use collrules_record::{Candidate, Cell};
use collrules_rules::Choice;

use crate::cells::CellTimings;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::statistics::{LogRatio, adjust};
use noise::PairGains;

/// Properties of a cell that are known before the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellFacts {
    /// True if it was measured for tuning.
    pub tuned: bool,
    /// Choice of the rules file.
    pub served: Choice,
    /// True if the file does not affect it.
    pub control: bool,
    /// True if HAN's file changes its candidate.
    pub handed: bool,
}

/// Compares the launches of a validation, cell by cell.
///
/// The logarithms of the ratios of a pair's medians are assumed to be normal about the cell's true one, with a variance
/// as `noise` estimates it; each cell is tested by Student's t for being slower and for being faster. The p values of
/// each direction are adjusted for the number of cells (Benjamini and Hochberg), so that gains in other cells do not
/// make it easier to call a cell slower, and then multiplied by the two directions and the number of looks. Cells
/// without timings on both sides of a pair are left out.
pub fn compare(
    observations: &Observations,
    criteria: ValidationCriteria,
    known: impl Fn(Cell) -> CellFacts,
) -> Result<Round, TunerError> {
    compare_with(observations, criteria, known, |_| Some(Candidate::Rules))
}

/// Like [`compare()`], for a candidate that was timed in the launches of the builtin, in place of the file. Cells
/// without one are left out.
pub(crate) fn compare_with(
    observations: &Observations,
    criteria: ValidationCriteria,
    known: impl Fn(Cell) -> CellFacts,
    with: impl Fn(Cell) -> Option<Candidate>,
) -> Result<Round, TunerError> {
    let timings = observations.cells()?;
    let timings: Vec<(&CellTimings, Candidate)> =
        timings.iter().filter_map(|timings| Some((timings, with(timings.cell)?))).collect();
    let failed = timings.iter().flat_map(|(timings, with)| failures(timings, *with)).collect();
    let sides: Vec<Sides> =
        timings.iter().filter_map(|(timings, with)| Sides::from_timings(timings, *with, criteria.middle)).collect();
    let gains: Vec<PairGains> = sides.iter().map(Sides::gains).collect();
    let noise = noise::estimate(&gains);
    let tests: Vec<Option<LogRatio>> = gains.iter().zip(&noise).map(|(gains, noise)| gains.test((*noise)?)).collect();
    let factor = 2.0 * f64::from(criteria.looks.max(1));
    let (slower, faster) = (adjusted(&tests, |test| test.p_below(0.0)), adjusted(&tests, |test| test.p_above(0.0)));
    let mut cells = Vec::new();
    for (at, (sides, gains)) in sides.iter().zip(&gains).enumerate() {
        let log_gain = gains.mean();
        let q_value = if log_gain < 0.0 { slower[at] } else { faster[at] }.map(|q| (q * factor).min(1.0));
        let untested = Estimate::ratio(log_gain, f64::INFINITY, criteria.level, gains.of_pairs.len());
        let speedup = tests[at].map_or(untested, |test| test.estimate(criteria.level));
        let CellFacts { tuned, served, handed, control } = known(sides.cell);
        let (without, with) = (sides.estimate(0, criteria), sides.estimate(1, criteria));
        let told = (without.point - with.point).abs() >= 2.0 * criteria.clock_step.0;
        let shown = told && q_value.is_some_and(|q| q <= criteria.error_rate);
        let verdict = decide(speedup, shown, criteria);
        cells.push(ValidatedCell {
            cell: sides.cell,
            tuned,
            served,
            handed,
            control,
            without,
            with,
            speedup,
            q_value,
            verdict,
        });
    }
    let pairs = sides.iter().flat_map(|sides| sides.pairs.keys()).max().map_or(0, |last| last + 1);
    let speedup = overall(&gains, criteria);
    Ok(Round { pairs, cells, speedup, failed, ..Round::default() })
}

/// The geometric mean over all cells, from the pairs that have all of them: cells of a pair share noise.
fn overall(gains: &[PairGains], criteria: ValidationCriteria) -> Option<Estimate> {
    let pairs = gains.iter().flat_map(|gains| gains.of_pairs.keys().copied()).collect::<BTreeSet<u32>>();
    let whole = pairs.into_iter().filter_map(|pair| {
        let of_cells: Option<Vec<f64>> = gains.iter().map(|gains| gains.of_pairs.get(&pair).copied()).collect();
        of_cells.map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
    });
    let means: Vec<f64> = whole.collect();
    Estimate::mean(&means, criteria.level).map(Estimate::exp)
}

/// The verdict on a cell: a significant and large enough difference, no relevant difference, or neither.
fn decide(speedup: Estimate, shown: bool, criteria: ValidationCriteria) -> Outcome {
    let (low, high) = (speedup.low.unwrap_or(0.0), speedup.high.unwrap_or(f64::INFINITY));
    let most = 1.0 + criteria.same_within.max(criteria.min_difference);
    if shown && low > 1.0 && speedup.point >= 1.0 + criteria.min_difference {
        Outcome::Faster
    } else if shown && high < 1.0 && speedup.point * (1.0 + criteria.min_difference) <= 1.0 {
        Outcome::Slower
    } else if low * most >= 1.0 && high <= most {
        Outcome::Same
    } else {
        Outcome::Undecided
    }
}

/// Returns the cells that need further pairs: they have a rule, and the pairs so far do not decide.
pub fn undecided(round: &Round) -> Vec<Cell> {
    let open = round.cells.iter().filter(|cell| cell.verdict == Outcome::Undecided && cell.is_ruled());
    open.map(|cell| cell.cell).collect()
}

/// The medians, or means, of a cell in each pair of launches, in seconds: without the file, and with it.
struct Sides {
    cell: Cell,
    pairs: BTreeMap<u32, [f64; 2]>,
    /// Mean number of rounds as in [`PairGains`].
    per_round: f64,
}

impl Sides {
    fn from_timings(timings: &CellTimings, with: Candidate, middle: Middle) -> Option<Self> {
        let side = |candidate| {
            let series = timings.series.iter().find(|series| series.candidate == candidate)?;
            let by_launch = series.timings.chunk_by(|a, b| a.launch == b.launch);
            let of_launch = by_launch.filter_map(|launch| {
                let mut seconds: Vec<f64> = launch.iter().map(|timing| timing.seconds).collect();
                let of_launch = match middle {
                    Middle::Median => median(&mut seconds)?,
                    Middle::Mean => seconds.iter().sum::<f64>() / seconds.len() as f64,
                };
                Some((launch[0].launch, (of_launch, 1.0 / launch.len() as f64)))
            });
            Some(of_launch.collect::<BTreeMap<u32, (f64, f64)>>())
        };
        let (without, with) = (side(Candidate::Builtin)?, side(with)?);
        let both = without.iter().filter_map(|(pair, without)| Some((*pair, *without, *with.get(pair)?)));
        let mut per_round = 0.0;
        let pairs: BTreeMap<u32, [f64; 2]> = both
            .map(|(pair, without, with)| {
                per_round += without.1 + with.1;
                (pair, [without.0, with.0])
            })
            .collect();
        (!pairs.is_empty()).then(|| Self { cell: timings.cell, per_round: per_round / pairs.len() as f64, pairs })
    }

    fn gains(&self) -> PairGains {
        let of_pairs = self.pairs.iter().map(|(pair, [without, with])| (*pair, (without / with).ln())).collect();
        PairGains { cell: self.cell, of_pairs, per_round: self.per_round }
    }

    /// The geometric mean over launches of one side, with Student's interval from its own launches.
    fn estimate(&self, side: usize, criteria: ValidationCriteria) -> Estimate {
        let logs: Vec<f64> = self.pairs.values().map(|times| times[side].ln()).collect();
        let unknown = Estimate::ratio(0.0, f64::INFINITY, criteria.level, 0);
        Estimate::mean(&logs, criteria.level).map_or(unknown, Estimate::exp)
    }
}

/// The p values of a direction, adjusted for their number.
fn adjusted(tests: &[Option<LogRatio>], p_value: impl Fn(&LogRatio) -> f64) -> Vec<Option<f64>> {
    let p_values: Vec<f64> = tests.iter().flatten().map(p_value).collect();
    let mut q_values = adjust(&p_values).into_iter();
    tests.iter().map(|test| test.as_ref().and_then(|_| q_values.next())).collect()
}

fn failures(timings: &CellTimings, with: Candidate) -> impl Iterator<Item = FailedCell> {
    let cell = timings.cell;
    timings.disqualified.iter().map(move |(candidate, why)| FailedCell {
        cell,
        with: *candidate == with,
        why: why.clone(),
    })
}
