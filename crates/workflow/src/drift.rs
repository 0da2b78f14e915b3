//! Drift check: times some sizes of a run again in fresh launches without and with its tuning, to see if the default's times
//! have changed, and if the tuning is still faster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use collrules_record::comparison::ArmLaunch;
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::rundir::{self, ComparisonLog};
use collrules_record::validation::{Round, ValidationCriteria};
use collrules_record::values::{MOST_LAUNCHES, budget, percent};
use collrules_record::{
    ArmSubject, Cell, Condition, Criteria, Manifest, Placement, Plan, Ranks, RunDir, Seconds, Settings, Stage, manifest,
};
use collrules_report::changes::describe_limitation;
use collrules_tuner::comparison::{Comparison, Looks, compare};
use collrules_tuner::drift::{DefaultTimes, SHARE, changes, choose_anchors, default_times};
use collrules_tuner::results::comparison::differences;
use collrules_tuner::results::drift::{DRIFT, Drift, DriftCriteria, FORMAT};
use collrules_tuner::results::limitation::Limitation;
use collrules_tuner::validation::describe_round;

use crate::comparison::{ArmJobs, Arms, JobLauncher, loop_schedule};
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
    let before = refuse_unknown(&published, options)?;
    let mut started = session.start(&options.system)?;
    let budget = budget::limit(options.budget, &mut started, session)?;
    refuse_other(&run, &before, &started)?;
    resume::leave_out(&before, &mut started);
    // Settings act on calls from programs' buffers, wherever these begin.
    let condition = if published.has_settings() { Condition::UNALIGNED } else { before.experiment.condition };
    let then = times_of_tuning(&published, condition)?;
    let job = published.switch().by_name();
    if job.is_empty() {
        return Err(WorkflowError::Input(format!("{shown} leaves everything to the default: no tuning can lose")));
    }
    let Criteria { min_gain: min_difference, level, .. } = published.findings.criteria;
    let (min_change, error_rate) = (options.min_change, options.error_rate);
    let criteria = DriftCriteria { min_change, min_difference, error_rate, level };
    let subject = ValidationSubject::of_run(published, &started);
    let (anchors, obstacles) = choose(&before, &started, &then, options.cells as usize, |cell| subject.is_ruled(cell))
        .map_err(|why| WorkflowError::Input(format!("{shown}: {why}")))?;
    let unused = || rundir::unused(run.path(), &format!("drift-{}", manifest::stamp()));
    let home = RunDir::prepare_derived(out.map_or_else(unused, Path::to_owned))?;
    started.backend.use_scratch(home.path());
    tuning::pin_files(&run, &subject.tuning)?;
    let limit = budget.map(|budget| Seconds((budget.0 - began.elapsed().as_secs_f64()).max(0.0)));
    let now = now(&anchors, &before, &started, session);
    let again = Anchors { cells: anchors, condition, subject, now };
    let (tuning, failed) = again.launch(job, &home, (options, criteria, limit), &mut started, session)?;
    let times = default_times(ComparisonLog::open(&home)?.launches(), condition);
    let (points, together) = changes(&then, &times, criteria);
    let drift = Drift {
        format: FORMAT,
        run: shown.to_string(),
        measured: before.started.clone(),
        repeated: again.now.started.clone(),
        version: started.survey.version,
        differences: differences(&before, &again.now),
        obstacles,
        doubts_then: quality::doubts(&run.clock().unwrap_or_default(), None),
        doubts_now: quality::of_round(&tuning),
        criteria,
        points,
        together,
        failed,
        tuning,
    };
    home.write_json(DRIFT, &drift)?;
    Ok(Repeated { drift, home })
}

/// The manifest of a run that can be timed again; refuses others.
fn refuse_unknown(published: &Published, options: &Drifting) -> Result<Manifest, WorkflowError> {
    let shown = published.run.path().display();
    let Some(before) = published.manifest.clone() else {
        return Err(WorkflowError::Input(format!(
            "{shown} was not measured by collrules: only runs of collrules can be checked for drift"
        )));
    };
    let layout = before.experiment.system.layout;
    if options.system.layout != layout {
        return Err(WorkflowError::usage(format!(
            "{shown} was measured with --layout {layout}, and other ranks of a machine have other times: leave out --layout"
        )));
    }
    Ok(before)
}

