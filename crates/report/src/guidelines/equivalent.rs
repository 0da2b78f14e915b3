//! Calls that programs can make instead of a slow one.

use collrules_lab::catalogue;
use collrules_program::mockup::MockupPattern;
use collrules_program::{CollectiveCall, RankGroup};
use collrules_record::{Cell, Even, Mockup};
use collrules_rules::Collective;

/// Describes the calls of a mock-up.
pub(super) fn equivalent_calls(cell: Cell, mockup: Mockup) -> String {
    let collective = title(cell.collective.name());
    match mockup {
        Mockup::Pattern(pattern) => calls(cell, pattern),
        Mockup::Split { pieces, barrier } => {
            let between = if barrier { ", with a barrier between them" } else { "" };
            format!("{pieces} calls of MPI_{collective} with a {pieces}th of the data each{between}")
        }
        Mockup::Pad(bytes) => format!("MPI_{collective} with a message of {bytes}, whose surplus is ignored"),
    }
}

fn calls(cell: Cell, pattern: MockupPattern) -> String {
    // How the nodes are made up changes counts, not calls.
    let ranks = cell.ranks.0;
    let each = (2..=ranks).find(|each| ranks.is_multiple_of(*each)).unwrap_or(1);
    let even = pattern.needs_nodes().then_some(Even { nodes: ranks / each, each });
    // Only the root makes all calls, and only others combine.
    let made = Mockup::Pattern(pattern).program(cell.seat(0, even)).unwrap_or_default();
    let mut names: Vec<String> = made.calls().map(|(on, call, ..)| format!("{}{}", name(call), among(on))).collect();
    if made.reduced() > 0 || matches!(cell.collective, Collective::Scan) {
        names.push("MPI_Reduce_local".to_owned());
    }
    let how = catalogue::find(cell.collective, pattern).map_or("", |guideline| guideline.calls);
    format!("{} ({how})", names.join(", then "))
}

/// Describes the ranks that make a call together.
fn among(on: RankGroup) -> &'static str {
    match on {
        RankGroup::All => "",
        RankGroup::Node => " on each node",
        RankGroup::FirstNode => " on the root's node",
        RankGroup::Lane => " among the ranks in the same place on all nodes",
        RankGroup::Leaders => " among the first ranks of all nodes",
    }
}

/// As MPI writes it: `Reduce_scatter`.
fn title(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

fn name(call: &CollectiveCall) -> &'static str {
    match call {
        CollectiveCall::Allgather => "MPI_Allgather",
        CollectiveCall::Allgatherv(_) | CollectiveCall::AllgathervInPlace(_) => "MPI_Allgatherv",
        CollectiveCall::Allreduce(_) => "MPI_Allreduce",
        CollectiveCall::Alltoall => "MPI_Alltoall",
        CollectiveCall::Alltoallv(_) => "MPI_Alltoallv",
        CollectiveCall::Alltoallw(_) => "MPI_Alltoallw",
        CollectiveCall::Barrier => "MPI_Barrier",
        CollectiveCall::Bcast => "MPI_Bcast",
        CollectiveCall::Exscan => "MPI_Exscan",
        CollectiveCall::Gather => "MPI_Gather",
        CollectiveCall::Gatherv(_) => "MPI_Gatherv",
        CollectiveCall::Reduce(_) => "MPI_Reduce",
        CollectiveCall::ReduceScatter(_) => "MPI_Reduce_scatter",
        CollectiveCall::ReduceScatterBlock => "MPI_Reduce_scatter_block",
        CollectiveCall::Scan => "MPI_Scan",
        CollectiveCall::Scatter => "MPI_Scatter",
        CollectiveCall::Scatterv(_) | CollectiveCall::ScattervInPlace(_) => "MPI_Scatterv",
        CollectiveCall::Shift => "MPI_Sendrecv with the neighbours",
    }
}
