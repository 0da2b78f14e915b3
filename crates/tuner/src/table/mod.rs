//! The rule table as an exact optimisation.
//!
//! | module | job |
//! |---|---|
//! | `offers` | judged cells to a problem: what may serve a cell, and what it costs |
//! | `problem` | the problem of one collective, and its solution |
//! | `segments` | dynamic programmes over lookup bytes |
//! | `solve` | dynamic programmes over communicator sizes and collectives |
//! | `place` | solution to rule table: boundaries, and what was not measured |
//! | `frontier` | the least regret for every number of rules |

mod frontier;
mod offers;
mod place;
mod problem;
mod segments;
mod solve;
#[cfg(test)]
mod tests;

pub use frontier::{Frontier, FrontierPoint, frontier};

use collrules_record::findings::Crossover;
use collrules_rules::RuleTable;

pub(crate) use offers::{Encoding, Target, Terms, encodings, gain};
use problem::Layout;
use solve::{Curve, fewest_rules, share};

/// The optimal rules for these cells, and where they change their choice.
///
/// Without a number of rules they are the fewest within the bound on regret; with one the least regret in all.
pub(crate) fn optimal(encodings: &[Encoding<'_>], terms: &Terms) -> (RuleTable, Vec<Crossover>) {
    let layouts: Vec<Option<Layout>> = match terms.policy.max_rules {
        None => encodings.iter().map(|encoding| fewest_rules(&encoding.problem)).collect(),
        Some(budget) => within_budget(encodings, budget),
    };
    let mut table = RuleTable::new();
    let mut crossovers = Vec::new();
    for (encoding, layout) in encodings.iter().zip(layouts) {
        // Every site offers something within the bound, so that there is a solution; without one the builtin stays.
        let Some(layout) = layout else { continue };
        let (steps, changes) = place::place(encoding, &layout, terms);
        table.set(encoding.collective, steps);
        crossovers.extend(changes);
    }
    (table, crossovers)
}

fn within_budget(encodings: &[Encoding<'_>], budget: usize) -> Vec<Option<Layout>> {
    let curves: Vec<Curve> = encodings.iter().map(|encoding| Curve::of(&encoding.problem, budget)).collect();
    let shares = share(&curves, budget);
    // Fewer rules serve as well where more bring nothing.
    let best = shares.iter().min_by(|a, b| {
        (a.log_regret, a.rules).partial_cmp(&(b.log_regret, b.rules)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some(best) = best else { return vec![None; encodings.len()] };
    encodings
        .iter()
        .zip(&curves)
        .zip(&best.of)
        .map(|((encoding, curve), rules)| curve.layout(&encoding.problem, *rules))
        .collect()
}
