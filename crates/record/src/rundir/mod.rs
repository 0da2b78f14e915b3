//! The run directory: created once, appended to while measuring, and then completed by derived files.

mod account;
mod bounded;
mod comparisons;
mod error;
mod grown;
mod journal;
mod json;
mod lines;
mod lock;
mod log;
mod progress;
mod samples;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::file::{digest, digest_so_far};
use crate::manifest::{Manifest, stamp};
use journal::{FilesState, Journal, JournalText};

use bounded::read_if_there;
pub use bounded::{available_memory, read_at_most, read_text, read_whole};
pub use comparisons::ComparisonLog;
pub use error::{FoundPath, RunDirError};
pub use journal::JournalEntry;
pub use json::{read_json_file, rules_within, within};
pub use lock::LockBeside;
pub use log::RunLog;
pub use progress::Progress;
pub use samples::{SamplesText, check_head, samples_text};

/// Provenance of the numbers.
pub const MANIFEST: &str = "manifest.json";
/// The timings.
pub const SAMPLES: &str = "samples.csv";
/// Facts about clocks and harness.
pub const CLOCK: &str = "clock.jsonl";
/// Journal of the launches.
pub const LAUNCHES: &str = "launches.jsonl";
/// Conclusions of the analysis.
pub const FINDINGS: &str = "findings.json";
/// The rules that Open MPI reads.
pub const RULES: &str = "rules.conf";
/// Rules without a successful proof that Open MPI obeys them.
pub const UNPROVEN: &str = "rules.conf.unproven";
/// HAN's rules file.
pub const HAN: &str = "han.conf";
/// HAN's rules file without a successful proof that HAN obeys it.
pub const HAN_UNPROVEN: &str = "han.conf.unproven";
/// Switches the rules on: a parameter file of Open MPI.
pub const MCA_PARAMS: &str = "mca-params.conf";
/// Switches the rules on: variables for a shell.
pub const ENVIRONMENT: &str = "env.sh";
/// Switches the rules on: the argument of `mpirun --tune`.
pub const TUNE: &str = "tune.conf";
/// The findings for people.
pub const REPORT: &str = "report.md";
/// Findings as a page.
pub const PAGE: &str = "report.html";
/// Results of the proof of the rules in the Open MPI in use.
pub const PROOF: &str = "proof.json";
/// Comparison of fresh launches without and with the rules.
pub const VALIDATION: &str = "validation.json";
/// Result of a search for settings.
pub const SETTINGS: &str = "settings.json";
/// Steps of a tuning that ended, with their results.
pub const STATE: &str = "state.json";
/// The same while a tuning goes on: the results of its last steps are in no other file yet.
pub const NEXT_STATE: &str = "state.next.json";
/// Log of the launches by which tunings are compared.
pub const COMPARISON: &str = "comparison.jsonl";
/// Findings of an importer.
pub const IMPORT: &str = "import.json";

/// Returns the name of the plan of a round of refinement, from 1 on.
pub fn refinement(round: u32) -> String {
    format!("refinement-{round}.json")
}

/// Directory in a run with rules files by the digest of their text. Jobs read these: they never change.
pub const TUNINGS: &str = "tunings";

/// Prefix of the name of a directory in a run that holds the run of another layout, which shares its rules.
pub const LAYOUT: &str = "layout-";

/// All files of a run directory with fixed names.
pub const FILES: [&str; 21] = [
    SETTINGS,
    COMPARISON,
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
    STATE,
    NEXT_STATE,
    IMPORT,
];

/// A directory with one campaign, or with results derived from a foreign table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
    absolute: PathBuf,
}

/// This name in a directory, with a number if it is taken.
pub fn unused(directory: &Path, name: &str) -> PathBuf {
    let (mut path, mut number) = (directory.join(name), 1);
    // A link that leads nowhere takes the name as well.
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = directory.join(format!("{name}-{number}"));
    }
    path
}

/// A new directory for results in the working directory, by what they are and the time: `collrules-run-20261121-153000`.
pub fn unused_here(what: &str) -> PathBuf {
    unused(Path::new(""), &format!("collrules-{what}-{}", stamp()))
}

