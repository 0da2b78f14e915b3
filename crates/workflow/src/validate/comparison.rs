//! One comparison: pairs of launches over all cells, then more pairs for what is doubtful.

use std::path::Path;
use std::time::{Duration, Instant};

use collrules_record::manifest::Manifest;
use collrules_record::options::{Request, Validating};
use collrules_record::plan::{Deployment, Launched, Schedule};
use collrules_record::rundir::{self, RunDir};
use collrules_record::validation::{Criteria, FORMAT, Round};
use collrules_record::{Cell, Plan, Seconds, Survey, Validation};
use collrules_rules::deploy::quoted;
use collrules_rules::words::counted;
use collrules_runner::Backend;
use collrules_runner::validation::{FURTHER_LOOKS, FURTHER_PAIRS, Spending, plan, spending};
use collrules_tuner::Observations;
use collrules_tuner::validation::{compare, doubtful};

use super::subject::Subject;
use crate::campaign::{self, Campaign};
use crate::error::WorkflowError;
use crate::session::{Event, Session};

/// After so many times its share a launch begins no visits any more, not even first ones.
const LIMIT: f64 = 3.0;

/// What a repair takes with its proof, in starts of jobs; HAN's file needs more of them than another.
pub(super) const REPAIR: f64 = 6.0;

/// What comparisons are made with.
pub(super) struct Bench<'a> {
    pub(super) backend: &'a mut dyn Backend,
    pub(super) survey: &'a Survey,
    pub(super) options: &'a Validating,
    /// Without a budget, which follows from `spending`.
    pub(super) schedule: Schedule,
    pub(super) spending: Spending,
    /// When all comparisons together shall be done.
    pub(super) deadline: Option<Instant>,
    /// The longest time in which a launch visited every cell once, its start included.
    pub(super) pass: Duration,
    /// What a repair with its proof takes, as far as is known.
    pub(super) repair: Duration,
    pub(super) criteria: Criteria,
    pub(super) command: Vec<String>,
}

