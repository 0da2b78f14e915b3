//! Arrangement of a communicator's ranks on nodes.

use collrules_rules::{Distribution, names};
use serde::{Deserialize, Serialize};

use crate::placement::Nodes;

/// Arrangement of a communicator's ranks on nodes. A site may have communicators of one size in all three, and a
/// classic rules file cannot distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// All on one node.
    SingleNode,
    /// One on each of several nodes.
    OnePerNode,
    /// On several nodes, with several ranks on some.
    Full,
}

names!(Arrangement, read as "arrangement of ranks" {
    SingleNode "single-node",
    OnePerNode "one-per-node",
    Full "full",
});

impl Arrangement {
    /// The distribution by which a rules file of 6.0 selects it. `Any` stands for the arrangement without a name there,
    /// and has to come last.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::SingleNode => Distribution::SingleNode,
            Self::OnePerNode => Distribution::OnePerNode,
            Self::Full => Distribution::Any,
        }
    }
}

impl Nodes {
    /// The arrangement of a communicator on these nodes; none if they are unknown.
    pub fn arrangement(&self) -> Option<Arrangement> {
        match (self.0.len(), self.share()) {
            (0, _) => None,
            (1, _) => Some(Arrangement::SingleNode),
            (_, false) => Some(Arrangement::OnePerNode),
            (_, true) => Some(Arrangement::Full),
        }
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
}
