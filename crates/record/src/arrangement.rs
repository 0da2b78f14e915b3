//! Where a communicator's ranks are, as far as a site tells its communicators apart, and what it has of each.

use std::fmt;
use std::str::FromStr;

use collrules_rules::{Distribution, names, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::placement::Nodes;

/// Where the ranks of a communicator are. Communicators of one size may be in all three, and a classic rules file cannot tell
/// them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// All on one node.
    SingleNode,
    /// One on each of several nodes.
    OnePerNode,
    /// On several nodes, of which some have several.
    Full,
}

names!(Arrangement, read as "arrangement of ranks" {
    SingleNode "single-node",
    OnePerNode "one-per-node",
    Full "full",
});

impl Arrangement {
    /// What a rules file of 6.0 calls it. What it has no word for has to come last there, as what holds for any.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::SingleNode => Distribution::SingleNode,
            Self::OnePerNode => Distribution::OnePerNode,
            Self::Full => Distribution::Any,
        }
    }
}

impl Nodes {
    /// How these nodes hold a communicator; of nothing that is not known.
    pub fn arrangement(&self) -> Option<Arrangement> {
        match (self.0.len(), self.share()) {
            (0, _) => None,
            (1, _) => Some(Arrangement::SingleNode),
            (_, false) => Some(Arrangement::OnePerNode),
            (_, true) => Some(Arrangement::Full),
        }
    }
}

/// What the arrangements count for beside each other, such as `full=0.8,one-per-node=0.2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shares([Option<f64>; 3]);

stored_as_text!(Shares);

/// Weights that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadShares {
    /// Something else than names and weights.
    #[error("`{0}` is no weight of an arrangement: write one such as full=0.8, several separated by commas")]
    NotOne(String),
    /// There is no such arrangement.
    #[error(transparent)]
    Unknown(#[from] names::UnknownName),
    /// One is named twice.
    #[error("{0} is named twice")]
    Twice(Arrangement),
    /// A weight is negative or no number.
    #[error("`{0}` is no weight: write a number of at least 0")]
    Weight(String),
    /// None counts.
    #[error("no arrangement has a weight above 0")]
    Nothing,
}

impl Shares {
    /// Whether none was named, so that all count alike.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The weight of one; none where it is not named.
    pub fn of(&self, arrangement: Arrangement) -> Option<f64> {
        self.0[arrangement as usize]
    }
}

impl FromStr for Shares {
    type Err = BadShares;

    fn from_str(text: &str) -> Result<Self, BadShares> {
        let mut shares = Self::default();
        for part in text.split(',').filter(|_| !text.trim().is_empty()) {
            let (name, weight) = part.split_once('=').ok_or_else(|| BadShares::NotOne(part.trim().to_owned()))?;
            let arrangement: Arrangement = name.parse()?;
            let read = weight.trim().parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
            let weight = read.ok_or_else(|| BadShares::Weight(weight.trim().to_owned()))?;
            if shares.0[arrangement as usize].replace(weight).is_some() {
                return Err(BadShares::Twice(arrangement));
            }
        }
        if !shares.is_empty() && shares.0.iter().flatten().sum::<f64>() <= 0.0 {
            return Err(BadShares::Nothing);
        }
        Ok(shares)
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Arrangement::ALL.into_iter().filter_map(|arrangement| Some((arrangement, self.of(arrangement)?)));
        let named: Vec<String> = named.map(|(arrangement, weight)| format!("{arrangement}={weight}")).collect();
        f.write_str(&named.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_on_one_node_on_one_each_or_on_several_of_several() {
        let arrangement = |counts: &[u32]| Nodes(counts.to_vec()).arrangement();
        assert_eq!(arrangement(&[]), None);
        assert_eq!(arrangement(&[4]), Some(Arrangement::SingleNode));
        assert_eq!(arrangement(&[1, 1]), Some(Arrangement::OnePerNode));
        assert_eq!(arrangement(&[2, 1]), Some(Arrangement::Full));
    }

    #[test]
    fn weights_read_back_and_bad_ones_are_named() {
        let shares: Shares = " full=0.8, one-per-node=0.2".parse().expect("two weights");
        assert_eq!((shares.of(Arrangement::Full), shares.of(Arrangement::SingleNode)), (Some(0.8), None));
        assert_eq!(shares.to_string(), "one-per-node=0.2,full=0.8");
        assert_eq!(shares.to_string().parse(), Ok(shares));
        assert_eq!("".parse(), Ok(Shares::default()));
        for (bad, why) in [
            ("full", "write one such as full=0.8"),
            ("block=1", "known are single-node, one-per-node, full"),
            ("full=1,full=2", "full is named twice"),
            ("full=-1", "at least 0"),
            ("full=nan", "at least 0"),
            ("full=0", "above 0"),
        ] {
            let error = bad.parse::<Shares>().expect_err(bad).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
