//! Tests of the catalogue, and of the selection for a cell.

use collrules_program::mockup::MockupPattern;
use collrules_record::grid::Mockups;
use collrules_record::placement::UnevenNodes;
use collrules_record::{Bytes, Cell, Even, Mockup, Ranks};
use collrules_rules::Collective;

use crate::catalogue::{CATALOGUE, Guideline};
use crate::select::{needed_memory, select};

#[test]
fn every_guideline_has_programs_on_nodes() {
    for Guideline { collective, pattern, .. } in CATALOGUE {
        let cell = Cell { collective: *collective, ranks: Ranks(8), bytes: Bytes(0) };
        let even = Even { nodes: 2, each: 4 };
        assert!(needed_memory(cell, Mockup::Pattern(*pattern), Some(even)).is_some(), "{collective} {pattern}");
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
        assert!(pairs.iter().any(|(_, known)| *known == pattern), "{}", pattern.name());
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
