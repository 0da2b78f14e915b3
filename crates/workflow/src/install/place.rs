//! Where the files of an installation go.
//!
//! Each install has a directory of its own, and the parameter file names it: ranks of a job that is starting read the old
//! file or the new one, and never one that is changed under their eyes.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use collrules_record::installed::{INSTALLED, Installation};
use collrules_record::manifest;
use collrules_record::options::Installing;
use collrules_record::rundir::{self, FINDINGS, HAN, RULES};

use crate::error::WorkflowError;

/// Where things go.
pub(super) struct Place {
    /// The parameter file.
    pub(super) parameters: PathBuf,
    /// The directory of the installs.
    home: PathBuf,
}

impl Place {
    pub(super) fn new(options: &Installing, openmpi: &Installation) -> Result<Self, WorkflowError> {
        if options.user {
            let parameters = of_user().ok_or_else(|| WorkflowError::Usage("HOME is not set".to_owned()))?;
            return Ok(Self { home: parameters.with_file_name("collrules"), parameters });
        }
        let parameters = openmpi.parameters();
        let home = match &options.prefix {
            Some(prefix) => shared(prefix)?.join(name(&openmpi.prefix)),
            None => parameters.with_file_name("collrules"),
        };
        Ok(Self { home, parameters })
    }

    /// A directory for a new install.
    pub(super) fn generation(&self) -> PathBuf {
        rundir::unused(&self.home, &manifest::stamp())
    }

    /// All installs, oldest first.
    pub(super) fn generations(&self) -> Vec<PathBuf> {
        generations_in(&self.home)
    }

    /// Removes all earlier installs but the one before this, which jobs that are starting may still read.
    pub(super) fn sweep(&self, now: &Path) -> Result<(), WorkflowError> {
        let mut earlier = self.generations();
        earlier.retain(|directory| directory != now);
        earlier.pop();
        earlier.iter().try_for_each(|directory| remove(directory))
    }
}

/// The parameter file of the user.
pub(super) fn of_user() -> Option<PathBuf> {
    Some(Path::new(&env::var_os("HOME").filter(|home| !home.is_empty())?).join(".openmpi/mca-params.conf"))
}

/// The directory with rules files of several installations.
pub(super) fn shared(prefix: &Path) -> Result<PathBuf, WorkflowError> {
    let prefix = std::path::absolute(prefix).map_err(|cause| WorkflowError::open(prefix, cause))?;
    Ok(prefix.join("share/collrules"))
}

/// What the directory of an installation is called there: `opt-openmpi-5.0.7`.
fn name(prefix: &Path) -> String {
    let words: Vec<String> =
        prefix.components().skip(1).map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    words.join("-")
}

/// All installs beside the one in this directory, itself included, oldest first.
pub(super) fn generations(directory: &Path) -> Vec<PathBuf> {
    directory.parent().map(generations_in).unwrap_or_default()
}

/// All installs in a directory, oldest first.
pub(super) fn generations_in(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path());
    // Only what says of itself that it is one.
    entries.filter(|path| path.join(INSTALLED).is_file()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Removes an install. What else somebody put there stays.
pub(super) fn remove(directory: &Path) -> Result<(), WorkflowError> {
    for name in [RULES, HAN, FINDINGS, INSTALLED] {
        let path = directory.join(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(WorkflowError::write(&path, cause));
            }
            _ => {}
        }
    }
    // Both fail where something else is in there.
    let _ = fs::remove_dir(directory);
    let _ = directory.parent().map(fs::remove_dir);
    Ok(())
}

/// The part of a path that keeps other users from reading it.
pub(super) fn unreadable(file: &Path) -> Option<String> {
    let closed = |path: &&Path| {
        let wanted = if *path == file { 0o4 } else { 0o1 };
        path.metadata().is_ok_and(|found| found.permissions().mode() & wanted != wanted)
    };
    let path = file.ancestors().filter(|path| path.exists()).find(closed)?;
    Some(format!(
        "Other users cannot read {}, since {} is closed to them; Open MPI ignores the file there without a word.",
        file.display(),
        path.display()
    ))
}
