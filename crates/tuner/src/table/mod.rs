//! The rule table as an exact optimisation.
//!
//! | module | job |
//! |---|---|
//! | `offers` | judged cells to a problem: the candidates for a cell, and their costs |
//! | `solve` | the problem of one collective, and its exact solution |
//! | `place` | solution to rules for calls: boundaries, and sizes that were not measured |

mod offers;
mod place;
mod solve;
#[cfg(test)]
mod tests;

pub(crate) use offers::encodings;
pub(crate) use place::{Sizes, place};
pub(crate) use solve::fewest_rules;
