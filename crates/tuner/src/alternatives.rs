//! What other assumptions on programs would change, from the same timings.

use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::tree::Alternative;
use collrules_rules::RuleTable;

use crate::bars::judged_under;
use crate::build::{build, served};
use crate::table::Terms;
use crate::tree::mean_gain;
use crate::verdict::JudgedCell;

/// For each assumption that is not made the rules with it, where they differ.
pub(crate) fn alternatives(cells: &[JudgedCell], table: &RuleTable, terms: &Terms) -> Vec<Alternative> {
    let missing = Assumption::ALL.into_iter().filter(|assumption| !terms.policy.assumptions.makes(*assumption));
    missing.filter_map(|assumption| with(assumption, cells, table, terms)).collect()
}

fn with(assumption: Assumption, cells: &[JudgedCell], table: &RuleTable, terms: &Terms) -> Option<Alternative> {
    let assumptions: Assumptions = terms.policy.assumptions.with(assumption);
    let mut terms = *terms;
    terms.policy.assumptions = assumptions;
    let judged = judged_under(cells, terms.release, terms.criteria, assumptions);
    let other = build(&judged, &terms).table;
    let differs = |cell: &&JudgedCell| served(&other, terms.release, cell) != served(table, terms.release, cell);
    let changed = judged.iter().filter(differs).count();
    (changed > 0).then(|| Alternative {
        assumption,
        made: true,
        rules: other.rules(),
        gain: mean_gain(&judged, &other, &terms),
        cells: changed,
    })
}
