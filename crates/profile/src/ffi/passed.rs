//! The arguments of a call: message size and flags.

use std::ffi::c_int;

use super::mpi::Mpi;
use super::{Counts, Op, Ptr, Type, Types};
use crate::communicators::LiveCommunicator;
use crate::table::{DERIVED, IGNORED_DIFFER, IN_PLACE, NO_ROOT, NOT_COMMUTATIVE, UNEQUAL};

/// Arguments of a call that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Its message bytes.
    pub(super) bytes: u64,
    /// Hash that distinguishes calls with other counts and datatypes.
    pub(super) mixed: u64,
    /// Its root, or [`NO_ROOT`].
    pub(super) root: c_int,
    /// Flags: the constants of [`crate::table`].
    pub(super) flags: u8,
}

/// Returns true for `MPI_IN_PLACE`, which Fortran's bindings pass on as C's.
pub(super) fn is_in_place(buffer: Ptr) -> bool {
    buffer.addr() == 1
}

fn set(flag: u8, is: bool) -> u8 {
    if is { flag } else { 0 }
}

impl Passed {
    /// A call without data.
    pub(super) const NOTHING: Self = Self { bytes: 0, mixed: 0, root: NO_ROOT, flags: 0 };

    /// A call of this many elements.
    #[inline]
    pub(super) fn elements(mpi: &Mpi, count: u64, datatype: Type) -> Self {
        let (size, derived) = mpi.datatype(datatype);
        Self {
            bytes: count.saturating_mul(size),
            mixed: count.wrapping_mul(0xFF51_AFD7_ED55_8CCD) ^ size,
            root: NO_ROOT,
            flags: set(DERIVED, derived),
        }
    }

    /// Like `elements`, for a C count, which is not negative in a valid call.
    #[inline]
    pub(super) fn block(mpi: &Mpi, count: c_int, datatype: Type) -> Self {
        Self::elements(mpi, u64::try_from(count).unwrap_or(0), datatype)
    }

    pub(super) fn in_place(mut self, buffer: Ptr) -> Self {
        self.flags |= set(IN_PLACE, is_in_place(buffer));
        self
    }

    pub(super) fn root(mut self, root: c_int) -> Self {
        self.root = root;
        self
    }

    pub(super) fn op(mut self, mpi: &Mpi, operation: Op) -> Self {
        self.flags |= set(NOT_COMMUTATIVE, !mpi.commutes(operation));
        self
    }

    /// Arguments of a gather or a scatter, which has a block for each rank: those that only the root looks at, and those of
    /// every rank, which describe the same data. The root may pass `MPI_IN_PLACE` as the buffer of its own block.
    pub(super) fn rooted(
        mpi: &Mpi,
        known: &LiveCommunicator,
        root: c_int,
        at_root: (c_int, Type),
        (buffer, own): (Ptr, (c_int, Type)),
    ) -> Self {
        if root != known.rank() {
            let passed = Self::block(mpi, own.0, own.1).root(root);
            return Self { flags: passed.flags | set(IGNORED_DIFFER, own != at_root), ..passed };
        }
        let passed = Self::block(mpi, at_root.0, at_root.1).root(root).in_place(buffer);
        Self { flags: passed.flags | set(IGNORED_DIFFER, !is_in_place(buffer) && own != at_root), ..passed }
    }

    /// Blocks of different sizes, one per rank: their mean, and a flag if they differ.
    ///
    /// # Safety
    ///
    /// `counts` must have a count for each of `ranks`.
    pub(super) unsafe fn blocks(mpi: &Mpi, ranks: u32, counts: Counts, datatype: Type) -> Self {
        // SAFETY: as the caller says.
        let (sum, unequal) = unsafe { sum(ranks, counts) };
        let mut passed = Self::elements(mpi, sum, datatype);
        passed.bytes /= u64::from(ranks.max(1));
        passed.flags |= set(UNEQUAL, unequal);
        passed
    }

    /// A vector in parts of different sizes, one per rank: its size, and a flag if the parts differ.
    ///
    /// # Safety
    ///
    /// `counts` must have a count for each of `ranks`.
    pub(super) unsafe fn parts(mpi: &Mpi, ranks: u32, counts: Counts, datatype: Type) -> Self {
        // SAFETY: as the caller says.
        let (sum, unequal) = unsafe { sum(ranks, counts) };
        let passed = Self::elements(mpi, sum, datatype);
        Self { flags: passed.flags | set(UNEQUAL, unequal), ..passed }
    }

    /// Blocks of different sizes and types, one per rank: their mean, and a flag if they differ.
    ///
    /// # Safety
    ///
    /// Counts and datatypes must have an entry for each of `ranks`.
    pub(super) unsafe fn typed_blocks(mpi: &Mpi, ranks: u32, counts: Counts, datatypes: Types) -> Self {
        let mut all = Self::NOTHING;
        let mut first = None;
        for rank in 0..ranks as usize {
            // SAFETY: as the caller says.
            let block = unsafe { Self::block(mpi, *counts.add(rank), *datatypes.add(rank)) };
            let unequal = *first.get_or_insert(block.bytes) != block.bytes;
            all.bytes += block.bytes;
            all.mixed = all.mixed.rotate_left(5) ^ block.mixed;
            all.flags |= block.flags | set(UNEQUAL, unequal);
        }
        all.bytes /= u64::from(ranks.max(1));
        all
    }
}

/// The sum of counts; true if they differ.
///
/// # Safety
///
/// `counts` must have a count for each of `ranks`.
unsafe fn sum(ranks: u32, counts: Counts) -> (u64, bool) {
    if ranks == 0 {
        return (0, false);
    }
    // SAFETY: as the caller says.
    let counts = unsafe { std::slice::from_raw_parts(counts, ranks as usize) };
    let sum = counts.iter().map(|count| u64::try_from(*count).unwrap_or(0)).sum();
    (sum, counts.iter().any(|count| *count != counts[0]))
}
