//! The part of `tune` that searches for settings, compares the best with the default, and the rules under these.

use std::collections::BTreeMap;

use collrules_record::comparison::ArmLaunch;
use collrules_record::findings::CellFinding;
use collrules_record::options::TuneOptions;
use collrules_record::rundir::ComparisonLog;
use collrules_record::settings::{
    FORMAT, FailedSettings, Finalist, LeftOutSetting, RulesUse, SettingEffect, SettingsFailure, SettingsFindings,
    describe,
};
use collrules_record::validation::{Round, ValidationCriteria};
use collrules_record::{
    ArmSubject, Bytes, Candidate, Cell, Condition, Estimate, Ranks, Seconds, Settings, Stage, Step, Survey,
    TuningState, Validation,
};
use collrules_report::settings::failure;
use collrules_rules::settings::offer::Setting;
use collrules_runner::Backend;
use collrules_runner::circumstances::is_same_value;
use collrules_tuner::comparison::{
    AT_ONCE, ArmBlock, CLASSES, Compared, Comparison, Factor, Looks, Searched, class, compare, mean_speedup,
    search as run_design, speedups,
};

use super::{describe_finalist, find, loss_demand};
use crate::budget::{SEARCH, SETTINGS, UNDER_SETTINGS};
use crate::campaign::Measurement;
use crate::comparison::{
    ArmJobs, CellWeights, JobLauncher, OWN_START, first_line, guard_cells, guard_patterns, list_messages,
    loop_schedule, measuring_time, screened,
};
use crate::error::WorkflowError;
use crate::prove::ProvenRun;
use crate::publish::Published;

/// Rounds of a search, each with a launch of about every value: two alone, and two of the foldover.
const ROUNDS: f64 = 4.0;

/// Blocks before the first look at the best combinations.
const FIRST_LOOK: u32 = 4;

/// The settings to try, with those that are left out.
pub(crate) struct SettingsPlan {
    all: Vec<Setting>,
    factors: Vec<Factor>,
}

impl ProvenRun<'_, '_> {
    /// Plans a search for settings; none if none is wanted, or there is nothing to try.
    pub(crate) fn plan_search(&mut self) -> Result<Option<SettingsPlan>, WorkflowError> {
        let Self { measured, options, published, session } = self;
        if !measured.experiment.searches || published.settings.is_some() || published.state.has(Step::Search) {
            return Ok(None);
        }
        let all = match find(&measured.started, &options.settings.requests) {
            Err(why) if options.settings.requests.is_empty() => {
                session.say(&format!("settings: not searched: {why}"));
                return Ok(None);
            }
            found => found?,
        };
        let factors = factors(&all, options);
        Ok((!factors.is_empty()).then_some(SettingsPlan { all, factors }))
    }

    /// Searches for settings, and compares the best with the default.
    pub(crate) fn search(&mut self, plan: Option<SettingsPlan>) -> Result<(), WorkflowError> {
        let Some(plan) = plan else { return Ok(()) };
        self.published.settings = self.find_best(plan).map_err(|error| error.while_tuning(&self.measured.run))?;
        self.end(Step::Search)
    }

