//! Which mock-ups a cell gets.

use collrules_record::cell::type_size;
use collrules_record::mockup::Pattern;
use collrules_record::plan::LeftOut;
use collrules_record::{Bytes, Cell, Even, Mockup};
use collrules_rules::Collective;

use crate::build::{most_pieces, program};
use crate::catalogue;
use crate::program::{Call, Group, Seat};

/// The largest count of an MPI call: a C int.
const MOST: usize = i32::MAX as usize;

/// What a user wants of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Wishes<'a> {
    /// These alone; without any, all.
    pub only: &'a [Mockup],
    /// Into how many calls messages are split.
    pub pieces: &'a [u32],
    /// The message sizes of the grid, in ascending order: a call is padded to the next.
    pub sizes: &'a [Bytes],
    /// What a mock-up may need on a rank beside the caller's buffers.
    pub memory: Bytes,
    /// The nodes of the communicator; why they do not have equally many ranks, several each, where that is so.
    pub even: Result<Even, String>,
}

/// What a cell gets and does not get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The mock-ups to time.
    pub mockups: Vec<Mockup>,
    /// The others.
    pub left_out: Vec<LeftOut>,
}

/// The mock-ups of a cell.
pub fn select(cell: Cell, wishes: &Wishes<'_>) -> Selected {
    let mut selected = Selected::default();
    for mockup in wanted(cell, wishes) {
        match obstacle(cell, mockup, wishes) {
            None => selected.mockups.push(mockup),
            Some(why) => selected.left_out.push(LeftOut { mockup, why }),
        }
    }
    selected
}

fn wanted(cell: Cell, wishes: &Wishes<'_>) -> Vec<Mockup> {
    let patterns = catalogue::of(cell.collective).map(|guideline| Mockup::Pattern(guideline.pattern));
    if !wishes.only.is_empty() {
        let known: Vec<Mockup> = patterns.collect();
        let of_collective = |mockup: &Mockup| match mockup {
            Mockup::Pattern(_) => known.contains(mockup),
            Mockup::Split { .. } | Mockup::Pad(_) => cell.collective.has_sizes(),
        };
        return wishes.only.iter().copied().filter(of_collective).collect();
    }
    let mut all: Vec<Mockup> = patterns.collect();
    if cell.collective.has_sizes() {
        let split = |pieces: &u32| [false, true].map(|barrier| Mockup::Split { pieces: *pieces, barrier });
        all.extend(wishes.pieces.iter().flat_map(split));
        let element = type_size(cell.collective);
        let next = wishes.sizes.iter().find(|size| **size > cell.bytes && size.0.is_multiple_of(element));
        all.extend(next.map(|size| Mockup::Pad(*size)));
    }
    all
}

/// Why a cell cannot have a mock-up.
fn obstacle(cell: Cell, mockup: Mockup, wishes: &Wishes<'_>) -> Option<String> {
    let memory = wishes.memory;
    let even = wishes.even.as_ref();
    if let (true, Err(why)) = (mockup.needs_nodes(), even) {
        return Some(format!(
            "{why}; it takes two nodes or more, each with the same number of consecutive ranks, at least two"
        ));
    }
    let even = even.ok().copied();
    let root = Seat::of(cell, 0, even);
    if let Mockup::Split { pieces, .. } = mockup
        && pieces as usize > most_pieces(root)
    {
        return Some(format!("{pieces} pieces are more than the {} elements of a rank", most_pieces(root)));
    }
    if let Mockup::Pad(bytes) = mockup {
        if bytes <= cell.bytes {
            return Some(format!("{bytes} is not above the message of {}", cell.bytes));
        }
        if !bytes.0.is_multiple_of(type_size(cell.collective)) {
            return Some(format!("{bytes} is no whole number of elements"));
        }
    }
    // Counted before any buffer is thought of: what lies beyond would overflow the rest.
    let largest = match mockup {
        Mockup::Pad(bytes) => bytes.0,
        _ => cell.bytes.0,
    };
    let all = u64::from(cell.ranks.0).saturating_mul(largest);
    if all > MOST as u64 {
        return Some(format!("all blocks together, {}, exceed a C int", Bytes(all)));
    }
    let Some(needed) = most_memory(cell, mockup, even) else {
        return Some(format!("it is no mock-up of {}", cell.collective));
    };
    (needed as u64 > memory.0).then(|| {
        format!(
            "it needs {} on a rank beside the caller's buffers; --max-extra-memory allows {memory}",
            Bytes(needed as u64)
        )
    })
}

