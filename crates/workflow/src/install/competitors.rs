//! Other lines that set the same parameters, and their precedence.
//!
//! From strong to weak: `openmpi-mca-params-override.conf`, options of mpirun, the environment, the user's
//! `mca-params.conf`, `openmpi-mca-params.conf`; within a file, the last line.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use collrules_record::installed::Installation;
use collrules_rules::deploy::params::{ParameterLine, lines};

use super::place::{self, InstallPlace};
use super::read;
use crate::error::WorkflowError;

/// Lists other lines and variables that set the parameters of a new block; fails if the override file makes the block
/// useless.
pub(super) fn of_block(
    place: &InstallPlace,
    openmpi: &Installation,
    text: &[u8],
    settings: &BTreeMap<String, String>,
) -> Result<Vec<String>, WorkflowError> {
    let strong = openmpi.override_parameters();
    if let Some(line) = contrary(&strong, settings)?.first() {
        return Err(WorkflowError::Input(format!(
            "line {} of {} sets {} = {}, and nothing overrides that file: take the line out first",
            line.number,
            strong.display(),
            line.name,
            line.value
        )));
    }
    let mut notes = Vec::new();
    for line in all(text, &place.parameters)?.iter().filter(|line| !line.ours) {
        let file = place.parameters.display();
        match settings.get(&line.name) {
            Some(ours) => notes.push(format!(
                "Line {} of {file} sets {} = {}; the new line {} = {ours} stands below it, and the last line wins.",
                line.number, line.name, line.value, line.name
            )),
            None if is_about_collectives(&line.name) => notes.push(format!(
                "Line {} of {file} sets {} = {} as well, which may not have been set for the run.",
                line.number, line.name, line.value
            )),
            None => {}
        }
    }
    notes.extend(stronger(&place.parameters, settings)?);
    Ok(notes)
}

/// Lists settings that override a parameter file, for this user and in this shell.
pub(super) fn stronger(parameters: &Path, settings: &BTreeMap<String, String>) -> Result<Vec<String>, WorkflowError> {
    let mut notes = Vec::new();
    if let Some(home) = place::of_user().filter(|home| home != parameters) {
        for line in contrary(&home, settings)? {
            notes.push(format!(
                "Line {} of {} sets {} = {}, which wins for this user.",
                line.number,
                home.display(),
                line.name,
                line.value
            ));
        }
    }
    for (name, value) in settings {
        let variable = format!("OMPI_MCA_{name}");
        if let Ok(set) = env::var(&variable)
            && set != *value
        {
            notes.push(format!("The environment sets {variable}={set}, which wins in this shell."));
        }
    }
    Ok(notes)
}

/// The lines of a file that set one of these parameters to another value, the last for each.
pub(super) fn contrary(path: &Path, settings: &BTreeMap<String, String>) -> Result<Vec<ParameterLine>, WorkflowError> {
    let Some(text) = read(path)? else { return Ok(Vec::new()) };
    let last: BTreeMap<String, ParameterLine> =
        all(&text, path)?.into_iter().map(|line| (line.name.clone(), line)).collect();
    let differs = |line: &ParameterLine| settings.get(&line.name).is_some_and(|ours| *ours != line.value);
    Ok(last.into_values().filter(differs).collect())
}

pub(super) fn all(text: &[u8], path: &Path) -> Result<Vec<ParameterLine>, WorkflowError> {
    lines(text).map_err(|cause| WorkflowError::Input(format!("{}: {cause}", path.display())))
}

fn is_about_collectives(name: &str) -> bool {
    name == "coll" || name.starts_with("coll_")
}