    /// The result of a search and of the comparison; none if there is no time.
    fn find_best(&mut self, plan: SettingsPlan) -> Result<Option<SettingsFindings>, WorkflowError> {
        let SettingsPlan { all, factors } = plan;
        let Self { measured, options, published, session } = self;
        let (startup, left) = (measured.started.startup, measured.time().settings().map(|left| left.0));
        let Measurement { started, manifest, run, experiment, .. } = &mut **measured;
        let (ranks, survey) = (manifest.plan.ranks, started.survey.clone());
        let calls = SearchedCalls::new(published.weights(), ranks, &survey);
        let values: usize = factors.iter().map(|factor| factor.values.len()).sum();
        let of_round = (values + values.div_ceil(AT_ONCE)) as f64;
        let (few, every) = (calls.subjects(&calls.screened), calls.subjects(&calls.asked));
        let mut log = ComparisonLog::open(run)?;
        let schedule = |launches: f64, share: f64, subjects: usize| {
            let least = measuring_time(startup, subjects);
            let launch = left.map(|left| Seconds((share * left / launches - startup.0).max(least)));
            loop_schedule(&options.timing, startup, launch)
        };
        let call_time = |found: &CellFinding| Some((found.cell, Seconds(found.point(Candidate::Builtin)?.time.point)));
        let jobs = ArmJobs {
            call_times: published.findings.cells.iter().filter_map(call_time).collect(),
            ranks,
            placement: manifest.plan.placement.clone(),
            schedule: schedule(ROUNDS * of_round, SEARCH, few.len()),
            seed: options.seed,
            ..ArmJobs::default()
        };
        let mut launcher = JobLauncher::new(jobs, started.backend.as_mut(), &mut log, session);
        let launch = |subjects: &[ArmSubject]| OWN_START * startup.0 + launcher.expect_measuring(subjects);
        let round = of_round * launch(&few);
        let least = round + 2.0 * f64::from(FIRST_LOOK) * launch(&every);
        if let Some(left) = left.filter(|left| *left < least) {
            let enough = experiment.budget.map_or(0.0, |budget| budget.0 + (least - left) / SETTINGS).ceil();
            let why =
                format!("a launch takes about {}; --budget {enough:.0}s is enough", Seconds(launch(&few)).rounded());
            launcher.session.say(&format!("settings: not searched, since {why}"));
            return Ok(None);
        }
        let settings = factors.len();
        launcher.session.say(&format!("settings: trying {values} values of {settings} settings, one at a time"));
        launcher.jobs.subjects = few;
        launcher.limit_to(left.map(|left| Seconds((SEARCH * left).max(round))));
        let searched = run_design(&factors, &|subject| weigh(&calls.screened, subject), &mut launcher)?;
        let (finalists, ignored) = separate_ignored(launcher.backend, searched.finalists.clone())?;
        for FailedSettings { settings, why } in &ignored {
            launcher.session.say(&format!("settings: {} is left out: {}", describe(settings), failure(why)));
        }
        let has_rules = !published.rules_settings().is_empty();
        let share = 1.0 - if has_rules && options.validate { UNDER_SETTINGS } else { 0.0 };
        let launches = f64::from(FIRST_LOOK) * (finalists.len() + 1) as f64;
        (launcher.jobs.schedule, launcher.jobs.subjects) = (schedule(launches, 1.0 - SEARCH, every.len()), every);
        launcher.limit_to(left.map(|left| Seconds((left - launcher.spent) * share)));
        let compared = compare_finalists(&finalists, &calls.asked, options, &mut launcher)?;
        let finalists = compared.arms.iter().map(|result| Finalist {
            memory: launcher.memory(Stage::Tuning, &result.arm),
            rules: if has_rules { RulesUse::NotCompared } else { RulesUse::LeftOut },
            ..describe_finalist(&compared, result, &calls.asked, options.max_loss)
        });
        let (finalists, effects, chosen) = (finalists.collect(), effects(&factors, &searched), compared.chosen);
        let found = describe_search(launcher.log.launches(), (&all, ignored), (ranks, &survey));
        Ok(Some(SettingsFindings { effects, finalists, chosen, ..found }))
    }

