//! Arrivals of ranks at the calls of a program, as `profile --imbalance` sees them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::profile::Profile;
use crate::units::Seconds;

/// Arrivals of ranks at some of a program's calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalPattern {
    /// The cell of the calls.
    pub cell: Cell,
    /// For each call, the time of each rank's arrival after that of the first one.
    pub calls: Vec<Vec<Seconds>>,
}

/// The patterns of programs, one for each of their cells; none if they were profiled without `--imbalance`.
pub fn list_patterns<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Vec<ArrivalPattern> {
    let mut all: BTreeMap<Cell, Vec<Vec<Seconds>>> = BTreeMap::new();
    for profile in profiles {
        for calls in profile.calls.iter().filter(|calls| !calls.arrivals.is_empty()) {
            let Some(cell) = profile.cell(calls) else { continue };
            all.entry(cell).or_default().extend_from_slice(&calls.arrivals);
        }
    }
    all.into_iter().map(|(cell, calls)| ArrivalPattern { cell, calls }).collect()
}

/// The pattern for calls of a cell: that of the collective on as many ranks whose message size is nearest, else that of
/// another collective on as many ranks.
pub fn find_pattern(patterns: &[ArrivalPattern], cell: Cell) -> Option<&ArrivalPattern> {
    let size = |cell: Cell| (cell.bytes.0.max(1) as f64).ln();
    let rank = |pattern: &ArrivalPattern| {
        (pattern.cell.collective != cell.collective, (size(pattern.cell) - size(cell)).abs())
    };
    let fitting = patterns.iter().filter(|pattern| pattern.cell.ranks == cell.ranks && !pattern.calls.is_empty());
    fitting.min_by(|a, b| {
        let ((a_other, a_far), (b_other, b_far)) = (rank(a), rank(b));
        a_other.cmp(&b_other).then(a_far.total_cmp(&b_far))
    })
}

/// The arrivals in their order, with no rank more than `longest` after the one before it.
pub fn shorten_gaps(arrivals: &[Seconds], longest: Seconds) -> Vec<Seconds> {
    let mut order: Vec<usize> = (0..arrivals.len()).collect();
    order.sort_by(|a, b| arrivals[*a].0.total_cmp(&arrivals[*b].0));
    let mut shortened = arrivals.to_vec();
    for pair in order.windows(2) {
        let gap = arrivals[pair[1]].0 - arrivals[pair[0]].0;
        shortened[pair[1]] = Seconds(shortened[pair[0]].0 + gap.min(longest.0));
    }
    shortened
}

#[cfg(test)]
mod tests {
    use collrules_rules::Collective;

    use super::*;
    use crate::units::{Bytes, Ranks};

    fn pattern(collective: Collective, ranks: u32, bytes: u64) -> ArrivalPattern {
        let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        ArrivalPattern { cell, calls: vec![vec![Seconds(0.0); ranks as usize]] }
    }

    #[test]
    fn the_nearest_calls_on_as_many_ranks_are_the_pattern() {
        let patterns = [
            pattern(Collective::Bcast, 8, 64),
            pattern(Collective::Bcast, 8, 4096),
            pattern(Collective::Allreduce, 8, 1 << 20),
            pattern(Collective::Bcast, 4, 1 << 20),
        ];
        let found = |collective, ranks, bytes| {
            let cell = pattern(collective, ranks, bytes).cell;
            find_pattern(&patterns, cell).map(|pattern| (pattern.cell.collective, pattern.cell.bytes.0))
        };
        assert_eq!(found(Collective::Bcast, 8, 1 << 20), Some((Collective::Bcast, 4096)));
        assert_eq!(found(Collective::Bcast, 8, 128), Some((Collective::Bcast, 64)));
        assert_eq!(found(Collective::Barrier, 8, 0), Some((Collective::Bcast, 64)), "not called: as at other calls");
        assert_eq!(found(Collective::Bcast, 2, 64), None);
    }

    #[test]
    fn ranks_arrive_in_their_order_without_long_gaps() {
        let arrivals = [0.5, 0.0, 0.001, 0.7].map(Seconds);
        let shortened = shorten_gaps(&arrivals, Seconds(0.01));
        for (found, expected) in shortened.iter().zip([0.011, 0.0, 0.001, 0.021]) {
            assert!((found.0 - expected).abs() < 1e-12, "{shortened:?}");
        }
        assert_eq!(shorten_gaps(&arrivals, Seconds(1.0)), arrivals);
    }
}
