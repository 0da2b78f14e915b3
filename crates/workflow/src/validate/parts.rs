//! Parts of a comparison for which time is short: first the ranges of rules that gain most per second, at the ends and in the
//! middle of each, since a range is one question; then the sizes between, and sizes without a rule.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::validation::{Outcome, Round};
use collrules_record::{ArmSubject, Cell, Seconds};
use collrules_rules::words::{counted, some};

use super::subject::ValidationSubject;
use crate::comparison::subject_time;

/// Blocks that a comparison has in any case: one shows nothing. Parts are looked at after so many for the first time.
pub(super) const LEAST_BLOCKS: u32 = 2;

/// Part of the time that is left which the first look at a part takes at most: later looks need as much again.
const PART: f64 = 0.25;

/// Smallest part of all of the time for a part.
const LEAST: f64 = 1.0 / 16.0;

/// Ranges that a sentence lists at most.
const LISTED: usize = 4;

/// Times of blocks of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockTimes {
    /// Start of a job.
    pub(super) startup: Seconds,
    /// Jobs of a block.
    pub(super) jobs: f64,
}

impl BlockTimes {
    /// Seconds of a block, without starts, for the calls of a cell in so many ways.
    fn measuring(self, subject: &ValidationSubject, cell: Cell, ways: usize) -> f64 {
        let call = subject.estimate_call(cell);
        let mean = [true, false].map(|is_first| subject_time(call, is_first)).iter().sum::<f64>() / 2.0;
        self.jobs * ways as f64 * mean
    }

    /// Seconds of a block with these subjects.
    pub(super) fn block<'a>(
        self,
        subject: &ValidationSubject,
        subjects: impl IntoIterator<Item = &'a ArmSubject>,
    ) -> f64 {
        let cells = subjects.into_iter().map(|it| it.cell().map_or(Seconds(0.0), |cell| subject.estimate_call(cell)));
        self.jobs * (self.startup.0 + cells.map(|call| subject_time(call, true)).sum::<f64>())
    }

    /// Seconds until the first look at a part, if blocks measure for so long.
    fn look(self, measuring: f64) -> f64 {
        f64::from(LEAST_BLOCKS) * (self.jobs * self.startup.0 + measuring)
    }
}

/// When cells have their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// Ends and middle of a range.
    Range,
    /// Its other sizes.
    Between,
    /// Cells without a rule, or between those that were tuned.
    Unruled,
    /// Cells that an earlier comparison decided.
    Decided,
}

/// Pieces of neighbouring sizes with one rule, each of which gains most per second of its samples among all pieces that begin
/// there: long calls do not hold up short ones.
fn cut(mut left: &[Cell], gain: impl Fn(&Cell) -> f64, seconds: impl Fn(&Cell) -> f64) -> Vec<&[Cell]> {
    let worth =
        |piece: &[Cell]| piece.iter().map(&gain).sum::<f64>() / samples(piece).iter().map(&seconds).sum::<f64>();
    let mut pieces = Vec::new();
    while !left.is_empty() {
        let best = (1..=left.len()).max_by(|one, other| worth(&left[..*one]).total_cmp(&worth(&left[..*other])));
        let (piece, rest) = left.split_at(best.unwrap_or(1));
        pieces.push(piece);
        left = rest;
    }
    pieces
}

/// Both ends and the middle of some sizes.
fn samples(cells: &[Cell]) -> BTreeSet<Cell> {
    let last = cells.len() - 1;
    [0, last / 2, last].map(|at| cells[at]).into()
}

/// The ranges of rules over these cells, in order: neighbouring sizes on a communicator with one rule.
fn list_ranges(subject: &ValidationSubject, cells: &[Cell]) -> Vec<Vec<Cell>> {
    let facts: Vec<_> = cells.iter().map(|cell| (*cell, subject.known(*cell))).collect();
    let alike = facts.chunk_by(|(one, of_one), (other, of_other)| {
        (one.collective, one.ranks, of_one.rule()) == (other.collective, other.ranks, of_other.rule())
    });
    let ruled = alike.filter(|cells| subject.is_ruled(cells[0].0));
    ruled.map(|cells| cells.iter().map(|(cell, _)| *cell).collect()).collect()
}

/// Subjects in the order in which they are compared; none as a part are all, if there is time for all. What was decided for the
/// same rules before comes last.
pub(super) fn split(
    subject: &ValidationSubject,
    subjects: &[ArmSubject],
    (times, pairs): (BlockTimes, u32),
    limit: Option<Seconds>,
    before: Option<&Round>,
) -> Vec<Option<BTreeSet<ArmSubject>>> {
    let (Some(limit), true) = (limit, subjects.iter().all(|it| it.cell().is_some())) else {
        return vec![None];
    };
    // A resumed comparison has a little less, and the same parts.
    let limit = limit.0.max(1e-3).log2().floor().exp2();
    if f64::from(pairs) * times.block(subject, subjects) <= limit {
        return vec![None];
    }
    let mut ways: BTreeMap<Cell, Vec<&ArmSubject>> = BTreeMap::new();
    for (cell, one) in subjects.iter().filter_map(|one| Some((one.cell()?, one))) {
        ways.entry(cell).or_default().push(one);
    }
    let measuring = |cell: &Cell| times.measuring(subject, *cell, ways[cell].len());
    let decided: BTreeMap<Cell, _> = before
        .iter()
        .flat_map(|round| &round.cells)
        .filter(|it| matches!(it.verdict, Outcome::Faster | Outcome::Slower))
        .map(|it| (it.cell, it.rule()))
        .collect();
    let is_decided = |cell: &Cell| decided.get(cell) == Some(&subject.known(*cell).rule());
    let order = order(subject, &ways, is_decided, measuring);
    let (mut parts, mut part, mut seconds, mut left) = (Vec::new(), BTreeSet::new(), 0.0, limit);
    for cells in order {
        let more = cells.iter().map(measuring).sum::<f64>();
        if !part.is_empty() && times.look(seconds + more) > PART * left {
            parts.push(Some(std::mem::take(&mut part)));
            left = (left - times.look(seconds)).max(LEAST / PART * limit);
            seconds = 0.0;
        }
        seconds += more;
        part.extend(cells.iter().flat_map(|cell| &ways[cell]).map(|it| (*it).clone()));
    }
    parts.push(Some(part));
    parts
}

