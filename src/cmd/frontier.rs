//! How much regret the number of rules costs: `frontier.csv` beside the rules.

use std::fmt::Write;

use collrules_record::Policy;
use collrules_record::findings::Criteria;
use collrules_record::policy::{Assumptions, Between};
use collrules_rules::Release;
use collrules_tuner::table::{Frontier, frontier};
use collrules_tuner::{Observations, TunerError};

/// The name of the file.
pub(super) const FILE: &str = "frontier.csv";

/// The least regret for every number of rules: against what the verdicts permit, and, as published work does it, against
/// the fastest candidate of each cell with ranges of the builtin counted, neighbouring communicators sharing rules or not.
pub(super) fn csv(
    observations: &Observations,
    release: Release,
    criteria: Criteria,
    policy: Policy,
) -> Result<String, TunerError> {
    let Policy { assumptions, between, .. } = policy;
    let fastest = |between| Frontier { fastest: true, count_builtin: true, assumptions: Assumptions::ALL, between };
    let series = [
        ("permitted", "rules", Frontier { fastest: false, count_builtin: false, assumptions, between }),
        ("fastest", "ranges", fastest(Between::Keep)),
        ("fastest", "ranges", fastest(Between::Lower)),
    ];
    let mut text = "against,counted,between,count,regret\n".to_owned();
    for (against, counted, how) in series {
        for point in frontier(observations, release, criteria, how)? {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{against},{counted},{},{},{:.6}", how.between.name(), point.rules, point.regret);
        }
    }
    Ok(text)
}
