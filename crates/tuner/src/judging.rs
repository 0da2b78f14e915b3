//! Interface for instruments, which judge candidates that no rule can choose: timings by cell, evidence, verdicts.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{Criteria, Statistic};
use collrules_record::{Candidate, Cell, Placement, Policy};
use collrules_rules::Release;

pub use crate::analysis::check as check_criteria;
pub use crate::cells::{CellTimings, PointTimings, Timing, TimingPair};
pub use crate::crossover::{Lead, band, crossing};
pub use crate::evidence::{Basis, Evidence, LEAST_VISITS, weigh};
pub use crate::launches::widen;
pub use crate::statistics::{adjust, signed_rank};
pub use crate::verdict::{JudgedCell, JudgedPoint, judge};
pub use crate::view::Competitors;

use crate::build::build;
use crate::table::EncodingTerms;
use crate::weights::Weights;

/// Returns the candidate that each cell uses under the rules that `tune` would write.
pub fn candidates_under_rules(
    cells: &[JudgedCell],
    statistic: Statistic,
    release: Release,
    criteria: Criteria,
    policy: Policy,
) -> BTreeMap<Cell, Candidate> {
    let terms = EncodingTerms {
        statistic,
        release,
        criteria,
        policy,
        reverted: &[],
        planned: &[],
        weights: Weights(&BTreeMap::new()),
        handable: &BTreeSet::new(),
        layouts: &[],
        placement: &Placement::default(),
    };
    let built = build(cells, &terms);
    cells.iter().map(|cell| (cell.cell, built.served(release, cell))).collect()
}
