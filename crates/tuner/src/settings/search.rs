//! The design of the search.
//!
//! One setting at a time around the default, the better half of the values once more, then one at a time around the
//! best combination (a foldover): settings have several values, most have no effect, and a value that crashes or hangs
//! would spoil half of the launches of a fractional factorial design. Because of interactions, a value alone and with
//! others has different effects. Then the best combinations are measured in further blocks, and half of them are
//! dropped each time (successive halving), so that the best of many noisy results is measured again.

use std::collections::BTreeSet;

use collrules_record::estimate::mean;
use collrules_record::settings::{SearchStage, Settings};

use super::block::{SettingsBlock, by_subject, mean_over_blocks};

/// Number of combinations at the start of successive halving.
const CONTENDERS: usize = 4;

/// Number of combinations at its end.
const FINALISTS: usize = 2;

/// Smallest log speedup of a value that becomes part of the best combination.
const LEAST_GAIN: f64 = 0.02;

/// Largest loss of a subject, as a logarithm, in a gentle combination.
const GENTLE_LOSS: f64 = 0.05;

/// A setting with the values to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The setting.
    pub name: String,
    /// The values, without the default.
    pub values: Vec<String>,
}

/// A launcher of jobs with settings.
pub trait SettingsLauncher {
    /// Error that ends a search.
    type Error;

    /// Runs a block: one launch of the default and one of each combination. Combinations whose jobs fail are missing in
    /// it. None if no time is left.
    fn block(
        &mut self,
        stage: SearchStage,
        number: u32,
        combinations: &[Settings],
    ) -> Result<Option<SettingsBlock>, Self::Error>;
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// All blocks, in order.
    pub blocks: Vec<SettingsBlock>,
    /// The best combinations, the best first: all measured faster than the default.
    pub finalists: Vec<Settings>,
    /// The combination around which the foldover varies settings.
    pub base: Settings,
    /// Combinations whose jobs failed.
    pub failed: BTreeSet<Settings>,
}

/// Searches for the settings with the largest speedup, as a geometric mean over all subjects.
pub fn search<B: SettingsLauncher>(factors: &[Factor], bench: &mut B) -> Result<Searched, B::Error> {
    let mut search = Search { bench, found: Searched::default(), wanted: BTreeSet::new() };
    let alone: Vec<Settings> = factors
        .iter()
        .flat_map(|factor| factor.values.iter().map(|value| set(&Settings::new(), factor, Some(value))))
        .collect();
    if search.run(SearchStage::Alone, 0, &alone)? {
        let better = search.better_half(&alone);
        search.run(SearchStage::Alone, 1, &better)?;
        search.found.base = search.combine(factors);
        if search.found.base.len() > 1 || factors.len() > 1 && !search.found.base.is_empty() {
            let around = search.around(factors);
            search.run(SearchStage::Foldover, 0, &around)?;
        }
        search.halve()?;
    }
    Ok(search.found)
}

/// The settings with a factor at a value; without one, at its default.
fn set(settings: &Settings, factor: &Factor, value: Option<&String>) -> Settings {
    let mut settings = settings.clone();
    match value {
        Some(value) => drop(settings.insert(factor.name.clone(), value.clone())),
        None => drop(settings.remove(&factor.name)),
    }
    settings
}

struct Search<'a, B> {
    bench: &'a mut B,
    found: Searched,
    wanted: BTreeSet<Settings>,
}

