//! Reading of fitted models.

use std::path::Path;

use collrules_model::model::{FILE, FORMAT, Model};
use collrules_record::rundir;

use crate::error::WorkflowError;

/// Reads a model: its file, or the directory that it is in.
pub fn open(path: &Path) -> Result<Model, WorkflowError> {
    Ok(rundir::read_json_file(&rundir::within(path, FILE), FORMAT)?)
}
