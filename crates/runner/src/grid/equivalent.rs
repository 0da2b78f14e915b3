//! Candidates that cannot differ: measured once, and shared.
//!
//! Two choices do the same where the same algorithm runs with the same parameters in the end, by the fallbacks and
//! clamps of the registry (`collrules_rules::effective`), or where two algorithms come to the same calls of the same
//! send and receive functions. The latter holds for a few algorithms on 2 ranks, where every tree is one edge, and
//! for a single chain, which is what a pipeline is; it was read in `ompi/mca/coll/base/coll_base_*.c` of 4.1 and 5.0, and
//! `tests/cli/traffic.rs` shows that what is shared here sends the same messages. Algorithms that send the same messages
//! but copy or compute otherwise, such as Bruck's on 2 ranks, are left apart.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use collrules_record::cell::type_size;
use collrules_record::plan::Shared;
use collrules_record::{Candidate, Cell};
use collrules_reference::Reference;
use collrules_rules::call::Call;
use collrules_rules::effective::{EffectiveAlgorithm, effective};
use collrules_rules::registry::{self, Algorithm};
use collrules_rules::{Choice, Collective, Release};

/// What a choice comes to in a cell.
struct Meaning {
    choice: Choice,
    /// What it comes to; equal for choices that do the same.
    same_as: Choice,
    /// Why it is not what it says.
    why: Vec<String>,
}

/// The choices to measure, in their order, and those that need not be.
///
/// Of choices that do the same the plainest is measured: one that is safe for operations that do not commute and does
/// not give way to another algorithm, if there is one, then the one with the smallest parameters and the lowest id.
pub(super) fn share(release: Release, cell: Cell, choices: &[Choice]) -> (Vec<Candidate>, Vec<Shared>) {
    let outcomes: Vec<Meaning> = choices.iter().filter_map(|choice| outcome(release, cell, *choice)).collect();
    let mut measured: BTreeMap<Choice, &Meaning> = BTreeMap::new();
    for outcome in &outcomes {
        measured
            .entry(outcome.same_as)
            .and_modify(|best| {
                if plainness(release, cell, outcome) < plainness(release, cell, best) {
                    *best = outcome;
                }
            })
            .or_insert(outcome);
    }
    let mut candidates = Vec::new();
    let mut shared = Vec::new();
    for outcome in &outcomes {
        let best = measured[&outcome.same_as];
        if best.choice == outcome.choice {
            candidates.push(Candidate::Tuned(outcome.choice));
            continue;
        }
        // The one that is measured may be the one that is not what it says.
        let why = if outcome.why.is_empty() { &best.why } else { &outcome.why };
        shared.push(Shared {
            candidate: Candidate::Tuned(outcome.choice),
            measured_as: Candidate::Tuned(best.choice),
            why: why.join("; "),
        });
    }
    (candidates, shared)
}

/// The reference algorithms to measure, and the one that need not be: on 2 ranks some send the same messages.
pub(super) fn share_references(cell: Cell, references: &[Reference]) -> (Vec<Candidate>, Vec<Shared>) {
    let all = || references.iter().copied().map(Candidate::Reference);
    let same = match references {
        [one, other] => cell.script(*one).zip(cell.script(*other)).is_some_and(|(one, other)| one.is_same_as(&other)),
        _ => false,
    };
    let why = "its messages are the same there";
    let shared = |(candidate, measured_as)| Shared { candidate, measured_as, why: why.to_owned() };
    let measured = all().take(if same { 1 } else { references.len() }).collect();
    (measured, all().skip(1).zip(all()).filter(|_| same).map(shared).collect())
}

/// What a choice comes to; none where no algorithm runs, so that there is nothing to measure.
fn outcome(release: Release, cell: Cell, choice: Choice) -> Option<Meaning> {
    let call = Call::new(cell.collective, cell.ranks, cell.bytes).with_type_size(type_size(cell.collective));
    let effective = effective(release, cell.collective, choice, &call);
    let EffectiveAlgorithm::Algorithm(_) = effective.algorithm else { return None };
    let mut why = effective.reasons;
    let mut same_as = effective.choice;
    if let Some((other, reason)) = same_calls(cell, same_as) {
        same_as = other;
        why.push(reason.to_owned());
    }
    Some(Meaning { choice, same_as, why })
}

/// The choice whose calls of send and receive functions are those of this one, if it is another.
fn same_calls(cell: Cell, choice: Choice) -> Option<(Choice, &'static str)> {
    use Collective::{Allgather, Allgatherv, Alltoall, Barrier, Bcast, Gather, Reduce, Scatter};
    const PIPELINE: u32 = 3;
    let other = |algorithm| Choice { algorithm, faninout: 0, ..choice };
    let (same, why) = match (cell.collective, choice.algorithm, cell.ranks.0) {
        // The root sends one message, whatever the tree.
        (Bcast, 2 | 3 | 5 | 6 | 7, 2) if choice.segsize == 0 => (other(1), "on 2 ranks the root sends one message"),
        (Bcast, 2 | 5 | 6 | 7, 2) => (other(PIPELINE), "on 2 ranks every tree is one edge"),
        (Reduce, 2 | 4 | 5, 2) => (other(PIPELINE), "on 2 ranks every tree is one edge"),
        (Bcast | Reduce, 2, _) if choice.faninout == 1 => (other(PIPELINE), "a single chain is a pipeline"),
        (Gather, 2, 2) | (Scatter, 2 | 3, 2) => (other(1), "on 2 ranks there is one message"),
        // One exchange, by the same function.
        (Allgather, 4..=6, 2) | (Allgatherv | Barrier, 4 | 5, 2) => (other(3), "on 2 ranks there is one exchange"),
        (Alltoall, 5, 2) => (other(2), "on 2 ranks there is one exchange"),
        _ => return None,
    };
    Some((same, why))
}

