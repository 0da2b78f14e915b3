//! The trees of coll/base, as its `coll_base_topo.c` builds them, for root 0. Parents have lower numbers than their
//! children.

use collrules_rules::Order;

/// A rank of a tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TreeRank {
    pub(super) parent: Option<u32>,
    /// Receivers of its messages, in order.
    pub(super) children: Vec<u32>,
    /// The number of ranks of its subtree.
    pub(super) ranks: u64,
}

/// Chains below the root, the longer ones first; with as many as other ranks, all are children of the root.
pub(super) fn chain(ranks: u32, chains: u32) -> Vec<TreeRank> {
    let others = ranks.saturating_sub(1);
    let chains = chains.clamp(1, others.max(1));
    let (short, longer) = (others / chains, others % chains);
    let begins: Vec<u32> = (0..chains).map(|number| 1 + number * short + number.min(longer)).collect();
    plant(ranks, |rank| match rank {
        0 => begins.clone(),
        _ => Some(rank + 1).filter(|next| begins.binary_search(next).is_err()).into_iter().collect(),
    })
}

/// Level by level: the ranks of a level take those of the next in turns as children.
pub(super) fn binary(ranks: u32) -> Vec<TreeRank> {
    plant(ranks, |rank| Order::Binary.children(rank, ranks))
}

/// Binomial: the nearest first.
pub(super) fn binomial(ranks: u32) -> Vec<TreeRank> {
    plant(ranks, |rank| Order::Binomial.children(rank, ranks))
}

/// k-nomial: the farthest first.
pub(super) fn knomial(ranks: u32, radix: u32) -> Vec<TreeRank> {
    let radix = radix.clamp(2, ranks.max(2));
    plant(ranks, |rank| {
        let mut mask = 1;
        while mask < ranks && rank.is_multiple_of(mask * radix) {
            mask *= radix;
        }
        let mut children = Vec::new();
        while mask > 1 {
            mask /= radix;
            children.extend((1..radix).map(|place| rank + mask * place));
        }
        children
    })
}

/// A tree in which each rank has these children, if they are ranks.
fn plant(ranks: u32, children: impl Fn(u32) -> Vec<u32>) -> Vec<TreeRank> {
    let node = |rank| {
        let children = children(rank).into_iter().filter(|child| *child < ranks).collect();
        TreeRank { parent: None, children, ranks: 1 }
    };
    let mut tree: Vec<TreeRank> = (0..ranks).map(node).collect();
    for rank in (0..ranks).rev() {
        for child in tree[rank as usize].children.clone() {
            tree[child as usize].parent = Some(rank);
            tree[rank as usize].ranks += tree[child as usize].ranks;
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tree_reaches_everybody_once() {
        for ranks in 1..70 {
            let trees = [binary(ranks), binomial(ranks), knomial(ranks, 4), knomial(ranks, 3)];
            for tree in trees.into_iter().chain((1..9).chain([ranks]).map(|chains| chain(ranks, chains))) {
                assert_eq!(tree[0].ranks, u64::from(ranks), "{tree:?}");
                let reached: usize = tree.iter().map(|node| node.children.len()).sum();
                assert_eq!(reached as u32, ranks - 1, "{tree:?}");
            }
        }
    }

    #[test]
    fn trees_are_those_of_coll_base() {
        let children = |tree: Vec<TreeRank>| tree.into_iter().map(|node| node.children).collect::<Vec<_>>();
        assert_eq!(children(binary(8)), [vec![1, 2], vec![3, 5], vec![4, 6], vec![7], vec![], vec![], vec![], vec![]]);
        assert_eq!(binomial(8)[0].children, [1, 2, 4]);
        assert_eq!(binomial(8)[4].children, [5, 6]);
        assert_eq!(
            children(knomial(8, 4)),
            [vec![4, 1, 2, 3], vec![], vec![], vec![], vec![5, 6, 7], vec![], vec![], vec![]]
        );
        assert_eq!(children(chain(8, 2)), [vec![1, 5], vec![2], vec![3], vec![4], vec![], vec![6], vec![7], vec![]]);
        assert_eq!(chain(4, 9)[0].children, [1, 2, 3]);
    }
}
