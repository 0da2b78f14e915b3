//! Changes from one run to a later one: the builtin's times, the choices, and the present gain of the earlier rules.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{Candidate, Cell, Component, Estimate, HanRule, Manifest, Ranks};
use collrules_rules::registry;

use crate::cells::PointTimings;
use crate::comparison::difference;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::results::comparison::{CellChange, ComparedRun, FORMAT, OldRules, RunComparison, differences};
use crate::results::limitation::Limitation;
use crate::statistics::{Replicates, adjust, test_all};
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
/// differences between launches are estimated as for a validation: see `statistics::launches`.
pub fn compare(before: Run<'_>, after: Run<'_>) -> Result<RunComparison, TunerError> {
    let Findings { criteria, .. } = after.findings;
    let criteria = ValidationCriteria {
        min_difference: criteria.min_gain,
        error_rate: criteria.error_rate,
        level: criteria.level,
        ..ValidationCriteria::default()
    };
    let mut obstacles = Vec::new();
    let cells = comparable(before, after, &mut obstacles);
    let (then, now) = (builtin(before), builtin(after));
    let timed = cells.iter().filter_map(|(_, new)| Some((new.cell, now.get(&new.cell)?, then.get(&new.cell)?)));
    let replicates = |(cell, now, then): (Cell, &PointTimings, &PointTimings)| Replicates {
        cell: Some(cell),
        groups: vec![now.launch_logs(), then.launch_logs()],
    };
    let launches: Vec<Replicates> = timed.map(replicates).collect();
    let tests = test_all(&launches);
    if !cells.is_empty() && tests.iter().all(|test| test.degrees == 0.0) {
        obstacles.push(Limitation::FewLaunches);
    }
    let q_values = adjust(tests.iter().map(|test| test.p_beyond(0.0)));
    let tested = launches.iter().zip(tests).zip(q_values);
    let tested: BTreeMap<Cell, (Estimate, f64)> = tested
        .filter_map(|((launches, test), q_value)| {
            Some((launches.cell?, (test.estimate(criteria.level).exp(), q_value?)))
        })
        .collect();
    let change = |(old, new): &(&CellFinding, &CellFinding)| {
        let (before_time, after_time) = (old.point(Candidate::Builtin)?.time, new.point(Candidate::Builtin)?.time);
        let untested = Estimate {
            point: before_time.point / after_time.point,
            low: None,
            high: None,
            level: criteria.level,
            samples: before_time.samples.min(after_time.samples),
        };
        let found = tested.get(&new.cell).copied();
        let (builtin, q_value) = found.map_or((untested, None), |(ratio, q_value)| (ratio, Some(q_value)));
        Some(CellChange {
            cell: new.cell,
            builtin,
            q_value,
            change: difference(builtin, q_value, criteria).unwrap_or(Outcome::Same),
            in_use: (old.candidate_in_use(), new.candidate_in_use()),
            old_rules: worth(before, after, new),
        })
    };
    let changes: Vec<CellChange> = cells.iter().filter_map(change).collect();
    let left_out = [before, after].map(|run| run.findings.cells.len().saturating_sub(changes.len()));
    Ok(RunComparison {
        format: FORMAT,
        before: side(before),
        after: side(after),
        differences: before.manifest.zip(after.manifest).map(|(old, new)| differences(old, new)).unwrap_or_default(),
        obstacles,
        criteria,
        cells: changes,
        left_out: left_out.into(),
    })
}

