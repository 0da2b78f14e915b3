//! Interface for instruments, which judge candidates that no rule can choose: timings by cell, evidence, verdicts.

use std::collections::BTreeMap;

use collrules_record::findings::Statistic;

use collrules_record::criteria::Criteria;
use collrules_record::{Candidate, Cell, Placement, Policy};
use collrules_rules::Release;

pub use crate::analysis::check as check_criteria;
pub use crate::cells::{CellTimings, PointTimings, Timing, TimingPair, log_gains};
pub use crate::crossover::{band, crossing};
pub use crate::evidence::{Basis, JudgedPoint, LEAST_VISITS, weigh, widen};
pub use crate::neighbours::{GainSite, around};
pub use crate::statistics::{LaunchLogs, adjust, adjust_cases, common_means, signed_rank};
pub use crate::verdict::{JudgedCell, judge, lift_bars};
pub use crate::view::Competitors;

use crate::build::build;
use crate::terms::Terms;

/// Returns the candidate that each cell uses under the rules that `tune` would write.
pub fn candidates_under_rules(
    cells: &[JudgedCell],
    statistic: Statistic,
    release: Release,
    criteria: Criteria,
    policy: Policy,
) -> BTreeMap<Cell, Candidate> {
    let built = build(cells, &Terms::new(statistic, release, criteria, policy, &Placement::default()));
    cells.iter().map(|cell| (cell.cell, built.in_use(release, cell))).collect()
}
