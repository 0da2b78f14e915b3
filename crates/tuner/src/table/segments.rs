//! Exact dynamic programmes over the lookup bytes of communicator sizes that share their rules.

use super::problem::{Site, TableProblem, weight};

/// Sums over the cells of some sites: the secondary objective after the number of rules.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Cost {
    pub(super) lost: f64,
    pub(super) unproven: u32,
}

impl Cost {
    pub(super) const NONE: Self = Self { lost: 0.0, unproven: 0 };
    pub(super) const IMPOSSIBLE: Self = Self { lost: f64::INFINITY, unproven: 0 };

    pub(super) fn plus(self, other: Self) -> Self {
        Self { lost: self.lost + other.lost, unproven: self.unproven + other.unproven }
    }

    pub(super) fn is_possible(self) -> bool {
        self.lost.is_finite()
    }
}

/// The sites of blocks that share their rules, joined by lookup bytes, with the cost of each choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    positions: Vec<u64>,
    /// Cost for each position and choice.
    costs: Vec<Cost>,
    choices: usize,
}

impl Joined {
    pub(super) fn new(choices: usize) -> Self {
        Self { choices, ..Self::default() }
    }

    /// Adds a block. A choice remains possible at a position if every block measured there offers it within the bound.
    pub(super) fn add(&mut self, block: &[Site]) {
        let mut joined = Self::new(self.choices);
        let mut old = 0;
        for site in block {
            while old < self.positions.len() && self.positions[old] < site.at {
                joined.push(self.positions[old], self.at(old));
                old += 1;
            }
            let mut costs = vec![Cost::IMPOSSIBLE; self.choices];
            let shared = self.positions.get(old) == Some(&site.at);
            for offer in site.offers.iter().filter(|offer| offer.within) {
                let own = Cost { lost: offer.cost, unproven: offer.unproven };
                costs[offer.choice] = if shared { own.plus(self.at(old)[offer.choice]) } else { own };
            }
            old += usize::from(shared);
            joined.push(site.at, &costs);
        }
        for place in old..self.positions.len() {
            joined.push(self.positions[place], self.at(place));
        }
        *self = joined;
    }

    fn push(&mut self, position: u64, costs: &[Cost]) {
        self.positions.push(position);
        self.costs.extend_from_slice(costs);
    }

    fn at(&self, place: usize) -> &[Cost] {
        &self.costs[place * self.choices..(place + 1) * self.choices]
    }

    fn places(&self) -> usize {
        self.positions.len()
    }

    fn with_positions(&self, choices: Vec<usize>) -> Vec<(u64, usize)> {
        self.positions.iter().copied().zip(choices).collect()
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

/// The fewest ranges, and then the least cost, with all choices from one class.
pub(super) fn fewest(problem: &TableProblem, joined: &Joined) -> SolutionValue {
    let values = problem.classes.iter().filter_map(|class| sweep(joined, class, None));
    values.reduce(|best, value| if value < best { value } else { best })
}

/// Like [`fewest`], but returns the choice at each position.
pub(super) fn fewest_choices(problem: &TableProblem, joined: &Joined) -> Option<Vec<(u64, usize)>> {
    let solutions = problem.classes.iter().filter_map(|class| {
        let mut taken = Vec::new();
        Some((sweep(joined, class, Some(&mut taken))?, taken))
    });
    let (_, taken) = solutions.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
    Some(joined.with_positions(taken))
}

/// Makes one pass from small to large: finds for each choice the best solution up to the position that ends with it.
///
/// Either the previous range continues, or the best of all solutions ends and a new range begins. Both are optimal
/// parts of an optimal whole (Bellman), since what follows depends on the last choice alone.
fn sweep(joined: &Joined, class: &[usize], taken: Option<&mut Vec<usize>>) -> SolutionValue {
    let mut before: Vec<SolutionValue> = Vec::new();
    // For each position and choice, the index in the class of the choice before.
    let mut origins: Vec<u32> = Vec::new();
    for place in 0..joined.places() {
        let costs = joined.at(place);
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
            now.push(value.filter(|_| cost.is_possible()).map(|(rules, sum)| (rules, sum.plus(cost))));
            if taken.is_some() {
                origins.push(origin as u32);
            }
        }
        before = now;
    }
    let Some(mut last) = least(&before) else { return if joined.places() == 0 { Some((0, Cost::NONE)) } else { None } };
    let value = before[last];
    if let Some(taken) = taken {
        for place in (0..joined.places()).rev() {
            taken.push(class[last]);
            last = origins[place * class.len() + last] as usize;
        }
        taken.reverse();
    }
    value
}

/// Index of the best value, the first of equals.
fn least(values: &[SolutionValue]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for place in 0..values.len() {
        if better(values[place], best.and_then(|best| values[best])) {
            best = Some(place);
        }
    }
    best
}