/// Cells that are compared together, in the order of their turns, and of the gain per second of their calls.
fn order(
    subject: &ValidationSubject,
    ways: &BTreeMap<Cell, Vec<&ArmSubject>>,
    is_decided: impl Fn(&Cell) -> bool,
    measuring: impl Fn(&Cell) -> f64,
) -> Vec<Vec<Cell>> {
    let tuned = subject.tuned();
    let asked: Vec<Cell> = ways.keys().copied().filter(|cell| tuned.is_empty() || tuned.contains(cell)).collect();
    let gain = |cell: &Cell| subject.expected_log_gain(*cell);
    let mut order: Vec<(Turn, f64, Vec<Cell>)> = Vec::new();
    let mut add = |turn: Turn, gain: f64, cells: Vec<Cell>| {
        let turn = if cells.iter().all(&is_decided) { Turn::Decided } else { turn };
        order.push((turn, gain / cells.iter().map(&measuring).sum::<f64>(), cells));
    };
    let mut ruled = BTreeSet::new();
    for range in list_ranges(subject, &asked) {
        let Cell { collective, ranks, .. } = range[0];
        // One choice for all sizes is lost with any of them.
        let is_whole = subject.assumptions().one_choice(subject.release, collective, ranks);
        for piece in if is_whole { vec![&range[..]] } else { cut(&range, gain, &measuring) } {
            let samples = samples(piece);
            add(Turn::Range, piece.iter().map(gain).sum(), samples.iter().copied().collect());
            let between = piece.iter().filter(|cell| !samples.contains(cell));
            between.for_each(|cell| add(Turn::Between, gain(cell), vec![*cell]));
        }
        ruled.extend(range);
    }
    ways.keys().filter(|cell| !ruled.contains(cell)).for_each(|cell| add(Turn::Unruled, 1.0, vec![*cell]));
    order.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    order.into_iter().map(|(.., cells)| cells).collect()
}

/// Ranges of rules that a comparison did not reach, and the time that their first look would take; none if it reached all.
pub(super) fn describe_unreached(
    subject: &ValidationSubject,
    cells: &[Cell],
    ways: usize,
    times: BlockTimes,
) -> Option<(String, Seconds)> {
    let ranges = list_ranges(subject, cells);
    if ranges.is_empty() {
        return None;
    }
    let samples = ranges.iter().flat_map(|range| samples(range));
    let seconds = times.look(samples.map(|cell| times.measuring(subject, cell, ways)).sum());
    let cells: Vec<Cell> = ranges.into_iter().flatten().collect();
    let lines: Vec<String> = cells
        .chunk_by(|one, other| (one.collective, one.ranks) == (other.collective, other.ranks))
        .map(describe_sizes)
        .collect();
    Some((some(&lines, LISTED), Seconds(seconds)))
}

/// Sizes on a communicator in words.
fn describe_sizes(cells: &[Cell]) -> String {
    match cells {
        [first, .., last] => {
            let sizes = counted(cells.len(), "size");
            format!("{} on {} ranks ({sizes} of {} to {})", first.collective, first.ranks, first.bytes, last.bytes)
        }
        _ => cells.iter().map(Cell::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn long_calls_of_a_range_do_not_hold_up_short_ones() {
        let cell = |bytes| Cell { collective: Collective::Allgather, ranks: Ranks(64), bytes: Bytes(bytes) };
        let cut = |sizes: u32, seconds: fn(&Cell) -> f64| {
            let range: Vec<Cell> = (0..sizes).map(|power| cell(1 << power)).collect();
            cut(&range, |_| 1.0, seconds).into_iter().map(<[Cell]>::len).collect::<Vec<_>>()
        };
        assert_eq!(cut(21, |_| 1.0), [21], "a range is one question");
        assert_eq!(cut(1, |_| 1.0), [1]);
        let pieces = cut(21, |cell| 1.0 + cell.bytes.0 as f64 / 1024.0);
        assert!(pieces.len() > 1 && pieces[0] == 10 && pieces.iter().sum::<usize>() == 21, "{pieces:?}");
        assert_eq!(describe_sizes(&[cell(1), cell(2)]), "allgather on 64 ranks (2 sizes of 1 B to 2 B)");
        assert_eq!(describe_sizes(&[cell(1)]), "allgather of 1 B on 64 ranks");
        assert_eq!(samples(&[1, 2, 4, 8, 16].map(cell)), [1, 4, 16].map(cell).into());
        assert_eq!(samples(&[cell(1)]), [cell(1)].into());
    }
}
