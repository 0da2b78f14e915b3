//! Sizes between those of the grid.

use collrules_record::Seconds;

/// Refinement without time for it.
pub const NO_TIME: &str = "refinement skipped: time budget used up";

/// Refinement without time to start its launches.
pub fn no_time_to_start(launches: u32, startup: Seconds) -> String {
    format!("refinement skipped: too little time left to start {launches} launches of {} each", startup.rounded())
}

/// Refinement whose launches cost too much, with the reason.
pub fn unaffordable(why: &str) -> String {
    format!("refinement skipped: {why}")
}

/// Refinement that finds no size worth its time.
pub const DONE: &str = "refinement done: more sizes would not pay off";

/// Further message sizes and communicator sizes.
pub fn round(number: u32, messages: usize, communicators: usize) -> String {
    format!("refinement, round {number}: {messages} more message sizes and {communicators} more communicator sizes")
}
