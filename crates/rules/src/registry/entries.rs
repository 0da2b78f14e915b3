//! The data of the registry: every algorithm of every known release, as a table.

use super::algorithm::MixedTypes::{Fail, FailSegmented};
use super::algorithm::When::{
    FewerThanPowerOfTwo, FewerThanRanks, FewerThanSegments, NonCommutativeOperation, NotPowerOfTwo, OddRanks,
    TooSmallToSplit,
};
use super::algorithm::{Algorithm, Fallback, MixedTypes, Uses, When};
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

    const fn reorders(mut self) -> Self {
        self.reorders = true;
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

    const fn in_place(mut self, instead: &'static str) -> Self {
        self.in_place = Some(instead);
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
const EXCHANGE: &str = "the pairwise exchange that all algorithms share in place";

// What is used: F the fan-in and fan-out, S the segment size, R the bound on requests.
const F_S: Uses = Uses { faninout: true, segsize: true, max_requests: false };
const F: Uses = Uses { faninout: true, segsize: false, max_requests: false };
const S: Uses = Uses { faninout: false, segsize: true, max_requests: false };
const R: Uses = Uses { faninout: false, segsize: false, max_requests: true };
const S_R: Uses = Uses { faninout: false, segsize: true, max_requests: true };
const F_S_R: Uses = Uses { faninout: true, segsize: true, max_requests: true };

/// An algorithm that every release has, and that uses no parameters.
const fn entry(id: u32, name: &'static str) -> Algorithm {
    Algorithm {
        since: Release::V4_0,
        until: None,
        id,
        name,
        uses: Uses { faninout: false, segsize: false, max_requests: false },
        radix: false,
        only_two: false,
        fallbacks: &[],
        reorders: false,
        sums: None,
        mixed_types: MixedTypes::Safe,
        in_place: None,
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
    // In place, the ignored count and datatype go to the gather, whose rules must not depend on sizes then.
    entry(1, "linear").calls(&[Collective::Gather, Collective::Bcast]),
    entry(2, "bruck").until(Release::V5_0),
    entry(2, "bruck-k-fanout").since(Release::V6_0).radix(),
    entry(3, "recursive_doubling").until(Release::V5_0).falls_back(TO_BRUCK),
    entry(3, "recursive_doubling").since(Release::V6_0).falls_back(TO_BRUCK_OF_RADIX_2),
    entry(4, "ring"),
    entry(5, "neighbor").falls_back(ODD_TO_RING_4),
    entry(6, "two_proc").for_two(),
    // Striped binomial trees at halving distances.
    entry(7, "sparbit").since(Release::V5_0).mixed(Fail),
    entry(8, "direct-messaging").since(Release::V6_0),
];

static ALLGATHERV: [Algorithm; 6] = [
    // Gatherv, then bcast.
    entry(1, "default").calls(&[Collective::Bcast]),
    entry(2, "bruck"),
    entry(3, "ring"),
    entry(4, "neighbor").falls_back(ODD_TO_RING_3),
    entry(5, "two_proc").for_two(),
    entry(6, "sparbit").since(Release::V5_0),
];

static ALLREDUCE: [Algorithm; 7] = [
    entry(1, "basic_linear").sums(Order::Linear),
    entry(2, "nonoverlapping").calls(&[Collective::Reduce, Collective::Bcast]),
    entry(3, "recursive_doubling").sums(Order::Doubling),
    // Reduce-scatter, then allgather.
    entry(4, "ring").reorders().sums(Order::Ring(0)).falls_back(TO_RECURSIVE_DOUBLING),
    entry(5, "segmented_ring").reorders().sums(Order::Ring(0)).uses(S).falls_back(TO_RING),
    entry(6, "rabenseifner").sums(Order::Doubling).falls_back(TO_LINEAR),
    entry(7, "allgather_reduce").reorders().since(Release::V6_0).calls(&[Collective::Allgather]),
];

static ALLTOALL: [Algorithm; 5] = [
    entry(1, "linear").in_place(EXCHANGE),
    entry(2, "pairwise").in_place(EXCHANGE),
    entry(3, "modified_bruck").in_place(EXCHANGE),
    entry(4, "linear_sync").uses(R).in_place(EXCHANGE),
    entry(5, "two_proc").for_two().in_place(EXCHANGE),
];

static ALLTOALLV: [Algorithm; 2] =
    [entry(1, "basic_linear").in_place(EXCHANGE), entry(2, "pairwise").in_place(EXCHANGE)];

static BARRIER: [Algorithm; 6] = [
    entry(1, "linear"),
    entry(2, "double_ring"),
    entry(3, "recursive_doubling"),
    // Dissemination.
    entry(4, "bruck"),
    entry(5, "two_proc").for_two(),
    entry(6, "tree"),
];

static BCAST: [Algorithm; 9] = [
    entry(1, "basic_linear"),
    entry(2, "chain").uses(F_S).mixed(FailSegmented),
    entry(3, "pipeline").uses(S).mixed(FailSegmented),
    // Halves go down two sides of a binary tree, which then swap.
    entry(4, "split_binary_tree").uses(S).falls_back(TO_ONE_CHAIN).mixed(Fail),
    entry(5, "binary_tree").uses(S).mixed(FailSegmented),
    entry(6, "binomial").uses(S).mixed(FailSegmented),
    // The radix is an MCA parameter, not the fan-out.
    entry(7, "knomial").uses(S).mixed(FailSegmented),
    // The scatter is binomial, the allgather recursive doubling.
    entry(8, "scatter_allgather").falls_back(FEW_TO_LINEAR).mixed(Fail),
    entry(9, "scatter_allgather_ring").falls_back(FEW_TO_LINEAR).mixed(Fail),
];

static EXSCAN: [Algorithm; 2] =
    [entry(1, "linear").sums(Order::Prefix), entry(2, "recursive_doubling").sums(Order::PrefixDoubling)];

static GATHER: [Algorithm; 3] = [
    entry(1, "basic_linear"),
    entry(2, "binomial"),
    // The root asks; the segment is what goes first.
    entry(3, "linear_sync").uses(S).mixed(FailSegmented),
];

static REDUCE: [Algorithm; 8] = [
    entry(1, "linear").sums(Order::Linear),
    entry(2, "chain").reorders().sums(Order::Chain(1)).uses(F_S_R),
    entry(3, "pipeline").reorders().sums(Order::Chain(1)).uses(S_R),
    entry(4, "binary").reorders().sums(Order::Binary).uses(S_R),
    entry(5, "binomial").reorders().sums(Order::Binomial).uses(S_R),
    entry(6, "in-order_binary").sums(Order::InOrderBinary).uses(S_R),
    entry(7, "rabenseifner").sums(Order::Doubling).falls_back(TO_LINEAR),
    entry(8, "knomial").reorders().since(Release::V6_0).radix(),
];

static REDUCE_SCATTER: [Algorithm; 4] = [
    // Reduce, then scatterv.
    entry(1, "non-overlapping").calls(&[Collective::Reduce]),
    entry(2, "recursive_halving").reorders().sums(Order::Halving),
    entry(3, "ring").reorders().sums(Order::Ring(1)),
    entry(4, "butterfly").sums(Order::Doubling),
];

static REDUCE_SCATTER_BLOCK: [Algorithm; 4] = [
    entry(1, "basic_linear").calls(&[Collective::Reduce, Collective::Scatter]),
    entry(2, "recursive_doubling").sums(Order::Binomial),
    entry(3, "recursive_halving").sums(Order::Halving).falls_back(NON_COMMUTATIVE_TO_LINEAR),
    entry(4, "butterfly").sums(Order::Doubling),
];

static SCAN: [Algorithm; 2] =
    [entry(1, "linear").sums(Order::Prefix), entry(2, "recursive_doubling").sums(Order::PrefixDoubling)];

static SCATTER: [Algorithm; 3] =
    [entry(1, "basic_linear"), entry(2, "binomial"), entry(3, "linear_nb").since(Release::V4_1)];
