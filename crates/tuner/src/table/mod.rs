//! The rule table as an exact optimisation.
//!
//! | module | job |
//! |---|---|
//! | `offers` | judged cells to a problem: the candidates for a cell, and their costs |
//! | `problem` | the problem of one collective, and its solution |
//! | `segments` | a dynamic programme over lookup bytes |
//! | `solve` | a dynamic programme over communicator sizes |
//! | `place` | solution to rules for calls: boundaries, and sizes that were not measured |

mod offers;
mod place;
mod problem;
mod segments;
mod solve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use collrules_record::findings::Crossover;
use collrules_rules::Collective;
use collrules_rules::steps::Steps;

pub(crate) use offers::{Encoding, encodings, gain};
pub(crate) use place::Sizes;
use solve::fewest_rules;

use crate::terms::Terms;

/// The fewest rules for these cells within the bound on regret, with the sizes at which the choice changes.
pub(crate) fn optimal(
    encodings: &[Encoding<'_>],
    terms: &Terms<'_>,
) -> (BTreeMap<Collective, Steps<Sizes>>, Vec<Crossover>) {
    let mut candidates = BTreeMap::new();
    let mut crossovers = Vec::new();
    for encoding in encodings {
        // Each site offers a choice within the bound, so there is a solution; without one the builtin stays.
        let Some(layout) = fewest_rules(&encoding.problem) else { continue };
        let (steps, changes) = place::place(encoding, &layout, terms);
        candidates.insert(encoding.collective, steps);
        crossovers.extend(changes);
    }
    (candidates, crossovers)
}
