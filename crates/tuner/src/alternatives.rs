//! Rules under other assumptions about programs, from the same timings.

use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::tree::Alternative;
use collrules_rules::words::counted;

use crate::build::{TableBuild, build};
use crate::table::EncodingTerms;
use crate::tree::mean_gain;
use crate::verdict::{JudgedCell, bar_other_bits, judged_under};

/// The rules under each assumption that is not made, if they differ.
pub(crate) fn alternatives(cells: &[JudgedCell], built: &TableBuild, terms: &EncodingTerms<'_>) -> Vec<Alternative> {
    let missing = Assumption::ALL.into_iter().filter(|assumption| !terms.policy.assumptions.makes(*assumption));
    missing.filter_map(|assumption| with(assumption, cells, built, terms)).collect()
}

fn with(
    assumption: Assumption,
    cells: &[JudgedCell],
    built: &TableBuild,
    terms: &EncodingTerms<'_>,
) -> Option<Alternative> {
    let assumptions: Assumptions = terms.policy.assumptions.with(assumption);
    let mut terms = *terms;
    terms.policy.assumptions = assumptions;
    let mut judged = judged_under(cells, terms.release, terms.criteria, assumptions);
    bar_other_bits(&mut judged, (terms.release, terms.placement), terms.criteria, assumptions);
    let other = build(&judged, &terms);
    let differs = |cell: &&JudgedCell| other.served(terms.release, cell) != built.served(terms.release, cell);
    let changed = judged.iter().filter(differs).count();
    (changed > 0).then(|| Alternative {
        assumption,
        made: true,
        rules: other.table.rules(),
        gain: mean_gain(&judged, &other, &terms),
        cells: changed,
    })
}

/// Describes the gain of an alternative in a whole sentence.
pub(crate) fn sentence(other: &Alternative, gain: f64) -> String {
    let promise = match other.assumption {
        Assumption::CommutativeOps => Some(("--assume commutative-ops", "reduction operations commute")),
        Assumption::ConsistentArguments => Some((
            "--assume consistent-arguments",
            "all ranks pass the same counts and datatypes to scatter and gather",
        )),
        Assumption::OtherBits => None,
        Assumption::UniformDatatypes => {
            Some(("--safety standard", "all ranks describe the same data with the same datatypes"))
        }
    };
    let (sizes, rules) = (counted(other.cells, "size"), counted(other.rules, "rule"));
    let [with, without] = [other.gain, gain].map(|gain| format!("{gain:.3}x"));
    let gain = if with == without {
        format!("{with} in geometric mean over all sizes, as without it")
    } else {
        format!("{with} instead of {without} in geometric mean over all sizes")
    };
    match promise {
        Some((option, what)) => {
            format!("If {what} in all programs, {option} would change the choice for {sizes} ({rules} in all): {gain}.")
        }
        None => format!("Without --keep-bits, the choice would change for {sizes} ({rules} in all): {gain}."),
    }
}
