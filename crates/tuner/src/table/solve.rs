//! An exact dynamic programme over the communicator sizes of a collective.

use super::problem::{BlockSpan, TableProblem};
use super::segments::{Cost, Joined, SolutionValue, better, fewest, fewest_choices};

/// The fewest rules with every site within the bound, and then the least cost.
pub(crate) fn fewest_rules(problem: &TableProblem) -> Option<Vec<BlockSpan>> {
    let blocks = problem.blocks.len();
    let mut best: Vec<SolutionValue> = vec![None; blocks + 1];
    let mut origin = vec![0; blocks + 1];
    best[0] = Some((0, Cost::NONE));
    for first in 0..blocks {
        let Some((rules, cost)) = best[first] else { continue };
        let mut joined = Joined::new(problem.choices);
        let last = if problem.merge { blocks } else { first + 1 };
        for end in first + 1..=last {
            joined.add(&problem.blocks[end - 1]);
            // If these blocks have no common rules, adding blocks does not help.
            let Some((more, extra)) = fewest(problem, &joined) else { break };
            let value = Some((rules + more, cost.plus(extra)));
            if better(value, best[end]) {
                best[end] = value;
                origin[end] = first;
            }
        }
    }
    best[blocks]?;
    spans(problem, &origin)
}

/// Follows the origins from the last block to the first.
fn spans(problem: &TableProblem, origin: &[usize]) -> Option<Vec<BlockSpan>> {
    let mut spans = Vec::new();
    let mut end = problem.blocks.len();
    while end > 0 {
        let first = origin[end];
        let mut joined = Joined::new(problem.choices);
        problem.blocks[first..end].iter().for_each(|block| joined.add(block));
        spans.push(BlockSpan { first, end, choices: fewest_choices(problem, &joined)? });
        end = first;
    }
    spans.reverse();
    Some(spans)
}
