//! Subjects of launches with settings: a few sizes of each collective for the search; all sizes and a guard set for the
//! confirmation.

use std::collections::BTreeSet;

use collrules_record::pattern::Shape;
use collrules_record::plan::PatternPlan;
use collrules_record::{Bytes, Cast, Cell, Pattern, Ranks, Survey};
use collrules_rules::Collective;
use collrules_runner::grid::{DEFAULT_MEMORY, MEASURABLE, obstacle};

/// The largest message of each class of sizes, except the last class, which has no limit.
pub(super) const CLASSES: [u64; 3] = [512, 8 << 10, 64 << 10];

/// The message sizes of the guard set, for collectives that are not tuned.
const GUARDED: [u64; 3] = [8, 4 << 10, 256 << 10];

/// The index of the class of a message size.
pub(super) fn class(bytes: Bytes) -> usize {
    CLASSES.iter().position(|largest| bytes.0 <= *largest).unwrap_or(CLASSES.len())
}

/// One size of each class for each collective, on its largest communicator: the middle of those of the grid.
pub(super) fn screened(cells: &[Cell]) -> Vec<Cell> {
    let mut screened = Vec::new();
    let collectives: BTreeSet<Collective> = cells.iter().map(|cell| cell.collective).collect();
    for collective in collectives {
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.collective == collective).collect();
        let ranks = own.iter().map(|cell| cell.ranks).max();
        let mut own: Vec<&Cell> = own.into_iter().filter(|cell| Some(cell.ranks) == ranks).collect();
        own.sort_unstable();
        screened.extend(own.chunk_by(|a, b| class(a.bytes) == class(b.bytes)).map(|class| *class[class.len() / 2]));
    }
    screened
}

/// Collectives that are not tuned, on all ranks.
pub(super) fn guard_cells(asked: &[Cell], ranks: Ranks) -> Vec<Cell> {
    let asked: BTreeSet<Collective> = asked.iter().map(|cell| cell.collective).collect();
    let others = MEASURABLE.into_iter().filter(|collective| !asked.contains(collective));
    let cells = others.flat_map(|collective| {
        let sizes: &[u64] = if collective.has_sizes() { &GUARDED } else { &[0] };
        sizes.iter().map(move |bytes| Cell { collective, ranks, bytes: Bytes(*bytes) })
    });
    cells.filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()).collect()
}

/// Messages without collectives: round trips, trains of messages, all ranks at once. Between ranks of a node, and
/// between nodes if there are several.
pub(super) fn guard_patterns(survey: &Survey, ranks: Ranks) -> Vec<PatternPlan> {
    let hosts = &survey.hosts;
    let near = (1..ranks.0).find(|rank| hosts.get(*rank as usize) == hosts.first());
    let far = (1..ranks.0).find(|rank| hosts.get(*rank as usize) != hosts.first());
    let casts: Vec<Cast> = [near, far].into_iter().flatten().filter_map(|other| Cast::new(vec![0, other])).collect();
    let mut plans = Vec::new();
    let mut add = |shape: Shape, ranks: Ranks, sizes: &[u64], casts: &[Cast]| {
        for bytes in sizes {
            let pattern = Pattern { shape, ranks, bytes: Bytes(*bytes) };
            plans.push(PatternPlan { pattern, casts: casts.to_vec() });
        }
    };
    if !casts.is_empty() {
        add(Shape::PingPong, Ranks(2), &[8, 1 << 10, 4 << 10, 64 << 10, 1 << 20], &casts);
        add(Shape::Train, Ranks(2), &[8, 4 << 10, 32 << 10], &casts);
    }
    if ranks.0 >= 2 {
        add(Shape::Rotation, ranks, &[8, 4 << 10, 64 << 10, 1 << 20], &[Cast::first(ranks)]);
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_sizes_stand_for_all() {
        let cell = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let cells: Vec<Cell> =
            [2, 4].into_iter().flat_map(|ranks| (0..=20).map(move |power| cell(ranks, 1 << power))).collect();
        assert_eq!(screened(&cells), [cell(4, 32), cell(4, 4 << 10), cell(4, 32 << 10), cell(4, 512 << 10)]);
        let guards = guard_cells(&cells, Ranks(4));
        assert!(guards.iter().all(|guard| guard.collective != Collective::Bcast) && guards.len() > 20);
    }
}
