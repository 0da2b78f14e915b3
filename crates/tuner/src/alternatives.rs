//! Rules under other assumptions about programs, from the same timings.

use collrules_record::policy::Assumption;
use collrules_record::tree::Alternative;

use crate::build::{TableBuild, build};
use crate::terms::Terms;
use crate::tree::mean_gain;
use crate::verdict::{JudgedCell, judged_under};

/// The rules under each assumption that is not made, if they differ.
pub(crate) fn alternatives(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> Vec<Alternative> {
    let missing = Assumption::ALL.into_iter().filter(|assumption| !terms.policy.assumptions.makes(*assumption));
    missing.filter_map(|assumption| with(assumption, cells, built, terms)).collect()
}

fn with(assumption: Assumption, cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> Option<Alternative> {
    let mut terms = *terms;
    terms.policy.assumptions = terms.policy.assumptions.with(assumption);
    let judged = judged_under(cells, &terms);
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
