//! `collrules port`: adaptation of a tuning to another Open MPI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use collrules_record::experiment::Experiment;
use collrules_record::installed::Installation;
use collrules_record::options::{Budget, Jobs, Request, TimingOptions, TuneOptions, Validating};
use collrules_record::rundir::{HAN, RULES};
use collrules_record::tuning::TuningError;
use collrules_record::{Manifest, Seconds, values};
use collrules_rules::port::{Ported, added, outdated, port};
use collrules_rules::settings::VARIABLE;
use collrules_rules::{Behaviour, Collective, patches};
use collrules_runner::RunnerError;
use collrules_runner::mpi::installation;
use serde::Serialize;

use crate::analyze::Source;
use crate::campaign::Begin;
use crate::error::WorkflowError;
use crate::merge::MergeInput;
use crate::publish::Published;
use crate::session::Session;
use crate::{merge, publish};

/// Options of `port`.
#[derive(Clone, Debug, clap::Args)]
pub struct Porting {
    /// The run with the tuning to bring to another Open MPI
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// That Open MPI: its directory, such as /opt/openmpi/5.0.11, or its mpirun
    #[arg(long = "to", value_name = "DIR")]
    pub openmpi: PathBuf,
    /// Time for measuring again [default: that of the run; 60s if rules are only compared with the default]
    #[arg(long, value_name = "TIME|none|rest", value_parser = values::budget)]
    pub budget: Option<Budget>,
    /// Directory for a new run, if there is anything to measure again [default: collrules-run-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only show which rules still hold, and what has to be measured again
    #[arg(long)]
    pub dry_run: bool,
}