impl RunDir {
    /// Creates the directory of a new campaign, with its manifest and without samples.
    ///
    /// Never touches a directory that already holds a file of collrules.
    pub fn create(path: impl Into<PathBuf>, manifest: &Manifest) -> Result<Self, RunDirError> {
        let run = Self::prepare_derived(path)?;
        manifest.plan.check().map_err(|cause| RunDirError::Write { path: run.file(MANIFEST), cause })?;
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
            if named && entry.path().join(MANIFEST).is_file() {
                found.push(Self::at(entry.path())?);
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Creates a directory for derived files only. Fails like [`Self::create`].
    pub fn prepare_derived(path: impl Into<PathBuf>) -> Result<Self, RunDirError> {
        let run = Self::at(path.into())?;
        match fs::metadata(&run.path) {
            Ok(found) if !found.is_dir() => return Err(RunDirError::NotADirectory { path: run.path }),
            Ok(_) => {}
            Err(_) => fs::create_dir_all(&run.path)
                .map_err(|cause| RunDirError::Create { path: run.path.clone(), cause: cause_of(&cause) })?,
        }
        run.refuse_occupied()?;
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
            _ => Err(RunDirError::not_a_run(run.path)),
        }
    }

    /// Opens an existing directory, whatever it holds: results derived from foreign tables have no manifest.
    pub fn derived(path: impl Into<PathBuf>) -> Result<Self, RunDirError> {
        let run = Self::at(path.into())?;
        if run.path.is_dir() { Ok(run) } else { Err(RunDirError::not_a_run(run.path)) }
    }

    fn at(path: PathBuf) -> Result<Self, RunDirError> {
        // Links are not resolved: on a cluster the name that a user gave is more often the same on every node.
        match std::path::absolute(&path) {
            Ok(absolute) => Ok(Self { path, absolute }),
            Err(cause) => Err(RunDirError::Create { path, cause: cause_of(&cause) }),
        }
    }

    /// Fails if a directory for a new run holds files of one.
    pub fn refuse_used(path: &Path) -> Result<(), RunDirError> {
        Self::at(path.to_owned())?.refuse_occupied()
    }

    fn refuse_occupied(&self) -> Result<(), RunDirError> {
        // A dangling link counts as well: its name is taken.
        let found: Vec<_> = FILES.into_iter().filter(|name| self.file(name).symlink_metadata().is_ok()).collect();
        match found.is_empty() {
            true => Ok(()),
            false => Err(self.occupied(found)),
        }
    }

    fn occupied(&self, found: Vec<&'static str>) -> RunDirError {
        RunDirError::Occupied { path: self.path.clone(), found }
    }

    /// The directory as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path of the directory, for files that are read from elsewhere.
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads the samples, of this format or a newer minor one. Fails if they do not belong to journal and manifest.
    pub fn samples(&self) -> Result<SamplesText, RunDirError> {
        self.agreeing(|| {
            // The journal first: what is measured meanwhile is behind its last line.
            let journal = journal::read(&self.file(LAUNCHES))?;
            let samples = SamplesText::read(&self.file(SAMPLES))?;
            let why = self.mismatch(journal.as_ref(), &samples.text)?;
            Ok((samples, why))
        })
    }

    /// Fails if manifest or refinements were changed.
    pub fn check_plans(&self) -> Result<(), RunDirError> {
        self.agreeing(|| {
            let journal = journal::read(&self.file(LAUNCHES))?;
            let plans = self.plans_digest(None)?;
            Ok(((), journal.and_then(|journal| account::change_of_plans(&journal, &plans))))
        })
    }

    /// Records digests of manifest, refinements and samples, so that changes are detected: for runs that were not
    /// measured in place.
    pub fn seal(&self) -> Result<(), RunDirError> {
        self.announce(None)
    }

    /// Records the digests as they are, or with one of the plans replaced.
    fn announce(&self, replaced: Option<(&str, &[u8])>) -> Result<(), RunDirError> {
        let samples = SamplesText::read_or_empty(&self.file(SAMPLES))?.text;
        let (length, digest) = (samples.len() as u64, digest(samples.as_bytes()));
        let mark = self.mark(length, digest, replaced)?;
        // Opening seals what has no journal yet.
        let is_new = !self.file(LAUNCHES).exists();
        let mut journal = Journal::open(self.file(LAUNCHES), &mark)?;
        if is_new { Ok(()) } else { journal.seal(&mark) }
    }

    /// Retries reading while another process may be writing.
    fn agreeing<T>(
        &self,
        mut read: impl FnMut() -> Result<(T, Option<String>), RunDirError>,
    ) -> Result<T, RunDirError> {
        for _ in 0..2 {
            if let (read, None) = read()? {
                return Ok(read);
            }
        }
        match read()? {
            (read, None) => Ok(read),
            (_, Some(why)) => Err(RunDirError::Unaccounted { path: self.path.clone(), why }),
        }
    }

    /// Returns the reason why samples do not belong to journal and manifest; none if they do. `samples` are the whole
    /// lines.
    fn mismatch(&self, journal: Option<&JournalText>, samples: &str) -> Result<Option<String>, RunDirError> {
        if !self.file(MANIFEST).exists() {
            return Ok(None);
        }
        let is_measured = !self.is_imported()?;
        let Some(journal) = journal else {
            let is_missing = is_measured && samples.lines().count() > samples::HEAD_LINES;
            return Ok(is_missing.then(|| format!("{LAUNCHES} is missing")));
        };
        let apart = if is_measured { self.manifest()?.plan.separate.collectives } else { BTreeSet::new() };
        let plans = account::change_of_plans(journal, &self.plans_digest(None)?);
        Ok(plans.or_else(|| account::change_of_samples(journal, samples, &apart)))
    }

    /// Returns the current state of the files, for samples of this length and digest.
    fn mark(&self, length: u64, digest: String, replaced: Option<(&str, &[u8])>) -> Result<FilesState, RunDirError> {
        let plans_sha256 = self.plans_digest(replaced)?;
        let (samples_bytes, samples_sha256) = (length, digest);
        Ok(FilesState { samples_bytes, samples_sha256, plans_sha256, journal_sha256: String::new() })
    }

    /// The digest of manifest and refinements, as they are or with one of them replaced.
    fn plans_digest(&self, replaced: Option<(&str, &[u8])>) -> Result<String, RunDirError> {
        let mut digest = Sha256::new();
        let names = std::iter::once(MANIFEST.to_owned()).chain((1..).map(refinement));
        for name in names {
            match replaced {
                Some((other, text)) if other == name => digest.update(text),
                _ => match read_if_there(&self.file(&name), read_whole)? {
                    Some(bytes) => digest.update(&bytes),
                    None => break,
                },
            }
        }
        Ok(digest_so_far(&digest))
    }

    /// Opens the files that a campaign writes, for this process alone, to begin or to resume. Creates files that an
    /// interruption left out. Fails without changes if journal and samples do not belong together.
    pub fn log(&self) -> Result<RunLog, RunDirError> {
        let path = self.file(SAMPLES);
        if !path.exists() {
            let _held = self.hold()?;
            self.refuse_mismatch(&samples::head())?;
            let created = File::create_new(&path);
            created.map_err(|cause| RunDirError::Append { path: path.clone(), cause: cause.to_string() })?;
        }
        // The samples first: they carry the lock.
        let (samples, is_locked) = samples::open(path, |text| self.refuse_mismatch(text))?;
        let mark = self.mark(samples.length, digest_so_far(&samples.digest), None)?;
        let journal = Journal::open(self.file(LAUNCHES), &mark)?;
        self.sweep();
        Ok(RunLog { samples, is_locked, journal, run: self.clone() })
    }

    /// Fails if these samples do not belong to journal and manifest.
    fn refuse_mismatch(&self, samples: &str) -> Result<(), RunDirError> {
        let why = self.mismatch(journal::read(&self.file(LAUNCHES))?.as_ref(), samples)?;
        why.map_or(Ok(()), |why| Err(RunDirError::Unaccounted { path: self.path.clone(), why }))
    }

    /// Removes temporary files of a killed process. The caller must hold the lock.
    fn sweep(&self) {
        sweep(&self.path);
        sweep(&self.file(TUNINGS));
    }

    /// Writes or replaces a derived file, whole or not at all.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, RunDirError> {
        let path = self.file(name);
        match place(&path, content.as_ref(), |written| Ok(written.persist(&path).map(drop)?)) {
            Ok(()) => Ok(path),
            Err(cause) => Err(RunDirError::Write { path, cause: cause.to_string() }),
        }
    }

