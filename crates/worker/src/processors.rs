//! The processors of the ranks: the time in which a cache line gets from one rank of a node to the next, and the time of a
//! copy within a rank's caches.
//!
//! The first tells where the ranks run: 28 ns between threads of a core, 50 ns between cores of a socket, 200 ns and more
//! between sockets. A virtual machine moves its processors between these places. The second tells what else runs on their
//! cores: with other work on the second thread of a core, a copy takes 1.7 times as long, and a short call 1.1 to 1.6 times.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use collrules_record::estimate::median;
use collrules_record::units::Seconds;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::control::Control;
use crate::ffi;
use crate::ffi::shared::SharedWords;
use crate::sync::{all_agree, dissemination_barrier};

/// Bytes of a copy, of which two fit into the second level of any cache, and of a page.
const COPIED: usize = 16 << 10;
const PAGE: usize = 4096;

/// Number of copies that are timed at once.
const COPIES: u32 = 50;

/// Number of batches of laps through all ranks of a node, and of laps in a batch.
const BATCHES: usize = 9;
const LAPS: u32 = 50;

/// Seconds from rank to rank from which on the scheduler is what takes so long: ranks share a processor.
const LONGEST: f64 = 5e-6;

/// Time after which no further batch begins.
const ENOUGH: Duration = Duration::from_millis(20);

/// Reads of a word before a rank that waits yields its processor.
const SPINS: u32 = 1000;

/// The value that ends the laps.
const STOP: u64 = u64::MAX;

/// Measures the way of a cache line with all ranks of the job, node by node; on rank 0 the result of the slowest node. None
/// if no node has several ranks with a processor each.
pub(crate) fn core_to_core(control: &Control) -> Option<Seconds> {
    let node = control.world().split_shared(control.world().rank());
    let found = if node.size() > 1 { on_node(&node) } else { None };
    control.gather(control.ranks(), found).into_iter().flatten().reduce(f64::max).map(Seconds)
}

/// Times of copies on this rank, in seconds.
pub(crate) struct Copying {
    buffer: Vec<u8>,
    times: Vec<f64>,
}

impl Default for Copying {
    fn default() -> Self {
        Self { buffer: vec![1; 2 * COPIED + 2 * PAGE], times: Vec::new() }
    }
}

impl Copying {
    /// Times copies: 15 us.
    pub(crate) fn time(&mut self) {
        // Half a page apart, wherever the buffer is: a processor takes stores for loads from the same place of another page.
        let begin = self.buffer.as_ptr().align_offset(PAGE);
        let (from, to) = self.buffer[begin..].split_at_mut(COPIED);
        let (from, to) = (&*from, &mut to[PAGE / 2..][..COPIED]);
        let mut copy = || black_box(&mut *to).copy_from_slice(black_box(from));
        // Brings both to the caches.
        copy();
        let start = Instant::now();
        (0..COPIES).for_each(|_| copy());
        self.times.push(start.elapsed().as_secs_f64() / f64::from(COPIES));
    }

    /// The median of all; none if there are none.
    pub(crate) fn median(&self) -> Option<f64> {
        median(&mut self.times.clone())
    }
}

/// Measures the way of a cache line on a node; the result is on its first rank, none if ranks share a processor.
fn on_node(node: &SimpleCommunicator) -> Option<f64> {
    ffi::return_errors(node);
    let words = SharedWords::allocate(node);
    if !all_agree(node, words.is_ok()) {
        return None;
    }
    let words = words.ok()?;
    dissemination_barrier(node);
    let (rank, ranks) = (node.rank() as usize, node.size() as usize);
    let next = words.of((rank + 1) % ranks);
    if rank > 0 {
        let mut lap = 0;
        while lap != STOP {
            lap = changed(&words, rank, lap);
            next.store(lap, Ordering::Release);
        }
        return None;
    }
    let mut lap = 0;
    let mut go_round = |value: u64| {
        next.store(value, Ordering::Release);
        lap = changed(&words, rank, lap);
    };
    let mut times = Vec::with_capacity(BATCHES);
    let mut value = 0;
    let began = Instant::now();
    // The first lap brings the lines to the caches, and takes long for ranks without a processor of their own.
    for laps in std::iter::once(1).chain([LAPS; BATCHES]) {
        let start = Instant::now();
        for _ in 0..laps {
            value += 1;
            go_round(value);
        }
        times.push(start.elapsed().as_secs_f64() / f64::from(laps) / ranks as f64);
        if began.elapsed() > ENOUGH {
            break;
        }
    }
    go_round(STOP);
    median(&mut times[1..]).filter(|time| *time <= LONGEST)
}

/// The value of a rank's word once it is another one.
fn changed(words: &SharedWords, rank: usize, from: u64) -> u64 {
    let mut reads = 0_u32;
    loop {
        let value = words.of(rank).load(Ordering::Acquire);
        if value != from {
            return value;
        }
        reads = reads.wrapping_add(1);
        if reads.is_multiple_of(SPINS) { yield_now() } else { spin_loop() }
    }
}
