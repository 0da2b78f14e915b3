//! The choices to try for an algorithm.

use collrules_record::Cell;
use collrules_rules::registry::Algorithm;
use collrules_rules::{Choice, Collective};

use super::Planner;

/// The largest fan-out of a chain; Open MPI uses it for larger ones (`ompi_coll_base_topo_build_chain`).
const MAX_FANOUT: u32 = 32;

impl Planner<'_> {
    /// Every complete choice of an algorithm in a cell: all values of the parameters that it uses, 0 for others.
    ///
    /// Bounds on requests are tried if they have an effect and a rules file can express them (`with_requests`).
    pub(super) fn choices(&self, cell: Cell, algorithm: &Algorithm, with_requests: bool) -> Vec<Choice> {
        let mut segments = vec![0];
        if algorithm.uses.segsize {
            segments.extend(self.grid.segments.iter().map(|segment| segment.0));
        }
        segments.sort_unstable();
        segments.dedup();
        let mut choices = Vec::new();
        for faninout in self.fanouts(cell, algorithm) {
            for &segsize in &segments {
                let choice = Choice::plain(algorithm.id).with_faninout(faninout).with_segsize(segsize);
                choices.push(choice);
                if with_requests && algorithm.uses.max_requests {
                    let bounds = self.grid.requests.iter().filter(|bound| binds(cell, segsize, **bound));
                    choices.extend(bounds.map(|bound| Choice { max_requests: *bound, ..choice }));
                }
            }
        }
        choices
    }

    /// Fan-outs, as limited by Open MPI.
    fn fanouts(&self, cell: Cell, algorithm: &Algorithm) -> Vec<u32> {
        if (cell.collective, algorithm.id) == (Collective::Allgather, 2) && !algorithm.radix {
            // Ignored up to 5.0; 6.0 takes it for the radix, and never comes to an end below 2.
            return vec![2];
        }
        let ranks = cell.ranks.0;
        let (least, most) = if algorithm.radix { (2, ranks.max(2)) } else { (1, MAX_FANOUT.min(ranks - 1)) };
        // Use the value to which Open MPI clamps.
        let mut fanouts: Vec<u32> = self.grid.fanouts.iter().map(|fanout| (*fanout).clamp(least, most)).collect();
        if algorithm.radix && fanouts.is_empty() {
            fanouts.push(least);
        }
        fanouts.sort_unstable();
        fanouts.dedup();
        if !algorithm.uses.faninout || fanouts.is_empty() { vec![0] } else { fanouts }
    }
}

/// Returns true if a bound on requests is below the number of requests: the partners of an alltoall, the segments of a
/// reduce (`ompi_coll_base_alltoall_intra_linear_sync`, `ompi_coll_base_reduce_generic`).
fn binds(cell: Cell, segsize: u64, bound: u32) -> bool {
    let requests = match cell.collective {
        Collective::Alltoall => u64::from(cell.ranks.0 - 1),
        _ if segsize > 0 => cell.bytes.0.div_ceil(segsize),
        _ => 0,
    };
    bound > 0 && u64::from(bound) < requests
}
