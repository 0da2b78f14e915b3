//! Tables that must not be written, and the reasons.
//!
//! Hazards are judged for all releases at once, since a rules file may outlive its Open MPI.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use crate::collective::Collective;
use crate::registry;
use crate::steps::within;
use crate::table::{RuleTable, SizeSteps};
use crate::units::Ranks;

/// Communicator sizes `first..end`; open above if there is no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RankRange {
    /// The smallest size.
    pub first: u64,
    /// The end, excluded.
    pub end: Option<u64>,
}

impl RankRange {
    /// Returns true if the range contains this number of ranks.
    pub fn holds(&self, ranks: Ranks) -> bool {
        within(self.first, self.end, ranks.0.into())
    }
}

impl fmt::Display for RankRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.end) {
            (0, None) => f.write_str("any number of ranks"),
            (0, Some(end)) => write!(f, "fewer than {end} ranks"),
            (first, None) => write!(f, "{first} ranks and more"),
            (first, Some(end)) if end == first + 1 => write!(f, "{first} ranks"),
            (first, Some(end)) => write!(f, "{first} to {} ranks", end - 1),
        }
    }
}

/// Reason why a table would break programs or corrupt their data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
pub enum Hazard {
    /// A two-process algorithm for other communicator sizes.
    #[error(
        "{} for {ranks} is made for exactly 2 ranks; with any other number the call fails on every rank, which \
         aborts the program.",
        name_choice(*collective, choice)
    )]
    TwoProcesses {
        /// The collective.
        collective: Collective,
        /// The block of communicator sizes.
        ranks: RankRange,
        /// The choice.
        choice: Choice,
    },
    /// A scatter or gather that changes its algorithm with the message size.
    #[error(
        "{collective} for {ranks} changes between {} with the message size; ranks may look up different sizes, since \
         some of their arguments are not significant, and then mix algorithms, which corrupts data or hangs.",
        list(*collective, choices)
    )]
    SizeDependent {
        /// The collective.
        collective: Collective,
        /// The block of communicator sizes.
        ranks: RankRange,
        /// The choices, in the order of message sizes, each once.
        choices: Vec<Choice>,
    },
    /// A radix below 2.
    #[error(
        "{} for {ranks} has a fan-out below 2, which Open MPI 6.0 takes as its radix and never comes to an end; write \
         a fan-out of 2 or more.",
        name_choice(*collective, choice)
    )]
    EndlessLoop {
        /// The collective.
        collective: Collective,
        /// The block of communicator sizes.
        ranks: RankRange,
        /// The choice.
        choice: Choice,
    },
    /// An algorithm that reorders operands.
    #[error(
        "{} for {ranks} gives wrong results for operations that do not commute, and nothing tests for them once a \
         rule decides.",
        name_choice(*collective, choice)
    )]
    NonCommutative {
        /// The collective.
        collective: Collective,
        /// The block of communicator sizes.
        ranks: RankRange,
        /// The choice.
        choice: Choice,
    },
}

/// All hazards of a table, by collective and communicator size.
pub fn check(table: &RuleTable) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    for (collective, blocks) in table.collectives() {
        for (first, end, sizes) in blocks.iter() {
            check_block(collective, RankRange { first, end }, sizes, &mut hazards);
        }
    }
    hazards
}

/// Appends the hazards of one block, each kind once per choice.
fn check_block(collective: Collective, ranks: RankRange, sizes: &SizeSteps, hazards: &mut Vec<Hazard>) {
    let mut choices: Vec<Choice> = Vec::new();
    for (_, _, choice) in sizes.iter() {
        if !choices.contains(choice) {
            choices.push(*choice);
        }
    }
    for &choice in &choices {
        let Some(algorithm) = registry::in_any_release(collective, choice.algorithm) else { continue };
        if algorithm.only_two && ranks != (RankRange { first: 2, end: Some(3) }) {
            hazards.push(Hazard::TwoProcesses { collective, ranks, choice });
        }
        let radix = matches!((collective, choice.algorithm), (Collective::Allgather, 2) | (Collective::Reduce, 8));
        if radix && choice.faninout < 2 {
            hazards.push(Hazard::EndlessLoop { collective, ranks, choice });
        }
        if algorithm.reorders {
            hazards.push(Hazard::NonCommutative { collective, ranks, choice });
        }
    }
    if collective.looks_up_by_rank() && !choices.iter().all(|choice| interoperate(collective, *choice, choices[0])) {
        hazards.push(Hazard::SizeDependent { collective, ranks, choices });
    }
}

/// Returns true if ranks with different choices of these two complete a call together.
pub fn interoperate(collective: Collective, one: Choice, other: Choice) -> bool {
    let class = |choice: Choice| {
        let algorithm = match (collective, choice.algorithm) {
            // Scatter basic_linear and linear_nb put the same messages on the wire.
            (Collective::Scatter, 3) => 1,
            (_, algorithm) => algorithm,
        };
        // Parameters that the algorithm ignores make no difference; neither does the rest of a rule for the builtin.
        let uses = registry::in_any_release(collective, choice.algorithm).map_or_else(Default::default, |a| a.uses);
        let used = uses.keep(choice);
        (algorithm, used.faninout, used.segsize)
    };
    class(one) == class(other)
}

/// Collective and choice, with the algorithm's name if it has one.
fn name_choice(collective: Collective, choice: &Choice) -> String {
    format!("{collective} {}", with_name(collective, choice))
}