    /// Renames a file of the directory, replacing any file of that name.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), RunDirError> {
        let path = self.file(to);
        fs::rename(self.file(from), &path).map_err(|cause| RunDirError::Write { path, cause: cause_of(&cause) })
    }

    /// Removes a file of the directory, if there is one.
    pub fn remove(&self, name: &str) -> Result<(), RunDirError> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(RunDirError::Write { path, cause: cause_of(&cause) })
            }
            _ => Ok(()),
        }
    }

    /// Removes the directory of a campaign without samples, so that its name is free again. If it holds other files,
    /// these and the directory stay.
    pub fn discard(self) -> Result<(), RunDirError> {
        let samples = SamplesText::read(&self.file(SAMPLES))?;
        if samples.text.lines().count() > samples::HEAD_LINES {
            return Ok(());
        }
        [SAMPLES, LAUNCHES, MANIFEST].iter().try_for_each(|name| self.remove(name))?;
        // Fails where something else is in it.
        let _ = fs::remove_dir(&self.path);
        Ok(())
    }
}

/// Replaces the content of a file, whole or not at all. If the file is a link, its target gets the text. Permission
/// bits stay, and so does the owner if the system allows it.
pub fn replace(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    let target = fs::canonicalize(path)?;
    let before = fs::metadata(&target)?;
    place(&target, text.as_ref(), |written| {
        // Only root may give files away; others own what they replace, or take it over with the directory's permission.
        let _ = fchown(written.as_file(), Some(before.uid()), Some(before.gid()));
        written.as_file().set_permissions(Permissions::from_mode(before.mode() & 0o7777))?;
        Ok(written.persist(&target).map(drop)?)
    })
}