impl Bench<'_> {
    /// Compares the file as it is. The samples go to a directory of their own, below `home`; one that was begun with the
    /// same file and ended early is resumed.
    pub(super) fn compare(
        &mut self,
        home: &RunDir,
        subject: &Subject,
        session: &mut Session<'_>,
    ) -> Result<Round, WorkflowError> {
        let (mut campaign, begun) = self.begin(home, subject, session)?;
        campaign.until = self.until();
        session.tell(Event::Comparing { run: campaign.run.path(), plan: &begun });
        let (until, startup) = (campaign.until, self.schedule.startup);
        let Self { backend, criteria, spending, pass, .. } = self;
        let run = campaign.run.clone();
        let mut measure = || {
            campaign.measure(&begun, *backend, session)?;
            *pass = campaign.pass;
            campaign.further(*backend, session, |run, look, session| {
                if look > FURTHER_LOOKS {
                    return Ok(None);
                }
                let cells = doubtful(&look_at(run, *criteria, subject)?, *criteria);
                let each = spending.of_further(cells.len(), begun.cells.len()).map_or(0.0, |each| each.0) + startup.0;
                let least = Seconds(each * f64::from(2 * FURTHER_PAIRS));
                if cells.is_empty() || left(until).is_some_and(|left| left < least) {
                    return Ok(None);
                }
                let cells_said = counted(cells.len(), "doubtful cell");
                session.say(&format!("{FURTHER_PAIRS} more pairs of launches for {cells_said}"));
                Ok(Some(further(&begun, &cells, look, *spending)))
            })
        };
        measure().map_err(|error| self.interrupted(error, &run, subject))?;
        let mut round = look_at(&run, self.criteria, subject)?;
        round.samples = run.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        round.unreached = begun.cells.len().saturating_sub(round.cells.len() + round.failed.len());
        // What has it is complete.
        run.write_validation(&self.validation(subject, vec![round.clone()]))?;
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
            not_again: None,
        }
    }

    /// When a comparison shall be over: what is repaired after it has to be proven.
    fn until(&self) -> Option<Instant> {
        let repair = if self.options.repair { self.repair } else { Duration::ZERO };
        self.deadline.map(|deadline| deadline.checked_sub(repair).unwrap_or(deadline))
    }

    /// Divides what is left of the time anew. False where it is too short for two pairs with one visit to each cell.
    pub(super) fn share_the_rest(&mut self) -> bool {
        let Some(left) = left(self.until()) else { return true };
        let startup = self.schedule.startup;
        self.spending = spending(Some(left), startup, self.spending.pairs).unwrap_or(Spending::LEAST);
        left.0 >= self.pass.as_secs_f64() * f64::from(2 * Spending::LEAST.pairs)
    }

    /// The directory of a comparison, new or begun.
    fn begin(
        &self,
        home: &RunDir,
        subject: &Subject,
        session: &mut Session<'_>,
    ) -> Result<(Campaign, Plan), WorkflowError> {
        let plan = self.plan(subject);
        let read = |file: &Path| std::fs::read(file).map_err(|cause| WorkflowError::open(file, cause));
        let rules = if subject.is_han_alone() { None } else { Some(read(&subject.file)?) };
        let han = subject.han_file().map(|file| read(&file)).transpose()?;
        let mut number = 0;
        loop {
            number += 1;
            let path = home.file(&rundir::comparison(number));
            if !path.exists() {
                let request = Request::Validate(Box::new(self.options.clone()));
                let manifest =
                    campaign::manifest(request, self.backend, self.survey, &plan, &subject.pins, self.command.clone());
                let run = RunDir::create(path, &manifest)?;
                for (name, bytes) in [(rundir::RULES, &rules), (rundir::HAN, &han)] {
                    bytes.as_ref().map(|bytes| run.write_bytes(name, bytes)).transpose()?;
                }
                return Ok((Campaign::new(run)?, plan));
            }
            let Ok(run) = RunDir::open(path) else { continue };
            if run.file(rundir::VALIDATION).exists() {
                continue;
            }
            let of_run = |name: &str| std::fs::read(run.file(name)).ok();
            let same_file = of_run(rundir::RULES) == rules && of_run(rundir::HAN) == han;
            let Manifest { plan: begun, survey, .. } = run.manifest()?;
            let same_system = (&survey.version, &survey.hosts) == (&self.survey.version, &self.survey.hosts);
            let same_cells = begun.cells == plan.cells || !self.options.chooses_cells();
            if same_file && same_system && same_cells && begun.deployment == plan.deployment {
                session.say(&format!("resuming the comparison in {}", run.path().display()));
                return Ok((Campaign::new(run)?, begun));
            }
        }
    }

    fn plan(&self, subject: &Subject) -> Plan {
        let (way, settings) = (self.options.deploy, subject.settings());
        let deployment = Deployment { way, settings, first_pair: 0, launched: Launched::Pairs };
        let limit = self.spending.launch.filter(|launch| launch.0 > 0.0).map(|launch| Seconds(LIMIT * launch.0));
        let schedule = Schedule { budget: self.spending.launch, limit, ..self.schedule };
        let place = (self.options.system.layout, self.survey);
        plan(&subject.cells, subject.ranks, place, deployment, self.spending.pairs, schedule, self.options.seed)
    }

    /// Says how to resume, where measuring ended early.
    fn interrupted(&self, error: WorkflowError, run: &RunDir, subject: &Subject) -> WorkflowError {
        let WorkflowError::Incomplete { cause, .. } = error else { return error };
        WorkflowError::Unvalidated {
            cause,
            kept: run.path().display().to_string(),
            arguments: arguments(subject, run.path().parent(), self.options.repair),
            original: subject.kept.clone(),
        }
    }
}

/// The time until then.
fn left(until: Option<Instant>) -> Option<Seconds> {
    until.map(|until| Seconds(until.saturating_duration_since(Instant::now()).as_secs_f64()))
}

/// More pairs of the doubtful cells.
fn further(begun: &Plan, cells: &[Cell], look: u32, spending: Spending) -> Plan {
    let first_pair = begun.launches + FURTHER_PAIRS * (look - 1);
    let deployment = begun.deployment.clone().map(|deployment| Deployment { first_pair, ..deployment });
    Plan {
        cells: begun.cells.iter().filter(|planned| cells.contains(&planned.cell)).cloned().collect(),
        launches: FURTHER_PAIRS,
        schedule: Schedule { budget: spending.of_further(cells.len(), begun.cells.len()), ..begun.schedule },
        deployment,
        ..begun.clone()
    }
}

fn look_at(run: &RunDir, criteria: Criteria, subject: &Subject) -> Result<Round, WorkflowError> {
    let failed = WorkflowError::analysis(run.path().display());
    let observations = Observations::from_samples(&run.samples()?.text).map_err(&failed)?;
    compare(&observations, criteria, |cell| subject.known(cell)).map_err(failed)
}

/// What makes `collrules validate` resume a comparison below `home`.
fn arguments(subject: &Subject, home: Option<&Path>, repair: bool) -> String {
    let mut words = vec![quoted(&subject.shown)];
    if repair {
        words.insert(0, "--repair".to_owned());
    }
    // The results of a run go into it without being told.
    if let Some(home) = home.filter(|home| subject.run().is_none_or(|run| run.path() != *home)) {
        words.push(format!("--out {}", quoted(&home.to_string_lossy())));
    }
    words.join(" ")
}
