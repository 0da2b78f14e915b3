//! Collective, communicator size, message size: what a candidate is timed for.

use std::fmt;

use collrules_reference::{Blocks, Bound, Reference, Script, bound};
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
    /// The message bytes that the caller passes, as OSU prints them (see [`collrules_rules::metric`]): the block of one
    /// rank for allgather(v), alltoall(v), gather, scatter and reduce_scatter_block, the whole vector elsewhere; 0 where
    /// calls have no size.
    pub bytes: Bytes,
}

/// The size in bytes of the datatype that calls are made with: `MPI_INT` where there is an operation, else `MPI_BYTE`.
///
/// Rules see it where the lookup depends on the datatype alone (scan and exscan).
pub fn type_size(collective: Collective) -> u64 {
    if collective.reduces() { 4 } else { 1 }
}

impl Cell {
    /// A reference algorithm for the measured call, whose root is rank 0; none where there is no such algorithm. Its
    /// elements are those of the datatype that calls are made with (see [`type_size`]).
    pub fn script(self, reference: Reference) -> Option<Script> {
        Script::new(self.collective, reference, 0, self.blocks())
    }

    /// What the measured call needs at least, in elements; none where nothing is known.
    pub fn bound(self) -> Option<Bound> {
        bound(self.collective, 0, &self.blocks()).filter(|_| self.ranks.0 >= 2)
    }

    /// How the whole vector is divided. What does not divide evenly goes to the first ranks.
    fn blocks(self) -> Blocks {
        let elements = self.bytes.0 / type_size(self.collective);
        match self.collective.counts_blocks() {
            true => Blocks::equal(elements, self.ranks.0),
            false => Blocks::share(elements, self.ranks.0),
        }
    }

    /// The message sizes of a collective on so many ranks, where `sizes` are those of messages or, with `whole`, of whole vectors,
    /// as Chan et al. count: their blocks are of whole elements, and of one at least. Calls without a size have the size 0.
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

    /// The bytes of the whole vector, which Chan et al. count.
    pub fn vector(self) -> Bytes {
        let blocks = if self.collective.counts_blocks() { self.ranks.0 } else { 1 };
        Bytes(self.bytes.0.saturating_mul(blocks.into()))
    }

    /// What Open MPI's rule lookup sees of the measured call.
    pub fn lookup_bytes(self, release: Release) -> u64 {
        lookup_bytes(release, self.collective, self.ranks, self.bytes, type_size(self.collective))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ranks", self.collective, self.ranks)?;
        if self.collective.has_sizes() { write!(f, " at {}", self.bytes) } else { Ok(()) }
    }
}
