//! Candidates that cannot differ, of which one is measured for all.
//!
//! Two choices are equivalent if the same algorithm runs with the same parameters in the end, after the fallbacks and
//! limits of the registry (`collrules_rules::effective`), or if two algorithms make the same calls of the same send and
//! receive functions. The latter applies to a few algorithms on 2 ranks, where every tree is one edge, and to a single
//! chain, which is a pipeline. This was read in `ompi/mca/coll/base/coll_base_*.c` of 4.1 and 5.0, and
//! `tests/cli/traffic.rs` shows that equivalent choices send the same messages. Algorithms that send the same messages
//! but copy or compute differently, such as Bruck's on 2 ranks, are not equivalent.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use collrules_program::Reference;
use collrules_record::plan::Shared;
use collrules_record::{Arguments, Candidate, Cell};
use collrules_rules::call::Call;
use collrules_rules::effective::{EffectiveAlgorithm, effective};
use collrules_rules::registry;
use collrules_rules::{Choice, Collective, Release};

/// Effect of a choice in a cell.
struct ChoiceMeaning {
    choice: Choice,
    /// The effective choice, equal for equivalent choices.
    same_as: Choice,
    /// Reasons why it differs from the choice.
    why: Vec<String>,
}

/// The choices to measure, in order, and the equivalent ones.
///
/// Of equivalent choices the plainest is measured: preferably one that is safe for operations that do not commute and
/// does not fall back, then the one with the smallest parameters and the lowest id.
pub(super) fn share(
    release: Release,
    cell: Cell,
    choices: &[Choice],
    arguments: Arguments,
) -> (Vec<Candidate>, Vec<Shared>) {
    let outcomes: Vec<ChoiceMeaning> =
        choices.iter().filter_map(|choice| outcome(release, cell, *choice, arguments)).collect();
    let mut measured: BTreeMap<Choice, &ChoiceMeaning> = BTreeMap::new();
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
        let (candidate, measured_as) = (Candidate::Tuned(outcome.choice), Candidate::Tuned(best.choice));
        shared.push(Shared { candidate, measured_as });
    }
    (candidates, shared)
}

/// The reasons why a candidate does the same in a cell as the one that is measured for it, in phrases.
pub fn reasons(release: Release, cell: Cell, shared: Shared, arguments: Arguments) -> Vec<String> {
    // The measured one may be the one that Open MPI replaces.
    let choices = [shared.candidate, shared.measured_as].into_iter().filter_map(Candidate::choice);
    let mut outcomes = choices.filter_map(|choice| outcome(release, cell, choice, arguments));
    let reasons = outcomes.find(|outcome| !outcome.why.is_empty()).map(|outcome| outcome.why);
    reasons.unwrap_or_else(|| vec!["its messages are the same there".to_owned()])
}

/// The reference algorithms to measure, and an equivalent one: on 2 ranks some send the same messages.
pub(super) fn share_references(
    cell: Cell,
    references: &[Reference],
    arguments: Arguments,
) -> (Vec<Candidate>, Vec<Shared>) {
    let all = || references.iter().copied().map(Candidate::Reference);
    let same = match references {
        [one, other] => {
            let algorithm = |reference: &Reference| cell.reference_with(*reference, arguments);
            algorithm(one).zip(algorithm(other)).is_some_and(|(one, other)| one.is_same_as(&other))
        }
        _ => false,
    };
    let shared = |(candidate, measured_as)| Shared { candidate, measured_as };
    let measured = all().take(if same { 1 } else { references.len() }).collect();
    (measured, all().skip(1).zip(all()).filter(|_| same).map(shared).collect())
}

/// Returns the effect of a choice; none if no algorithm runs.
fn outcome(release: Release, cell: Cell, choice: Choice, arguments: Arguments) -> Option<ChoiceMeaning> {
    let element = arguments.type_size(cell.collective);
    let call = Call::new(cell.collective, cell.ranks, cell.bytes).with_type_size(element);
    let effective = effective(release, cell.collective, choice, &call);
    let EffectiveAlgorithm::Algorithm(_) = effective.algorithm else { return None };
    let mut why = effective.reasons;
    let mut same_as = effective.choice;
    // With another root, some algorithms bring blocks into order that others need not.
    if let Some((other, reason)) = same_calls(cell, same_as).filter(|_| arguments.root == 0) {
        same_as = other;
        why.push(reason.to_owned());
    }
    Some(ChoiceMeaning { choice, same_as, why })
}

/// Another choice that makes the same calls of send and receive functions, if there is one.
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

/// Orders equivalent choices: the least is measured.
fn plainness(release: Release, cell: Cell, outcome: &ChoiceMeaning) -> impl Ord {
    let choice = outcome.choice;
    let algorithm = registry::algorithm(release, cell.collective, choice.algorithm);
    let reorders = algorithm.is_ok_and(|algorithm| algorithm.reorders);
    let itself = outcome.same_as.algorithm == choice.algorithm;
    (reorders, Reverse(itself), choice.segsize, choice.faninout, choice.max_requests, choice.algorithm)
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};

    use super::*;

    /// Returns the choice that is measured for each choice.
    fn measured(collective: Collective, ranks: u32, bytes: u64, choices: &[&str]) -> Vec<String> {
        let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let choices: Vec<Choice> = choices.iter().map(|choice| choice.parse().expect("a choice")).collect();
        let (candidates, shared) = share(Release::V5_0, cell, &choices, Arguments::default());
        assert_eq!(candidates.len() + shared.len(), choices.len());
        let itself = "its messages are the same there";
        let has_reason = |shared: &Shared| reasons(Release::V5_0, cell, *shared, Arguments::default()) != [itself];
        assert!(shared.iter().all(has_reason), "{shared:?}");
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
