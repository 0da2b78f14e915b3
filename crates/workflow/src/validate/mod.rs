//! Validation of a rules file: search for sizes that it makes slower, in fresh launches with and without it; and its
//! repair.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, also at the end of `tune` |
//! | `subject` | the tuning, with the analysis behind it |
//! | `cells` | the cells to compare |
//! | `comparison` | a comparison: pairs of launches, then more for undecided cells |
//! | `conditions` | comparison in other calls than those that decided on the rules |
//! | `repair` | comparisons and repairs until nothing is slower |
//! | `kept` | the original of a repaired file |

mod cells;
mod comparison;
mod conditions;
mod kept;
mod repair;
mod subject;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use collrules_record::condition::ArrivalPattern;
use collrules_record::experiment::Experiment;
use collrules_record::options::{SystemOptions, TimingOptions, TuneOptions, Validating};
use collrules_record::plan::{Deployment, Schedule};
use collrules_record::rundir::RunDir;
use collrules_record::settings::SettingsFindings;
use collrules_record::validation::ValidationCriteria;
use collrules_record::{Cell, Seconds, Tuning, Validation};
use collrules_report::progress;
use collrules_rules::Release;
use collrules_runner::validation::{FURTHER_LOOKS, Spending, spending};

use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::evidence::RulesEvidence;
use crate::plan::{BudgetShares, first_comparison, of_first_comparison, settings_share, timed, validation_share};
use crate::publish::Published;
use crate::resume;
use crate::session::{Event, Session};
use crate::start::Started;
use crate::{settings, time_budget, tuning};
use comparison::{Bench, OtherLayouts, REPAIR};
use subject::ValidationSubject;

/// Outcome of a validation.
pub struct Validated {
    /// Result of the comparisons of the rules; none if the tuning has none.
    pub validation: Option<Validation>,
    /// Search for settings with the result of the comparison of the whole tuning; none if it has no settings.
    pub settings: Option<SettingsFindings>,
    /// Directory of the result.
    pub home: RunDir,
    /// The release.
    pub release: Release,
}

impl Validated {
    /// Returns true if what is left of the tuning makes something slower.
    pub fn loses(&self) -> bool {
        let has_lost = |found: &SettingsFindings| found.chosen.is_some() && found.loses();
        self.validation.as_ref().is_some_and(Validation::loses) || self.settings.as_ref().is_some_and(has_lost)
    }
}

/// Reads a tuning for launches that activate it, next to others that do not.
pub(crate) fn other_than_here(
    path: &Path,
    started: &Started,
    session: &mut Session<'_>,
) -> Result<Tuning, WorkflowError> {
    let subject = ValidationSubject::read(&tuning::open(path, None)?, started, session)?;
    if subject.is_empty() {
        return Err(WorkflowError::Usage(format!(
            "{} leaves everything to the default: it would change nothing",
            subject.name()
        )));
    }
    let settings = subject.tuning.settings();
    let preset = started.survey.preset.get(Deployment::FILE);
    if preset.is_some_and(|preset| settings.get(Deployment::FILE) == Some(preset)) {
        return Err(WorkflowError::Usage(format!(
            "{} is active already, so there is nothing to compare it with: switch it off first (unset OMPI_MCA_{}, or \
             take it out of Open MPI's configuration file)",
            subject.name(),
            Deployment::FILE,
        )));
    }
    Ok(subject.tuning)
}

/// Returns the experiment in which the run of a rules file was measured, if we measured it: its system, timing, condition and
/// arrivals are the default of a validation.
pub fn as_measured(tuning: &Tuning) -> Result<Option<Experiment>, WorkflowError> {
    let Some(Published { run, manifest: Some(manifest), .. }) = tuning::behind(tuning)? else { return Ok(None) };
    let experiment = resume::experiment(&run, &manifest)?;
    // The number of calls was an option of that measurement only.
    Ok(Some(Experiment { timing: TimingOptions { calls: None, ..experiment.timing }, ..experiment }))
}

/// Share of the time for the whole tuning of a run with settings; the rest is for its rules.
const WHOLE: f64 = 0.5;

