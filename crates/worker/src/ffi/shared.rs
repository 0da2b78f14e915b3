//! Memory that the ranks of a node share, through a window of MPI. No setting of a transport acts on it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::{MpiErrorClass, classify};

/// Bytes of a word with what keeps the next one out of its cache line, and of a prefetched neighbour.
const STRIDE: usize = 128;

/// A word of shared memory for each rank of a node.
pub(crate) struct SharedWords {
    window: ffi::MPI_Win,
    words: *const u8,
    ranks: usize,
}

impl SharedWords {
    /// Words of 0. All ranks of the communicator call it, and need a barrier before they change any.
    pub(crate) fn allocate(node: &SimpleCommunicator) -> Result<Self, MpiErrorClass> {
        let ranks = node.size() as usize;
        let own = if node.rank() == 0 { ranks * STRIDE } else { 0 };
        let mut own_words: *mut c_void = ptr::null_mut();
        // SAFETY: a predefined constant.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        // SAFETY: the communicator is valid while borrowed; the call writes a pointer and a window to these places.
        classify(unsafe {
            let place = (&raw mut own_words).cast::<c_void>();
            ffi::MPI_Win_allocate_shared(
                own as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                node.as_raw(),
                place,
                &raw mut window,
            )
        })?;
        let mut shared = Self { window, words: ptr::null(), ranks };
        let (mut size, mut unit): (ffi::MPI_Aint, c_int) = (0, 0);
        // SAFETY: the window was made above; the call writes a size, a unit and a pointer to these places.
        classify(unsafe {
            let place = (&raw mut shared.words).cast::<c_void>();
            ffi::MPI_Win_shared_query(window, 0, &raw mut size, &raw mut unit, place)
        })?;
        if node.rank() == 0 {
            (0..ranks).for_each(|rank| shared.of(rank).store(0, Ordering::Relaxed));
        }
        Ok(shared)
    }

    /// The word of a rank.
    pub(crate) fn of(&self, rank: usize) -> &AtomicU64 {
        assert!(rank < self.ranks && !self.words.is_null());
        // SAFETY: rank 0 has allocated a stride for each rank, which lasts as long as the window; windows are aligned to
        // pages, and all ranks use atomic operations only.
        unsafe { &*self.words.add(rank * STRIDE).cast::<AtomicU64>() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: made by `allocate`, and not used again.
        unsafe { ffi::MPI_Win_free(&raw mut self.window) };
    }
}
