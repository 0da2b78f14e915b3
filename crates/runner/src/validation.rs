//! The cells in which a rules file is compared with the default.

use std::collections::BTreeSet;

use collrules_record::Cell;
use collrules_record::cell::type_size;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::han::{self, Level};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::table::RankSteps;
use collrules_rules::{Collective, Release, RuleTable};

use crate::grid::{DEFAULT_MEMORY, obstacle};

/// Multiple of the beginning of an open range up to which calls are made.
const OPEN_END: u64 = 16;

/// The largest message of such calls.
const LARGEST: u64 = 4 << 20;

/// The cells of a validation: those that were tuned, and cells between them.
///
/// Between two neighbouring message sizes of which at least one has a rule, the one halfway between them (in the
/// logarithm), which is no power of two between powers of two. Between two communicator sizes the one in the middle, at
/// the smallest, the middle and the largest of the sizes that have a rule on either.
pub fn cells_between(tuned: &[Cell], table: &RuleTable, release: Release) -> Vec<Cell> {
    let ruled =
        |cell: &Cell| !table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(release)).is_builtin();
    let mut tuned: Vec<Cell> = tuned.to_vec();
    tuned.sort_unstable();
    tuned.dedup();
    let mut found = BTreeSet::new();
    for pair in tuned.windows(2).filter(|pair| alike(&pair[0], &pair[1]) && pair.iter().any(ruled)) {
        let bytes = middle(pair[0].bytes.0, pair[1].bytes.0, type_size(pair[0].collective));
        found.extend(bytes.map(|bytes| Cell { bytes: Bytes(bytes), ..pair[0] }));
    }
    for collective in tuned.chunk_by(|a, b| a.collective == b.collective) {
        let blocks: Vec<&[Cell]> = collective.chunk_by(|a, b| a.ranks == b.ranks).collect();
        for pair in blocks.windows(2) {
            let sizes: BTreeSet<Bytes> =
                pair.iter().copied().flatten().filter(|cell| ruled(cell)).map(|it| it.bytes).collect();
            let sizes: Vec<Bytes> = sizes.into_iter().collect();
            let (low, high) = (pair[0][0].ranks.0, pair[1][0].ranks.0);
            let ranks = Ranks(low.midpoint(high));
            if ranks.0 > low && !sizes.is_empty() {
                let chosen = [0, sizes.len() / 2, sizes.len() - 1].map(|at| sizes[at]);
                found.extend(chosen.map(|bytes| Cell { collective: collective[0].collective, ranks, bytes }));
            }
        }
    }
    found.into_iter().filter(|cell| !tuned.contains(cell) && obstacle(*cell, DEFAULT_MEMORY).is_none()).collect()
}

fn alike(one: &Cell, other: &Cell) -> bool {
    (one.collective, one.ranks) == (other.collective, other.ranks)
}

/// The whole number of elements nearest to the middle of two sizes, if it is neither.
fn middle(low: u64, high: u64, element: u64) -> Option<u64> {
    let exact = ((low.max(1) as f64) * high as f64).sqrt();
    let bytes = (exact / element as f64).round() as u64 * element;
    (bytes > low && bytes < high).then_some(bytes)
}

/// The cells for a file of unknown origin: for each collective with rules, on these communicators, the smallest, the
/// largest and the middle message of each of its ranges.
pub fn of_table(table: &RuleTable, release: Release, ranks: &[Ranks], sizes: Option<&[Bytes]>) -> Vec<Cell> {
    let of_collective = |(collective, steps): (Collective, &RankSteps)| {
        cells_of(collective, ranks, sizes, |ranks| {
            let factor = match metric(release, collective, ranks) {
                Metric::Times(factor) => Some(factor),
                Metric::CountFree | Metric::None => None,
            };
            let steps = steps.get(ranks.0.into()).iter();
            steps.flat_map(|(start, end, _)| messages(collective, factor, start, end)).collect()
        })
    };
    table.collectives().flat_map(of_collective).collect::<BTreeSet<Cell>>().into_iter().collect()
}

