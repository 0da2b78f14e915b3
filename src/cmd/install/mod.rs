//! Installation of a tuning for every job of an Open MPI, and its removal.
//!
//! | module | job |
//! |---|---|
//! | here | install and undo |
//! | `place` | files and directories of an installation |
//! | `parameters` | a parameter file, and other settings of the same parameters |
//! | `scope` | calls that a tuning acts on, next to those that were measured |
//! | `state` | state of installed tunings |

pub(super) mod parameters;
pub(super) mod place;
pub(super) mod scope;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use collrules_record::installed::{FORMAT, INSTALLED, Installation, Installed};
use collrules_record::options::{Launching, SystemOptions};
use collrules_record::rundir::{self, RunDir};
use collrules_record::transport::Transport;
use collrules_record::{Layout, Seconds, Tuning, digest, manifest};
use collrules_report::facts::describe_other_transport;
use collrules_report::outcome::{TuningVerdict, VerdictWord};
use collrules_report::plain;
use collrules_report::quality::describe_doubts;
use collrules_rules::deploy::{JobSettings, RULES_FILE};
use collrules_rules::emit::confirmation;
use collrules_rules::{Behaviour, Release};
use collrules_runner::RunnerError;
use collrules_runner::mpi::installation;
use collrules_workflow::publish::Published;
use collrules_workflow::{TOOL, WorkflowError, start};
use parameters::{ParameterFile, put};
use place::InstallPlace;
use scope::describe_scope;

use crate::screen::{self, wrapped};

/// Longest silence of the job that shows the transport.
const LONGEST_JOB: Seconds = Seconds(20.0);

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "The lines go to the end of the installation's openmpi-mca-params.conf, between two markers. What was \
there stays, and --undo takes the lines out again.

Exit codes:
  0  installed, or taken out
  2  options that contradict each other
  3  nothing to install, or refused: the tuning is not confirmed, slower, or of
     another machine, layout or transport (--force); other settings are active
  4  no Open MPI, or one that cannot read the tuning
  6  a file cannot be written"
)]
pub(crate) struct Install {
    /// The run with the tuning to install
    #[arg(value_name = "RUN", required_unless_present = "undo")]
    pub(super) run: Option<PathBuf>,
    /// The Open MPI to install it for: its directory, such as /opt/openmpi/5.0.7, or its mpirun [default: that of the
    /// mpirun in PATH]
    #[arg(long = "for", value_name = "DIR")]
    pub(super) openmpi: Option<PathBuf>,
    /// Keep the rules files in DIR/share/collrules, in a directory for each Open MPI [default: next to the parameter
    /// file]
    #[arg(long, value_name = "DIR")]
    pub(super) prefix: Option<PathBuf>,
    /// Install the rules alone, without settings
    #[arg(long, conflicts_with_all = ["settings_only", "undo"])]
    pub(super) rules_only: bool,
    /// Install the settings alone, without rules
    #[arg(long, conflicts_with = "undo")]
    pub(super) settings_only: bool,
    /// Switch it on for this user alone, in ~/.openmpi/mca-params.conf, which every Open MPI of the user reads
    #[arg(long, conflicts_with = "prefix")]
    pub(super) user: bool,
    /// Undo an earlier install: restores the parameter file
    #[arg(long, conflicts_with = "run")]
    pub(super) undo: bool,
    /// Only show what would be written
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Install a tuning that was not confirmed in fresh launches, that makes calls slower, or that was made on another machine
    /// or with another layout of ranks on nodes or another transport
    #[arg(long, conflicts_with = "undo")]
    pub(super) force: bool,
    /// Write to a parameter file that is not below the directory that --for names
    #[arg(long)]
    pub(super) yes: bool,
}

pub(crate) fn run(options: &Install) -> Result<(), WorkflowError> {
    let lines = match &options.run {
        Some(run) => install(run, options)?,
        None => undo(options)?,
    };
    screen::print(&lines.join("\n"))
}

