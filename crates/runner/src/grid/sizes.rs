//! Message sizes and communicator sizes, and reasons why some cannot be measured.

use collrules_record::obstacle::CellObstacle;
use collrules_record::units::{Bytes, MAX_BYTES, Ranks};
use collrules_record::{Arguments, Cell, DataType, Layout};
use collrules_rules::Collective;
use collrules_rules::collective::{CallData, Extent};

use crate::error::RunnerError;

/// Default limit for the buffers of one rank; OSU's benchmarks have the same one.
pub const DEFAULT_MEMORY: Bytes = Bytes(512 << 20);

/// The communicator sizes to use: the requested ones, or else the powers of two up to the available slots, and the
/// slots themselves.
pub fn communicator_sizes(wanted: &[Ranks], slots: Ranks, oversubscribe: bool) -> Result<Vec<Ranks>, RunnerError> {
    let mut ranks = wanted.to_vec();
    if ranks.is_empty() {
        if slots.0 < 2 {
            return Err(RunnerError::OneSlot);
        }
        ranks = (1..u32::BITS).map(|bit| Ranks(1 << bit)).filter(|ranks| *ranks <= slots).collect();
        ranks.push(slots);
    }
    ranks.sort_unstable();
    ranks.dedup();
    match (ranks.first(), ranks.last()) {
        (Some(Ranks(0 | 1)), _) => {
            Err(RunnerError::EmptyGrid("on 1 rank there is no algorithm to choose; --np begins at 2".to_owned()))
        }
        (_, Some(largest)) if *largest > slots && !oversubscribe => {
            Err(RunnerError::TooFewSlots { wanted: *largest, slots })
        }
        _ => Ok(ranks),
    }
}

/// The communicators that fill one node, two nodes, four and so on, if all nodes have equally many slots. Programs use
/// these most, and powers of two miss them on nodes of 48 slots.
pub fn full_nodes(layout: Layout, hosts: &[String]) -> Vec<Ranks> {
    let most = layout.most(hosts);
    let counts = layout.nodes(hosts, most).0;
    match counts.first() {
        Some(each) if layout == Layout::Block && counts.iter().all(|count| count == each) => {
            let doubled = (0..u32::BITS).map_while(|bit| u32::try_from(u64::from(*each) << bit).ok().map(Ranks));
            doubled.take_while(|ranks| *ranks <= most).filter(|ranks| ranks.0 >= 2).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the memory of a cell's buffers on the rank that needs the most; reference algorithms need another vector,
/// and two if they reduce.
fn buffers(cell: Cell, with_reference: bool) -> Bytes {
    let CallData { sends, receives, .. } = cell.collective.data();
    let bytes = |extent: Extent| match extent {
        Extent::Nothing => 0,
        // A share is at most the message.
        Extent::Message | Extent::Share => cell.bytes.0,
        Extent::Blocks => cell.bytes.0.saturating_mul(cell.ranks.0.into()),
    };
    let vectors = match (with_reference, cell.collective) {
        // A bcast's is its only buffer.
        (false, _) | (true, Collective::Bcast) => 0,
        (true, collective) => 1 + u64::from(collective.reduces()),
    };
    let own = bytes(sends).max(bytes(receives)).saturating_mul(vectors);
    Bytes(own.saturating_add(bytes(sends)).saturating_add(bytes(receives)))
}

/// Returns the reason why a cell is not measured, if any: its message is not a whole number of elements, its buffers
/// exceed `memory` on a rank, or an offset into them exceeds a C int.
pub fn obstacle(cell: Cell, memory: Bytes) -> Option<CellObstacle> {
    obstacle_with(cell, false, DataType::default(), memory)
}

/// Like `obstacle`, for a cell that may have reference algorithms, and for reductions of this datatype.
pub(super) fn obstacle_with(cell: Cell, with_reference: bool, data: DataType, memory: Bytes) -> Option<CellObstacle> {
    let element = Arguments { data, ..Arguments::default() }.type_size(cell.collective);
    let buffers = buffers(cell, with_reference);
    if !cell.bytes.0.is_multiple_of(element) {
        Some(CellObstacle::PartOfElement { element, data })
    } else if buffers > memory {
        Some(CellObstacle::Memory { needed: buffers, allowed: memory })
    } else if buffers > MAX_BYTES {
        Some(CellObstacle::Count(buffers))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(collective: Collective, ranks: u32, bytes: u64) -> Cell {
        Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    #[test]
    fn full_nodes_are_among_the_sizes() {
        let hosts = |each: &[usize]| {
            let hosts = each.iter().enumerate().flat_map(|(number, each)| vec![format!("n{number}"); *each]);
            hosts.collect::<Vec<String>>()
        };
        assert_eq!(full_nodes(Layout::Block, &hosts(&[48, 48, 48])), [Ranks(48), Ranks(96)]);
        assert_eq!(full_nodes(Layout::Block, &hosts(&[6])), [Ranks(6)]);
        assert_eq!(full_nodes(Layout::Block, &hosts(&[1, 1, 1])), [Ranks(2)]);
        assert_eq!(full_nodes(Layout::Block, &hosts(&[4, 3])), [], "these nodes differ");
        assert_eq!(full_nodes(Layout::OnePerNode, &hosts(&[2, 2])), []);
    }

    #[test]
    fn reductions_begin_at_an_element() {
        for collective in Collective::ALL {
            for bytes in [1, 2, 3, 6] {
                let refused = obstacle(cell(collective, 4, bytes), DEFAULT_MEMORY);
                assert_eq!(refused.is_some(), collective.reduces(), "{collective}: {refused:?}");
            }
            assert_eq!(obstacle(cell(collective, 4, 8), DEFAULT_MEMORY), None);
        }
    }

    #[test]
    fn doubles_have_sizes_of_their_own() {
        let refused =
            |bytes| obstacle_with(cell(Collective::Allreduce, 4, bytes), false, DataType::Double, DEFAULT_MEMORY);
        assert!(refused(12).is_some_and(|why| why.to_string().contains("multiple of 8 B")));
        assert_eq!(refused(16), None);
    }

    #[test]
    fn buffers_are_bounded() {
        assert_eq!(buffers(cell(Collective::Alltoall, 64, 1 << 20), false), Bytes(128 << 20));
        assert_eq!(obstacle(cell(Collective::Alltoall, 64, 1 << 20), DEFAULT_MEMORY), None);
        let why = obstacle(cell(Collective::Alltoall, 64, 8 << 20), DEFAULT_MEMORY).expect("a gibibyte");
        assert_eq!(why.to_string(), "the buffers would take 1 GiB on a rank; --max-memory allows 512 MiB");
        assert!(obstacle(cell(Collective::Allgather, 4096, 1 << 20), Bytes(u64::MAX)).is_some(), "beyond a C int");
        // A vector to sum up in, and one for what arrives.
        assert_eq!(buffers(cell(Collective::Allreduce, 4, 1 << 20), true), Bytes(4 << 20));
        assert!(obstacle(cell(Collective::Bcast, 4096, 1 << 20), DEFAULT_MEMORY).is_none());
    }
}