/// The memory of the rank that needs the most: the root, another rank of its node, the first of the next, or the last.
fn most_memory(cell: Cell, mockup: Mockup, even: Option<Even>) -> Option<usize> {
    let last = cell.ranks.0.saturating_sub(1) as usize;
    let next = even.map_or(0, |even| even.each as usize);
    let needs = [0, 1, next, last].map(|rank| {
        let seat = Seat::of(cell, rank.min(last), even);
        program(mockup, seat).map(|program| program.memory(seat))
    });
    needs.into_iter().flatten().max()
}

/// What programs have to call instead, with the memory that it takes on the rank that needs the most, where the nodes
/// that it depends on are known.
pub fn advice(cell: Cell, mockup: Mockup, even: Option<Even>) -> (String, Option<Bytes>) {
    let collective = title(cell.collective.name());
    let calls = match mockup {
        Mockup::Pattern(pattern) => calls(cell, pattern, even),
        Mockup::Split { pieces, barrier } => {
            let between = if barrier { ", with a barrier between them" } else { "" };
            format!("{pieces} calls of MPI_{collective} with a {pieces}th of the data each{between}")
        }
        Mockup::Pad(bytes) => format!("MPI_{collective} with a message of {bytes}, whose surplus is ignored"),
    };
    (calls, most_memory(cell, mockup, even).map(|most| Bytes(most as u64)))
}

fn calls(cell: Cell, pattern: Pattern, even: Option<Even>) -> String {
    // How the nodes are made up changes counts, not calls.
    let even = even.or_else(|| pattern.needs_nodes().then_some(Even { nodes: 2, each: 2 }));
    // Only the root makes all calls, and only others combine.
    let made = program(Mockup::Pattern(pattern), Seat::of(cell, 0, even)).unwrap_or_default();
    let mut names: Vec<String> = made.calls().map(|(on, call, ..)| format!("{}{}", name(call), among(on))).collect();
    if made.combined() > 0 || matches!(cell.collective, Collective::Scan) {
        names.push("MPI_Reduce_local".to_owned());
    }
    let how = catalogue::find(cell.collective, pattern).map_or("", |guideline| guideline.calls);
    format!("{} ({how})", names.join(", then "))
}

/// Who makes a call together.
fn among(on: Group) -> &'static str {
    match on {
        Group::All => "",
        Group::Node => " on each node",
        Group::FirstNode => " on the root's node",
        Group::Lane => " among the ranks in the same place on all nodes",
        Group::Leaders => " among the first ranks of all nodes",
    }
}

/// As MPI writes it: `Reduce_scatter`.
fn title(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

fn name(call: &Call) -> &'static str {
    match call {
        Call::Allgather => "MPI_Allgather",
        Call::Allgatherv(_) | Call::AllgathervInPlace(_) => "MPI_Allgatherv",
        Call::Allreduce(_) => "MPI_Allreduce",
        Call::Alltoall => "MPI_Alltoall",
        Call::Alltoallv(_) => "MPI_Alltoallv",
        Call::Alltoallw(_) => "MPI_Alltoallw",
        Call::Barrier => "MPI_Barrier",
        Call::Bcast => "MPI_Bcast",
        Call::Exscan => "MPI_Exscan",
        Call::Gather => "MPI_Gather",
        Call::Gatherv(_) => "MPI_Gatherv",
        Call::Reduce(_) => "MPI_Reduce",
        Call::ReduceScatter(_) => "MPI_Reduce_scatter",
        Call::ReduceScatterBlock => "MPI_Reduce_scatter_block",
        Call::Scan => "MPI_Scan",
        Call::Scatter => "MPI_Scatter",
        Call::Scatterv(_) | Call::ScattervInPlace(_) => "MPI_Scatterv",
        Call::Shift => "MPI_Sendrecv with the neighbours",
    }
}
