//! The run directory: created once, appended to while measuring, read back, and given its derived files.

mod account;
mod bounded;
mod error;
mod journal;
mod json;
mod lines;
mod lock;
mod log;
mod progress;
mod samples;
#[cfg(test)]
mod tests;

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::manifest::Manifest;

pub use bounded::{read_text, read_whole};
pub use error::RunDirError;
pub use journal::Entry;
pub use json::{read_json_file, within};
pub use lock::Held;
pub use log::RunLog;
pub use progress::Progress;
pub use samples::{SampleWriter, SamplesText, check_head, samples_text};

/// Where the numbers come from.
pub const MANIFEST: &str = "manifest.json";
/// The timings.
pub const SAMPLES: &str = "samples.csv";
/// What is known about clocks and harness.
pub const CLOCK: &str = "clock.jsonl";
/// What the samples do not say of the launches.
pub const LAUNCHES: &str = "launches.jsonl";
/// What the analysis concluded.
pub const FINDINGS: &str = "findings.json";
/// The rules that Open MPI reads.
pub const RULES: &str = "rules.conf";
/// The same rules before it was shown, or where it is not so, that Open MPI obeys them.
pub const UNPROVEN: &str = "rules.conf.unproven";
/// HAN's rules file.
pub const HAN: &str = "han.conf";
/// HAN's rules file that was not yet shown to be obeyed.
pub const HAN_UNPROVEN: &str = "han.conf.unproven";
/// Switches the rules on: a parameter file of Open MPI.
pub const MCA_PARAMS: &str = "mca-params.conf";
/// Switches the rules on: variables for a shell.
pub const ENVIRONMENT: &str = "env.sh";
/// Switches the rules on: the argument of `mpirun --tune`.
pub const TUNE: &str = "tune.conf";
/// The findings for people.
pub const REPORT: &str = "report.md";
/// The same as a page.
pub const PAGE: &str = "report.html";
/// What was shown about the rules and the Open MPI in use.
pub const PROOF: &str = "proof.json";
/// What fresh launches without and with the rules showed.
pub const VALIDATION: &str = "validation.json";
/// What a check of performance guidelines found.
pub const GUIDELINES: &str = "guidelines.json";
/// The same for people, as a page, as text, and as a table.
pub const GUIDELINES_PAGE: &str = "guidelines.html";
/// The same as text.
pub const GUIDELINES_TEXT: &str = "guidelines.md";
/// The same as a table.
pub const GUIDELINES_TABLE: &str = "guidelines.csv";
/// Calls that stall, with their distributions.
pub const IRREGULAR: &str = "irregular.json";
/// The same as text.
pub const IRREGULAR_TEXT: &str = "irregular.md";
/// The same as a page.
pub const IRREGULAR_PAGE: &str = "irregular.html";
/// Gathers and scatters in pieces for programs in C, with the sizes that were found.
pub const HMPI: &str = "hmpi.h";
/// The communication model.
pub const MODEL: &str = "model.json";
/// The same as text.
pub const MODEL_TEXT: &str = "model.md";
/// The same as a page.
pub const MODEL_PAGE: &str = "model.html";
/// What an importer noticed.
pub const IMPORT: &str = "import.json";

/// The decision tree with its evidence, as text.
pub const TREE_TEXT: &str = "tree.txt";
/// The same for programs.
pub const TREE_JSON: &str = "tree.json";
/// The same as a drawing.
pub const TREE_SVG: &str = "tree.svg";

/// The run directory with the launches of a comparison without and with the rules, from 1 on.
pub fn comparison(number: u32) -> String {
    format!("validation-{number}")
}

/// What a round of refinement measured, from 1 on: a plan.
pub fn refinement(round: u32) -> String {
    format!("refinement-{round}.json")
}

/// What begins the name of a directory in a run that holds the run of another layout, which shares its rules.
pub const LAYOUT: &str = "layout-";

/// All files of a run directory that have one name.
pub const FILES: [&str; 20] = [
    MANIFEST,
    SAMPLES,
    CLOCK,
    LAUNCHES,
    FINDINGS,
    RULES,
    UNPROVEN,
    HAN,
    HAN_UNPROVEN,
    MCA_PARAMS,
    ENVIRONMENT,
    TUNE,
    REPORT,
    PAGE,
    PROOF,
    VALIDATION,
    IMPORT,
    TREE_TEXT,
    TREE_JSON,
    TREE_SVG,
];

/// A directory with one campaign, or with what was derived from a foreign table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
    absolute: PathBuf,
}

/// This name in a directory, with a number where it is taken.
pub fn unused(directory: &Path, name: &str) -> PathBuf {
    let (mut path, mut number) = (directory.join(name), 1);
    // A link that leads nowhere is somebody's as well.
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = directory.join(format!("{name}-{number}"));
    }
    path
}

