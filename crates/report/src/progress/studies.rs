//! Studies of chosen algorithms.

use collrules_record::Ranks;

/// Communicators that are larger than the job.
pub fn beyond_slots(slots: Ranks) -> String {
    format!("communicators of more than {slots} ranks are left out, since there are {slots} slots")
}

/// Variant to measure, by its name.
pub fn variant(ranks: Ranks, name: &str) -> String {
    format!("{ranks} ranks, {name}")
}

/// Further message sizes at crossovers.
pub fn round(number: u32, sizes: usize) -> String {
    format!("refinement, round {number}: {sizes} more message sizes")
}

/// End of the refinement.
pub const REFINED: &str = "no size is left to measure at crossovers between classes";
