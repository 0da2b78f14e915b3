//! The data of the registry: every algorithm of every known release, as a table.

use super::algorithm::MixedTypes::{Fail, FailSegmented, Safe as Sound, Untested};
use super::algorithm::NonCommutative::{Depends, NotApplicable, Safe, Unsafe};
use super::algorithm::When::{
    FewerThanPowerOfTwo, FewerThanRanks, FewerThanSegments, NonCommutativeOperation, NotPowerOfTwo, OddRanks,
    TooSmallToSplit,
};
use super::algorithm::{Algorithm, Fallback, InPlace, MixedTypes, NonCommutative, Uses, When};
use crate::collective::Collective;
use crate::order::Order;
use crate::release::Release;

impl Algorithm {
    const fn since(self, since: Release) -> Self {
        Self { since, ..self }
    }

    const fn until(self, until: Release) -> Self {
        Self { until: Some(until), ..self }
    }

    const fn uses(mut self, uses: Uses) -> Self {
        self.uses = uses;
        self
    }

    const fn for_two(mut self) -> Self {
        self.only_two = true;
        self
    }

    const fn radix(mut self) -> Self {
        self.radix = true;
        self.uses(F)
    }

    const fn falls_back(mut self, fallbacks: &'static [Fallback]) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    const fn sums(mut self, order: Order) -> Self {
        self.sums = Some(order);
        self
    }

    const fn mixed(mut self, mixed: MixedTypes) -> Self {
        self.mixed_types = mixed;
        self
    }

    const fn in_place(mut self, in_place: InPlace) -> Self {
        self.in_place = in_place;
        self
    }

    const fn calls(mut self, calls: &'static [Collective]) -> Self {
        self.calls = calls;
        self
    }
}

/// A fallback to an algorithm, with the fan-out of the rule.
const fn to(when: When, runs: u32) -> Fallback {
    Fallback { when, runs, faninout: None }
}

/// A fallback to an algorithm, with a fan-out of its own.
const fn to_with(when: When, runs: u32, faninout: u32) -> Fallback {
    Fallback { when, runs, faninout: Some(faninout) }
}

// Fallbacks in the order in which they are tested (`ompi/mca/coll/base/coll_base_*.c`).
const ODD_TO_RING_4: &[Fallback] = &[to(OddRanks, 4)];
const ODD_TO_RING_3: &[Fallback] = &[to(OddRanks, 3)];
const TO_BRUCK: &[Fallback] = &[to(NotPowerOfTwo, 2)];
const TO_BRUCK_OF_RADIX_2: &[Fallback] = &[to_with(NotPowerOfTwo, 2, 2)];
const TO_RECURSIVE_DOUBLING: &[Fallback] = &[to(FewerThanRanks, 3)];
const TO_RING: &[Fallback] = &[to(FewerThanSegments, 4)];
const TO_LINEAR: &[Fallback] = &[to(FewerThanPowerOfTwo, 1), to(NonCommutativeOperation, 1)];
const NON_COMMUTATIVE_TO_LINEAR: &[Fallback] = &[to(NonCommutativeOperation, 1)];
const TO_ONE_CHAIN: &[Fallback] = &[to_with(TooSmallToSplit, 2, 1)];
const FEW_TO_LINEAR: &[Fallback] = &[to(FewerThanRanks, 1)];

/// In-place algorithm that all alltoall and alltoallv algorithms share.
const EXCHANGE: InPlace = InPlace::Instead("the pairwise exchange that all algorithms share in place");

// What is used: F the fan-in and fan-out, S the segment size, R the bound on requests.
const F_S: Uses = Uses { faninout: true, segsize: true, max_requests: false };
const F: Uses = Uses { faninout: true, segsize: false, max_requests: false };
const S: Uses = Uses { faninout: false, segsize: true, max_requests: false };
const R: Uses = Uses { faninout: false, segsize: false, max_requests: true };
const S_R: Uses = Uses { faninout: false, segsize: true, max_requests: true };
const F_S_R: Uses = Uses { faninout: true, segsize: true, max_requests: true };

/// An algorithm that moves data or only synchronises, in every release.
const fn moves(id: u32, name: &'static str, about: &'static str) -> Algorithm {
    reduces(id, name, NotApplicable, about)
}

/// An algorithm that applies an operation, in every release.
const fn reduces(id: u32, name: &'static str, noncommutative: NonCommutative, about: &'static str) -> Algorithm {
    let uses = Uses { faninout: false, segsize: false, max_requests: false };
    Algorithm {
        since: Release::V4_0,
        until: None,
        id,
        name,
        about,
        uses,
        radix: false,
        only_two: false,
        fallbacks: &[],
        noncommutative,
        sums: None,
        mixed_types: Untested,
        in_place: InPlace::Plain,
        calls: &[],
    }
}

