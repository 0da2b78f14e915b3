//! Buffers of successive calls: equal in each call, or enough in turn to exceed the last-level cache.

use std::any::TypeId;
use std::fs;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;

use super::memory::{PageAligned, UNALIGNED};

/// Assumed size of a last-level cache if the system does not report it.
const UNKNOWN_CACHE: usize = 64 << 20;

/// Alignment of successive buffers in bytes, so that no two share a line of the cache.
const LINE: usize = 64;

/// Source of the buffers of a launch's calls.
#[derive(Clone, Debug)]
pub(crate) enum BufferSource {
    /// Equal buffers in each call.
    Reused,
    /// Different buffers in each call.
    Rotated(Arc<BufferPool>),
    /// One buffer for input and result.
    InPlace,
    /// Equal buffers in each call, [`UNALIGNED`](super::memory::UNALIGNED) bytes after the beginning of a page.
    Unaligned,
}

/// Memory for buffers in turn. It is reused for the next cell, since touching so much takes long.
#[derive(Debug)]
pub(crate) struct BufferPool {
    /// Bytes of the last-level cache.
    cache: usize,
    /// Position of the last used buffer within all of them, as a fraction of 2^32.
    position: AtomicU64,
    /// By the type of elements, since values of one may be slow ones of another, such as denormal numbers.
    free: Mutex<Vec<(TypeId, PageAligned)>>,
}

impl BufferPool {
    /// No memory so far.
    pub(crate) fn new() -> Self {
        let cache = last_level_cache(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        Self { cache: cache.unwrap_or(UNKNOWN_CACHE), position: AtomicU64::new(0), free: Mutex::default() }
    }

    /// The size of the last-level cache, in bytes.
    pub(crate) fn cache(&self) -> u64 {
        self.cache as u64
    }

    /// Memory for at least this number of bytes of elements of a type; the first may have any values. The smallest that is
    /// large enough, and new memory with room for cells with messages up to an eighth of the cache, whose buffers exceed it by
    /// more.
    fn take(&self, kind: TypeId, len: usize) -> Result<PageAligned, String> {
        if len == 0 {
            return PageAligned::new(0, 0);
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let order = |at: &usize| (free[*at].1.len() < len, free[*at].1.len());
        let best = (0..free.len()).filter(|at| free[*at].0 == kind).min_by_key(order);
        // Memory of the wrong size is freed, so that there is never more than is used at once, but for the room.
        let taken = best.map(|at| free.swap_remove(at).1).filter(|buffer| buffer.len() >= len);
        let room = if len <= self.cache + self.cache / 8 { len / 8 } else { 0 };
        taken.map_or_else(|| PageAligned::new(len + room, 0).or_else(|_| PageAligned::new(len, 0)), Ok)
    }

    fn put(&self, kind: TypeId, buffer: PageAligned) {
        // The memory of large messages is not kept.
        if !buffer.is_empty() && buffer.len() <= 2 * self.cache {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push((kind, buffer));
        }
    }
}

/// Bytes of the highest cache level, according to Linux's files about a processor.
fn last_level_cache(directory: &Path) -> Option<usize> {
    let caches = fs::read_dir(directory).ok()?.flatten().filter_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        cache_size(&read("level")?, &read("size")?)
    });
    caches.max().map(|(_, size)| size)
}

/// Level and bytes of a cache, such as 3 and `32768K`: Linux has no other unit here (`drivers/base/cacheinfo.c`).
fn cache_size(level: &str, size: &str) -> Option<(u32, usize)> {
    let kibibytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
    Some((level.trim().parse().ok()?, kibibytes.checked_mul(1 << 10)?))
}

/// A buffer, or several in turn.
pub(super) struct Slots<T: 'static> {
    buffer: PageAligned,
    /// Bytes of a buffer.
    len: usize,
    /// Bytes from the beginning of one buffer to that of the next.
    stride: usize,
    count: usize,
    /// Distance to the next buffer: far away, since processors prefetch neighbours.
    step: usize,
    at: usize,
    pool: Option<Arc<BufferPool>>,
    elements: PhantomData<T>,
}

impl<T: 'static> Slots<T> {
    /// Buffers of these numbers of bytes for sending and receiving.
    pub(super) fn pair((send, receive): (usize, usize), supply: &BufferSource) -> Result<(Self, Self), String> {
        let pool = if let BufferSource::Rotated(pool) = supply { Some(pool) } else { None };
        let offset = if matches!(supply, BufferSource::Unaligned) { UNALIGNED } else { 0 };
        let both = send.next_multiple_of(LINE) + receive.next_multiple_of(LINE);
        // One more than the cache holds, so that a buffer has left the cache before its next turn.
        let enough = |cache: usize| cache.checked_div(both).map_or(1, |held| (held + 1).max(2));
        let count = pool.map_or(1, |pool| enough(pool.cache));
        let step = distant_step(count);
        let ring = |len: usize| -> Result<Self, String> {
            let stride = len.next_multiple_of(LINE);
            let buffer = match pool {
                Some(pool) => pool.take(TypeId::of::<T>(), stride * count)?,
                None => PageAligned::new(len, offset)?,
            };
            // Visits are short: each continues after the last one, or a few buffers would have all turns.
            let position = pool.map_or(0, |pool| pool.position.load(Ordering::Relaxed));
            let at = ((position * count as u64) >> 32) as usize;
            Ok(Self { buffer, len, stride, count, step, at, pool: pool.cloned(), elements: PhantomData })
        };
        Ok((ring(send)?, ring(receive)?))
    }

    /// The bytes of the buffer of the next call.
    fn range(&self) -> Range<usize> {
        let first = self.at * self.stride;
        first..first + self.len
    }

    /// Advances to the next buffer.
    pub(super) fn advance(&mut self) {
        self.at += self.step;
        if self.at >= self.count {
            self.at -= self.count;
        }
    }
}

