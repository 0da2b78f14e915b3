//! Drift check: measures some cells of a run again, to see if the machine's times have changed, and if the rules are
//! still faster.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::options::{Budget, Request, SystemOptions, TimingOptions};
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Candidate, Cell, Manifest, Placement, Plan, Ranks, Seconds, manifest};
use collrules_report::changes::describe_limitation;
use collrules_tuner::Observations;
use collrules_tuner::drift::{Anchor, Drifted, anchors, drift as compare};
use collrules_tuner::results::comparison::differences;
use collrules_tuner::results::drift::{DRIFT, Drift, DriftCriteria, FORMAT};
use collrules_tuner::results::limitation::{Limitation, PoorData};

use crate::campaign::{self, Campaign};
use crate::error::WorkflowError;
use crate::plan::timed;
use crate::publish::Published;
use crate::session::{Event, Session};
use crate::start::Started;
use crate::{quality, resume, served};

/// Options of `drift`.
#[derive(Clone, Debug)]
pub struct Drifting {
    /// Number of cells to measure again.
    pub cells: u32,
    /// Number of launches.
    pub launches: u32,
    /// Time for all of it; none if unlimited.
    pub budget: Budget,
    /// Changes of times that do not count, as a share.
    pub min_change: f64,
    /// Maximum probability of a false alarm.
    pub error_rate: f64,
    /// Seed of every random order.
    pub seed: u64,
    /// System that runs the jobs.
    pub system: SystemOptions,
}

/// Result of measuring cells of a run again.
pub struct Repeated {
    /// Comparison with the times of the run.
    pub drift: Drift,
    /// Directory of samples and result.
    pub home: RunDir,
}

/// Returns the launch options of a run: the default for measuring it again.
pub fn as_measured(run: &Path) -> Result<SystemOptions, WorkflowError> {
    let run = RunDir::open(run)?;
    Ok(resume::experiment(&run, &run.manifest()?)?.system)
}

