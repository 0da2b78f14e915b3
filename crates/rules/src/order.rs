//! Orders in which the contributions of ranks are added up, and sums in these orders.

/// Order of additions. In trees, ranks are counted from the root on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// From the last rank down to the first.
    Linear,
    /// Neighbours first, then at doubled distances; ranks beyond a power of two join a neighbour first.
    Doubling,
    /// Ranks half of all apart first, then at halved distances.
    Halving,
    /// Around a ring; each block begins at another rank: at its own with 0, at the next with 1.
    Ring(u32),
    /// This many chains of ranks.
    Chain(u32),
    /// A binary tree by levels.
    Binary,
    /// A binary tree whose root is the last rank.
    InOrderBinary,
    /// A binomial tree.
    Binomial,
    /// From the first rank up to this rank.
    Prefix,
    /// Like [`Prefix`](Self::Prefix), with partial sums at doubled distances.
    PrefixDoubling,
}

/// A place in a result: the rank, the number of ranks, and the block of the vector.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The number of ranks.
    pub ranks: u32,
    /// The rank with the result; for exscan the one before it.
    pub rank: u32,
    /// The block, of as many as there are ranks.
    pub block: u32,
    /// The root of rooted collectives, else 0.
    pub root: u32,
}

impl Order {
    /// The sum of the ranks' values at a place.
    pub fn sum<T: Clone>(self, place: Place, value: &dyn Fn(u32) -> T, add: &dyn Fn(T, T) -> T) -> Option<T> {
        let Place { ranks, rank, block, root } = place;
        let fold = |order: &mut dyn Iterator<Item = u32>| order.map(value).reduce(add);
        match self {
            Self::Linear => fold(&mut (0..ranks).rev()),
            Self::Ring(first) => fold(&mut (0..ranks).map(|turn| (block + first + turn) % ranks)),
            Self::Prefix => fold(&mut (0..=rank)),
            Self::Doubling | Self::Halving => {
                let all = 1 << ranks.checked_ilog2()?;
                let joined = ranks - all;
                let first = |place: u32| {
                    if place < joined { add(value(2 * place), value(2 * place + 1)) } else { value(place + joined) }
                };
                let mut sums: Vec<T> = (0..all).map(first).collect();
                while sums.len() > 1 {
                    let half = sums.len() / 2;
                    let pair = |at: usize| if self == Self::Doubling { (2 * at, 2 * at + 1) } else { (at, at + half) };
                    sums = (0..half).map(pair).map(|(a, b)| add(sums[a].clone(), sums[b].clone())).collect();
                }
                sums.pop()
            }
            Self::PrefixDoubling => prefix_by_doubling(place, value, add),
            Self::InOrderBinary => (ranks > 0).then(|| sum_in_order(0, ranks, value, add)),
            Self::Chain(chains) => {
                let own = |rank: u32| value((rank + root) % ranks);
                let others = ranks.saturating_sub(1);
                let chains = chains.clamp(1, others.max(1));
                let (length, longer) = (others / chains, others % chains);
                let first = |chain: u32| 1 + chain * length + chain.min(longer);
                let sums = (0..chains).filter_map(|chain| (first(chain)..first(chain + 1)).rev().map(own).reduce(add));
                Some(sums.fold(own(0), add))
            }
            Self::Binomial | Self::Binary => Some(self.sum_below(0, ranks, &|rank| value((rank + root) % ranks), add)),
        }
    }

    /// Returns true if equal contributions at two places of the vector may have different sums.
    pub fn depends_on_place(self, ranks: u32) -> bool {
        matches!(self, Self::Ring(_)) && ranks > 2
    }

    /// Hashes that are equal for two orders if, and in practice only if, their sums have the same bits, for every root
    /// if the collective has one.
    pub fn trace(self, ranks: u32, is_rooted: bool) -> Vec<u64> {
        let add = |one: u64, other: u64| mix(mix(one.min(other)) ^ one.max(other).rotate_left(32));
        let last = ranks.saturating_sub(1);
        let places = [(0, 0), (last / 2, 1.min(last)), (last, last)];
        let trace = |(rank, block)| {
            let root = if is_rooted { rank } else { 0 };
            self.sum(Place { ranks, rank, block, root }, &|rank| mix(rank.into()), &add)
        };
        places.into_iter().filter_map(trace).collect()
    }

    /// The sum of a tree's rank and all ranks below it, child by child.
    fn sum_below<T>(self, rank: u32, ranks: u32, value: &dyn Fn(u32) -> T, add: &dyn Fn(T, T) -> T) -> T {
        let children = self.children(rank, ranks).into_iter();
        children.fold(value(rank), |sum, child| add(sum, self.sum_below(child, ranks, value, add)))
    }

