//! Progress of a campaign, for readers without a lock, even while it is written or if parts are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::SystemTime;

use serde::Serialize;

use super::bounded::read_samples;
use super::grown::whole_lines;
use super::journal::JournalEntry;
use super::{COMPARISON, LAUNCHES, RunDir, SAMPLES};
use crate::units::Seconds;

/// Progress of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// When each launch began, in UTC, as in RFC 3339.
    #[serde(skip)]
    pub begun: Vec<String>,
    /// Launches that were completed.
    pub complete: u32,
    /// Launches that ended early.
    pub failed: u32,
    /// Reason of the last launch that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Seconds that launches spent on measuring.
    pub spent: Seconds,
    /// Number of timings.
    pub samples: usize,
    /// Number of cells with a timing.
    pub measured: usize,
    /// Time since the last write, by the clock of the file system; 0 if that clock is ahead of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<Seconds>,
    /// Lead of the file system's clock, or of the writing host, over ours, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Seconds>,
}

impl RunDir {
    /// Reads the progress of the campaign. Missing files and unreadable lines count as not written yet: files from
    /// other hosts arrive late and in pieces.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        let journal = fs::read(self.file(LAUNCHES)).unwrap_or_default();
        let mut spent = BTreeMap::new();
        for line in journal[..whole_lines(&journal)].split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(JournalEntry::Begun { at, .. }) => progress.begun.push(at),
                Ok(JournalEntry::Ended { complete: true, .. }) => progress.complete += 1,
                Ok(JournalEntry::Ended { why, .. }) => {
                    (progress.failed, progress.why) = (progress.failed + 1, Some(why));
                }
                Ok(JournalEntry::Spent { launch, seconds }) => drop(spent.insert(launch, seconds)),
                _ => {}
            }
        }
        progress.spent = Seconds(spent.into_values().sum());
        let samples = read_samples(&self.file(SAMPLES)).unwrap_or_default();
        let mut cells = BTreeSet::new();
        for line in samples[..whole_lines(&samples)].split(|byte| *byte == b'\n') {
            let fields: Vec<&[u8]> = line.splitn(8, |byte| *byte == b',').collect();
            // A row of a timing has a round.
            if let [launch, _, round, collective, ranks, bytes, ..] = fields[..]
                && launch.first().is_some_and(u8::is_ascii_digit)
                && !round.is_empty()
            {
                progress.samples += 1;
                cells.insert((collective, ranks, bytes));
            }
        }
        progress.measured = cells.len();
        let changed = |name: &str| fs::metadata(self.file(name)).and_then(|found| found.modified()).ok();
        let last = [SAMPLES, LAUNCHES, COMPARISON].into_iter().filter_map(changed).max();
        match last.map(|last| SystemTime::now().duration_since(last)) {
            Some(Ok(ago)) => progress.silent = Some(Seconds(ago.as_secs_f64())),
            Some(Err(ahead)) => {
                let ahead = Seconds(ahead.duration().as_secs_f64());
                (progress.silent, progress.ahead) = (Some(Seconds(0.0)), Some(ahead));
            }
            None => {}
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_half_there_is_no_obstacle() {
        let directory = tempfile::tempdir().expect("a directory");
        let run = RunDir::derived(directory.path()).expect("is there");
        assert_eq!(run.progress(), Progress::default());
        let journal = "{\"format\":{\"major\":1,\"minor\":1}}\n{\"begun\":{\"launch\":0,\"planned\":0,\"at\":\"x\"}}\n\
                       {\"spent\":{\"launch\":0,\"seconds\":2.5}}\n{\"spent\":{\"launch\":0,\"seconds\":4.5}}\n\
                       {\"ended\":{\"launch\":0,\"complete\":false,\"why\":\"a node died\"}}\n\
                       \0\0\0\n{\"begun\":{\"launch\":1,\"planned\":0,\"at\":\"x\"}}\n{\"ended\":{\"lau";
        fs::write(run.file(LAUNCHES), journal).expect("writes");
        let samples = "# collrules samples 1.0\nlaunch,visit,round,collective\n0,0,0,bcast,4,8,builtin,1,1,1,\n\
                       0,0,1,bcast,4,8,builtin,1,1,1,\n0,,,bcast,4,8,tuned:1/0/0/0,,,,dropped: x\n0,0,0,scatter,4,8,b";
        fs::write(run.file(SAMPLES), samples).expect("writes");
        let progress = run.progress();
        assert_eq!((progress.complete, progress.failed), (0, 1));
        assert_eq!((progress.samples, progress.measured, progress.spent), (2, 1, Seconds(4.5)));
        assert_eq!(progress.why.as_deref(), Some("a node died"));
        assert!(progress.silent.is_some() && progress.ahead.is_none());

        let in_an_hour = SystemTime::now() + std::time::Duration::from_secs(3600);
        let file = fs::File::options().append(true).open(run.file(SAMPLES)).expect("opens");
        file.set_modified(in_an_hour).expect("may be set");
        let progress = run.progress();
        assert_eq!(progress.silent, Some(Seconds(0.0)));
        assert!(progress.ahead.is_some_and(|ahead| (3500.0..=3600.0).contains(&ahead.0)), "{progress:?}");
    }
}
