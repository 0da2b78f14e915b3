//! The time of a command.

use collrules_record::Seconds;
use collrules_record::allocation::BatchSystem;

/// Name of the part of a command with the survey of the system.
pub const LOOKING_AROUND: &str = "looking around";

/// Name of the part that measures the grid.
pub const MEASURING: &str = "measuring";

/// Name of the part that measures further sizes and decides on rules.
pub const REFINING: &str = "refinement and deciding";

/// Name of the part that proves rules.
pub const PROVING: &str = "proving the rules";

/// Name of the part that compares rules with the default.
pub const COMPARING: &str = "comparing with the default";

/// A batch job without an end, whose rest is the budget.
pub fn endless(system: BatchSystem) -> String {
    format!("{system} states no end of this job, so the budget has no limit")
}

/// A budget that ends before the batch job does, instead of a longer one or of none.
pub fn rest_of_job(left: Seconds, budget: Seconds, asked: Option<Seconds>) -> String {
    let instead = asked.map_or(String::new(), |asked| format!(" instead of {}", asked.rounded()));
    format!("the job ends in {}: the budget is {}{instead}", left.rounded(), budget.rounded())
}

/// A budget that is too short for measuring.
pub fn used_by_starting(starting: Seconds) -> String {
    format!("starting jobs takes about {}, which is the whole budget: little will be measured", starting.rounded())
}

/// A command that took longer than its budget. Reasons: parts with their actual and planned times; the runnable
/// processes of an overloaded machine with its processors.
pub fn exceeded(
    took: Seconds,
    budget: Seconds,
    parts: &[(&str, Seconds, Seconds)],
    overload: Option<(f64, usize)>,
) -> String {
    let parts = parts
        .iter()
        .map(|(part, took, planned)| format!("{part} took {} instead of {}", took.rounded(), planned.rounded()));
    let overload = overload.map(|(load, processors)| {
        format!(
            "the machine was overloaded ({load:.1} runnable processes on {processors} processors, with those of the \
             job)"
        )
    });
    let why: Vec<String> = parts.chain(overload).collect();
    format!("this took {} for a budget of {}: {}", took.rounded(), budget.rounded(), why.join("; "))
}

/// A tuning that ends before its budget does.
pub fn decided(elapsed: Seconds) -> String {
    format!("stopped after {}: everything decided", elapsed.rounded())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_within_a_job_is_said_with_the_longer_one() {
        let said = |asked| rest_of_job(Seconds(120.0), Seconds(95.0), asked);
        assert_eq!(said(None), "the job ends in 2 min: the budget is 95 s");
        assert_eq!(said(Some(Seconds(180.0))), "the job ends in 2 min: the budget is 95 s instead of 3 min");
    }
}
