//! Changes of the default's times since a run.
//!
//! The logarithms of the times of launches are compared, then against now, by Student's t. The test is not for any
//! difference, which there is between any two days, but for one above the tolerance. The differences between launches are
//! estimated as for a validation: cells borrow from each other, and the part that cells of a launch share counts once
//! (`statistics::launches`). All cells together are one more test, with the launches' means over cells. The p values are
//! adjusted for all of them (Benjamini and Hochberg): if no time changed by more than the tolerance, the probability of any
//! alarm is at most half of the error rate. The other half is for the question whether the tuning still holds, which a
//! comparison with today's default answers.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;
use collrules_record::comparison::ArmLaunch;
use collrules_record::condition::Condition;
use collrules_record::estimate::{TestedMean, mean};
use collrules_record::validation::Outcome;

use crate::results::drift::{DriftCriteria, DriftPoint, Shift};
use crate::statistics::{LaunchLogs, Replicates, adjust, common_means, test_all};

/// Share of the error rate for each of the two questions.
pub const SHARE: f64 = 0.5;

/// The logarithms of the default's seconds by launch, for each cell.
pub type DefaultTimes = BTreeMap<Cell, LaunchLogs>;

/// The default's times under a condition, in launches that chose nothing.
pub fn default_times<'a>(launches: impl IntoIterator<Item = &'a ArmLaunch>, condition: Condition) -> DefaultTimes {
    let mut times = DefaultTimes::new();
    let is_default = |launch: &&ArmLaunch| launch.arm.is_empty() && !launch.stage.is_search();
    for (number, launch) in (0..).zip(launches.into_iter().filter(is_default)) {
        for timed in launch.outcome.iter().flatten().filter(|timed| timed.time.0 > 0.0) {
            if let Some(cell) = timed.subject.cell().filter(|_| timed.subject.condition() == Some(condition)) {
                times.entry(cell).or_default().insert(number, timed.time.0.ln());
            }
        }
    }
    times
}

/// Tests which times changed: of each cell that was timed then and now, and of all together.
pub fn changes(then: &DefaultTimes, now: &DefaultTimes, criteria: DriftCriteria) -> (Vec<DriftPoint>, Option<Shift>) {
    let cells: Vec<Cell> = now.keys().copied().filter(|cell| then.contains_key(cell)).collect();
    let replicates =
        |cell: &Cell| Replicates { cell: Some(*cell), groups: vec![then[cell].clone(), now[cell].clone()] };
    let launches: Vec<Replicates> = cells.iter().map(replicates).collect();
    let mut tests = test_all(&launches);
    let together = together(&launches);
    tests.extend(together);
    let q_values = adjust(tests.iter().map(|test| test.p_beyond(criteria.min_change.ln_1p())));
    let mut shifts: Vec<Shift> = tests.iter().zip(q_values).map(|(test, q)| shift(*test, q, criteria)).collect();
    let together = together.and_then(|_| shifts.pop());
    let usual = |logs: &LaunchLogs| mean(logs.values()).exp();
    let points = cells.into_iter().zip(shifts).map(|(cell, shift)| DriftPoint {
        cell,
        then: usual(&then[&cell]),
        now: usual(&now[&cell]),
        shift,
    });
    (points.collect(), together)
}

/// The mean over cells of each launch, from cells that most earlier launches have: what was decided early has fewer.
fn together(cells: &[Replicates]) -> Option<TestedMean> {
    let launches = |cell: &Replicates| cell.groups[0].keys().copied().collect::<Vec<u32>>();
    let mut counts: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    cells.iter().for_each(|cell| *counts.entry(launches(cell)).or_default() += 1);
    let (common, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let cells: Vec<&Replicates> = cells.iter().filter(|cell| launches(cell) == common).collect();
    let groups: Vec<LaunchLogs> = (0..2).map(|day| common_means(cells.iter().map(|cell| &cell.groups[day]))).collect();
    let several = cells.len() > 1 && groups.iter().all(|logs| !logs.is_empty());
    let mean = several.then(|| test_all(&[Replicates { cell: None, groups }]))?.pop();
    mean.filter(|mean| mean.degrees > 0.0)
}

fn shift(change: TestedMean, q_value: Option<f64>, criteria: DriftCriteria) -> Shift {
    let shown = q_value.is_some_and(|q| q <= SHARE * criteria.error_rate);
    let ratio = change.estimate(criteria.level).exp();
    let most = 1.0 + criteria.min_change;
    let excludes_change = ratio.low.is_some_and(|low| low * most >= 1.0) && ratio.high.is_some_and(|high| high <= most);
    let change = match shown {
        true if change.mean > 0.0 => Outcome::Slower,
        true => Outcome::Faster,
        false if excludes_change => Outcome::Same,
        false => Outcome::Undecided,
    };
    Shift { ratio, q_value, change }
}

/// Weight of a cell without a rule in the comparison of distances, relative to one with a rule.
const UNRULED: f64 = 0.5;

/// A cell with its places between the smallest and the largest communicator and message of its collective.
type PlacedCell = (Cell, f64, f64);

/// Returns at most `count` of these cells, to be timed again. Each collective in turn adds the one that is farthest from those
/// chosen before, in communicator size and message size, at first the largest; cells with rules count double.
pub fn choose_anchors(cells: BTreeSet<Cell>, count: usize, is_ruled: impl Fn(Cell) -> bool) -> BTreeSet<Cell> {
    let cells: Vec<Cell> = cells.into_iter().collect();
    let of_collective = cells.chunk_by(|a, b| a.collective == b.collective);
    let mut collectives: Vec<(Vec<PlacedCell>, Vec<PlacedCell>)> =
        of_collective.map(|cells| (place_cells(cells), Vec::new())).collect();
    let mut chosen = BTreeSet::new();
    while chosen.len() < count && collectives.iter().any(|(left, _)| !left.is_empty()) {
        for (left, taken) in &mut collectives {
            let worth = |(cell, ranks, bytes): PlacedCell| {
                let far = taken.iter().map(|(_, x, y)| (ranks - x).abs() + (bytes - y).abs()).min_by(f64::total_cmp);
                far.unwrap_or(1.0 + ranks + bytes) * if is_ruled(cell) { 1.0 } else { UNRULED }
            };
            let is_farther =
                |a: &usize, b: &usize| worth(left[*a]).total_cmp(&worth(left[*b])).then(left[*a].0.cmp(&left[*b].0));
            if let Some(next) = (0..left.len()).max_by(is_farther).filter(|_| chosen.len() < count) {
                let next = left.swap_remove(next);
                chosen.insert(next.0);
                taken.push(next);
            }
        }
    }
    chosen
}

fn place_cells(cells: &[Cell]) -> Vec<PlacedCell> {
    let ranks: BTreeSet<u32> = cells.iter().map(|cell| cell.ranks.0).collect();
    let bytes: BTreeSet<u64> = cells.iter().map(|cell| cell.bytes.0).collect();
    let share = |below: usize, all: usize| below as f64 / (all.max(2) - 1) as f64;
    let place = |cell: &Cell| {
        let (fewer, smaller) = (ranks.range(..cell.ranks.0).count(), bytes.range(..cell.bytes.0).count());
        (*cell, share(fewer, ranks.len()), share(smaller, bytes.len()))
    };
    cells.iter().map(place).collect()
}
