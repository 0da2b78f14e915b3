//! Rules under the chosen settings: tuned again with them, and compared with those that were decided without them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collrules_record::experiment::Experiment;
use collrules_record::options::{Request, SystemOptions, TuneOptions};
use collrules_record::rundir;
use collrules_record::settings::{Guard, Measure, RulesUse, SearchStage, Settings, SettingsFindings};
use collrules_record::{Cell, Estimate, HanRule, Seconds};
use collrules_report::progress;
use collrules_tuner::settings::{ERROR, SettingsBlock, SettingsLauncher, guard, mean_speedup, weight_of};

use super::jobs::{SettingsJobs, Subjects};
use super::stage::{least_measuring, schedule_of, time_for_rules, time_left, weights};
use super::subjects::Weights;
use crate::campaign::{Begin, Measurement, RunPlace};
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::Session;
use crate::validate;

/// Share of the time left for tuning again; the rest is for the comparison.
const TUNING_SHARE: f64 = 0.6;

/// Greatest number of blocks of the comparison.
const BLOCKS: u32 = 64;

/// Smallest time for tuning again, in starts of a job.
const LEAST_STARTS: f64 = 20.0;

/// The tuning to make under the settings that a search chose; none if it chose none, or there is no time.
pub(crate) fn plan_under_settings(
    measured: &Measurement,
    options: &TuneOptions,
    published: &Published,
    session: &mut Session<'_>,
) -> Result<Option<Begin>, WorkflowError> {
    if published.settings.as_ref().and_then(SettingsFindings::chosen).is_none() {
        return Ok(None);
    }
    let path = measured.run().file(rundir::WITH_SETTINGS);
    if path.join(rundir::MANIFEST).exists() {
        return Begin::recorded(&path).map(Some);
    }
    let budget = time_left(measured, 0.0).map(|left| Seconds(TUNING_SHARE * left));
    let least = LEAST_STARTS * measured.started.startup.0;
    if !options.validate || budget.is_some_and(|budget| budget.0 < least) {
        session.say(&progress::settings::rules_stay(options.validate));
        return Ok(None);
    }
    let experiment = Experiment { budget, also_layout: Vec::new(), ..measured.experiment.clone() };
    let mut again = options.clone();
    (again.budget, again.settings.none, again.also_layout) = (budget, true, Vec::new());
    session.say(&progress::settings::tuning_rules(&path));
    Ok(Some(Begin { experiment, request: Request::Tune(Box::new(again)), place: RunPlace::New(path) }))
}

