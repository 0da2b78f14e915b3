//! Whether a machine behaves as it did when a run was measured, and whether the run's rules still hold: some of its cells
//! are measured again.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::comparison::differences;
use collrules_record::drift::{Criteria, DRIFT, Drift, FORMAT};
use collrules_record::manifest;
use collrules_record::options::{Drifting, Request, System, Timing, Tuning};
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Candidate, Cell, Manifest, Placement, Plan, Ranks, Seconds};
use collrules_tuner::Observations;
use collrules_tuner::drift::{Anchor, Drifted, anchors, drift as compare};

use crate::campaign::{self, Campaign};
use crate::error::WorkflowError;
use crate::plan::timed;
use crate::publish::Published;
use crate::session::{Event, Session};
use crate::start::Started;
use crate::{resume, served};

/// What measuring again showed.
pub struct Repeated {
    /// What it showed.
    pub drift: Drift,
    /// Where samples and result are.
    pub home: RunDir,
}

/// How a run was measured: the default of measuring again.
pub fn as_measured(run: &Path) -> Result<(System, Tuning), WorkflowError> {
    let run = RunDir::open(run)?;
    let tuning = resume::options(&run, &run.manifest()?)?;
    Ok((tuning.system.clone(), tuning))
}

/// Measures cells of a run again. Samples go to a directory of their own: `out`, or one in the run.
pub fn drift(
    run: &Path,
    options: &Drifting,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Repeated, WorkflowError> {
    let Published { run, findings, manifest, .. } = Published::open(run)?;
    let unknown = || {
        WorkflowError::Input(format!(
            "{} holds no timings of ours: only what collrules measured can be measured again",
            run.path().display()
        ))
    };
    let before = manifest.ok_or_else(unknown)?;
    let failed = WorkflowError::analysis(run.path().display());
    let (then, _) =
        Observations::from_samples(&run.samples()?.text).and_then(Observations::apart_from_rules).map_err(&failed)?;
    let mut started = session.start(&options.system)?;
    refuse_other(&run, &before, &started)?;
    let mut obstacles = Vec::new();
    let layout = before.plan.placement.layout;
    let fits = Fits::new(&before, &started, &mut obstacles);
    let given = |cell: Cell, candidate| fits.given(&before.plan, cell, candidate);
    let anchors = anchors(&findings, &then, options.cells as usize, given).map_err(&failed)?;
    if anchors.is_empty() {
        let mut why = vec![format!(
            "no cell of {} can be measured again here: it takes samples from two launches, of candidates that share a job",
            run.path().display()
        )];
        why.append(&mut obstacles);
        return Err(WorkflowError::Input(why.join("\n  ")));
    }
    let tuning = resume::options(&run, &before)?;
    let mut plan = plan(&anchors, &before, options, &tuning, &started);
    let request = Tuning {
        launches: options.launches,
        budget: options.budget,
        seed: options.seed,
        system: System { layout, ..options.system.clone() },
        ..tuning
    };
    let backend = started.backend.as_ref();
    let command = session.command.clone();
    let mut now =
        campaign::manifest(Request::Tune(Box::new(request)), backend, &started.survey, &plan, &started.pins, command);
    let stamped = || rundir::unused(run.path(), &format!("drift-{}", manifest::stamp()));
    let place = out.map_or_else(stamped, Path::to_owned);
    let home = RunDir::create(place, &now)?;
    started.backend.use_scratch(home.path());
    // Who serves has to be known before anything is displaced, and is a part of what may have changed.
    served::find(started.backend.as_mut(), &home, &mut plan, &started.survey, started.release, session)?;
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
    let criteria = Criteria {
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
        criteria,
        points,
        together,
        rules,
    };
    home.write_json(DRIFT, &drift)?;
    Ok(Repeated { drift, home })
}

/// An interrupted check is made again: nothing of it is resumed.
fn only_the_cause(error: WorkflowError) -> WorkflowError {
    match error {
        WorkflowError::Incomplete { cause, .. } => WorkflowError::Runner(*cause),
        other => other,
    }
}

/// Refuses what no time can be compared on.
fn refuse_other(run: &RunDir, before: &Manifest, started: &Started) -> Result<(), WorkflowError> {
    let (then, now) = (before.survey.version, started.survey.version);
    let release = collrules_rules::Release::of(then).map_err(collrules_runner::RunnerError::from)?;
    let difference = if before.backend != started.backend.name() {
        format!("measured by: {} then, {} now", before.backend, started.backend.name())
    } else if release != started.release {
        format!("Open MPI: {then} then, {now} now, which numbers algorithms otherwise")
    } else {
        return Ok(());
    };
    Err(WorkflowError::Input(format!(
        "{} cannot be compared with what is here: {difference}. Name the mpirun that it was measured with (--mpirun)",
        run.path().display()
    )))
}

/// Which cells can be measured again here.
struct Fits {
    /// Communicators that have their ranks where they had them.
    ranks: BTreeSet<Ranks>,
}

impl Fits {
    fn new(before: &Manifest, started: &Started, obstacles: &mut Vec<String>) -> Self {
        let (slots, hosts) = (started.survey.slots(), &started.survey.hosts);
        let layout = before.plan.placement.layout;
        let all: BTreeSet<Ranks> = before.plan.cells.iter().map(|planned| planned.cell.ranks).collect();
        let mut fitting = BTreeSet::new();
        for ranks in all {
            let then = before.plan.placement.nodes.get(&ranks);
            if ranks > slots && before.survey.slots() >= ranks {
                obstacles.push(format!("There are only {slots} slots: cells of {ranks} ranks are left out."));
            } else if let Some(then) = then.filter(|then| **then != layout.nodes(hosts, ranks)) {
                let now = layout.nodes(hosts, ranks);
                obstacles
                    .push(format!("{ranks} ranks were on {then} then and are on {now} now: their cells are left out."));
            } else {
                fitting.insert(ranks);
            }
        }
        Self { ranks: fitting }
    }

    /// What is measured for what the rules give in a cell; none where the cell is left out.
    fn given(&self, plan: &Plan, cell: Cell, candidate: Candidate) -> Option<Candidate> {
        let measured = plan.measured_as(cell, candidate).unwrap_or(candidate);
        // What needs launches of its own takes too long.
        let apart = plan.is_apart(cell.collective, measured) || plan.is_apart(cell.collective, Candidate::Builtin);
        (self.ranks.contains(&cell.ranks) && !apart).then_some(measured)
    }
}

fn plan(anchors: &[Anchor], before: &Manifest, options: &Drifting, tuning: &Tuning, started: &Started) -> Plan {
    let cells = anchors
        .iter()
        .map(|anchor| CellPlan::new(anchor.cell, anchor.points().map(|(_, candidate)| candidate).collect()));
    let launches = f64::from(options.launches);
    // The survey was one start of a job, and finding out who serves is another.
    let starts = started.startup.0 * (2.0 + launches);
    let budget = options.budget.map(|budget| Seconds((budget.0 - starts).max(0.0) / launches));
    let schedule = Schedule {
        min_rounds: 15,
        max_rounds: 60,
        keep_slow: true,
        budget,
        startup: started.startup,
        ..Schedule::default()
    };
    // How often each is called is up to the check.
    let schedule = timed(&Timing { calls: None, ..tuning.timing }, schedule);
    let mut plan = Plan::new(cells.collect(), options.launches, schedule, options.seed);
    let layout = before.plan.placement.layout;
    let nodes = anchors.iter().map(|anchor| {
        let ranks = anchor.cell.ranks;
        (ranks, layout.nodes(&started.survey.hosts, ranks))
    });
    plan.placement = Placement { layout, nodes: nodes.collect(), serving: Vec::new() };
    // In as large a job as then: the ranks that wait are a part of what is measured.
    plan.ranks = before.plan.ranks.min(started.survey.slots()).max(plan.ranks);
    plan
}
