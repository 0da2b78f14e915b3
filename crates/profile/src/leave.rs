//! The record as a file: from time to time, so that a program that is killed leaves what it did until then, and in the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::time::Duration;

use collrules_record::profile::rank::{ENDING, FOREIGN};

use crate::recorder::Recorder;

/// How long to wait before the first writing; twice as long before each later one, up to [`RARELY`].
const SOON: Duration = Duration::from_secs(1);

/// The longest time between two writings.
const RARELY: Duration = Duration::from_secs(10);

/// Held while a file is written: the thread that writes from time to time must not replace the last file.
static WRITING: Mutex<bool> = Mutex::new(false);

/// Where this process leaves its record.
#[derive(Clone, Debug)]
pub struct RecordFile {
    file: PathBuf,
    /// The process that may write there: one that is forked off may not.
    process: u32,
}

impl RecordFile {
    /// The place of a rank in a directory.
    pub fn new(directory: &Path, rank: u32) -> Self {
        Self { file: directory.join(format!("{rank}.{ENDING}")), process: process::id() }
    }

    /// Writes the record there, whole or not at all. Nothing is written after the last one.
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

    /// Writes from time to time, and never comes back. A program is not to fail for a full disk: what cannot be written
    /// is missed when the files are read.
    pub fn keep_leaving(&self, recorder: &Recorder) -> ! {
        let mut pause = SOON;
        loop {
            std::thread::sleep(pause);
            let _ = self.leave(recorder, false);
            pause = (2 * pause).min(RARELY);
        }
    }
}

/// Notes that this is a process of another MPI, whose calls are not counted.
pub fn leave_foreign(directory: &Path, library: &str) {
    let _ = fs::write(directory.join(format!("{}.{FOREIGN}", process::id())), library);
}