/// Installs the tuning of a run; returns the lines that say so.
fn install(run: &Path, options: &Install) -> Result<Vec<String>, WorkflowError> {
    let openmpi = installation::find(options.openmpi.as_deref())?;
    let published = choose_part(Published::open(run)?, options)?;
    let place = InstallPlace::new(options, &openmpi)?;
    refuse_unsuitable(&published, &openmpi)?;
    let tuning = tuning(&published, &openmpi)?;
    let mut notes = accept_doubts(&published, &tuning, &openmpi, options.force)?;
    let scope = describe_scope(&published.findings, &tuning);
    let contents = contents(&published, &tuning)?;
    let mut kept = Installed {
        format: FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        installed: String::new(),
        openmpi: openmpi.clone(),
        parameters: place.parameters.clone(),
        run: published.run.absolute().to_owned(),
        measured: published.manifest.as_ref().map(|manifest| manifest.started.clone()),
        release: published.findings.release,
        version: published.manifest.as_ref().map(|manifest| manifest.survey.version),
        files: contents.iter().map(|(name, bytes)| ((*name).to_owned(), digest(bytes))).collect(),
        settings: tuning.settings().by_name(),
    };
    let files = place.generation(&kept)?;
    if files.to_str().is_none() {
        let shown = files.display();
        return Err(WorkflowError::Usage(format!("{shown} is not UTF-8, so no setting can name a file in it")));
    }
    let settings = tuning.moved(&files, rundir::RULES, rundir::HAN).settings();
    (kept.installed, kept.settings) = (manifest::now(), settings.by_name());
    let block = block(&published, &settings)?;
    let create =
        |directory: &Path| fs::create_dir_all(directory).map_err(|cause| WorkflowError::write(directory, cause));
    if let Some(directory) = place.parameters.parent().filter(|_| !options.dry_run) {
        create(directory)?;
    }
    let _lock = place.lock(options)?;
    let before = ParameterFile::read(place.parameters.clone())?;
    let after = before.with_block(&block)?;
    notes.extend(describe_replaced(&before, options.dry_run));
    notes.extend(after.competitors(&openmpi)?);
    if !options.dry_run {
        let is_new = !files.join(INSTALLED).exists();
        create(&files)?;
        let directory = RunDir::derived(&files)?;
        directory.write_json(INSTALLED, &kept)?;
        // Only the last step affects jobs.
        let written = contents
            .iter()
            .try_for_each(|(name, bytes)| directory.write(name, bytes).map(drop).map_err(WorkflowError::from))
            .and_then(|()| put(&after.path, after.text.as_deref().unwrap_or_default()));
        if let Err(cause) = written {
            // No parameter file names these files. What failed first is the cause.
            if is_new {
                let _ = place::remove(&files, &kept);
            }
            return Err(cause);
        }
        let named = before.named_file().and_then(Path::parent);
        let found = place.generations(None);
        for (directory, installed) in found.own.iter().filter(|it| !place::may_be_read(it, Some(&files), named)) {
            place::remove(directory, installed)?;
            notes.extend(place::describe_kept(directory, installed));
        }
        notes.extend(found.foreign);
        if !options.user {
            notes.extend(place::unreadable(&files.join(rundir::RULES)));
            notes.extend(place::unreadable(&place.parameters));
        }
    }
    let (would, has) = if options.dry_run { ("would get", "would be") } else { ("has", "are") };
    let first = format!(
        "Open MPI {} in {}: {} {would} these lines at its end.",
        openmpi.version,
        openmpi.prefix.display(),
        place.parameters.display()
    );
    let mut lines = wrapped(&first, "", "");
    lines.extend(block.iter().map(|line| format!("  {line}")));
    lines.extend(wrapped(&format!("The files that they name {has} in {}.", files.display()), "", ""));
    lines.extend(scope.iter().chain(&notes).flat_map(|note| wrapped(note, "", "")));
    if !options.dry_run {
        let next = "If nodes do not share these directories, copy both to every node. Then, in a job:";
        lines.extend(wrapped(next, "", ""));
        let mpirun = openmpi.prefix.join("bin/mpirun");
        lines.push(format!("  collrules verify --deployed --mpirun {}", mpirun.display()));
    }
    Ok(lines)
}

/// Names the tuning that an install replaces; none if there is none.
fn describe_replaced(before: &ParameterFile, is_dry_run: bool) -> Option<String> {
    if before.block().is_empty() {
        return None;
    }
    let replaces = if is_dry_run { "would replace" } else { "replaces" };
    let directory = before.named_file().and_then(Path::parent);
    let kept =
        directory.and_then(|directory| rundir::read_json_file::<Installed>(&directory.join(INSTALLED), FORMAT).ok());
    Some(match kept {
        Some(kept) => format!("It {replaces} the tuning of {}, installed {}.", kept.run.display(), kept.installed),
        None => format!("It {replaces} the lines of an earlier install in {}.", before.path.display()),
    })
}

