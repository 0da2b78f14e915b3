//! The part of `tune` that searches for settings: after its rules are proven and compared.

use std::time::Instant;

use collrules_record::condition::Condition;
use collrules_record::estimate::mean;
use collrules_record::options::{TimingOptions, TuneOptions};
use collrules_record::plan::Schedule;
use collrules_record::settings::{
    FORMAT, FailedSettings, LeftOutSetting, Measure, RulesUse, SearchStage, SettingEffect, Settings, SettingsFindings,
};
use collrules_record::{Bytes, Cell, Seconds};
use collrules_report::progress;
use collrules_rules::settings::offer::Setting;
use collrules_tuner::settings::{
    Confirmation, Factor, Searched, SettingsBlock, confirm, default_launches, search as run_design, speedups, weight_of,
};

use super::jobs::{SettingsJobs, Subjects};
use super::list::{find, leave_out_serving};
use super::subjects::{CLASSES, Weights, class, guard_cells, guard_patterns, screened};
use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::plan::{SETTINGS, settings_share, timed};
use crate::publish::Published;
use crate::session::Session;
use crate::{profile, time_budget};

/// Smallest measuring time of a launch for each subject of the confirmation, in seconds: with one or two rounds,
/// launches differ by the noise of single calls.
const MEASURING_PER_SUBJECT: f64 = 0.02;

/// Share of the time for the search; the rest is for the confirmation, which leaves what it does not need to the rules
/// under the settings.
const SEARCH_SHARE: f64 = 0.4;

/// Share of the time for rules under the settings, if there are rules.
const RULES_SHARE: f64 = 0.2;

/// Number of launches with all subjects for which the time of a confirmation is enough.
pub(super) const CONFIRMING_LAUNCHES: f64 = 30.0;

/// Blocks of a search, each with a launch of about every value: two alone, and two of the foldover.
const BLOCKS: f64 = 4.0;

/// Smallest measuring time of a launch, in seconds.
const LEAST_MEASURING: f64 = 0.1;

/// Searches for settings, compares the best with the default, and adds confirmed ones to the tuning.
pub(crate) fn search(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &mut Published,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    if options.settings.none || published.settings.is_some() {
        return Ok(());
    }
    let searching = Instant::now();
    let found = find_settings(measured, options, published, session)?;
    measured.phases.leave_out(searching);
    found.map_or(Ok(()), |found| published.install_settings(found, session))
}

