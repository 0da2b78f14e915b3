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

/// Makes the catalogue: source, collective and calls, calls in words, and memory on the root and on others, if it differs.
macro_rules! catalogue {
    ($($source:ident $collective:ident $pattern:ident: $calls:literal, $root:expr $(, $others:expr)?;)*) => {
        /// All guidelines that pair a collective with calls of others.
        pub const CATALOGUE: &[Guideline] = &[$(Guideline {
            collective: Collective::$collective,
            pattern: MockupPattern::$pattern,
            calls: $calls,
            root: Formula(&$root),
            others: catalogue!(@others $root $(, $others)?),
            source: $source,
        }),*];
    };
    (@others $root:expr, $others:expr) => { Formula(&$others) };
    (@others $root:expr) => { Formula(&$root) };
}

catalogue! {
    PG Allgather Allgatherv: "counts m", [PerRank(8)];
    PG Allgather Allreduce: "BOR of p*m zeroed bytes with the own block copied in", [All];
    PG Allgather Alltoall: "the own block copied p times", [All];
    PG Allgather GatherBcast: "gather to rank 0, bcast of p*m", [];
    OURS Allgatherv GathervBcast: "gatherv to rank 0, bcast of the sum", [PerRank(8)], [];
    OURS Allgatherv Allreduce: "BOR of zeroed bytes with the own block copied in", [All];
    OURS Allgatherv Alltoallv: "the own block copied p times", [All, PerRank(8)];
    PG Allreduce ReduceBcast: "reduce to rank 0, bcast", [];
    PG Allreduce ReduceScatterBlockAllgather: "padded to m' with copies of the first element, copied back",
        [Padded, Share];
    PG Allreduce ReduceScatterAllgatherv: "chunks of 4 elements dealt out, allgatherv in place", [PerRank(8)];
    OURS Allreduce AllgatherLocal: "allgather of all vectors, p-1 reductions in rank order", [All];
    PG Alltoall Alltoallv: "counts m both ways", [PerRank(8)];
    OURS Alltoallv Alltoallw: "counts, displacements and types", [PerRank(32)];
    OURS Barrier Allreduce: "of one integer", [Bytes(8)];
    OURS Barrier GatherBcast: "gather, then bcast, of 1 byte each", [PerRank(1), Bytes(1)], [Bytes(1)];
    OURS Barrier Allgather: "of 1 byte each", [PerRank(1), Bytes(1)];
    PG Bcast Allgatherv: "in place, all counts 0 except the root's", [PerRank(8)];
    PG Bcast ScatterAllgather: "padded to m', copied back", [Padded, Share];
    OURS Bcast ScattervAllgatherv: "unpadded, in place", [PerRank(8)];
    OURS Exscan ScanShift: "the inclusive result sent to the next rank", [Message];
    PG Gather Allgather: "non-roots receive into scratch", [], [All];
    PG Gather Gatherv: "equal counts", [PerRank(8)], [];
    PG Gather Reduce: "BOR of p*m zeroed bytes with the own block copied in", [All];
    PG Reduce Allreduce: "non-roots receive into scratch", [], [Message];
    PG Reduce ReduceScatterBlockGather: "padded to m' with copies of the first element, copied back",
        [Padded, Padded, Share], [Padded, Share];
    PG Reduce ReduceScatterGatherv: "chunks of 4 elements dealt out", [Chunks, PerRank(8)], [Chunks, PerRank(4)];
    PG Reduce ReduceScatter: "all counts at the root", [PerRank(4)];
    OURS Reduce GatherLocal: "gather, then the root reduces in rank order", [All], [];
    PGMPI ReduceScatter Allreduce: "the own part copied out", [Message];
    PGMPI ReduceScatter ReduceThenScatterv: "reduce to rank 0, scatterv", [Message, PerRank(8)], [];
    PG ReduceScatterBlock ReduceThenScatter: "reduce of p*m to rank 0, scatter", [All], [];
    PG ReduceScatterBlock ReduceScatter: "equal counts", [PerRank(4)];
    PG ReduceScatterBlock Allreduce: "of p*m, the own block copied out", [All];
    PG Scan ExscanReduceLocal: "the own vector copied behind what comes before it, in rank order", [], [Message];
    PG Scatter Bcast: "of p*m, the own block copied out", [], [All];
    PG Scatter Scatterv: "equal counts", [PerRank(8)], [];
    // On several nodes with equally many ranks.
    OURS Barrier Hier: "on each node, among the leaders, on each node", [];
    LANES Bcast Hier: "among the leaders, then on each node", [];
    LANES Bcast Lane: "scatterv on the root's node, bcast on each lane, allgatherv on each node", [PerLocal(8)];
    LANES Allreduce Hier: "reduce on each node, allreduce of the leaders, bcast", [Message];
    LANES Allreduce Lane: "reduce_scatter on each node, allreduce on each lane, allgatherv on each node",
        [NodeShare, PerLocal(8)];
    LANES Reduce Hier: "on each node to its leader, then among the leaders", [Message];
    LANES Reduce Lane: "reduce_scatter on each node, reduce on each lane, gatherv on the root's node",
        [NodeShare, NodeShare, PerLocal(8)], [NodeShare, NodeShare, PerLocal(4)];
    LANES Scan Hier: "scan on each node, exscan of the sums of nodes among the leaders, bcast", [Message, Message];
    LANES Scan Lane: "scan and reduce_scatter on each node, exscan on each lane, allgatherv on each node",
        [Message, NodeShare, PerLocal(8)];
    LANES Allgather Hier: "gather on each node, allgather of the leaders, bcast of p*m", [Node];
    LANES Allgather Lane: "on each lane, then on each node, copied into rank order", [All, Lane];
    LANES Gather Hier: "on each node to its leader, then among the leaders", [Node];
    LANES Gather Lane: "on each lane, then on the root's node, copied into rank order", [All, Lane], [Lane];
    LANES Scatter Hier: "among the leaders, then on each node", [Node];
    LANES Scatter Lane: "copied into the order of lanes, on the root's node, then on each lane", [All, Lane], [Lane];
    LANES Alltoall Hier: "gather on each node, alltoall of the leaders, scatter, with copies between them",
        [NodeAll, NodeAll];
    LANES Alltoall Lane: "on each node, then on each lane, with copies into their orders", [All, All];
}

/// The guidelines of a collective.
pub fn list_guidelines(collective: Collective) -> impl Iterator<Item = &'static Guideline> {
    CATALOGUE.iter().filter(move |guideline| guideline.collective == collective)
}

/// The guideline that pairs a collective with these calls.
pub fn find(collective: Collective, pattern: MockupPattern) -> Option<&'static Guideline> {
    list_guidelines(collective).find(|guideline| guideline.pattern == pattern)
}
