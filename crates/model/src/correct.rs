//! Predictions corrected by the errors of predictions of the same algorithm at other sizes.
//!
//! Errors that come from other causes than messages (shared processors, uneven sharing of links) hardly change from one
//! size of an algorithm to the next.

/// A corrected prediction for a size: by the difference between the sizes on both sides, or by the factor of the
/// nearest one. `known` has size, measured time and prediction.
pub(crate) fn corrected(known: &[(u64, f64, f64)], bytes: u64, predicted: f64) -> Option<f64> {
    let below = known.iter().filter(|(size, ..)| *size <= bytes).max_by_key(|(size, ..)| *size);
    let above = known.iter().filter(|(size, ..)| *size > bytes).min_by_key(|(size, ..)| *size);
    match (below, above) {
        (Some((less, measured, said)), Some((more, longer, said_longer))) => {
            let share = (bytes - less) as f64 / (more - less) as f64;
            let (before, after) = (measured - said, longer - said_longer);
            let between = predicted + before + (after - before) * share;
            Some(between).filter(|time| *time > 0.0).or(Some(predicted))
        }
        (one, other) => one.or(other).map(|(_, measured, said)| predicted * measured / said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_those_of_the_sizes_beside() {
        // Predicted are 1 and 4 microseconds, measured twice and half as much.
        let known = [(1000, 2e-6, 1e-6), (4000, 2e-6, 4e-6)];
        let of = |bytes, predicted| corrected(&known, bytes, predicted).map(|time| (time * 1e9).round());
        assert_eq!([of(500, 1e-6), of(1000, 1e-6), of(8000, 8e-6)], [Some(2000.0), Some(2000.0), Some(4000.0)]);
        assert_eq!(of(2000, 2e-6), Some(2000.0), "the difference goes from 1 to -2 microseconds");
        assert_eq!(corrected(&[], 7, 1.0), None);
    }
}
