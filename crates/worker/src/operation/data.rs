//! What calls that move data have in common: known data, and where a rank stands.

use collrules_record::Cell;
use collrules_reference::Reference;
use mpi::topology::SimpleCommunicator;

use super::memory::TooLarge;
use crate::ffi::ErrorClass;

/// The buffers of a rank in a collective that moves data. What is known about them does without MPI, so that the check
/// itself can be tested.
pub(super) trait Data {
    /// One call.
    fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass>;

    /// Makes ready for the reference algorithms of the cell.
    fn rehearse(&mut self, cell: Cell, references: &[Reference]) -> Result<(), TooLarge>;

    /// The same by a reference algorithm.
    fn carry_out(&mut self, reference: Reference, comm: &SimpleCommunicator) -> Result<(), ErrorClass>;

    /// Puts the known data of `salt` where it is sent from, and something else where results are wanted.
    fn fill(&mut self, salt: u64);

    /// Whether the result is that of the known data of `salt`.
    fn is_right(&self, salt: u64) -> bool;

    /// What is sent, and where the result is wanted, as bytes: for other calls that do the same.
    fn buffers(&mut self) -> (&[u8], &mut [u8]);
}

/// A rank and its communicator's size.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    pub(super) rank: usize,
    pub(super) ranks: usize,
}

impl Seat {
    pub(super) fn is_root(self) -> bool {
        self.rank == 0
    }
}

/// Random-looking bits, the upper ones best, that follow from a salt, the rank whose data it is, and a place in it.
pub(super) fn mixed(salt: u64, rank: usize, place: usize) -> u64 {
    (place as u64 ^ salt.rotate_left(32) ^ (rank as u64).rotate_left(44)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The byte at a place of the known data of a rank.
pub(super) fn known_byte(salt: u64, rank: usize, place: usize) -> u8 {
    (mixed(salt, rank, place) >> 56) as u8
}
