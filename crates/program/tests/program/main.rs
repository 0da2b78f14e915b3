//! Reference algorithms, played in memory.

mod cost;
mod data;

use collrules_rules::Collective;

/// Those with a root first.
const COLLECTIVES: [Collective; 8] = [
    Collective::Bcast,
    Collective::Reduce,
    Collective::Scatter,
    Collective::Gather,
    Collective::Allgather,
    Collective::ReduceScatter,
    Collective::ReduceScatterBlock,
    Collective::Allreduce,
];