fn list(collective: Collective, choices: &[Choice]) -> String {
    let choices: Vec<_> = choices.iter().map(|choice| with_name(collective, choice)).collect();
    choices.join(", ")
}

fn with_name(collective: Collective, choice: &Choice) -> String {
    match registry::in_any_release(collective, choice.algorithm) {
        Some(algorithm) => format!("{choice} ({})", algorithm.name),
        None if choice.is_builtin() => format!("{choice} (default)"),
        None => choice.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Steps;
    use crate::table::all_builtin;

    /// A table with one block; choices over lookup bytes are pairs of start and choice, beginning at 0.
    fn block(collective: Collective, ranks: (u64, Option<u64>), sizes: &[(u64, Choice)]) -> RuleTable {
        let mut steps = Steps::constant(Choice::BUILTIN);
        for (start, choice) in sizes {
            steps.set(*start, None, *choice);
        }
        let mut blocks = all_builtin();
        blocks.set(ranks.0, ranks.1, steps);
        let mut table = RuleTable::new();
        table.set(collective, blocks);
        table
    }

    const TWO: (u64, Option<u64>) = (2, Some(3));
    const FOUR_UP: (u64, Option<u64>) = (4, None);

    #[test]
    fn two_process_algorithms_are_for_two_processes() {
        for (collective, id) in [
            (Collective::Allgather, 6),
            (Collective::Allgatherv, 5),
            (Collective::Alltoall, 5),
            (Collective::Barrier, 5),
        ] {
            let rule = [(0, Choice::plain(id))];
            assert_eq!(check(&block(collective, TWO, &rule)), []);
            for (first, end) in [(2, Some(4)), (2, None), (0, Some(3)), (3, Some(4))] {
                let ranks = RankRange { first, end };
                let hazard = Hazard::TwoProcesses { collective, ranks, choice: Choice::plain(id) };
                assert_eq!(check(&block(collective, (first, end), &rule)), [hazard]);
            }
        }
    }

    #[test]
    fn scatter_and_gather_keep_one_algorithm_over_sizes() {
        let table = |collective, ids: [u32; 2]| {
            block(collective, FOUR_UP, &[(0, Choice::plain(ids[0])), (1024, Choice::plain(ids[1]))])
        };
        let hazardous = |collective, ids| !check(&table(collective, ids)).is_empty();
        assert!(!hazardous(Collective::Scatter, [1, 3]));
        assert!(hazardous(Collective::Scatter, [1, 2]));
        assert!(hazardous(Collective::Scatter, [0, 1]));
        assert!(hazardous(Collective::Gather, [1, 3]));
        assert!(hazardous(Collective::Gather, [2, 0]));
        assert!(!hazardous(Collective::Bcast, [1, 6]));
        // Segments are part of the gather linear_sync protocol, and nothing to a binomial scatter.
        let segmented = |id| [(0, Choice::plain(id)), (1024, Choice::plain(id).with_segsize(512))];
        assert_ne!(check(&block(Collective::Gather, FOUR_UP, &segmented(3))), []);
        assert_eq!(check(&block(Collective::Scatter, FOUR_UP, &segmented(2))), []);
    }

    #[test]
    fn a_radix_is_at_least_two() {
        for (collective, id) in [(Collective::Allgather, 2), (Collective::Reduce, 8)] {
            let endless = |faninout| {
                let table = block(collective, FOUR_UP, &[(0, Choice::plain(id).with_faninout(faninout))]);
                check(&table).iter().any(|hazard| matches!(hazard, Hazard::EndlessLoop { .. }))
            };
            assert_eq!([0, 1, 2, 4].map(endless), [true, true, false, false], "{collective}");
        }
    }

    #[test]
    fn exactly_the_known_algorithms_reorder_operands() {
        let mut found = Vec::new();
        for collective in Collective::ALL {
            for id in 1..10 {
                let table = block(collective, FOUR_UP, &[(0, Choice::plain(id).with_faninout(2))]);
                if check(&table).iter().any(|hazard| matches!(hazard, Hazard::NonCommutative { .. })) {
                    found.push((collective, id));
                }
            }
        }
        let expected: [(Collective, &[u32]); 3] = [
            (Collective::Allreduce, &[4, 5, 7]),
            (Collective::Reduce, &[2, 3, 4, 5, 8]),
            (Collective::ReduceScatter, &[2, 3]),
        ];
        let expected: Vec<_> =
            expected.into_iter().flat_map(|(collective, ids)| ids.iter().map(move |id| (collective, *id))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_choice_that_comes_back_is_reported_once() {
        let ring = Choice::plain(4);
        let table = block(Collective::Allreduce, (4, Some(8)), &[(0, ring), (64, Choice::BUILTIN), (1024, ring)]);
        let hazards: Vec<_> = check(&table).iter().map(Hazard::to_string).collect();
        assert_eq!(
            hazards,
            ["allreduce 4/0/0/0 (ring) for 4 to 7 ranks gives wrong results for operations that do not commute, and \
              nothing tests for them once a rule decides."]
        );
    }

    #[test]
    fn messages_name_everything() {
        let table = block(Collective::Scatter, (0, None), &[(1024, Choice::plain(2))]);
        let text = check(&table)[0].to_string();
        assert!(text.starts_with("scatter for any number of ranks changes between 0/0/0/0 (default), 2/0/0/0 (bin"));
        let table = block(Collective::Barrier, (0, Some(5)), &[(0, Choice::plain(5))]);
        assert!(check(&table)[0].to_string().starts_with("barrier 5/0/0/0 (two_proc) for fewer than 5 ranks is made"));
    }
}
