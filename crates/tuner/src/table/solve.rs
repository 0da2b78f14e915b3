//! An exact dynamic programme over the communicator sizes of a collective.

use super::problem::{BlockSpan, TableProblem};
use super::segments::{Cost, Joined, SolutionValue, better, fewest};

/// The fewest rules with every site within the bound, and then the least cost.
pub(crate) fn fewest_rules(problem: &TableProblem) -> Option<Vec<BlockSpan>> {
    let blocks = problem.blocks.len();
    // For each number of blocks, the best rules of the first ones, with their last span.
    let mut best: Vec<(SolutionValue, Option<BlockSpan>)> = vec![(None, None); blocks + 1];
    best[0].0 = Some((0, Cost::NONE));
    for first in 0..blocks {
        let Some((rules, cost)) = best[first].0 else { continue };
        let mut joined = Joined::new(problem.choices);
        let last = if problem.merge { blocks } else { first + 1 };
        for end in first + 1..=last {
            joined.add(&problem.blocks[end - 1]);
            // If these blocks have no common rules, adding blocks does not help.
            let Some(((more, extra), choices)) = fewest(problem, &joined) else { break };
            let value = Some((rules + more, cost.plus(extra)));
            if better(value, best[end].0) {
                best[end] = (value, Some(BlockSpan { first, end, choices }));
            }
        }
    }
    best[blocks].0?;
    let from = |end: usize| best[end].1.clone();
    let mut spans: Vec<BlockSpan> = std::iter::successors(from(blocks), |span| from(span.first)).collect();
    spans.reverse();
    Some(spans)
}