impl RunDir {
    /// Makes the directory of a new campaign, with its manifest and without samples.
    ///
    /// Never touches a directory that already holds a file of ours.
    pub fn create(path: impl Into<PathBuf>, manifest: &Manifest) -> Result<Self, RunDirError> {
        let run = Self::prepare_derived(path)?;
        let failed =
            |name: &str, cause: io::Error| RunDirError::Write { path: run.file(name), cause: cause_of(&cause) };
        let text = serde_json::to_string_pretty(manifest).map_err(|error| failed(MANIFEST, error.into()))? + "\n";
        let written = whole_file(&run.path, text.as_bytes()).map_err(|cause| failed(MANIFEST, cause))?;
        // Two campaigns may start at the same moment; then only one gets the directory.
        written.persist_noclobber(run.file(MANIFEST)).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => run.occupied(vec![MANIFEST]),
            _ => failed(MANIFEST, error.error),
        })?;
        let mut samples = File::create_new(run.file(SAMPLES)).map_err(|cause| failed(SAMPLES, cause))?;
        samples.write_all(samples::head().as_bytes()).map_err(|cause| failed(SAMPLES, cause))?;
        Ok(run)
    }

    /// The runs of other layouts that share the rules of this one, by name.
    pub fn layouts(&self) -> Result<Vec<Self>, RunDirError> {
        let failed = |cause: io::Error| RunDirError::Read { path: self.path.clone(), cause: cause_of(&cause) };
        let mut found = Vec::new();
        for entry in self.path.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(LAYOUT));
            if named && entry.path().join(MANIFEST).exists() {
                found.push(Self::open(entry.path())?);
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Makes a directory that will hold derived files only. Refuses what [`Self::create`] refuses.
    pub fn prepare_derived(path: impl Into<PathBuf>) -> Result<Self, RunDirError> {
        let run = Self::at(path.into())?;
        match fs::metadata(&run.path) {
            Ok(found) if !found.is_dir() => return Err(RunDirError::NotADirectory { path: run.path }),
            Ok(_) => {}
            Err(_) => fs::create_dir_all(&run.path)
                .map_err(|cause| RunDirError::Create { path: run.path.clone(), cause: cause_of(&cause) })?,
        }
        // A dangling link counts as well: somebody wants that name.
        let found: Vec<_> = FILES.into_iter().filter(|name| run.file(name).symlink_metadata().is_ok()).collect();
        if !found.is_empty() {
            return Err(run.occupied(found));
        }
        // Whatever hinders writing is better known before measuring than after.
        whole_file(&run.path, b"")
            .map_err(|cause| RunDirError::Create { path: run.path.clone(), cause: cause_of(&cause) })?;
        Ok(run)
    }

    /// Opens the directory of a campaign.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, RunDirError> {
        let run = Self::at(path.into())?;
        match fs::metadata(run.file(MANIFEST)) {
            Ok(found) if found.is_file() => Ok(run),
            Err(cause) if !matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(RunDirError::Read { path: run.file(MANIFEST), cause: cause_of(&cause) })
            }
            _ => Err(RunDirError::NotARun { path: run.path }),
        }
    }

    /// Names a directory that is there, whatever it holds: what was derived from foreign tables has no manifest.
    pub fn derived(path: impl Into<PathBuf>) -> Result<Self, RunDirError> {
        let run = Self::at(path.into())?;
        if run.path.is_dir() { Ok(run) } else { Err(RunDirError::NotARun { path: run.path }) }
    }

    fn at(path: PathBuf) -> Result<Self, RunDirError> {
        // Links are not resolved: on a cluster the name that a user gave is more often the same on every node.
        match std::path::absolute(&path) {
            Ok(absolute) => Ok(Self { path, absolute }),
            Err(cause) => Err(RunDirError::Create { path, cause: cause_of(&cause) }),
        }
    }

    fn occupied(&self, found: Vec<&'static str>) -> RunDirError {
        RunDirError::Occupied { path: self.path.clone(), found }
    }

    /// The directory as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory from the root on, for files that others read from elsewhere.
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads the samples, of this format or a newer minor one.
    pub fn samples(&self) -> Result<SamplesText, RunDirError> {
        SamplesText::read(&self.file(SAMPLES))
    }

    /// Opens the samples to append more. A line that an interrupted writer left unfinished is cut off.
    pub fn appender(&self) -> Result<SampleWriter, RunDirError> {
        SampleWriter::open(self.file(SAMPLES))
    }

    /// Opens what a campaign writes, for this process alone, to begin or to resume. Makes what an interruption kept from
    /// being made. Refuses journal and samples that do not belong together, and then changes nothing.
    pub fn log(&self) -> Result<RunLog, RunDirError> {
        let held = self.hold()?;
        let past_samples = self.accounted()?;
        // The next lock is on the same file.
        drop(held);
        let path = self.file(SAMPLES);
        match File::create_new(&path) {
            Ok(mut samples) => samples.write_all(samples::head().as_bytes()),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(cause) => Err(cause),
        }
        .map_err(|cause| RunDirError::Append { path, cause: cause.to_string() })?;
        RunLog::open(self, past_samples)
    }

    /// The number of rows, if journal and samples belong together.
    fn accounted(&self) -> Result<usize, RunDirError> {
        let path = self.file(SAMPLES);
        let samples = SamplesText::read_or_empty(&path)?;
        let rows = samples.rows(&path)?;
        let why = match journal::read(&self.file(LAUNCHES))? {
            Some(journal) => account::disagreement(&journal, &samples.text, &rows, &self.manifest()?.plan),
            None => (!rows.is_empty()).then(|| format!("{LAUNCHES} is missing")),
        };
        match why {
            Some(why) => Err(RunDirError::Unaccounted { path: self.path.clone(), why }),
            None => Ok(rows.len()),
        }
    }

    /// Removes temporary files that a killed process left behind. Only for who holds the log.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(TEMPORARY)) {
            // Nothing depends on it.
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Writes a derived file, or replaces it, whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, RunDirError> {
        self.write_bytes(name, text.as_bytes())
    }

    /// The same with what may be no text.
    pub fn write_bytes(&self, name: &str, content: &[u8]) -> Result<PathBuf, RunDirError> {
        let path = self.file(name);
        match whole_file(&self.path, content).and_then(|written| Ok(written.persist(&path)?)) {
            Ok(_) => Ok(path),
            Err(cause) => Err(RunDirError::Write { path, cause: cause_of(&cause) }),
        }
    }

    /// Gives a file of the directory another name, in place of what has that name.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), RunDirError> {
        let path = self.file(to);
        fs::rename(self.file(from), &path).map_err(|cause| RunDirError::Write { path, cause: cause_of(&cause) })
    }

    /// Removes the directory of a campaign that took no samples, so that its name is free again. What else is in the
    /// directory stays, and then the directory does too.
    pub fn discard(self) -> Result<(), RunDirError> {
        let samples = self.samples()?;
        if samples.text.lines().count() > samples::HEAD_LINES {
            return Ok(());
        }
        for path in [SAMPLES, LAUNCHES, MANIFEST].map(|name| self.file(name)) {
            match fs::remove_file(&path) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                    return Err(RunDirError::Write { path, cause: cause_of(&cause) });
                }
                _ => {}
            }
        }
        // Fails where something else is in it.
        let _ = fs::remove_dir(&self.path);
        Ok(())
    }
}

