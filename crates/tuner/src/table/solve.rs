//! An exact dynamic programme over the communicator sizes of a collective.

use super::problem::{Partition, Problem, Range};
use super::segments::{Cost, Joined, Value, better, fewest, fewest_choices};

/// The fewest rules in which every site keeps within the bound, and among as few those of the least cost.
pub(crate) fn fewest_rules(problem: &Problem) -> Option<Partition> {
    let blocks = problem.blocks.len();
    let mut best: Vec<Value> = vec![None; blocks + 1];
    let mut origin = vec![0; blocks + 1];
    best[0] = Some((0, Cost::NONE));
    for first in 0..blocks {
        let Some((rules, cost)) = best[first] else { continue };
        let mut joined = Joined::new(problem.choices);
        for end in first + 1..=last_end(problem, first) {
            joined.add(&problem.blocks[end - 1]);
            // Where these blocks have no common rules, they have none with further blocks either.
            let Some((more, extra)) = fewest(problem, &joined) else { break };
            let value = Some((rules + more, cost.plus(extra)));
            if better(value, best[end]) {
                best[end] = value;
                origin[end] = first;
            }
        }
    }
    best[blocks]?;
    partition(problem, &origin)
}

/// How far blocks from this one on may share rules.
fn last_end(problem: &Problem, first: usize) -> usize {
    if problem.merge { problem.blocks.len() } else { first + 1 }
}

/// Follows the origins from the last block to the first.
fn partition(problem: &Problem, origin: &[usize]) -> Option<Partition> {
    let mut ranges = Vec::new();
    let mut end = problem.blocks.len();
    while end > 0 {
        let first = origin[end];
        let mut joined = Joined::new(problem.choices);
        problem.blocks[first..end].iter().for_each(|block| joined.add(block));
        ranges.push(Range { first, end, choices: fewest_choices(problem, &joined)? });
        end = first;
    }
    ranges.reverse();
    Some(Partition { ranges })
}
