//! One comparison: pairs of launches over all cells, then more pairs for what is doubtful.

use std::path::Path;
use std::time::Instant;

use collrules_record::manifest::{self, Manifest};
use collrules_record::plan::{DeployWay, Deployment, Schedule};
use collrules_record::rundir::{self, RunDir, RunLog};
use collrules_record::validation::{Criteria, FORMAT, Round};
use collrules_record::{Cell, Layout, Plan, Seconds, Survey, Validation};
use collrules_rules::deploy::quoted;
use collrules_runner::campaign::{self, Policy, Tally};
use collrules_runner::validation::{FURTHER_LOOKS, FURTHER_PAIRS, Spending, plan, spending};
use collrules_runner::{Backend, separate};
use collrules_tuner::Observations;
use collrules_tuner::validation::{compare, doubtful};

use super::subject::Subject;
use crate::cmd::measure::environment;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::{Reporter, say};

/// After so many times its share a launch begins no visits any more, not even first ones.
const LIMIT: f64 = 3.0;

/// What comparisons are made with.
pub(super) struct Bench<'a> {
    pub(super) backend: &'a mut dyn Backend,
    pub(super) survey: &'a Survey,
    pub(super) layout: Layout,
    pub(super) way: DeployWay,
    /// Without a budget, which follows from `spending`.
    pub(super) schedule: Schedule,
    pub(super) spending: Spending,
    /// For one comparison.
    pub(super) budget: Option<Seconds>,
    /// When all comparisons together shall be done.
    pub(super) deadline: Option<Instant>,
    pub(super) seed: u64,
    /// Whether what is slower is given back.
    pub(super) repair: bool,
    pub(super) criteria: Criteria,
    /// Whether the user said which cells to compare.
    pub(super) chosen: bool,
    pub(super) failures: u32,
    pub(super) reporter: Reporter,
}

/// A comparison under way.
struct Comparison {
    run: RunDir,
    log: RunLog,
    plan: Plan,
    /// Planned launches so far.
    planned: u32,
}