/// Fate of a tuning under another Open MPI.
#[derive(Clone, Debug, Serialize)]
pub struct Outlook {
    /// The measured version.
    pub from: Behaviour,
    /// The other Open MPI.
    pub openmpi: Installation,
    /// Its behaviour.
    pub to: Behaviour,
    /// Fate of each choice of the rules.
    pub rules: Vec<Ported>,
    /// Rules files that mean something else there as they are, in sentences.
    pub files: Vec<String>,
    /// MCA parameters of the tuning that do not exist there.
    pub unknown: Vec<String>,
    /// Algorithms of the measured collectives that are new there, by name.
    pub added: Vec<(Collective, Vec<&'static str>)>,
    /// Changes between the versions, in sentences with the commit.
    pub changes: Vec<String>,
    /// Collectives to measure again.
    pub outdated: Vec<Collective>,
    /// Time that measuring took in the run; 0 if unknown.
    pub spent: Seconds,
}

/// Work to be done.
#[derive(Clone, Debug)]
pub enum PortTask {
    /// Tune all collectives again, with the options of the run.
    Tune(Box<Begin>),
    /// Tune some collectives again, then compare their rules and those of the others with the default there.
    TuneSome(Box<Begin>, Box<Validating>),
    /// Compare the rules with the default there: their meaning is unchanged.
    Validate(Box<Validating>),
    /// Nothing: no rules to compare, and nothing to measure again.
    Nothing,
}

/// Predicts the fate of a run's tuning.
pub fn look_ahead(published: &Published, options: &Porting) -> Result<Outlook, WorkflowError> {
    let Published { findings, manifest, run, .. } = published;
    let shown = run.path().display();
    let openmpi = installation::find(Some(&options.openmpi))?;
    let to = Behaviour::from_version(openmpi.version).map_err(RunnerError::UnknownRelease)?;
    let measured = manifest.as_ref().filter(|_| !findings.simulated);
    let measured = measured.ok_or_else(|| {
        WorkflowError::Input(format!("{shown} was not measured by collrules on an Open MPI, so it cannot be ported"))
    })?;
    let from = Behaviour::from_version(measured.survey.version).map_err(RunnerError::UnknownRelease)?;
    let mut collectives: Vec<Collective> = findings.cells.iter().map(|cell| cell.cell.collective).collect();
    collectives.sort_unstable();
    collectives.dedup();
    let added = collectives.iter().map(|collective| (*collective, added(*collective, &from, &to)));
    let added = added.filter(|(_, names)| !names.is_empty()).collect();
    let changes = if from.release == to.release {
        let patches = patches::between(from.version, to.version);
        patches.map(|patch| format!("{} ({}, {})", patch.what, patch.since, patch.commit)).collect()
    } else {
        vec![format!("algorithms and default decisions were changed between {} and {}", from.release, to.release)]
    };
    let outdated = outdated(&collectives, &from, &to);
    let (files, unknown) = (describe_files(published, &from, &to)?, list_unknown(published, &openmpi)?);
    let rules = port(&findings.table, &from, &to);
    let spent = run.progress().spent;
    Ok(Outlook { from, rules, files, unknown, added, changes, outdated, spent, openmpi, to })
}

/// Names the rules files that another version refuses or reads in another way.
fn describe_files(published: &Published, from: &Behaviour, to: &Behaviour) -> Result<Vec<String>, TuningError> {
    let Some(tuning) = &published.tuning else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut compare = |name: &str, same: Result<bool, TuningError>| match same {
        Ok(true) => {}
        Ok(false) => found.push(format!("{name} as it is means something else there")),
        Err(_) => found.push(format!("{name} as it is would be refused there")),
    };
    if let Some(file) = &tuning.tuned {
        let here = file.read_as(from)?.table;
        compare(RULES, file.read_as(to).map(|file| file.table == here));
    }
    if let Some(file) = &tuning.han {
        let here = file.read_as(from)?.table;
        compare(HAN, file.read_as(to).map(|file| file.table == here));
    }
    Ok(found)
}

/// Lists the MCA parameters of a tuning that an installation does not have.
fn list_unknown(published: &Published, openmpi: &Installation) -> Result<Vec<String>, RunnerError> {
    let chosen = published.settings.as_ref().and_then(|settings| settings.chosen());
    let chosen = chosen.into_iter().flat_map(|finalist| finalist.settings.keys());
    let own = published.tuning.iter().flat_map(|tuning| tuning.parameters.keys());
    let names: BTreeSet<&String> = chosen.chain(own).filter(|name| !name.starts_with(VARIABLE)).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let known = installation::parameters(openmpi)?;
    // An ompi_info that lists nothing says nothing.
    let is_unknown = |name: &&&String| !known.is_empty() && known.get(name).is_none();
    Ok(names.iter().filter(is_unknown).map(|name| (*name).clone()).collect())
}

/// Plans the work that adapts the tuning to the other Open MPI.
pub fn plan_task(published: &Published, outlook: &Outlook, options: &Porting) -> Result<PortTask, WorkflowError> {
    let mut begin = Begin::recorded(published.run.path())?;
    let mut tune_options = take_options(&begin, outlook)?;
    if outlook.outdated.is_empty() {
        if published.changes_nothing() {
            return Ok(PortTask::Nothing);
        }
        return Ok(PortTask::Validate(Box::new(comparison(&tune_options, options))));
    }
    tune_options.budget = options.budget.unwrap_or(tune_options.budget);
    let weights = std::mem::take(&mut begin.experiment.grid.weights);
    let arrivals = begin.experiment.arrivals.clone();
    if is_whole(published, &tune_options, outlook) {
        begin.experiment = Experiment { arrivals, ..tune_options.experiment(weights) };
        begin.request = Request::Tune(tune_options);
        return Ok(PortTask::Tune(Box::new(begin)));
    }
    let validating = Validating { repair: true, ..comparison(&tune_options, options) };
    let is_outdated = |collective: &Collective| outlook.outdated.contains(collective);
    tune_options.grid.collectives.retain(is_outdated);
    tune_options.grid.only.retain(|(collective, _)| is_outdated(collective));
    // All rules are compared together afterwards.
    (tune_options.validate, tune_options.settings.none) = (false, true);
    let weights = weights.into_iter().filter(|weight| is_outdated(&weight.cell.collective)).collect();
    begin.experiment = Experiment { arrivals, ..tune_options.experiment(weights) };
    begin.request = Request::Tune(tune_options);
    Ok(PortTask::TuneSome(Box::new(begin), Box::new(validating)))
}

/// The options of a tune_options, under the other Open MPI.
fn take_options(begin: &Begin, outlook: &Outlook) -> Result<Box<TuneOptions>, WorkflowError> {
    let Request::Tune(mut tune_options) = begin.request.clone() else { return Err(begin.refuse_tuning()) };
    let Jobs::Mpi(launching) = &mut tune_options.system.jobs else {
        return Err(WorkflowError::Input("simulated runs cannot be ported".to_owned()));
    };
    launching.mpirun = Some(outlook.openmpi.prefix.join("bin/mpirun"));
    // The worker of the earlier one is not used.
    launching.worker = None;
    Ok(tune_options)
}

/// The comparison of a tuning with the default, as it was measured.
fn comparison(tune_options: &TuneOptions, options: &Porting) -> Validating {
    let timing = TimingOptions { calls: None, ..tune_options.timing };
    let validating = Validating::new(tune_options.system.clone());
    let budget = options.budget.unwrap_or(validating.budget);
    Validating { timing, condition: tune_options.condition, budget, ..validating }
}

/// Returns true if all collectives are to be measured again: settings and rules for several layouts depend on all.
fn is_whole(published: &Published, tune_options: &TuneOptions, outlook: &Outlook) -> bool {
    let has_settings = published.settings.as_ref().is_some_and(|settings| settings.chosen().is_some());
    let all = published.findings.cells.iter().all(|cell| outlook.outdated.contains(&cell.cell.collective));
    all || has_settings || !tune_options.also_layout.is_empty()
}

/// Makes a run of what was measured again and of what still holds of the earlier run, with rules for all of it.
pub fn join(
    published: &Published,
    again: Published,
    out: &Path,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let manifest = |published: &Published| published.run.manifest();
    let (old, new) = (manifest(published)?, manifest(&again)?);
    let Request::Tune(mut tune_options) = old.request.clone() else {
        return Err(Begin::recorded(published.run.path())?.refuse_tuning());
    };
    tune_options.system = new.experiment.system.clone();
    let experiment = Experiment { system: new.experiment.system.clone(), ..old.experiment.clone() };
    let (criteria, policy) = (tune_options.criteria, tune_options.policy);
    let whole = Manifest { request: Request::Tune(tune_options), experiment, ..new.clone() };
    let (earlier, later) = (published.run.clone(), again.run);
    let (earlier, later) = (MergeInput::read(earlier, old, session)?, MergeInput::read(later, new, session)?);
    let joined = merge::join_upgraded(earlier, later, whole, out, session)?;
    let (source, run) = Source::of_run(joined.run.path(), session)?;
    let findings = source.decide(criteria, policy)?;
    publish::unproven(run, findings, source.manifest().cloned(), session)
}
