//! Collective, communicator size and message size: the key of a comparison.

use std::fmt;

pub use collrules_program::type_size;
pub use collrules_program::{Arguments, DataType};
use collrules_program::{Blocks, Bound, Even, Reference, ReferenceAlgorithm, Seat, bound};
use collrules_rules::metric::lookup_bytes;
use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Ranks};

/// A cell of the campaign's grid. The layout (nodes, ranks per node) follows from the communicator size within one
/// run and is recorded in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The message bytes that the caller passes (see [`collrules_rules::metric`]): the block of one rank for allgather(v),
    /// alltoall(v), gather, scatter and reduce_scatter_block, the whole vector elsewhere; 0 if calls have no size.
    pub bytes: Bytes,
}

impl Cell {
    /// The size that OSU's benchmarks print: the message bytes, but the whole vector of reduce_scatter_block
    /// (`osu_reduce_scatter_block.c` divides its elements by the ranks).
    pub fn osu_bytes(self) -> Bytes {
        match self.collective {
            Collective::ReduceScatterBlock => Bytes(self.bytes.0.saturating_mul(u64::from(self.ranks.0))),
            _ => self.bytes,
        }
    }

    /// A reference algorithm for the measured call with root 0; none if there is no such algorithm. Its elements have
    /// the datatype of the calls (see [`type_size`]).
    pub fn reference(self, reference: Reference) -> Option<ReferenceAlgorithm> {
        self.reference_with(reference, Arguments::default())
    }

    /// A reference algorithm for a call with these arguments.
    pub fn reference_with(self, reference: Reference, arguments: Arguments) -> Option<ReferenceAlgorithm> {
        let element = arguments.type_size(self.collective);
        ReferenceAlgorithm::new(self.collective, reference, arguments.root, self.blocks_of(element), element as usize)
    }

    /// A rank of the measured call, with the nodes of the communicator if all have equally many ranks.
    pub fn seat(self, rank: usize, even: Option<Even>) -> Seat {
        self.seat_with(rank, even, Arguments::default())
    }

    /// A rank of a call with these arguments.
    pub fn seat_with(self, rank: usize, even: Option<Even>, arguments: Arguments) -> Seat {
        let (ranks, bytes) = (self.ranks.0 as usize, self.bytes.0 as usize);
        Seat { collective: self.collective, rank, ranks, bytes, even, arguments }
    }

    /// Returns the least messages, volume and operations that the measured call needs, in elements; none if no bound is
    /// known.
    pub fn bound(self) -> Option<Bound> {
        bound(self.collective, 0, &self.blocks_of(type_size(self.collective))).filter(|_| self.ranks.0 >= 2)
    }

    /// Divides the whole vector, in elements of this many bytes, into blocks. The remainder goes to the first ranks.
    fn blocks_of(self, element: u64) -> Blocks {
        let elements = self.bytes.0 / element;
        match self.collective.counts_blocks() {
            true => Blocks::equal(elements, self.ranks.0),
            false => Blocks::share(elements, self.ranks.0),
        }
    }

    /// The message sizes of a collective on this many ranks. `sizes` are those of messages or, with `whole`, of whole
    /// vectors, as in Chan et al.; their blocks have at least one element, and only whole ones. Calls without a size
    /// have the size 0.
    pub fn sizes(collective: Collective, ranks: Ranks, sizes: &[Bytes], whole: bool) -> Vec<Bytes> {
        if !collective.has_sizes() {
            return vec![Bytes(0)];
        }
        let element = type_size(collective);
        let block = |vector: &Bytes| Bytes((vector.0 / u64::from(ranks.0.max(1)) / element).max(1) * element);
        let mut sizes: Vec<Bytes> = match whole && collective.counts_blocks() {
            true => sizes.iter().map(block).collect(),
            false => sizes.to_vec(),
        };
        sizes.dedup();
        sizes
    }

    /// The bytes of the whole vector, the size in Chan et al.
    pub fn vector(self) -> Bytes {
        let blocks = if self.collective.counts_blocks() { self.ranks.0 } else { 1 };
        Bytes(self.bytes.0.saturating_mul(blocks.into()))
    }

    /// Returns the size that Open MPI's rule lookup sees for the measured call.
    pub fn lookup_bytes(self, release: Release) -> u64 {
        lookup_bytes(release, self.collective, self.ranks, self.bytes, type_size(self.collective))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.collective)?;
        if self.collective.has_sizes() {
            write!(f, " of {}", self.bytes)?;
        }
        write!(f, " on {} ranks", self.ranks)
    }
}