/// The result of a search; none if there is nothing to try, or no time.
fn find_settings(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &Published,
    session: &mut Session<'_>,
) -> Result<Option<SettingsFindings>, WorkflowError> {
    let mut settings = match find(&measured.started, &options.settings.requests) {
        Err(why) if options.settings.requests.is_empty() => {
            session.say(&progress::settings::not_searched(&why));
            return Ok(None);
        }
        found => found?,
    };
    leave_out_serving(&mut measured.started, &mut settings)?;
    let factors = factors(&settings, options);
    if factors.is_empty() {
        return Ok(None);
    }
    let startup = measured.started.startup;
    // Rules that took longer than planned leave less, but not nothing.
    let least = measured.experiment.budget.map_or(0.0, |rules| settings_share(rules).0 / 2.0);
    let share = time_left(measured, least);
    let values: usize = factors.iter().map(|factor| factor.values.len()).sum();
    let of_block = (values + default_launches(SearchStage::Alone, values)) as f64;
    let least = of_block * (startup.0 + LEAST_MEASURING) / SEARCH_SHARE;
    if share.is_some_and(|share| share < least) {
        session.say(&progress::settings::budget_too_short(startup, Seconds(least / SETTINGS)));
        return Ok(None);
    }
    let has_rules = options.validate && !published.rules_settings().is_empty();
    let kept =
        if has_rules { time_for_rules(measured).min(share.map_or(0.0, |share| RULES_SHARE * share)) } else { 0.0 };
    let asked = weights(published);
    let ranks = measured.manifest.plan.ranks;
    session.say(&progress::settings::trying(values, factors.len()));
    let launch = share.map(|share| share * SEARCH_SHARE / (BLOCKS * of_block) - startup.0);
    let schedule = |budget: Option<f64>| {
        let budget = budget.map(|budget| Seconds(budget.max(LEAST_MEASURING)));
        schedule_of(&options.timing, startup, budget)
    };
    let survey = measured.started.survey.clone();
    let (guards, patterns) = (guard_cells(&asked, ranks), guard_patterns(&survey, ranks));
    let screened = screened(&asked);
    let subjects = Subjects { cells: screened.keys().chain(&guards).copied().collect(), patterns: patterns.clone() };
    let Measurement { started, manifest, campaign, .. } = measured;
    let place = (&campaign.run, &manifest.plan);
    let mut jobs =
        SettingsJobs::new(started.backend.as_mut(), place, (subjects, schedule(launch)), options.seed, session);
    jobs.limit_to(share.map(|share| share * SEARCH_SHARE));
    let searched = run_design(&factors, &|measure| weight_of(&screened, measure), &mut jobs)?;
    let (obeyed, ignored) = jobs.separate_ignored(searched.finalists.clone())?;
    let left = share.map(|share| share - kept - jobs.spent);
    jobs.subjects = Subjects { cells: asked.keys().copied().chain(guards).collect(), patterns };
    let least = least_measuring(jobs.subjects.count());
    jobs.schedule = schedule(left.map(|left| (left / CONFIRMING_LAUNCHES - startup.0).max(least)));
    jobs.limit_to(left);
    let always = screened.keys().copied().map(Measure::Call).collect();
    for settings in &obeyed {
        jobs.session.say(&progress::settings::comparing(settings));
    }
    let confirmation = Confirmation {
        finalists: &obeyed,
        asked: &asked,
        always: &always,
        max_loss: options.max_loss,
        min_gain: options.criteria.min_gain,
        stage: SearchStage::Confirmation,
    };
    let (mut finalists, chosen) = confirm(&confirmation, &mut jobs)?;
    for finalist in &mut finalists {
        if !published.rules_settings().is_empty() {
            finalist.rules = RulesUse::NotCompared;
        }
        finalist.memory = jobs.memory(SearchStage::Confirmation, &finalist.settings);
    }
    let (launches, seconds) =
        jobs.journal.launches().fold((0, 0.0), |(count, sum), launch| (count + 1, sum + launch.seconds.0));
    let failed = jobs.journal.launches().filter_map(|launch| {
        let why = launch.outcome.as_ref().err()?.clone();
        Some(FailedSettings { settings: launch.settings.clone(), why })
    });
    let mut failed: Vec<FailedSettings> = failed.collect();
    failed.dedup();
    failed.extend(ignored);
    let left_out = settings
        .iter()
        .filter_map(|setting| Some(LeftOutSetting { name: setting.name.clone(), why: setting.left_out.clone()? }));
    let mut nodes = survey.hosts.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let found = SettingsFindings {
        format: FORMAT,
        nodes,
        ranks,
        launches,
        seconds: Seconds(seconds),
        effects: effects(&factors, &searched),
        left_out: left_out.collect(),
        failed,
        finalists,
        chosen,
        validation: None,
    };
    Ok(Some(found))
}

/// The weights of the cells of a run in a mean speedup: programs' time in them if it is known, else equal ones. Sizes
/// between those of the grid have none: they lie where algorithms change.
pub(super) fn weights(published: &Published) -> Weights {
    let manifest = published.manifest.as_ref();
    let known = manifest.map(profile::weights).unwrap_or_default();
    let time = |cell: Cell| known.iter().filter(|weight| weight.cell == cell).map(|weight| weight.time.0).sum::<f64>();
    let grid = |cell: Cell| {
        let is_planned = manifest.is_none_or(|manifest| manifest.plan.cells.iter().any(|planned| planned.cell == cell));
        f64::from(u8::from(is_planned))
    };
    let cells = published.findings.cells.iter().map(|cell| cell.cell);
    cells.map(|cell| (cell, if known.is_empty() { grid(cell) } else { time(cell) })).collect()
}

