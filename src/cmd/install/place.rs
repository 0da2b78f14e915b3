//! Files and directories of an installation.
//!
//! Each tuning has a directory named by its digest, and the parameter file names it: ranks of a starting job read the old
//! file or the new one, and never one that changes meanwhile.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use collrules_record::digest;
use collrules_record::installed::{FORMAT, INSTALLED, Installation, Installed};
use collrules_record::rundir::{self, FINDINGS, HAN, LockBeside, RULES};
use collrules_rules::words::listed;
use collrules_workflow::WorkflowError;

use super::Install;
use super::parameters::path_of_user;

/// Destination of an install.
pub(in crate::cmd) struct InstallPlace {
    /// The parameter file.
    pub(in crate::cmd) parameters: PathBuf,
    /// The directory of the installs.
    home: PathBuf,
}

impl InstallPlace {
    pub(in crate::cmd) fn new(options: &Install, openmpi: &Installation) -> Result<Self, WorkflowError> {
        if options.user {
            let parameters = path_of_user().ok_or_else(|| WorkflowError::Usage("HOME is not set".to_owned()))?;
            return Ok(Self { home: parameters.with_file_name("collrules"), parameters });
        }
        let parameters = openmpi.parameters();
        if let Some(named) = options.openmpi.as_deref().filter(|_| !options.yes) {
            refuse_elsewhere(named, openmpi, &parameters)?;
        }
        let home = match &options.prefix {
            Some(prefix) => shared(prefix)?.join(name(&openmpi.prefix)),
            None => parameters.with_file_name("collrules"),
        };
        Ok(Self { home, parameters })
    }

    /// Keeps other installs from changing the parameter file, and removes temporary files of killed ones; none if there is
    /// nothing to change.
    pub(in crate::cmd) fn lock(&self, options: &Install) -> Result<Option<LockBeside>, WorkflowError> {
        let file = rundir::resolve(&self.parameters);
        let Some(directory) = file.parent().filter(|parent| parent.is_dir() && !options.dry_run) else {
            return Ok(None);
        };
        let lock = LockBeside::take(&file)?;
        rundir::sweep(directory);
        fs::read_dir(&self.home).into_iter().flatten().flatten().for_each(|files| rundir::sweep(&files.path()));
        Ok(Some(lock))
    }

    /// Removes empty directories of installs, which a killed undo or install leaves.
    pub(in crate::cmd) fn remove_empty(&self) {
        let homes = fs::read_dir(&self.home).into_iter().flatten().flatten().map(|entry| entry.path());
        // It fails if there are files.
        homes.chain([self.home.clone()]).for_each(|directory| drop(fs::remove_dir(directory)));
    }

    /// Directory of a tuning: parallel installs of one tuning share it.
    pub(in crate::cmd) fn generation(&self, tuning: &Installed) -> Result<PathBuf, WorkflowError> {
        let text = serde_json::to_vec(tuning).map_err(|cause| WorkflowError::write(&self.home, cause.into()))?;
        Ok(self.home.join(&digest(&text)[..16]))
    }

    /// The installs in the directory, and in another one.
    pub(in crate::cmd) fn generations(&self, elsewhere: Option<&Path>) -> Generations {
        let mut found = Generations { own: Vec::new(), foreign: Vec::new() };
        let homes = [Some(self.home.as_path()), elsewhere.filter(|home| *home != self.home)];
        for directory in homes.into_iter().flatten().flat_map(generations_in) {
            let why = match rundir::read_json_file::<Installed>(&directory.join(INSTALLED), FORMAT) {
                Ok(installed) if rundir::is_same_file(&installed.parameters, &self.parameters) => {
                    found.own.push((directory, installed));
                    continue;
                }
                Ok(installed) => format!("it was installed for {}", installed.parameters.display()),
                Err(cause) => cause.to_string(),
            };
            found.foreign.push(format!("{} stays: {why}.", directory.display()));
        }
        found
    }
}

/// Installs, oldest first.
pub(in crate::cmd) struct Generations {
    /// Those made for the parameter file according to `installed.json`.
    pub(in crate::cmd) own: Vec<(PathBuf, Installed)>,
    /// Reasons to leave others: those for another parameter file, and those whose `installed.json` cannot be read.
    pub(in crate::cmd) foreign: Vec<String>,
}

/// Refuses a parameter file outside of the named installation: a user who names a private directory does not expect
/// changes to the system's file.
fn refuse_elsewhere(named: &Path, openmpi: &Installation, parameters: &Path) -> Result<(), WorkflowError> {
    let (prefix, file) = (rundir::resolve(&openmpi.prefix), rundir::resolve(parameters));
    if file.starts_with(&prefix) {
        return Ok(());
    }
    Err(WorkflowError::Input(format!(
        "the Open MPI of {} reads {}, which is not below {}: every job that reads that file would change. --yes writes \
         there, and --user to your own file",
        named.display(),
        file.display(),
        prefix.display(),
    )))
}

/// The directory with rules files of several installations.
pub(in crate::cmd) fn shared(prefix: &Path) -> Result<PathBuf, WorkflowError> {
    let prefix = std::path::absolute(prefix).map_err(|cause| WorkflowError::open(prefix, cause))?;
    Ok(prefix.join("share/collrules"))
}

