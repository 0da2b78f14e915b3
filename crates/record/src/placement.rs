//! Nodes of a communicator's ranks, and the component that carries out its calls there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use collrules_program::Even;
use collrules_rules::han::Level;
use collrules_rules::words::counted;
use collrules_rules::{Collective, Distribution, han, names};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::component::Component;
use crate::units::Ranks;

names! {
    /// Order in which communicators take their ranks from those of the job.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Layout, read as "layout" {
        /// The first ranks in the order in which mpirun placed them.
        #[default]
        Block "block",
        /// One rank of each host: the first one there.
        OnePerNode "one-per-node",
        /// The hosts in turn: the first rank of each, then the second of each, and so on.
        Spread "spread",
    }
}

impl Layout {
    /// The ranks of a job in the order in which communicators take them, given the ranks' hosts. The first is always 0.
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

    /// The nodes, if there are several with equally many consecutive ranks; otherwise the reason.
    pub fn even<H: Ord>(self, hosts: &[H], ranks: Ranks) -> Result<Even, UnevenNodes> {
        let even = self.nodes(hosts, ranks).even()?;
        let order: Vec<usize> = self.order(hosts).into_iter().take(ranks.0 as usize).collect();
        let together = |node: &[usize]| node.iter().all(|rank| hosts[*rank] == hosts[node[0]]);
        if order.chunks(even.each as usize).all(together) { Ok(even) } else { Err(UnevenNodes::Scattered) }
    }

    /// The root of calls that are not made from rank 0, for a communicator of this size: its last rank on another node than
    /// rank 0, or its last rank if there is one node.
    pub fn other_root<H: Ord>(self, hosts: &[H], ranks: Ranks) -> u32 {
        let order: Vec<usize> = self.order(hosts).into_iter().take(ranks.0 as usize).collect();
        let elsewhere = order.iter().rposition(|rank| hosts[*rank] != hosts[order[0]]);
        elsewhere.map_or(ranks.0.saturating_sub(1), |place| place as u32)
    }

    /// Returns the number of ranks on each node, for a communicator of this size.
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

/// Reason why nodes do not have equally many consecutive ranks, several each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum UnevenNodes {
    /// There is only one.
    #[error("all its ranks are on one node")]
    OneNode,
    /// Each has one rank.
    #[error("its nodes have one rank each")]
    OneRankEach,
    /// They have these least and most ranks.
    #[error("its nodes have {0} to {1} ranks, not equally many")]
    Different(u32, u32),
    /// The ranks of a node are not consecutive.
    #[error("the ranks of its nodes are not consecutive")]
    Scattered,
}

/// The number of a communicator's ranks on each of its nodes, in the order of the nodes' first ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nodes(#[serde(with = "crate::packed")] pub Vec<u32>);

impl Nodes {
    /// Returns true if there are several nodes.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns the number of nodes and of ranks on each, if all nodes have equally many; assumes that ranks of a node
    /// are consecutive. Otherwise returns the reason.
    pub fn even(&self) -> Result<Even, UnevenNodes> {
        let (least, most) = (self.0.iter().min().copied(), self.0.iter().max().copied());
        match (least, most) {
            (Some(least), Some(most)) if self.are_several() && least == most && most > 1 => {
                Ok(Even { nodes: self.0.len() as u32, each: most })
            }
            (Some(_), Some(1)) if self.are_several() => Err(UnevenNodes::OneRankEach),
            (Some(least), Some(most)) if self.are_several() => Err(UnevenNodes::Different(least, most)),
            _ => Err(UnevenNodes::OneNode),
        }
    }

    /// Returns true if some node has several ranks.
    pub fn share(&self) -> bool {
        self.0.iter().any(|count| *count > 1)
    }
}

impl fmt::Display for Nodes {
    /// `1 node`, `2 nodes x 4 ranks` or `2 nodes of 4 to 3 ranks`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.0.len();
        match (self.0.iter().min(), self.0.iter().max()) {
            (Some(_), Some(_)) if nodes == 1 => f.pad("1 node"),
            (Some(least), Some(most)) if least == most => f.pad(&format!("{nodes} nodes x {}", counted(*most, "rank"))),
            (Some(least), Some(most)) => f.pad(&format!("{nodes} nodes of {least} to {most} ranks")),
            _ => f.pad("no node"),
        }
    }
}

/// Component that carries out a collective on communicators of a size by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningComponent {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The default component.
    pub by: Component,
    /// The components without which `coll/tuned` runs the calls; none if it is the default.
    pub without: Vec<Component>,
}

/// Nodes of the ranks of a plan's communicators, and the components that carry out their calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Order in which communicators take their ranks.
    pub layout: Layout,
    /// Ranks on each node, per communicator size.
    pub nodes: BTreeMap<Ranks, Nodes>,
    /// Component that carries out the calls of each collective and communicator size; empty if it was not determined.
    pub running: Vec<RunningComponent>,
    /// The other root ([`Layout::other_root`]) of each communicator size for which it is not the last rank.
    pub other_roots: BTreeMap<Ranks, u32>,
}

impl Placement {
    /// Placement of communicators of these sizes on the hosts of a job's ranks.
    pub fn new<H: Ord>(layout: Layout, hosts: &[H], sizes: impl IntoIterator<Item = Ranks>) -> Self {
        let mut placement = Self { layout, ..Self::default() };
        for ranks in sizes {
            placement.nodes.insert(ranks, layout.nodes(hosts, ranks));
            let root = layout.other_root(hosts, ranks);
            if root != ranks.0.saturating_sub(1) {
                placement.other_roots.insert(ranks, root);
            }
        }
        placement
    }

