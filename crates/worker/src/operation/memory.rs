//! Allocation of buffers, with an error if memory is short, before the system kills a process.

use std::ops::{Deref, DerefMut};

use collrules_record::rundir::available_memory;

/// Alignment of buffers in bytes, that of pages, as in OSU's benchmarks. If input and result are aligned differently,
/// the kernel can copy between processes at a fifth of the speed; by chance, launches would differ by as much.
const ALIGNMENT: usize = 4096;

/// Distance in bytes from the beginning of a page to a large buffer of glibc's `malloc`.
pub(super) const UNALIGNED: usize = 16;

/// Size below which the free memory is not checked: reading it takes longer than filling the buffers.
const SMALL: u64 = 8 << 20;

/// Bytes from the beginning of a page on, or from a fixed distance after it.
#[derive(Debug, Default)]
pub(super) struct PageAligned {
    bytes: Vec<u8>,
    first: usize,
}

impl PageAligned {
    /// A buffer of this many bytes at this distance from the beginning of a page. Zeros touch every page. Fails, in words, if
    /// it is larger than the free memory of the host.
    pub(super) fn new(len: usize, offset: usize) -> Result<Self, String> {
        let refused = || {
            format!(
                "its buffers take {} MiB on each rank, and this host has {} MiB of memory left; measure smaller messages or \
                 fewer ranks",
                len >> 20,
                available_memory().unwrap_or(0) >> 20
            )
        };
        let wanted = len as u64;
        if wanted > SMALL && available_memory().is_some_and(|left| wanted > left) {
            return Err(refused());
        }
        let all = len.saturating_add(ALIGNMENT + offset);
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(all).map_err(|_| refused())?;
        let first = bytes.as_ptr().align_offset(ALIGNMENT).saturating_add(offset).min(all - len);
        bytes.resize(first + len, 0);
        Ok(Self { bytes, first })
    }
}

impl Deref for PageAligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.first..]
    }
}

impl DerefMut for PageAligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let error = PageAligned::new(usize::MAX / 2, 0).expect_err("no machine has this");
        assert!(error.contains("MiB of memory left"), "{error}");
        assert_eq!(PageAligned::new(3, 0).expect("three bytes")[..], [0, 0, 0]);
    }

    #[test]
    fn buffers_begin_with_a_page_or_where_malloc_puts_them() {
        for (len, offset) in [0, 1, 100, 5000, 1 << 20].into_iter().flat_map(|len| [(len, 0), (len, UNALIGNED)]) {
            let buffer = PageAligned::new(len, offset).expect("small");
            assert_eq!((buffer.as_ptr() as usize % ALIGNMENT, buffer.len()), (offset, len));
        }
    }
}
