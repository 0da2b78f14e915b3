//! Number of passes of a block: as many as cost least for a given error.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Seconds;
use collrules_record::comparison::{ArmLaunch, ArmSubject};
use collrules_record::estimate::mean;
use collrules_record::settings::Settings;

/// Passes of a block before anything is known, and the smallest and largest number of them.
const PASSES: (u32, u32, u32) = (4, 2, 16);

/// Blocks after which deviations are known.
const ENOUGH: usize = 3;

/// Largest ratio of variances that a few blocks can show.
const MOST_RATIO: f64 = 100.0;

/// The number of passes of the next block, over so many subjects, after these launches side by side. The error of a block has
/// two variances, between blocks and between turns over passes; its time those of starts and turns. Their product is least
/// at the root of the ratio of variances times that of times.
pub(crate) fn count_passes(launches: &[&ArmLaunch], base: &Settings, startup: Seconds, subjects: usize) -> u32 {
    let (usual, least, most) = PASSES;
    let timed = launches.iter().filter_map(|launch| Some((*launch, launch.outcome.as_ref().ok()?)));
    let (mut within, mut means) = (Vec::new(), Vec::new());
    let (mut costs, mut speedups) = (Vec::new(), BTreeMap::<(&Settings, &ArmSubject), Vec<f64>>::new());
    let mut bases: BTreeMap<u32, BTreeMap<&ArmSubject, f64>> = BTreeMap::new();
    for (launch, times) in timed {
        let turns: u32 = times.iter().map(|timed| timed.turns).sum();
        costs.push((launch.seconds.0 - startup.0).max(0.0) / f64::from(turns.max(1)));
        if launch.arm == *base {
            bases.entry(launch.block).or_insert_with(|| times.iter().map(|it| (&it.subject, it.time.0)).collect());
            continue;
        }
        for timed in times.iter().filter(|timed| timed.turns > 1) {
            let Some(without) = bases.get(&launch.block).and_then(|base| base.get(&timed.subject)) else { continue };
            within.push(timed.deviation.powi(2));
            means.push(timed.deviation.powi(2) / f64::from(timed.turns));
            speedups.entry((&launch.arm, &timed.subject)).or_default().push((without / timed.time.0).ln());
        }
    }
    let blocks: BTreeSet<u32> = launches.iter().map(|launch| launch.block).collect();
    let variances: Vec<(f64, f64)> =
        speedups.values().filter(|logs| logs.len() > 1).map(|logs| squares_of(logs)).collect();
    let (squares, degrees) = variances.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    if blocks.len() < ENOUGH || degrees == 0.0 {
        return usual;
    }
    let within = mean(&within);
    let between = (squares / degrees - mean(&means)).max(within / MOST_RATIO);
    let pass = mean(&costs) * subjects as f64;
    let best = (startup.0 / pass.max(1e-9) * within / between.max(1e-12)).sqrt();
    (best.round() as u32).clamp(least, most)
}

/// The sum of squared differences from the mean, and its degrees of freedom.
fn squares_of(logs: &[f64]) -> (f64, f64) {
    let centre = mean(logs);
    (logs.iter().map(|log| (log - centre).powi(2)).sum(), logs.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use collrules_record::comparison::{Stage, SubjectTime};
    use collrules_record::condition::Condition;
    use collrules_record::{Bytes, Cell, Ranks};
    use collrules_rules::Collective;

    use super::*;

    /// Passes after eight blocks of two jobs that start in a second and have turns of 2 ms, whose log speedups deviate by
    /// these amounts.
    fn learnt(within: f64, between: f64) -> u32 {
        let subject = |bytes: u64| {
            let cell = Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(bytes) };
            ArmSubject::Call(cell, Condition::default())
        };
        let arm = Settings::from([("a".to_owned(), "1".to_owned())]);
        let launch = |block: u32, arm: &Settings| {
            let log = if arm.is_empty() {
                0.0
            } else if block.is_multiple_of(2) {
                between
            } else {
                -between
            };
            let time = |bytes| SubjectTime {
                subject: subject(bytes),
                time: Seconds(1e-6 * f64::exp(log)),
                turns: 6,
                calls: 1000,
                deviation: within,
            };
            ArmLaunch {
                stage: Stage::Rules,
                block,
                arm: arm.clone(),
                at: String::new(),
                seconds: Seconds(1.0 + 10.0 * 6.0 * 2e-3),
                apart: None,
                resident: None,
                asleep: None,
                outcome: Ok((0..10).map(time).collect()),
                wrong: Vec::new(),
            }
        };
        let launches: Vec<ArmLaunch> =
            (0..8).flat_map(|block| [launch(block, &Settings::new()), launch(block, &arm)]).collect();
        count_passes(&launches.iter().collect::<Vec<_>>(), &Settings::new(), Seconds(1.0), 10)
    }

    #[test]
    fn blocks_are_longer_if_turns_differ_more_than_blocks() {
        assert_eq!(count_passes(&[], &Settings::new(), Seconds(1.0), 10), 4, "nothing is known");
        // A start takes 50 passes: the root of 50 times the ratio of variances.
        assert_eq!(learnt(0.1, 0.1), 7);
        assert_eq!(learnt(0.05, 0.2), 2);
        assert_eq!(learnt(0.2, 0.05), 16);
    }
}