    /// The children of a rank in the tree of this order, in the order in which they are added; none if it has no tree.
    pub fn children(self, rank: u32, ranks: u32) -> Vec<u32> {
        let exists = |child: &u32| *child < ranks;
        match self {
            Self::Binomial => {
                let masks = (0..u32::BITS - 1).map(|bit| 1 << bit);
                masks
                    .take_while(|mask| *mask < ranks && rank & mask == 0)
                    .map(|mask| rank + mask)
                    .filter(exists)
                    .collect()
            }
            Self::Binary => {
                // The ranks of a level are as many as it is wide, and so far below are their children.
                let width = 1 << (rank + 1).ilog2();
                [rank + width, rank + 2 * width].into_iter().filter(exists).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The sum of consecutive ranks, of which the last is the root; the half below it is added first.
fn sum_in_order<T>(first: u32, ranks: u32, value: &dyn Fn(u32) -> T, add: &dyn Fn(T, T) -> T) -> T {
    let own = value(first + ranks - 1);
    let far = ranks / 2;
    let near = ranks - 1 - far;
    let halves = [(first + far, near), (first, far)].into_iter().filter(|(_, ranks)| *ranks > 0);
    halves.fold(own, |sum, (first, ranks)| add(sum, sum_in_order(first, ranks, value, add)))
}

fn prefix_by_doubling<T: Clone>(place: Place, value: &dyn Fn(u32) -> T, add: &dyn Fn(T, T) -> T) -> Option<T> {
    let Place { ranks, rank, .. } = place;
    let mut partial: Vec<T> = (0..ranks).map(value).collect();
    let mut result = partial.get(rank as usize)?.clone();
    let mut distance = 1;
    while distance < ranks {
        let remote = rank ^ distance;
        if remote < rank {
            result = add(partial[remote as usize].clone(), result);
        }
        let exchanged = |rank: u32| match partial.get((rank ^ distance) as usize) {
            Some(other) => add(other.clone(), partial[rank as usize].clone()),
            None => partial[rank as usize].clone(),
        };
        partial = (0..ranks).map(exchanged).collect();
        distance <<= 1;
    }
    Some(result)
}

fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Order; 8] = [
        Order::Linear,
        Order::Doubling,
        Order::Halving,
        Order::Ring(0),
        Order::Chain(4),
        Order::Binary,
        Order::InOrderBinary,
        Order::Binomial,
    ];

    #[test]
    fn every_order_has_every_rank_once() {
        for ranks in 1..40 {
            for order in ALL {
                for rank in 0..ranks {
                    let place = Place { ranks, rank, block: rank, root: rank };
                    let mut counted = vec![0; ranks as usize];
                    let all = order.sum(place, &|rank| vec![rank], &|one, other| [one, other].concat());
                    all.unwrap_or_default().into_iter().for_each(|rank| counted[rank as usize] += 1);
                    assert_eq!(counted, vec![1; ranks as usize], "{order:?} of {ranks}");
                }
            }
        }
    }

    #[test]
    fn prefixes_have_every_rank_up_to_the_own() {
        for order in [Order::Prefix, Order::PrefixDoubling] {
            for (ranks, rank) in (1..20).flat_map(|ranks| (0..ranks).map(move |rank| (ranks, rank))) {
                let place = Place { ranks, rank, block: 0, root: 0 };
                let mut all =
                    order.sum(place, &|rank| vec![rank], &|one, other| [one, other].concat()).unwrap_or_default();
                all.sort_unstable();
                assert_eq!(all, (0..=rank).collect::<Vec<_>>(), "{order:?}");
            }
        }
    }

    #[test]
    fn traces_tell_orders_apart_where_they_differ() {
        let same = |one: Order, other: Order, ranks| one.trace(ranks, false) == other.trace(ranks, false);
        assert!(same(Order::Linear, Order::Chain(1), 9));
        assert!(same(Order::Doubling, Order::Binomial, 8) && !same(Order::Doubling, Order::Binomial, 5));
        assert!(same(Order::Doubling, Order::Halving, 3) && !same(Order::Doubling, Order::Halving, 4));
        assert!(!same(Order::Linear, Order::Doubling, 3) && same(Order::Linear, Order::Ring(0), 2));
        let from_every_root = |order: Order| order.trace(9, true);
        assert_ne!(from_every_root(Order::Linear), from_every_root(Order::Chain(1)), "a chain begins behind the root");
    }
}