/// Ids and names as in Open MPI's enumerators (`ompi/mca/coll/tuned/coll_tuned_*_decision.c`).
pub(super) fn entries(collective: Collective) -> &'static [Algorithm] {
    match collective {
        Collective::Allgather => &ALLGATHER,
        Collective::Allgatherv => &ALLGATHERV,
        Collective::Allreduce => &ALLREDUCE,
        Collective::Alltoall => &ALLTOALL,
        Collective::Alltoallv => &ALLTOALLV,
        Collective::Barrier => &BARRIER,
        Collective::Bcast => &BCAST,
        Collective::Exscan => &EXSCAN,
        Collective::Gather => &GATHER,
        Collective::Reduce => &REDUCE,
        Collective::ReduceScatter => &REDUCE_SCATTER,
        Collective::ReduceScatterBlock => &REDUCE_SCATTER_BLOCK,
        Collective::Scan => &SCAN,
        Collective::Scatter => &SCATTER,
    }
}

static ALLGATHER: [Algorithm; 10] = [
    moves(1, "linear", "gather and bcast of the same communicator, by their own rules")
        .calls(&[Collective::Gather, Collective::Bcast])
        .in_place(InPlace::PassedOn)
        .mixed(Sound),
    moves(2, "bruck", "doubling distances, any number of ranks").until(Release::V5_0).mixed(Sound),
    moves(2, "bruck-k-fanout", "Bruck with the fan-out as radix; a radix below 2 never ends")
        .since(Release::V6_0)
        .radix()
        .mixed(Sound),
    moves(3, "recursive_doubling", "pairwise exchange at doubling distances")
        .until(Release::V5_0)
        .falls_back(TO_BRUCK)
        .mixed(Sound),
    moves(3, "recursive_doubling", "pairwise exchange at doubling distances")
        .since(Release::V6_0)
        .falls_back(TO_BRUCK_OF_RADIX_2)
        .mixed(Sound),
    moves(4, "ring", "blocks travel around a ring").mixed(Sound),
    moves(5, "neighbor", "pairs of neighbours exchange").falls_back(ODD_TO_RING_4).mixed(Sound),
    moves(6, "two_proc", "one exchange between two ranks").for_two(),
    moves(7, "sparbit", "striped binomial trees at halving distances").since(Release::V5_0).mixed(Fail),
    moves(8, "direct-messaging", "every rank sends to every other").since(Release::V6_0),
];

static ALLGATHERV: [Algorithm; 6] = [
    moves(1, "default", "gatherv and bcast of the same communicator").calls(&[Collective::Bcast]),
    moves(2, "bruck", "doubling distances, any number of ranks"),
    moves(3, "ring", "blocks travel around a ring"),
    moves(4, "neighbor", "pairs of neighbours exchange").falls_back(ODD_TO_RING_3),
    moves(5, "two_proc", "one exchange between two ranks").for_two(),
    moves(6, "sparbit", "striped binomial trees at halving distances").since(Release::V5_0),
];

static ALLREDUCE: [Algorithm; 7] = [
    reduces(1, "basic_linear", Safe, "linear reduce to rank 0, then linear bcast").sums(Order::Linear),
    reduces(2, "nonoverlapping", Depends, "reduce and bcast of the same communicator, by their own rules")
        .calls(&[Collective::Reduce, Collective::Bcast]),
    reduces(3, "recursive_doubling", Safe, "whole vectors at doubling distances").sums(Order::Doubling),
    reduces(4, "ring", Unsafe, "reduce-scatter and allgather around a ring; few elements run as recursive doubling")
        .sums(Order::Ring(0))
        .falls_back(TO_RECURSIVE_DOUBLING),
    reduces(5, "segmented_ring", Unsafe, "ring in segments; without segments runs as ring")
        .sums(Order::Ring(0))
        .uses(S)
        .falls_back(TO_RING),
    reduces(6, "rabenseifner", Safe, "recursive halving and doubling; few elements run as basic linear")
        .sums(Order::Doubling)
        .falls_back(TO_LINEAR),
    reduces(7, "allgather_reduce", Unsafe, "allgather of the same communicator, then every rank reduces")
        .since(Release::V6_0)
        .calls(&[Collective::Allgather]),
];

static ALLTOALL: [Algorithm; 5] = [
    moves(1, "linear", "everything posted at once").in_place(EXCHANGE).mixed(Sound),
    moves(2, "pairwise", "one partner after the other").in_place(EXCHANGE).mixed(Sound),
    moves(3, "modified_bruck", "doubling distances with blocks packed together").in_place(EXCHANGE).mixed(Sound),
    moves(4, "linear_sync", "linear with a bound on outstanding requests").uses(R).in_place(EXCHANGE).mixed(Sound),
    moves(5, "two_proc", "one exchange between two ranks").for_two().in_place(EXCHANGE),
];

static ALLTOALLV: [Algorithm; 2] = [
    moves(1, "basic_linear", "everything posted at once").in_place(EXCHANGE),
    moves(2, "pairwise", "one partner after the other").in_place(EXCHANGE),
];

