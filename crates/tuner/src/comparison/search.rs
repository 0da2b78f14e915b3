//! The design of the search.
//!
//! One setting at a time around the default, then one at a time around the best combination (a foldover): settings have
//! several values, most have no effect, and a value that crashes or hangs would spoil half of the launches of a fractional
//! factorial design. Because of interactions, a value alone and with others has different effects. The best combinations
//! are measured again when they are confirmed.
//!
//! A block has some combinations and the default, whose jobs live at the same time, and each combination is in two blocks.
//!
//! Machines have phases in which settings gain more. So the blocks of a foldover have its best combination as well, with
//! which the others are compared, and the gain of that one over the default is its mean over all blocks.
//!
//! The best combination is the one with the largest mean gain where speed is asked for, less its losses anywhere: one
//! that slows something down cannot be installed, however fast it is elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::comparison::Stage;
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::Settings;

use super::block::{self, ArmBlock, SubjectWeight};
use super::compare::{ArmLauncher, LEAST_ADDED};

/// Number of combinations whose jobs live at the same time as one of the default.
pub const AT_ONCE: usize = 5;

/// Number of combinations that are compared with the default after a search.
const FINALISTS: usize = 4;

/// Rounds of blocks with the same combinations.
const ROUNDS: u32 = 2;

/// Log speedup that each setting of a combination has to add: most have no effect, and single launches show some.
const LEAST_GAIN: f64 = 0.03;

/// Least log slowdown of a subject that counts as a loss: single launches show less by chance. Also the deviation between blocks
/// of a subject in a single one.
const CHANCE: f64 = 0.1;

/// Standard errors of a subject from which on its slowdown counts as a loss.
const ERRORS: f64 = 3.5;

/// Weight of a loss against the mean gain: what slows down a single subject is not installed.
const LOSS_WEIGHT: f64 = 4.0;

/// A setting with the values to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The setting.
    pub name: String,
    /// The values, without the default.
    pub values: Vec<String>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// All blocks, in order.
    pub blocks: Vec<ArmBlock>,
    /// The combinations to compare, the best first.
    pub finalists: Vec<Settings>,
    /// The combination around which the foldover varies settings.
    pub base: Settings,
    /// Combinations whose jobs failed.
    pub failed: BTreeSet<Settings>,
}

/// Searches for the settings with the largest speedup, as a geometric mean with the weights of subjects, that slow down
/// no subject, also none without a weight.
pub fn search<B: ArmLauncher>(
    factors: &[Factor],
    weight: SubjectWeight<'_>,
    bench: &mut B,
) -> Result<Searched, B::Error> {
    let mut search =
        Search { bench, weight, found: Searched::default(), logs: BTreeMap::new(), deviations: BTreeMap::new() };
    let alone = search.around(factors);
    search.measure(Stage::Alone, &alone)?;
    search.found.base = search.combine(factors);
    let around = search.around(factors);
    search.measure(Stage::Foldover, &around)?;
    search.found.finalists = search.finalists();
    Ok(search.found)
}

/// The settings without one.
fn without(settings: &Settings, name: &String) -> Settings {
    settings.clone().into_iter().filter(|(other, _)| other != name).collect()
}

/// The settings with a factor at a value; without one, at its default.
fn set(settings: &Settings, factor: &Factor, value: Option<&String>) -> Settings {
    let value = value.map(|value| (factor.name.clone(), value.clone()));
    without(settings, &factor.name).into_iter().chain(value).collect()
}

struct Search<'a, B> {
    bench: &'a mut B,
    weight: SubjectWeight<'a>,
    found: Searched,
    /// The log speedups of the combinations over the default in all blocks.
    logs: BTreeMap<Settings, BTreeMap<ArmSubject, f64>>,
    /// The standard deviations between blocks of the log speedups of subjects.
    deviations: BTreeMap<ArmSubject, f64>,
}

