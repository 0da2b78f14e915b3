//! Where the ranks of a communicator are, and which component serves them there.

use std::collections::BTreeMap;
use std::fmt;

use collrules_rules::{Collective, names};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::units::Ranks;

/// How the ranks of a communicator are taken from those of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// The first ranks in the order in which mpirun placed them.
    #[default]
    Block,
    /// One rank of each host, the first there.
    OnePerNode,
    /// The hosts in turn: the first rank of each, then the second of each, and so on.
    Spread,
}

names!(Layout, read as "layout" {
    Block "block",
    OnePerNode "one-per-node",
    Spread "spread",
});

impl Layout {
    /// The ranks of a job, given by their hosts, in the order in which communicators take them. The first is always 0.
    pub fn order<H: Ord>(self, hosts: &[H]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        if self != Self::Block {
            let turns = turns(hosts);
            // Stable: within a turn the hosts keep the order of their first ranks only if the turn is sorted by it.
            let mut first: BTreeMap<&H, usize> = BTreeMap::new();
            for (rank, host) in hosts.iter().enumerate() {
                first.entry(host).or_insert(rank);
            }
            order.sort_by_key(|rank| (turns[*rank], first[&hosts[*rank]]));
        }
        order
    }

    /// The most ranks that a communicator can have on these hosts.
    pub fn most<H: Ord>(self, hosts: &[H]) -> Ranks {
        let most = match self {
            Self::OnePerNode => turns(hosts).iter().filter(|turn| **turn == 0).count(),
            Self::Block | Self::Spread => hosts.len(),
        };
        Ranks(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// Where the ranks of a communicator of this size are.
    pub fn nodes<H: Ord>(self, hosts: &[H], ranks: Ranks) -> Nodes {
        let mut counts: BTreeMap<&H, (usize, u32)> = BTreeMap::new();
        for (place, rank) in self.order(hosts).into_iter().take(ranks.0 as usize).enumerate() {
            counts.entry(&hosts[rank]).or_insert((place, 0)).1 += 1;
        }
        let mut counts: Vec<(usize, u32)> = counts.into_values().collect();
        counts.sort_unstable();
        Nodes(counts.into_iter().map(|(_, count)| count).collect())
    }
}

/// The number of earlier ranks on the same host, for each rank.
fn turns<H: Ord>(hosts: &[H]) -> Vec<u32> {
    let mut seen: BTreeMap<&H, u32> = BTreeMap::new();
    let turn = |host| {
        let turns = seen.entry(host).or_default();
        *turns += 1;
        *turns - 1
    };
    hosts.iter().map(turn).collect()
}

/// The number of a communicator's ranks on each of its nodes, in the order of the nodes' first ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nodes(pub Vec<u32>);

impl Nodes {
    /// Whether there are several nodes.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// Whether some node has several ranks.
    pub fn share(&self) -> bool {
        self.0.iter().any(|count| *count > 1)
    }
}

impl fmt::Display for Nodes {
    /// `1 node`, `2 nodes x 4 ranks` or `2 nodes of 4 to 3 ranks`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, ranks) = (self.0.len(), |count: u32| if count == 1 { "rank" } else { "ranks" });
        match (self.0.iter().min(), self.0.iter().max()) {
            (Some(_), Some(_)) if nodes == 1 => f.pad("1 node"),
            (Some(least), Some(most)) if least == most => f.pad(&format!("{nodes} nodes x {most} {}", ranks(*most))),
            (Some(least), Some(most)) => f.pad(&format!("{nodes} nodes of {least} to {most} ranks")),
            _ => f.pad("no node"),
        }
    }
}

/// Which component carries out a collective on communicators of a size when nobody says anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The component that does it today.
    pub by: Component,
    /// The components without which `coll/tuned` does it; none where it does today.
    pub without: Vec<Component>,
}

/// Where the ranks of a plan's communicators are, and who serves them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// How communicators take their ranks.
    pub layout: Layout,
    /// Where they are, per communicator size.
    pub nodes: BTreeMap<Ranks, Nodes>,
    /// Who serves each collective and communicator size; empty where it was not asked.
    pub serving: Vec<Serving>,
}

impl Placement {
    /// The components that have to be out of the way before `coll/tuned` serves.
    pub fn without(&self, collective: Collective, ranks: Ranks) -> &[Component] {
        let found = self.serving.iter().find(|serving| serving.collective == collective && serving.ranks == ranks);
        found.map_or(&[], |serving| &serving.without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: [&str; 7] = ["b", "b", "b", "a", "a", "c", "c"];

    #[test]
    fn layouts_take_ranks_in_their_order() {
        assert_eq!(Layout::Block.order(&HOSTS), [0, 1, 2, 3, 4, 5, 6]);
        for layout in [Layout::OnePerNode, Layout::Spread] {
            assert_eq!(layout.order(&HOSTS), [0, 3, 5, 1, 4, 6, 2], "{layout}");
        }
        assert_eq!(Layout::OnePerNode.most(&HOSTS), Ranks(3));
        assert_eq!(Layout::Spread.most(&HOSTS), Ranks(7));
    }

    #[test]
    fn nodes_are_counted() {
        let nodes = |layout: Layout, ranks| layout.nodes(&HOSTS, Ranks(ranks)).to_string();
        assert_eq!(nodes(Layout::Block, 3), "1 node");
        assert_eq!(nodes(Layout::Block, 4), "2 nodes of 1 to 3 ranks");
        assert_eq!(nodes(Layout::OnePerNode, 3), "3 nodes x 1 rank");
        assert_eq!(nodes(Layout::Spread, 6), "3 nodes x 2 ranks");
        assert_eq!(Layout::Block.nodes(&HOSTS, Ranks(4)), Nodes(vec![3, 1]));
    }
}
