//! One entry per guideline. [`Mockup::program`](collrules_program::Mockup::program) has the same as steps; a test compares their memory with
//! these formulas.

use collrules_program::mockup::MockupPattern;
use collrules_rules::Collective;

use crate::memory::Formula;
use crate::memory::Term::{
    All, Bytes, Chunks, Lane, Message, Node, NodeAll, NodeShare, Padded, PerLocal, PerRank, Share,
};

/// A collective that should not be slower than these calls.
#[derive(Clone, Copy, Debug)]
pub struct Guideline {
    /// The collective.
    pub collective: Collective,
    /// The calls.
    pub pattern: MockupPattern,
    /// Calls, counts and copies in words.
    pub calls: &'static str,
    /// Memory on the root in addition to the caller's buffers.
    pub root: Formula,
    /// Memory on other ranks in addition to the caller's buffers.
    pub others: Formula,
    /// Source of the guideline.
    pub source: &'static str,
}

/// PGMPITuneLib, after Hunold and Carpen-Amarie, *Autotuning MPI collectives using performance guidelines* (HPC Asia 2018).
const PG: &str = "PGMPITuneLib";
/// The catalogue of PGMPI, which its library does not have.
const PGMPI: &str = "PGMPI";
const OURS: &str = "collrules";
/// Source of the lane programs: derived here, not copied from the lane library of PGMPITuneLib, which has the same
/// purpose.
const LANES: &str = "derived";

const NONE: Formula = Formula(&[]);
const ARRAYS: Formula = Formula(&[PerRank(8)]);
const WHOLE: Formula = Formula(&[All]);
const ONE: Formula = Formula(&[Message]);
const BOTH: Formula = Formula(&[Padded, Share]);
const LOCAL: Formula = Formula(&[PerLocal(8)]);
const NODE: Formula = Formula(&[Node]);

const fn entry(
    collective: Collective,
    pattern: MockupPattern,
    calls: &'static str,
    memory: (Formula, Formula),
    source: &'static str,
) -> Guideline {
    Guideline { collective, pattern, calls, root: memory.0, others: memory.1, source }
}

