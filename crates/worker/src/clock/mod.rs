//! A clock that all ranks share.
//!
//! | module | job |
//! |---|---|
//! | here | the local clock, and the conversion of its readings to those of rank 0's |
//! | [`pingpong`] | offset of another rank's clock |
//! | [`fit`] | offset and drift from several such differences |
//! | [`domains`] | groups of ranks that read the same clock |
//! | [`hierarchy`] | setting of all clocks in a logarithmic number of steps, and their check |

pub(crate) mod domains;
pub(crate) mod fit;
pub(crate) mod hierarchy;
pub(crate) mod pingpong;

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds on the clock of this host, which is monotonic and whose seconds have the right length.
///
/// `std::time::Instant` reads the same clock, but its readings cannot be sent to other processes.
pub(crate) fn now() -> i64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

/// Seconds of a difference of readings.
pub(crate) fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// Conversion from the local clock to the common one: offset and drift, as a straight line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClockConversion {
    /// The local reading at which `offset` holds.
    pub(crate) at: i64,
    /// Lead of the common clock, in nanoseconds.
    pub(crate) offset: f64,
    /// Drift of the common clock, in seconds per second.
    pub(crate) drift: f64,
}

impl ClockConversion {
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
        let line = ClockConversion { at: 1_000_000_000, offset: -250.0, drift: 10e-6 };
        assert_eq!(line.common(1_000_000_000), 1_000_000_000 - 250);
        assert_eq!(line.common(2_000_000_000), 2_000_000_000 - 250 + 10_000);
        assert_eq!(ClockConversion::default().common(7), 7);
    }
}
