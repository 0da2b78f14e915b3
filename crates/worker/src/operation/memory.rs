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

/// Elements from the beginning of a page on, or from a fixed distance after it.
#[derive(Debug)]
pub(super) struct PageAligned<T> {
    elements: Vec<T>,
    first: usize,
}

impl<T> Default for PageAligned<T> {
    fn default() -> Self {
        Self { elements: Vec::new(), first: 0 }
    }
}

impl<T: Clone> PageAligned<T> {
    /// A buffer of this many elements, with every page touched. Fails, in words, if it is larger than the free memory of the
    /// host.
    pub(super) fn new(value: T, len: usize) -> Result<Self, String> {
        Self::after(value, len, 0)
    }

    /// A buffer of this many elements, at this distance in bytes from the beginning of a page.
    pub(super) fn after(value: T, len: usize, offset: usize) -> Result<Self, String> {
        let wanted = len as u64 * size_of::<T>() as u64;
        let refused = || {
            format!(
                "its buffers take {} MiB on each rank, and this host has {} MiB of memory left; measure smaller messages or \
                 fewer ranks",
                wanted >> 20,
                available_memory().unwrap_or(0) >> 20
            )
        };
        if wanted > SMALL && available_memory().is_some_and(|left| wanted > left) {
            return Err(refused());
        }
        let offset = offset / size_of::<T>();
        let all = len.saturating_add(ALIGNMENT / size_of::<T>() + offset);
        let mut elements: Vec<T> = Vec::new();
        elements.try_reserve_exact(all).map_err(|_| refused())?;
        let first = (elements.as_ptr().align_offset(ALIGNMENT).saturating_add(offset)).min(all - len);
        elements.resize(first + len, value);
        Ok(Self { elements, first })
    }
}

impl<T> Deref for PageAligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements[self.first..]
    }
}

impl<T> DerefMut for PageAligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let error = PageAligned::new(0u8, usize::MAX / 2).expect_err("no machine has this").to_string();
        assert!(error.contains("MiB of memory left"), "{error}");
        assert_eq!(PageAligned::new(7u8, 3).expect("three bytes")[..], [7, 7, 7]);
    }

    #[test]
    fn unaligned_buffers_begin_where_malloc_puts_them() {
        for len in [1, 100, 1 << 20] {
            let (bytes, numbers) = (
                PageAligned::after(1u8, len, UNALIGNED).expect("small"),
                PageAligned::after(1f64, len, UNALIGNED).expect("small"),
            );
            let places = (bytes.as_ptr() as usize % ALIGNMENT, numbers.as_ptr() as usize % ALIGNMENT);
            assert_eq!((places, bytes.len(), numbers.len()), ((UNALIGNED, UNALIGNED), len, len));
        }
    }

    #[test]
    fn buffers_begin_with_a_page() {
        for len in [0, 1, 100, 5000, 1 << 20] {
            let (bytes, numbers) =
                (PageAligned::new(1u8, len).expect("small"), PageAligned::new(1f64, len).expect("small"));
            assert_eq!((bytes.as_ptr() as usize % ALIGNMENT, numbers.as_ptr() as usize % ALIGNMENT), (0, 0), "{len}");
            assert_eq!((bytes.len(), numbers.len()), (len, len));
        }
    }
}
