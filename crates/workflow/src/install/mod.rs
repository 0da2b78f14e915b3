//! A tuning put where every job of an Open MPI finds it, and taken back.
//!
//! | module | job |
//! |---|---|
//! | here | install and undo |
//! | `place` | where the files of an installation go |
//! | `rivals` | other lines that set the same parameters, and which of them wins |
//! | `state` | whether what was installed still holds |

mod place;
mod rivals;
mod state;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use collrules_record::installed::{FORMAT, INSTALLED, Installation, Installed};
use collrules_record::options::Installing;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Handover, manifest};
use collrules_report::plain;
use collrules_rules::deploy::Tuning;
use collrules_rules::deploy::params::{with_block, without_block};
use collrules_rules::{Behaviour, Release, han};
use collrules_runner::RunnerError;
use collrules_runner::mpi::installation;
use sha2::{Digest, Sha256};

use crate::TOOL;
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::verify;
use place::Place;

pub use state::{Standing, State, installed};

/// What an install did, or would do.
pub struct Done {
    /// The Open MPI.
    pub openmpi: Installation,
    /// The parameter file.
    pub parameters: PathBuf,
    /// Where the tuning's files are, or were.
    pub files: PathBuf,
    /// The lines of the block.
    pub block: Vec<String>,
    /// What else decides on the same parameters, and what is worth knowing, in whole sentences.
    pub notes: Vec<String>,
}

/// What taking back did, or would do.
pub struct Undone {
    /// The parameter file.
    pub parameters: PathBuf,
    /// Whether the file is gone, since it was made by an install.
    pub removed: bool,
    /// Directories with the tuning's files, which are gone.
    pub files: Vec<PathBuf>,
}

/// Installs the tuning of a run.
pub fn install(run: &Path, options: &Installing) -> Result<Done, WorkflowError> {
    let openmpi = installation::find(options.openmpi.as_deref())?;
    let published = Published::open(run)?;
    let place = Place::new(options, &openmpi)?;
    let mut notes = suits(&published, &openmpi)?;
    let contents = contents(&published, &openmpi)?;
    let files = place.generation();
    let tuning = tuning(&published, &files)?;
    let block = block(&published, &tuning)?;
    let before = read(&place.parameters)?;
    let damaged = |cause| WorkflowError::Input(format!("{}: {cause}", place.parameters.display()));
    let text = with_block(before.as_deref(), &block).map_err(damaged)?;
    notes.extend(rivals::of_block(&place, &openmpi, &text, &tuning.by_name())?);
    if !options.dry_run {
        let kept = Installed {
            format: FORMAT,
            collrules: env!("CARGO_PKG_VERSION").to_owned(),
            installed: manifest::now(),
            openmpi: openmpi.clone(),
            parameters: place.parameters.clone(),
            run: published.run.absolute().to_owned(),
            measured: published.manifest.as_ref().map(|manifest| manifest.started.clone()),
            release: published.findings.release,
            version: published.manifest.as_ref().map(|manifest| manifest.survey.version),
            files: contents.iter().map(|(name, bytes)| ((*name).to_owned(), digest(bytes))).collect(),
            settings: tuning.by_name(),
        };
        fs::create_dir_all(&files).map_err(|cause| WorkflowError::write(&files, cause))?;
        let directory = RunDir::derived(&files)?;
        for (name, bytes) in &contents {
            directory.write_bytes(name, bytes)?;
        }
        directory.write_json(INSTALLED, &kept)?;
        // Only now does anything change for jobs.
        put(&place.parameters, &text)?;
        place.sweep(&files)?;
        if !options.user {
            notes.extend(place::unreadable(&files.join(rundir::RULES)));
            notes.extend(place::unreadable(&place.parameters));
        }
    }
    Ok(Done { openmpi, parameters: place.parameters, files, block, notes })
}

/// Takes an install back.
pub fn undo(options: &Installing) -> Result<Undone, WorkflowError> {
    let openmpi = installation::find(options.openmpi.as_deref())?;
    let place = Place::new(options, &openmpi)?;
    let nothing =
        || WorkflowError::Input(format!("nothing of collrules is installed in {}", place.parameters.display()));
    let before = read(&place.parameters)?.ok_or_else(nothing)?;
    let damaged = |cause| WorkflowError::Input(format!("{}: {cause}", place.parameters.display()));
    let text = without_block(&before).map_err(damaged)?;
    if text.as_ref() == Some(&before) {
        return Err(nothing());
    }
    // The block knows best where the files are, with which prefix they ever were installed.
    let named = state::named(&before).map_err(damaged)?;
    let mut files = named.as_deref().and_then(Path::parent).map(place::generations).unwrap_or_default();
    // Earlier ones may have been kept elsewhere.
    files.extend(place.generations());
    files.sort_unstable();
    files.dedup();
    if !options.dry_run {
        match &text {
            Some(text) => put(&place.parameters, text)?,
            None => {
                fs::remove_file(&place.parameters).map_err(|cause| WorkflowError::write(&place.parameters, cause))?
            }
        }
        for directory in &files {
            place::remove(directory)?;
        }
    }
    Ok(Undone { parameters: place.parameters, removed: text.is_none(), files })
}