/// Undoes an install; returns the lines that say so.
fn undo(options: &Install) -> Result<Vec<String>, WorkflowError> {
    let openmpi = installation::find(options.openmpi.as_deref())?;
    let place = InstallPlace::new(options, &openmpi)?;
    let _lock = place.lock(options)?;
    if !options.dry_run {
        place.remove_empty();
    }
    let before = ParameterFile::read(place.parameters.clone())?;
    let text = before.without_block()?;
    let has_block = text != before.text;
    let named = before.named_file().and_then(Path::parent);
    // Earlier installs may be in another directory.
    let found = place.generations(named.and_then(Path::parent));
    let mut left = found.foreign;
    let (stay, go): (Vec<_>, Vec<_>) = found.own.into_iter().partition(|it| place::may_be_read(it, None, named));
    for (directory, _) in stay {
        left.push(format!("{} stays for jobs that are just starting: remove it later.", directory.display()));
    }
    if !has_block && go.is_empty() {
        let other = if options.user { "without --user for all users" } else { "with --user for one user" };
        let file = place.parameters.display();
        let nothing = format!("nothing of collrules is installed in {file}; an install {other} has another file.");
        left.insert(0, nothing);
        return Err(WorkflowError::Input(left.join(" ")));
    }
    if !options.dry_run {
        match &text {
            // An earlier undo was interrupted.
            _ if !has_block => {}
            Some(text) => put(&place.parameters, text)?,
            None => {
                // A link to it stays.
                let file = place.parameters.canonicalize().unwrap_or(place.parameters.clone());
                fs::remove_file(&file).map_err(|cause| WorkflowError::write(&file, cause))?;
            }
        }
        go.iter().try_for_each(|(directory, installed)| place::remove(directory, installed))?;
    }
    let kept = go.iter().map(|(directory, installed)| (directory, place::describe_kept(directory, installed)));
    let (emptied, shared): (Vec<_>, Vec<_>) = kept.partition(|(_, kept)| kept.is_none());
    left.extend(shared.into_iter().filter_map(|(_, kept)| kept));
    let file = place.parameters.display();
    let what = match (has_block && text.is_none(), options.dry_run) {
        (true, false) => format!("{file} is removed: there was none before."),
        (true, true) => format!("{file} would be removed: there was none before."),
        (false, false) => format!("{file} no longer has the lines of collrules."),
        (false, true) => format!("{file} would lose the lines of collrules."),
    };
    let gone = if options.dry_run { "would be removed" } else { "is removed" };
    let gone = emptied.iter().map(|(directory, _)| format!("{} {gone}.", directory.display()));
    Ok(std::iter::once(what).chain(gone).chain(left).flat_map(|said| wrapped(&said, "", "")).collect())
}

/// The part of a run's tuning to install.
fn choose_part(mut published: Published, options: &Install) -> Result<Published, WorkflowError> {
    let missing = |published: &Published, what: &str| {
        let shown = published.run.path().display();
        Err(WorkflowError::Input(format!("{shown} has no {what}: there is nothing to install")))
    };
    if options.rules_only && published.findings.changes_nothing() {
        return missing(&published, "rules");
    }
    if options.settings_only && !published.has_settings() {
        return missing(&published, "settings");
    }
    if options.rules_only {
        published.settings = None;
    }
    if let Some(settings) = published.settings.as_mut().filter(|_| options.settings_only) {
        settings.leave_out_rules();
    }
    Ok(published)
}

/// Refuses a tuning for another Open MPI, and one without effect.
fn refuse_unsuitable(published: &Published, openmpi: &Installation) -> Result<(), WorkflowError> {
    let Published { findings, run, .. } = published;
    let shown = run.path().display();
    let refuse = |why: String| Err(WorkflowError::Input(why));
    if findings.simulated {
        return refuse(format!("the times of {shown} are simulated: its rules say nothing about any real machine"));
    }
    let release = Release::from_version(openmpi.version).map_err(RunnerError::UnknownRelease)?;
    if release != findings.release {
        return refuse(format!(
            "the tuning of {shown} was made for Open MPI {}, and {} is {}, where other algorithms and defaults have other \
             times: `collrules port {shown} --to {1}` measures again there",
            findings.release,
            openmpi.prefix.display(),
            openmpi.version,
        ));
    }
    if published.changes_nothing() {
        return refuse(format!("{shown} leaves everything to the default: there is nothing to install"));
    }
    Ok(())
}

/// Returns doubts about a tuning that may be harmful or outdated, in sentences. Refuses one that may be harmful, unless
/// forced.
fn accept_doubts(
    published: &Published,
    tuning: &Tuning,
    openmpi: &Installation,
    force: bool,
) -> Result<Vec<String>, WorkflowError> {
    let mut doubts = doubts(published, tuning);
    let transport = transport(&published.findings.transport, openmpi);
    doubts.extend(transport.as_ref().ok().into_iter().flatten().cloned());
    if !doubts.is_empty() && !force {
        return Err(WorkflowError::Input(format!("{} --force installs it anyway", doubts.join(" "))));
    }
    let mut notes = doubts;
    notes.extend(transport.err());
    match published.manifest.as_ref().map(|manifest| manifest.survey.version) {
        Some(version) if version != openmpi.version => notes.push(format!(
            "It was measured on {version}, and this is {}: `collrules drift` shows whether its times still hold.",
            openmpi.version
        )),
        _ => {}
    }
    notes.extend(describe_doubts(&published.context().doubts));
    Ok(notes)
}

