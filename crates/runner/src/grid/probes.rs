//! The probes of a communication model: round trips of pairs, messages to two, trains, and messages of busy ranks.

use collrules_record::pattern::Shape;
use collrules_record::plan::PatternPlan;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cast, Pattern};

/// Least size of messages to two ranks: below the eager limit of btl/tcp, and long enough to show the time of a byte.
const LONG: Bytes = Bytes(32 << 10);

/// Number of pairs that are timed while a rank is busy.
const BUSY: usize = 4;

/// Number of pairs of partners to which a rank sends.
const TRIPLETS: u32 = 6;

/// The probes of ranks, each with at most this many partners, at these sizes and with empty messages. Probes that
/// exceed the memory of a rank are left out.
pub(super) fn plans(ranks: u32, sizes: &[Bytes], memory: Bytes, partners: u32) -> Vec<PatternPlan> {
    let mut sizes: Vec<Bytes> = sizes.iter().copied().filter(|bytes| 2 * bytes.0 <= memory.0).collect();
    sizes.push(Bytes(0));
    sizes.sort_unstable();
    sizes.dedup();
    let mut plans = Vec::new();
    let mut add = |shape: Shape, ranks: u32, bytes: Bytes, casts: &[Cast]| {
        if !casts.is_empty() {
            plans.push(PatternPlan { pattern: Pattern { shape, ranks: Ranks(ranks), bytes }, casts: casts.to_vec() });
        }
    };
    let (pairs, triplets) = (pairs(ranks, partners), triplets(ranks));
    // A few of them say what trains take; the others are alike, or stand out by their round trips.
    let few: Vec<Cast> = pairs.iter().take(2 * TRIPLETS as usize).cloned().collect();
    let long = sizes.iter().copied().filter(|bytes| *bytes <= LONG).max().filter(|bytes| bytes.0 > 0);
    for bytes in sizes.iter().copied() {
        add(Shape::PingPong, 2, bytes, &pairs);
        if Some(bytes) == long {
            add(Shape::Ping, 2, bytes, &pairs);
        }
    }
    for bytes in [Some(Bytes(0)), long].into_iter().flatten() {
        add(Shape::OneToTwo, 3, bytes, &triplets);
    }
    for bytes in sizes.iter().copied().filter(|bytes| *bytes <= LONG) {
        if bytes.0 > 0 && Some(bytes) != long {
            add(Shape::Ping, 2, bytes, &few);
        }
        add(Shape::Train, 2, bytes, &few);
    }
    // Each takes milliseconds, which a few pairs are enough for.
    for shape in [Shape::BusyTrain, Shape::LateReceive] {
        add(shape, 2, Bytes(0), &few[..few.len().min(BUSY)]);
    }
    plans
}

/// All pairs; if a rank would have too many partners, pairs at growing distances around the ring of ranks.
fn pairs(ranks: u32, partners: u32) -> Vec<Cast> {
    // A distance gives each rank two partners, but for half of the ring.
    let distances = (1..=ranks / 2).take((partners / 2).max(1) as usize);
    let all = ranks <= partners.saturating_add(1);
    let distances: Vec<u32> = if all { (1..=ranks / 2).collect() } else { distances.collect() };
    let mut casts = Vec::new();
    for distance in distances {
        for first in 0..ranks {
            let second = (first + distance) % ranks;
            // Across the ring, each pair would come twice.
            if 2 * distance < ranks || first < second {
                casts.extend(Cast::new(vec![first, second]));
            }
        }
    }
    casts
}

/// Each rank with pairs of near partners, whose round trips are timed too.
fn triplets(ranks: u32) -> Vec<Cast> {
    let mut casts = Vec::new();
    if ranks < 3 {
        return casts;
    }
    for first in 0..ranks {
        // One step and two, to both sides: those are partners however few there may be.
        let near = [1, ranks - 1, 2 % ranks, (ranks - 2) % ranks].map(|step| (first + step) % ranks);
        let pairs = near.iter().flat_map(|a| near.iter().map(move |b| (*a, *b)));
        let mut made: Vec<Cast> = Vec::new();
        for (second, third) in pairs {
            let cast = Cast::new(vec![first, second, third]);
            made.extend(cast.filter(|cast| made.len() < TRIPLETS as usize && !made.contains(cast)));
        }
        casts.extend(made);
    }
    casts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn all_pairs_up_to_the_bound_and_as_many_for_each_beyond() {
        for ranks in 2..40 {
            let casts = pairs(ranks, 15);
            let mut partners: BTreeMap<u32, u32> = BTreeMap::new();
            casts.iter().flat_map(|cast| cast.ranks()).for_each(|rank| *partners.entry(*rank).or_default() += 1);
            let expected = if ranks <= 16 { ranks - 1 } else { 14 };
            assert!(partners.len() as u32 == ranks && partners.values().all(|count| *count == expected), "{ranks}");
        }
    }

    #[test]
    fn every_rank_sends_to_two_whose_round_trips_are_timed() {
        for ranks in [3, 4, 5, 8, 30] {
            let timed: Vec<Vec<u32>> = pairs(ranks, 15).iter().map(|cast| cast.ranks().to_vec()).collect();
            let all = triplets(ranks);
            for rank in 0..ranks {
                let own: Vec<&Cast> = all.iter().filter(|cast| cast.ranks()[0] == rank).collect();
                assert!(own.len() >= 2, "{rank} of {ranks}");
                for cast in own {
                    let (a, b) = (cast.ranks()[0], cast.ranks()[2]);
                    assert!(timed.contains(&vec![a, b]) || timed.contains(&vec![b, a]), "{cast}");
                }
            }
        }
        assert_eq!(triplets(2), []);
    }
}
