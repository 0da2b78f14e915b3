//! A parameter file of Open MPI: its lines, the block of an install, and other settings of the same parameters.
//!
//! From strong to weak: `openmpi-mca-params-override.conf`, options of mpirun, the environment, the user's
//! `mca-params.conf`, `openmpi-mca-params.conf`; within a file, the last line.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use collrules_record::installed::Installation;
use collrules_record::rundir;
use collrules_rules::deploy::params::{self, Damaged, ParameterLine};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_workflow::WorkflowError;

/// A parameter file, read once.
pub(in crate::cmd) struct ParameterFile {
    pub(in crate::cmd) path: PathBuf,
    /// Its text; none if there is no file.
    pub(in crate::cmd) text: Option<Vec<u8>>,
    lines: Vec<ParameterLine>,
}

impl ParameterFile {
    pub(in crate::cmd) fn read(path: PathBuf) -> Result<Self, WorkflowError> {
        match fs::read(&path) {
            Ok(text) => Self::new(path, Some(text)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Self::new(path, None),
            Err(cause) => Err(WorkflowError::open(&path, cause)),
        }
    }

    /// The parameter file of the user; none without a home.
    pub(in crate::cmd) fn of_user() -> Result<Option<Self>, WorkflowError> {
        path_of_user().map(Self::read).transpose()
    }

    fn new(path: PathBuf, text: Option<Vec<u8>>) -> Result<Self, WorkflowError> {
        let lines = params::lines(text.as_deref().unwrap_or_default()).map_err(|cause| damaged(&path, cause))?;
        Ok(Self { path, text, lines: lines.set })
    }

    /// The file with a block of these lines.
    pub(in crate::cmd) fn with_block(&self, block: &[String]) -> Result<Self, WorkflowError> {
        let text = params::with_block(self.text.as_deref(), block).map_err(|cause| damaged(&self.path, cause))?;
        Self::new(self.path.clone(), Some(text))
    }

    /// The text without the block; none if there was no file.
    pub(in crate::cmd) fn without_block(&self) -> Result<Option<Vec<u8>>, WorkflowError> {
        let Some(text) = &self.text else { return Ok(None) };
        params::without_block(text).map_err(|cause| damaged(&self.path, cause))
    }

    /// The parameters in the block.
    pub(in crate::cmd) fn block(&self) -> BTreeMap<String, String> {
        self.lines.iter().filter(|line| line.ours).map(|line| (line.name.clone(), line.value.clone())).collect()
    }

    /// The first file that the block names, whatever prefix it was installed with.
    pub(in crate::cmd) fn named_file(&self) -> Option<&Path> {
        let named = self.lines.iter().find(|line| line.ours && [RULES_FILE, HAN_FILE].contains(&line.name.as_str()));
        named.map(|line| Path::new(&line.value))
    }

    /// Describes the lines that set one of these parameters to another value, the last for each.
    pub(in crate::cmd) fn contrary(&self, settings: &BTreeMap<String, String>) -> Vec<String> {
        let last: BTreeMap<&str, &ParameterLine> = self.lines.iter().map(|line| (line.name.as_str(), line)).collect();
        let contrary = last.into_values().filter(|line| settings.get(&line.name).is_some_and(|own| *own != line.value));
        contrary.map(|line| self.describe(line)).collect()
    }

    fn describe(&self, ParameterLine { number, name, value, .. }: &ParameterLine) -> String {
        format!("Line {number} of {} sets {name} = {value}", self.path.display())
    }

    /// Lists other settings of the parameters of a new block, in whole sentences; fails if the override file makes the block
    /// useless.
    pub(in crate::cmd) fn competitors(&self, openmpi: &Installation) -> Result<Vec<String>, WorkflowError> {
        let block = self.block();
        if let Some(line) = Self::read(openmpi.override_parameters())?.contrary(&block).first() {
            let why = format!("{line}, and nothing overrides that file: take the line out first");
            return Err(WorkflowError::Input(why));
        }
        let mut notes = Vec::new();
        for line in self.lines.iter().filter(|line| !line.ours) {
            let (said, name) = (self.describe(line), &line.name);
            match block.get(name) {
                Some(ours) => {
                    notes.push(format!("{said}; the new line {name} = {ours} stands below it, and the last line wins."))
                }
                None if name == "coll" || name.starts_with("coll_") => {
                    notes.push(format!("{said} as well, which may not have been set for the run."));
                }
                None => {}
            }
        }
        notes.extend(self.stronger(Self::of_user()?.as_ref()));
        Ok(notes)
    }

    /// Lists settings that override the block for this user and in this shell, in whole sentences.
    pub(in crate::cmd) fn stronger(&self, user: Option<&Self>) -> Vec<String> {
        let block = self.block();
        let user = user.filter(|user| user.path != self.path);
        let lines = user.map(|user| user.contrary(&block)).unwrap_or_default();
        let mut notes: Vec<String> = lines.iter().map(|line| format!("{line}, which wins for this user.")).collect();
        for (name, value) in &block {
            let variable = format!("OMPI_MCA_{name}");
            if let Some(set) = env::var(&variable).ok().filter(|set| set != value) {
                notes.push(format!("The environment sets {variable}={set}, which wins in this shell."));
            }
        }
        notes
    }
}

/// The path of the parameter file of the user.
pub(in crate::cmd) fn path_of_user() -> Option<PathBuf> {
    Some(Path::new(&env::var_os("HOME").filter(|home| !home.is_empty())?).join(".openmpi/mca-params.conf"))
}

fn damaged(path: &Path, cause: Damaged) -> WorkflowError {
    WorkflowError::Input(format!("{}: {cause}", path.display()))
}

/// Writes a parameter file whole or not at all; in place if it has hard links, which would keep the old text.
pub(in crate::cmd) fn put(path: &Path, text: &[u8]) -> Result<(), WorkflowError> {
    let written = match fs::metadata(path) {
        Ok(found) if found.nlink() > 1 => fs::write(path, text),
        Ok(_) => rundir::replace(path, text),
        Err(_) => {
            // The target of a dangling link is created.
            let target = fs::read_link(path).map_or(path.to_owned(), |target| path.with_file_name("").join(target));
            let directory = target.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(directory).and_then(|()| rundir::put_new(&target, text))
        }
    };
    written.map_err(|cause| WorkflowError::write(path, cause))
}
