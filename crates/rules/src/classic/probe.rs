//! Files that show from outside which rule serves a call.
//!
//! Open MPI says nothing about a file that it rejects. But a rule with an algorithm that does not exist makes the
//! call fail, on every version and build: an error means that the rule was selected. So a file of the same shape as
//! the one to be proved, with such rules at every other place, shows where each boundary really is.

use super::write::{INT_MAX, LONG_MAX};
use super::{ClassicFile, Notes};
use crate::choice::Choice;
use crate::collective::Collective;
use crate::steps::Steps;
use crate::table::{RankSteps, RuleTable, SizeSteps};

/// An algorithm id that no release has: a call that meets it fails with `MPI_ERR_ARG` on every rank.
pub const PROBE_ALGORITHM: u32 = 99;

/// The boundaries of a table, with choices that alternate between failing and the builtin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkerboard {
    table: RuleTable,
}

/// The boundaries of one block of communicator sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    /// The smallest communicator size.
    pub first: u64,
    /// The smallest communicator size beyond; none where the block is open above.
    pub end: Option<u64>,
    /// The lookup bytes at which a range begins, without the first at 0.
    pub sizes: Vec<u64>,
}

/// The checkerboard over a table's boundaries: neighbouring message ranges of a block differ, and so do the first
/// ranges of neighbouring blocks. The very first range of a collective fails. Boundaries beyond what Open MPI can
/// count are left out.
pub fn checkerboard(table: &RuleTable) -> Checkerboard {
    let mut board = RuleTable::new();
    for (collective, blocks) in table.collectives() {
        board.set(collective, alternate_blocks(blocks, 0));
    }
    Checkerboard { table: board }
}

/// The blocks in which the first range of every block at an even place, counted from `offset` on, fails.
fn alternate_blocks(blocks: &RankSteps, offset: usize) -> RankSteps {
    let blocks = blocks.iter().filter(|(first, _, _)| *first <= INT_MAX).enumerate();
    let mut alternating = Steps::constant(Steps::constant(Choice::BUILTIN));
    for (index, (first, _, sizes)) in blocks {
        alternating.set(first, None, alternate_sizes(sizes, index + offset));
    }
    alternating
}

/// The block in which the range at an even place, counted from `offset` on, fails.
fn alternate_sizes(sizes: &SizeSteps, offset: usize) -> SizeSteps {
    let starts = sizes.iter().map(|(start, _, _)| start).filter(|start| *start <= LONG_MAX).enumerate();
    let mut alternating = Steps::constant(Choice::BUILTIN);
    for (index, start) in starts {
        let fails = (index + offset).is_multiple_of(2);
        alternating.set(start, None, if fails { Choice::plain(PROBE_ALGORITHM) } else { Choice::BUILTIN });
    }
    alternating
}

impl Checkerboard {
    /// Whether a call must fail where the file is obeyed.
    ///
    /// Lookup bytes of 0 are hard to meet: most calls with a count of 0 return before they look a rule up.
    pub fn errs(&self, collective: Collective, ranks: u64, lookup_bytes: u64) -> bool {
        self.table.lookup(collective, ranks, lookup_bytes).algorithm == PROBE_ALGORITHM
    }

    /// Exchanges failing and builtin ranges of a collective: where only some communicator sizes can be tried, it is
    /// the calls on those that have to tell something.
    pub fn invert(&mut self, collective: Collective) {
        let blocks = self.table.collectives().find(|(found, _)| *found == collective).map(|(_, blocks)| blocks);
        let Some(blocks) = blocks else { return };
        let first_fails = blocks.get(0).get(0).algorithm == PROBE_ALGORITHM;
        let inverted = alternate_blocks(blocks, usize::from(first_fails));
        self.table.set(collective, inverted);
    }

    /// The file to load. It is only fit for calls that agree on the message size, and whose errors are returned.
    pub fn file(&self) -> ClassicFile {
        let header = vec![format!(
            "Probe: algorithm {PROBE_ALGORITHM} does not exist, and calls that meet it fail. Not for use."
        )];
        ClassicFile::from_table_accepting(&self.table, &Notes { header, ..Notes::default() }, |_| true)
            .expect("hazards are accepted, no parameter is set, and sizes that are too large were left out")
    }

