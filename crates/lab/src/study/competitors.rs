//! Any two candidates over message sizes: where the faster one changes, and who is the best over a range.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell, Estimate, Ranks};
use collrules_rules::Collective;
use collrules_tuner::judging::{LaunchLogs, band, common_means, crossing};

use super::machine::MachineNumbers;
use crate::study::results::{ClassVerdict, Crossing, Point, Rivalry, StudyPoint};

/// The points of a collective on one communicator size, by message size and candidate.
type BlockPoints<'a> = BTreeMap<Bytes, BTreeMap<Candidate, &'a StudyPoint>>;

/// The blocks in which reference algorithms were compared over message sizes.
fn blocks<'a>(points: &[Point<'a>]) -> BTreeMap<(Collective, Ranks), BlockPoints<'a>> {
    let mut blocks: BTreeMap<(Collective, Ranks), BlockPoints<'a>> = BTreeMap::new();
    for (cell, point) in points.iter().filter(|(_, point)| point.candidate == point.measured_as) {
        let block = blocks.entry((cell.collective, cell.ranks)).or_default();
        block.entry(cell.bytes).or_default().insert(point.candidate, *point);
    }
    let is_reference = |candidate: &Candidate| matches!(candidate, Candidate::Reference(_));
    blocks.retain(|_, block| candidates(block).iter().any(is_reference));
    blocks
}

fn candidates(block: &BlockPoints<'_>) -> BTreeSet<Candidate> {
    block.values().flat_map(|known| known.keys().copied()).collect()
}

/// Every pair of candidates.
pub(super) fn rivalries(points: &[Point<'_>], numbers: MachineNumbers<'_>, level: f64) -> Vec<Rivalry> {
    let mut all = Vec::new();
    for ((collective, ranks), block) in blocks(points) {
        let candidates: Vec<Candidate> = candidates(&block).into_iter().collect();
        for (place, one) in candidates.iter().enumerate() {
            for other in &candidates[place + 1..] {
                let (first, crossings) = crossings(&block, [*one, *other], level);
                let predicted = numbers.predicted(Cell { collective, ranks, bytes: Bytes(0) }, *one, *other);
                all.push(Rivalry { collective, ranks, one: *one, other: *other, first, crossings, predicted });
            }
        }
    }
    all
}

/// By how much one is faster than the other at each size, as a logarithm, if both were timed in several launches.
fn leads(block: &BlockPoints<'_>, [one, other]: [Candidate; 2], level: f64) -> Vec<(Bytes, Option<Estimate>)> {
    let lead = |points: &BTreeMap<Candidate, &StudyPoint>| {
        Estimate::mean(points.get(&other)?.logs_over(points.get(&one)?).values(), level)
            .filter(|lead| lead.low.is_some())
    };
    block.iter().map(|(bytes, points)| (*bytes, lead(points))).collect()
}

/// Returns the candidate that is faster at first, and the sizes at which that changes. Only sizes at which the interval
/// over launches excludes 1 count.
fn crossings(block: &BlockPoints<'_>, pair: [Candidate; 2], level: f64) -> (Option<Candidate>, Vec<Crossing>) {
    let side = |(low, high): (f64, f64)| match () {
        () if low > 0.0 => Some(pair[0]),
        () if high < 0.0 => Some(pair[1]),
        () => None,
    };
    let ends = |lead: &Option<Estimate>| lead.and_then(|lead| lead.low.zip(lead.high));
    let all = leads(block, pair, level);
    let shown = all.iter().enumerate().filter_map(|(place, (_, lead))| Some((place, side(ends(lead)?)?)));
    let shown: Vec<(usize, Candidate)> = shown.collect();
    let mut crossings = Vec::new();
    for pair in shown.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        let ((from, below), (to, above)) = (pair[0], pair[1]);
        // Seen from the one below, so that a lead falls through zero.
        let known = leads(block, [below, above], level);
        let points = known[from..=to].iter().filter_map(|(bytes, lead)| Some((*bytes, lead.as_ref()?.point)));
        let points: Vec<(Bytes, f64)> = points.collect();
        if let Some(at) = points.windows(2).find_map(|two| crossing((two[0].0, two[1].0), (two[0].1, two[1].1))) {
            let interval = band(&known, |(bytes, _)| *bytes, |(_, lead)| ends(lead), at);
            crossings.push(Crossing { below, above, at, interval: interval.unwrap_or((known[from].0, known[to].0)) });
        }
    }
    (shown.first().map(|(_, side)| *side), crossings)
}

/// The best class over all sizes of each collective, and below and above where the two reference algorithms cross.
pub(super) fn classes(points: &[Point<'_>], rivalries: &[Rivalry], level: f64) -> Vec<ClassVerdict> {
    let mut all = Vec::new();
    for ((collective, ranks), block) in blocks(points) {
        let (Some(first), Some(last)) = (block.keys().next().copied(), block.keys().last().copied()) else { continue };
        let own = |it: &&Rivalry| (it.collective, it.ranks) == (collective, ranks) && it.is_of_references();
        let crossings = rivalries.iter().find(own).map_or(&[][..], |rivalry| &rivalry.crossings);
        let mut ranges = vec![(first, last)];
        if let Some(crossing) = crossings.first() {
            let below = block.keys().copied().take_while(|bytes| *bytes < crossing.at).last();
            let above = block.keys().copied().find(|bytes| *bytes >= crossing.at);
            ranges.extend(below.map(|below| (first, below)));
            ranges.extend(above.map(|above| (above, last)));
        }
        for sizes in ranges {
            let best = best(&block, sizes, level);
            if !best.is_empty() {
                all.push(ClassVerdict { collective, ranks, sizes, best });
            }
        }
    }
    all
}

/// The best of the builtin and the reference algorithms, and those that do not differ from it. Only candidates timed in every cell of
/// the range can be compared; if one reference algorithm was timed for another in a cell, it counts for it here too.
fn best(block: &BlockPoints<'_>, (first, last): (Bytes, Bytes), level: f64) -> Vec<Candidate> {
    let cells: Vec<&BTreeMap<Candidate, &StudyPoint>> = block.range(first..=last).map(|(_, known)| known).collect();
    let is_class = |candidate: &Candidate| matches!(candidate, Candidate::Builtin | Candidate::Reference(_));
    let everywhere = |candidate: &Candidate| cells.iter().all(|known| known.contains_key(candidate));
    let classes: Vec<Candidate> = candidates(block).into_iter().filter(is_class).filter(everywhere).collect();
    let Some(any) = classes.first().copied() else { return Vec::new() };
    // By how much one is behind another on average over all cells, as a logarithm.
    let behind = |one: Candidate, other: Candidate| -> Option<Estimate> {
        let lags: Vec<LaunchLogs> = cells.iter().map(|known| known[&one].logs_over(known[&other])).collect();
        Estimate::mean(common_means(&lags).values(), level)
    };
    let lag = |candidate: &Candidate| behind(*candidate, any).map_or(f64::INFINITY, |lag| lag.point);
    let Some(least) = classes.iter().copied().min_by(|a, b| lag(a).total_cmp(&lag(b))) else { return Vec::new() };
    // Without an interval no difference is shown.
    let is_tied = |candidate: &Candidate| {
        *candidate == least || behind(*candidate, least).and_then(|lag| lag.low).is_none_or(|low| low <= 0.0)
    };
    classes.into_iter().filter(is_tied).collect()
}