/// Orders choices that do the same: the least is measured.
fn plainness(release: Release, cell: Cell, outcome: &Meaning) -> impl Ord {
    let choice = outcome.choice;
    let algorithm = registry::algorithm(release, cell.collective, choice.algorithm);
    let reorders = algorithm.is_ok_and(Algorithm::reorders);
    let itself = outcome.same_as.algorithm == choice.algorithm;
    (reorders, Reverse(itself), choice.segsize, choice.faninout, choice.max_requests, choice.algorithm)
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};

    use super::*;

    /// What is measured for each choice.
    fn measured(collective: Collective, ranks: u32, bytes: u64, choices: &[&str]) -> Vec<String> {
        let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let choices: Vec<Choice> = choices.iter().map(|choice| choice.parse().expect("a choice")).collect();
        let (candidates, shared) = share(Release::V5_0, cell, &choices);
        assert_eq!(candidates.len() + shared.len(), choices.len());
        assert!(shared.iter().all(|shared| !shared.why.is_empty()), "{shared:?}");
        let stands_for = |choice: &Choice| {
            let candidate = Candidate::Tuned(*choice);
            let found = shared.iter().find(|shared| shared.candidate == candidate);
            found.map_or(candidate, |shared| shared.measured_as).choice().expect("is a choice").to_string()
        };
        choices.iter().map(stands_for).collect()
    }

    #[test]
    fn a_segment_that_holds_the_message_is_none() {
        let choices = ["3/0/0/0", "3/0/8192/0", "3/0/65536/0"];
        assert_eq!(measured(Collective::Bcast, 4, 8192, &choices), ["3/0/0/0"; 3]);
        assert_eq!(measured(Collective::Bcast, 4, 8193, &choices), ["3/0/0/0", "3/0/8192/0", "3/0/0/0"]);
    }

    #[test]
    fn algorithms_that_give_way_are_measured_as_what_runs() {
        assert_eq!(measured(Collective::Allgather, 3, 64, &["2/2/0/0", "3/0/0/0"]), ["2/2/0/0"; 2]);
        assert_eq!(measured(Collective::Allgather, 4, 64, &["2/2/0/0", "3/0/0/0"]), ["2/2/0/0", "3/0/0/0"]);
        assert_eq!(measured(Collective::Allreduce, 8, 16, &["3/0/0/0", "4/0/0/0", "5/0/0/0"]), ["3/0/0/0"; 3]);
        assert_eq!(measured(Collective::Allreduce, 4, 64, &["4/0/0/0", "5/0/0/0"]), ["4/0/0/0"; 2]);
        assert_eq!(measured(Collective::Bcast, 4, 3, &["1/0/0/0", "8/0/0/0", "9/0/0/0"]), ["1/0/0/0"; 3]);
        assert_eq!(measured(Collective::Bcast, 4, 1, &["3/0/0/0", "4/0/0/0"]), ["3/0/0/0"; 2]);
    }

    #[test]
    fn trees_of_two_ranks_are_one() {
        let choices = ["1/0/0/0", "2/1/0/0", "3/0/0/0", "4/0/0/0", "5/0/0/0", "6/0/0/0", "7/0/0/0"];
        let expected = ["1/0/0/0", "1/0/0/0", "1/0/0/0", "4/0/0/0", "1/0/0/0", "1/0/0/0", "1/0/0/0"];
        assert_eq!(measured(Collective::Bcast, 2, 1 << 20, &choices), expected);
        let segmented = ["2/1/8192/0", "3/0/8192/0", "5/0/8192/0", "6/0/8192/0", "7/0/8192/0"];
        assert_eq!(measured(Collective::Bcast, 2, 1 << 20, &segmented), ["3/0/8192/0"; 5]);
        assert_eq!(measured(Collective::Bcast, 3, 64, &["5/0/0/0", "6/0/0/0"]), ["5/0/0/0", "6/0/0/0"]);
        assert_eq!(
            measured(Collective::Reduce, 2, 64, &["1/0/0/0", "2/1/0/0", "5/0/0/0", "6/0/0/0"]),
            ["1/0/0/0", "5/0/0/0", "5/0/0/0", "6/0/0/0"]
        );
        assert_eq!(measured(Collective::Barrier, 2, 0, &["3/0/0/0", "4/0/0/0", "5/0/0/0"]), ["3/0/0/0"; 3]);
        assert_eq!(measured(Collective::Barrier, 4, 0, &["3/0/0/0", "4/0/0/0"]), ["3/0/0/0", "4/0/0/0"]);
    }

    #[test]
    fn one_chain_is_a_pipeline() {
        let choices = ["2/1/8192/0", "2/2/8192/0", "3/0/8192/0"];
        let expected = ["3/0/8192/0", "2/2/8192/0", "3/0/8192/0"];
        assert_eq!(measured(Collective::Bcast, 4, 1 << 20, &choices), expected);
        assert_eq!(measured(Collective::Reduce, 4, 1 << 20, &choices), expected);
    }
}
