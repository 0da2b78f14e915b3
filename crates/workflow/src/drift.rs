//! Drift check: times some sizes of a run again in fresh launches without and with its tuning, to see if the default's times
//! have changed, and if the tuning is still faster.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use collrules_record::comparison::{ArmLaunch, Stage};
use collrules_record::condition::Condition;
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::pattern::ArmSubject;
use collrules_record::rundir::{self, ComparisonLog, RunDir};
use collrules_record::settings::Settings;
use collrules_record::validation::ValidationCriteria;
use collrules_record::values::{MOST_LAUNCHES, budget, percent};
use collrules_record::{Cell, Manifest, Placement, Plan, Ranks, Seconds, manifest};
use collrules_report::changes::describe_limitation;
use collrules_tuner::comparison::{Comparison, Looks, compare};
use collrules_tuner::drift::{SHARE, changes, choose_anchors, default_times};
use collrules_tuner::results::comparison::differences;
use collrules_tuner::results::drift::{DRIFT, Drift, DriftCriteria, FORMAT};
use collrules_tuner::results::limitation::Limitation;
use collrules_tuner::validation::describe_round;

use crate::comparison::{Arms, JobLauncher, loop_schedule};
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::{Event, Session};
use crate::start::Started;
use crate::validate::ValidationSubject;
use crate::{budget, campaign, quality, resume, tuning};

/// Launches of the default that a comparison with then needs, and blocks that are made in any case.
const LEAST_LAUNCHES: usize = 2;

