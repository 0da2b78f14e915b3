//! The launches of a block, one of each arm, and what several blocks show.
//!
//! The logarithms of speedups over pairs of launches are trimmed and tested: with few blocks their variances borrow from
//! each other, and what subjects of a launch share counts once (`statistics::launches`).

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::comparison::{ArmSubject, LaunchFailure, Processors};
use collrules_record::estimate::{mean, median, medians};
use collrules_record::settings::Settings;
use collrules_record::{Estimate, Seconds};

use crate::statistics::{LaunchLogs, Replicates, test_all};

/// The confidence of every interval.
const LEVEL: f64 = 0.95;

/// The median times of a launch, in seconds.
pub type SubjectTimes = BTreeMap<ArmSubject, f64>;

/// The launches of a block: the default, whose settings are empty, and arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmBlock {
    /// The times of each launch that did not fail, by arm.
    pub launches: BTreeMap<Settings, Vec<SubjectTimes>>,
    /// The processors of these launches.
    pub processors: BTreeMap<Settings, Vec<Processors>>,
    /// Arms whose jobs fail, whatever they call.
    pub failed: BTreeMap<Settings, LaunchFailure>,
    /// Subjects that fail with an arm, so that they are no longer timed with it (without the arm's rules, for the default), and
    /// the reason.
    pub barred: Vec<(Settings, ArmSubject, String)>,
}

impl ArmBlock {
    /// Adds a launch.
    pub fn push(&mut self, settings: Settings, times: SubjectTimes) {
        self.launches.entry(settings).or_default().push(times);
    }

    /// The launches of an arm.
    pub(super) fn launches_with(&self, settings: &Settings) -> &[SubjectTimes] {
        self.launches.get(settings).map_or(&[], Vec::as_slice)
    }

    /// Compares the processors of the launches of two arms, as far as they are known: none if they were in like places and
    /// as fast, otherwise true if the first arm had the slower ones.
    fn slower_processors(&self, arm: &Settings, base: &Settings) -> Option<bool> {
        let latencies: fn(&Processors) -> Vec<Seconds> = |it| it.core_to_core.clone();
        let copies: fn(&Processors) -> Vec<Seconds> = |it| it.copy.into_iter().collect();
        [(latencies, ALIKE_PLACES), (copies, ALIKE_SPEEDS)].into_iter().find_map(|(quantity, most)| {
            let of = |it: &Settings| self.processors.get(it).into_iter().flatten().flat_map(quantity);
            let values = |it: &Settings| of(it).map(|seconds| seconds.0).collect::<Vec<f64>>();
            let (with, without) = (values(arm), values(base));
            let all = || with.iter().chain(&without).copied();
            let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
            (high > most * low).then(|| mean(&with) > mean(&without))
        })
    }

    /// The logarithm of the speedup of a combination over another one, for each subject that both timed.
    fn log_speedups(&self, settings: &Settings, over: &Settings) -> BTreeMap<ArmSubject, f64> {
        let [with, without] = [settings, over].map(|it| median_times(self.launches_with(it)));
        let both = with.iter().filter_map(|(subject, with)| Some((*subject, without.get(subject)?, with)));
        let positive = both.filter(|(_, without, with)| **without > 0.0 && **with > 0.0);
        positive.map(|(subject, without, with)| (subject.clone(), (without / with).ln())).collect()
    }

    /// The mean log speedup over the subjects with these weights; none if all are 0.
    pub fn mean_log_speedup(
        &self,
        settings: &Settings,
        over: &Settings,
        weight: &dyn Fn(&ArmSubject) -> f64,
    ) -> Option<f64> {
        weighted_mean(&self.log_speedups(settings, over), weight)
    }
}

/// The median time of each subject over launches.
fn median_times<'a>(launches: impl IntoIterator<Item = &'a SubjectTimes>) -> BTreeMap<&'a ArmSubject, f64> {
    let mut all: BTreeMap<&ArmSubject, Vec<f64>> = BTreeMap::new();
    for (subject, time) in launches.into_iter().flatten() {
        all.entry(subject).or_default().push(*time);
    }
    medians(all).collect()
}

/// The mean of the logarithms of subjects with these weights; none if all are 0.
pub(super) fn weighted_mean(logs: &BTreeMap<ArmSubject, f64>, weight: &dyn Fn(&ArmSubject) -> f64) -> Option<f64> {
    let (sum, weights) = logs.iter().fold((0.0, 0.0), |(sum, weights), (subject, log)| {
        let weight = weight(subject);
        (sum + weight * log, weights + weight)
    });
    (weights > 0.0).then(|| sum / weights)
}