    /// Compares the rules under the chosen settings, once or once more, after they were alone. The parameter files name those that
    /// are confirmed there; without a rule that is left, the settings are the tuning.
    pub(crate) fn compare_under(&mut self, stage: Stage) -> Result<(), WorkflowError> {
        let (before, step) = (self.published.clone(), Step::Compare(stage, None));
        let Some(mut found) = before.settings.clone() else { return Ok(()) };
        let Some(chosen) = found.chosen.and_then(|chosen| found.finalists.get_mut(chosen)) else { return Ok(()) };
        let (is_again, has_rules) = (stage.is_again(), !before.rules_settings().is_empty());
        let is_due = if is_again { chosen.under.is_some() } else { chosen.rules == RulesUse::NotCompared };
        if !is_due || is_again && before.state.has(step) {
            return Ok(());
        }
        if is_again && !has_rules {
            found.leave_out_rules();
            self.published.settings = Some(found);
            return self.end(step);
        }
        if !has_rules || !self.options.validate {
            return Ok(());
        }
        let settings = chosen.settings.clone();
        let compared = self.compare_rules(&self.task(stage, settings.clone()));
        if !matches!(compared, Ok(true)) {
            // Without time, and if there is an error, they stay what they were alone.
            self.published = before;
            return compared.map(drop);
        }
        let under = self.published.judge(None, &settings).filter(|_| !self.published.findings.changes_nothing());
        if under.is_none() {
            // Alone they stay what they were.
            let steps = std::mem::take(&mut self.published.state.steps);
            self.published = Published { state: TuningState { steps, ..before.state.clone() }, ..before };
        }
        let asked = self.published.weights();
        let removed = self.published.validation.as_ref().map(Validation::removed).unwrap_or_default();
        chosen.rules = if under.is_some() { RulesUse::Shared } else { RulesUse::LeftOut };
        chosen.under = under.map(|under| under.round);
        let with_rules = |round| add_rules(chosen.speedup, round, &asked, |cell| removed.contains(&cell));
        chosen.with_rules = chosen.under.as_ref().map(with_rules);
        self.published.settings = Some(found);
        self.end(step)
    }
}

/// The calls by which settings are compared.
struct SearchedCalls {
    /// Weights of the requested sizes.
    asked: CellWeights,
    /// Weights of those that a search times.
    screened: CellWeights,
    guards: Vec<Cell>,
    messages: Vec<ArmSubject>,
}

impl SearchedCalls {
    fn new(asked: CellWeights, ranks: Ranks, survey: &Survey) -> Self {
        let (screened, guards) = (screened(&asked), guard_cells(&asked, ranks));
        let messages = list_messages(&guard_patterns(survey, ranks)).collect();
        Self { asked, screened, guards, messages }
    }

    /// These sizes, with what settings could harm.
    fn subjects(&self, cells: &CellWeights) -> Vec<ArmSubject> {
        let calls = cells.keys().chain(&self.guards).map(|cell| ArmSubject::Call(*cell, Condition::UNALIGNED));
        calls.chain(self.messages.iter().cloned()).collect()
    }
}

/// The weight of a subject in a mean speedup.
fn weigh(weights: &CellWeights, subject: &ArmSubject) -> f64 {
    subject.cell().and_then(|cell| weights.get(&cell).copied()).unwrap_or(0.0)
}

/// Compares the best combinations with the default, over all sizes and what they could harm.
fn compare_finalists(
    finalists: &[Settings],
    asked: &CellWeights,
    options: &TuneOptions,
    launcher: &mut JobLauncher<'_, '_>,
) -> Result<Compared, WorkflowError> {
    if finalists.is_empty() {
        return Ok(Compared::default());
    }
    for settings in finalists {
        let settings = describe(settings);
        launcher.session.say(&format!("settings: comparing {settings} with the default over all sizes"));
    }
    let base = Settings::new();
    let comparison = Comparison {
        demand: &|arm, _| loss_demand(arm),
        weight: &|_, subject| weigh(asked, subject),
        criteria: ValidationCriteria { min_difference: options.criteria.min_gain, ..ValidationCriteria::default() },
        max_loss: options.max_loss,
        looks: Looks::from(FIRST_LOOK),
        chooses: true,
        ..Comparison::new(Stage::Tuning, &base, finalists)
    };
    compare(&comparison, launcher)
}