impl<B: SettingsLauncher> Search<'_, B> {
    /// Runs a block of the combinations that have not failed; returns false if no time was left.
    fn run(&mut self, stage: SearchStage, number: u32, combinations: &[Settings]) -> Result<bool, B::Error> {
        let combinations: Vec<Settings> =
            combinations.iter().filter(|settings| !self.found.failed.contains(*settings)).cloned().collect();
        if combinations.is_empty() {
            return Ok(false);
        }
        let Some(block) = self.bench.block(stage, number, &combinations)? else { return Ok(false) };
        let failed = combinations.iter().filter(|settings| !block.launches.contains_key(*settings));
        self.found.failed.extend(failed.cloned());
        self.wanted.extend(combinations);
        self.found.blocks.push(block);
        Ok(true)
    }

    /// The mean logarithm of a combination's speedup over the default, over all its blocks.
    fn score(&self, settings: &Settings) -> Option<f64> {
        if settings.is_empty() {
            return Some(0.0);
        }
        mean_over_blocks(&self.found.blocks, settings)
    }

    /// The better half of combinations.
    fn better_half(&self, combinations: &[Settings]) -> Vec<Settings> {
        let scored = combinations.iter().filter_map(|settings| Some((self.score(settings)?, settings)));
        let mut scored: Vec<(f64, &Settings)> = scored.collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        let half = scored.len().div_ceil(2);
        scored.into_iter().take(half).map(|(_, settings)| settings.clone()).collect()
    }

    /// The combination of the values that are faster alone.
    fn combine(&self, factors: &[Factor]) -> Settings {
        let mut base = Settings::new();
        for factor in factors {
            let scored = factor.values.iter().filter_map(|value| {
                let score = self.score(&set(&Settings::new(), factor, Some(value)))?;
                (score > LEAST_GAIN).then_some((score, value))
            });
            if let Some((_, best)) = scored.max_by(|one, other| one.0.total_cmp(&other.0)) {
                base = set(&base, factor, Some(best));
            }
        }
        base
    }

    /// The best combination, and all that differ from it in one setting.
    fn around(&self, factors: &[Factor]) -> Vec<Settings> {
        let base = &self.found.base;
        let mut around = vec![base.clone()];
        for factor in factors {
            let values = factor.values.iter().map(Some).chain([None]);
            let other = values.map(|value| set(base, factor, value)).filter(|settings| settings != base);
            // Values that failed alone are not tried again, and combinations that were measured have results.
            let is_open = |settings: &Settings| {
                let value = settings.get(&factor.name);
                let alone = set(&Settings::new(), factor, value);
                !settings.is_empty() && (alone.is_empty() || !self.found.failed.contains(&alone))
            };
            around.extend(other.filter(is_open));
        }
        around
    }

    /// The combinations with the largest speedups, the best first; the first gentle one is among them.
    fn best(&self, count: usize, among: &BTreeSet<Settings>) -> Vec<Settings> {
        let scored = among.iter().filter(|settings| !self.found.failed.contains(*settings));
        let mut scored: Vec<(f64, &Settings)> = scored
            .filter_map(|settings| Some((self.score(settings)?, settings)))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        let gentle = scored.iter().map(|(_, settings)| *settings).find(|settings| self.is_gentle(settings));
        let mut best: Vec<Settings> = scored.iter().take(count).map(|(_, settings)| (*settings).clone()).collect();
        if let Some(gentle) = gentle.filter(|gentle| !best.contains(gentle)) {
            best.truncate(count.saturating_sub(1).max(1));
            best.push(gentle.clone());
        }
        best
    }

    /// Returns true if no subject has a loss above the limit for gentle combinations in these blocks.
    fn is_gentle(&self, settings: &Settings) -> bool {
        let subjects = by_subject(&self.found.blocks, settings, &Settings::new());
        subjects.values().all(|logs| mean(logs.values()) > -GENTLE_LOSS)
    }

    /// Measures the best combinations again, half as many each time, down to the finalists.
    fn halve(&mut self) -> Result<(), B::Error> {
        let mut contenders = self.best(CONTENDERS, &self.wanted.clone());
        let mut number = 0;
        while contenders.len() > FINALISTS {
            if !self.run(SearchStage::Halving, number, &contenders)? {
                break;
            }
            number += 1;
            let among = contenders.iter().cloned().collect();
            contenders = self.best(contenders.len().div_ceil(2).max(FINALISTS), &among);
        }
        let among = contenders.into_iter().collect();
        self.found.finalists = self.best(FINALISTS, &among);
        Ok(())
    }
}
