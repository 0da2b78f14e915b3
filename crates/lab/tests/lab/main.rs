//! Instruments from their options to their results.

#![allow(clippy::unwrap_used)]

mod check;
mod guidelines;
mod irregular;
mod model;
#[path = "../../../../tests/cli/reseal.rs"]
mod reseal;
mod stage;
mod study;
