//! Costs of the variants of a study: times of campaigns that took turns, launch against launch.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;
use collrules_tuner::judging::{LaunchLogs, common_means};

use crate::study::results::{CostRatio, Study, StudyPoint};

/// The collective, the communicator size and the candidate of a mean.
type CostGroup = (Collective, Ranks, Candidate);

/// For each study, the ratio of its times to those of the first. Launches of two studies are pairs if they have one
/// number: these ran next to each other where the campaigns took turns.
pub(super) fn compare_campaigns(studies: &[&Study]) -> Vec<Vec<CostRatio>> {
    let Some(base) = studies.first() else { return Vec::new() };
    let added: BTreeSet<Cell> =
        studies.iter().flat_map(|study| &study.cells).filter(|cell| cell.added).map(|cell| cell.cell).collect();
    let ratios: Vec<_> = studies.iter().map(|study| ratios(base, study)).collect();
    let groups = || ratios.iter().skip(1).flatten();
    let sizes = groups().filter(|((.., candidate), _)| *candidate == Candidate::Builtin).map(|(_, sizes)| sizes.len());
    let together = |count: usize| 1.0 - (1.0 - base.level) / count.max(1) as f64;
    let levels = (together(groups().count()), together(sizes.sum()));
    ratios.iter().map(|ratios| ratios.iter().flat_map(|group| costs(group, &added, levels)).collect()).collect()
}

/// The points that were timed themselves.
fn timed(study: &Study) -> impl Iterator<Item = ((Cell, Candidate), &StudyPoint)> {
    let points = study.cells.iter().flat_map(|cell| cell.points.iter().map(|point| (cell.cell, point)));
    let own = points.filter(|(_, point)| point.candidate == point.measured_as);
    own.map(|(cell, point)| ((cell, point.candidate), point))
}

/// The logarithms of the ratios by launch and message size, of each candidate.
fn ratios(base: &Study, study: &Study) -> BTreeMap<CostGroup, BTreeMap<Bytes, LaunchLogs>> {
    let base: BTreeMap<(Cell, Candidate), &StudyPoint> = timed(base).collect();
    let mut groups: BTreeMap<CostGroup, BTreeMap<Bytes, LaunchLogs>> = BTreeMap::new();
    for ((cell, candidate), point) in timed(study) {
        let logs = base.get(&(cell, candidate)).map(|base| point.logs_over(base)).filter(|logs| !logs.is_empty());
        if let Some(logs) = logs {
            groups.entry((cell.collective, cell.ranks, candidate)).or_default().insert(cell.bytes, logs);
        }
    }
    groups
}

/// The mean over the sizes of the grid and, of the default, each size, with intervals of these levels.
fn costs(
    (group, sizes): (&CostGroup, &BTreeMap<Bytes, LaunchLogs>),
    added: &BTreeSet<Cell>,
    (of_means, of_sizes): (f64, f64),
) -> Vec<CostRatio> {
    let (collective, ranks, candidate) = *group;
    let cost = |bytes: Option<Bytes>, logs: &LaunchLogs, level: f64| {
        let ratio = Estimate::mean(logs.values(), level)?.exp();
        Some(CostRatio { collective, ranks, candidate, bytes, ratio })
    };
    let of_grid = sizes.iter().filter(|(bytes, _)| !added.contains(&Cell { collective, ranks, bytes: **bytes }));
    let of_grid = common_means(of_grid.map(|(_, logs)| logs));
    let single = sizes.iter().filter(|_| candidate == Candidate::Builtin);
    let single = single.filter_map(|(bytes, logs)| cost(Some(*bytes), logs, of_sizes));
    cost(None, &of_grid, of_means).into_iter().chain(single).collect()
}
