//! Numbers of blocks after which arms are judged, and the error that each look may spend.

/// Largest number of blocks.
pub const MOST_BLOCKS: u32 = 256;

/// Looks at a comparison: after a first number of blocks, and whenever there are twice as many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks {
    ends: Vec<u32>,
}

impl Looks {
    /// Looks from this number of blocks on, up to the largest one.
    pub fn from(first: u32) -> Self {
        Self::between(first, MOST_BLOCKS)
    }

    /// Looks from a number of blocks up to another one.
    pub fn between(first: u32, last: u32) -> Self {
        let last = last.clamp(1, MOST_BLOCKS);
        let first = first.clamp(1, last);
        let ends = std::iter::successors(Some(first), |end| (*end < last).then(|| (2 * end).min(last)));
        Self { ends: ends.collect() }
    }

    /// The number of blocks of each look.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The share of the probability of an error that a look may spend, so that all looks together spend it once. It grows as
    /// the square root of the blocks: few large gains are seen early, and most power is kept for the end. A comparison
    /// that ends with a look, such as for lack of time, spends the rest there.
    ///
    /// Source: the power family of Kim and DeMets, *Design and analysis of group sequential tests based on the type I error
    /// spending rate function*, Biometrika 74, 1987, with the exponent 1/2.
    pub fn share(&self, look: usize, is_last: bool) -> f64 {
        let most = self.ends.last().copied().map_or(1.0, f64::from);
        let spent = |look: usize| self.ends.get(look).map_or(1.0, |end| (f64::from(*end) / most).sqrt());
        let before = look.checked_sub(1).map_or(0.0, spent);
        if is_last { 1.0 - before } else { spent(look) - before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_the_error_once() {
        let looks = Looks::from(4);
        assert_eq!(looks.ends(), [4, 8, 16, 32, 64, 128, 256]);
        let share = |look| looks.share(look, false);
        assert!(((0..7).map(share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((share(0) - 0.125).abs() < 1e-12);
        assert!((share(0) + share(1) + looks.share(2, true) - 1.0).abs() < 1e-12, "ended after the second look");
        assert_eq!(Looks::from(300).ends(), [256]);
        let once = Looks::between(3, 3);
        assert_eq!((once.ends(), once.share(0, false)), (&[3][..], 1.0));
    }
}