impl<B: ArmLauncher> Search<'_, B> {
    /// Runs blocks of combinations in all rounds, without those that have failed, as long as there is time.
    fn measure(&mut self, stage: Stage, combinations: &[Settings]) -> Result<(), B::Error> {
        let reference = self.found.base.clone();
        let at_once = AT_ONCE - usize::from(!reference.is_empty());
        let first = self.found.blocks.len();
        'rounds: for _ in 0..ROUNDS {
            let working = combinations.iter().filter(|settings| !self.found.failed.contains(*settings));
            let working: Vec<Settings> = working.cloned().collect();
            for others in working.chunks(at_once) {
                let base = Some(&reference).filter(|reference| !reference.is_empty());
                let together: Vec<Settings> = base.into_iter().chain(others).cloned().collect();
                let number = (self.found.blocks.len() - first) as u32;
                let block = self.bench.block(stage, number, (&Settings::new(), &together), None)?;
                let Some(block) = block else { break 'rounds };
                let failed = together.iter().filter(|settings| !block.launches.contains_key(*settings));
                self.found.failed.extend(failed.cloned());
                self.found.blocks.push(block);
            }
        }
        let blocks = &self.found.blocks;
        self.logs = block::mean_log_speedups(blocks, (&blocks[first..], &reference));
        self.deviations = block::deviations(&self.found.blocks);
        Ok(())
    }

    /// The mean log speedup of a combination over the default where speed is asked for, less its log slowdowns anywhere
    /// beyond chance, and less what each setting has to add. None if its jobs fail.
    fn score(&self, settings: &Settings) -> Option<f64> {
        let blocks = self.found.blocks.iter().filter(|block| block.launches.contains_key(settings)).count() as f64;
        let loss = |(subject, log): (&ArmSubject, &f64)| {
            let deviation = self.deviations.get(subject).copied().unwrap_or(CHANCE);
            (-log - CHANCE.max(ERRORS * deviation / blocks.sqrt())).max(0.0)
        };
        let losses: f64 = self.logs.get(settings).into_iter().flatten().map(loss).sum();
        let gain = self.gain(settings).filter(|_| !self.found.failed.contains(settings))?;
        Some(gain - LOSS_WEIGHT * losses - LEAST_GAIN * settings.len() as f64)
    }

    /// The mean log speedup of a combination over the default where speed is asked for.
    fn gain(&self, settings: &Settings) -> Option<f64> {
        if settings.is_empty() {
            return Some(0.0);
        }
        block::weighted_mean(self.logs.get(settings)?, self.weight)
    }

    /// The combination of the values that are faster alone.
    fn combine(&self, factors: &[Factor]) -> Settings {
        let best = |factor: &Factor| {
            let alone = |value| self.score(&set(&Settings::new(), factor, Some(value)));
            let scored = factor.values.iter().filter_map(|value| Some((alone(value)?, value)));
            let faster = scored.filter(|(score, _)| *score > 0.0);
            let (_, best) = faster.max_by(|one, other| one.0.total_cmp(&other.0))?;
            Some((factor.name.clone(), best.clone()))
        };
        factors.iter().filter_map(best).collect()
    }

    /// The combinations that differ from the best one in one setting, at first from the default: those without one of its
    /// settings, and others that have no result so far.
    fn around(&self, factors: &[Factor]) -> Vec<Settings> {
        let base = &self.found.base;
        let mut around = Vec::new();
        for factor in factors {
            let values = factor.values.iter().map(Some).chain([None]);
            let other = values.map(|value| set(base, factor, value)).filter(|settings| settings != base);
            // Values that failed alone are not tried again.
            let is_open = |settings: &Settings| {
                let alone = set(&Settings::new(), factor, settings.get(&factor.name));
                let is_part = !settings.contains_key(&factor.name);
                let is_new = !self.is_tried(settings) && !self.found.failed.contains(&alone);
                !settings.is_empty() && (is_part || is_new)
            };
            around.extend(other.filter(is_open));
        }
        around
    }

    fn is_tried(&self, settings: &Settings) -> bool {
        self.logs.contains_key(settings) || self.found.failed.contains(settings)
    }

    /// The combinations with the largest scores, the best first.
    fn best(&self, count: usize) -> Vec<Settings> {
        let scored = self.logs.keys().filter_map(|settings| Some((self.score(settings)?, settings)));
        let mut ranked: Vec<(f64, &Settings)> = scored.filter(|(score, _)| *score > 0.0).collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        ranked.into_iter().take(count).map(|(_, settings)| settings.clone()).collect()
    }

    /// The combination of the values that are faster alone, without those that add too little to the others. Those of which the
    /// foldover tells nothing stay.
    fn without_idle(&self) -> Settings {
        let base = &self.found.base;
        let adds = |name: &String| Some(self.gain(base)? - self.gain(&without(base, name))? > LEAST_ADDED);
        base.clone().into_iter().filter(|(name, _)| adds(name).unwrap_or(true)).collect()
    }

    /// As many as there is room for: the best combination; that of the values that are faster alone and add something to each
    /// other; the next best, since single launches do not rank combinations that are alike; the best one without each of its
    /// settings, which remains if that slows something down; others that are faster; and the fastest one, from which a program
    /// may gain.
    fn finalists(&self) -> Vec<Settings> {
        let ranked = self.best(FINALISTS);
        let mut finalists: Vec<Settings> = ranked.first().cloned().into_iter().collect();
        let best = finalists.first().cloned().unwrap_or_default();
        let joined = Some(self.without_idle()).filter(|settings| !self.found.failed.contains(settings));
        let alike = joined.into_iter().chain(ranked.iter().skip(1).take(1).cloned());
        let rest = best.keys().map(|name| without(&best, name));
        for settings in alike.chain(rest).chain(ranked.iter().cloned()).chain(self.fastest()) {
            if finalists.len() < FINALISTS && !settings.is_empty() && !finalists.contains(&settings) {
                finalists.push(settings);
            }
        }
        finalists
    }

    /// The combination with the largest gain, whatever it slows down.
    fn fastest(&self) -> Option<Settings> {
        let gains = self.logs.keys().filter_map(|settings| Some((self.gain(settings)?, settings)));
        let (gain, fastest) = gains.max_by(|one, other| one.0.total_cmp(&other.0))?;
        (gain > LEAST_GAIN).then(|| fastest.clone())
    }
}
