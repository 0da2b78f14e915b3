//! Offset and drift from several differences.

use super::ClockConversion;

/// The line through differences `(local reading, offset)` in nanoseconds: the slope by least squares, and the offset of
/// the last difference, which is from the quickest of a larger number of exchanges, as in HCA3 (Hunold and
/// Carpen-Amarie, *Hierarchical clock synchronization in MPI*, CLUSTER 2018).
pub(crate) fn line(differences: &[(i64, f64)], last: (i64, f64)) -> ClockConversion {
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
    ClockConversion { at: last.0, offset: last.1, drift }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let line = line(&differences, (end, truth(end)));
        assert!((line.drift - 40e-6).abs() < 4e-6, "{line:?}");
        // A second later the error is below 4 microseconds.
        let later = end + 1_000_000_000;
        assert!((line.common(later) as f64 - (later as f64 + truth(later))).abs() < 4000.0);
    }

    #[test]
    fn a_single_difference_has_no_drift() {
        assert_eq!(line(&[(5, 7.0)], (5, 7.0)), ClockConversion { at: 5, offset: 7.0, drift: 0.0 });
        assert_eq!(line(&[], (5, 7.0)).drift, 0.0);
    }
}