static BARRIER: [Algorithm; 6] = [
    moves(1, "linear", "everybody reports to rank 0 and hears back"),
    moves(2, "double_ring", "a token goes around twice"),
    moves(3, "recursive_doubling", "pairwise exchange at doubling distances"),
    moves(4, "bruck", "dissemination"),
    moves(5, "two_proc", "one exchange between two ranks").for_two(),
    moves(6, "tree", "up and down a binomial tree"),
];

static BCAST: [Algorithm; 9] = [
    moves(1, "basic_linear", "the root sends to every rank").mixed(Sound),
    moves(2, "chain", "as many chains as the fan-out says, in segments").uses(F_S).mixed(FailSegmented),
    moves(3, "pipeline", "one chain, in segments").uses(S).mixed(FailSegmented),
    moves(4, "split_binary_tree", "halves go down two sides of a binary tree, which then swap")
        .uses(S)
        .falls_back(TO_ONE_CHAIN)
        .mixed(Fail),
    moves(5, "binary_tree", "binary tree, in segments").uses(S).mixed(FailSegmented),
    moves(6, "binomial", "binomial tree, in segments").uses(S).mixed(FailSegmented),
    moves(7, "knomial", "k-nomial tree, in segments; its radix is an MCA parameter, not the fan-out")
        .uses(S)
        .mixed(FailSegmented),
    moves(8, "scatter_allgather", "binomial scatter, recursive doubling allgather; few elements run as basic linear")
        .falls_back(FEW_TO_LINEAR)
        .mixed(Fail),
    moves(9, "scatter_allgather_ring", "binomial scatter, ring allgather; few elements run as basic linear")
        .falls_back(FEW_TO_LINEAR)
        .mixed(Fail),
];

static EXSCAN: [Algorithm; 2] = [
    reduces(1, "linear", Safe, "one rank after the other").sums(Order::Prefix),
    reduces(2, "recursive_doubling", Safe, "partial results at doubling distances").sums(Order::PrefixDoubling),
];

static GATHER: [Algorithm; 3] = [
    moves(1, "basic_linear", "every rank sends to the root").mixed(Sound),
    moves(2, "binomial", "up a binomial tree").mixed(Sound),
    moves(3, "linear_sync", "linear, the root asks; the segment is what goes first").uses(S).mixed(FailSegmented),
];

static REDUCE: [Algorithm; 8] = [
    reduces(1, "linear", Safe, "the root receives from every rank").sums(Order::Linear),
    reduces(2, "chain", Unsafe, "as many chains as the fan-out says, in segments").sums(Order::Chain(1)).uses(F_S_R),
    reduces(3, "pipeline", Unsafe, "one chain, in segments").sums(Order::Chain(1)).uses(S_R),
    reduces(4, "binary", Unsafe, "binary tree, in segments").sums(Order::Binary).uses(S_R),
    reduces(5, "binomial", Unsafe, "binomial tree, in segments").sums(Order::Binomial).uses(S_R),
    reduces(6, "in-order_binary", Safe, "binary tree that keeps the order of operands, in segments")
        .sums(Order::InOrderBinary)
        .uses(S_R),
    reduces(7, "rabenseifner", Safe, "recursive halving, then gather; few elements run as linear")
        .sums(Order::Doubling)
        .falls_back(TO_LINEAR),
    reduces(8, "knomial", Unsafe, "k-nomial tree with the fan-out as radix; a radix below 2 never ends")
        .since(Release::V6_0)
        .radix(),
];

static REDUCE_SCATTER: [Algorithm; 4] = [
    reduces(1, "non-overlapping", Depends, "reduce and scatterv of the same communicator, by their own rules")
        .calls(&[Collective::Reduce]),
    reduces(2, "recursive_halving", Unsafe, "halves exchanged at halving distances").sums(Order::Halving),
    reduces(3, "ring", Unsafe, "partial results travel around a ring").sums(Order::Ring(1)),
    reduces(4, "butterfly", Safe, "butterfly exchange").sums(Order::Doubling),
];

static REDUCE_SCATTER_BLOCK: [Algorithm; 4] = [
    reduces(1, "basic_linear", Depends, "reduce and scatter of the same communicator, by their own rules")
        .calls(&[Collective::Reduce, Collective::Scatter]),
    reduces(2, "recursive_doubling", Safe, "whole vectors at doubling distances").sums(Order::Binomial),
    reduces(3, "recursive_halving", Safe, "halves exchanged at halving distances")
        .sums(Order::Halving)
        .falls_back(NON_COMMUTATIVE_TO_LINEAR),
    reduces(4, "butterfly", Safe, "butterfly exchange").sums(Order::Doubling),
];

static SCAN: [Algorithm; 2] = [
    reduces(1, "linear", Safe, "one rank after the other").sums(Order::Prefix),
    reduces(2, "recursive_doubling", Safe, "partial results at doubling distances").sums(Order::PrefixDoubling),
];

static SCATTER: [Algorithm; 3] = [
    moves(1, "basic_linear", "the root sends to every rank"),
    moves(2, "binomial", "down a binomial tree"),
    moves(3, "linear_nb", "the root sends to every rank without waiting").since(Release::V4_1),
];
