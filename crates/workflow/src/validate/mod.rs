//! Whether a rules file makes anything slower, in fresh launches without it and with it; and its repair.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, and the same at the end of `tune` |
//! | `subject` | the file, where it comes from, and the cells to compare |
//! | `foreign` | files from elsewhere, HAN's among them |
//! | `comparison` | one comparison: pairs of launches, then more for what is doubtful |
//! | `repair` | comparisons and repairs until nothing is slower |
//! | `kept` | what the file was before it was repaired |

mod comparison;
mod foreign;
mod kept;
mod repair;
mod subject;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collrules_record::options::{PAIRS, System, Timing, Tuning, Validating};
use collrules_record::plan::{DeployWay, Deployment, Schedule};
use collrules_record::rundir::RunDir;
use collrules_record::validation::Criteria;
use collrules_record::{Seconds, Validation};
use collrules_rules::Release;
use collrules_runner::validation::{FURTHER_LOOKS, Spending, spending};

use crate::allotted;
use crate::campaign::Measured;
use crate::error::WorkflowError;
use crate::plan::{first_comparison, of_first_comparison, timed, validation_share};
use crate::publish::Published;
use crate::resume;
use crate::session::{Event, Session};
use crate::start::Started;
use comparison::{Bench, REPAIR};
use subject::Subject;

pub use subject::{Opened, open};

/// The outcome of a validation.
pub struct Validated {
    /// What it showed.
    pub validation: Validation,
    /// Where it is written down.
    pub home: RunDir,
    /// The release that was asked.
    pub release: Release,
}

/// A rules file, or the tuning of a run, as its users put it in force here.
pub(crate) struct InForce {
    /// As the user named it.
    pub(crate) shown: String,
    /// The settings.
    pub(crate) settings: BTreeMap<String, String>,
    /// The rules file of coll/tuned, if there is one.
    pub(crate) rules: Option<PathBuf>,
    /// That of coll/han.
    pub(crate) han: Option<PathBuf>,
}

/// Reads a rules file, or that of a run, for launches that have it in force after others that do not.
pub(crate) fn in_force(path: &Path, started: &Started, session: &mut Session<'_>) -> Result<InForce, WorkflowError> {
    let subject = Subject::read(open(path, None)?, started, session)?;
    if subject.is_empty() {
        return Err(WorkflowError::Usage(format!(
            "{} leaves everything to the builtin: nothing would change under it",
            subject.shown
        )));
    }
    let tuning = subject.tuning();
    if started.survey.preset.get(Deployment::FILE).is_some_and(|preset| Some(preset) == tuning.rules.as_ref()) {
        return Err(WorkflowError::Usage(format!(
            "{} is in force already, so that there is nothing to compare it with: switch it off first (unset \
             OMPI_MCA_{}, or take it out of Open MPI's configuration file)",
            subject.shown,
            Deployment::FILE,
        )));
    }
    Ok(InForce {
        settings: tuning.by_name(),
        rules: tuning.rules.map(PathBuf::from),
        han: tuning.han.map(PathBuf::from),
        shown: subject.shown,
    })
}

/// How the run of a rules file was measured, if we measured it: the default of a validation.
pub fn as_measured(opened: &Opened) -> Result<Option<(System, Timing)>, WorkflowError> {
    let Some((run, manifest)) = opened.measured() else { return Ok(None) };
    let Tuning { system, timing, .. } = resume::options(run, manifest)?;
    // So many calls were wanted of what was measured then.
    Ok(Some((system, Timing { calls: None, ..timing })))
}

