//! Whether what was installed still holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::installed::{FORMAT, INSTALLED, Installation, Installed};
use collrules_record::options::Inquiring;
use collrules_record::rundir::{self, RULES};
use collrules_rules::deploy::params::{Damaged, lines};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_runner::mpi::installation;
use serde::Serialize;

use super::{digest, place, read, rivals};
use crate::error::WorkflowError;

/// What is installed for one Open MPI.
#[derive(Debug, Serialize)]
pub struct State {
    /// The Open MPI; missing where it is gone.
    pub openmpi: Option<Installation>,
    /// The parameter file that was looked at.
    pub parameters: PathBuf,
    /// What was found there.
    pub standing: Standing,
    /// What was installed, as far as that can be read.
    pub installed: Option<Installed>,
    /// Why it does not hold, or is not the last word for this user, in whole sentences.
    pub notes: Vec<String>,
}

/// How a tuning stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// None was installed.
    None,
    /// It is as it was installed.
    Holds,
    /// It is not.
    Broken,
}

/// What is installed for these, for all below a prefix, and for this user.
pub fn installed(options: &Inquiring) -> Result<Vec<State>, WorkflowError> {
    let mut states = Vec::new();
    let mut known = Vec::new();
    if options.openmpi.is_empty() && options.prefix.is_none() {
        known.push(installation::find(None)?);
    }
    for named in &options.openmpi {
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
                Err(gone) => states.push(State {
                    openmpi: None,
                    parameters: kept.parameters.clone(),
                    standing: Standing::Broken,
                    notes: vec![format!("{} is not there any more: {gone}", kept.openmpi.prefix.display())],
                    installed: Some(kept),
                }),
            }
        }
    }
    for openmpi in known {
        let parameters = openmpi.parameters();
        states.push(state(Some(openmpi), parameters)?);
    }
    // Every installation of the user reads it.
    if let Some(home) = place::of_user() {
        let of_user = state(None, home)?;
        states.extend(Some(of_user).filter(|state| state.standing != Standing::None));
    }
    Ok(states)
}

/// The first file that the block of a parameter file names.
pub(super) fn named(parameters: &[u8]) -> Result<Option<PathBuf>, Damaged> {
    let lines = lines(parameters)?;
    let names_file = |name: &str| name == RULES_FILE || name == HAN_FILE;
    let named = lines.iter().find(|line| line.ours && names_file(&line.name));
    Ok(named.map(|line| PathBuf::from(&line.value)))
}

fn state(openmpi: Option<Installation>, parameters: PathBuf) -> Result<State, WorkflowError> {
    let mut state = State { openmpi, parameters, standing: Standing::None, installed: None, notes: Vec::new() };
    let Some(text) = read(&state.parameters)? else { return Ok(state) };
    let all = rivals::all(&text, &state.parameters)?;
    let block: BTreeMap<String, String> =
        all.iter().filter(|line| line.ours).map(|line| (line.name.clone(), line.value.clone())).collect();
    if block.is_empty() {
        return Ok(state);
    }
    let mut faults = Vec::new();
    let file = named(&text).ok().flatten();
    let directory = file.as_deref().and_then(Path::parent);
    match directory.map(|directory| kept(directory, &mut faults)) {
        Some(Ok(kept)) => {
            if kept.settings != block {
                faults.push(format!("The lines in {} are not those that were installed.", state.parameters.display()));
            }
            if let Some(openmpi) = &state.openmpi
                && openmpi.version != kept.openmpi.version
            {
                faults.push(format!(
                    "It was installed for Open MPI {}, and this is {} by now: install it anew, or tune again.",
                    kept.openmpi.version, openmpi.version
                ));
            }
            state.installed = Some(kept);
        }
        Some(Err(why)) => faults.push(why),
        // Settings alone name no file, and nothing more is known of them.
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
        let lines = rivals::contrary(&strong, &block)?;
        let said = |line: &collrules_rules::deploy::params::Line| {
            format!("Line {} of {} sets {} = {}, and wins.", line.number, strong.display(), line.name, line.value)
        };
        faults.extend(lines.iter().map(said));
        faults.extend(file.as_deref().filter(|file| file.exists()).and_then(place::unreadable));
    }
    state.standing = if faults.is_empty() { Standing::Holds } else { Standing::Broken };
    state.notes = faults;
    state.notes.extend(rivals::stronger(&state.parameters, &block)?);
    Ok(state)
}

/// What was installed in a directory; what is not as it was goes to the faults.
fn kept(directory: &Path, faults: &mut Vec<String>) -> Result<Installed, String> {
    let path = directory.join(INSTALLED);
    let kept: Installed = rundir::read_json_file(&path, FORMAT).map_err(|cause| cause.to_string())?;
    for (name, wanted) in &kept.files {
        let path = directory.join(name);
        match fs::read(&path) {
            Ok(bytes) if digest(&bytes) == *wanted => {}
            Ok(_) => faults.push(format!("{} was changed since it was installed.", path.display())),
            Err(cause) if name == RULES || name == rundir::HAN => {
                faults.push(format!("{} cannot be read ({cause}): Open MPI ignores it without a word.", path.display()))
            }
            Err(cause) => faults.push(format!("{} cannot be read: {cause}.", path.display())),
        }
    }
    Ok(kept)
}