    /// Where the choices change, by block of communicator sizes; nothing for a collective without rules.
    pub fn edges(&self, collective: Collective) -> Vec<Edges> {
        let blocks = self.table.collectives().filter(|(found, _)| *found == collective);
        let edges = |(first, end, sizes): (u64, Option<u64>, &SizeSteps)| {
            let sizes = sizes.iter().map(|(start, _, _)| start).skip(1).collect();
            Edges { first, end, sizes }
        };
        blocks.flat_map(|(_, blocks)| blocks.iter().map(edges)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::read;
    use crate::release::Release;
    use crate::table::all_builtin;

    #[test]
    fn inversion_exchanges_the_colours_and_keeps_the_boundaries() {
        let board = checkerboard(&table());
        let mut inverted = board.clone();
        inverted.invert(Collective::Bcast);
        for ranks in 1..12 {
            for bytes in [0, 1023, 1024, 65535, 65536, 1 << 20] {
                let errs = |board: &Checkerboard| board.errs(Collective::Bcast, ranks, bytes);
                assert_ne!(errs(&board), errs(&inverted), "{ranks} ranks, {bytes} bytes");
            }
        }
        assert_eq!(board.edges(Collective::Bcast), inverted.edges(Collective::Bcast));
        inverted.invert(Collective::Bcast);
        assert_eq!(board, inverted);
        inverted.invert(Collective::Barrier);
        assert_eq!(board, inverted);
    }

    /// Builtin below 4 ranks, three ranges for 4 to 7, one choice from 8 on.
    fn table() -> RuleTable {
        let mut four = Steps::constant(Choice::plain(1));
        four.set(1024, Some(65536), Choice::plain(6));
        let mut blocks = all_builtin();
        blocks.set(4, Some(8), four);
        blocks.set(8, None, Steps::constant(Choice::plain(3).with_segsize(1 << 40)));
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, blocks);
        table
    }

    #[test]
    fn neighbours_differ_and_boundaries_stay() {
        let board = checkerboard(&table());
        let errs = |ranks, bytes| board.errs(Collective::Bcast, ranks, bytes);
        assert_eq!([errs(2, 0), errs(3, 1 << 30)], [true, true]);
        assert_eq!([0, 1023, 1024, 65535, 65536].map(|bytes| errs(4, bytes)), [false, false, true, true, false]);
        assert_eq!([errs(7, 1024), errs(8, 1024), errs(8, 0)], [true, true, true]);
        assert!(!board.errs(Collective::Barrier, 4, 0));
        let edges = |first, end, sizes: &[u64]| Edges { first, end, sizes: sizes.to_vec() };
        let expected = [edges(0, Some(4), &[]), edges(4, Some(8), &[1024, 65536]), edges(8, None, &[])];
        assert_eq!(board.edges(Collective::Bcast), expected);
        assert_eq!(board.edges(Collective::Barrier), []);
    }

    #[test]
    fn the_file_says_what_the_board_says() {
        let board = checkerboard(&table());
        let file = read(&board.file().to_string()).expect("a good file");
        for release in Release::ALL {
            for ranks in 1..12 {
                for bytes in [0, 1023, 1024, 65535, 65536] {
                    let served = file.lookup(release, Collective::Bcast, ranks, bytes).expect("rules for everything");
                    let fails = served.choice == Choice::plain(PROBE_ALGORITHM);
                    assert_eq!(fails, board.errs(Collective::Bcast, ranks.into(), bytes), "{release} {ranks} {bytes}");
                }
            }
        }
    }

    #[test]
    fn one_rule_for_everything_fails_everywhere() {
        let mut table = RuleTable::new();
        table.set(Collective::Scatter, Steps::constant(Steps::constant(Choice::plain(2))));
        let board = checkerboard(&table);
        assert!(board.errs(Collective::Scatter, 1, 0) && board.errs(Collective::Scatter, 9, 1 << 40));
    }

    #[test]
    fn boundaries_that_no_call_reaches_are_left_out() {
        let mut sizes = Steps::constant(Choice::plain(1));
        sizes.set(u64::MAX, None, Choice::plain(6));
        let mut blocks = Steps::constant(sizes);
        blocks.set(1 << 40, None, Steps::constant(Choice::BUILTIN));
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, blocks);
        let board = checkerboard(&table);
        assert_eq!(board.edges(Collective::Bcast), [Edges { first: 0, end: None, sizes: vec![] }]);
        assert!(read(&board.file().to_string()).is_ok());
    }
}