/// Puts a text in place of what a file holds, whole or not at all. Where the file is a link, what it leads to gets the
/// text. Its permission bits stay, and so does its owner where the system allows it.
pub fn replace(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    replaced(path, text.as_ref()).map_err(by_cause)
}

fn replaced(path: &Path, text: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path)?;
    let before = fs::metadata(&target)?;
    let directory = target.parent().unwrap_or(Path::new("/"));
    let written = whole_file(directory, text)?;
    // Only root may give files away; others own what they replace, or take it over with the directory's permission.
    let _ = fchown(written.as_file(), Some(before.uid()), Some(before.gid()));
    written.as_file().set_permissions(Permissions::from_mode(before.mode() & 0o7777))?;
    written.persist(&target)?;
    Ok(())
}

/// Writes a text under a name that a user chose, whole or not at all, in place of what has that name. Pipes and devices
/// are written to as they are.
pub fn put(path: &Path, text: &str) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => replace(path, text),
        Ok(_) => fs::write(path, text),
        // A link that leads nowhere keeps leading there.
        Err(_) if path.is_symlink() => fs::write(path, text),
        Err(_) => {
            let written = whole_file(parent(path), text.as_bytes()).and_then(|written| Ok(written.persist(path)?));
            written.map(drop).map_err(by_cause)
        }
    }
}

/// The same under a name that must not exist yet.
pub fn put_new(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    let written = whole_file(parent(path), text.as_ref()).and_then(|written| Ok(written.persist_noclobber(path)?));
    written.map(drop).map_err(by_cause)
}

/// The directory that a name is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What the names of our temporary files begin with.
const TEMPORARY: &str = ".collrules-";

/// A complete file in a directory that has no name of its own yet.
fn whole_file(directory: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    // Others read these files too, on a cluster everybody: what the umask allows, not the private mode of a
    // temporary file.
    let mode = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).permissions(mode).tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// What the system says. `tempfile` adds the name of its file, which tells nobody anything.
/// The same error without the name of a temporary file, which says nothing to users.
fn by_cause(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), cause_of(&error))
}

fn cause_of(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(cause, _)| cause).to_owned()
}
