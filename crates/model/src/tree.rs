//! The trees of coll/base, as its `coll_base_topo.c` builds them, for root 0.

/// Receivers of each rank's messages, in order.
pub(crate) type MessageTree = Vec<Vec<u32>>;

/// All ranks are children of the root.
pub(crate) fn linear(ranks: u32) -> MessageTree {
    from_children(ranks, |rank| if rank == 0 { (1..ranks).collect() } else { Vec::new() })
}

/// Chains below the root, the longer ones first.
pub(crate) fn chain(ranks: u32, chains: u32) -> MessageTree {
    let chains = chains.clamp(1, ranks.saturating_sub(1).max(1));
    let others = ranks.saturating_sub(1);
    let (short, longer) = (others / chains, others % chains);
    let mut tree: MessageTree = vec![Vec::new(); ranks as usize];
    let mut next = 1;
    for number in 0..chains {
        let length = short + u32::from(number < longer);
        let mut parent = 0;
        for rank in next..next + length {
            tree[parent as usize].push(rank);
            parent = rank;
        }
        next += length;
    }
    tree
}

/// Level by level: the ranks of a level take those of the next in turns as children.
pub(crate) fn binary(ranks: u32) -> MessageTree {
    from_children(ranks, |rank| {
        let mut width = 1;
        let mut first = 0;
        while rank >= first + width {
            first += width;
            width *= 2;
        }
        [rank + width, rank + 2 * width].into_iter().filter(|child| *child < ranks).collect()
    })
}

/// Binomial: the nearest first.
pub(crate) fn binomial(ranks: u32) -> MessageTree {
    from_children(ranks, |rank| {
        let masks = (0..u32::BITS).map(|bit| 1_u32 << bit).take_while(|mask| rank & mask == 0 && *mask < ranks);
        masks.map(|mask| rank + mask).filter(|child| *child < ranks).collect()
    })
}

/// k-nomial: the farthest first.
pub(crate) fn knomial(ranks: u32, radix: u32) -> MessageTree {
    let radix = radix.max(2);
    from_children(ranks, |rank| {
        let mut mask = 1;
        while mask < ranks && rank.is_multiple_of(mask * radix) {
            mask *= radix;
        }
        let mut children = Vec::new();
        while mask > 1 {
            mask /= radix;
            children.extend((1..radix).map(|at| rank + mask * at).filter(|child| *child < ranks));
        }
        children
    })
}

fn from_children(ranks: u32, children: impl Fn(u32) -> Vec<u32>) -> MessageTree {
    (0..ranks).map(children).collect()
}

/// The parent of each rank.
pub(crate) fn parents(tree: &MessageTree) -> Vec<Option<u32>> {
    let mut parents = vec![None; tree.len()];
    for (parent, children) in (0..).zip(tree) {
        children.iter().for_each(|child| parents[*child as usize] = Some(parent));
    }
    parents
}

/// Returns the number of ranks in each subtree.
pub(crate) fn sizes(tree: &MessageTree) -> Vec<u64> {
    fn size(tree: &MessageTree, rank: usize) -> u64 {
        1 + tree[rank].iter().map(|child| size(tree, *child as usize)).sum::<u64>()
    }
    (0..tree.len()).map(|rank| size(tree, rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tree_reaches_everybody_once() {
        for ranks in 1..70 {
            let trees = [linear(ranks), binary(ranks), binomial(ranks), knomial(ranks, 4), knomial(ranks, 3)];
            for tree in trees.into_iter().chain((1..9).map(|chains| chain(ranks, chains))) {
                assert_eq!(sizes(&tree)[0], u64::from(ranks), "{tree:?}");
                let reached: usize = tree.iter().map(Vec::len).sum();
                assert_eq!(reached as u32, ranks - 1, "{tree:?}");
            }
        }
    }

    #[test]
    fn trees_are_those_of_coll_base() {
        assert_eq!(binary(8), [vec![1, 2], vec![3, 5], vec![4, 6], vec![7], vec![], vec![], vec![], vec![]]);
        assert_eq!(binomial(8)[0], [1, 2, 4]);
        assert_eq!(binomial(8)[4], [5, 6]);
        assert_eq!(knomial(8, 4), [vec![4, 1, 2, 3], vec![], vec![], vec![], vec![5, 6, 7], vec![], vec![], vec![]]);
        assert_eq!(chain(8, 2), [vec![1, 5], vec![2], vec![3], vec![4], vec![], vec![6], vec![7], vec![]]);
    }
}