/// The blocks with launches of two arms whose processors were in like places and as fast; all, if these are half or less,
/// or if the first arm had the slower processors more often than by chance: then it is the arm that puts ranks elsewhere, or
/// that gives their cores other work.
pub(super) fn alike<'a>(blocks: &'a [ArmBlock], arm: &Settings, base: &Settings) -> Vec<&'a ArmBlock> {
    let has_both = |block: &&ArmBlock| [arm, base].iter().all(|it| block.launches.contains_key(*it));
    let both: Vec<&ArmBlock> = blocks.iter().filter(has_both).collect();
    let compared = || both.iter().map(|block| (*block, block.slower_processors(arm, base)));
    let alike: Vec<&ArmBlock> = compared().filter(|(_, slower)| slower.is_none()).map(|(block, _)| block).collect();
    let others = (both.len() - alike.len()) as f64;
    let slower = compared().filter(|(_, slower)| *slower == Some(true)).count() as f64;
    // As a sign test, with its correction for continuity.
    let is_own = 2.0 * slower - others > BY_CHANCE * others.sqrt() + 1.0;
    if 2 * alike.len() <= both.len() || is_own { both } else { alike }
}

/// Ratio of core-to-core latencies up to which processors are in like places. It is 1.8 and more between threads of a core,
/// cores of a socket and sockets, and 1.3 at most between launches in one place.
const ALIKE_PLACES: f64 = 1.6;

/// Ratio of the times of a copy up to which processors are as fast. Other work on the second threads of their cores makes
/// it 1.6 to 2; without, it is 1.1 between launches.
const ALIKE_SPEEDS: f64 = 1.15;

/// Share of the pairs of launches at either end whose speedups a mean leaves out.
const LEFT_OUT: f64 = 0.2;

/// Multiple of the usual deviation between launches with the same settings from which on a slower launch is disturbed.
const DISTURBED: f64 = 3.0;

/// The least and the greatest such log slowdown.
const DISTURBANCES: (f64, f64) = (0.05, 0.2);

/// Standard deviation of a normal distribution in units of its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// Standard errors by which the share of disturbed launches, or of those on slower processors, may be larger than with the
/// default: more are the settings' own doing.
const BY_CHANCE: f64 = 1.28;

/// Returns true if the mean log speedup of a combination over another one is trimmed, since other work on a host can double
/// the time of a launch, and of every third on a busy one. If the combination itself disturbs launches, all pairs count: if
/// its share of disturbed ones is larger beyond chance (two proportions, pooled).
pub(super) fn is_trimmed(blocks: &[&ArmBlock], settings: &Settings, over: &Settings) -> bool {
    let [(own, own_all), (usual, usual_all)] = [settings, over].map(|it| {
        let (disturbed, all) = count_disturbed(blocks, it);
        (disturbed as f64, all as f64)
    });
    let pooled = (own + usual) / (own_all + usual_all).max(1.0);
    let (own_all, usual_all) = (own_all.max(1.0), usual_all.max(1.0));
    let variance = pooled * (1.0 - pooled) * (1.0 / own_all + 1.0 / usual_all);
    own / own_all - usual / usual_all <= BY_CHANCE * variance.sqrt()
}

/// Values whose mean, standard error and degrees of freedom are those of the trimmed mean of these logarithms: the values
/// that it keeps, spread accordingly.
///
/// Source: K. K. Yuen, The two-sample trimmed t for unequal population variances, 1974.
pub(super) fn trim(logs: &LaunchLogs) -> LaunchLogs {
    let mut sorted: Vec<(u32, f64)> = logs.iter().map(|(number, log)| (*number, *log)).collect();
    sorted.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (all, at) = (sorted.len(), (LEFT_OUT * sorted.len() as f64) as usize);
    if at == 0 {
        return logs.clone();
    }
    let kept = &sorted[at..all - at];
    let middle = mean(kept.iter().map(|(_, log)| *log));
    let (low, high) = (kept[0].1, kept[kept.len() - 1].1);
    let winsorized: Vec<f64> = sorted.iter().map(|(_, log)| log.clamp(low, high)).collect();
    let squares =
        |values: &mut dyn Iterator<Item = f64>, centre: f64| values.map(|value| (value - centre).powi(2)).sum::<f64>();
    let own = squares(&mut kept.iter().map(|(_, log)| *log), middle);
    let wanted = squares(&mut winsorized.iter().copied(), mean(&winsorized));
    let scale = if own > 0.0 { (wanted / own).sqrt() } else { 1.0 };
    kept.iter().map(|(number, log)| (*number, middle + scale * (log - middle))).collect()
}