/// Refuses a tuning that was not made for this Open MPI; says what is worth knowing of one that was.
fn suits(published: &Published, openmpi: &Installation) -> Result<Vec<String>, WorkflowError> {
    let Published { findings, manifest, validation, run, .. } = published;
    let shown = run.path().display();
    let refuse = |why: String| Err(WorkflowError::Input(why));
    if findings.simulated {
        return refuse(format!("the times of {shown} are simulated: its rules say nothing about any real machine"));
    }
    let release = Release::of(openmpi.version).map_err(RunnerError::from)?;
    if release != findings.release {
        return refuse(format!(
            "the tuning of {shown} was made for Open MPI {}, and {} is {}: the same rules mean something else there. Tune \
             with that one: collrules tune --mpirun {}",
            findings.release,
            openmpi.prefix.display(),
            openmpi.version,
            openmpi.prefix.join("bin/mpirun").display(),
        ));
    }
    if findings.changes_nothing() {
        return refuse(format!("{shown} leaves everything to the builtin: there is nothing to install"));
    }
    let mut notes = Vec::new();
    match manifest.as_ref().map(|manifest| manifest.survey.version) {
        Some(version) if version != openmpi.version => notes.push(format!(
            "It was measured on {version}, and this is {}: `collrules drift` shows whether its times still hold.",
            openmpi.version
        )),
        Some(_) => {}
        None => notes.push("It rests on what others measured, on a system that is not known.".to_owned()),
    }
    match validation {
        Some(validation) if validation.loses() => {
            notes.push(
                "Fresh launches showed calls that it makes slower: `collrules validate --repair` helps.".to_owned(),
            );
        }
        Some(_) => {}
        None => notes.push(format!(
            "It was not compared with the builtin in fresh launches: `collrules validate {shown}` does that."
        )),
    }
    Ok(notes)
}

/// The files of a tuning, if they are what was decided, and this Open MPI takes them.
fn contents(published: &Published, openmpi: &Installation) -> Result<BTreeMap<&'static str, Vec<u8>>, WorkflowError> {
    let Published { run, findings, .. } = published;
    let behaviour = Behaviour::of(openmpi.version).map_err(RunnerError::from)?;
    let tuning = published.tuning();
    let read = |name: &str| fs::read(run.file(name)).map_err(|cause| WorkflowError::open(&run.file(name), cause));
    let changed = |name: &str| {
        WorkflowError::Input(format!(
            "{} is not what the run decided: somebody changed it, or its proof failed. `collrules analyze {}` and `collrules \
             verify` make it good",
            run.file(name).display(),
            run.path().display(),
        ))
    };
    let mut contents = BTreeMap::from([(rundir::FINDINGS, read(rundir::FINDINGS)?)]);
    if tuning.rules.is_some() {
        let bytes = read(rundir::RULES)?;
        if verify::in_force(&run.file(rundir::RULES), &bytes, &behaviour)?.to_table() != findings.table {
            return Err(changed(rundir::RULES));
        }
        contents.insert(rundir::RULES, bytes);
    }
    if tuning.han.is_some() {
        let bytes = read(rundir::HAN)?;
        let is_decided = match han::load(&bytes, &behaviour) {
            han::Load::Accepted(read) => Handover::of_han(&read.to_table()) == findings.handover,
            _ => false,
        };
        if !is_decided {
            return Err(changed(rundir::HAN));
        }
        contents.insert(rundir::HAN, bytes);
    }
    Ok(contents)
}

/// The tuning with its files in another directory.
fn tuning(published: &Published, files: &Path) -> Result<Tuning, WorkflowError> {
    let at = |name: &str| {
        let path = files.join(name);
        path.to_str().map(str::to_owned).ok_or_else(|| {
            WorkflowError::Usage(format!("{} is not UTF-8, so that no setting can name it", path.display()))
        })
    };
    let Tuning { rules, han, pins } = published.tuning();
    Ok(Tuning {
        rules: rules.map(|_| at(rundir::RULES)).transpose()?,
        han: han.map(|_| at(rundir::HAN)).transpose()?,
        pins,
    })
}

/// The lines between the markers.
fn block(published: &Published, tuning: &Tuning) -> Result<Vec<String>, WorkflowError> {
    let run = plain::line(&published.run.absolute().display().to_string());
    let mut lines = vec![
        format!("# Made for Open MPI {} in {run}", published.findings.release),
        format!("# Installed {} by {TOOL}", manifest::now()),
    ];
    lines.extend(tuning.mca_lines()?);
    Ok(lines)
}

/// SHA-256, as `sha256sum` prints it.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, WorkflowError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(WorkflowError::open(path, cause)),
    }
}

/// Writes the parameter file whole or not at all.
fn put(path: &Path, text: &[u8]) -> Result<(), WorkflowError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let written = match path.exists() {
        true => rundir::replace(path, text),
        false => fs::create_dir_all(directory).and_then(|()| rundir::put_new(path, text)),
    };
    written.map_err(|cause| WorkflowError::write(path, cause))
}
