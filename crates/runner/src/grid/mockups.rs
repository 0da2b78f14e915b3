//! Selection of a cell's mock-ups.

use collrules_record::cell::type_size;
use collrules_record::grid::Mockups;
use collrules_record::obstacle::{CellObstacle, MockupObstacle};
use collrules_record::placement::UnevenNodes;
use collrules_record::plan::{CellPlan, MockupOmission, Skipped};
use collrules_record::{Bytes, Candidate, Cell, Even, Mockup, Plan, Ranks};

use collrules_program::{catalogue, most_pieces};

/// The largest count of an MPI call: a C int.
const MOST: usize = i32::MAX as usize;

/// Adds the wanted mock-ups to each cell of a plan. A cell without any is not measured: it has nothing to compare.
pub(super) fn add(
    plan: &mut Plan,
    wanted: &Mockups,
    sizes: &[Bytes],
    even: impl Fn(Ranks) -> Result<Even, UnevenNodes>,
) {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    for planned in &mut plan.cells {
        let (mockups, left_out) = select(planned.cell, wanted, &sizes, even(planned.cell.ranks));
        planned.candidates.extend(mockups.into_iter().map(Candidate::Mockup));
        planned.left_out = left_out;
    }
    let has_mockup = |planned: &mut CellPlan| planned.candidates.iter().any(|candidate| candidate.is_mockup());
    let alone: Vec<CellPlan> = plan.cells.extract_if(.., |planned| !has_mockup(planned)).collect();
    plan.skipped.extend(alone.into_iter().map(without_mockups));
    plan.sort_groups();
}

/// A cell that is left out since no mock-up is left in it.
fn without_mockups(planned: CellPlan) -> Skipped {
    let first = planned.left_out.into_iter().next();
    let why = first.map_or(CellObstacle::NoMockup, |left| CellObstacle::Mockups(left.mockup, left.why));
    Skipped { cell: planned.cell, why }
}

/// The mock-ups of a cell, and those that it cannot have. `sizes` are those of the grid, in ascending order: a call is
/// padded to the next.
pub fn select(
    cell: Cell,
    wanted: &Mockups,
    sizes: &[Bytes],
    even: Result<Even, UnevenNodes>,
) -> (Vec<Mockup>, Vec<MockupOmission>) {
    let (mut selected, mut left_out) = (Vec::new(), Vec::new());
    for mockup in list(cell, wanted, sizes) {
        match obstacle(cell, mockup, wanted.max_extra_memory, even) {
            None => selected.push(mockup),
            Some(why) => left_out.push(MockupOmission { mockup, why }),
        }
    }
    (selected, left_out)
}

fn list(cell: Cell, wanted: &Mockups, sizes: &[Bytes]) -> Vec<Mockup> {
    let patterns = catalogue::list_guidelines(cell.collective).map(|guideline| Mockup::Pattern(guideline.pattern));
    let mut all: Vec<Mockup> = patterns.collect();
    if !wanted.only.is_empty() {
        let of_collective = |mockup: &Mockup| match mockup {
            Mockup::Pattern(_) => all.contains(mockup),
            Mockup::Split { .. } | Mockup::Pad(_) => cell.collective.has_sizes(),
        };
        return wanted.only.iter().copied().filter(of_collective).collect();
    }
    if cell.collective.has_sizes() {
        let split = |pieces: &u32| [false, true].map(|barrier| Mockup::Split { pieces: *pieces, barrier });
        all.extend(wanted.pieces.iter().flat_map(split));
        let element = type_size(cell.collective);
        let next = sizes.iter().find(|size| **size > cell.bytes && size.0.is_multiple_of(element));
        all.extend(next.map(|size| Mockup::Pad(*size)));
    }
    all
}

