//! Costs of the variants of a study: times of campaigns that took turns, launch against launch.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;
use collrules_tuner::judging::{Competitors, LaunchLogs, common_means};
use collrules_tuner::{Observations, TunerError};

use crate::study::results::{CostRatio, Study};

/// Median seconds by launch, of every candidate that was timed.
type CandidateMedians = BTreeMap<(Cell, Candidate), BTreeMap<u32, f64>>;

/// For each campaign, what its calls take over those of the first. Launches of two campaigns are pairs if they have one number:
/// these ran next to each other where the campaigns took turns.
pub fn compare_campaigns(samples: &[&str], studies: &[&Study]) -> Result<Vec<Vec<CostRatio>>, TunerError> {
    let mut campaigns = Vec::with_capacity(samples.len());
    for (text, study) in samples.iter().zip(studies) {
        campaigns.push(timed(text, study)?);
    }
    let Some(base) = campaigns.first() else { return Ok(Vec::new()) };
    let level = studies.first().map_or(0.95, |study| study.level);
    let added: BTreeSet<Cell> =
        studies.iter().flat_map(|study| &study.cells).filter(|cell| cell.added).map(|cell| cell.cell).collect();
    let ratios: Vec<_> = campaigns.iter().map(|campaign| ratios(base, campaign)).collect();
    let groups = || ratios.iter().skip(1).flatten();
    let sizes = groups().filter(|((.., candidate), _)| *candidate == Candidate::Builtin).map(|(_, sizes)| sizes.len());
    let together = |count: usize| 1.0 - (1.0 - level) / count.max(1) as f64;
    let levels = (together(groups().count()), together(sizes.sum()));
    Ok(ratios.iter().map(|ratios| ratios.iter().flat_map(|group| costs(group, &added, levels)).collect()).collect())
}

/// Reads the timings of a study.
fn timed(samples: &str, study: &Study) -> Result<CandidateMedians, TunerError> {
    let wanted: BTreeSet<(Cell, Candidate)> =
        study.cells.iter().flat_map(|cell| cell.points.iter().map(|point| (cell.cell, point.candidate))).collect();
    let cells = Observations::from_samples(samples)?.cells_with(Competitors::WithReferences)?;
    let series = cells.iter().flat_map(|cell| cell.series.iter().map(|series| (cell.cell, series)));
    let medians = series.map(|(cell, series)| ((cell, series.candidate), series.launch_medians()));
    Ok(medians.filter(|(point, _)| wanted.contains(point)).collect())
}

type CostGroup = (Collective, Ranks, Candidate);

/// The logarithms of the ratios by launch and message size, of each candidate.
fn ratios(base: &CandidateMedians, campaign: &CandidateMedians) -> BTreeMap<CostGroup, BTreeMap<Bytes, LaunchLogs>> {
    let mut groups: BTreeMap<CostGroup, BTreeMap<Bytes, LaunchLogs>> = BTreeMap::new();
    for ((cell, candidate), launches) in campaign {
        let Some(others) = base.get(&(*cell, *candidate)) else { continue };
        let pairs = launches.iter().filter_map(|(launch, time)| Some((*launch, (time / others.get(launch)?).ln())));
        let pairs: LaunchLogs = pairs.collect();
        if !pairs.is_empty() {
            groups.entry((cell.collective, cell.ranks, *candidate)).or_default().insert(cell.bytes, pairs);
        }
    }
    groups
}

/// The mean over the sizes of the grid and, of the default, each size, with intervals of these levels.
fn costs(
    (group, sizes): (&CostGroup, &BTreeMap<Bytes, LaunchLogs>),
    added: &BTreeSet<Cell>,
    (of_means, of_sizes): (f64, f64),
) -> impl Iterator<Item = CostRatio> + use<> {
    let (collective, ranks, candidate) = *group;
    let cost = move |bytes: Option<Bytes>, logs: &LaunchLogs, level: f64| {
        let ratio = Estimate::mean(logs.values(), level)?.exp();
        Some(CostRatio { collective, ranks, candidate, bytes, ratio })
    };
    let of_grid = sizes.iter().filter(|(bytes, _)| !added.contains(&Cell { collective, ranks, bytes: **bytes }));
    let of_grid = common_means(of_grid.map(|(_, logs)| logs));
    let mut found: Vec<CostRatio> = cost(None, &of_grid, of_means).into_iter().collect();
    let single = |(bytes, logs): (&Bytes, &LaunchLogs)| cost(Some(*bytes), logs, of_sizes);
    found.extend(sizes.iter().filter(|_| candidate == Candidate::Builtin).filter_map(single));
    found.into_iter()
}
