//! Comparison of pairs of launches, one without a rules file and one with it.
//!
//! The launch is the unit of replication: the medians, or means, of a cell in the two launches of a pair are compared.
//! There are usually three to five pairs, so that a cell alone cannot show how much launches differ. All cells together
//! can: see `statistics::launches`.

use collrules_record::estimate::{Estimate, TestedMean};
use collrules_record::findings::Middle;
use collrules_record::validation::{FailedCell, Outcome, Round, ValidatedCell, ValidationCriteria};
use collrules_record::{Candidate, Cell};
use collrules_rules::Choice;

use crate::cells::{CellTimings, PointTimings};
use crate::error::TunerError;
use crate::observations::Observations;
use crate::statistics::{LaunchLogs, Replicates, adjust, common_means, test_all};
use crate::view::Competitors;

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
/// as `statistics::launches` estimates it; each cell is tested by Student's t for being slower and for being faster.
/// The p values of each direction are adjusted for the number of cells (Benjamini and Hochberg), so that gains in other
/// cells do not make it easier to call a cell slower, and then multiplied by the two directions and the number of
/// looks. Cells without timings on both sides of a pair are left out.
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
    let timings = observations.cells_with(Competitors::default())?;
    let timings: Vec<(&CellTimings, Candidate)> =
        timings.iter().filter_map(|timings| Some((timings, with(timings.cell)?))).collect();
    let failed = timings.iter().flat_map(|(timings, with)| failures(timings, *with)).collect();
    let pairs: Vec<Pairs> =
        timings.iter().filter_map(|(timings, with)| Pairs::from_timings(timings, *with, criteria.middle)).collect();
    let gains: Vec<Replicates> = pairs.iter().map(|pairs| pairs.gains.clone()).collect();
    let tests = test_all(&gains);
    let factor = 2.0 * f64::from(criteria.looks.max(1));
    let slower = adjust(tests.iter().map(|test| test.p_below(0.0)));
    let faster = adjust(tests.iter().map(|test| test.p_above(0.0)));
    let mut cells = Vec::new();
    for (at, (pairs, test)) in pairs.iter().zip(&tests).enumerate() {
        let q_value = if test.mean < 0.0 { slower[at] } else { faster[at] }.map(|q| (q * factor).min(1.0));
        let speedup = test.estimate(criteria.level).exp();
        let CellFacts { tuned, served, handed, control } = known(pairs.cell);
        let [without, with] = pairs.sides.each_ref().map(|logs| {
            // Each side has an interval from its own launches.
            TestedMean::from_values(logs.values()).estimate(criteria.level).exp()
        });
        let told = (without.point - with.point).abs() >= 2.0 * criteria.clock_step.0;
        let verdict = decide(speedup, q_value.filter(|_| told), criteria);
        cells.push(ValidatedCell {
            cell: pairs.cell,
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
    let count = pairs.iter().flat_map(|pairs| pairs.sides[0].keys()).max().map_or(0, |last| last + 1);
    // The geometric mean over all cells, from the pairs that have all of them: cells of a pair share noise.
    let overall = common_means(gains.iter().flat_map(|gains| &gains.groups));
    let speedup = Estimate::mean(overall.values(), criteria.level).map(Estimate::exp);
    Ok(Round { pairs: count, cells, speedup, failed, ..Round::default() })
}

/// A significant and large enough difference of a speedup from 1, if there is one.
pub(crate) fn difference(speedup: Estimate, q_value: Option<f64>, criteria: ValidationCriteria) -> Option<Outcome> {
    q_value.filter(|q_value| *q_value <= criteria.error_rate)?;
    let least = 1.0 + criteria.min_difference;
    if speedup.low? > 1.0 && speedup.point >= least {
        Some(Outcome::Faster)
    } else if speedup.high? < 1.0 && speedup.point * least <= 1.0 {
        Some(Outcome::Slower)
    } else {
        None
    }
}

/// The verdict on a cell: a difference, no relevant difference, or neither.
fn decide(speedup: Estimate, q_value: Option<f64>, criteria: ValidationCriteria) -> Outcome {
    let (low, high) = (speedup.low.unwrap_or(0.0), speedup.high.unwrap_or(f64::INFINITY));
    let most = 1.0 + criteria.same_within.max(criteria.min_difference);
    let same = if low * most >= 1.0 && high <= most { Outcome::Same } else { Outcome::Undecided };
    difference(speedup, q_value, criteria).unwrap_or(same)
}

/// Returns the cells that need further pairs: they have a rule, and the pairs so far do not decide.
pub fn undecided(round: &Round) -> Vec<Cell> {
    let open = round.cells.iter().filter(|cell| cell.verdict == Outcome::Undecided && cell.is_ruled());
    open.map(|cell| cell.cell).collect()
}

/// A cell in each pair of launches.
struct Pairs {
    cell: Cell,
    /// Logarithms of the seconds without the file, and with it.
    sides: [LaunchLogs; 2],
    /// Their differences.
    gains: Replicates,
}

impl Pairs {
    fn from_timings(timings: &CellTimings, with: Candidate, middle: Middle) -> Option<Self> {
        let side = |candidate| timings.series.iter().find(|series| series.candidate == candidate);
        let (without, with) = (side(Candidate::Builtin)?, side(with)?);
        let complete = |side: &PointTimings, other: &PointTimings| -> LaunchLogs {
            let launches = other.launches();
            side.launch_logs(middle).into_iter().filter(|(launch, _)| launches.contains(launch)).collect()
        };
        let sides = [complete(without, with), complete(with, without)];
        let gains: LaunchLogs = sides[0].iter().map(|(pair, log)| (*pair, log - sides[1][pair])).collect();
        let per_round = without.per_round() + with.per_round();
        let cell = timings.cell;
        let gains = Replicates { cell: Some(cell), groups: vec![gains], per_round };
        (!sides[0].is_empty()).then_some(Self { cell, sides, gains })
    }
}

fn failures(timings: &CellTimings, with: Candidate) -> impl Iterator<Item = FailedCell> {
    let cell = timings.cell;
    timings.disqualified.iter().map(move |(candidate, why)| FailedCell {
        cell,
        with: *candidate == with,
        why: why.clone(),
    })
}
