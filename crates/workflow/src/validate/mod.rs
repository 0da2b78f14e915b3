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
use collrules_record::validation::ValidationCriteria;
use collrules_record::{Cell, Seconds, Tuning, Validation};
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
use crate::{time_budget, tuning};
use comparison::{Bench, OtherLayouts, REPAIR};
use subject::ValidationSubject;

/// Outcome of a validation.
pub struct Validated {
    /// Result of the comparisons.
    pub validation: Validation,
    /// Directory of the result.
    pub home: RunDir,
    /// The release.
    pub release: Release,
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

/// Compares a rules file with the builtin, and repairs it if that is wanted; also with these arrivals of ranks in programs.
/// Results go to `out`, or to the run.
pub fn validate(
    tuning: Tuning,
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
    let options = &Validating { budget, ..options.clone() };
    let startup = started.startup;
    let mut subject = ValidationSubject::read(&tuning, &started, session)?;
    subject.choose(options, &started.survey)?;
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
    subject.refuse_if_in_force(&started.survey, session)?;
    started.backend.use_scratch(home.path());
    // Repairs are proven and compared again within this time.
    let kept = if conditions::ruled_cells(&subject).is_empty() { 0.0 } else { conditions::SHARE };
    let first = |budget| if options.repair { of_first_comparison(budget) } else { Seconds((1.0 - kept) * budget.0) };
    let first = options.budget.map(first);
    let affordable = spending(first, startup, options.pairs);
    // A budget too short for anything sets no deadline.
    let deadline = options.budget.filter(|_| affordable.is_some()).and_then(|budget| after(began, budget));
    let spending = affordable.unwrap_or_else(|| {
        let budget = options.budget.map(|budget| budget.to_string()).unwrap_or_default();
        session.say(&format!(
            "starting a job takes {startup}, which leaves little of {budget}: only 2 pairs of launches, with one visit \
             to each size",
        ));
        Spending::LEAST
    });
    if spending.pairs < options.pairs {
        session.say(&format!(
            "starting a job takes {startup}: {} pairs of launches instead of {}",
            spending.pairs, options.pairs
        ));
    }
    if !options.chooses_cells() {
        subject.afford(spending.launch, session);
    }
    let mut bench = bench(&mut started, (options, arrivals), spending, deadline, session);
    if let Some(run) = subject.measured_run() {
        // No other layout is compared after this one.
        bench.layouts.compared = OtherLayouts::read(run, &home)?.compared;
    }
    let validation = repair::rounds(&home, &mut bench, &mut subject, session)?;
    session.tell(Event::Compared { home: &home, validation: &validation });
    // The home of a comparison in another layout is in the run.
    if let Some(mut published) = subject.published.take().filter(|it| home.path().starts_with(it.run.path())) {
        published.read_evidence()?;
        published.write()?;
    }
    Ok(Validated { validation, home, release: subject.release })
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
        session.say(&format!(
            "these rules were compared before; `collrules validate {}` compares them again",
            run.path().display(),
        ));
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
        measured.phases.end("comparing with the default", meant);
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
    session.say(&format!("--layout {layout}: comparing the same rules there"));
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
        session.say(&format!(
            "NOT CONFIRMED: {} is too short for two pairs of launches, each of which takes {} to start; `collrules \
             validate {}{}` compares the rules with the default",
            share.map_or_else(|| "the time".to_owned(), |share| format!("what is left ({})", share.rounded())),
            started.startup,
            run.path().display(),
            if home.path() == run.path() { String::new() } else { format!(" --layout {}", options.system.layout) },
        ));
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
