//! State of installed tunings, which may be broken.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::Tuning;
use collrules_record::digest;
use collrules_record::installed::{FORMAT, INSTALLED, Installation, Installed};
use collrules_record::rundir::{self, RULES, RunDir};
use collrules_rules::deploy::params::{Damaged, lines};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE, SWITCHES};
use collrules_runner::mpi::installation;
use serde::Serialize;

use super::scope::describe_scope;
use super::{competitors, place, read};
use crate::error::WorkflowError;

/// Options of `installed`.
#[derive(Clone, Debug)]
pub struct Inquiring {
    /// Installations of Open MPI.
    pub openmpi: Vec<PathBuf>,
    /// More installations.
    pub of: Vec<PathBuf>,
    /// Directory with rules files.
    pub prefix: Option<PathBuf>,
}

/// State of the tuning that is installed for one Open MPI.
#[derive(Debug, Serialize)]
pub struct InstallState {
    /// The Open MPI; missing if it was removed.
    pub openmpi: Option<Installation>,
    /// The parameter file.
    pub parameters: PathBuf,
    /// State of the tuning there.
    pub standing: InstallStatus,
    /// Record of the install, if it can be read.
    pub installed: Option<Installed>,
    /// The calls that it acts on, in whole sentences.
    pub scope: Vec<String>,
    /// Reasons why it is broken, or overridden for this user, in whole sentences.
    pub notes: Vec<String>,
}

/// State of an installed tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallStatus {
    /// None was installed.
    None,
    /// It is intact.
    Holds,
    /// It is broken.
    Broken,
}

/// Lists the states of the tunings for the named installations, for all below a prefix, and for this user.
pub fn installed(options: &Inquiring) -> Result<Vec<InstallState>, WorkflowError> {
    let mut states = Vec::new();
    let mut known = Vec::new();
    if options.openmpi.is_empty() && options.of.is_empty() && options.prefix.is_none() {
        known.push(installation::find(None)?);
    }
    for named in options.openmpi.iter().chain(&options.of) {
        known.push(installation::find(Some(named))?);
    }
    if let Some(prefix) = &options.prefix {
        let shared = place::shared(prefix)?;
        let homes = fs::read_dir(&shared).map_err(|cause| WorkflowError::open(&shared, cause))?;
        let mut homes: Vec<PathBuf> = homes.flatten().map(|entry| entry.path()).collect();
        homes.sort_unstable();
        for newest in homes.iter().filter_map(|home| place::generations_in(home).pop()) {
            let kept: Installed = rundir::read_json_file(&newest.join(INSTALLED), FORMAT)?;
            match installation::find(Some(&kept.openmpi.prefix)) {
                Ok(found) if known.contains(&found) => {}
                Ok(found) => known.push(found),
                Err(gone) => states.push(InstallState {
                    openmpi: None,
                    parameters: kept.parameters.clone(),
                    standing: InstallStatus::Broken,
                    scope: Vec::new(),
                    notes: vec![format!("{} is not there any more: {gone}", kept.openmpi.prefix.display())],
                    installed: Some(kept),
                }),
            }
        }
    }
    for openmpi in known {
        let parameters = openmpi.parameters();
        let mut found = state_of(Some(openmpi), parameters)?;
        if found.standing == InstallStatus::None {
            found.notes = left_behind(&found);
        }
        states.push(found);
    }
    // Every installation of the user reads it.
    if let Some(home) = place::of_user() {
        let of_user = state_of(None, home)?;
        states.extend(Some(of_user).filter(|state| state.standing != InstallStatus::None));
    }
    Ok(states)
}

/// Tunings that upgrades left behind: files that no parameter file names any more, and tunings of other installations next
/// to one that has none.
fn left_behind(state: &InstallState) -> Vec<String> {
    let Some(openmpi) = &state.openmpi else { return Vec::new() };
    let newest = place::generations_in(&openmpi.configuration.join("collrules")).pop();
    let unnamed = newest.and_then(|newest| {
        let kept: Installed = rundir::read_json_file(&newest.join(INSTALLED), FORMAT).ok()?;
        let command = match kept.openmpi.version == openmpi.version {
            true => format!("collrules install {} --for {}", kept.run.display(), openmpi.prefix.display()),
            false => port_command(&kept, openmpi),
        };
        Some(format!(
            "{} has a tuning that was installed for Open MPI {}, and {} does not name it any more: `{command}` brings it \
             back.",
            newest.display(),
            kept.openmpi.version,
            state.parameters.display(),
        ))
    });
    let siblings = openmpi.prefix.parent().map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
    let mut siblings: Vec<PathBuf> = siblings.into_iter().flatten().map(|entry| entry.path()).collect();
    siblings.retain(|sibling| *sibling != openmpi.prefix);
    siblings.sort_unstable();
    let file = |sibling: PathBuf| Installation { configuration: sibling.join("etc"), ..openmpi.clone() }.parameters();
    // An unreadable one does not concern this installation.
    let found = siblings.into_iter().filter_map(|sibling| state_of(None, file(sibling)).ok()?.installed);
    let sentence = |kept: Installed| {
        format!(
            "Open MPI {} in {} has a tuning, and this one has none: `{}` brings it here.",
            kept.openmpi.version,
            kept.openmpi.prefix.display(),
            port_command(&kept, openmpi),
        )
    };
    unnamed.into_iter().chain(found.map(sentence)).collect()
}