/// The schedule of a launch. Launches are compared by their means, not by visits in them: a few long visits, since short
/// calls take few steps of the clock.
pub(super) fn schedule_of(timing: &TimingOptions, startup: Seconds, budget: Option<Seconds>) -> Schedule {
    let usual = Schedule {
        rounds_per_visit: 12,
        min_rounds: 60,
        max_rounds: 240,
        startup,
        budget,
        condition: Condition::UNALIGNED,
        ..Schedule::default()
    };
    timed(timing, usual)
}

/// The smallest measuring time of a launch that confirms, in seconds.
pub(super) fn least_measuring(subjects: usize) -> f64 {
    MEASURING_PER_SUBJECT * subjects as f64
}

/// The seconds left for settings, and at least this many of the budget: its rest, or that of the batch job.
pub(super) fn time_left(measured: &Measurement, least: f64) -> Option<f64> {
    let elapsed = measured.phases.whole();
    let share = measured.experiment.budget.map(|rules| (rules.0 + settings_share(rules).0 - elapsed).max(least));
    let left = measured.started.allocation.as_ref().and_then(|allocation| allocation.left);
    let Some(Seconds(left)) = left else { return share };
    let most = (left - elapsed - time_budget::LEAVE).max(0.0) / time_budget::EXCESS;
    Some(share.map_or(most, |share| share.min(most)))
}

/// The seconds that are kept for comparing rules under settings.
pub(super) fn time_for_rules(measured: &Measurement) -> f64 {
    measured.experiment.budget.map_or(0.0, |rules| RULES_SHARE * settings_share(rules).0)
}

/// The settings to try with their values.
fn factors(settings: &[Setting], options: &TuneOptions) -> Vec<Factor> {
    let only = options.settings.only;
    let requested = |setting: &&Setting| !only || options.settings.requests.iter().any(|it| it.name() == setting.name);
    let tried = settings.iter().filter(|setting| setting.left_out.is_none()).filter(requested);
    tried.map(|setting| Factor { name: setting.name.clone(), values: setting.values.clone() }).collect()
}

/// The effect of each value: alone, and with the other settings of the best combination.
fn effects(factors: &[Factor], searched: &Searched) -> Vec<SettingEffect> {
    let Searched { blocks, base, .. } = searched;
    let with = |settings: &Settings, factor: &Factor, value: &String| {
        let mut with = settings.clone();
        with.insert(factor.name.clone(), value.clone());
        (with, settings.clone())
    };
    let effects = factors.iter().flat_map(|factor| {
        let mut others = base.clone();
        others.remove(&factor.name);
        let pairs = move |value| (with(&Settings::new(), factor, value), with(&others, factor, value));
        factor.values.iter().map(move |value| (factor, value, pairs(value)))
    });
    let effects: Vec<_> = effects.collect();
    let pairs = effects.iter().flat_map(|(.., (alone, combined))| [alone.clone(), combined.clone()]);
    let found = speedups(blocks, pairs.collect());
    let effect = |(factor, value, (alone, combined)): (&Factor, &String, (_, (_, Settings)))| SettingEffect {
        name: factor.name.clone(),
        value: value.clone(),
        alone: found.get(&alone).copied(),
        combined: found.get(&combined).copied().filter(|_| !combined.1.is_empty()),
        classes: by_class(blocks, &alone.0),
    };
    effects.into_iter().map(effect).collect()
}

/// The speedup for each class of message sizes.
fn by_class(blocks: &[SettingsBlock], settings: &Settings) -> Vec<(Bytes, f64)> {
    let ends = CLASSES.into_iter().chain([u64::MAX]);
    let classes = ends.enumerate().filter_map(|(place, end)| {
        let is_of_class = |cell: &Cell| cell.collective.has_sizes() && class(cell.bytes) == place;
        let wanted =
            |measure: &Measure| f64::from(u8::from(matches!(measure, Measure::Call(cell) if is_of_class(cell))));
        let logs: Vec<f64> =
            blocks.iter().filter_map(|block| block.mean_log_speedup(settings, &Settings::new(), &wanted)).collect();
        (!logs.is_empty()).then(|| (Bytes(end), mean(logs).exp()))
    });
    classes.collect()
}
