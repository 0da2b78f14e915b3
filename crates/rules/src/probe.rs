//! Files that show from outside which rule applies to a call.
//!
//! Open MPI says nothing about a file that it rejects. But a rule that makes the call fail shows that it was selected.
//! So a file of the same shape and format, with such rules at every other place, shows the real place of each boundary.
//!
//! A classic file can name an algorithm that does not exist. The JSON reader of 6.0 drops such a rule (read and run on
//! 6.0.0a1). There, an algorithm for two ranks fails on any other number, for the collectives that have one; rules for
//! other collectives cannot be seen from outside.

use crate::choice::Choice;
use crate::collective::Collective;
use crate::emit::{self, EmitError, INT_MAX, LONG_MAX, Notes, TargetFormat};
use crate::hazard::RankRange;
use crate::registry;
use crate::release::Release;
use crate::steps::Steps;
use crate::table::{RankSteps, RuleTable, SizeSteps};

/// An algorithm id that no release has: under a classic file, a call that uses it fails with `MPI_ERR_ARG` on every
/// rank.
pub const PROBE_ALGORITHM: u32 = 99;

/// The boundaries of a table, with choices that alternate between failing and the builtin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkerboard {
    table: RuleTable,
    format: TargetFormat,
}

/// Returns a choice that makes calls fail in a file of this format; none if the format has none.
fn failing(format: TargetFormat, collective: Collective) -> Option<Choice> {
    match format {
        TargetFormat::Classic | TargetFormat::V2 => Some(Choice::plain(PROBE_ALGORITHM)),
        TargetFormat::Json => registry::algorithms(Release::V6_0, collective)
            .find(|algorithm| algorithm.only_two)
            .map(|algorithm| Choice::plain(algorithm.id)),
    }
}

/// Returns true if a file of this format can show which rules the calls of a collective use.
pub fn shows(format: TargetFormat, collective: Collective) -> bool {
    failing(format, collective).is_some()
}

impl Checkerboard {
    /// The checkerboard over a table's boundaries: neighbouring message ranges of the same communicators differ, and so
    /// do the first ranges of neighbouring communicator sizes. The very first range of a collective fails. Boundaries
    /// above Open MPI's counts are left out, and so are collectives whose rules the format cannot show.
    pub fn new(table: &RuleTable, format: TargetFormat) -> Self {
        let mut board = RuleTable::new();
        for (collective, blocks) in table.collectives() {
            if let Some(fails) = failing(format, collective) {
                board.set(collective, alternate_ranks(blocks, fails, 0));
            }
        }
        Self { table: board, format }
    }

    /// Returns true if a call must fail provided that Open MPI obeys the file.
    ///
    /// Few calls have 0 lookup bytes: most calls with a count of 0 return before they look up a rule.
    pub fn errs(&self, collective: Collective, ranks: u64, lookup_bytes: u64) -> bool {
        let fails = !self.table.lookup(collective, ranks, lookup_bytes).is_builtin();
        fails && (self.format != TargetFormat::Json || ranks != 2)
    }

    /// Exchanges failing and builtin ranges of a collective: if only some communicator sizes can be tried, the failing
    /// ranges should be among those.
    pub fn invert(&mut self, collective: Collective) {
        let (blocks, fails) = (self.table.get(collective), failing(self.format, collective));
        let (Some(blocks), Some(fails)) = (blocks, fails) else { return };
        let first_fails = !blocks.get(0).get(0).is_builtin();
        let inverted = alternate_ranks(blocks, fails, usize::from(first_fails));
        self.table.set(collective, inverted);
    }

    /// The file to load. It works only for calls whose ranks agree on the message size, and whose errors are returned.
    pub fn text(&self) -> Result<String, EmitError> {
        let header = vec!["Probe: calls that meet its rules fail. Not for use.".to_owned()];
        let notes = Notes { header, ..Notes::default() };
        // A probe breaks calls on purpose.
        emit::write(&self.table, &notes, self.format)
    }

