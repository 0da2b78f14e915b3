//! Ranks with ties.

/// Ranks of values from 1, with mean ranks for ties, and the loss of variance by ties.
#[derive(Debug, PartialEq)]
pub(super) struct MidRanks {
    /// The rank of each value, in the order of the values.
    pub(super) ranks: Vec<f64>,
    /// The sum of `t^3 - t` over groups of `t` equal values; 0 if and only if there are no ties.
    pub(super) ties: f64,
}

/// Ranks the values, which have to be numbers.
pub(super) fn ranks(values: &[f64]) -> MidRanks {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut below = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let size = group.len();
        // The mean of below + 1 ..= below + size.
        let rank = below as f64 + (size + 1) as f64 / 2.0;
        for place in group {
            ranks[*place] = rank;
        }
        ties += (size as f64).powi(3) - size as f64;
        below += size;
    }
    MidRanks { ranks, ties }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.rankdata([3, 1, 4, 1, 5, 1, 4])`
    #[test]
    fn ties_share_their_mean_rank() {
        let ranked = ranks(&[3.0, 1.0, 4.0, 1.0, 5.0, 1.0, 4.0]);
        assert_eq!(ranked.ranks, [4.0, 2.0, 5.5, 2.0, 7.0, 2.0, 5.5]);
        assert_eq!(ranked.ties, 24.0 + 6.0);
        assert_eq!(ranks(&[]), MidRanks { ranks: vec![], ties: 0.0 });
    }
}
