//! From the message size of a call to the size that Open MPI's rule lookup sees.

use crate::collective::Collective;
use crate::release::Release;
use crate::units::{Bytes, Ranks};

/// What the lookup sees of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Message bytes times this.
    Times(u64),
    /// Communicator size times the size of the datatype; the count plays no part.
    CountFree,
    /// Always 0.
    None,
}

impl Metric {
    /// What a size in message bytes is multiplied by: 1 where they are not what is looked up.
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

/// The lookup bytes of a call: `message` is what OSU prints, `type_size` the size of the datatype in bytes.
///
/// Message bytes are those of the block of one rank for allgather, allgatherv, alltoall, gather, scatter and
/// reduce_scatter_block, and those of the whole vector elsewhere. For the v-collectives all ranks are taken to pass
/// the same count. Products saturate; up to 5.0, gather, scatter and both reduce-scatters count elements in a C `int`,
/// so that beyond 2^31 elements they look up something else.
pub fn lookup_bytes(release: Release, collective: Collective, ranks: Ranks, message: Bytes, type_size: u64) -> u64 {
    match metric(release, collective, ranks) {
        Metric::Times(factor) => message.0.saturating_mul(factor),
        Metric::CountFree => u64::from(ranks.0).saturating_mul(type_size),
        Metric::None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Collective::*;

    /// 100 doubles per call, 4 ranks, as logged by a 6.0 run and read in the sources of the others.
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

    #[test]
    fn products_saturate() {
        assert_eq!(lookup_bytes(Release::V5_0, Alltoall, Ranks(u32::MAX), Bytes(u64::MAX), 1), u64::MAX);
        assert_eq!(lookup_bytes(Release::V5_0, Scan, Ranks(3), Bytes(0), u64::MAX), u64::MAX);
    }
}
