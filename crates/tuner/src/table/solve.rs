//! The rule table of one collective as an optimisation problem, solved exactly by dynamic programmes over communicator sizes,
//! and over the lookup bytes of those that share their rules.

use std::collections::BTreeMap;

/// Choices are numbered from plain to elaborate; this one leaves the decision to Open MPI.
pub(crate) const BUILTIN: usize = 0;

/// Possible rules of a collective, with their costs.
#[derive(Clone, Debug)]
pub(crate) struct TableProblem {
    /// The number of choices.
    pub(crate) choices: usize,
    /// Choices that may be combined for one communicator size.
    pub(crate) classes: Vec<Vec<usize>>,
    /// The measured lookup bytes of each measured communicator size, both ascending strictly.
    pub(crate) blocks: Vec<Vec<Site>>,
    /// True if neighbouring communicator sizes may share their rules.
    pub(crate) merge: bool,
}

/// Choices that may be made for calls that look up the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Lookup bytes.
    pub(crate) at: u64,
    /// Weight of all its cells together, under the best permitted choice: the unit of costs.
    pub(crate) weight: f64,
    /// Number of its cells.
    pub(crate) cells: u32,
    /// Offers by choice, each choice once.
    pub(crate) offers: Vec<Offer>,
}

impl Site {
    /// Returns the mean weight of its cells.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.weight / f64::from(self.cells.max(1))
    }
}

/// A harmless choice at a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) choice: usize,
    /// Cost relative to the best permitted candidate, over the cells of the site: the logarithm of the ratio of their
    /// times, or the time that programs lose.
    pub(crate) cost: f64,
    /// Number of cells in which it is not significantly better than the builtin.
    pub(crate) unproven: u32,
    /// True if the cost is within the bound.
    pub(crate) within: bool,
}

/// Blocks that share their rules. The spans of a solution cover all blocks, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockSpan {
    /// The first block.
    pub(crate) first: usize,
    /// The first block after the range.
    pub(crate) end: usize,
    /// The choice at each of the lookup bytes of these blocks, ascending.
    pub(crate) choices: Choices,
}

/// Lookup bytes with the choice there.
type Choices = Vec<(u64, usize)>;

/// Returns the number of rules that this choice adds to a range.
pub(crate) fn weight(choice: usize) -> u32 {
    u32::from(choice != BUILTIN)
}

/// The fewest rules with every site within the bound, and then the least cost.
pub(crate) fn fewest_rules(problem: &TableProblem) -> Option<Vec<BlockSpan>> {
    let blocks = problem.blocks.len();
    // For each number of blocks, the best rules of the first ones, with their last span.
    let mut best: Vec<(SolutionValue, Option<BlockSpan>)> = vec![(IMPOSSIBLE, None); blocks + 1];
    best[0].0 = NO_RULES;
    for first in 0..blocks {
        let (rules, cost) = best[first].0;
        if rules == IMPOSSIBLE.0 {
            continue;
        }
        let mut joined = Joined::new();
        let last = if problem.merge { blocks } else { first + 1 };
        for (end, block) in (first + 1..).zip(&problem.blocks[first..last]) {
            join(&mut joined, block, problem.choices);
            // If these blocks have no common rules, adding blocks does not help.
            let Some(((more, extra), choices)) = fewest(problem, &joined) else { break };
            let value = (rules + more, cost.plus(extra));
            if value < best[end].0 {
                best[end] = (value, Some(BlockSpan { first, end, choices }));
            }
        }
    }
    let from = |end: usize| best[end].1.clone();
    let mut spans: Vec<BlockSpan> = std::iter::successors(from(blocks), |span| from(span.first)).collect();
    spans.reverse();
    (best[blocks].0.0 < IMPOSSIBLE.0).then_some(spans)
}

/// Sums over the cells of some sites: the secondary objective after the number of rules.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Cost {
    lost: f64,
    unproven: u32,
}

impl Cost {
    const NONE: Self = Self { lost: 0.0, unproven: 0 };
    const IMPOSSIBLE: Self = Self { lost: f64::INFINITY, unproven: 0 };

    fn plus(self, other: Self) -> Self {
        Self { lost: self.lost + other.lost, unproven: self.unproven + other.unproven }
    }
}

/// The cost of each choice at the lookup bytes of blocks that share their rules.
type Joined = BTreeMap<u64, Vec<Cost>>;

/// Adds a block. A choice remains possible at a position if every block measured there offers it within the bound.
fn join(joined: &mut Joined, block: &[Site], choices: usize) {
    for site in block {
        let before = joined.get(&site.at);
        let mut costs = vec![Cost::IMPOSSIBLE; choices];
        for offer in site.offers.iter().filter(|offer| offer.within) {
            let own = Cost { lost: offer.cost, unproven: offer.unproven };
            costs[offer.choice] = before.map_or(own, |before| own.plus(before[offer.choice]));
        }
        joined.insert(site.at, costs);
    }
}

/// The value of a solution, the smaller the better: fewer rules first, then the smaller cost.
type SolutionValue = (u32, Cost);

const NO_RULES: SolutionValue = (0, Cost::NONE);

/// The value if there is no solution.
const IMPOSSIBLE: SolutionValue = (u32::MAX, Cost::NONE);

/// The fewest ranges, and then the least cost, with all choices from one class; with the choice at each position.
fn fewest(problem: &TableProblem, joined: &Joined) -> Option<(SolutionValue, Choices)> {
    let solutions = problem.classes.iter().filter_map(|class| sweep(joined, class));
    let (value, choices) = solutions.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
    Some((value, joined.keys().copied().zip(choices).collect()))
}

/// Makes one pass from small to large: finds for each choice the best solution up to the position that ends with it.
///
/// Either the previous range continues, or the best of all solutions ends and a new range begins. Both are optimal
/// parts of an optimal whole (Bellman), since what follows depends on the last choice alone.
fn sweep(joined: &Joined, class: &[usize]) -> Option<(SolutionValue, Vec<usize>)> {
    let mut before = vec![IMPOSSIBLE; class.len()];
    // The best of all solutions, by its index in the class, the first of equals.
    let (mut least, mut cheapest) = (0, NO_RULES);
    // For each position and choice, the index in the class of the choice before.
    let mut origins: Vec<usize> = Vec::with_capacity(joined.len() * class.len());
    for costs in joined.values() {
        for (own, choice) in class.iter().enumerate() {
            let begun = (cheapest.0.saturating_add(weight(*choice)), cheapest.1);
            let (value, origin) = if begun < before[own] { (begun, least) } else { (before[own], own) };
            let cost = costs[*choice];
            before[own] = if cost.lost.is_finite() { (value.0, value.1.plus(cost)) } else { IMPOSSIBLE };
            origins.push(origin);
        }
        least = (0..class.len()).reduce(|best, at| if before[at] < before[best] { at } else { best })?;
        cheapest = before[least];
    }
    let mut taken = Vec::with_capacity(joined.len());
    for origins in origins.chunks(class.len()).rev() {
        taken.push(class[least]);
        least = origins[least];
    }
    taken.reverse();
    (cheapest.0 < u32::MAX).then_some((cheapest, taken))
}
