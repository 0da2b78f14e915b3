//! Message sizes in steps finer than powers of two.

/// Steps per doubling, as a power of two.
const STEPS: u32 = 3;

/// The largest size that is not above this one and has at most four leading binary digits: eight steps per doubling.
pub fn step(bytes: u64) -> u64 {
    match bytes.checked_ilog2() {
        Some(power) if power > STEPS => bytes >> (power - STEPS) << (power - STEPS),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_an_eighth_of_a_doubling_and_in_order() {
        assert_eq!(
            [0, 1, 7, 15, 16, 17, 18, 1023, 1024, 1151, 1152].map(step),
            [0, 1, 7, 15, 16, 16, 18, 960, 1024, 1024, 1152]
        );
        for bytes in 1..100_000u64 {
            assert!(step(bytes) <= bytes && bytes < step(bytes) + (step(bytes) / 8).max(1), "{bytes}");
            assert!(step(bytes - 1) <= step(bytes));
        }
    }
}