/// All guidelines that pair a collective with calls of others.
pub const CATALOGUE: &[Guideline] = {
    use Collective as C;
    use MockupPattern as P;
    &[
        entry(C::Allgather, P::Allgatherv, "counts m", (ARRAYS, ARRAYS), PG),
        entry(C::Allgather, P::Allreduce, "BOR of p*m zeroed bytes with the own block copied in", (WHOLE, WHOLE), PG),
        entry(C::Allgather, P::Alltoall, "the own block copied p times", (WHOLE, WHOLE), PG),
        entry(C::Allgather, P::GatherBcast, "gather to rank 0, bcast of p*m", (NONE, NONE), PG),
        entry(C::Allgatherv, P::GathervBcast, "gatherv to rank 0, bcast of the sum", (ARRAYS, NONE), OURS),
        entry(C::Allgatherv, P::Allreduce, "BOR of zeroed bytes with the own block copied in", (WHOLE, WHOLE), OURS),
        entry(
            C::Allgatherv,
            P::Alltoallv,
            "the own block copied p times",
            (Formula(&[All, PerRank(8)]), Formula(&[All, PerRank(8)])),
            OURS,
        ),
        entry(C::Allreduce, P::ReduceBcast, "reduce to rank 0, bcast", (NONE, NONE), PG),
        entry(
            C::Allreduce,
            P::ReduceScatterBlockAllgather,
            "padded to m' with copies of the first element, copied back",
            (BOTH, BOTH),
            PG,
        ),
        entry(
            C::Allreduce,
            P::ReduceScatterAllgatherv,
            "chunks of 4 elements dealt out, allgatherv in place",
            (ARRAYS, ARRAYS),
            PG,
        ),
        entry(
            C::Allreduce,
            P::AllgatherLocal,
            "allgather of all vectors, p-1 reductions in rank order",
            (WHOLE, WHOLE),
            OURS,
        ),
        entry(C::Alltoall, P::Alltoallv, "counts m both ways", (ARRAYS, ARRAYS), PG),
        entry(
            C::Alltoallv,
            P::Alltoallw,
            "counts, displacements and types",
            (Formula(&[PerRank(32)]), Formula(&[PerRank(32)])),
            OURS,
        ),
        entry(C::Barrier, P::Allreduce, "of one integer", (Formula(&[Bytes(8)]), Formula(&[Bytes(8)])), OURS),
        entry(
            C::Barrier,
            P::GatherBcast,
            "gather, then bcast, of 1 byte each",
            (Formula(&[PerRank(1), Bytes(1)]), Formula(&[Bytes(1)])),
            OURS,
        ),
        entry(
            C::Barrier,
            P::Allgather,
            "of 1 byte each",
            (Formula(&[PerRank(1), Bytes(1)]), Formula(&[PerRank(1), Bytes(1)])),
            OURS,
        ),
        entry(C::Bcast, P::Allgatherv, "counts 0 but the root's, in place", (ARRAYS, ARRAYS), PG),
        entry(C::Bcast, P::ScatterAllgather, "padded to m', copied back", (BOTH, BOTH), PG),
        entry(C::Bcast, P::ScattervAllgatherv, "unpadded, in place", (ARRAYS, ARRAYS), OURS),
        entry(C::Exscan, P::ScanShift, "the inclusive result sent to the next rank", (ONE, ONE), OURS),
        entry(C::Gather, P::Allgather, "non-roots receive into scratch", (NONE, WHOLE), PG),
        entry(C::Gather, P::Gatherv, "equal counts", (ARRAYS, NONE), PG),
        entry(C::Gather, P::Reduce, "BOR of p*m zeroed bytes with the own block copied in", (WHOLE, WHOLE), PG),
        entry(C::Reduce, P::Allreduce, "non-roots receive into scratch", (NONE, ONE), PG),
        entry(
            C::Reduce,
            P::ReduceScatterBlockGather,
            "padded to m' with copies of the first element, copied back",
            (Formula(&[Padded, Padded, Share]), BOTH),
            PG,
        ),
        entry(
            C::Reduce,
            P::ReduceScatterGatherv,
            "chunks of 4 elements dealt out",
            (Formula(&[Chunks, PerRank(8)]), Formula(&[Chunks, PerRank(4)])),
            PG,
        ),
        entry(
            C::Reduce,
            P::ReduceScatter,
            "all counts at the root",
            (Formula(&[PerRank(4)]), Formula(&[PerRank(4)])),
            PG,
        ),
        entry(C::Reduce, P::GatherLocal, "gather, then the root reduces in rank order", (WHOLE, NONE), OURS),
        entry(C::ReduceScatter, P::Allreduce, "the own part copied out", (ONE, ONE), PGMPI),
        entry(
            C::ReduceScatter,
            P::ReduceThenScatterv,
            "reduce to rank 0, scatterv",
            (Formula(&[Message, PerRank(8)]), NONE),
            PGMPI,
        ),
        entry(C::ReduceScatterBlock, P::ReduceThenScatter, "reduce of p*m to rank 0, scatter", (WHOLE, NONE), PG),
        entry(
            C::ReduceScatterBlock,
            P::ReduceScatter,
            "equal counts",
            (Formula(&[PerRank(4)]), Formula(&[PerRank(4)])),
            PG,
        ),
        entry(C::ReduceScatterBlock, P::Allreduce, "of p*m, the own block copied out", (WHOLE, WHOLE), PG),
        entry(
            C::Scan,
            P::ExscanReduceLocal,
            "the own vector copied behind what comes before it, in rank order",
            (NONE, ONE),
            PG,
        ),
        entry(C::Scatter, P::Bcast, "of p*m, the own block copied out", (NONE, WHOLE), PG),
        entry(C::Scatter, P::Scatterv, "equal counts", (ARRAYS, NONE), PG),
        // On several nodes with equally many ranks.
        entry(C::Barrier, P::Hier, "on each node, among the leaders, on each node", (NONE, NONE), OURS),
        entry(C::Bcast, P::Hier, "among the leaders, then on each node", (NONE, NONE), LANES),
        entry(
            C::Bcast,
            P::Lane,
            "scatterv on the root's node, bcast on each lane, allgatherv on each node",
            (LOCAL, LOCAL),
            LANES,
        ),
        entry(C::Allreduce, P::Hier, "reduce on each node, allreduce of the leaders, bcast", (ONE, ONE), LANES),
        entry(
            C::Allreduce,
            P::Lane,
            "reduce_scatter on each node, allreduce on each lane, allgatherv on each node",
            (Formula(&[NodeShare, PerLocal(8)]), Formula(&[NodeShare, PerLocal(8)])),
            LANES,
        ),
        entry(C::Reduce, P::Hier, "on each node to its leader, then among the leaders", (ONE, ONE), LANES),
        entry(
            C::Reduce,
            P::Lane,
            "reduce_scatter on each node, reduce on each lane, gatherv on the root's node",
            (Formula(&[NodeShare, NodeShare, PerLocal(8)]), Formula(&[NodeShare, NodeShare, PerLocal(4)])),
            LANES,
        ),
        entry(
            C::Scan,
            P::Hier,
            "scan on each node, exscan of the sums of nodes among the leaders, bcast",
            (Formula(&[Message, Message]), Formula(&[Message, Message])),
            LANES,
        ),
        entry(
            C::Scan,
            P::Lane,
            "scan and reduce_scatter on each node, exscan on each lane, allgatherv on each node",
            (Formula(&[Message, NodeShare, PerLocal(8)]), Formula(&[Message, NodeShare, PerLocal(8)])),
            LANES,
        ),
        entry(
            C::Allgather,
            P::Hier,
            "gather on each node, allgather of the leaders, bcast of p*m",
            (NODE, NODE),
            LANES,
        ),
        entry(
            C::Allgather,
            P::Lane,
            "on each lane, then on each node, copied into rank order",
            (Formula(&[All, Lane]), Formula(&[All, Lane])),
            LANES,
        ),
        entry(C::Gather, P::Hier, "on each node to its leader, then among the leaders", (NODE, NODE), LANES),
        entry(
            C::Gather,
            P::Lane,
            "on each lane, then on the root's node, copied into rank order",
            (Formula(&[All, Lane]), Formula(&[Lane])),
            LANES,
        ),
        entry(C::Scatter, P::Hier, "among the leaders, then on each node", (NODE, NODE), LANES),
        entry(
            C::Scatter,
            P::Lane,
            "copied into the order of lanes, on the root's node, then on each lane",
            (Formula(&[All, Lane]), Formula(&[Lane])),
            LANES,
        ),
        entry(
            C::Alltoall,
            P::Hier,
            "gather on each node, alltoall of the leaders, scatter, with copies between them",
            (Formula(&[NodeAll, NodeAll]), Formula(&[NodeAll, NodeAll])),
            LANES,
        ),
        entry(
            C::Alltoall,
            P::Lane,
            "on each node, then on each lane, with copies into their orders",
            (Formula(&[All, All]), Formula(&[All, All])),
            LANES,
        ),
    ]
};

/// The guidelines of a collective.
pub fn list_guidelines(collective: Collective) -> impl Iterator<Item = &'static Guideline> {
    CATALOGUE.iter().filter(move |guideline| guideline.collective == collective)
}

/// The guideline that pairs a collective with these calls.
pub fn find(collective: Collective, pattern: MockupPattern) -> Option<&'static Guideline> {
    list_guidelines(collective).find(|guideline| guideline.pattern == pattern)
}