    /// Lists the lookup bytes at which the choices change, by communicator sizes; empty for a collective without rules.
    pub fn edges(&self, collective: Collective) -> Vec<(RankRange, Vec<u64>)> {
        let edges = |(first, end, sizes): (u64, Option<u64>, &SizeSteps)| {
            (RankRange { first, end }, sizes.iter().map(|(start, _, _)| start).skip(1).collect())
        };
        self.table.get(collective).into_iter().flat_map(Steps::iter).map(edges).collect()
    }
}

/// The communicator ranges in which the first message range fails: those at even places, counted from `offset` on.
fn alternate_ranks(blocks: &RankSteps, fails: Choice, offset: usize) -> RankSteps {
    let blocks = blocks.iter().filter(|(first, _, _)| *first <= INT_MAX).enumerate();
    let mut alternating = Steps::constant(Steps::constant(Choice::BUILTIN));
    for (index, (first, _, sizes)) in blocks {
        alternating.set(first, None, alternate_sizes(sizes, fails, index + offset));
    }
    alternating
}

/// The message ranges, of which those at even places, counted from `offset` on, fail.
fn alternate_sizes(sizes: &SizeSteps, fails: Choice, offset: usize) -> SizeSteps {
    let starts = sizes.iter().map(|(start, _, _)| start).filter(|start| *start <= LONG_MAX).enumerate();
    let mut alternating = Steps::constant(Choice::BUILTIN);
    for (index, start) in starts {
        let even = (index + offset).is_multiple_of(2);
        alternating.set(start, None, if even { fails } else { Choice::BUILTIN });
    }
    alternating
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::call::Distribution;
    use crate::file::{Loaded, load};
    use crate::table::all_builtin;
    use crate::units::Ranks;

    fn classic(table: &RuleTable) -> Checkerboard {
        Checkerboard::new(table, TargetFormat::Classic)
    }

    /// Reads a board as every version of the format does.
    fn read(board: &Checkerboard) -> Vec<Loaded> {
        let text = board.text().expect("it can be said");
        board.format.readers().iter().map(|version| load(text.as_bytes(), version).expect("accepted")).collect()
    }

    #[test]
    fn inversion_exchanges_the_colours_and_keeps_the_boundaries() {
        let board = classic(&table(Collective::Bcast));
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

    /// A table: builtin below 4 ranks, three ranges for 4 to 7, one choice from 8 on.
    fn table(collective: Collective) -> RuleTable {
        let mut four = Steps::constant(Choice::plain(1));
        four.set(1024, Some(65536), Choice::plain(3));
        let mut blocks = all_builtin();
        blocks.set(4, Some(8), four);
        blocks.set(8, None, Steps::constant(Choice::plain(3).with_segsize(1 << 40)));
        let mut table = RuleTable::new();
        table.set(collective, blocks);
        table
    }

    #[test]
    fn neighbours_differ_and_boundaries_stay() {
        let board = classic(&table(Collective::Bcast));
        let errs = |ranks, bytes| board.errs(Collective::Bcast, ranks, bytes);
        assert_eq!([errs(2, 0), errs(3, 1 << 30)], [true, true]);
        assert_eq!([0, 1023, 1024, 65535, 65536].map(|bytes| errs(4, bytes)), [false, false, true, true, false]);
        assert_eq!([errs(7, 1024), errs(8, 1024), errs(8, 0)], [true, true, true]);
        assert!(!board.errs(Collective::Barrier, 4, 0));
        let edges = |first, end, sizes: &[u64]| (RankRange { first, end }, sizes.to_vec());
        let expected = [edges(0, Some(4), &[]), edges(4, Some(8), &[1024, 65536]), edges(8, None, &[])];
        assert_eq!(board.edges(Collective::Bcast), expected);
        assert_eq!(board.edges(Collective::Barrier), []);
    }

    /// The file has the meaning of the board, in its own format. 6.0 does not drop the rules of a JSON board.
    #[test]
    fn a_board_is_read_as_it_is_meant() {
        for (format, collective) in [
            (TargetFormat::Classic, Collective::Bcast),
            (TargetFormat::V2, Collective::Bcast),
            (TargetFormat::Json, Collective::Allgather),
        ] {
            let board = Checkerboard::new(&table(collective), format);
            for loaded in read(&board) {
                for ranks in 3..12 {
                    for bytes in [0, 1023, 1024, 65535, 65536] {
                        let in_use = loaded.lookup_by_size(collective, Ranks(ranks), bytes, Distribution::Any);
                        let fails = !in_use.choice.is_builtin();
                        assert_eq!(fails, board.errs(collective, ranks.into(), bytes), "{format} {ranks} {bytes}");
                    }
                }
            }
        }
    }

    #[test]
    fn json_shows_collectives_that_have_an_algorithm_for_two_ranks() {
        let shown: Vec<_> =
            Collective::ALL.into_iter().filter(|collective| shows(TargetFormat::Json, *collective)).collect();
        let named = [Collective::Allgather, Collective::Allgatherv, Collective::Alltoall, Collective::Barrier];
        assert_eq!(shown, named);
        let board = Checkerboard::new(&table(Collective::Allgather), TargetFormat::Json);
        assert!(!board.errs(Collective::Allgather, 2, 0), "two ranks are what the algorithm is for");
        assert!(board.errs(Collective::Allgather, 3, 0));
        assert_eq!(Checkerboard::new(&table(Collective::Bcast), TargetFormat::Json).edges(Collective::Bcast), []);
        // A rule that names no algorithm would be dropped, and show nothing.
        let text = board.text().expect("it can be said");
        assert!(text.starts_with('{') && !text.contains(&PROBE_ALGORITHM.to_string()), "{text}");
    }

    #[test]
    fn boundaries_that_no_call_reaches_are_left_out() {
        let mut sizes = Steps::constant(Choice::plain(1));
        sizes.set(u64::MAX, None, Choice::plain(6));
        let mut blocks = Steps::constant(sizes);
        blocks.set(1 << 40, None, Steps::constant(Choice::BUILTIN));
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, blocks);
        let board = classic(&table);
        assert_eq!(board.edges(Collective::Bcast), [(RankRange { first: 0, end: None }, vec![])]);
        assert!(board.errs(Collective::Bcast, 9, 1 << 40) && board.text().is_ok());
    }

    proptest! {
        #[test]
        fn boards_keep_every_boundary(
            ranks in prop::collection::vec((1u64..30, prop::collection::vec((1u64..60, 0u32..5), 0..5)), 0..5),
        ) {
            let mut blocks = all_builtin();
            for (first, sizes) in ranks {
                let mut steps = Steps::constant(Choice::plain(1));
                sizes.into_iter().for_each(|(size, id)| steps.set(size, None, Choice::plain(id)));
                blocks.set(first, None, steps);
            }
            let mut table = RuleTable::new();
            table.set(Collective::Bcast, blocks);
            let board = classic(&table);
            for (_, blocks) in table.collectives() {
                let expected: Vec<_> = blocks
                    .iter()
                    .map(|(first, end, sizes)| {
                        let sizes: Vec<u64> = sizes.iter().map(|(start, _, _)| start).skip(1).collect();
                        (RankRange { first, end }, sizes)
                    })
                    .collect();
                let edges = board.edges(Collective::Bcast);
                prop_assert_eq!(&edges, &expected);
                for (range, sizes) in &edges {
                    let errs = |bytes| board.errs(Collective::Bcast, range.first, bytes);
                    for at in sizes {
                        prop_assert_ne!(errs(*at), errs(at - 1));
                    }
                    if range.first > 0 {
                        prop_assert_ne!(errs(0), board.errs(Collective::Bcast, range.first - 1, 0));
                    }
                }
            }
        }
    }
}
