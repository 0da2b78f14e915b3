//! Adapts the tuning of a run to another Open MPI, and measures what changed there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use collrules_record::experiment::Experiment;
use collrules_record::installed::Installation;
use collrules_record::options::{Budget, Jobs, Request, TimingOptions, TuneOptions, Validating};
use collrules_record::rundir::{self, HAN, RULES, RunDir};
use collrules_record::tuning::TuningError;
use collrules_record::values::{REST, budget};
use collrules_record::{Manifest, Seconds};
use collrules_rules::deploy::quoted;
use collrules_rules::port::{ChoiceFate, Ported, added, outdated, port};
use collrules_rules::settings::VARIABLE;
use collrules_rules::{Behaviour, Collective, patches};
use collrules_runner::RunnerError;
use collrules_runner::mpi::installation;
use collrules_workflow::analyze::Source;
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::publish::{self, Published};
use collrules_workflow::{Session, WorkflowError, tune, validate};
use serde::Serialize;

use super::merge::{self, MergeInput};
use super::summary;
use crate::exit::Exit;
use crate::options::named_or_new;
use crate::progress::OutputMode;
use crate::screen::{self, wrapped};
use crate::session::{FAILURES, run_in_session};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Within a release, such as from 5.0.8 to 5.0.11, rules are compared with the default in fresh launches; \
                  what a patch level changed is tuned again. Between releases everything is."
)]
pub(crate) struct Port {
    /// The run with the tuning to bring to another Open MPI
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// That Open MPI: its directory, such as /opt/openmpi/5.0.11, or its mpirun
    #[arg(long = "to", value_name = "DIR")]
    openmpi: PathBuf,
    /// Time for measuring again [default: that of the run; 60s if rules are only compared with the default]
    #[arg(long, value_name = "TIME|none|rest", value_parser = budget)]
    budget: Option<Budget>,
    /// Directory for a new run, if there is anything to measure again [default: collrules-run-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only show which rules still hold, and what has to be measured again
    #[arg(long)]
    dry_run: bool,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Port) -> Result<Exit, WorkflowError> {
    let published = Published::open(&args.run)?;
    let outlook = look_ahead(&published, args)?;
    let task = plan_task(&published, &outlook, args)?;
    if args.json {
        screen::print(&serde_json::to_string_pretty(&outlook)?)?;
    } else {
        screen::print(&describe(&outlook, &task, args).join("\n"))?;
    }
    if args.dry_run {
        return Ok(Exit::DONE);
    }
    let output = OutputMode::new(args.json);
    match task {
        PortTask::Tune(mut begin) => {
            begin.place = RunPlace::New(named_or_new(args.out.as_deref(), "run"));
            let published = run_in_session(FAILURES, output, |session| tune::tune(&begin, session))?;
            if !args.json {
                summary::print(&published)?;
                screen::print(&describe_end(&published, &outlook, published.is_confirmed()).join("\n"))?;
            }
            Ok(super::tune::exit(&published, true))
        }
        PortTask::TuneSome(mut begin, validating) => {
            let out = named_or_new(args.out.as_deref(), "run");
            // What hinders writing is better known before measuring than after.
            RunDir::prepare_derived(&out)?;
            begin.place = RunPlace::New(directory_for_remeasuring(&out));
            let joined = run_in_session(FAILURES, output, |session| {
                let again = tune::tune(&begin, session)?;
                join(&published, again, &out, session)
            })?;
            if joined.changes_nothing() {
                if !args.json {
                    summary::print(&joined)?;
                    screen::print(&describe_end(&joined, &outlook, false).join("\n"))?;
                }
                return Ok(Exit::DONE);
            }
            compare(&joined, &validating, None, &outlook, args)
        }
        PortTask::Validate(validating) => compare(&published, &validating, args.out.as_deref(), &outlook, args),
        PortTask::Nothing => Ok(Exit::DONE),
    }
}

/// The directory of what is measured again, next to that of the whole.
fn directory_for_remeasuring(out: &Path) -> PathBuf {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    rundir::unused(out.parent().unwrap_or(Path::new("")), &format!("{name}-again"))
}