/// Carries out work in launches all of which have these settings, also those with the default.
pub(crate) fn under_settings<T>(
    settings: &Settings,
    session: &mut Session<'_>,
    work: impl FnOnce(&mut Session<'_>) -> Result<T, WorkflowError>,
) -> Result<T, WorkflowError> {
    let Session { stop, failures, command, start, watch } = session;
    let start = |system: &SystemOptions, stop: &Arc<AtomicBool>| {
        let mut started = start(system, stop)?;
        started.backend.leave_out(settings);
        started.pins.extend(settings.clone());
        Ok(started)
    };
    let (stop, failures, command) = (Arc::clone(stop), *failures, command.clone());
    work(&mut Session { stop, failures, command, start: &start, watch: *watch })
}

/// Compares the chosen settings alone, with the rules of the run, and with those that were tuned again. The parameter
/// files get the fastest. Rules of the run that may be slower under the settings are removed.
pub(crate) fn compare_rules(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &mut Published,
    again: Option<Published>,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let Some(mut found) = published.settings.clone() else { return Ok(()) };
    let Some(chosen) = found.chosen() else { return Ok(()) };
    // A resumed run has compared them before.
    if !options.validate || (again.is_none() && chosen.rules_alone.is_some()) {
        return Ok(());
    }
    let chosen = chosen.settings.clone();
    let (rules, asked) = (published.rules_settings(), weights(published));
    let alternatives = alternatives(&rules, &chosen, again);
    if alternatives.is_empty() {
        return Ok(());
    }
    let mut open: Vec<Settings> = alternatives.values().cloned().collect();
    open.push(chosen.clone());
    open.extend(Some(rules.clone()).filter(|rules| !rules.is_empty()));
    session.say(progress::settings::comparing_rules());
    let blocks = measure_blocks(measured, options, &asked, &open, session)?;
    let compared = RulesUnderSettings { blocks, asked, chosen, max_loss: options.max_loss };
    let Some(alone) = compared.speedup(&compared.chosen) else { return Ok(()) };
    let losses: BTreeMap<RulesUse, Vec<Cell>> =
        alternatives.iter().map(|(rules, settings)| (*rules, compared.losses(*rules, settings, published))).collect();
    let speedups = alternatives.iter().filter_map(|(rules, settings)| Some((*rules, compared.speedup(settings)?)));
    let fastest = |speedups: &mut dyn Iterator<Item = (RulesUse, Estimate)>| {
        speedups.max_by(|(_, one), (_, other)| one.point.total_cmp(&other.point))
    };
    let adds = |rules: &RulesUse| alternatives.get(rules).is_some_and(|settings| compared.adds(settings));
    let is_harmless = |rules: &RulesUse| losses.get(rules).is_some_and(Vec::is_empty);
    let harmless = fastest(&mut speedups.clone().filter(|(rules, _)| is_harmless(rules) && adds(rules)));
    if let Some(finalist) = found.chosen.and_then(|chosen| found.finalists.get_mut(chosen)) {
        finalist.speedup = alone;
        finalist.rules_alone = compared.speedup(&rules).filter(|_| !rules.is_empty());
        // Rules that add nothing are shown with what they do.
        let shown = harmless.or_else(|| fastest(&mut speedups.clone()));
        finalist.with_rules = shown.map(|(_, speedup)| speedup);
        let otherwise = if shown.is_some() { RulesUse::LeftOut } else { RulesUse::NotCompared };
        finalist.rules = harmless.map_or(otherwise, |(rules, _)| rules);
    }
    let unsafe_cells = losses.get(&RulesUse::Shared).cloned().unwrap_or_default();
    if !unsafe_cells.is_empty() {
        validate::revert(measured, options, published, unsafe_cells, session)?;
    }
    published.install_settings(found, session)
}

/// The rules to compare under the chosen settings, as settings of a whole job.
fn alternatives(rules: &Settings, chosen: &Settings, again: Option<Published>) -> BTreeMap<RulesUse, Settings> {
    let mut alternatives = BTreeMap::new();
    if !rules.is_empty() {
        let both = rules.iter().chain(chosen).map(|(name, value)| (name.clone(), value.clone()));
        alternatives.insert(RulesUse::Shared, both.collect());
    }
    let again = again.filter(Published::is_confirmed).map(|again| again.rules_settings());
    if let Some(again) = again.filter(|again| !again.is_empty()) {
        alternatives.insert(RulesUse::Own, again);
    }
    alternatives
}

/// Launches with the chosen settings, and with rules besides.
struct RulesUnderSettings {
    blocks: Vec<SettingsBlock>,
    asked: Weights,
    chosen: Settings,
    max_loss: f64,
}

impl RulesUnderSettings {
    /// The speedup over the default.
    fn speedup(&self, settings: &Settings) -> Option<Estimate> {
        let weight = |measure: &Measure| weight_of(&self.asked, measure);
        mean_speedup(&self.blocks, settings, &Settings::new(), &weight)
    }

    /// Returns true if rules are shown to be faster than the settings alone.
    fn adds(&self, settings: &Settings) -> bool {
        let weight = |measure: &Measure| weight_of(&self.asked, measure);
        let added = mean_speedup(&self.blocks, settings, &self.chosen, &weight);
        added.and_then(|added| added.low).is_some_and(|low| low > 1.0)
    }

    /// The cells that lose against the settings alone. For rules that were compared without the settings only, a loss
    /// has to be excluded.
    fn losses(&self, rules: RulesUse, settings: &Settings, published: &Published) -> Vec<Cell> {
        let is_lost = |cell: Cell, guard: Guard| match rules {
            RulesUse::Shared => guard != Guard::Passed && acts_on(published, cell),
            RulesUse::Own | RulesUse::LeftOut | RulesUse::NotCompared => guard == Guard::Lost,
        };
        let guards = guard(&self.blocks, settings, &self.chosen, self.max_loss, ERROR).into_iter();
        let lost = guards.filter_map(|(measure, (_, guard))| match measure {
            Measure::Call(cell) => Some(cell).filter(|cell| is_lost(*cell, guard)),
            Measure::Messages(..) => None,
        });
        lost.collect()
    }
}

/// Returns true if a rule acts on a cell.
fn acts_on(published: &Published, cell: Cell) -> bool {
    let Some(tuning) = &published.tuning else { return false };
    let at = cell.lookup_bytes(published.findings.release);
    !tuning.choice(cell.collective, cell.ranks, at).is_builtin() || tuning.han_rule(cell) != HanRule::Default
}

/// Blocks of launches with these combinations and with the default, to their greatest number or the end of the time.
fn measure_blocks(
    measured: &mut Measurement,
    options: &TuneOptions,
    asked: &Weights,
    open: &[Settings],
    session: &mut Session<'_>,
) -> Result<Vec<SettingsBlock>, WorkflowError> {
    let (left, startup) = (time_left(measured, time_for_rules(measured)), measured.started.startup);
    let launches = f64::from(BLOCKS) * (open.len() as f64 + 1.0);
    let launch = left.map(|left| Seconds((left / launches - startup.0).max(least_measuring(asked.len()))));
    let subjects = Subjects { cells: asked.keys().copied().collect(), patterns: Vec::new() };
    let schedule = schedule_of(&options.timing, startup, launch);
    let Measurement { started, manifest, campaign, .. } = measured;
    let place = (&campaign.run, &manifest.plan);
    let mut jobs = SettingsJobs::new(started.backend.as_mut(), place, (subjects, schedule), options.seed, session);
    jobs.limit_to(left);
    let mut blocks = Vec::new();
    while (blocks.len() as u32) < BLOCKS {
        match jobs.block(SearchStage::Rules, blocks.len() as u32, open)? {
            Some(block) => blocks.push(block),
            None => break,
        }
    }
    Ok(blocks)
}