    /// The root of calls that are not made from rank 0.
    pub fn other_root(&self, ranks: Ranks) -> u32 {
        self.other_roots.get(&ranks).copied().unwrap_or_else(|| ranks.0.saturating_sub(1))
    }

    /// The nodes of communicators of this size, if there are several with equally many ranks, several each.
    pub fn even(&self, ranks: Ranks) -> Option<Even> {
        self.nodes.get(&ranks)?.even().ok()
    }

    /// The components that have to be switched off before `coll/tuned` gets the calls.
    pub fn without(&self, collective: Collective, ranks: Ranks) -> &[Component] {
        self.find_running(collective, ranks).map_or(&[], |running| &running.without)
    }

    /// The component that carries out a collective, if it is known.
    pub fn find_running(&self, collective: Collective, ranks: Ranks) -> Option<&RunningComponent> {
        self.running.iter().find(|running| (running.collective, running.ranks) == (collective, ranks))
    }

    /// Returns the collectives that HAN calls on its own communicators for a cell, with their numbers of ranks (those
    /// of a node, and one per node), if HAN carries out the cell's calls. Rules of coll/tuned for these numbers act
    /// there.
    pub fn inside_han(&self, cell: Cell) -> Vec<(Collective, Ranks)> {
        let Cell { collective, ranks, .. } = cell;
        let here = |running: &RunningComponent| (running.collective, running.ranks) == (collective, ranks);
        let by_han = self.running.iter().any(|running| here(running) && running.by == Component::HAN);
        let Some(Nodes(counts)) = self.nodes.get(&ranks).filter(|_| by_han) else { return Vec::new() };
        let nodes = u32::try_from(counts.len()).unwrap_or(u32::MAX);
        let sizes = |level| match level {
            Level::InterNode => BTreeSet::from([nodes]),
            _ => counts.iter().copied().filter(|size| *size > 1).collect::<BTreeSet<u32>>(),
        };
        let inner = han::inner(collective).iter();
        let found = inner.flat_map(|(level, inner)| sizes(*level).into_iter().map(|size| (*inner, Ranks(size))));
        found.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

names! {
    /// Arrangement of a communicator's ranks on nodes. A site may have communicators of one size in all three, and a
    /// classic rules file cannot distinguish them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Arrangement, read as "arrangement of ranks" {
        /// All on one node.
        SingleNode "single-node",
        /// One on each of several nodes.
        OnePerNode "one-per-node",
        /// On several nodes, with several ranks on some.
        Full "full",
    }
}

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
    fn han_calls_on_the_ranks_of_a_node_and_on_one_per_node() {
        let ranks = Ranks(8);
        let running = |by| RunningComponent { collective: Collective::Allreduce, ranks, by, without: Vec::new() };
        let nodes = [(ranks, Nodes(vec![2; 4]))].into();
        let mut placement = Placement { nodes, running: vec![running(Component::HAN)], ..Placement::default() };
        let cell = Cell { collective: Collective::Allreduce, ranks, bytes: crate::units::Bytes(8) };
        let expected = [(Collective::Allreduce, 4), (Collective::Bcast, 2), (Collective::Reduce, 2)];
        assert_eq!(placement.inside_han(cell), expected.map(|(inner, ranks)| (inner, Ranks(ranks))));
        assert_eq!(placement.inside_han(Cell { collective: Collective::Bcast, ..cell }), []);
        placement.running = vec![running(Component::TUNED)];
        assert_eq!(placement.inside_han(cell), []);
    }

    #[test]
    fn the_other_root_is_on_another_node() {
        let root = |layout: Layout, ranks| Placement::new(layout, &HOSTS, [Ranks(ranks)]).other_root(Ranks(ranks));
        // One node; the last rank is elsewhere; nodes in turn, so that the last rank is next to rank 0.
        assert_eq!((root(Layout::Block, 3), root(Layout::Block, 5), root(Layout::Spread, 4)), (2, 4, 2));
        assert_eq!(Placement::new(Layout::Spread, &HOSTS, [Ranks(4), Ranks(5)]).other_roots, [(Ranks(4), 2)].into());
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

    #[test]
    fn nodes_are_even_where_each_has_as_many_consecutive_ranks() {
        let even = |layout: Layout, hosts: &[&str]| layout.even(hosts, Ranks(hosts.len() as u32));
        assert_eq!(even(Layout::Block, &["a", "a", "b", "b", "c", "c"]), Ok(Even { nodes: 3, each: 2 }));
        for (layout, hosts, why) in [
            (Layout::Block, &["a", "a"][..], "one node"),
            (Layout::Block, &["a", "b"], "one rank each"),
            (Layout::Block, &["a", "a", "b"], "1 to 2 ranks"),
            (Layout::Block, &["a", "b", "a", "b"], "not consecutive"),
            (Layout::Spread, &["a", "a", "b", "b"], "not consecutive"),
        ] {
            assert!(even(layout, hosts).is_err_and(|uneven| uneven.to_string().contains(why)), "{layout} {hosts:?}");
        }
    }

    #[test]
    fn ranks_are_on_one_node_on_one_each_or_on_several_of_several() {
        let arrangement = |counts: &[u32]| Nodes(counts.to_vec()).arrangement();
        assert_eq!(arrangement(&[]), None);
        assert_eq!(arrangement(&[4]), Some(Arrangement::SingleNode));
        assert_eq!(arrangement(&[1, 1]), Some(Arrangement::OnePerNode));
        assert_eq!(arrangement(&[2, 1]), Some(Arrangement::Full));
    }
}