impl Bench<'_> {
    /// Compares the file as it is. The samples go to a directory of their own, below `home`; one that was begun with the
    /// same file and cut short is gone on with.
    pub(super) fn compare(&mut self, home: &RunDir, subject: &Subject) -> Result<Round, Failure> {
        let (mut comparison, start) = (self.begin(home, subject)?, Instant::now());
        let begun = comparison.plan.clone();
        self.reporter.validating(comparison.run.path(), &begun);
        self.measure(&mut comparison, &begun, subject)?;
        for look in 1..=FURTHER_LOOKS {
            let round = self.look(&comparison, subject)?;
            let cells = doubtful(&round, self.criteria);
            let further = if let Some(begun) = comparison.run.refinement(look)? {
                begun
            } else if cells.is_empty() || self.budget.is_some_and(|budget| start.elapsed().as_secs_f64() > budget.0) {
                break;
            } else {
                let further = self.further(&begun, &cells, look);
                comparison.run.write_refinement(look, &further)?;
                further
            };
            let cells = further.cells.len();
            let noun = if cells == 1 { "cell" } else { "cells" };
            say(&format!("{FURTHER_PAIRS} more pairs of launches for {cells} doubtful {noun}"));
            self.measure(&mut comparison, &further, subject)?;
        }
        let mut round = self.look(&comparison, subject)?;
        round.samples = comparison.run.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        round.unreached = begun.cells.len().saturating_sub(round.cells.len() + round.failed.len());
        // What has it is complete.
        let alone = self.validation(subject, vec![round.clone()]);
        comparison.run.write_validation(&alone)?;
        Ok(round)
    }

    /// What these rounds come to; nothing was given back yet.
    pub(super) fn validation(&self, subject: &Subject, rounds: Vec<Round>) -> Validation {
        Validation {
            format: FORMAT,
            rules: subject.shown.clone(),
            version: subject.version,
            settings: subject.settings(),
            criteria: self.criteria,
            rounds,
            given_back: Vec::new(),
        }
    }

    /// Divides what is left of the time anew. At the least there are two pairs, with one visit to each cell.
    pub(super) fn share_the_rest(&mut self) {
        let Some(deadline) = self.deadline else { return };
        let left = Seconds(deadline.saturating_duration_since(Instant::now()).as_secs_f64());
        let startup = self.schedule.startup;
        self.budget = Some(left);
        self.spending = spending(Some(left), startup, self.spending.pairs).unwrap_or(Spending::LEAST);
    }

    /// The directory of a comparison, new or begun.
    fn begin(&self, home: &RunDir, subject: &Subject) -> Result<Comparison, Failure> {
        let plan = self.plan(subject);
        let rules =
            std::fs::read(&subject.file).map_err(|cause| Failure::Open { path: subject.file.clone(), cause })?;
        let mut number = 1;
        loop {
            let name = rundir::comparison(number);
            number += 1;
            let path = home.file(&name);
            if !path.exists() {
                let run = RunDir::create(path, &self.manifest(&plan, subject))?;
                run.write_bytes(rundir::RULES, &rules)?;
                let log = run.log()?;
                return Ok(Comparison { run, log, plan, planned: 0 });
            }
            let Ok(run) = RunDir::open(path) else { continue };
            if run.file(rundir::VALIDATION).exists() {
                continue;
            }
            let same_file = std::fs::read(run.file(rundir::RULES)).is_ok_and(|bytes| bytes == rules);
            let Manifest { plan: begun, survey, .. } = run.manifest()?;
            let same_system = (&survey.version, &survey.hosts) == (&self.survey.version, &self.survey.hosts);
            let same_cells = begun.cells == plan.cells || !self.chosen;
            if same_file && same_system && same_cells && begun.deployment == plan.deployment {
                say(&format!("going on with the comparison in {}", run.path().display()));
                let log = run.log()?;
                return Ok(Comparison { run, log, plan: begun, planned: 0 });
            }
        }
    }

    fn plan(&self, subject: &Subject) -> Plan {
        let deployment = Deployment { way: self.way, settings: subject.settings(), first_pair: 0 };
        let limit = self.spending.launch.filter(|launch| launch.0 > 0.0).map(|launch| Seconds(LIMIT * launch.0));
        let schedule = Schedule { budget: self.spending.launch, limit, ..self.schedule };
        let place = (self.layout, self.survey);
        plan(&subject.cells, subject.ranks, place, deployment, self.spending.pairs, schedule, self.seed)
    }

    /// More pairs of the doubtful cells.
    fn further(&self, begun: &Plan, cells: &[Cell], look: u32) -> Plan {
        let first_pair = begun.launches + FURTHER_PAIRS * (look - 1);
        let deployment = begun.deployment.clone().map(|deployment| Deployment { first_pair, ..deployment });
        Plan {
            cells: begun.cells.iter().filter(|planned| cells.contains(&planned.cell)).cloned().collect(),
            launches: FURTHER_PAIRS,
            schedule: Schedule { budget: self.spending.of_further(cells.len(), begun.cells.len()), ..begun.schedule },
            deployment,
            ..begun.clone()
        }
    }

    fn measure(&mut self, comparison: &mut Comparison, plan: &Plan, subject: &Subject) -> Result<(), Failure> {
        let policy = Policy { failures: self.failures, stop: interrupt::flag() };
        let mut tally = Tally::default();
        let Self { backend, reporter, .. } = self;
        let first = comparison.planned;
        comparison.planned += separate::starts(plan).len() as u32;
        reporter.begin(plan, first);
        let result = campaign::measure_from(
            first,
            *backend,
            plan,
            &mut comparison.log,
            &policy,
            &mut tally,
            &mut |launch, notice| {
                reporter.see(launch, notice);
            },
        );
        reporter.measured(&tally, result.as_ref().err());
        result.map_err(|cause| Failure::Unvalidated {
            cause: Box::new(cause.into()),
            kept: comparison.run.path().display().to_string(),
            arguments: arguments(subject, comparison.run.path().parent(), self.repair),
            original: subject.kept.clone(),
        })
    }

    fn look(&self, comparison: &Comparison, subject: &Subject) -> Result<Round, Failure> {
        let failed = |cause| Failure::Analysis { source_name: comparison.run.path().display().to_string(), cause };
        let samples = comparison.run.samples()?;
        let observations = Observations::from_samples(&samples.text).map_err(failed)?;
        compare(&observations, self.criteria, |cell| subject.known(cell)).map_err(failed)
    }

    fn manifest(&self, plan: &Plan, subject: &Subject) -> Manifest {
        let simulated = self.backend.name() == "simulation";
        Manifest {
            format: manifest::FORMAT,
            collrules: env!("CARGO_PKG_VERSION").to_owned(),
            started: manifest::now(),
            backend: self.backend.name().to_owned(),
            command: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            launcher: self.backend.launcher(plan),
            environment: environment(),
            host: if simulated { Default::default() } else { manifest::host() },
            pins: subject.pins.clone(),
            survey: self.survey.clone(),
            plan: plan.clone(),
        }
    }
}

/// What makes `collrules validate` go on with a comparison below `home`.
fn arguments(subject: &Subject, home: Option<&Path>, repair: bool) -> String {
    let mut words = vec![quoted(&subject.shown)];
    if repair {
        words.insert(0, "--repair".to_owned());
    }
    // The results of a run go into it without being told.
    if let Some(home) = home.filter(|home| subject.run.as_ref().is_none_or(|run| run.path() != *home)) {
        words.push(format!("--out {}", quoted(&home.to_string_lossy())));
    }
    words.join(" ")
}