/// Compares the rules of a run with the default of the other Open MPI, and names the command that installs them.
fn compare(
    published: &Published,
    validating: &Validating,
    out: Option<&Path>,
    outlook: &Outlook,
    args: &Port,
) -> Result<Exit, WorkflowError> {
    let run = published.run.path();
    let opened = publish::open(run, None)?;
    let arrivals = validate::as_measured(&opened)?.map(|measured| measured.arrivals).unwrap_or_default();
    let validated = run_in_session(FAILURES, OutputMode::new(args.json), |session| {
        validate::validate(&opened, false, validating, arrivals, out, session)
    })?;
    let loses = validated.loses();
    if let Some(validation) = validated.validation.filter(|_| !args.json) {
        let text = collrules_report::validation::document(&validation, validated.release).text(screen::width());
        screen::print(&text)?;
        screen::print(&describe_end(published, outlook, !loses).join("\n"))?;
    }
    Ok(if loses { Exit::SLOWER } else { Exit::DONE })
}

/// The directory of the tuning, and the command that installs it if it may be installed.
fn describe_end(published: &Published, outlook: &Outlook, installs: bool) -> Vec<String> {
    let run = quoted(&published.run.path().to_string_lossy());
    let prefix = quoted(&outlook.openmpi.prefix.to_string_lossy());
    let next = installs.then(|| format!("Next: collrules install {run} --for {prefix}"));
    std::iter::once(format!("Run: {run}")).chain(next).collect()
}

fn describe(outlook: &Outlook, task: &PortTask, args: &Port) -> Vec<String> {
    let Outlook { from, openmpi, rules, files, unknown, added, changes, outdated, .. } = outlook;
    let same = rules.iter().filter(|ported| ported.fate == ChoiceFate::Same).count();
    let there = format!("Open MPI {} in {}", openmpi.version, openmpi.prefix.display());
    let first = match rules.len() {
        0 => format!("The run has no rules that could mean something else under {there} than under {}.", from.version),
        all => format!("{same} of {all} choices mean the same under {there} as under {}.", from.version),
    };
    let mut lines = wrapped(&first, "", "");
    lines.extend(rules.iter().filter_map(lost).flat_map(|line| wrapped(&line, "  - ", "    ")));
    lines.extend(files.iter().flat_map(|file| wrapped(&format!("{file}."), "  - ", "    ")));
    for name in unknown {
        lines.extend(wrapped(&format!("The setting {name} does not exist there."), "  - ", "    "));
    }
    for (collective, names) in added {
        lines.extend(wrapped(&format!("{collective} has {} there as well.", names.join(", ")), "  - ", "    "));
    }
    if !changes.is_empty() {
        lines.push("Changed between the two:".to_owned());
        lines.extend(changes.iter().flat_map(|change| wrapped(&format!("{change}."), "  - ", "    ")));
    }
    let show = |budget: Budget| describe_time(budget, outlook.spent);
    let names: Vec<&str> = outdated.iter().map(|collective| collective.name()).collect();
    let verb = |done: &'static str, would: &'static str| if args.dry_run { would } else { done };
    let measuring = verb("Measuring", "To measure:");
    let last = match task {
        PortTask::Tune(begin) => {
            let grid = &begin.experiment.grid;
            let measured: BTreeSet<Collective> = match &grid.weights[..] {
                [] => grid.collectives.iter().copied().collect(),
                of_programs => of_programs.iter().map(|weight| weight.cell.collective).collect(),
            };
            let all: Vec<&str> = measured.iter().map(|it| it.name()).collect();
            format!("{measuring} {} again, {}.", all.join(", "), show(begin.experiment.budget))
        }
        PortTask::TuneSome(begin, validating) => format!(
            "{measuring} {} again, {}. {} these rules and all others with the default there, {}.",
            names.join(", "),
            show(begin.experiment.budget),
            verb("Then comparing", "Then compare:"),
            show(validating.budget),
        ),
        PortTask::Nothing => "Nothing has to be measured again.".to_owned(),
        PortTask::Validate(validating) => format!(
            "Nothing has to be measured again. {} the rules with the default there, {}.",
            verb("Comparing", "To do: compare"),
            show(validating.budget),
        ),
    };
    lines.extend(wrapped(&last, "", ""));
    lines
}

/// Describes the time for measuring, which took `spent` in the run.
fn describe_time(budget: Budget, spent: Seconds) -> String {
    match budget {
        Some(budget) if budget == REST => "for the rest of the batch job".to_owned(),
        Some(budget) => format!("for up to {}", budget.rounded()),
        None if spent.0 > 0.0 => format!("until it is precise, which took {} in the run", spent.rounded()),
        None => "until it is precise".to_owned(),
    }
}

