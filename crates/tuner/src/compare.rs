//! Changes from one run to a later one: the builtin's times, the choices, and the present gain of the earlier rules.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{Candidate, Cell, Component, Estimate, HanRule, Manifest};
use collrules_rules::{Collective, registry};

use crate::error::TunerError;
use crate::observations::Observations;
use crate::results::comparison::{CellChange, Comparison, FORMAT, OldRules, Side, differences};
use crate::results::limitation::Limitation;
use crate::statistics::{LogRatio, Variance, adjust, mean};
use crate::view::View;

/// A run, with the data that are known of it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Findings of the run.
    pub findings: &'a Findings,
    /// Its timings; without them differences cannot be tested.
    pub observations: Option<&'a Observations>,
    /// Manifest of the run directory, if there is one.
    pub manifest: Option<&'a Manifest>,
}

/// Compares two runs.
///
/// The builtin's times are compared by the logarithms of the medians of launches, with Student's t for two samples. The
/// variance between launches is pooled over the cells of a collective in both runs, since a cell has too few launches
/// to know it; where a cell's own is larger, it has that.
pub fn compare(before: Run<'_>, after: Run<'_>) -> Result<Comparison, TunerError> {
    let Findings { criteria, .. } = after.findings;
    let criteria = ValidationCriteria {
        min_difference: criteria.min_gain,
        error_rate: criteria.error_rate,
        level: criteria.level,
        ..ValidationCriteria::default()
    };
    let mut obstacles = Vec::new();
    let cells = comparable(before, after, &mut obstacles);
    let left_out = (
        before.findings.cells.len().saturating_sub(cells.len()),
        after.findings.cells.len().saturating_sub(cells.len()),
    );
    let (then, now) = (launches(before)?, launches(after)?);
    let spread = spread(&cells, &then, &now);
    if !cells.is_empty() && spread.is_empty() {
        obstacles.push(Limitation::FewLaunches);
    }
    let mut changes = Vec::with_capacity(cells.len());
    let mut p_values = Vec::with_capacity(cells.len());
    for (old, new) in &cells {
        let Some((builtin, p_value)) = builtin(old, new, &then, &now, &spread, criteria.level) else { continue };
        p_values.push(p_value.unwrap_or(1.0));
        changes.push((
            CellChange {
                cell: new.cell,
                builtin,
                q_value: None,
                change: Outcome::Same,
                served: (old.served_candidate(), new.served_candidate()),
                old_rules: worth(before, after, new),
            },
            p_value.is_some(),
        ));
    }
    let q_values = adjust(&p_values);
    let judge = |((mut change, tested), q_value): ((CellChange, bool), f64)| {
        change.q_value = tested.then_some(q_value);
        let ratio = change.builtin.point;
        let least = 1.0 + criteria.min_difference;
        let counts = tested && q_value <= criteria.error_rate && (ratio >= least || ratio <= 1.0 / least);
        change.change = match (counts, ratio > 1.0) {
            (false, _) => Outcome::Same,
            (true, true) => Outcome::Faster,
            (true, false) => Outcome::Slower,
        };
        change
    };
    Ok(Comparison {
        format: FORMAT,
        before: side(before),
        after: side(after),
        differences: match (before.manifest, after.manifest) {
            (Some(before), Some(after)) => differences(before, after),
            _ => Vec::new(),
        },
        obstacles,
        criteria,
        cells: changes.into_iter().zip(q_values).map(judge).collect(),
        left_out,
    })
}

fn side(run: Run<'_>) -> Side {
    Side {
        source: run.findings.source.clone(),
        release: run.findings.release,
        version: run.manifest.map(|manifest| manifest.survey.version),
        started: run.manifest.map(|manifest| manifest.started.clone()),
        rules: run.findings.table.rules(),
        simulated: run.findings.simulated,
    }
}

