//! Setting of all clocks in a logarithmic number of steps, and their check.
//!
//! In step k, each of the first 2^k clocks is right already and sets the one that is 2^k further on: the scheme of HCA3
//! (Hunold and Carpen-Amarie, CLUSTER 2018), over the first ranks of the clocks. Ranks that read the same clock get the
//! line of their leader.

use std::thread;
use std::time::Duration;

use mpi::Rank;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use serde::{Deserialize, Serialize};

use super::domains::Domains;
use super::pingpong::{answer, ask, quickest};
use super::{ClockConversion, now, seconds};
use crate::control::Control;

/// Number of differences for the fit of the drift, of exchanges for each, and the time between two.
const DIFFERENCES: usize = 25;
const EXCHANGES: usize = 10;
const PAUSE: Duration = Duration::from_millis(1);

/// Nanoseconds from which on the drift since the last setting of a clock is more exact than that from the differences.
const LONG_BASELINE: i64 = 500_000_000;

/// Number of exchanges for the final offset, and for a check.
const LAST_EXCHANGES: usize = 40;

const LINE: mpi::Tag = 13;

/// The common clock, on one rank.
pub(crate) struct CommonClock {
    comm: SimpleCommunicator,
    domains: Domains,
    rank: Rank,
    line: ClockConversion,
    /// Local time at which another clock set this one.
    set_at: Option<i64>,
    /// Error of a ping-pong between ranks of one clock, whose true offset is 0, in nanoseconds; on rank 0.
    known_error: Option<f64>,
    /// Local time of the last check or setting.
    checked: i64,
}

/// Result of a check; on rank 0 the maximum over all clocks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClockDeviation {
    /// Error of a clock, in seconds.
    pub(crate) error: f64,
    /// Uncertainty of the error, in seconds: half a round trip.
    pub(crate) uncertainty: f64,
    /// Drift of a clock against rank 0's, in seconds per second.
    pub(crate) drift: f64,
}

impl CommonClock {
    /// Sets the clocks, with all ranks of the job.
    pub(crate) fn set_up(control: &Control, separate: bool) -> Self {
        let comm = control.world().duplicate();
        let (domains, known_error) = Domains::find(control, &comm, separate);
        let rank = control.rank() as Rank;
        let mut clock =
            Self { comm, domains, rank, line: ClockConversion::default(), set_at: None, known_error, checked: now() };
        clock.synchronise();
        clock
    }

    /// The number of different clocks.
    pub(crate) fn clocks(&self) -> u32 {
        self.domains.leaders().len() as u32
    }

    /// Returns the error of a ping-pong between ranks of one clock, in seconds; known on rank 0.
    pub(crate) fn known_error(&self) -> Option<f64> {
        self.known_error.map(|error| error * 1e-9)
    }

    /// The common time of a local reading, in nanoseconds.
    pub(crate) fn common(&self, local: i64) -> i64 {
        self.line.common(local)
    }

    /// Seconds since the last check.
    pub(crate) fn seconds_since_check(&self) -> f64 {
        seconds(now() - self.checked)
    }

    /// Sets all clocks by that of rank 0.
    pub(crate) fn synchronise(&mut self) {
        let leaders = self.domains.leaders();
        if let Some(place) = leaders.iter().position(|leader| *leader == self.rank) {
            let mut step = 1;
            while step < leaders.len() {
                if place < step && place + step < leaders.len() {
                    self.teach(leaders[place + step]);
                } else if (step..2 * step).contains(&place) {
                    self.learn(leaders[place - step]);
                }
                step *= 2;
            }
            for follower in self.domains.followers(self.rank) {
                let ClockConversion { at, offset, drift } = self.line;
                // All values as 64-bit patterns, for one message.
                let message = [at as u64, offset.to_bits(), drift.to_bits()];
                self.comm.process_at_rank(follower).send_with_tag(&message[..], LINE);
            }
        } else {
            let leader = self.comm.process_at_rank(self.domains.leader(self.rank));
            let mut message = [0u64; 3];
            leader.receive_into_with_tag(&mut message[..], LINE);
            let [at, offset, drift] = message;
            self.line = ClockConversion { at: at as i64, offset: f64::from_bits(offset), drift: f64::from_bits(drift) };
        }
        self.checked = now();
    }

    /// Compares every clock with that of rank 0.
    pub(crate) fn check(&mut self, control: &Control) -> ClockDeviation {
        let mut mine = ClockDeviation { drift: self.line.drift.abs(), ..ClockDeviation::default() };
        if self.rank == 0 {
            for leader in self.domains.leaders().into_iter().skip(1) {
                answer(&self.comm, leader, LAST_EXCHANGES, &self.line);
            }
        } else if self.domains.leader(self.rank) == self.rank
            && let Some(best) = quickest(&ask(&self.comm, 0, LAST_EXCHANGES))
        {
            let error = best.middle() as f64 + best.offset() - self.line.common(best.middle()) as f64;
            mine.error = error.abs() * 1e-9;
            mine.uncertainty = seconds(best.round_trip()) / 2.0;
        }
        self.checked = now();
        let all = control.gather(control.ranks(), mine).into_iter();
        all.fold(ClockDeviation::default(), |worst, it| ClockDeviation {
            error: worst.error.max(it.error),
            uncertainty: worst.uncertainty.max(it.uncertainty),
            drift: worst.drift.max(it.drift),
        })
    }

    fn teach(&self, other: Rank) {
        for _ in 0..DIFFERENCES {
            answer(&self.comm, other, EXCHANGES, &self.line);
        }
        answer(&self.comm, other, LAST_EXCHANGES, &self.line);
    }

    fn learn(&mut self, other: Rank) {
        let difference = |exchanges| {
            let best = quickest(&ask(&self.comm, other, exchanges))?;
            Some((best.middle(), best.offset()))
        };
        let paused = |_| {
            thread::sleep(PAUSE);
            difference(EXCHANGES)
        };
        let before = self.set_at.map(|at| (at, self.line));
        let differences: Vec<(i64, f64)> = (0..DIFFERENCES).filter_map(paused).collect();
        let Some(last) = difference(LAST_EXCHANGES) else { return };
        self.line = ClockConversion::fit(&differences, last);
        if let Some((at, line)) = before.filter(|(at, _)| last.0 - at > LONG_BASELINE) {
            self.line.drift = (last.1 - line.offset) / (last.0 - at) as f64;
        }
        self.set_at = Some(last.0);
    }
}