/// Returns the name of an installation's directory below a shared prefix: `opt-openmpi-5.0.7`. A hyphen within the name
/// of a directory is written `%2D`, so that no two installations share one.
fn name(prefix: &Path) -> String {
    let word = |part: Component<'_>| -> String {
        let escaped = |byte: &u8| match byte {
            b'-' | b'%' | 0..=b' ' | 127.. => format!("%{byte:02X}"),
            _ => char::from(*byte).to_string(),
        };
        part.as_os_str().as_bytes().iter().map(escaped).collect()
    };
    prefix.components().skip(1).map(word).collect::<Vec<_>>().join("-")
}

/// Returns true if starting jobs may read rules files of an install: the parameter file names them, or named them before
/// its last change. If it named none, nothing is known of those before.
pub(in crate::cmd) fn may_be_read(install: &(PathBuf, Installed), now: Option<&Path>, before: Option<&Path>) -> bool {
    let (directory, installed) = install;
    let is = |named: Option<&Path>| named.is_some_and(|named| rundir::is_same_file(named, directory));
    let has_rules = [RULES, HAN].iter().any(|name| installed.files.contains_key(*name));
    is(now) || (has_rules && (is(before) || before.is_none() || before == now))
}

/// All installs in a directory, oldest first.
pub(in crate::cmd) fn generations_in(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path());
    // Only directories that declare it. A link belongs to another installation.
    let is_install = |path: &PathBuf| !path.is_symlink() && path.join(INSTALLED).is_file();
    let mut found: Vec<PathBuf> = entries.filter(is_install).collect();
    let time = |path: &PathBuf| path.join(INSTALLED).metadata().and_then(|file| file.modified());
    found.sort_by_cached_key(|path| (time(path).unwrap_or(SystemTime::UNIX_EPOCH), path.clone()));
    found
}

/// Names the files in the directory of an install that are not as it wrote them, and stay; none if all go.
pub(in crate::cmd) fn describe_kept(directory: &Path, installed: &Installed) -> Option<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut kept: Vec<String> =
        names.filter(|name| name != INSTALLED && !is_unchanged(directory, name, installed)).collect();
    kept.sort();
    let shown = directory.display();
    (!kept.is_empty()).then(|| format!("{shown} stays with {}: not as collrules wrote it.", listed(&kept)))
}

/// Returns true if a file is as an install wrote it.
fn is_unchanged(directory: &Path, name: &str, installed: &Installed) -> bool {
    let written = installed.files.get(name).filter(|_| [RULES, HAN, FINDINGS].contains(&name));
    written.is_some_and(|written| fs::read(directory.join(name)).is_ok_and(|bytes| digest(&bytes) == *written))
}

/// Removes the files of an install that are unchanged, and the directory if nothing else is in it.
pub(in crate::cmd) fn remove(directory: &Path, installed: &Installed) -> Result<(), WorkflowError> {
    let unchanged = [RULES, HAN, FINDINGS].into_iter().filter(|name| is_unchanged(directory, name, installed));
    for name in unchanged.chain([INSTALLED]) {
        let path = directory.join(name);
        fs::remove_file(&path).map_err(|cause| WorkflowError::write(&path, cause))?;
    }
    // Both fail if there are other files.
    let _ = fs::remove_dir(directory);
    let _ = directory.parent().map(fs::remove_dir);
    Ok(())
}

/// The part of a path that other users cannot read.
pub(in crate::cmd) fn unreadable(file: &Path) -> Option<String> {
    let closed = |path: &&Path| {
        let wanted = if *path == file { 0o4 } else { 0o1 };
        path.metadata().is_ok_and(|found| found.permissions().mode() & wanted != wanted)
    };
    let path = file.ancestors().filter(|path| path.exists()).find(closed)?;
    Some(format!(
        "Other users cannot read {}, since {} is closed to them; Open MPI silently ignores the file for them.",
        file.display(),
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_install_removes_rules_that_starting_jobs_may_read() {
        let rules = |files: &[&str]| -> Installed {
            let files: std::collections::BTreeMap<&str, &str> = files.iter().map(|name| (*name, "digest")).collect();
            let text = serde_json::json!({
                "format": FORMAT, "collrules": "0.1.0", "installed": "", "parameters": "", "run": "", "release": "5.0",
                "openmpi": { "prefix": "", "version": "5.0.11", "configuration": "" }, "files": files, "settings": {}
            });
            serde_json::from_value(text).expect("a record")
        };
        let [a, b, c] = ["/a", "/b", "/c"].map(Path::new);
        let read = |directory: &Path, files: &[&str], now, before| {
            may_be_read(&(directory.to_owned(), rules(files)), now, before)
        };
        let files = [RULES, FINDINGS];
        assert!(read(c, &files, Some(c), Some(b)) && read(b, &files, Some(c), Some(b)));
        assert!(!read(a, &files, Some(c), Some(b)), "two generations are enough");
        assert!(read(b, &files, Some(c), Some(c)), "another node installed the same tuning just now");
        assert!(read(a, &files, Some(c), None), "the parameter file named none before");
        assert!(read(b, &files, None, Some(b)) && !read(a, &files, None, Some(b)), "an undo");
        assert!(!read(b, &[FINDINGS], Some(c), None), "no job reads findings");
    }

    #[test]
    fn no_two_installations_share_a_directory() {
        let names = [
            "/opt/openmpi/5.0",
            "/opt/openmpi-5.0",
            "/opt-openmpi/5.0",
            "/opt/openmpi%2D5.0",
            "/opt/a-/b",
            "/opt/a/-b",
        ];
        let names: std::collections::BTreeSet<String> = names.iter().map(|prefix| name(Path::new(prefix))).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        assert!(names.contains("opt-openmpi-5.0") && names.contains("opt-openmpi%2D5.0"));
    }
}
