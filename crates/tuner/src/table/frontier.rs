//! The least regret that a number of rules allows.

use collrules_record::Policy;
use collrules_record::findings::Criteria;
use collrules_record::policy::{Assumptions, Between};
use collrules_rules::Release;

use super::offers::{Target, Terms, encodings};
use super::solve::{Curve, share};
use crate::cells::by_cell;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::verdict::judge;

/// How to count rules and regret.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frontier {
    /// Measure regret against the fastest candidate of each cell, whatever speaks for it, and let all candidates be
    /// chosen; otherwise against what the verdicts permit, and only that.
    pub fastest: bool,
    /// Count ranges that are left to the builtin as well.
    pub count_builtin: bool,
    /// What programs are taken to keep to.
    pub assumptions: Assumptions,
    /// What holds between measured communicator sizes: other than the builtin, neighbours may share rules.
    pub between: Between,
}

/// A point of the frontier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontierPoint {
    /// At most so many rules.
    pub rules: usize,
    /// Geometric mean over cells of the time over that of the best candidate, minus one.
    pub regret: f64,
}

/// The least regret on the measured cells for every number of rules that makes a difference.
pub fn frontier(
    observations: &Observations,
    release: Release,
    criteria: Criteria,
    how: Frontier,
) -> Result<Vec<FrontierPoint>, TunerError> {
    let statistic = observations.statistic();
    let cells = by_cell(observations.points()?, observations.ends());
    let cells = judge(cells, statistic, release, criteria, how.assumptions);
    let policy = Policy { assumptions: how.assumptions, between: how.between, ..Policy::default() };
    let target = if how.fastest { Target::Fastest } else { Target::Verdicts };
    let terms = Terms { statistic, release, criteria, policy, target };
    let encodings = encodings(&cells, &terms, how.count_builtin);
    let curves: Vec<Curve> = encodings.iter().map(|encoding| Curve::of(&encoding.problem, usize::MAX)).collect();
    let points = share(&curves, usize::MAX);
    let regret = |log_regret: f64| (log_regret / cells.len().max(1) as f64).exp_m1();
    let points = points.iter().map(|point| FrontierPoint { rules: point.rules, regret: regret(point.log_regret) });
    let mut kept: Vec<FrontierPoint> = Vec::new();
    for point in points {
        if kept.last().is_none_or(|last| point.regret < last.regret) {
            kept.push(point);
        }
    }
    Ok(kept)
}