/// The number of disturbed launches of a combination, in which most subjects take longer than in others with the same
/// settings, and of all.
fn count_disturbed(blocks: &[&ArmBlock], settings: &Settings) -> (usize, usize) {
    let launches: Vec<&SubjectTimes> = blocks.iter().flat_map(|block| block.launches_with(settings)).collect();
    let usual = median_times(launches.iter().copied());
    let slowdown = |times: &SubjectTimes| {
        let logs = times.iter().map(|(subject, time)| (time / usual[subject]).ln());
        median(&mut logs.collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let slowdowns: Vec<f64> = launches.iter().map(|it| slowdown(it)).collect();
    let deviation = median(&mut slowdowns.iter().map(|slowdown| slowdown.abs()).collect::<Vec<_>>());
    let limit = (DISTURBED * NORMAL * deviation.unwrap_or(0.0)).clamp(DISTURBANCES.0, DISTURBANCES.1);
    (slowdowns.iter().filter(|it| **it > limit).count(), slowdowns.len())
}

/// The speedup of settings over others, as a geometric mean with weights, with the interval of its blocks.
pub fn mean_speedup(
    blocks: &[ArmBlock],
    settings: &Settings,
    over: &Settings,
    weight: &dyn Fn(&ArmSubject) -> f64,
    level: f64,
) -> Option<Estimate> {
    let blocks = &alike(blocks, settings, over);
    let logs = logs_by_block(blocks, settings, over, weight);
    let logs = if is_trimmed(blocks, settings, over) { trim(&logs) } else { logs };
    Estimate::mean(logs.values(), level).map(Estimate::exp)
}

/// The logarithms of a combination's mean speedup, by the number of the block.
fn logs_by_block(
    blocks: &[&ArmBlock],
    settings: &Settings,
    over: &Settings,
    weight: &dyn Fn(&ArmSubject) -> f64,
) -> LaunchLogs {
    let log = |block: &ArmBlock| block.mean_log_speedup(settings, over, weight);
    (0..).zip(blocks).filter_map(|(number, block)| Some((number, log(block)?))).collect()
}

/// The speedup of each of these combinations over another one, as a geometric mean over subjects and blocks; none without a
/// block of both. Combinations with few blocks borrow the variance of the others.
pub fn speedups(
    blocks: &[ArmBlock],
    pairs: BTreeSet<(Settings, Settings)>,
) -> BTreeMap<(Settings, Settings), Estimate> {
    let blocks: Vec<&ArmBlock> = blocks.iter().collect();
    let (pairs, subjects): (Vec<_>, Vec<Replicates>) = pairs
        .into_iter()
        .map(|(settings, over)| (logs_by_block(&blocks, &settings, &over, &|_| 1.0), (settings, over)))
        .filter(|(logs, _)| !logs.is_empty())
        .map(|(logs, pair)| (pair, Replicates::of_pairs(None, logs)))
        .unzip();
    let tests = test_all(&subjects).into_iter();
    pairs.into_iter().zip(tests.map(|test| test.estimate(LEVEL).exp())).collect()
}

/// The log speedups of each subject by the number of the block.
pub(super) fn by_subject(
    blocks: &[&ArmBlock],
    settings: &Settings,
    over: &Settings,
) -> BTreeMap<ArmSubject, LaunchLogs> {
    let mut subjects: BTreeMap<ArmSubject, LaunchLogs> = BTreeMap::new();
    for (number, block) in (0..).zip(blocks) {
        for (subject, log) in block.log_speedups(settings, over) {
            subjects.entry(subject).or_default().insert(number, log);
        }
    }
    subjects
}

/// The logarithm of the time of each subject in the faster half of the launches of a combination. Other work makes launches
/// slow, and none fast.
fn fast_logs<'a>(blocks: &'a [ArmBlock], settings: &Settings) -> BTreeMap<&'a ArmSubject, f64> {
    let mut all: BTreeMap<&ArmSubject, Vec<f64>> = BTreeMap::new();
    for (subject, time) in
        blocks.iter().flat_map(|block| block.launches_with(settings)).flatten().filter(|(_, time)| **time > 0.0)
    {
        all.entry(subject).or_default().push(time.ln());
    }
    let faster_half = |mut logs: Vec<f64>| {
        logs.sort_by(f64::total_cmp);
        mean(&logs[..logs.len().div_ceil(2)])
    };
    all.into_iter().map(|(subject, logs)| (subject, faster_half(logs))).collect()
}

/// The log speedup of each combination over the default for each subject, in the faster half of the launches of each.
pub(super) fn fast_log_speedups(blocks: &[ArmBlock]) -> BTreeMap<Settings, BTreeMap<ArmSubject, f64>> {
    let without = fast_logs(blocks, &Settings::new());
    let speedups = |settings: &Settings| {
        let with = fast_logs(blocks, settings).into_iter();
        with.filter_map(|(subject, with)| Some((subject.clone(), without.get(subject)? - with))).collect()
    };
    let measured: BTreeSet<&Settings> = blocks.iter().flat_map(|block| block.launches.keys()).collect();
    measured.into_iter().map(|settings| (settings.clone(), speedups(settings))).collect()
}
