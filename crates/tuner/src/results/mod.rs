//! Results that only reports and programs read, as plain data. Those that other stages read are in `record`.
//!
//! | module | job |
//! |---|---|
//! | [`ab_test`] | runs of a program without and with a tuning |
//! | [`comparison`] | changes from one run to a later one |
//! | [`drift`] | comparison of a machine with its state when a run was measured |
//! | [`limitation`] | reasons why a comparison is incomplete, or its numbers poor |
//! | [`prospect`] | possible gain of a program |

pub mod ab_test;
pub mod comparison;
pub mod drift;
pub mod limitation;
pub mod prospect;
