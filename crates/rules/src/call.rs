//! A collective call: the properties that decide which rule applies and which algorithm runs.

use serde::{Deserialize, Serialize};

use crate::collective::Collective;
use crate::metric;
use crate::names;
use crate::release::Release;
use crate::units::{Bytes, Ranks};

names! {
    /// Distribution of a communicator's ranks over nodes. Only JSON files distinguish it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Distribution, read as "distribution" {
        /// In a rule: any. In a call: neither of the others.
        #[default]
        Any "any",
        /// Every rank on a node of its own. Open MPI recognizes it only for communicators made from others: a rule for it
        /// never applies to `MPI_COMM_WORLD`.
        OnePerNode "one-per-node",
        /// All ranks on one node.
        SingleNode "single-node",
    }
}

impl Distribution {
    /// Returns true if a rule for this distribution applies to a communicator with another one.
    pub fn applies_to(self, communicator: Self) -> bool {
        self == Self::Any || self == communicator
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Size of the communicator.
    pub ranks: Ranks,
    /// Message bytes that the caller passes (see [`metric::lookup_bytes`]).
    pub message: Bytes,
    /// Size of the datatype in bytes.
    pub type_size: u64,
    /// True if the caller is the root, or there is none. On other ranks of a scatter, programs are assumed to pass 0
    /// and `MPI_DATATYPE_NULL`, since these arguments are not significant.
    pub is_root: bool,
    /// True if `MPI_IN_PLACE` is passed, together with the usual 0 and `MPI_DATATYPE_NULL`.
    pub in_place: bool,
    /// True if the operation commutes.
    pub commutative: bool,
    /// Distribution of the communicator's ranks over nodes.
    pub distribution: Distribution,
}

impl Call {
    /// A call with single bytes, by the root, out of place, with an operation that commutes if there is one.
    pub fn new(collective: Collective, ranks: Ranks, message: Bytes) -> Self {
        Self {
            collective,
            ranks,
            message,
            type_size: 1,
            is_root: true,
            in_place: false,
            commutative: true,
            distribution: Distribution::Any,
        }
    }

    /// Sets the size of the datatype in bytes.
    pub fn with_type_size(self, type_size: u64) -> Self {
        Self { type_size, ..self }
    }

    /// Makes the call in place.
    pub fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }

    /// Returns true if the call moves no data: MPI then returns before it asks any component (the count is tested first
    /// in `ompi/mpi/c/*.c`). False for barrier, which never has data, and for alltoallv, which does not test for it.
    pub fn is_empty(&self) -> bool {
        let looks = !matches!(self.collective, Collective::Alltoallv | Collective::Barrier);
        looks && self.message.0 == 0 && self.type_size > 0
    }

    /// Elements in the message; 0 for datatypes of size 0.
    pub fn count(&self) -> u64 {
        self.message.0.checked_div(self.type_size).unwrap_or(0)
    }

    /// The size that the rule lookup sees on this caller's side, computed from its arguments, significant or not.
    pub fn lookup_bytes(&self, release: Release) -> u64 {
        if self.is_ignored() {
            0
        } else {
            metric::lookup_bytes(release, self.collective, self.ranks, self.message, self.type_size)
        }
    }

    /// Returns true if the count and datatype of the lookup are not significant here.
    pub(crate) fn is_ignored(&self) -> bool {
        match self.collective {
            Collective::Allgather | Collective::Allgatherv | Collective::Alltoall => self.in_place,
            Collective::Gather => self.in_place && self.is_root,
            Collective::Scatter => !self.is_root,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_significant_are_looked_up_as_0() {
        for release in [Release::V4_1, Release::V5_0, Release::V6_0] {
            let seen = |call: Call| call.lookup_bytes(release);
            let call = |collective| Call::new(collective, Ranks(8), Bytes(4096)).with_type_size(4);
            assert_eq!(seen(call(Collective::Scatter)), 32768);
            assert_eq!(seen(Call { is_root: false, ..call(Collective::Scatter) }), 0);
            assert_eq!(seen(call(Collective::Scatter).in_place()), 32768);
            assert_eq!(seen(call(Collective::Gather).in_place()), 0);
            assert_eq!(seen(Call { is_root: false, ..call(Collective::Gather) }), 32768);
            for collective in [Collective::Allgather, Collective::Allgatherv, Collective::Alltoall] {
                assert_eq!(seen(call(collective).in_place()), 0, "{collective}");
            }
            assert_eq!(seen(call(Collective::Allreduce).in_place()), 4096);
            assert_eq!(seen(Call { is_root: false, ..call(Collective::Bcast) }), 4096);
        }
    }

    #[test]
    fn elements_are_counted_in_the_datatype() {
        let call = Call::new(Collective::Bcast, Ranks(4), Bytes(800));
        assert_eq!(call.count(), 800);
        assert_eq!(call.with_type_size(8).count(), 100);
        assert_eq!(call.with_type_size(0).count(), 0);
    }

    #[test]
    fn a_rule_for_any_distribution_applies_to_all() {
        let applies = Distribution::ALL.map(|rule| Distribution::ALL.map(|call| rule.applies_to(call)));
        assert_eq!(applies, [[true, true, true], [false, true, false], [false, false, true]]);
    }
}
