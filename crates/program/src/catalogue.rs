//! One entry per guideline. [`Mockup::program`](crate::Mockup::program) has the same as steps.

use collrules_rules::Collective;

use crate::mockup::MockupPattern;

/// A collective that should not be slower than these calls.
#[derive(Clone, Copy, Debug)]
pub struct Guideline {
    /// The collective.
    pub collective: Collective,
    /// The calls.
    pub pattern: MockupPattern,
    /// Calls, counts and copies in words.
    pub calls: &'static str,
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

/// Makes the catalogue: source, collective and calls, and calls in words.
macro_rules! catalogue {
    ($($source:ident $collective:ident $pattern:ident: $calls:literal;)*) => {
        /// All guidelines that pair a collective with calls of others.
        pub const CATALOGUE: &[Guideline] = &[$(Guideline {
            collective: Collective::$collective,
            pattern: MockupPattern::$pattern,
            calls: $calls,
            source: $source,
        }),*];
    };
}

catalogue! {
    PG Allgather Allgatherv: "counts m";
    PG Allgather Allreduce: "BOR of p*m zeroed bytes with the own block copied in";
    PG Allgather Alltoall: "the own block copied p times";
    PG Allgather GatherBcast: "gather to rank 0, bcast of p*m";
    OURS Allgatherv GathervBcast: "gatherv to rank 0, bcast of the sum";
    OURS Allgatherv Allreduce: "BOR of zeroed bytes with the own block copied in";
    OURS Allgatherv Alltoallv: "the own block copied p times";
    PG Allreduce ReduceBcast: "reduce to rank 0, bcast";
    PG Allreduce ReduceScatterBlockAllgather: "padded to m' with copies of the first element, copied back";
    PG Allreduce ReduceScatterAllgatherv: "chunks of 4 elements dealt out, allgatherv in place";
    OURS Allreduce AllgatherLocal: "allgather of all vectors, p-1 reductions in rank order";
    PG Alltoall Alltoallv: "counts m both ways";
    OURS Alltoallv Alltoallw: "counts, displacements and types";
    OURS Barrier Allreduce: "of one integer";
    OURS Barrier GatherBcast: "gather, then bcast, of 1 byte each";
    OURS Barrier Allgather: "of 1 byte each";
    PG Bcast Allgatherv: "in place, all counts 0 except the root's";
    PG Bcast ScatterAllgather: "padded to m', copied back";
    OURS Bcast ScattervAllgatherv: "unpadded, in place";
    OURS Exscan ScanShift: "the inclusive result sent to the next rank";
    PG Gather Allgather: "non-roots receive into scratch";
    PG Gather Gatherv: "equal counts";
    PG Gather Reduce: "BOR of p*m zeroed bytes with the own block copied in";
    PG Reduce Allreduce: "non-roots receive into scratch";
    PG Reduce ReduceScatterBlockGather: "padded to m' with copies of the first element, copied back";
    PG Reduce ReduceScatterGatherv: "chunks of 4 elements dealt out";
    PG Reduce ReduceScatter: "all counts at the root";
    OURS Reduce GatherLocal: "gather, then the root reduces in rank order";
    PGMPI ReduceScatter Allreduce: "the own part copied out";
    PGMPI ReduceScatter ReduceThenScatterv: "reduce to rank 0, scatterv";
    PG ReduceScatterBlock ReduceThenScatter: "reduce of p*m to rank 0, scatter";
    PG ReduceScatterBlock ReduceScatter: "equal counts";
    PG ReduceScatterBlock Allreduce: "of p*m, the own block copied out";
    PG Scan ExscanReduceLocal: "the own vector copied behind what comes before it, in rank order";
    PG Scatter Bcast: "of p*m, the own block copied out";
    PG Scatter Scatterv: "equal counts";
    // On several nodes with equally many ranks.
    OURS Barrier Hier: "on each node, among the leaders, on each node";
    LANES Bcast Hier: "among the leaders, then on each node";
    LANES Bcast Lane: "scatterv on the root's node, bcast on each lane, allgatherv on each node";
    LANES Allreduce Hier: "reduce on each node, allreduce of the leaders, bcast";
    LANES Allreduce Lane: "reduce_scatter on each node, allreduce on each lane, allgatherv on each node";
    LANES Reduce Hier: "on each node to its leader, then among the leaders";
    LANES Reduce Lane: "reduce_scatter on each node, reduce on each lane, gatherv on the root's node";
    LANES Scan Hier: "scan on each node, exscan of the sums of nodes among the leaders, bcast";
    LANES Scan Lane: "scan and reduce_scatter on each node, exscan on each lane, allgatherv on each node";
    LANES Allgather Hier: "gather on each node, allgather of the leaders, bcast of p*m";
    LANES Allgather Lane: "on each lane, then on each node, copied into rank order";
    LANES Gather Hier: "on each node to its leader, then among the leaders";
    LANES Gather Lane: "on each lane, then on the root's node, copied into rank order";
    LANES Scatter Hier: "among the leaders, then on each node";
    LANES Scatter Lane: "copied into the order of lanes, on the root's node, then on each lane";
    LANES Alltoall Hier: "gather on each node, alltoall of the leaders, scatter, with copies between them";
    LANES Alltoall Lane: "on each node, then on each lane, with copies into their orders";
}

/// The guidelines of a collective.
pub fn list_guidelines(collective: Collective) -> impl Iterator<Item = &'static Guideline> {
    CATALOGUE.iter().filter(move |guideline| guideline.collective == collective)
}

/// The guideline that pairs a collective with these calls.
pub fn find(collective: Collective, pattern: MockupPattern) -> Option<&'static Guideline> {
    list_guidelines(collective).find(|guideline| guideline.pattern == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
