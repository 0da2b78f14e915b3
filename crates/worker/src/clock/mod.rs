//! A clock that all ranks share.
//!
//! | module | job |
//! |---|---|
//! | here | the local clock, and the conversion of its readings to those of rank 0's, by offset and drift from several differences |
//! | [`pingpong`] | offset of another rank's clock |
//! | [`domains`] | groups of ranks that read the same clock |
//! | [`hierarchy`] | setting of all clocks in a logarithmic number of steps, and their check |

pub(crate) mod domains;
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
    /// The line through differences `(local reading, offset)` in nanoseconds: the slope by least squares, and the offset of
    /// the last difference, which is from the quickest of a larger number of exchanges, as in HCA3 (Hunold and
    /// Carpen-Amarie, *Hierarchical clock synchronization in MPI*, CLUSTER 2018).
    pub(crate) fn fit(differences: &[(i64, f64)], last: (i64, f64)) -> Self {
        let count = differences.len() as f64;
        // Relative to the last one, for precision of the squares.
        let x = |at: i64| (at - last.0) as f64;
        let mean_x = differences.iter().map(|(at, _)| x(*at)).sum::<f64>() / count;
        let mean_y = differences.iter().map(|(_, offset)| offset - last.1).sum::<f64>() / count;
        let (mut xy, mut xx) = (0.0, 0.0);
        for (at, offset) in differences {
            xy += (x(*at) - mean_x) * (offset - last.1 - mean_y);
            xx += (x(*at) - mean_x).powi(2);
        }
        let drift = if xx > 0.0 { xy / xx } else { 0.0 };
        Self { at: last.0, offset: last.1, drift }
    }

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

    /// 25 differences within 25 ms, of a clock that runs 40 millionths fast and is read with an error of up to 100 ns.
    #[test]
    fn drift_is_found_through_noise() {
        let truth = |at: i64| 5e9 + 40e-6 * at as f64;
        let start = 13_000_000_000_000;
        let differences: Vec<(i64, f64)> = (0..25)
            .map(|step| {
                let at = start + step * 1_000_000;
                (at, truth(at) + 100.0 * (step as f64 * 2.4).sin())
            })
            .collect();
        let end = start + 25_000_000;
        let line = ClockConversion::fit(&differences, (end, truth(end)));
        assert!((line.drift - 40e-6).abs() < 4e-6, "{line:?}");
        // A second later the error is below 4 microseconds.
        let later = end + 1_000_000_000;
        assert!((line.common(later) as f64 - (later as f64 + truth(later))).abs() < 4000.0);
    }

    #[test]
    fn a_single_difference_has_no_drift() {
        assert_eq!(ClockConversion::fit(&[(5, 7.0)], (5, 7.0)), ClockConversion { at: 5, offset: 7.0, drift: 0.0 });
        assert_eq!(ClockConversion::fit(&[], (5, 7.0)).drift, 0.0);
    }
}
