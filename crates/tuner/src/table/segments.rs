//! Exact dynamic programmes over the lookup bytes of communicator sizes that share their rules.

use std::collections::BTreeMap;

use super::problem::{Site, TableProblem, weight};

/// Sums over the cells of some sites: the secondary objective after the number of rules.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Cost {
    pub(super) lost: f64,
    pub(super) unproven: u32,
}

impl Cost {
    pub(super) const NONE: Self = Self { lost: 0.0, unproven: 0 };
    const IMPOSSIBLE: Self = Self { lost: f64::INFINITY, unproven: 0 };

    pub(super) fn plus(self, other: Self) -> Self {
        Self { lost: self.lost + other.lost, unproven: self.unproven + other.unproven }
    }
}

/// The cost of each choice at the lookup bytes of blocks that share their rules.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    sites: BTreeMap<u64, Vec<Cost>>,
    choices: usize,
}

impl Joined {
    pub(super) fn new(choices: usize) -> Self {
        Self { sites: BTreeMap::new(), choices }
    }

    /// Adds a block. A choice remains possible at a position if every block measured there offers it within the bound.
    pub(super) fn add(&mut self, block: &[Site]) {
        for site in block {
            let before = self.sites.get(&site.at);
            let mut costs = vec![Cost::IMPOSSIBLE; self.choices];
            for offer in site.offers.iter().filter(|offer| offer.within) {
                let own = Cost { lost: offer.cost, unproven: offer.unproven };
                costs[offer.choice] = before.map_or(own, |before| own.plus(before[offer.choice]));
            }
            self.sites.insert(site.at, costs);
        }
    }
}

/// The value of a solution: fewer rules first, then the smaller cost; none if there is no solution.
pub(super) type SolutionValue = Option<(u32, Cost)>;

/// Returns true if the first value is better than the second.
pub(super) fn better(one: SolutionValue, other: SolutionValue) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one < other,
        (one, _) => one.is_some(),
    }
}

/// The fewest ranges, and then the least cost, with all choices from one class; with the choice at each position.
pub(super) fn fewest(problem: &TableProblem, joined: &Joined) -> Option<((u32, Cost), Vec<(u64, usize)>)> {
    let solutions = problem.classes.iter().filter_map(|class| sweep(joined, class));
    let (value, choices) = solutions.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
    Some((value, joined.sites.keys().copied().zip(choices).collect()))
}

/// Makes one pass from small to large: finds for each choice the best solution up to the position that ends with it.
///
/// Either the previous range continues, or the best of all solutions ends and a new range begins. Both are optimal
/// parts of an optimal whole (Bellman), since what follows depends on the last choice alone.
fn sweep(joined: &Joined, class: &[usize]) -> Option<((u32, Cost), Vec<usize>)> {
    if joined.sites.is_empty() {
        return Some(((0, Cost::NONE), Vec::new()));
    }
    let mut before: Vec<SolutionValue> = Vec::new();
    // For each position and choice, the index in the class of the choice before.
    let mut origins: Vec<usize> = Vec::with_capacity(joined.sites.len() * class.len());
    for (place, costs) in joined.sites.values().enumerate() {
        let cheapest = least(&before);
        let mut now = Vec::with_capacity(class.len());
        for (own, choice) in class.iter().enumerate() {
            let weight = weight(*choice);
            let (mut value, mut origin) = match (cheapest, place) {
                (_, 0) => (Some((weight, Cost::NONE)), own),
                (Some(from), _) => (before[from].map(|(rules, cost)| (rules + weight, cost)), from),
                (None, _) => (None, own),
            };
            let stay = before.get(own).copied().flatten();
            if stay.is_some() && !better(value, stay) {
                (value, origin) = (stay, own);
            }
            let cost = costs[*choice];
            now.push(value.filter(|_| cost.lost.is_finite()).map(|(rules, sum)| (rules, sum.plus(cost))));
            origins.push(origin);
        }
        before = now;
    }
    let mut last = least(&before)?;
    let value = before[last]?;
    let mut taken = Vec::with_capacity(joined.sites.len());
    for origins in origins.chunks(class.len()).rev() {
        taken.push(class[last]);
        last = origins[last];
    }
    taken.reverse();
    Some((value, taken))
}

/// Index of the best value, the first of equals; none if there is no solution.
fn least(values: &[SolutionValue]) -> Option<usize> {
    let best = (0..values.len()).reduce(|best, at| if better(values[at], values[best]) { at } else { best });
    best.filter(|best| values[*best].is_some())
}
