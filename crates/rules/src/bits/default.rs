//! The default algorithm for operations that commute, the same in 4.1 and 5.0
//! (`ompi/mca/coll/tuned/coll_tuned_decision_fixed.c`), always without segments and with no fan-out.

use std::ops::RangeInclusive;

use crate::choice::Choice;
use crate::collective::Collective;
use crate::release::Release;
use crate::units::Ranks;

/// No limit.
const ALL: u64 = u64::MAX;

const ALLREDUCE: &[(u64, &[(u64, u32)])] = &[
    (4, &[(8, 4), (4096, 3), (8192, 4), (16384, 3), (65536, 4), (262144, 5), (ALL, 6)]),
    (8, &[(16, 4), (8192, 3), (ALL, 6)]),
    (16, &[(8192, 3), (ALL, 6)]),
    (32, &[(64, 5), (4096, 3), (ALL, 6)]),
    (64, &[(128, 5), (ALL, 6)]),
    (128, &[(262144, 3), (ALL, 6)]),
    (256, &[(131072, 2), (262144, 3), (ALL, 6)]),
    (512, &[(4096, 2), (ALL, 6)]),
    (2048, &[(2048, 2), (16384, 3), (ALL, 6)]),
    (4096, &[(2048, 2), (4096, 5), (16384, 3), (ALL, 6)]),
    (ALL, &[(2048, 2), (16384, 5), (32768, 3), (ALL, 6)]),
];

const REDUCE: &[(u64, &[(u64, u32)])] = &[
    (4, &[(8, 7), (16, 4), (32, 3), (262144, 1), (524288, 3), (1048576, 2), (ALL, 3)]),
    (8, &[(4096, 4), (65536, 2), (262144, 5), (524288, 1), (1048576, 5), (ALL, 1)]),
    (16, &[(8192, 4), (ALL, 5)]),
    (32, &[(4096, 4), (ALL, 5)]),
    (256, &[(ALL, 5)]),
    (512, &[(8192, 5), (16384, 6), (ALL, 5)]),
    (2048, &[(ALL, 5)]),
    (4096, &[(512, 5), (1024, 6), (8192, 5), (16384, 6), (ALL, 5)]),
    (ALL, &[(16, 5), (32, 6), (1024, 5), (2048, 6), (8192, 5), (16384, 6), (ALL, 5)]),
];

const REDUCE_SCATTER: &[(u64, &[(u64, u32)])] = &[
    (4, &[(65536, 3), (131072, 4), (ALL, 3)]),
    (8, &[(8, 1), (262144, 2), (ALL, 3)]),
    (32, &[(262144, 2), (ALL, 3)]),
    (64, &[(64, 1), (2048, 2), (524288, 4), (ALL, 3)]),
    (128, &[(256, 1), (512, 2), (2048, 4), (4096, 2), (ALL, 4)]),
    (256, &[(256, 1), (512, 2), (ALL, 4)]),
    (512, &[(256, 1), (1024, 2), (ALL, 4)]),
    (1024, &[(512, 1), (2048, 2), (8192, 4), (16384, 2), (ALL, 4)]),
    (2048, &[(512, 1), (4096, 2), (16384, 4), (32768, 2), (ALL, 4)]),
    (4096, &[(512, 1), (4096, 2), (ALL, 4)]),
    (ALL, &[(1024, 1), (8192, 2), (ALL, 4)]),
];

const REDUCE_SCATTER_BLOCK: &[(u64, &[(u64, u32)])] = &[
    (4, &[(4, 2), (8, 4), (16, 3), (128, 4), (256, 3), (4096, 4), (8192, 3), (131072, 4), (ALL, 1)]),
    (8, &[(8, 3), (32, 2), (256, 4), (8192, 3), (16384, 4), (1048576, 3), (ALL, 1)]),
    (16, &[(4, 1), (32, 3), (128, 4), (524288, 3), (4194304, 1), (ALL, 4)]),
    (32, &[(32, 1), (524288, 3), (2097152, 1), (4194304, 3), (ALL, 4)]),
    (ALL, &[(4, 3), (16, 1), (65536, 4), (262144, 1), (ALL, 4)]),
];

const ONE_AFTER_THE_OTHER: &[(u64, &[(u64, u32)])] = &[(ALL, &[(ALL, 1)])];

/// The default algorithms for these message bytes, each with its part of them; none if unknown. From 6.0 on reduce has a fan-out
/// of 2 (`coll_tuned_decision_fixed.c`).
pub fn default_choices(
    release: Release,
    collective: Collective,
    ranks: Ranks,
    bytes: &RangeInclusive<u64>,
) -> Option<Vec<(Choice, RangeInclusive<u64>)>> {
    let decision = match collective {
        Collective::Allreduce => ALLREDUCE,
        Collective::Reduce => REDUCE,
        Collective::ReduceScatter => REDUCE_SCATTER,
        Collective::ReduceScatterBlock => REDUCE_SCATTER_BLOCK,
        // The one rank after the other of coll/basic.
        scan if !scan.has_default() => ONE_AFTER_THE_OTHER,
        _ => return None,
    };
    let faninout = if collective == Collective::Reduce && release >= Release::V6_0 { 2 } else { 0 };
    let (_, sizes) = decision.iter().find(|(limit, _)| u64::from(ranks.0) < *limit)?;
    let mut first = 0;
    let mut taken = Vec::new();
    for (limit, algorithm) in *sizes {
        let last = if *limit == ALL { ALL } else { limit - 1 };
        let part = first.max(*bytes.start())..=last.min(*bytes.end());
        if !part.is_empty() {
            taken.push((Choice::plain(*algorithm).with_faninout(faninout), part));
        }
        first = *limit;
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_one_algorithm() {
        for collective in [Collective::Allreduce, Collective::Reduce, Collective::ReduceScatter, Collective::Scan] {
            for ranks in [2, 3, 4, 8, 16, 100, 500, 5000] {
                let taken = default_choices(Release::V5_0, collective, Ranks(ranks), &(0..=ALL)).expect("is known");
                assert_eq!((*taken[0].1.start(), *taken[taken.len() - 1].1.end()), (0, ALL));
                for pair in taken.windows(2) {
                    assert_eq!(pair[0].1.end() + 1, *pair[1].1.start(), "{collective} of {ranks}");
                }
            }
        }
    }

    #[test]
    fn a_part_of_the_sizes_has_the_algorithms_of_that_part() {
        let taken = default_choices(Release::V5_0, Collective::Allreduce, Ranks(8), &(8191..=8192)).expect("is known");
        assert_eq!(taken, [(Choice::plain(3), 8191..=8191), (Choice::plain(6), 8192..=8192)]);
    }
}