/// The cells that both runs measured under the same conditions. Appends a remark on each difference that prevents a
/// comparison.
fn comparable<'a>(
    before: Run<'a>,
    after: Run<'a>,
    obstacles: &mut Vec<Limitation>,
) -> Vec<(&'a CellFinding, &'a CellFinding)> {
    let (old, new) = (before.findings, after.findings);
    if before.manifest.is_none() || after.manifest.is_none() {
        obstacles.push(Limitation::UnknownSystem);
    }
    if old.statistic != new.statistic {
        obstacles.push(Limitation::OtherStatistic);
        return Vec::new();
    }
    if let (Some(before), Some(after)) = (before.manifest, after.manifest) {
        if before.backend != after.backend {
            obstacles.push(Limitation::OtherBackend(before.backend.clone(), after.backend.clone()));
            return Vec::new();
        }
        if before.host.get("Processor") != after.host.get("Processor") {
            obstacles.push(Limitation::OtherProcessor);
        }
        if before.started > after.started {
            obstacles.push(Limitation::Swapped);
        }
    }
    let mut moved = BTreeSet::new();
    let known: BTreeMap<Cell, &CellFinding> = old.cells.iter().map(|cell| (cell.cell, cell)).collect();
    let pairs = new.cells.iter().filter_map(|cell| Some((*known.get(&cell.cell)?, cell)));
    let pairs: Vec<_> = pairs
        .filter(|(_, cell)| {
            let ranks = cell.cell.ranks;
            let alike = match (old.placement.nodes.get(&ranks), new.placement.nodes.get(&ranks)) {
                (Some(then), Some(now)) => then == now,
                _ => true,
            };
            if !alike {
                moved.insert(ranks);
            }
            alike
        })
        .collect();
    obstacles.extend(moved.into_iter().map(Limitation::Moved));
    if pairs.is_empty() {
        obstacles.push(Limitation::NothingInCommon);
    }
    pairs
}

/// Logarithms of the builtin's median in each launch.
fn launches(run: Run<'_>) -> Result<BTreeMap<Cell, Vec<f64>>, TunerError> {
    let Some(observations) = run.observations else { return Ok(BTreeMap::new()) };
    let mut medians = BTreeMap::new();
    for (cell, series) in observations.points(&View::default())? {
        if series.candidate != Candidate::Builtin {
            continue;
        }
        medians.insert(cell, series.launch_medians().into_iter().map(|(_, seconds)| seconds.ln()).collect());
    }
    Ok(medians)
}

/// The variance between launches of each collective that has several.
fn spread(
    cells: &[(&CellFinding, &CellFinding)],
    then: &BTreeMap<Cell, Vec<f64>>,
    now: &BTreeMap<Cell, Vec<f64>>,
) -> BTreeMap<Collective, Variance> {
    let mut spread: BTreeMap<Collective, Variance> = BTreeMap::new();
    for (_, cell) in cells {
        for values in [then.get(&cell.cell), now.get(&cell.cell)].into_iter().flatten() {
            let pooled = spread.entry(cell.cell.collective).or_default();
            *pooled = pooled.and(Variance::from_values(values));
        }
    }
    spread.retain(|_, variance| variance.degrees > 0.0);
    spread
}

