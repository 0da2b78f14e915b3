//! The record as a file, written from time to time and at the end, so that a killed program leaves what it did until
//! then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::time::Duration;

use collrules_record::profile::rank::{ENDING, FOREIGN, SESSION};

use crate::recorder::Recorder;

/// Wait before the first write; it doubles before each later one, up to [`RARELY`].
const SOON: Duration = Duration::from_secs(1);

/// The longest time between two writes.
const RARELY: Duration = Duration::from_secs(10);

/// Held while a file is written: the periodic thread must not replace the last file.
static WRITING: Mutex<bool> = Mutex::new(false);

/// File in which this process leaves its record.
#[derive(Clone, Debug)]
pub struct RecordFile {
    file: PathBuf,
    /// The process that may write there; one forked from it may not.
    process: u32,
}

impl RecordFile {
    /// The file of a rank of a job in a directory. Jobs that a program starts have ranks with the same numbers.
    pub fn new(directory: &Path, job: &str, rank: u32) -> Self {
        let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || *sign == '-';
        let job: String = job.chars().filter(is_plain).collect();
        Self { file: directory.join(format!("{job}.{rank}.{ENDING}")), process: process::id() }
    }

    /// Writes the record, whole or not at all. Nothing is written after the last one.
    pub fn leave(&self, recorder: &Recorder, last: bool) -> io::Result<()> {
        if self.process != process::id() {
            return Ok(());
        }
        let Ok(mut over) = WRITING.lock() else { return Ok(()) };
        if *over {
            return Ok(());
        }
        *over = last;
        let text = serde_json::to_vec(&recorder.record())?;
        let beside = self.file.with_extension("tmp");
        fs::write(&beside, text)?;
        fs::rename(&beside, &self.file)
    }

    /// Writes from time to time, and never returns. A full disk must not make the program fail: missing records are
    /// noticed when the files are read.
    pub fn keep_leaving(&self, recorder: &Recorder) -> ! {
        let mut pause = SOON;
        loop {
            std::thread::sleep(pause);
            let _ = self.leave(recorder, false);
            pause = (2 * pause).min(RARELY);
        }
    }
}

/// Notes that this process began an MPI session, whose calls are not counted.
pub fn leave_session(directory: &Path) {
    let _ = fs::write(directory.join(format!("{}.{SESSION}", process::id())), "");
}

/// Notes that this is a process of another MPI, whose calls are not counted.
pub fn leave_foreign(directory: &Path, library: &str) {
    let _ = fs::write(directory.join(format!("{}.{FOREIGN}", process::id())), library);
}
