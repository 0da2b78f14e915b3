//! The patterns of a plan, for the parameters of the machine at its message sizes.

use collrules_record::pattern::Shape;
use collrules_record::plan::PatternPlan;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cast, Pattern};

use super::Planner;

impl Planner<'_> {
    /// Messages between the first rank and one on its host, and between it and one on another host, if they exist;
    /// rotations on each communicator size; and the operation on all ranks at once, as in reductions. Patterns whose
    /// buffers exceed the memory are left out, as for cells.
    pub(super) fn patterns(&self, ranks: &[Ranks]) -> Vec<PatternPlan> {
        let Some(largest) = ranks.last().copied().filter(|_| self.grid.patterns || self.grid.reference) else {
            return Vec::new();
        };
        let mut sizes = self.grid.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let mut plans = Vec::new();
        let mut add = |shape: Shape, ranks: Ranks, bytes: Bytes, casts: Vec<Cast>| {
            let pattern = Pattern { shape, ranks, bytes };
            if self.grid.max_memory >= memory(pattern) && !casts.is_empty() {
                plans.push(PatternPlan { pattern, casts });
            }
        };
        let pairs = self.pairs(largest);
        let empty = Some(Bytes(0)).filter(|empty| !sizes.contains(empty));
        for bytes in empty.into_iter().chain(sizes.iter().copied()) {
            add(Shape::PingPong, Ranks(2), bytes, pairs.clone());
        }
        for bytes in sizes.iter().copied().filter(|bytes| bytes.0 > 0) {
            for ranks in ranks {
                add(Shape::Rotation, *ranks, bytes, vec![Cast::first(*ranks)]);
            }
            if bytes.0.is_multiple_of(4) {
                add(Shape::ReduceLocal, largest, bytes, vec![Cast::first(largest)]);
            }
        }
        plans
    }

    /// The first rank with another one on its host, and with the first one on another host.
    fn pairs(&self, ranks: Ranks) -> Vec<Cast> {
        let order = self.layout.order(&self.survey.hosts);
        let hosts: Vec<&String> =
            order.into_iter().take(ranks.0 as usize).map(|rank| &self.survey.hosts[rank]).collect();
        let other = |inside: bool| (1..hosts.len()).find(|rank| (hosts[*rank] == hosts[0]) == inside);
        let pair = |rank: usize| Cast::new(vec![0, u32::try_from(rank).ok()?]);
        [true, false].into_iter().filter_map(other).filter_map(pair).collect()
    }
}

/// Returns the size of a rank's vectors.
fn memory(pattern: Pattern) -> Bytes {
    Bytes(match pattern.shape {
        Shape::PingPong
        | Shape::ReduceLocal
        | Shape::Ping
        | Shape::OneToTwo
        | Shape::Train
        | Shape::BusyTrain
        | Shape::LateReceive => 2 * pattern.bytes.0,
        Shape::Rotation => pattern.bytes.0.saturating_mul(pattern.ranks.0.into()),
    })
}
