//! A clock that all ranks share.
//!
//! | module | job |
//! |---|---|
//! | here | the local clock, and what turns its readings into those of rank 0's |
//! | [`pingpong`] | how far another rank's clock is ahead |
//! | [`fit`] | offset and drift from several such differences |
//! | [`domains`] | which ranks read the same clock |
//! | [`hierarchy`] | setting all clocks in a logarithmic number of steps, and checking them |

pub(crate) mod domains;
pub(crate) mod fit;
pub(crate) mod hierarchy;
pub(crate) mod pingpong;

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds on the clock of this host: monotonic, and kept at the length of a second by the system.
///
/// `std::time::Instant` reads the same clock, but its readings cannot be told to other processes.
pub(crate) fn now() -> i64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

/// Seconds of a difference of readings.
pub(crate) fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// What turns readings of the local clock into those of the common one: offset and drift, as a straight line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// The local reading at which `offset` holds.
    pub(crate) at: i64,
    /// How far the common clock is ahead, in nanoseconds.
    pub(crate) offset: f64,
    /// How fast it runs away, in seconds per second.
    pub(crate) drift: f64,
}

impl Line {
    /// The common time of a local reading.
    pub(crate) fn common(&self, local: i64) -> i64 {
        local + (self.offset + self.drift * (local - self.at) as f64).round() as i64
    }

    /// The common time now.
    pub(crate) fn now(&self) -> i64 {
        self.common(now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_on() {
        let first = now();
        assert!((0..1_000_000).any(|_| now() > first));
    }

    #[test]
    fn a_line_adds_offset_and_drift() {
        let line = Line { at: 1_000_000_000, offset: -250.0, drift: 10e-6 };
        assert_eq!(line.common(1_000_000_000), 1_000_000_000 - 250);
        assert_eq!(line.common(2_000_000_000), 2_000_000_000 - 250 + 10_000);
        assert_eq!(Line::default().common(7), 7);
    }
}
