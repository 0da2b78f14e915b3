//! Fresh launches of arms.

use collrules_record::comparison::ArmSubject;

/// A subject that fails with an arm.
pub fn left_out(arm: &str, subject: &ArmSubject, why: &str) -> String {
    format!("{subject} fails with {arm} and is left out: {why}")
}

/// Jobs of an arm that fail.
pub fn arm_fails(arm: &str, why: &str) -> String {
    format!("{arm} is left out: {why}")
}
