//! Effects of the measuring code on a timing, measured at the start of a launch.

use std::convert::Infallible;
use std::fs;

use collrules_record::clock::{Harness, SyncMethod};
use collrules_record::estimate::median;
use collrules_record::units::{Ranks, Seconds};
use mpi::collective::SystemOperation;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::clock::hierarchy::CommonClock;
use crate::clock::{now, seconds};
use crate::control::Control;
use crate::sync::{Begun, dissemination_barrier, reduce_calls, time_calls};

/// Number of batches of empty calls, and of calls in a batch.
const BATCHES: usize = 100;
const BATCH: usize = 20;

/// Number of barriers used to compare the ranks' exits.
const BARRIERS: usize = 100;

/// Measures with all ranks of the job; the result is complete on rank 0.
pub(crate) fn measure(control: &Control, clock: &CommonClock) -> Harness {
    let comm = control.world().duplicate();
    let (empty_call, turn) = empty_calls();
    let (barrier, exits) = barriers(&comm, clock);
    let skew = spread(&comm, &exits);
    let all = control.gather(control.ranks(), ([smallest_step(), empty_call, turn, barrier], resident_bytes()));
    let largest = |place: usize| all.iter().map(|(found, _)| found[place]).fold(0.0, f64::max);
    Harness {
        sync: SyncMethod::default(),
        ranks: Ranks(control.ranks()),
        step: Seconds(largest(0)),
        empty_call: Seconds(largest(1)),
        turn: Seconds(largest(2)),
        barrier: Seconds(largest(3)),
        exit_skew: Seconds(skew),
        clocks: clock.clocks(),
        known_error: clock.known_error().map(Seconds),
        resident: all.iter().filter_map(|(_, resident)| *resident).max(),
        cache: None,
    }
}

/// Resident memory of this process in bytes; none if the system does not report it.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The smallest difference between two readings of the clock, in seconds.
pub(crate) fn smallest_step() -> f64 {
    let step = (0..1000).filter_map(|_| {
        let start = now();
        // Bounded, in case of a clock that never advances.
        (0..10_000).map(|_| now() - start).find(|step| *step > 0)
    });
    seconds(step.min().unwrap_or_default())
}

/// Measures empty calls with the loop that times real calls. Returns the displayed time and the cost of a turn, as
/// medians in seconds.
fn empty_calls() -> (f64, f64) {
    let (mut shown, mut costs) = (Vec::with_capacity(BATCHES * BATCH), Vec::with_capacity(BATCHES));
    let mut taken = Vec::with_capacity(BATCH);
    for _ in 0..BATCHES {
        taken.clear();
        let start = now();
        // The compiler cannot remove it.
        let nothing = |place| {
            std::hint::black_box(place);
            Ok::<(), Infallible>(())
        };
        let begin = |_| Begun { at: now(), late: false };
        let Ok(()) = time_calls(BATCH, begin, nothing, now, &mut taken);
        costs.push(seconds(now() - start) / BATCH as f64);
        shown.extend(taken.iter().map(|turn| turn.seconds));
    }
    (median(&mut shown).unwrap_or_default(), median(&mut costs).unwrap_or_default())
}

/// The median time of a barrier in seconds, and the time at which this rank left each, in nanoseconds of the common
/// clock.
fn barriers(comm: &SimpleCommunicator, clock: &CommonClock) -> (f64, Vec<i64>) {
    let mut times = Vec::with_capacity(BARRIERS);
    let mut exits = Vec::with_capacity(BARRIERS);
    for _ in 0..BARRIERS {
        // The first aligns the ranks, so that the second is timed alone.
        dissemination_barrier(comm);
        let start = now();
        dissemination_barrier(comm);
        let end = now();
        times.push(seconds(end - start));
        exits.push(clock.common(end));
    }
    (median(&mut times).unwrap_or_default(), exits)
}

/// Returns the median spread of the ranks' exits from a barrier, in seconds.
fn spread(comm: &SimpleCommunicator, exits: &[i64]) -> f64 {
    let [last, first] = [SystemOperation::max(), SystemOperation::min()].map(|it| reduce_calls(comm, exits, it));
    let mut spread: Vec<f64> = last.iter().zip(first).map(|(last, first)| seconds(last - first)).collect();
    median(&mut spread).unwrap_or_default()
}