/// Describes the change of a choice in a sentence; none if it stays the same.
fn lost(ported: &Ported) -> Option<String> {
    let Ported { collective, choice, words, fate } = ported;
    Some(match fate {
        ChoiceFate::Same => return None,
        ChoiceFate::Moved(id) => format!("{collective} {words}: its number is {id} there, not {}.", choice.algorithm),
        ChoiceFate::Changed(why) => format!("{collective} {words}: {why}."),
        ChoiceFate::Gone => format!("{collective} {words}: there is no such algorithm there."),
    })
}

/// Fate of a tuning under another Open MPI.
#[derive(Clone, Debug, Serialize)]
struct Outlook {
    /// The measured version.
    from: Behaviour,
    /// The other Open MPI.
    openmpi: Installation,
    /// Its behaviour.
    to: Behaviour,
    /// Fate of each choice of the rules.
    rules: Vec<Ported>,
    /// Rules files that mean something else there as they are, in sentences.
    files: Vec<String>,
    /// MCA parameters of the tuning that do not exist there.
    unknown: Vec<String>,
    /// Algorithms of the measured collectives that are new there, by name.
    added: Vec<(Collective, Vec<&'static str>)>,
    /// Changes between the versions, in sentences with the commit.
    changes: Vec<String>,
    /// Collectives to measure again.
    outdated: Vec<Collective>,
    /// Time that measuring took in the run; 0 if unknown.
    spent: Seconds,
}

/// Work to be done.
#[derive(Clone, Debug)]
enum PortTask {
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
fn look_ahead(published: &Published, args: &Port) -> Result<Outlook, WorkflowError> {
    let Published { findings, manifest, run, .. } = published;
    let shown = run.path().display();
    let openmpi = installation::find(Some(&args.openmpi))?;
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
    // An empty list is no information.
    let is_unknown = |name: &&&String| !known.is_empty() && known.get(name).is_none();
    Ok(names.iter().filter(is_unknown).map(|name| (*name).clone()).collect())
}

/// Plans the work that adapts the tuning to the other Open MPI.
fn plan_task(published: &Published, outlook: &Outlook, args: &Port) -> Result<PortTask, WorkflowError> {
    let mut begin = Begin::recorded(published.run.path())?;
    let mut tune_options = take_options(&begin, outlook)?;
    if outlook.outdated.is_empty() {
        if published.changes_nothing() {
            return Ok(PortTask::Nothing);
        }
        return Ok(PortTask::Validate(Box::new(comparison(&tune_options, args))));
    }
    tune_options.budget = args.budget.unwrap_or(tune_options.budget);
    let weights = std::mem::take(&mut begin.experiment.grid.weights);
    let arrivals = begin.experiment.arrivals.clone();
    if is_whole(published, &tune_options, outlook) {
        begin.experiment = Experiment { arrivals, ..tune_options.experiment(weights) };
        begin.request = Request::Tune(tune_options);
        return Ok(PortTask::Tune(Box::new(begin)));
    }
    let validating = Validating { repair: true, ..comparison(&tune_options, args) };
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
fn comparison(tune_options: &TuneOptions, args: &Port) -> Validating {
    let timing = TimingOptions { calls: None, ..tune_options.timing };
    let validating = Validating::new(tune_options.system.clone());
    let budget = args.budget.unwrap_or(validating.budget);
    Validating { timing, condition: tune_options.condition, budget, ..validating }
}

/// Returns true if all collectives are to be measured again: settings and rules for several layouts depend on all.
fn is_whole(published: &Published, tune_options: &TuneOptions, outlook: &Outlook) -> bool {
    let has_settings = published.settings.as_ref().is_some_and(|settings| settings.chosen().is_some());
    let all = published.findings.cells.iter().all(|cell| outlook.outdated.contains(&cell.cell.collective));
    all || has_settings || !tune_options.also_layout.is_empty()
}

/// Makes a run of what was measured again and of what still holds of the earlier run, with rules for all of it.
fn join(
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
    let (earlier, later) = (MergeInput::read(earlier, old)?, MergeInput::read(later, new)?);
    merge::join_upgraded(earlier, later, whole, out)?;
    let (source, run) = Source::of_run(out, session)?;
    let findings = source.decide(criteria, policy)?;
    publish::unproven(run, findings, source.manifest().cloned(), session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_described() {
        let said = |budget, spent| describe_time(budget, Seconds(spent));
        assert_eq!(said(Some(REST), 9.0), "for the rest of the batch job");
        assert_eq!(said(Some(Seconds(90.0)), 9.0), "for up to 90 s");
        assert_eq!(said(None, 0.0), "until it is precise");
    }
}