/// Lists reasons not to install a tuning here, in whole sentences.
fn doubts(published: &Published, tuning: &Tuning) -> Vec<String> {
    let Published { findings, manifest, validation, run, .. } = published;
    let shown = run.path().display();
    let mut doubts = Vec::new();
    match validation {
        _ if published.loses_by_settings() => doubts.push(format!(
            "the settings of {shown} make something slower, as fresh launches showed: `collrules validate --repair \
             {shown}` removes them."
        )),
        Some(validation) if validation.loses() => doubts.push(format!(
            "{shown} makes calls slower, as fresh launches showed: `collrules validate --repair {shown}` removes these \
             rules."
        )),
        _ => {
            if let TuningVerdict { word: VerdictWord::NotConfirmed, why } = published.verdict() {
                doubts.push(format!(
                    "{shown} is NOT CONFIRMED: {why}. `collrules validate --repair {shown}` compares it with the default."
                ));
            }
        }
    }
    match manifest {
        Some(manifest) => {
            doubts.extend(scope::list_mismatches(findings, Some(manifest), tuning, &scope::hosts_here()));
        }
        None => doubts.push(format!("{shown} was made from timings of others, on an unknown system.")),
    }
    doubts
}

/// A sentence if jobs of an Open MPI go over another transport than that of the tuning, by a job of two ranks on this
/// host; an error, in a sentence, if no such job starts.
fn transport(measured: &Option<Transport>, openmpi: &Installation) -> Result<Option<String>, String> {
    let Some(shown) = measured else { return Ok(None) };
    let launching = Launching {
        mpirun: Some(openmpi.prefix.join("bin/mpirun")),
        arguments: "-np 2 --oversubscribe".to_owned(),
        hang_timeout: LONGEST_JOB,
        ..Launching::default()
    };
    let system = SystemOptions { layout: Layout::default(), oversubscribe: false, jobs: launching };
    let started = start::mpi(&system, &Arc::default()).map_err(|cause| {
        let cause = cause.to_string();
        let cause = cause.lines().next().unwrap_or_default();
        format!("Not checked whether jobs here use its transport, {shown}: {cause}.")
    })?;
    Ok(describe_other_transport(measured, &started.survey.transport))
}

/// The tuning with its settings, if the files are as decided, and this Open MPI accepts them.
fn tuning(published: &Published, openmpi: &Installation) -> Result<Tuning, WorkflowError> {
    let Published { run, findings, .. } = published;
    let missing = || WorkflowError::open(&run.file(rundir::RULES), io::ErrorKind::NotFound.into());
    let behaviour = Behaviour::from_version(openmpi.version).map_err(RunnerError::UnknownRelease)?;
    let tuning = published.tuning.as_ref().ok_or_else(missing)?.read_as(&behaviour)?;
    if let Some(name) = tuning.differs_from(findings) {
        return Err(WorkflowError::Input(format!(
            "{} is not what the run decided: it was changed, or its proof failed. `collrules analyze {}` writes it \
             again, and `collrules verify` checks it",
            run.file(name).display(),
            run.path().display(),
        )));
    }
    Ok(published.add_settings(tuning))
}

/// The files to install, by name: the findings, and those that settings name.
fn contents(published: &Published, tuning: &Tuning) -> Result<BTreeMap<&'static str, Vec<u8>>, WorkflowError> {
    let path = published.run.file(rundir::FINDINGS);
    let findings = fs::read(&path).map_err(|cause| WorkflowError::open(&path, cause))?;
    let settings = tuning.settings();
    let is_named = |name: &str| name != rundir::RULES || settings.get(RULES_FILE).is_some();
    let comments = published.comments();
    let mark = |name: &str, text: &[u8]| match std::str::from_utf8(text) {
        Ok(text) if name == rundir::RULES => {
            confirmation::mark(text, !published.has_confirmed_rules(), &comments).into_bytes()
        }
        Ok(text) => confirmation::mark(text, !published.is_confirmed(), &[]).into_bytes(),
        Err(_) => text.to_vec(),
    };
    let files = tuning.files().filter(|(name, ..)| is_named(name)).map(|(name, _, text)| (name, mark(name, text)));
    Ok(files.chain([(rundir::FINDINGS, findings)]).collect())
}

/// The lines between the markers.
fn block(published: &Published, settings: &JobSettings) -> Result<Vec<String>, WorkflowError> {
    let run = plain::printable_line(&published.run.absolute().display().to_string());
    let mut lines = vec![
        format!("# Made for Open MPI {} in {run}", published.findings.release),
        format!("# Installed {} by {TOOL}", manifest::now()),
    ];
    lines.extend(settings.mca_lines().map_err(WorkflowError::Settings)?);
    Ok(lines)
}