/// The builtin's time before over its time now, and the p value of the difference if it can be tested.
fn builtin(
    old: &CellFinding,
    new: &CellFinding,
    then: &BTreeMap<Cell, Vec<f64>>,
    now: &BTreeMap<Cell, Vec<f64>>,
    spread: &BTreeMap<Collective, Variance>,
    level: f64,
) -> Option<(Estimate, Option<f64>)> {
    let (before, after) = (old.point(Candidate::Builtin)?.time, new.point(Candidate::Builtin)?.time);
    let samples = before.samples.min(after.samples);
    let untested = Estimate { point: before.point / after.point, low: None, high: None, level, samples };
    let launches = (then.get(&old.cell), now.get(&new.cell));
    let (Some(a), Some(b), Some(pooled)) = (launches.0, launches.1, spread.get(&new.cell.collective)) else {
        return Some((untested, None));
    };
    if a.is_empty() || b.is_empty() {
        return Some((untested, None));
    }
    let own = Variance::from_values(a).and(Variance::from_values(b));
    let wide = if own.degrees > 0.0 && own.value() > pooled.value() { own } else { *pooled };
    let error = (wide.value() * (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).sqrt();
    let change = LogRatio { log: mean(a) - mean(b), error, degrees: wide.degrees, samples: a.len().min(b.len()) };
    let p_value = (2.0 * change.p_above(0.0).min(change.p_below(0.0))).min(1.0);
    Some((change.estimate(level), Some(p_value)))
}

/// Computes the present gain of the earlier rules in a cell of the later run; none if that run has not timed the
/// candidate that they choose.
fn worth(before: Run<'_>, after: Run<'_>, cell: &CellFinding) -> Option<OldRules> {
    let (old, new) = (before.findings, after.findings);
    let Cell { collective, ranks, .. } = cell.cell;
    // The later Open MPI reads the file, and may look up another number of bytes.
    let choice = old.table.lookup(collective, ranks.0.into(), cell.cell.lookup_bytes(new.release));
    // The number may mean another algorithm in the later release.
    if registry::describe(old.release, collective, choice) != registry::describe(new.release, collective, choice) {
        return None;
    }
    let tuned = Candidate::Component(Component::TUNED);
    // Rules have no effect on calls that HAN keeps. Calls that HAN delegates, or that settings move to `tuned`, use
    // `tuned`'s own decision if no rule matches.
    let said = old.han.rule(cell.cell);
    let handed = said == HanRule::Delegate || !old.parameters.is_empty();
    let kept = !handed && !new.placement.without(collective, ranks).is_empty();
    let gives = match Candidate::from_choice(choice) {
        _ if kept => said.candidate(),
        Candidate::Builtin if handed && cell.point(tuned).is_some() => tuned,
        candidate => candidate,
    };
    let measured = after.manifest.and_then(|manifest| manifest.plan.measured_as(cell.cell, gives)).unwrap_or(gives);
    let failed = cell.disqualified.iter().any(|(candidate, _)| *candidate == measured);
    let Some(point) = cell.point(measured) else {
        return failed.then_some(OldRules { gives, gain: None, regret: None, slower: false, failed });
    };
    let under_new = cell.point(cell.served_candidate()).or_else(|| cell.point(Candidate::Builtin))?;
    // A candidate dropped early has too few timings for an interval: then the difference has to be large.
    let slower = point.gain.is_some_and(|gain| match gain.high {
        Some(high) => high < 1.0 && gain.point <= 1.0 / (1.0 + new.criteria.min_gain),
        None => gain.point <= 1.0 / (1.0 + new.criteria.untested_gain),
    });
    Some(OldRules {
        gives,
        gain: point.gain,
        regret: Some(point.time.point / under_new.time.point - 1.0),
        slower,
        failed,
    })
}

#[cfg(test)]
mod tests {
    use collrules_record::reason::KeepReason;

    use super::*;

    /// R: `t.test(c(1, 2, 3), c(2, 3, 4), var.equal = TRUE)` gives t = -1.2247, df = 4, p = 0.2879, and an interval from
    /// -3.2670 to 1.2670. The values are logarithms here.
    #[test]
    fn two_samples_are_compared_as_textbooks_do() {
        let time = Estimate { point: 1.0, low: None, high: None, level: 0.95, samples: 9 };
        let finding: CellFinding = {
            use collrules_record::findings::{PointFinding, Verdict};
            use collrules_record::units::{Bytes, Ranks};
            let point = PointFinding {
                candidate: Candidate::Builtin,
                time,
                gain: None,
                expected: None,
                p_value: None,
                q_value: None,
                stalls: None,
            };
            CellFinding {
                cell: Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(1) },
                points: vec![point],
                disqualified: Vec::new(),
                verdict: Verdict::Keep { why: KeepReason::NothingTimed },
                served: collrules_rules::Choice::BUILTIN,
                unruled: Candidate::Builtin,
            }
        };
        let launches = |values: &[f64]| BTreeMap::from([(finding.cell, values.to_vec())]);
        let (then, now) = (launches(&[1.0, 2.0, 3.0]), launches(&[2.0, 3.0, 4.0]));
        let cells = [(&finding, &finding)];
        let pooled = spread(&cells, &then, &now);
        let (ratio, p_value) = builtin(&finding, &finding, &then, &now, &pooled, 0.95).expect("has a builtin");
        assert!((p_value.expect("tested") - 0.2879).abs() < 1e-4, "{p_value:?}");
        let log = |value: Option<f64>| value.expect("interval").ln();
        assert!((ratio.point.ln() + 1.0).abs() < 1e-12);
        assert!((log(ratio.low) + 3.2670).abs() < 1e-4 && (log(ratio.high) - 1.2670).abs() < 1e-4, "{ratio:?}");

        let one = launches(&[1.0]);
        let alone = builtin(&finding, &finding, &one, &one, &spread(&cells, &one, &one), 0.95).expect("has a builtin");
        assert_eq!((alone.1, alone.0.low), (None, None), "single launches tell nothing");
    }
}
