//! Tests of the catalogue: its formulas for memory against the programs of its mock-ups, and the selection for a cell.

use collrules_program::mockup::MockupPattern;
use collrules_record::cell::type_size;
use collrules_record::placement::UnevenNodes;
use collrules_record::{Bytes, Cell, Even, Mockup, Ranks};
use collrules_rules::Collective;

use crate::catalogue::CATALOGUE;
use crate::memory::Term;
use crate::select::{Wishes, select};

/// All distributions of this many ranks over nodes.
fn nodes(ranks: u32) -> Vec<Option<Even>> {
    let even = (2..ranks).filter(|each| ranks.is_multiple_of(*each)).map(|each| Even { nodes: ranks / each, each });
    std::iter::once(None).chain(even.map(Some)).collect()
}

#[test]
fn formulas_bound_what_programs_need_and_are_reached() {
    for guideline in CATALOGUE {
        let (mut reached_root, mut reached_others) = (false, false);
        for ranks in 2..=9 {
            for elements in [1, 2, 3, 5, 7, 16, 37, 1000] {
                let bytes =
                    if guideline.collective.has_sizes() { elements * type_size(guideline.collective) } else { 0 };
                let cell = Cell { collective: guideline.collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
                let ways = nodes(ranks).into_iter().filter(|even| even.is_some() == guideline.pattern.needs_nodes());
                for (even, rank) in ways.flat_map(|even| (0..ranks as usize).map(move |rank| (even, rank))) {
                    let seat = cell.seat(rank, even);
                    let made = Mockup::Pattern(guideline.pattern).program(seat).expect("is in the catalogue");
                    let formula = if rank == 0 { guideline.root } else { guideline.others };
                    let (needed, bound) = (made.memory(seat) as u64, formula.bytes(cell, even));
                    assert!(
                        needed <= bound,
                        "{} {}: {needed} > {bound}",
                        guideline.collective,
                        guideline.pattern.name()
                    );
                    // How many chunks a block has depends on the rank.
                    let slack = if formula.0.contains(&Term::Chunks) { 4 * type_size(cell.collective) } else { 0 };
                    *(if rank == 0 { &mut reached_root } else { &mut reached_others }) |= needed + slack >= bound;
                }
            }
        }
        assert!(reached_root && reached_others, "{} {}", guideline.collective, guideline.pattern.name());
    }
}

#[test]
fn the_catalogue_has_each_guideline_once() {
    assert_eq!(CATALOGUE.len(), 36 + 17);
    let mut pairs: Vec<_> = CATALOGUE.iter().map(|it| (it.collective, it.pattern)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), CATALOGUE.len());
    for pattern in MockupPattern::ALL {
        assert!(pairs.iter().any(|(_, known)| known == pattern), "{}", pattern.name());
    }
}

#[test]
fn what_does_not_fit_is_left_out_with_its_reason() {
    let cell = Cell { collective: Collective::Allgather, ranks: Ranks(4), bytes: Bytes(3) };
    let split = |pieces| Mockup::Split { pieces, barrier: false };
    let only = [split(4), Mockup::Pad(Bytes(3)), Mockup::Pattern(MockupPattern::Alltoall)];
    let even = Err(UnevenNodes::OneNode);
    let wishes = Wishes { only: &only, pieces: &[], sizes: &[], memory: Bytes(11), even };
    let selected = select(cell, &wishes);
    let whys: Vec<String> = selected.left_out.iter().map(|left| left.why.to_string()).collect();
    assert_eq!(selected.mockups, []);
    assert_eq!(whys[0], "4 pieces are more than the 3 elements of a rank");
    assert_eq!(whys[1], "3 B is not above the message of 3 B");
    assert!(whys[2].starts_with("it needs 12 B per rank") && whys[2].ends_with("allows 11 B"), "{}", whys[2]);
    let huge = Cell { bytes: Bytes(1 << 30), ..cell };
    let why = select(huge, &Wishes { memory: Bytes(u64::MAX), ..wishes.clone() }).left_out[2].why.to_string();
    assert!(why.ends_with("exceed a C int"), "{why}");
    let lane = [Mockup::Pattern(MockupPattern::Lane)];
    let alone = select(cell, &Wishes { only: &lane, ..wishes.clone() });
    assert!(
        alone.left_out[0].why.to_string().starts_with("all its ranks are on one node; it takes two nodes"),
        "{alone:?}"
    );
    let even = Ok(Even { nodes: 2, each: 2 });
    assert_eq!(select(cell, &Wishes { only: &lane, memory: Bytes(18), even, ..wishes }).mockups, lane);
}