/// Returns the reason why a cell cannot have a mock-up, if there is one.
fn obstacle(cell: Cell, mockup: Mockup, memory: Bytes, even: Result<Even, UnevenNodes>) -> Option<MockupObstacle> {
    if let (true, Err(uneven)) = (mockup.needs_nodes(), even) {
        return Some(MockupObstacle::Nodes(uneven));
    }
    let even = even.ok();
    let root = cell.seat(0, even);
    if let Mockup::Split { pieces, .. } = mockup
        && pieces as usize > most_pieces(root)
    {
        return Some(MockupObstacle::Pieces { pieces, elements: most_pieces(root) });
    }
    if let Mockup::Pad(bytes) = mockup {
        if bytes <= cell.bytes {
            return Some(MockupObstacle::NoPadding { to: bytes, message: cell.bytes });
        }
        if !bytes.0.is_multiple_of(type_size(cell.collective)) {
            return Some(MockupObstacle::PartOfElement(bytes));
        }
    }
    // Counted before any buffer is thought of: what lies beyond would overflow the rest.
    let largest = match mockup {
        Mockup::Pad(bytes) => bytes.0,
        _ => cell.bytes.0,
    };
    let all = u64::from(cell.ranks.0).saturating_mul(largest);
    if all > MOST as u64 {
        return Some(MockupObstacle::Count(Bytes(all)));
    }
    let Some(needed) = needed_memory(cell, mockup, even) else {
        return Some(MockupObstacle::OtherCollective(cell.collective));
    };
    (needed > memory).then_some(MockupObstacle::Memory { needed, allowed: memory })
}

/// The memory that a mock-up needs on the rank that needs most: the root, another rank of its node, the first rank of the
/// next node, or the last rank. None if the nodes that it depends on are unknown, or it stands for another collective.
pub fn needed_memory(cell: Cell, mockup: Mockup, even: Option<Even>) -> Option<Bytes> {
    let last = cell.ranks.0.saturating_sub(1) as usize;
    let next = even.map_or(0, |even| even.each as usize);
    let needs = [0, 1, next, last].map(|rank| {
        let seat = cell.seat(rank.min(last), even);
        mockup.program(seat).map(|program| program.memory(seat))
    });
    needs.into_iter().flatten().max().map(|most| Bytes(most as u64))
}

#[cfg(test)]
mod tests {
    use collrules_program::catalogue::{CATALOGUE, Guideline};
    use collrules_program::mockup::MockupPattern;
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn every_guideline_has_programs_on_nodes() {
        for Guideline { collective, pattern, .. } in CATALOGUE {
            let cell = Cell { collective: *collective, ranks: Ranks(8), bytes: Bytes(0) };
            let even = Even { nodes: 2, each: 4 };
            assert!(needed_memory(cell, Mockup::Pattern(*pattern), Some(even)).is_some(), "{collective} {pattern}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_with_its_reason() {
        let cell = Cell { collective: Collective::Allgather, ranks: Ranks(4), bytes: Bytes(3) };
        let split = |pieces| Mockup::Split { pieces, barrier: false };
        let only = [split(4), Mockup::Pad(Bytes(3)), Mockup::Pattern(MockupPattern::Alltoall)];
        let even = Err(UnevenNodes::OneNode);
        let wanted = |only: &[Mockup], memory| Mockups {
            only: only.to_vec(),
            pieces: Vec::new(),
            max_extra_memory: Bytes(memory),
            remedies: false,
        };
        let (mockups, left_out) = select(cell, &wanted(&only, 11), &[], even);
        let whys: Vec<String> = left_out.iter().map(|left| left.why.to_string()).collect();
        assert_eq!(mockups, []);
        assert_eq!(whys[0], "4 pieces are more than the 3 elements of a rank");
        assert_eq!(whys[1], "3 B is not above the message of 3 B");
        assert!(whys[2].starts_with("it needs 12 B per rank") && whys[2].ends_with("allows 11 B"), "{}", whys[2]);
        let huge = Cell { bytes: Bytes(1 << 30), ..cell };
        let why = select(huge, &wanted(&only, u64::MAX), &[], even).1[2].why.to_string();
        assert!(why.ends_with("exceed a C int"), "{why}");
        let lane = [Mockup::Pattern(MockupPattern::Lane)];
        let (_, alone) = select(cell, &wanted(&lane, 11), &[], even);
        assert!(alone[0].why.to_string().starts_with("all its ranks are on one node; it takes two nodes"), "{alone:?}");
        let even = Ok(Even { nodes: 2, each: 2 });
        assert_eq!(select(cell, &wanted(&lane, 18), &[], even).0, lane);
    }
}