fn side(run: Run<'_>) -> ComparedRun {
    ComparedRun {
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
    let nodes = |ranks: Ranks| old.placement.nodes.get(&ranks).zip(new.placement.nodes.get(&ranks));
    let is_moved = |ranks: Ranks| nodes(ranks).is_some_and(|(then, now)| then != now);
    let known: BTreeMap<Cell, &CellFinding> = old.cells.iter().map(|cell| (cell.cell, cell)).collect();
    let pairs = new.cells.iter().filter_map(|cell| Some((*known.get(&cell.cell)?, cell)));
    let (moved, pairs): (Vec<_>, Vec<_>) = pairs.partition(|(_, cell)| is_moved(cell.cell.ranks));
    let moved: BTreeSet<Ranks> = moved.iter().map(|(_, cell)| cell.cell.ranks).collect();
    obstacles.extend(moved.into_iter().map(Limitation::Moved));
    if pairs.is_empty() {
        obstacles.push(Limitation::NothingInCommon);
    }
    pairs
}

/// The timings of the builtin.
fn builtin(run: Run<'_>) -> BTreeMap<Cell, PointTimings> {
    let view = View::default();
    let points = run.observations.into_iter().flat_map(|observations| observations.points(&view));
    points.filter(|(_, series)| series.candidate == Candidate::Builtin).collect()
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
    let under_new = cell.point(cell.candidate_in_use()).or_else(|| cell.point(Candidate::Builtin))?;
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
    use collrules_record::findings::{PointFinding, Statistic, Verdict};
    use collrules_record::reason::KeepReason;
    use collrules_record::sample::TableTiming;
    use collrules_record::{Bytes, Ranks, Seconds};
    use collrules_rules::{Choice, Collective, Release};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    fn cells() -> impl Iterator<Item = Cell> {
        (0..10).map(|place| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(1 << (10 + place)) })
    }

    fn findings() -> Findings {
        let time = Estimate { point: 1.0, low: None, high: None, level: 0.95, samples: 3 };
        let (candidate, gain, expected) = (Candidate::Builtin, None, None);
        let point = PointFinding { candidate, time, gain, expected, p_value: None, q_value: None, stalls: None };
        let finding = |cell| CellFinding {
            cell,
            points: vec![point.clone()],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: KeepReason::NothingTimed },
            in_use: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let mut findings = Findings::empty("a test", Release::V5_0);
        findings.criteria.min_gain = 0.0;
        findings.cells = cells().map(finding).collect();
        findings
    }

    /// Three launches, whose times are so many times as long; deviations of logarithms: of a launch, of a time.
    fn day(seed: u64, (launch_noise, own_noise): (f64, f64), factor: f64) -> Observations {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = move || -> f64 { rng.sample(StandardNormal) };
        let mut timings = Vec::new();
        for launch in 0..3 {
            let shared = launch_noise * normal();
            for cell in cells() {
                let time = Seconds(cell.bytes.0 as f64 * 2e-9 * factor * (shared + own_noise * normal()).exp());
                timings.push(TableTiming { cell, candidate: Candidate::Builtin, launch, time });
            }
        }
        Observations::from_timings(&timings, Statistic::RankAverage).expect("timings")
    }

    #[test]
    fn sizes_without_a_time_of_the_default_are_left_out() {
        let (before, mut after) = (findings(), findings());
        after.cells[0].points.clear();
        let run = |findings| Run { findings, observations: None, manifest: None };
        let compared = compare(run(&before), run(&after)).expect("compares");
        assert_eq!((compared.cells.len(), compared.left_out), (9, (1, 1)));
    }

    /// Of an unchanged machine, one comparison in 20 may find a change.
    #[test]
    fn an_unchanged_default_is_called_changed_as_seldom_as_stated() {
        let findings = findings();
        for noise in [(0.01, 0.02), (0.04, 0.01), (0.0, 0.1)] {
            let compared = |seed: u64, factor: f64| {
                let (then, now) = (day(2 * seed, noise, 1.0), day(2 * seed + 1, noise, factor));
                let run = |observations| Run { findings: &findings, observations: Some(observations), manifest: None };
                compare(run(&then), run(&now)).expect("compares")
            };
            let wrong = (0..400).filter(|seed| compared(*seed, 1.0).count(Outcome::Same) < 10).count();
            assert!(wrong <= 30, "noise {noise:?}: {wrong} of 400 comparisons");
            let found: usize = (0..20).map(|seed| compared(seed, 1.4).count(Outcome::Slower)).sum();
            assert!(found >= 190, "noise {noise:?}: {found} of 200 slower times");
        }
    }
}
