//! Simple methods of choosing, for comparison.

use std::collections::BTreeMap;
use std::fmt;

use collrules_record::{Candidate, Cell};

use super::times::PointSeconds;
use crate::neighbours::{GainSite, NeighbourAxis, around};

/// A method that chooses by times alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// The fastest candidate other than the builtin, as the predecessor chooses.
    FastestOther,
    /// The fastest, including the builtin.
    Fastest,
    /// The fastest if its gain over the builtin exceeds this share, such as 0.15.
    Margin(f64),
    /// The fastest of those whose gain is that large, and also in the mean with their neighbours': half of it their own,
    /// a quarter each that of neighbouring message sizes and communicator sizes.
    Smooth(f64),
}

/// For each candidate, the smaller of its own log gain and its mean with its neighbours'.
pub(super) type Smooth = BTreeMap<(Cell, Candidate), f64>;

/// Computes these logarithms for all points of a side. If there are no neighbours in a direction, the others count for
/// more.
pub(super) fn smooth(times: &PointSeconds) -> Smooth {
    let mut sites = Vec::new();
    for (cell, seconds) in times {
        let Some(builtin) = seconds.get(&Candidate::Builtin) else { continue };
        let others = seconds.iter().filter(|(candidate, _)| **candidate != Candidate::Builtin);
        sites.extend(others.map(|(candidate, seconds)| GainSite {
            cell: *cell,
            candidate: *candidate,
            log_gain: (builtin / seconds).ln(),
        }));
    }
    let beside = around(&sites, NeighbourAxis::Bytes).into_iter().zip(around(&sites, NeighbourAxis::Ranks));
    let gain = |(site, (bytes, ranks)): (&GainSite, (Option<f64>, Option<f64>))| {
        let (mut sum, mut weight) = (0.5 * site.log_gain, 0.5);
        for near in [bytes, ranks].into_iter().flatten() {
            sum += 0.25 * near;
            weight += 0.25;
        }
        ((site.cell, site.candidate), site.log_gain.min(sum / weight))
    };
    sites.iter().zip(beside).map(gain).collect()
}

impl Method {
    /// From the boldest to the most cautious.
    pub(super) const LADDER: [Self; 18] = [
        Self::FastestOther,
        Self::Fastest,
        Self::Margin(0.03),
        Self::Margin(0.05),
        Self::Margin(0.10),
        Self::Margin(0.15),
        Self::Margin(0.20),
        Self::Margin(0.30),
        Self::Margin(0.50),
        Self::Margin(1.00),
        Self::Smooth(0.03),
        Self::Smooth(0.05),
        Self::Smooth(0.08),
        Self::Smooth(0.10),
        Self::Smooth(0.12),
        Self::Smooth(0.15),
        Self::Smooth(0.20),
        Self::Smooth(0.30),
    ];

    /// Chooses for a cell by seconds, given the builtin and at least one other candidate.
    pub(super) fn choose(self, cell: Cell, seconds: &BTreeMap<Candidate, f64>, smooth: &Smooth) -> Candidate {
        let builtin = seconds[&Candidate::Builtin];
        let stands = |candidate: &Candidate| match self {
            Self::Smooth(gain) => smooth.get(&(cell, *candidate)).is_some_and(|own| *own >= (1.0 + gain).ln()),
            _ => *candidate != Candidate::Builtin,
        };
        let others = seconds.iter().filter(|(candidate, _)| stands(candidate));
        let Some((fastest, time)) = others.min_by(|a, b| a.1.total_cmp(b.1)) else { return Candidate::Builtin };
        let replaces = match self {
            Self::FastestOther | Self::Smooth(_) => true,
            Self::Fastest => *time < builtin,
            Self::Margin(margin) => builtin >= time * (1.0 + margin),
        };
        if replaces { *fastest } else { Candidate::Builtin }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FastestOther => f.write_str("fastest but the default"),
            Self::Fastest => f.write_str("fastest"),
            Self::Margin(margin) => write!(f, "fastest if by {:.0} %", margin * 100.0),
            Self::Smooth(gain) => write!(f, "smooth gain of {:.0} %", gain * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::{Choice, Collective};

    use super::*;

    fn cell(ranks: u32, bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    #[test]
    fn each_method_chooses_by_its_rule() {
        let (slow, fast) = (Candidate::from_choice(Choice::plain(1)), Candidate::from_choice(Choice::plain(2)));
        let times = |builtin| BTreeMap::from([(Candidate::Builtin, builtin), (slow, 3.0), (fast, 1.0)]);
        for (method, builtin, expected) in [
            (Method::FastestOther, 0.5, fast),
            (Method::Fastest, 0.5, Candidate::Builtin),
            (Method::Fastest, 1.0, Candidate::Builtin),
            (Method::Fastest, 1.01, fast),
            (Method::Margin(0.5), 1.4, Candidate::Builtin),
            (Method::Margin(0.5), 1.5, fast),
        ] {
            assert_eq!(method.choose(cell(4, 8), &times(builtin), &Smooth::new()), expected, "{method} with {builtin}");
        }
    }
    /// A candidate twice as fast in one cell: log gains of 4 own halves, 0 at both message sizes, 2 at one communicator
    /// size make 4/2 + 0/4 + 2/4 quarters of ln 2.
    #[test]
    fn a_smooth_gain_is_that_of_neighbours_too() {
        let fast = Candidate::from_choice(Choice::plain(1));
        let at = |gain: f64| BTreeMap::from([(Candidate::Builtin, gain), (fast, 1.0)]);
        let times = PointSeconds::from([
            (cell(4, 4), at(1.0)),
            (cell(4, 8), at(16.0)),
            (cell(4, 16), at(1.0)),
            (cell(8, 8), at(4.0)),
            (cell(16, 2), at(3.0)),
        ]);
        let smooth = smooth(&times);
        assert!((smooth[&(cell(4, 8), fast)] - 2.5 * 2f64.ln()).abs() < 1e-12, "{smooth:?}");
        assert!((smooth[&(cell(8, 8), fast)] - 2.0 * 2f64.ln()).abs() < 1e-12, "its own is the smaller one");
        assert!((smooth[&(cell(16, 2), fast)] - 3f64.ln()).abs() < 1e-12, "no neighbours");
        let chosen = |gain| Method::Smooth(gain).choose(cell(4, 8), &times[&cell(4, 8)], &smooth);
        assert_eq!((chosen(4.6), chosen(4.7)), (fast, Candidate::Builtin));
    }
}