/// Writes a text to a path that a user chose, whole or not at all, replacing any file of that name. Pipes and devices
/// are written to directly.
pub fn put(path: &Path, text: &str) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => replace(path, text),
        Ok(_) => fs::write(path, text),
        // A link that leads nowhere keeps leading there.
        Err(_) if path.is_symlink() => fs::write(path, text),
        Err(_) => place(path, text.as_bytes(), |written| Ok(written.persist(path).map(drop)?)),
    }
}

/// Returns true if two paths name one file, even if it does not exist.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || resolve(one) == resolve(other)
}

/// Returns a path without links, as far as it exists.
pub fn resolve(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) if parent == Path::new("") => resolve(Path::new(".")).join(name),
        (Err(_), Some(parent), Some(name)) => resolve(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Writes a text, whole or not at all, under a name that must not exist yet.
pub fn put_new(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    place(path, text.as_ref(), |written| Ok(written.persist_noclobber(path).map(drop)?))
}

/// Writes a program that all users may start, whole or not at all, replacing any file or link of that name.
pub fn put_program(path: &Path, program: &[u8]) -> io::Result<()> {
    place(path, program, |written| {
        // What the umask allows to read may be executed as well.
        let mode = written.as_file().metadata()?.mode();
        written.as_file().set_permissions(Permissions::from_mode(mode | (mode & 0o444) >> 2))?;
        Ok(written.persist(path).map(drop)?)
    })
}

/// Writes a temporary file beside a path, and gives it its name. Errors do not name the temporary file, which means nothing
/// to users.
fn place(path: &Path, content: &[u8], persist: impl FnOnce(NamedTempFile) -> io::Result<()>) -> io::Result<()> {
    let written = whole_file(parent(path), content).and_then(persist);
    written.map_err(|error| io::Error::new(error.kind(), cause_of(&error)))
}

/// Puts the entry of a file in its directory on the disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// The directory that a name is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Prefix of the names of our temporary files.
const TEMPORARY: &str = ".collrules-";

/// Removes temporary files of killed processes from a directory. The caller must hold a lock that all who write there take.
pub fn sweep(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(TEMPORARY)) {
        // Nothing depends on it.
        let _ = fs::remove_file(entry.path());
    }
}

/// A complete temporary file in a directory, not renamed yet.
fn whole_file(directory: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    // Others read these files too, on a cluster everybody: what the umask allows, not the private mode of a
    // temporary file.
    let mode = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).permissions(mode).tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The message of the system, without the name of a temporary file that `tempfile` adds.
fn cause_of(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(cause, _)| cause).to_owned()
}
