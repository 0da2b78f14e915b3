//! The size that Open MPI's rule lookup sees for the message size of a call.

use crate::collective::Collective;
use crate::release::Release;
use crate::units::{Bytes, Ranks};

/// Size that Open MPI looks up for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Message bytes times this.
    Times(u64),
    /// Communicator size times the size of the datatype; the count does not matter.
    CountFree,
    /// Always 0.
    None,
}

impl Metric {
    /// Returns the factor from message bytes to lookup bytes: 1 if lookup bytes are not a multiple of them.
    pub fn factor(self) -> u64 {
        match self {
            Self::Times(factor) => factor.max(1),
            Self::CountFree | Self::None => 1,
        }
    }
}

/// The metric of a collective on communicators of this size.
pub fn metric(release: Release, collective: Collective, ranks: Ranks) -> Metric {
    let total = Metric::Times(u64::from(ranks.0));
    match collective {
        Collective::Allgather | Collective::Alltoall | Collective::ReduceScatterBlock => total,
        Collective::Gather | Collective::Scatter if release >= Release::V4_1 => total,
        Collective::Gather | Collective::Scatter | Collective::Exscan | Collective::Scan => Metric::CountFree,
        // From 4.1 on the average over ranks, rounded down, before that the sum.
        Collective::Allgatherv if release >= Release::V4_1 => Metric::Times(1),
        Collective::Allgatherv => total,
        Collective::Allreduce | Collective::Bcast | Collective::Reduce | Collective::ReduceScatter => Metric::Times(1),
        Collective::Alltoallv | Collective::Barrier => Metric::None,
    }
}

/// The lookup bytes of a call: `message` is its message bytes, `type_size` the size of the datatype in bytes.
///
/// Message bytes are those of the block of one rank for allgather, allgatherv, alltoall, gather, scatter and
/// reduce_scatter_block, and those of the whole vector elsewhere. OSU prints the same but for reduce_scatter_block, of
/// which it prints the whole vector. For the v-collectives, all ranks are assumed to pass
/// the same count. Products saturate, except where Open MPI's own overflow: see [`overflow`].
pub fn lookup_bytes(release: Release, collective: Collective, ranks: Ranks, message: Bytes, type_size: u64) -> u64 {
    if let Some(elements) = overflow(release, collective, ranks, message, type_size) {
        // As compilers do it: a product of two ints, extended by its sign before it is multiplied by a size_t.
        return (i64::from(elements as i32) as u64).wrapping_mul(type_size);
    }
    match metric(release, collective, ranks) {
        Metric::Times(factor) => message.0.saturating_mul(factor),
        Metric::CountFree => u64::from(ranks.0).saturating_mul(type_size),
        Metric::None => 0,
    }
}

/// The elements of a call for which Open MPI's own count overflows before it is looked up: 2^31 and more, up to 5.0, if
/// a C `int` counts them, as in gather, scatter and both reduce-scatters (`coll_tuned_decision_dynamic.c`).
pub fn overflow(release: Release, collective: Collective, ranks: Ranks, message: Bytes, type_size: u64) -> Option<u64> {
    let factor = counted_in_int(release, collective, ranks)?;
    let elements = message.0.checked_div(type_size)?.saturating_mul(factor);
    (elements > i32::MAX as u64).then_some(elements)
}

/// Returns the factor of a message's elements in the C `int` that counts them; none if the counter is longer.
pub fn counted_in_int(release: Release, collective: Collective, ranks: Ranks) -> Option<u64> {
    let is_total = matches!(collective, Collective::Gather | Collective::Scatter | Collective::ReduceScatterBlock);
    let counts = is_total || collective == Collective::ReduceScatter;
    match metric(release, collective, ranks) {
        Metric::Times(factor) if counts && release <= Release::V5_0 => Some(factor),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Collective::*;

    /// 100 doubles per call on 4 ranks, as logged by a run of 6.0 and read in the sources of the others.
    #[test]
    fn a_call_of_100_doubles_on_4_ranks() {
        let see = |release, collective| lookup_bytes(release, collective, Ranks(4), Bytes(800), 8);
        for release in Release::ALL {
            for (collective, bytes) in [
                (Bcast, 800),
                (Reduce, 800),
                (Allreduce, 800),
                (ReduceScatter, 800),
                (Allgather, 3200),
                (Alltoall, 3200),
                (ReduceScatterBlock, 3200),
                (Scan, 32),
                (Exscan, 32),
                (Barrier, 0),
                (Alltoallv, 0),
            ] {
                assert_eq!(see(release, collective), bytes, "{release} {collective}");
            }
        }
        for (collective, old, new) in [(Gather, 32, 3200), (Scatter, 32, 3200), (Allgatherv, 3200, 800)] {
            assert_eq!(see(Release::V4_0, collective), old, "{collective}");
            for release in [Release::V4_1, Release::V5_0, Release::V6_0] {
                assert_eq!(see(release, collective), new, "{release} {collective}");
            }
        }
    }

    /// Gathers of 32 KiB on 65536 ranks are looked up as nearly 2^64 bytes, those of 64 KiB as none.
    #[test]
    fn counts_of_2_to_the_31_elements_overflow_up_to_5_0() {
        let many = Ranks(65536);
        for collective in [Gather, Scatter, ReduceScatterBlock] {
            let see = |release, bytes, size| lookup_bytes(release, collective, many, Bytes(bytes), size);
            for release in [Release::V4_1, Release::V5_0] {
                assert_eq!(see(release, 32767, 1), 32767 << 16, "{collective}");
                assert_eq!(see(release, 32768, 1), u64::MAX << 31, "{collective}");
                assert_eq!(see(release, 65536, 1), 0, "{collective}");
                assert_eq!(see(release, 65537, 1), 65536, "{collective}");
                // As many bytes in fewer elements.
                assert_eq!(see(release, 65536, 8), 1 << 32, "{collective}");
                assert_eq!(see(release, 8 << 15, 8), (u64::MAX << 31).wrapping_mul(8), "{collective}");
            }
            assert_eq!(see(Release::V6_0, 32768, 1), 1 << 31, "{collective}");
        }
        let vector = |release| lookup_bytes(release, ReduceScatter, Ranks(2), Bytes(1 << 31), 1);
        assert_eq!((vector(Release::V5_0), vector(Release::V6_0)), (u64::MAX << 31, 1 << 31));
        // These never did: the count is extended first, or plays no part.
        for (release, collective) in [(Release::V5_0, Allgather), (Release::V5_0, Alltoall), (Release::V4_0, Gather)] {
            assert_eq!(overflow(release, collective, many, Bytes(1 << 40), 1), None, "{collective}");
        }
        assert_eq!(overflow(Release::V5_0, Gather, Ranks(u32::MAX), Bytes(u64::MAX), 1), Some(u64::MAX));
    }

    #[test]
    fn products_saturate() {
        assert_eq!(lookup_bytes(Release::V5_0, Alltoall, Ranks(u32::MAX), Bytes(u64::MAX), 1), u64::MAX);
        assert_eq!(lookup_bytes(Release::V5_0, Scan, Ranks(3), Bytes(0), u64::MAX), u64::MAX);
    }
}