/// The launches of a search, and what was left out of it.
fn describe_search(
    launches: &[ArmLaunch],
    (all, ignored): (&[Setting], Vec<FailedSettings>),
    (ranks, survey): (Ranks, &Survey),
) -> SettingsFindings {
    let own = |stage: Stage| matches!(stage, Stage::Alone | Stage::Foldover | Stage::Tuning);
    let launches: Vec<_> = launches.iter().filter(|launch| own(launch.stage)).collect();
    let mut failed: Vec<FailedSettings> = launches.iter().filter_map(|launch| describe_failure(launch)).collect();
    failed.dedup();
    failed.extend(ignored);
    let omission =
        |setting: &Setting| Some(LeftOutSetting { name: setting.name.clone(), why: setting.left_out.clone()? });
    SettingsFindings {
        format: FORMAT,
        nodes: survey.nodes().into_iter().cloned().collect(),
        ranks,
        launches: launches.len() as u32,
        seconds: Seconds(launches.iter().map(|launch| launch.seconds.0).sum()),
        effects: Vec::new(),
        left_out: all.iter().filter_map(omission).collect(),
        failed,
        finalists: Vec::new(),
        chosen: None,
        validation: None,
    }
}

/// The failure of a launch with settings.
fn describe_failure(launch: &ArmLaunch) -> Option<FailedSettings> {
    let wrong = launch
        .wrong
        .first()
        .map(|(subject, finding)| SettingsFailure::Wrong { measure: subject.to_string(), finding: finding.clone() });
    let of_job = || launch.outcome.as_ref().err().map(|failure| SettingsFailure::Job(failure.why.clone()));
    let (settings, why) = (launch.arm.clone(), wrong.or_else(of_job)?);
    (!settings.is_empty()).then_some(FailedSettings { settings, why })
}

/// The speedup of settings with rules, from that of the settings over the default, and of the rules over the settings in
/// the requested cells: those without a rule gain nothing by them.
fn add_rules(settings: Estimate, round: &Round, asked: &CellWeights, is_gone: impl Fn(Cell) -> bool) -> Estimate {
    let total: f64 = asked.values().sum();
    let share = |cell: Cell| asked.get(&cell).copied().unwrap_or(0.0) / total.max(1e-9);
    let left = round.cells.iter().filter(|cell| cell.is_ruled() && !is_gone(cell.cell));
    let rules = Estimate::product_of_powers(left.map(|cell| (share(cell.cell), cell.speedup)));
    let both = rules.and_then(|rules| Estimate::product_of_independent([settings, rules].map(|it| (1.0, it))));
    both.unwrap_or(settings)
}

/// The combinations whose parameters have the right values on the ranks of a job, and those that Open MPI ignores in part.
fn separate_ignored(
    backend: &mut dyn Backend,
    combinations: Vec<Settings>,
) -> Result<(Vec<Settings>, Vec<FailedSettings>), WorkflowError> {
    let (mut obeyed, mut ignored) = (Vec::new(), Vec::new());
    for settings in combinations {
        let names: Vec<String> = settings.keys().cloned().collect();
        let why = match backend.values(&settings, &names) {
            Ok(ranks) => find_ignored(&settings, &ranks),
            Err(error) if error.is_of_job() => Some(SettingsFailure::Job(first_line(&error))),
            Err(error) => return Err(error.into()),
        };
        match why {
            None => obeyed.push(settings),
            Some(why) => ignored.push(FailedSettings { settings, why }),
        }
    }
    Ok((obeyed, ignored))
}

/// The first parameter with another value on a rank.
fn find_ignored(settings: &Settings, ranks: &[BTreeMap<String, String>]) -> Option<SettingsFailure> {
    ranks.iter().find_map(|values| {
        settings.iter().find_map(|(name, wanted)| {
            let found = values.get(name).filter(|found| !is_same_value(found, wanted))?.clone();
            Some(SettingsFailure::Ignored { name: name.clone(), set: wanted.clone(), found })
        })
    })
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
fn by_class(blocks: &[ArmBlock], settings: &Settings) -> Vec<(Bytes, f64)> {
    let ends = CLASSES.into_iter().chain([u64::MAX]);
    let classes = ends.enumerate().filter_map(|(place, end)| {
        let is_of_class = |cell: &Cell| cell.collective.has_sizes() && class(cell.bytes) == place;
        let wanted = |subject: &ArmSubject| f64::from(u8::from(subject.cell().is_some_and(|cell| is_of_class(&cell))));
        let level = ValidationCriteria::default().level;
        Some((Bytes(end), mean_speedup(blocks, settings, &Settings::new(), &wanted, level)?.point))
    });
    classes.collect()
}