impl<T: Pod> Deref for Slots<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.buffer[self.range()])
    }
}

impl<T: Pod> DerefMut for Slots<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let range = self.range();
        bytemuck::cast_slice_mut(&mut self.buffer[range])
    }
}

impl<T: 'static> Drop for Slots<T> {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            // Rounded up, it leads back to this buffer.
            let position = ((self.at as u64) << 32).div_ceil(self.count.max(1) as u64);
            pool.position.store(position, Ordering::Relaxed);
            pool.put(TypeId::of::<T>(), std::mem::take(&mut self.buffer));
        }
    }
}

/// A step that visits all of these places before it repeats one: about the golden ratio of them.
fn distant_step(count: usize) -> usize {
    const GOLDEN: f64 = 0.618;
    let least = (count as f64 * GOLDEN) as usize;
    (least..count).find(|step| gcd(*step, count) == 1).unwrap_or(usize::from(count > 1))
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn rotated(cache: usize) -> BufferSource {
        BufferSource::Rotated(Arc::new(BufferPool { cache, position: AtomicU64::new(0), free: Mutex::default() }))
    }

    #[test]
    fn buffers_come_back_when_the_cache_has_seen_more_than_it_holds() {
        let cache = 1 << 16;
        let supply = rotated(cache);
        for len in [1, 64, 1000, 1 << 17] {
            let (mut send, mut receive) = Slots::<u8>::pair((len, len), &supply).expect("small");
            let mut places = BTreeSet::new();
            let begin = send.as_ptr();
            loop {
                assert!(places.insert((send.as_ptr(), receive.as_ptr())), "none comes back before all were there");
                send.fill(1);
                receive.fill(2);
                send.advance();
                receive.advance();
                if send.as_ptr() == begin {
                    break;
                }
            }
            assert!(places.len() >= 2 && places.len() * 2 * len.next_multiple_of(LINE) > cache, "{len}");
        }
    }

    #[test]
    fn a_buffer_that_is_used_again_is_the_same() {
        for supply in [BufferSource::Reused, BufferSource::InPlace, BufferSource::Unaligned] {
            let (mut send, receive) = Slots::<i32>::pair((12, 0), &supply).expect("small");
            let before = send.as_ptr();
            send.advance();
            assert_eq!((send.as_ptr(), &send[..], receive.len()), (before, &[0, 0, 0][..], 0));
        }
    }

    #[test]
    fn memory_is_kept_from_cell_to_cell() {
        let supply = rotated(1 << 16);
        let places = |lengths| {
            let (send, receive) = Slots::<u8>::pair(lengths, &supply).expect("small");
            BTreeSet::from([send.buffer.as_ptr(), receive.buffer.as_ptr()])
        };
        assert_eq!(places((64, 64)), places((64, 64)));
        let BufferSource::Rotated(pool) = &supply else { unreachable!("it rotates") };
        places((64, 0));
        let free = pool.free.lock().expect("no panic");
        assert!(free.len() <= 2, "{}", free.len());
    }

    #[test]
    fn no_elements_are_aligned_as_well() {
        let (send, receive) = Slots::<f64>::pair((64, 0), &rotated(1 << 16)).expect("small");
        assert_eq!((send.len(), receive.len()), (8, 0));
    }

    #[test]
    fn memory_is_seldom_touched_anew_from_cell_to_cell() {
        let cache = 1 << 16;
        let supply = rotated(cache);
        let BufferSource::Rotated(pool) = &supply else { unreachable!("it rotates") };
        let mut taken_anew = 0;
        // In the order of sizes, then in another one.
        for turn in 0..84 {
            let len = 64 << if turn < 24 { turn / 3 } else { turn * 7 % 8 };
            // As of bcast, scatter on two ranks, and alltoall.
            let lengths = [(0, len), (2 * len, len), (len, len)][turn % 3];
            let before: BTreeSet<_> = pool.free.lock().expect("no panic").iter().map(|(_, it)| it.as_ptr()).collect();
            let (send, receive) = Slots::<u8>::pair(lengths, &supply).expect("small");
            let used = [&send, &receive].map(|it| it.buffer.as_ptr()).into_iter().zip([lengths.0, lengths.1]);
            taken_anew += used.filter(|(place, len)| *len > 0 && !before.contains(place)).count();
            drop((send, receive));
            let kept: usize = pool.free.lock().expect("no panic").iter().map(|(_, it)| it.len()).sum();
            assert!(kept <= 3 * cache, "{kept}");
        }
        assert!(taken_anew <= 4, "{taken_anew}");
    }

    #[test]
    fn a_visit_goes_on_where_the_last_one_ended() {
        let supply = rotated(1 << 16);
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let (mut send, mut receive) = Slots::<u8>::pair((1, 1), &supply).expect("small");
            for _ in 0..3 {
                send.advance();
                receive.advance();
                seen.insert((send.at, receive.at));
            }
        }
        assert_eq!(seen.len(), 300);
    }

    #[test]
    fn sizes_of_caches_are_read_as_linux_writes_them() {
        assert_eq!(cache_size("3\n", "32768K\n"), Some((3, 32 << 20)));
        for bad in ["", "K", "12G", "99999999999999999999K"] {
            assert_eq!(cache_size("3", bad), None, "{bad}");
        }
    }
}
