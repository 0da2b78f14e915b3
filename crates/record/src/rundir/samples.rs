//! The samples file: whole lines only, whenever the writer was interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use super::bounded::{read_if_there, read_samples};
use super::error::{self, RunDirError};
use super::grown::{LineFile, whole_lines};
use super::lines::{line_of_timed, row_of};
use super::lock::{PATIENCE, lock};
use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::file::FormatVersion;
use crate::pattern::Pattern;
use crate::sample::{COLUMNS, EndReason, EndedPoint, FORMAT, PatternSample, Row, Sample, TimedRow};

/// Lines before the rows: the format and the columns.
pub(super) const HEAD_LINES: usize = 2;

/// Prefix of the first line; the format follows.
const MARK: &str = "# collrules samples ";

/// Returns the beginning of a samples file: a line with its format, a line with its columns.
pub(super) fn head() -> String {
    format!("{MARK}{}.{}\n{}\n", FORMAT.major, FORMAT.minor, COLUMNS.join(","))
}

/// The content of a samples file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplesText {
    /// All complete lines, with the line of the format and the line of the columns.
    pub text: String,
    /// True if an incomplete last line was cut off, because the writer was interrupted.
    pub torn: bool,
}

impl SamplesText {
    pub(super) fn read(path: &Path) -> Result<Self, RunDirError> {
        let bytes = read_samples(path)
            .map_err(|cause| RunDirError::Read { path: path.to_owned(), cause: cause.to_string() })?;
        Self::new(path, bytes)
    }

    /// Reads a samples file like `read`, or returns an empty one if an interruption kept the file from being made.
    pub(super) fn read_or_empty(path: &Path) -> Result<Self, RunDirError> {
        match read_if_there(path, read_samples)? {
            Some(bytes) if whole_lines(&bytes) > 0 => Self::new(path, bytes),
            _ => Ok(Self { text: head(), torn: false }),
        }
    }

    /// The rows, in the order in which they were written. `path` is named in errors.
    pub(super) fn rows(&self, path: &Path) -> Result<Vec<Row>, RunDirError> {
        let bad = |cause: String| RunDirError::Damaged { path: path.to_owned(), cause };
        let lines = self.text.lines().skip(HEAD_LINES).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| row_of(line).map_err(bad)).collect()
    }

    /// The timings of cells, in the order in which they were written, without those of points that failed. `path` is named in
    /// errors.
    pub fn samples(&self, path: &Path) -> Result<Vec<Sample>, RunDirError> {
        let (mut samples, mut failed) = (Vec::new(), BTreeSet::new());
        for row in self.rows(path)? {
            match row {
                Row::Sample(sample) => samples.push(sample),
                Row::Ended(EndedPoint { cell, candidate, ended: EndReason::Disqualified(_), .. }) => {
                    failed.insert((cell, candidate));
                }
                Row::Ended(_) | Row::Pattern(_) | Row::EndedCast(_) => {}
            }
        }
        samples.retain(|sample| !failed.contains(&(sample.cell, sample.candidate)));
        Ok(samples)
    }

    /// The cells in which the default failed, with the first reason. `path` is named in errors.
    pub fn failed_defaults(&self, path: &Path) -> Result<Vec<(Cell, String)>, RunDirError> {
        let mut failed = BTreeMap::new();
        for row in self.rows(path)? {
            if let Row::Ended(EndedPoint { cell, candidate: Candidate::Builtin, ended, .. }) = row
                && let EndReason::Disqualified(why) = ended
            {
                failed.entry(cell).or_insert(why);
            }
        }
        Ok(failed.into_iter().collect())
    }

    /// The timings of patterns, in the order in which they were written, without those of casts that failed. `path` is
    /// named in errors.
    pub fn patterns(&self, path: &Path) -> Result<Vec<PatternSample>, RunDirError> {
        let bad = |cause: String| RunDirError::Damaged { path: path.to_owned(), cause };
        let mark = format!(",{}", Pattern::MARK);
        let (mut samples, mut failed) = (Vec::new(), BTreeSet::new());
        for line in self.text.lines().skip(HEAD_LINES).filter(|line| line.contains(&mark)) {
            match row_of(line).map_err(bad)? {
                Row::Pattern(sample) => samples.push(sample),
                Row::EndedCast(ended) => drop(failed.insert((ended.pattern, ended.cast))),
                Row::Sample(_) | Row::Ended(_) => {}
            }
        }
        samples.retain(|sample| !failed.contains(&(sample.pattern, sample.cast.clone())));
        Ok(samples)
    }

    fn new(path: &Path, mut bytes: Vec<u8>) -> Result<Self, RunDirError> {
        let whole = whole_lines(&bytes);
        let torn = whole < bytes.len();
        bytes.truncate(whole);
        let text = String::from_utf8(bytes)
            .map_err(|_| RunDirError::Damaged { path: path.to_owned(), cause: "it is not UTF-8".to_owned() })?;
        check_head(path, &text)?;
        Ok(Self { text, torn })
    }
}

/// Fails if this version would misread the samples: the only check of their format. `path` is named in errors.
pub fn check_head(path: &Path, text: &str) -> Result<(), RunDirError> {
    let bad = |cause: &str| RunDirError::Damaged { path: path.to_owned(), cause: cause.to_owned() };
    let mut lines = text.lines();
    let format = lines.next().and_then(format_of).ok_or_else(|| bad("it lacks the line with the format"))?;
    error::check_format(path, format, FORMAT)?;
    // A newer minor may have added columns behind ours.
    let mut columns = lines.next().unwrap_or_default().split(',');
    match COLUMNS.into_iter().find(|known| columns.next() != Some(known)) {
        Some(missing) => Err(bad(&format!("its second line lacks the column {missing}, or has it elsewhere"))),
        None => Ok(()),
    }
}

fn format_of(line: &str) -> Option<FormatVersion> {
    let (major, minor) = line.strip_prefix(MARK)?.split_once('.')?;
    Some(FormatVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Opens a samples file for this process alone if `check` accepts its whole lines; true with it if the file system keeps
/// other writers out.
pub(super) fn open(
    path: PathBuf,
    check: impl FnOnce(&str) -> Result<(), RunDirError>,
) -> Result<(LineFile, bool), RunDirError> {
    let failed = |cause: io::Error| RunDirError::Append { path: path.clone(), cause: cause.to_string() };
    let file = OpenOptions::new().read(true).append(true).open(&path).map_err(failed)?;
    // Given free by the system with the last handle, so that no lock outlives its process.
    let is_locked = lock(&file, &path, PATIENCE)?;
    let bytes = read_samples(&path).map_err(failed)?;
    // Interrupted in the very first line.
    let is_new = whole_lines(&bytes) == 0;
    let text = if is_new { head() } else { SamplesText::new(&path, bytes)?.text };
    if !text.starts_with(&head()) {
        let cause = "another version of collrules wrote it; measure into a new directory".to_owned();
        return Err(RunDirError::Append { path, cause });
    }
    check(&text)?;
    let mut samples = LineFile::new(file, path, if is_new { b"" } else { text.as_bytes() })?;
    if is_new {
        samples.append(&text, false)?;
    }
    Ok((samples, is_locked))
}

/// A complete samples file of timings in which some times may be missing.
pub fn samples_text(rows: impl Iterator<Item = TimedRow>) -> String {
    head() + &rows.map(|row| line_of_timed(&row)).collect::<String>()
}