/// The command that adapts a tuning to an installation.
fn port_command(kept: &Installed, openmpi: &Installation) -> String {
    format!("collrules port {} --to {}", kept.run.display(), openmpi.prefix.display())
}

/// The first file that the block of a parameter file names.
pub(super) fn first_named_file(parameters: &[u8]) -> Result<Option<PathBuf>, Damaged> {
    let lines = lines(parameters)?;
    let names_file = |name: &str| name == RULES_FILE || name == HAN_FILE;
    let named = lines.iter().find(|line| line.ours && names_file(&line.name));
    Ok(named.map(|line| PathBuf::from(&line.value)))
}

fn state_of(openmpi: Option<Installation>, parameters: PathBuf) -> Result<InstallState, WorkflowError> {
    let mut state = InstallState {
        openmpi,
        parameters,
        standing: InstallStatus::None,
        installed: None,
        scope: Vec::new(),
        notes: Vec::new(),
    };
    let Some(text) = read(&state.parameters)? else { return Ok(state) };
    let all = competitors::all(&text, &state.parameters)?;
    let block: BTreeMap<String, String> =
        all.iter().filter(|line| line.ours).map(|line| (line.name.clone(), line.value.clone())).collect();
    if block.is_empty() {
        return Ok(state);
    }
    let mut faults = Vec::new();
    let file = first_named_file(&text).ok().flatten();
    let directory = file.as_deref().and_then(Path::parent);
    match directory.map(|directory| read_installed(directory, &mut faults)) {
        Some(Ok(kept)) => {
            if kept.settings != block {
                faults.push(format!("The lines in {} are not those that were installed.", state.parameters.display()));
            }
            if let Some(openmpi) = &state.openmpi
                && openmpi.version != kept.openmpi.version
            {
                faults.push(format!(
                    "It was installed for Open MPI {}, but this is {}: `{}` shows what still holds, and measures the \
                     rest.",
                    kept.openmpi.version,
                    openmpi.version,
                    port_command(&kept, openmpi),
                ));
            }
            state.scope = directory.and_then(|directory| scope_of(directory, &kept)).unwrap_or_default();
            state.installed = Some(kept);
        }
        Some(Err(why)) => faults.push(why),
        // Settings without a file, of which no more is known.
        None => {}
    }
    for (name, value) in &block {
        if let Some(line) =
            all.iter().rfind(|line| line.name == *name).filter(|line| !line.ours && line.value != *value)
        {
            faults.push(format!(
                "Line {} of {} sets {name} = {} below the installed lines, and wins.",
                line.number,
                state.parameters.display(),
                line.value
            ));
        }
    }
    if let Some(openmpi) = &state.openmpi {
        let strong = openmpi.override_parameters();
        let lines = competitors::contrary(&strong, &block)?;
        let said = |line: &collrules_rules::deploy::params::ParameterLine| {
            format!("Line {} of {} sets {} = {}, and wins.", line.number, strong.display(), line.name, line.value)
        };
        faults.extend(lines.iter().map(said));
        faults.extend(file.as_deref().filter(|file| file.exists()).and_then(place::unreadable));
    }
    state.standing = if faults.is_empty() { InstallStatus::Holds } else { InstallStatus::Broken };
    state.notes = faults;
    state.notes.extend(competitors::stronger(&state.parameters, &block)?);
    Ok(state)
}

/// The calls that the tuning in a directory acts on; none if its files cannot be read.
fn scope_of(directory: &Path, kept: &Installed) -> Option<Vec<String>> {
    let findings = RunDir::derived(directory).ok()?.findings().ok()?;
    let named = |name: &str| Some(directory.join(name)).filter(|path| path.is_file());
    let mut tuning = match (named(RULES), named(rundir::HAN)) {
        (Some(rules), han) => Tuning::read(&rules, han.as_deref()).ok()?,
        (None, Some(han)) => Tuning::read(&han, None).ok()?,
        (None, None) => Tuning::default(),
    };
    tuning.parameters = kept.settings.clone();
    tuning.parameters.retain(|name, _| !SWITCHES.contains(&name.as_str()));
    Some(describe_scope(&findings, &tuning))
}

/// Reads the record of an install from its directory; files that were changed or cannot be read go to the faults.
fn read_installed(directory: &Path, faults: &mut Vec<String>) -> Result<Installed, String> {
    let path = directory.join(INSTALLED);
    let kept: Installed = rundir::read_json_file(&path, FORMAT).map_err(|cause| cause.to_string())?;
    for (name, wanted) in &kept.files {
        let path = directory.join(name);
        match fs::read(&path) {
            Ok(bytes) if digest(&bytes) == *wanted => {}
            Ok(_) => faults.push(format!("{} was changed since it was installed.", path.display())),
            Err(cause) if name == RULES || name == rundir::HAN => {
                faults.push(format!("{} cannot be read ({cause}): Open MPI silently ignores it.", path.display()))
            }
            Err(cause) => faults.push(format!("{} cannot be read: {cause}.", path.display())),
        }
    }
    Ok(kept)
}