/// Options of `drift`.
#[derive(Clone, Debug, clap::Args)]
pub struct Drifting {
    /// Number of message sizes to time again: those with rules first, spread over collectives and communicators
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub cells: u32,
    /// Number of launches of the default and of the tuning; changes are judged by how much launches differ
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Time for all of it; with `none`, each launch times every size in two loops
    #[arg(long, value_name = "TIME|none", default_value = "60s", value_parser = budget)]
    pub budget: Budget,
    /// Changes of times, in percent, that do not count, since days differ
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub min_change: f64,
    /// Maximum probability of a false alarm, in percent, over all sizes together
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub error_rate: f64,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub seed: u64,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

/// Result of timing cells of a run again.
pub struct Repeated {
    /// Comparison with the times of the run, and with today's default.
    pub drift: Drift,
    /// Directory of launches and result.
    pub home: RunDir,
}

/// Returns the launch options of a run: the default for timing it again.
pub fn as_measured(run: &Path) -> Result<SystemOptions, WorkflowError> {
    Ok(RunDir::open(run)?.manifest()?.experiment.system)
}

/// Times cells of a run again. Launches and result go to a separate directory: `out`, or one in the run.
pub fn drift(
    run: &Path,
    options: &Drifting,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Repeated, WorkflowError> {
    let began = Instant::now();
    let published = Published::open(run)?;
    let run = published.run.clone();
    let shown = run.path().display();
    let unknown = || {
        WorkflowError::Input(format!(
            "{shown} was not measured by collrules: only runs of collrules can be checked for drift"
        ))
    };
    let before = published.manifest.clone().ok_or_else(unknown)?;
    let experiment = &before.experiment;
    let layout = experiment.system.layout;
    if options.system.layout != layout {
        return Err(WorkflowError::usage(format!(
            "{shown} was measured with --layout {layout}, and other ranks of a machine have other times: leave out --layout"
        )));
    }
    let log = ComparisonLog::open(&run)?;
    let mut started = session.start(&options.system)?;
    let budget = budget::limit(options.budget, &mut started, session)?;
    refuse_other(&run, &before, &started)?;
    let left_out = resume::left_out(&before, &started);
    started.backend.leave_out(&left_out);
    // Settings act on calls from programs' buffers, wherever these begin.
    let condition = if published.has_settings() { Condition::UNALIGNED } else { experiment.condition };
    let of_validation = |launch: &&ArmLaunch| matches!(launch.stage, Stage::Validation(_));
    let is_tuned = log.launches().iter().any(|launch| !launch.stage.is_search() && !of_validation(&launch));
    let last = published.last_validation();
    // Those of one day: validations may be of another, or of another layout or version.
    let is_then = |launch: &&ArmLaunch| if is_tuned { !of_validation(launch) } else { Some(launch.stage) == last };
    let then = default_times(log.launches().iter().filter(is_then), condition);
    let job = published.switch().by_name();
    if job.is_empty() {
        return Err(WorkflowError::Input(format!("{shown} leaves everything to the default: no tuning can lose")));
    }
    let criteria = DriftCriteria {
        min_change: options.min_change,
        min_difference: published.findings.criteria.min_gain,
        error_rate: options.error_rate,
        level: published.findings.criteria.level,
    };
    let subject = ValidationSubject::of_run(published, &started);
    let mut obstacles = Vec::new();
    let fitting = fitting_ranks(&before, &started, &mut obstacles);
    let is_known = |cell: &Cell| fitting.contains(&cell.ranks) && then[cell].len() >= LEAST_LAUNCHES;
    let known: BTreeSet<Cell> = then.keys().copied().filter(is_known).collect();
    let anchors = choose_anchors(known, options.cells as usize, |cell| subject.is_ruled(cell));
    if anchors.is_empty() {
        let why = "nothing of it can be timed again here: this needs two launches in which it was compared with the \
                   default (`collrules validate` compares it)";
        let all = std::iter::once(format!("{shown}: {why}")).chain(obstacles.iter().map(describe_limitation));
        return Err(WorkflowError::Input(all.collect::<Vec<_>>().join("\n  ")));
    }
    let place = out.map_or_else(|| rundir::unused(run.path(), &format!("drift-{}", manifest::stamp())), Path::to_owned);
    let home = RunDir::prepare_derived(place)?;
    let mut own = ComparisonLog::open(&home)?;
    if !own.is_empty() {
        return Err(WorkflowError::Occupied(format!("{} holds another comparison", home.path().display())));
    }
    started.backend.use_scratch(home.path());
    tuning::pin_files(&run, &subject.tuning)?;
    let (launches, jobs) = (options.launches, 2 * options.launches);
    let limit = budget.map(|budget| (budget.0 - began.elapsed().as_secs_f64()).max(0.0));
    let launch = limit.map(|limit| Seconds((limit / f64::from(jobs) - started.startup.0).max(0.0)));
    let timing = TimingOptions { calls: None, ..experiment.timing };
    let now = now(&anchors, &before, &started, session);
    session.tell(Event::Comparing { home: &home, cells: anchors.len(), pairs: launches, limit: limit.map(Seconds) });
    let mut arms = Arms::default();
    let arm = arms.add(job)?;
    let base = Settings::new();
    let schedule = loop_schedule(&timing, started.startup, launch);
    let backend = started.backend.as_mut();
    let mut launcher =
        JobLauncher::new(backend, now.plan.ranks, &now.plan.placement, schedule, options.seed, &mut own, session);
    launcher.arms = arms;
    launcher.subjects = anchors.iter().map(|cell| ArmSubject::Call(*cell, condition)).collect();
    launcher.call_times = anchors.iter().filter_map(|cell| Some((*cell, subject.default_time(*cell)?))).collect();
    launcher.arrivals.clone_from(&before.plan.arrivals);
    launcher.middle = subject.middle().unwrap_or_default();
    launcher.limit_to(limit, LEAST_LAUNCHES as u32);
    let comparison = Comparison {
        criteria: ValidationCriteria {
            min_difference: criteria.min_difference,
            error_rate: SHARE * criteria.error_rate,
            level: criteria.level,
            clock_step: started.survey.clock_step,
            ..ValidationCriteria::default()
        },
        max_loss: criteria.min_difference,
        looks: Looks::between(launches, launches),
        ..Comparison::new(Stage::Drift, &base, std::slice::from_ref(&arm))
    };
    let compared = compare(&comparison, &mut launcher)?;
    let (points, together) = changes(&then, &default_times(own.launches(), condition), criteria);
    let tuning = describe_round(&compared, &arm, (condition, criteria.min_difference), |cell| subject.known(cell));
    let drift = Drift {
        format: FORMAT,
        run: shown.to_string(),
        measured: before.started.clone(),
        repeated: now.started.clone(),
        version: started.survey.version,
        differences: differences(&before, &now),
        obstacles,
        doubts_then: quality::doubts(&run.clock().unwrap_or_default(), None),
        doubts_now: quality::of_round(&tuning),
        criteria,
        points,
        together,
        failed: compared.failed.get(&arm).map(|failure| failure.why.clone()),
        tuning,
    };
    home.write_json(DRIFT, &drift)?;
    Ok(Repeated { drift, home })
}

/// The manifest of today.
fn now(anchors: &BTreeSet<Cell>, before: &Manifest, started: &Started, session: &Session<'_>) -> Manifest {
    let layout = before.plan.placement.layout;
    let largest = anchors.iter().map(|cell| cell.ranks).max().unwrap_or_default();
    let plan = Plan {
        placement: Placement::new(layout, &started.survey.hosts, anchors.iter().map(|cell| cell.ranks)),
        // A job as large as the run's: waiting ranks affect the measurement.
        ranks: before.plan.ranks.min(started.survey.slots()).max(largest),
        ..before.plan.clone()
    };
    campaign::manifest(before.request.clone(), before.experiment.clone(), started, &plan, session.command.clone())
}

/// Refuses a system whose times cannot be compared with the run's.
fn refuse_other(run: &RunDir, before: &Manifest, started: &Started) -> Result<(), WorkflowError> {
    let (then, now) = (before.survey.version, started.survey.version);
    let release =
        collrules_rules::Release::from_version(then).map_err(collrules_runner::RunnerError::UnknownRelease)?;
    let difference = if before.backend != started.backend.name() {
        format!("measured by: {} then, {} now", before.backend, started.backend.name())
    } else if release != started.release {
        format!("Open MPI: {then} then, {now} now, which numbers algorithms differently")
    } else {
        return Ok(());
    };
    Err(WorkflowError::Input(format!(
        "{} cannot be compared with what is here: {difference}. Name the mpirun that it was measured with (--mpirun)",
        run.path().display()
    )))
}

/// The communicator sizes that fit here, with unchanged nodes of their ranks.
fn fitting_ranks(before: &Manifest, started: &Started, obstacles: &mut Vec<Limitation>) -> BTreeSet<Ranks> {
    let (slots, hosts) = (started.survey.slots(), &started.survey.hosts);
    let layout = before.plan.placement.layout;
    let all: BTreeSet<Ranks> = before.plan.cells.iter().map(|planned| planned.cell.ranks).collect();
    let mut fitting = BTreeSet::new();
    for ranks in all {
        let then = before.plan.placement.nodes.get(&ranks);
        if ranks > slots && before.survey.slots() >= ranks {
            obstacles.push(Limitation::FewSlots(ranks, slots));
        } else if let Some(then) = then.filter(|then| **then != layout.nodes(hosts, ranks)) {
            obstacles.push(Limitation::OtherNodes(ranks, then.clone(), layout.nodes(hosts, ranks)));
        } else {
            fitting.insert(ranks);
        }
    }
    fitting
}
