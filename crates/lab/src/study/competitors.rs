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
        // Times between two sizes are affine (Hockney), and so is their difference.
        let difference = |(bytes, lead): &(Bytes, Option<Estimate>)| {
            Some((*bytes, block[bytes].get(&below)?.time.point * lead.as_ref()?.point.exp_m1()))
        };
        let points: Vec<(Bytes, f64)> = known[from..=to].iter().filter_map(difference).collect();
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

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    use super::*;
    use crate::study::results::StudyVerdict;

    /// The medians of six launches with noise of 3 %.
    fn point(candidate: Candidate, time: f64, rng: &mut ChaCha8Rng) -> StudyPoint {
        let normal = Normal::new(0.0, 0.03).expect("a spread");
        let launches: BTreeMap<u32, f64> = (0..6).map(|launch| (launch, time * f64::exp(normal.sample(rng)))).collect();
        let time = Estimate::median(&launches.values().copied().collect::<Vec<_>>(), 0.95).expect("six");
        StudyPoint {
            candidate,
            measured_as: candidate,
            time,
            launches,
            gain: None,
            q_value: None,
            outcome: StudyVerdict::Alike,
        }
    }

    /// Of 41 crossings between sizes 8 or more apart 13 once were outside of the sizes between which they may lie, and the
    /// point was the end of these.
    #[test]
    fn crossings_are_among_the_sizes_between_which_they_may_lie() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let pair = ["chan:short", "chan:long"].map(|name| name.parse::<Candidate>().expect("a candidate"));
        for apart in [2_u64, 4, 8, 16, 64] {
            let (mut outside, mut far, mut all) = (0, 0, 0);
            while all < 200 {
                let start = 10f64.powf(rng.random_range(-5.5..-4.0));
                let slope = 10f64.powf(rng.random_range(-10.0..-8.5));
                let (more, less) = (rng.random_range(1.3..4.0), rng.random_range(0.1..0.8));
                // start + slope n = more start + less slope n
                let truth = start * (more - 1.0) / (slope * (1.0 - less));
                let sizes: Vec<u64> =
                    (0..).map(|power: u32| 64 * apart.pow(power)).take_while(|size| *size <= 1 << 22).collect();
                let points: Vec<(Bytes, [StudyPoint; 2])> = sizes
                    .iter()
                    .map(|bytes| {
                        let size = *bytes as f64;
                        let times = [start + slope * size, more * start + less * slope * size];
                        (Bytes(*bytes), [0, 1].map(|it| point(pair[it], times[it], &mut rng)))
                    })
                    .collect();
                let block: BlockPoints<'_> = points
                    .iter()
                    .map(|(bytes, own)| (*bytes, own.iter().map(|point| (point.candidate, point)).collect()))
                    .collect();
                let (_, found) = crossings(&block, pair, 0.95);
                let [crossing] = found[..] else { continue };
                let (low, high) = crossing.interval;
                all += 1;
                outside += u32::from(truth < low.0 as f64 - 1.0 || truth > high.0 as f64 + 1.0);
                far += u32::from(!(0.5..2.0).contains(&(crossing.at.0 as f64 / truth)));
                assert!(low <= crossing.at && crossing.at <= high);
            }
            assert!(outside <= 14 && far <= 20, "{apart} apart: {outside} of {all} outside, {far} by more than 2x");
        }
    }
}