/// Returns the cells of a HAN file like [`of_table`]: its ranges on all levels, each for the collectives that it
/// affects. On lower levels, the sizes approximate those of the program's message: HAN passes on that message, or
/// several ranks' blocks.
pub fn of_han(table: &han::HanTable, ranks: &[Ranks], sizes: Option<&[Bytes]>) -> Vec<Cell> {
    let acting = table.collectives().flat_map(|((collective, level), steps)| {
        han::acted_on(collective, level).into_iter().map(move |acted_on| (acted_on, level, steps))
    });
    let cells = acting.flat_map(|(collective, level, steps)| {
        cells_of(collective, ranks, sizes, |ranks| {
            // On its own communicators HAN looks up their sizes, which depend on hosts.
            let at = if level == Level::GlobalCommunicator { u64::from(ranks.0) } else { 1 };
            steps.get(at).iter().flat_map(|(start, end, _)| messages(collective, Some(1), start, end)).collect()
        })
    });
    cells.collect::<BTreeSet<Cell>>().into_iter().collect()
}

/// The cells of a collective on these communicators, with these sizes or those of its `ranges`.
fn cells_of(
    collective: Collective,
    ranks: &[Ranks],
    sizes: Option<&[Bytes]>,
    ranges: impl Fn(Ranks) -> Vec<Bytes>,
) -> Vec<Cell> {
    let of_ranks = |ranks: &Ranks| {
        let (ranks, given) = (*ranks, sizes.map(<[Bytes]>::to_vec));
        let bytes = if collective.has_sizes() { given.unwrap_or_else(|| ranges(ranks)) } else { vec![Bytes(0)] };
        bytes.into_iter().map(move |bytes| Cell { collective, ranks, bytes })
    };
    ranks.iter().flat_map(of_ranks).filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()).collect()
}

/// The first, the last and the middle message of a range of lookup bytes, which are messages times a factor.
fn messages(collective: Collective, factor: Option<u64>, start: u64, end: Option<u64>) -> Vec<Bytes> {
    let element = type_size(collective);
    let Some(factor) = factor else {
        // Its lookup does not see the size: any will do.
        return [element, 1 << 10, 64 << 10].map(Bytes).to_vec();
    };
    let first = start.div_ceil(factor).div_ceil(element).max(1).saturating_mul(element);
    let last = match end {
        Some(end) => (end - 1) / factor / element * element,
        None => first.saturating_mul(OPEN_END).max(1 << 20).min(LARGEST.max(first)),
    };
    if last < first {
        return Vec::new();
    }
    let mut sizes = vec![first, last];
    sizes.extend(middle(first, last, element));
    sizes.into_iter().map(Bytes).collect()
}

#[cfg(test)]
mod tests {
    use collrules_rules::Choice;
    use collrules_rules::steps::Steps;
    use collrules_rules::table::all_builtin;

    use super::*;

    fn cell(ranks: u32, bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    fn table() -> RuleTable {
        let mut sizes = Steps::constant(Choice::BUILTIN);
        sizes.set(4096, Some(65536), Choice::plain(6));
        let mut steps = all_builtin();
        steps.set(8, Some(9), sizes);
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, steps);
        table
    }

    #[test]
    fn what_lies_between_ruled_cells_is_looked_at() {
        let tuned: Vec<Cell> =
            [2, 8].into_iter().flat_map(|ranks| [1024, 2048, 4096, 8192].map(|bytes| cell(ranks, bytes))).collect();
        let found = cells_between(&tuned, &table(), Release::V4_1);
        // Nothing is ruled on 2 ranks, nor below 4 KiB on 8.
        assert_eq!(found, [cell(5, 4096), cell(5, 8192), cell(8, 2896), cell(8, 5793)]);
        assert_eq!(cells_between(&tuned, &RuleTable::new(), Release::V4_1), []);
    }

    #[test]
    fn ranges_of_a_file_are_called_at_both_ends_and_in_the_middle() {
        let found = of_table(&table(), Release::V4_1, &[Ranks(8)], None);
        let bytes: Vec<u64> = found.iter().map(|cell| cell.bytes.0).collect();
        assert_eq!(bytes, [1, 64, 4095, 4096, 16384, 65535, 65536, 262144, 1 << 20]);
        let given = of_table(&table(), Release::V4_1, &[Ranks(2)], Some(&[Bytes(7)]));
        assert_eq!(given, [cell(2, 7)]);
    }
}
