//! Communication models.

use std::path::Path;

use collrules_record::Bytes;
use collrules_rules::Release;

/// Scenario of the simulation that models ignore.
pub const PLANTED: &str = "--simulate=planted is for `guidelines`, not for models; write `planted` into a \
                           model.json and name it with --simulated-model";

/// Unusable rows of a table of probes.
pub fn unusable_rows(table: &Path, fault: &str) -> String {
    format!("left out of {}: {fault}", table.display())
}

/// Prediction for another release than the measured one.
pub fn other_release(measured: Release, asked: Release) -> String {
    format!("the model was measured under Open MPI {measured}: messages may cost more or less under {asked}")
}

/// Prediction for longer messages than measured ones.
pub fn longer_messages(largest: Bytes) -> String {
    format!("no message longer than {largest} was timed: predictions for longer ones may be off")
}