/// Times of the default in the launches of a tuning, or in those of its last validation: validations may be of another day, layout
/// or version.
fn times_of_tuning(published: &Published, condition: Condition) -> Result<DefaultTimes, WorkflowError> {
    let log = ComparisonLog::open(&published.run)?;
    let of_validation = |launch: &&ArmLaunch| matches!(launch.stage, Stage::Validation(_));
    let is_tuned = log.launches().iter().any(|launch| !launch.stage.is_search() && !of_validation(&launch));
    let last = published.last_validation();
    let is_then = |launch: &&ArmLaunch| if is_tuned { !of_validation(launch) } else { Some(launch.stage) == last };
    Ok(default_times(log.launches().iter().filter(is_then), condition))
}

/// The sizes to time again, those with a rule first, and why others cannot be; the error if there are none.
fn choose(
    before: &Manifest,
    started: &Started,
    then: &DefaultTimes,
    cells: usize,
    is_ruled: impl Fn(Cell) -> bool,
) -> Result<(BTreeSet<Cell>, Vec<Limitation>), String> {
    let (fitting, obstacles) = fitting_ranks(before, started);
    let is_known =
        |(cell, times): &(&Cell, &_)| fitting.contains(&cell.ranks) && BTreeMap::len(times) >= LEAST_LAUNCHES;
    let known = then.iter().filter(is_known).map(|(cell, _)| *cell).collect();
    let anchors = choose_anchors(known, cells, is_ruled);
    if anchors.is_empty() {
        let why = "nothing of it can be timed again here: this needs two launches in which it was compared with the \
                   default (`collrules validate` compares it)";
        let all = std::iter::once(why.to_owned()).chain(obstacles.iter().map(describe_limitation));
        return Err(all.collect::<Vec<_>>().join("\n  "));
    }
    Ok((anchors, obstacles))
}

/// Sizes to time again.
struct Anchors {
    cells: BTreeSet<Cell>,
    condition: Condition,
    /// The tuning without settings.
    subject: ValidationSubject,
    /// The manifest of today.
    now: Manifest,
}

impl Anchors {
    /// Launches jobs of the default and of the tuning. Returns the result of the tuning, and why its jobs failed.
    fn launch(
        &self,
        job: Settings,
        home: &RunDir,
        (options, criteria, limit): (&Drifting, DriftCriteria, Budget),
        started: &mut Started,
        session: &mut Session<'_>,
    ) -> Result<(Round, Option<String>), WorkflowError> {
        let Self { cells, condition, subject, now: Manifest { plan, experiment, .. } } = self;
        let launches = options.launches;
        session.tell(Event::Comparing { home, cells: cells.len(), pairs: launches, limit });
        let launch = |limit: Seconds| Seconds((limit.0 / f64::from(2 * launches) - started.startup.0).max(0.0));
        let timing = TimingOptions { calls: None, ..experiment.timing };
        let (base, mut arms) = (Settings::new(), Arms::default());
        let arm = arms.add(job)?;
        let jobs = ArmJobs {
            arms,
            subjects: cells.iter().map(|cell| ArmSubject::Call(*cell, *condition)).collect(),
            call_times: cells.iter().filter_map(|cell| Some((*cell, subject.default_time(*cell)?))).collect(),
            arrivals: plan.arrivals.clone(),
            ranks: plan.ranks,
            placement: plan.placement.clone(),
            schedule: loop_schedule(&timing, started.startup, limit.map(launch)),
            middle: subject.middle().unwrap_or_default(),
            seed: options.seed,
            limit,
            least: LEAST_LAUNCHES as u32,
            ..ArmJobs::default()
        };
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
        let mut log = ComparisonLog::open(home)?;
        let compared = compare(&comparison, &mut JobLauncher::new(jobs, started.backend.as_mut(), &mut log, session))?;
        let known = |cell| subject.known(cell);
        let round = describe_round(&compared, &arm, (*condition, criteria.min_difference), known);
        Ok((round, compared.failed.get(&arm).map(|failure| failure.why.clone())))
    }
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

/// The communicator sizes that fit here, with unchanged nodes of their ranks; and why others do not.
fn fitting_ranks(before: &Manifest, started: &Started) -> (BTreeSet<Ranks>, Vec<Limitation>) {
    let (slots, hosts) = (started.survey.slots(), &started.survey.hosts);
    let layout = before.plan.placement.layout;
    let all: BTreeSet<Ranks> = before.plan.cells.iter().map(|planned| planned.cell.ranks).collect();
    let (mut fitting, mut obstacles) = (BTreeSet::new(), Vec::new());
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
    (fitting, obstacles)
}
