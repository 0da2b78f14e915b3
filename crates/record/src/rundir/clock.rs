//! The file with what is known about clocks and harness: one JSON text per line, appended launch by launch.

use std::fs::OpenOptions;
use std::io::{self, Write};

use super::bounded::read_text;
use super::{CLOCK, RunDir, RunDirError, SampleWriter};
use crate::clock::{ClockFact, ClockLine};

impl SampleWriter {
    /// Appends a fact to the clock file beside the samples.
    pub fn note(&self, launch: u32, fact: &ClockFact) -> Result<(), RunDirError> {
        let path = self.path.with_file_name(CLOCK);
        let line = ClockLine { launch, fact: fact.clone() };
        let written = serde_json::to_string(&line).map_err(io::Error::from).and_then(|text| {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            // In one call, so that an interruption leaves no more than the last line unfinished.
            file.write_all(format!("{text}\n").as_bytes())
        });
        written.map_err(|cause| RunDirError::Append { path, cause: cause.to_string() })
    }
}

impl RunDir {
    /// What is known about clocks and harness, launch by launch; nothing where the file is missing, as in runs of a
    /// simulation. Lines that cannot be read are left out: an unfinished one, or one of a newer version.
    pub fn clock(&self) -> Result<Vec<ClockLine>, RunDirError> {
        let path = self.file(CLOCK);
        match read_text(&path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(RunDirError::Read { path, cause: cause.to_string() }),
        }
    }
}
