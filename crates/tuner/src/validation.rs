//! What pairs of launches, one without a rules file and one with it, say about the file.
//!
//! The launch is the unit of replication: what is compared are the medians, or means, of a cell in the two launches of a pair. There
//! are three to five pairs as a rule, so that a cell alone cannot say how much launches differ. All cells together can:
//! see `noise`.
//!
//! | module | job |
//! |---|---|
//! | here | samples to verdicts |
//! | `noise` | how much pairs differ, cell by cell, from what all cells show |
//! | `moderation` | variances that borrow from each other |

mod moderation;
pub(crate) mod noise;

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::{Estimate, median};
use collrules_record::findings::Middle;
use collrules_record::validation::{Criteria, FailedCell, Outcome, Round, ValidatedCell};
use collrules_record::{Candidate, Cell};
use collrules_rules::Choice;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::cells::CellTimings;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::statistics::{adjust, student_quantile};
use noise::{Gains, Noise};

/// What is known of a cell before it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Whether it was measured for tuning.
    pub tuned: bool,
    /// What the file gives for it.
    pub served: Choice,
    /// Whether nothing acts on it but what acts without the file as well.
    pub control: bool,
    /// Whether HAN's file makes something else of it.
    pub handed: bool,
}

/// Compares the launches of a validation, cell by cell.
///
/// The logarithms of the ratios of a pair's medians are taken to be normal about the cell's true one, with a variance as
/// `noise` estimates it; each cell is tested by Student's t for being slower and for being faster. The p values of each
/// direction are adjusted for the number of cells (Benjamini and Hochberg), so that wins elsewhere don't make it easier
/// to call a cell slower, and then multiplied by the two directions and the number of looks. Cells without timings on
/// both sides of a pair are left out.
pub fn compare(
    observations: &Observations,
    criteria: Criteria,
    known: impl Fn(Cell) -> Known,
) -> Result<Round, TunerError> {
    compare_with(observations, criteria, known, |_| Some(Candidate::Rules))
}

/// The same where another candidate stands for the file, and is timed in the launches of the builtin. Cells for which there
/// is none are left out.
pub(crate) fn compare_with(
    observations: &Observations,
    criteria: Criteria,
    known: impl Fn(Cell) -> Known,
    with: impl Fn(Cell) -> Option<Candidate>,
) -> Result<Round, TunerError> {
    let timings = observations.cells()?;
    let timings: Vec<(&CellTimings, Candidate)> =
        timings.iter().filter_map(|timings| Some((timings, with(timings.cell)?))).collect();
    let failed = timings.iter().flat_map(|(timings, with)| failures(timings, *with)).collect();
    let sides: Vec<Sides> =
        timings.iter().filter_map(|(timings, with)| Sides::of(timings, *with, criteria.middle)).collect();
    let gains: Vec<Gains> = sides.iter().map(Sides::gains).collect();
    let noise = noise::estimate(&gains);
    let tests: Vec<Option<Test>> = gains.iter().zip(&noise).map(|(gains, noise)| Test::of(gains, *noise)).collect();
    let factor = 2.0 * f64::from(criteria.looks.max(1));
    let (slower, faster) = (adjusted(&tests, |test| test.slower), adjusted(&tests, |test| test.faster));
    let mut cells = Vec::new();
    for (at, (sides, gains)) in sides.iter().zip(&gains).enumerate() {
        let log_gain = gains.mean();
        let q_value = if log_gain < 0.0 { slower[at] } else { faster[at] }.map(|q| (q * factor).min(1.0));
        let reach = tests[at].map_or(f64::INFINITY, |test| student_quantile(criteria.level, test.degrees) * test.error);
        let speedup = Estimate::ratio(log_gain, reach, criteria.level, gains.of_pairs.len());
        let Known { tuned, served, handed, control } = known(sides.cell);
        let (without, with) = (sides.estimate(0, criteria), sides.estimate(1, criteria));
        let told = (without.point - with.point).abs() >= 2.0 * criteria.clock_step.0;
        let shown = told && q_value.is_some_and(|q| q <= criteria.error_rate);
        let verdict = match speedup.point {
            gain if shown && gain >= 1.0 + criteria.min_difference => Outcome::Faster,
            gain if shown && gain * (1.0 + criteria.min_difference) <= 1.0 => Outcome::Slower,
            _ => Outcome::Same,
        };
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

/// The geometric mean over all cells. What cells of a pair share is no secret then: pairs are compared as wholes, those that have
/// all cells.
fn overall(gains: &[Gains], criteria: Criteria) -> Option<Estimate> {
    let pairs = gains.iter().flat_map(|gains| gains.of_pairs.keys().copied()).collect::<BTreeSet<u32>>();
    let whole = pairs.into_iter().filter_map(|pair| {
        let of_cells: Option<Vec<f64>> = gains.iter().map(|gains| gains.of_pairs.get(&pair).copied()).collect();
        of_cells.map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
    });
    let means: Vec<f64> = whole.collect();
    Estimate::mean(&means, criteria.level).map(|log| log.map(f64::exp))
}

/// Cells that further pairs might show to be slower: the file rules them, they are not decided, and the interval of the
/// speedup reaches below what counts as the same.
pub fn doubtful(round: &Round, criteria: Criteria) -> Vec<Cell> {
    let may_lose = |cell: &&ValidatedCell| {
        let least = cell.speedup.low.unwrap_or(0.0);
        cell.verdict == Outcome::Same && cell.is_ruled() && least * (1.0 + criteria.min_difference) < 1.0
    };
    round.cells.iter().filter(may_lose).map(|cell| cell.cell).collect()
}

/// The medians, or means, of a cell in each pair of launches, in seconds: without the file, and with it.
struct Sides {
    cell: Cell,
    pairs: BTreeMap<u32, [f64; 2]>,
    /// See [`Gains`].
    per_round: f64,
}

impl Sides {
    fn of(timings: &CellTimings, with: Candidate, middle: Middle) -> Option<Self> {
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

    fn gains(&self) -> Gains {
        let of_pairs = self.pairs.iter().map(|(pair, [without, with])| (*pair, (without / with).ln())).collect();
        Gains { cell: self.cell, of_pairs, per_round: self.per_round }
    }

    /// The geometric mean over launches of one side, with Student's interval from its own launches.
    fn estimate(&self, side: usize, criteria: Criteria) -> Estimate {
        let logs: Vec<f64> = self.pairs.values().map(|times| times[side].ln()).collect();
        let unknown = Estimate::ratio(0.0, f64::INFINITY, criteria.level, 0);
        Estimate::mean(&logs, criteria.level).map_or(unknown, |log| log.map(f64::exp))
    }
}

/// One cell's test.
#[derive(Clone, Copy)]
struct Test {
    error: f64,
    degrees: f64,
    /// One-sided p values.
    slower: f64,
    faster: f64,
}

impl Test {
    fn of(gains: &Gains, noise: Option<Noise>) -> Option<Self> {
        let Noise { variance, degrees } = noise?;
        let error = (variance / gains.of_pairs.len() as f64).sqrt();
        let student = StudentsT::new(0.0, 1.0, degrees).ok()?;
        let slower = student.cdf(gains.mean() / error);
        Some(Self { error, degrees, slower, faster: 1.0 - slower })
    }
}

/// The p values of a direction, adjusted for their number.
fn adjusted(tests: &[Option<Test>], p_value: impl Fn(&Test) -> f64) -> Vec<Option<f64>> {
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