/// Compares a tuning with the default, and repairs it if that is wanted: its rules alone, also with these arrivals of
/// ranks in programs, and if `is_whole` the settings of its run with the rules that are named with them. Results go to
/// `out`, or to the run.
pub fn validate(
    (tuning, is_whole): (Tuning, bool),
    (options, arrivals): (&Validating, Vec<ArrivalPattern>),
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Validated, WorkflowError> {
    let began = Instant::now();
    let mut started = session.start(&options.system)?;
    started.remarks.iter().for_each(|remark| session.say(remark));
    if let Some(manifest) = tuning::behind(&tuning)?.and_then(|published| published.manifest) {
        let left_out = resume::left_out(&manifest, &started);
        started.backend.leave_out(&left_out);
    }
    let (budget, remark) = time_budget::within(options.budget, started.allocation.as_ref())?;
    remark.iter().for_each(|remark| session.say(remark));
    let mut subject = ValidationSubject::read(&tuning, &started, session)?;
    let has_settings = is_whole && compares_settings(options, &subject, session)?;
    let has_rules = !has_settings || !subject.is_empty();
    let share = match (has_settings, has_rules) {
        (true, true) => WHOLE,
        (true, false) => 1.0,
        (false, _) => 0.0,
    };
    let of_budget = |share: f64| budget.map(|budget| Seconds(share * budget.0));
    let options = &Validating { budget: of_budget(1.0 - share), ..options.clone() };
    if has_rules {
        subject.choose(options, &started.survey)?;
    }
    let options = &Validating { middle: options.middle.or_else(|| subject.middle()), ..options.clone() };
    let elsewhere = |run: &RunDir| out.is_some_and(|out| !subject::same(out, run.path()));
    if options.repair && subject.run().is_some_and(elsewhere) {
        return Err(WorkflowError::Usage(format!(
            "repairs of a run's rules are recorded in the run: leave out --out, or repair a copy of {} under another \
             name",
            subject.name(),
        )));
    }
    let home = subject.home(out, options.system.layout)?;
    // The run stays locked for the duration.
    let of_run = subject.measured_run().filter(|run| run.path() == home.path());
    let _held = of_run.map(RunDir::hold).transpose()?;
    started.backend.use_scratch(home.path());
    let validation = has_rules
        .then(|| compare_alone(&mut subject, &mut started, (options, arrivals), (&home, began), session))
        .transpose()?;
    // The home of a comparison in another layout is in the run.
    let is_in_run = |published: &Published| home.path().starts_with(published.run.path());
    let mut settings = None;
    if let Some(mut published) = subject.published.take() {
        if is_in_run(&published) {
            published.read_evidence()?;
        }
        let left = budget.map(|budget| Seconds(budget.0 - began.elapsed().as_secs_f64()));
        let compared = if has_settings {
            compare_whole(&mut published, &mut started, (options, left), &home, session)
        } else {
            Ok(None)
        };
        // What was decided on the rules is in place, whatever ended the comparison.
        let written = if is_in_run(&published) { published.write() } else { Ok(()) };
        settings = compared.and_then(|compared| written.map(|()| compared))?;
    }
    if validation.is_none() && settings.is_none() {
        return Err(WorkflowError::Usage("--budget is too short to compare the settings".to_owned()));
    }
    Ok(Validated { validation, settings, home, release: subject.release })
}

/// Compares the rules alone with the default, and repairs them if that is wanted.
fn compare_alone(
    subject: &mut ValidationSubject,
    started: &mut Started,
    (options, arrivals): (&Validating, Vec<ArrivalPattern>),
    (home, began): (&RunDir, Instant),
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    subject.refuse_if_in_force(&started.survey, session)?;
    let startup = started.startup;
    // Repairs are proven and compared again within this time.
    let kept = if conditions::ruled_cells(subject).is_empty() { 0.0 } else { conditions::SHARE };
    let first = |budget| if options.repair { of_first_comparison(budget) } else { Seconds((1.0 - kept) * budget.0) };
    let first = options.budget.map(first);
    let affordable = spending(first, startup, options.pairs);
    // A budget too short for anything sets no deadline.
    let deadline = options.budget.filter(|_| affordable.is_some()).and_then(|budget| after(began, budget));
    let spending = affordable.unwrap_or_else(|| {
        session.say(&progress::validation::least_pairs(startup, options.budget.unwrap_or_default()));
        Spending::LEAST
    });
    if spending.pairs < options.pairs {
        session.say(&progress::validation::fewer_pairs(startup, spending.pairs, options.pairs));
    }
    if !options.chooses_cells() {
        subject.afford(spending.launch, session);
    }
    let mut bench = bench(started, (options, arrivals), spending, deadline, session);
    if let Some(run) = subject.measured_run() {
        // No other layout is compared after this one.
        bench.layouts.compared = OtherLayouts::read(run, home)?.compared;
    }
    let validation = repair::rounds(home, &mut bench, subject, session)?;
    session.tell(Event::Compared { home, validation: &validation });
    Ok(validation)
}

/// Compares the whole tuning of a run with the default; its settings are removed if they slow something down, and if
/// that is wanted.
fn compare_whole(
    published: &mut Published,
    started: &mut Started,
    (options, left): (&Validating, Option<Seconds>),
    home: &RunDir,
    session: &mut Session<'_>,
) -> Result<Option<SettingsFindings>, WorkflowError> {
    let Some(plan) = published.manifest.as_ref().map(|manifest| manifest.plan.clone()) else { return Ok(None) };
    let compared = settings::compare_whole(published, (home, &plan), started, (options, left), session)?;
    let Some(mut found) = compared else { return Ok(None) };
    session.tell(Event::ComparedWhole { home, settings: &found });
    if options.repair && found.loses() {
        found.chosen = None;
        session.say(progress::settings::removed());
        published.install_settings(found.clone(), session)?;
    } else if home.path() == published.run.path() {
        published.settings = Some(found.clone());
    }
    Ok(Some(found))
}

/// Returns true if the settings of a run are compared as well: all its sizes are, in its layout.
fn compares_settings(
    options: &Validating,
    subject: &ValidationSubject,
    session: &mut Session<'_>,
) -> Result<bool, WorkflowError> {
    let Some(published) = subject.published.as_ref().filter(|published| published.has_settings()) else {
        return Ok(false);
    };
    let Some(manifest) = &published.manifest else { return Ok(false) };
    if options.chooses_cells() || manifest.plan.placement.layout != options.system.layout {
        session.say(progress::settings::only_all_sizes());
        return Ok(false);
    }
    settings::refuse_sourced(published).map(|()| true)
}

/// Compares the rules of a measured and proven run in each of its layouts, and repairs them; none if there is no time,
/// or the user does not want it.
pub(crate) fn after_tuning(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &mut Published,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let run = published.run.clone();
    let is_wanted = options.validate && !published.findings.changes_nothing();
    if published.validation.is_some() {
        session.say(&progress::validation::compared_before(run.path()));
    } else if is_wanted {
        // The rest of the time goes into pairs: up to a quarter of the budget, if the total exceeds the budget by at
        // most a tenth.
        let kept = validation_share(measured.experiment.budget).zip(measured.left(time_budget::EXCESS));
        let kept = kept.map(|(share, left)| Seconds(share.0.min(left.0)));
        let left = measured.left(1.0).zip(kept).map(|(left, kept)| Seconds(left.0.max(kept.0)));
        let options = TuneOptions { budget: measured.experiment.budget, ..options.clone() };
        let (options, arrivals) = (&options, measured.experiment.arrivals.clone());
        compare_run(&mut measured.started, (options, arrivals), left, published, &run, session)?;
        let meant = BudgetShares::new(&measured.experiment, measured.started.startup).validation;
        measured.phases.end(progress::budget::COMPARING, meant);
    }
    if !is_wanted {
        return Ok(());
    }
    let others = Instant::now();
    for other in run.layouts()? {
        if RulesEvidence::read(&other)?.validation.is_none() && !published.findings.changes_nothing() {
            compare_in_layout(measured, options, published, &other, session)?;
        }
    }
    measured.phases.leave_out(others);
    Ok(())
}

/// Removes the rules of a run for these cells, and proves what is left.
pub(crate) fn revert(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &mut Published,
    cells: Vec<Cell>,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let run = published.run.clone();
    let mut subject = ValidationSubject::of_run(published.clone(), &measured.started);
    let validating = Validating { repair: true, seed: options.seed, ..Validating::new(options.system.clone()) };
    let now = Some(Instant::now());
    let started = &mut measured.started;
    let mut bench = bench(started, (&validating, Vec::new()), Spending::LEAST, now, session);
    let validation = published.validation.clone().unwrap_or_else(|| bench.validation(&subject, Vec::new()));
    repair::remove(&run, &mut bench, &mut subject, (validation, cells), session)?;
    if let Some(repaired) = subject.published {
        *published = repaired;
    }
    published.read_evidence()
}

/// Compares the cells of another layout that shares the rules, in that layout: rules that are slower there are removed
/// for all. The comparison is in the run of that layout.
fn compare_in_layout(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &mut Published,
    other: &RunDir,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let Measurement { started, experiment, .. } = measured;
    let layout = other.manifest()?.plan.placement.layout;
    session.say(&progress::validation::in_layout(layout));
    let own = experiment.system.layout;
    let (system, budget) = (SystemOptions { layout, ..experiment.system.clone() }, experiment.budget);
    let options = TuneOptions { system, budget, ..options.clone() };
    started.backend.lay_out(layout);
    let options = (&options, experiment.arrivals.clone());
    let compared = compare_run(started, options, validation_share(budget), published, other, session);
    started.backend.lay_out(own);
    compared
}

/// Compares the rules of a proven run, in the layout of the options. The comparison is in `home`.
fn compare_run(
    started: &mut Started,
    (options, arrivals): (&TuneOptions, Vec<ArrivalPattern>),
    share: Option<Seconds>,
    published: &mut Published,
    home: &RunDir,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let run = published.run.clone();
    let Some(spending) = first_comparison(share, started.startup) else {
        let layout = (home.path() != run.path()).then_some(options.system.layout);
        session.say(&progress::validation::not_confirmed(share, started.startup, run.path(), layout));
        return Ok(());
    };
    let deadline = share.and_then(|share| after(Instant::now(), share));
    let mut subject = ValidationSubject::of_run(published.clone(), started);
    if home.path() != run.path() {
        let measured = home.manifest()?.plan.cells;
        subject.cells.retain(|cell| {
            measured
                .iter()
                .any(|planned| (planned.cell.collective, planned.cell.ranks) == (cell.collective, cell.ranks))
        });
        subject.ranks = subject.cells.iter().map(|cell| cell.ranks).max().unwrap_or_default();
        if subject.cells.is_empty() {
            return Ok(());
        }
    }
    subject.afford(spending.launch, session);
    let validating = Validating {
        budget: share.map(of_first_comparison),
        min_difference: options.criteria.min_gain,
        max_loss: options.max_loss,
        middle: Some(options.criteria.middle),
        error_rate: options.criteria.error_rate,
        repair: true,
        seed: options.seed,
        timing: TimingOptions { calls: None, ..options.timing },
        condition: options.condition,
        ..Validating::new(options.system.clone())
    };
    let mut bench = bench(started, (&validating, arrivals), spending, deadline, session);
    bench.layouts = OtherLayouts::read(&run, home)?;
    // Settings give half of their time for rules that would go for lack of it.
    let spare = options.budget.filter(|_| !options.settings.none).map(settings_share);
    bench.overtime = spare.and_then(|spare| Duration::try_from_secs_f64(spare.0 / 2.0).ok()).unwrap_or_default();
    let compared = repair::rounds(home, &mut bench, &mut subject, session);
    // A comparison that ended early may have repaired the rules.
    if let Some(repaired) = subject.published {
        *published = repaired;
    }
    published.read_evidence()?;
    let validation = compared?;
    session.tell(Event::Compared { home, validation: &validation });
    Ok(())
}

/// The end of this time from `began` on.
fn after(began: Instant, time: Seconds) -> Option<Instant> {
    began.checked_add(Duration::try_from_secs_f64(time.0).ok()?)
}

fn bench<'a>(
    started: &'a mut Started,
    (options, arrivals): (&'a Validating, Vec<ArrivalPattern>),
    spending: Spending,
    deadline: Option<Instant>,
    session: &Session<'_>,
) -> Bench<'a> {
    Bench {
        backend: started.backend.as_mut(),
        survey: &started.survey,
        options,
        arrivals,
        // Enough rounds for a median, since the difference between launches matters, unless --calls sets them.
        schedule: Schedule {
            condition: options.condition,
            ..timed(
                &options.timing,
                Schedule { min_rounds: 15, max_rounds: 60, startup: started.startup, ..Schedule::default() },
            )
        },
        spending,
        deadline,
        overtime: Duration::ZERO,
        reserved: Duration::ZERO,
        default_times: BTreeMap::new(),
        pass: Duration::ZERO,
        repair: Duration::try_from_secs_f64(REPAIR * started.startup.0).unwrap_or_default(),
        criteria: ValidationCriteria {
            min_difference: options.min_difference,
            error_rate: options.error_rate,
            middle: options.middle.unwrap_or_default(),
            clock_step: started.survey.clock_step,
            looks: 1 + FURTHER_LOOKS,
            ..ValidationCriteria::default()
        },
        further_looks: FURTHER_LOOKS,
        command: session.command.clone(),
        layouts: OtherLayouts::default(),
    }
}