/// Measures cells of a run again. Samples go to a separate directory: `out`, or one in the run.
pub fn drift(
    run: &Path,
    options: &Drifting,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Repeated, WorkflowError> {
    let published = Published::open(run)?;
    let has_settings = published.has_settings();
    let Published { run, findings, manifest, .. } = published;
    let unknown = || {
        WorkflowError::Input(format!(
            "{} was not measured by collrules: only runs of collrules can be checked for drift",
            run.path().display()
        ))
    };
    let before = manifest.ok_or_else(unknown)?;
    let failed = WorkflowError::analysis(run.path().display());
    let (then, _) =
        Observations::from_samples(&run.samples()?.text).and_then(Observations::apart_from_rules).map_err(&failed)?;
    let mut started = session.start(&options.system)?;
    refuse_other(&run, &before, &started)?;
    let mut obstacles: Vec<Limitation> = has_settings.then_some(Limitation::SettingsNotTimed).into_iter().collect();
    let fits = Fits::new(&before, &started, &mut obstacles);
    let given = |cell: Cell, candidate| fits.given(&before.plan, cell, candidate);
    let anchors = anchors(&findings, &then, options.cells as usize, given).map_err(&failed)?;
    if anchors.is_empty() {
        let mut why = vec![format!(
            "nothing of {} can be measured again here: this needs samples from two launches, of algorithms that share \
             a job",
            run.path().display()
        )];
        why.extend(obstacles.iter().map(describe_limitation));
        return Err(WorkflowError::Input(why.join("\n  ")));
    }
    let timing = resume::experiment(&run, &before)?.timing;
    let mut plan = plan(&anchors, &before, options, timing, &started);
    let backend = started.backend.as_ref();
    let command = session.command.clone();
    let mut now = campaign::manifest(Request::Drift, backend, &started.survey, &plan, &started.pins, command);
    let stamped = || rundir::unused(run.path(), &format!("drift-{}", manifest::stamp()));
    let place = out.map_or_else(stamped, Path::to_owned);
    let home = RunDir::create(place, &now)?;
    started.backend.use_scratch(home.path());
    // The component in use must be known before any is displaced, and may have changed.
    now.pins.extend(served::find(
        started.backend.as_mut(),
        &home,
        &mut plan,
        &started.survey,
        started.release,
        session,
    )?);
    for (planned, anchor) in plan.cells.iter_mut().zip(&anchors) {
        let wanted: BTreeSet<Candidate> = anchor.points().map(|(_, candidate)| candidate).collect();
        planned.candidates.retain(|candidate| wanted.contains(candidate));
    }
    now.plan = plan.clone();
    home.write_manifest(&now)?;
    let mut campaign = Campaign::new(home.clone())?;
    session.tell(Event::Measuring { run: home.path(), plan: &plan, resumed: false });
    campaign.measure(&plan, started.backend.as_mut(), session).map_err(only_the_cause)?;
    let today = Observations::from_samples(&home.samples()?.text).map_err(&failed)?;
    let criteria = DriftCriteria {
        min_change: options.min_change,
        min_difference: findings.criteria.min_gain,
        error_rate: options.error_rate,
        level: findings.criteria.level,
    };
    let Drifted { points, together, rules } = compare(&findings, &then, &today, &anchors, criteria).map_err(&failed)?;
    let drift = Drift {
        format: FORMAT,
        run: run.path().display().to_string(),
        measured: before.started.clone(),
        repeated: now.started.clone(),
        version: started.survey.version,
        differences: differences(&before, &now),
        obstacles,
        doubts_then: doubts(&run, &before),
        doubts_now: doubts(&home, &now),
        criteria,
        points,
        together,
        rules,
    };
    home.write_json(DRIFT, &drift)?;
    Ok(Repeated { drift, home })
}

/// Reasons to doubt the numbers of a run.
fn doubts(run: &RunDir, manifest: &Manifest) -> Vec<PoorData> {
    quality::doubts(Some(manifest), &run.clock().unwrap_or_default(), None)
}

/// An interrupted check starts again: it cannot be resumed.
fn only_the_cause(error: WorkflowError) -> WorkflowError {
    match error {
        WorkflowError::Incomplete { cause, .. } => WorkflowError::Runner(*cause),
        other => other,
    }
}

/// Refuses a system whose times cannot be compared with the run's.
fn refuse_other(run: &RunDir, before: &Manifest, started: &Started) -> Result<(), WorkflowError> {
    let (then, now) = (before.survey.version, started.survey.version);
    let release = collrules_rules::Release::from_version(then).map_err(collrules_runner::RunnerError::from)?;
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

/// Cells that can be measured again here.
struct Fits {
    /// Communicators with unchanged nodes of their ranks.
    ranks: BTreeSet<Ranks>,
}

impl Fits {
    fn new(before: &Manifest, started: &Started, obstacles: &mut Vec<Limitation>) -> Self {
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
        Self { ranks: fitting }
    }

    /// Returns the candidate to measure for the rules' choice in a cell; none if the cell is left out.
    fn given(&self, plan: &Plan, cell: Cell, candidate: Candidate) -> Option<Candidate> {
        let measured = plan.measured_as(cell, candidate).unwrap_or(candidate);
        // Cells with separate launches take too long.
        (self.ranks.contains(&cell.ranks) && !plan.is_apart(cell.collective)).then_some(measured)
    }
}

fn plan(anchors: &[Anchor], before: &Manifest, options: &Drifting, timing: TimingOptions, started: &Started) -> Plan {
    let cells = anchors
        .iter()
        .map(|anchor| CellPlan::new(anchor.cell, anchor.points().map(|(_, candidate)| candidate).collect()));
    let launches = f64::from(options.launches);
    // The survey was one start of a job, and finding the component in use is another.
    let starts = started.startup.0 * (2.0 + launches);
    let budget = options.budget.map(|budget| Seconds((budget.0 - starts).max(0.0) / launches));
    let schedule = Schedule {
        min_rounds: 15,
        max_rounds: 60,
        keep_slow: true,
        budget,
        startup: started.startup,
        condition: before.plan.schedule.condition,
        ..Schedule::default()
    };
    // The check sets the number of calls itself.
    let schedule = timed(&TimingOptions { calls: None, ..timing }, schedule);
    let mut plan = Plan::new(cells.collect(), options.launches, schedule, options.seed);
    let layout = before.plan.placement.layout;
    plan.placement = Placement::new(layout, &started.survey.hosts, anchors.iter().map(|anchor| anchor.cell.ranks));
    plan.arrivals.clone_from(&before.plan.arrivals);
    // A job as large as the run's: waiting ranks affect the measurement.
    plan.ranks = before.plan.ranks.min(started.survey.slots()).max(plan.ranks);
    plan
}
