//! What other assumptions on programs would change, from the same timings.

use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::tree::Alternative;
use collrules_rules::words::counted;

use crate::build::{Built, build};
use crate::table::Terms;
use crate::tree::mean_gain;
use crate::verdict::{JudgedCell, judged_under};

/// For each assumption that is not made the rules with it, where they differ.
pub(crate) fn alternatives(cells: &[JudgedCell], built: &Built, terms: &Terms<'_>) -> Vec<Alternative> {
    let missing = Assumption::ALL.into_iter().filter(|assumption| !terms.policy.assumptions.makes(*assumption));
    missing.filter_map(|assumption| with(assumption, cells, built, terms)).collect()
}

fn with(assumption: Assumption, cells: &[JudgedCell], built: &Built, terms: &Terms<'_>) -> Option<Alternative> {
    let assumptions: Assumptions = terms.policy.assumptions.with(assumption);
    let mut terms = *terms;
    terms.policy.assumptions = assumptions;
    let judged = judged_under(cells, terms.release, terms.criteria, assumptions);
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

/// What an alternative would gain, in a whole sentence.
pub(crate) fn sentence(other: &Alternative, gain: f64) -> String {
    let (option, what) = match other.assumption {
        Assumption::CommutativeOps => ("--assume commutative-ops", "reduction operations commute"),
        Assumption::ConsistentArguments => {
            ("--assume consistent-arguments", "all ranks pass the same counts and datatypes to scatter and gather")
        }
        Assumption::UniformDatatypes => ("--safety standard", "all ranks describe the same data by the same datatypes"),
    };
    let (cells, rules) = (counted(other.cells, "cell"), counted(other.rules, "rule"));
    let [with, without] = [other.gain, gain].map(|gain| format!("{gain:.3}x"));
    let gain = if with == without {
        format!("{with} in geometric mean over all cells, as without it")
    } else {
        format!("{with} instead of {without} in geometric mean over all cells")
    };
    format!("If {what} in all programs, {option} would serve {cells} otherwise, by {rules} in all: {gain}.")
}