/// Compares a rules file with the builtin, and repairs it if that is wanted. Results go to `out`, or to the run.
pub fn validate(
    opened: Opened,
    options: &Validating,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Validated, WorkflowError> {
    let began = Instant::now();
    let mut started = session.start(&options.system)?;
    started.remarks.iter().for_each(|remark| session.say(remark));
    let (budget, remark) = allotted::within(options.budget, started.allocation.as_ref())?;
    remark.iter().for_each(|remark| session.say(remark));
    let options = &Validating { budget, ..options.clone() };
    let startup = started.startup;
    let mut subject = Subject::new(opened, options, &started, session)?;
    let options = &Validating { middle: options.middle.or_else(|| subject.middle()), ..options.clone() };
    let elsewhere = |run: &RunDir| out.is_some_and(|out| !subject::same(out, run.path()));
    if options.repair && subject.run().is_some_and(elsewhere) {
        return Err(WorkflowError::Usage(format!(
            "repairs of a run's rules are recorded in the run: leave out --out, or repair a copy of {} under another \
             name",
            subject.shown,
        )));
    }
    let home = subject.home(out, options.system.layout)?;
    // Kept from others as long as this takes.
    let of_run = subject.measured_run().filter(|run| run.path() == home.path());
    let _held = of_run.map(RunDir::hold).transpose()?;
    subject.refuse_if_in_force(&started.survey, session)?;
    started.backend.use_scratch(home.path());
    // Repairs are proven and compared again in the same time.
    let first = options.budget.map(|budget| if options.repair { of_first_comparison(budget) } else { budget });
    let affordable = spending(first, startup, options.pairs);
    // What is too short for anything is no end to keep to.
    let deadline = options.budget.filter(|_| affordable.is_some()).and_then(|budget| after(began, budget));
    let spending = affordable.unwrap_or_else(|| {
        let budget = options.budget.map(|budget| budget.to_string()).unwrap_or_default();
        session.say(&format!(
            "starting a job takes {startup}, which leaves little of {budget} for everything: only 2 pairs of launches, \
             with one visit to each cell",
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
    let mut bench = bench(&mut started, options, spending, deadline, session);
    let validation = repair::rounds(&home, &mut bench, &mut subject, session)?;
    session.tell(Event::Compared { home: &home, validation: &validation });
    if subject.run().is_some_and(|run| run.path() == home.path()) {
        Published::open(home.path())?.write()?;
    }
    Ok(Validated { validation, home, release: subject.release })
}

/// Compares the rules of a run that was just measured, proven and published, and repairs them; nothing where there is no
/// time for it, or nobody wants it.
pub(crate) fn after_tuning(
    measured: &mut Measured,
    published: Published,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let left = measured.left(allotted::EXCESS);
    let Measured { started, tuning, .. } = measured;
    if !tuning.validate || published.findings.changes_nothing() {
        return Ok(published);
    }
    let home = published.run.clone();
    compared(started, tuning, left, published, &home, session)
}

/// The same in another layout that shares the rules: its cells are compared there, and what is slower there is given back for
/// all. The comparison lies in the run of that layout.
pub(crate) fn in_layout(
    measured: &mut Measured,
    published: Published,
    other: &RunDir,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let Measured { started, tuning, .. } = measured;
    if !tuning.validate || published.findings.changes_nothing() {
        return Ok(published);
    }
    let layout = other.manifest()?.plan.placement.layout;
    session.say(&format!("--layout {layout}: comparing the same rules there"));
    let own = tuning.system.layout;
    let tuning = Tuning { system: System { layout, ..tuning.system.clone() }, ..tuning.clone() };
    started.backend.lay_out(layout);
    let published = compared(started, &tuning, tuning.budget, published, other, session);
    started.backend.lay_out(own);
    published
}

/// Compares the rules of a run that was just published, in the layout of the options. The comparison lies in `home`.
fn compared(
    started: &mut Started,
    tuning: &Tuning,
    left: Option<Seconds>,
    published: Published,
    home: &RunDir,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    // Where measuring took longer than it should, less is left.
    let share = validation_share(tuning.budget).zip(left).map(|(share, left)| Seconds(share.0.min(left.0)));
    let Some(spending) = first_comparison(share, started.startup) else {
        session.say(&format!(
            "{} of the budget is too short for two pairs of launches, each of which takes {} to start: the \
             rules were not compared with the builtin in fresh launches; `collrules validate {}{}` does that",
            share
                .filter(|share| Some(*share) != validation_share(tuning.budget))
                .map_or_else(|| "a quarter".to_owned(), |share| format!("what is left ({})", share.rounded()),),
            started.startup,
            published.run.path().display(),
            if home.path() == published.run.path() {
                String::new()
            } else {
                format!(" --layout {}", tuning.system.layout)
            },
        ));
        return Ok(published);
    };
    let deadline = share.and_then(|share| after(Instant::now(), share));
    let run = published.run.clone();
    let mut subject = Subject::of_run(published, started);
    if home.path() != run.path() {
        let measured = home.manifest()?.plan.cells;
        subject.cells.retain(|cell| {
            measured
                .iter()
                .any(|planned| (planned.cell.collective, planned.cell.ranks) == (cell.collective, cell.ranks))
        });
        subject.ranks = subject.cells.iter().map(|cell| cell.ranks).max().unwrap_or_default();
        if subject.cells.is_empty() {
            return Published::open(run.path());
        }
    }
    subject.afford(spending.launch, session);
    let options = Validating {
        collectives: None,
        ranks: Vec::new(),
        sizes: None,
        pairs: PAIRS,
        budget: share.map(of_first_comparison),
        min_difference: tuning.criteria.min_gain,
        middle: Some(tuning.criteria.middle),
        error_rate: tuning.criteria.error_rate,
        deploy: DeployWay::Environment,
        repair: true,
        seed: tuning.seed,
        timing: Timing { calls: None, ..tuning.timing },
        system: tuning.system.clone(),
    };
    let mut bench = bench(started, &options, spending, deadline, session);
    let validation = repair::rounds(home, &mut bench, &mut subject, session)?;
    session.tell(Event::Compared { home, validation: &validation });
    let mut published = Published::open(run.path())?;
    if home.path() != run.path() {
        let sentences = collrules_report::validation::sentences(&validation);
        let layout = tuning.system.layout;
        published.proof.extend(sentences.into_iter().map(|sentence| format!("Layout {layout}: {sentence}")));
    }
    published.write()?;
    Ok(published)
}

/// The end of a time that began then.
fn after(began: Instant, time: Seconds) -> Option<Instant> {
    began.checked_add(Duration::try_from_secs_f64(time.0).ok()?)
}

fn bench<'a>(
    started: &'a mut Started,
    options: &'a Validating,
    spending: Spending,
    deadline: Option<Instant>,
    session: &Session<'_>,
) -> Bench<'a> {
    Bench {
        backend: started.backend.as_mut(),
        survey: &started.survey,
        options,
        // Enough rounds for a median, since what counts is how launches differ, unless --calls says otherwise.
        schedule: timed(
            &options.timing,
            Schedule { min_rounds: 15, max_rounds: 60, startup: started.startup, ..Schedule::default() },
        ),
        spending,
        deadline,
        pass: Duration::ZERO,
        repair: Duration::try_from_secs_f64(REPAIR * started.startup.0).unwrap_or_default(),
        criteria: Criteria {
            min_difference: options.min_difference,
            error_rate: options.error_rate,
            middle: options.middle.unwrap_or_default(),
            clock_step: started.survey.clock_step,
            looks: 1 + FURTHER_LOOKS,
            ..Criteria::default()
        },
        command: session.command.clone(),
    }
}
