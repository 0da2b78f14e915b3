//! What the nearest smaller and the nearest larger size say about a value in between.

use std::cmp::Ordering;

use collrules_record::{Bytes, Candidate, Ranks};

/// Where a value was measured, within one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) candidate: Candidate,
    pub(super) ranks: Ranks,
    pub(super) bytes: Bytes,
}

/// A value made of neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    pub(super) value: f64,
    /// The standard deviation that the noise of the neighbours gives it.
    pub(super) deviation: f64,
    /// 1 at the end of a row of sizes, else 2.
    pub(super) neighbours: usize,
}

/// Predicts each value from the neighbouring message sizes on the same communicator size.
pub(super) fn along_bytes(sites: &[Site], values: &[f64], deviations: &[f64]) -> Vec<Option<Prediction>> {
    let row = |site: &Site| (site.candidate, site.ranks.0.into());
    along(sites, values, deviations, row, |site| site.bytes.0)
}

/// Predicts each value from the neighbouring communicator sizes at the same message size.
pub(super) fn along_ranks(sites: &[Site], values: &[f64], deviations: &[f64]) -> Vec<Option<Prediction>> {
    let row = |site: &Site| (site.candidate, site.bytes.0);
    along(sites, values, deviations, row, |site| site.ranks.0.into())
}

fn along(
    sites: &[Site],
    values: &[f64],
    deviations: &[f64],
    row: impl Fn(&Site) -> (Candidate, u64),
    size: impl Fn(&Site) -> u64,
) -> Vec<Option<Prediction>> {
    let mut order: Vec<usize> = (0..sites.len()).collect();
    let by_row = |a: &usize, b: &usize| row(&sites[*a]).cmp(&row(&sites[*b]));
    order.sort_unstable_by(|a, b| by_row(a, b).then_with(|| size(&sites[*a]).cmp(&size(&sites[*b]))));
    let mut predictions = vec![None; sites.len()];
    // Sizes grow by factors, so that distances are those of logarithms; 0 counts as half a byte.
    let position = |place: usize| (size(&sites[place]) as f64).max(0.5).ln();
    for row in order.chunk_by(|a, b| by_row(a, b) == Ordering::Equal) {
        for (at, place) in row.iter().enumerate() {
            let below = at.checked_sub(1).map(|at| row[at]);
            let above = row.get(at + 1).copied();
            predictions[*place] = match (below, above) {
                (Some(below), Some(above)) => {
                    let (near, far) = (position(*place) - position(below), position(above) - position(*place));
                    let share = if near + far > 0.0 { far / (near + far) } else { 0.5 };
                    Some(Prediction {
                        value: share * values[below] + (1.0 - share) * values[above],
                        deviation: (share * deviations[below]).hypot((1.0 - share) * deviations[above]),
                        neighbours: 2,
                    })
                }
                (Some(one), None) | (None, Some(one)) => {
                    Some(Prediction { value: values[one], deviation: deviations[one], neighbours: 1 })
                }
                (None, None) => None,
            };
        }
    }
    predictions
}

#[cfg(test)]
mod tests {
    use collrules_rules::Choice;

    use super::*;

    /// Linear in the logarithm of the size: 3 log2(ranks) at 2, 4 and 16 ranks, where 4 is one of three steps away from 2.
    #[test]
    fn what_is_linear_in_the_logarithm_is_met() {
        let site = |id, ranks, bytes| Site {
            candidate: Candidate::of(Choice::plain(id)),
            ranks: Ranks(ranks),
            bytes: Bytes(bytes),
        };
        let sites = [site(1, 16, 8), site(1, 2, 8), site(1, 4, 8), site(2, 4, 8), site(1, 4, 16)];
        let predictions = along_ranks(&sites, &[12.0, 3.0, 6.0, 100.0, 50.0], &[0.3, 0.6, 0.0, 0.0, 0.0]);
        let middle = predictions[2].expect("between two");
        assert!((middle.value - 6.0).abs() < 1e-12 && middle.neighbours == 2, "{middle:?}");
        assert!((middle.deviation - 0.4f64.hypot(0.1)).abs() < 1e-12, "{middle:?}");
        assert_eq!(predictions[0].expect("beside one"), Prediction { value: 6.0, deviation: 0.0, neighbours: 1 });
        assert_eq!((predictions[3], predictions[4]), (None, None));
        let bytes = along_bytes(&sites, &[12.0, 3.0, 6.0, 100.0, 50.0], &[0.0; 5]);
        assert_eq!(bytes[2].expect("beside one").value, 50.0);
        assert_eq!(bytes[3], None);
    }
}
