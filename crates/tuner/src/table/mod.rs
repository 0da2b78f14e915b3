//! The rule table as an exact optimisation.
//!
//! | module | job |
//! |---|---|
//! | `offers` | judged cells to a problem: what may serve a cell, and what it costs |
//! | `problem` | the problem of one collective, and its solution |
//! | `segments` | a dynamic programme over lookup bytes |
//! | `solve` | a dynamic programme over communicator sizes |
//! | `place` | solution to rule table: boundaries, and what was not measured |

mod offers;
mod place;
mod problem;
mod segments;
mod solve;
#[cfg(test)]
mod tests;

use collrules_record::findings::Crossover;
use collrules_rules::RuleTable;

pub(crate) use offers::{Encoding, Terms, encodings, gain};
use solve::fewest_rules;

/// The fewest rules for these cells within the bound on regret, and where they change their choice.
pub(crate) fn optimal(encodings: &[Encoding<'_>], terms: &Terms<'_>) -> (RuleTable, Vec<Crossover>) {
    let mut table = RuleTable::new();
    let mut crossovers = Vec::new();
    for encoding in encodings {
        // Every site offers something within the bound, so that there is a solution; without one the builtin stays.
        let Some(layout) = fewest_rules(&encoding.problem) else { continue };
        let (steps, changes) = place::place(encoding, &layout, terms);
        table.set(encoding.collective, steps);
        crossovers.extend(changes);
    }
    (table, crossovers)
}
