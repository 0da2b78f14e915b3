//! The log of a comparison: whole lines only, each on the disk before the next launch begins.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::bounded::read_if_there;
use super::error::{RunDirError, check_format};
use super::grown::{LineFile, whole_lines};
use super::{COMPARISON, RunDir};
use crate::comparison::{ArmLaunch, ComparisonLine, FORMAT, Stage};

/// The launches of a comparison, open for appending.
#[derive(Debug)]
pub struct ComparisonLog {
    path: PathBuf,
    /// Missing until something is written.
    file: Option<LineFile>,
    launches: Vec<ArmLaunch>,
    begun: Vec<(Stage, String)>,
    /// Validations with a result.
    concluded: Vec<Stage>,
}

impl ComparisonLog {
    /// Reads the log of a directory. A line that an interruption left unfinished is cut off with the next launch; any other
    /// damage is an error, since launches would be missing.
    pub fn open(run: &RunDir) -> Result<Self, RunDirError> {
        let path = run.file(COMPARISON);
        let (launches, begun, concluded) = (Vec::new(), Vec::new(), Vec::new());
        let mut log = Self { path: path.clone(), file: None, launches, begun, concluded };
        let bytes = read_if_there(&path, |path| fs::read(path))?.unwrap_or_default();
        for (number, line) in bytes[..whole_lines(&bytes)].split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(ComparisonLine::Format(found)) => check_format(&path, found, FORMAT)?,
                Ok(ComparisonLine::Launch(launch)) => log.launches.push(launch),
                Ok(ComparisonLine::Begun(stage, about)) => log.begun.push((stage, about)),
                Ok(ComparisonLine::Concluded(stage)) => log.concluded.push(stage),
                Err(cause) => {
                    let cause = format!("line {}: {cause}; remove this line, and its launch is repeated", number + 1);
                    return Err(RunDirError::Damaged { path, cause });
                }
            }
        }
        Ok(log)
    }

    /// The launches so far, in order.
    pub fn launches(&self) -> &[ArmLaunch] {
        &self.launches
    }

    /// Begins a validation, or resumes one that was interrupted on the same system and with the same options. Returns its
    /// stage.
    pub fn begin_validation(&mut self, about: &str) -> Result<Stage, RunDirError> {
        let mut number = 0;
        loop {
            let stage = Stage::Validation(number);
            match self.begun.iter().find(|(begun, _)| *begun == stage) {
                None => {
                    self.write(&ComparisonLine::Begun(stage, about.to_owned()))?;
                    self.begun.push((stage, about.to_owned()));
                    return Ok(stage);
                }
                Some((_, before)) if before == about && !self.concluded.contains(&stage) => return Ok(stage),
                Some(_) => number += 1,
            }
        }
    }

    /// Returns true if nothing was launched.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Adds a launch.
    pub fn append(&mut self, launch: ArmLaunch) -> Result<(), RunDirError> {
        self.write(&ComparisonLine::Launch(launch.clone()))?;
        self.launches.push(launch);
        Ok(())
    }

    /// Records that a validation has a result.
    pub fn conclude(&mut self, stage: Stage) -> Result<(), RunDirError> {
        self.write(&ComparisonLine::Concluded(stage))?;
        self.concluded.push(stage);
        Ok(())
    }

    fn write(&mut self, line: &ComparisonLine) -> Result<(), RunDirError> {
        let failed = |cause: io::Error| RunDirError::Append { path: self.path.clone(), cause: cause.to_string() };
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = LineFile::open(self.path.clone())?;
                super::sync_directory(&self.path).map_err(failed)?;
                self.file.insert(file)
            }
        };
        let format = if file.length == 0 { to_line(&ComparisonLine::Format(FORMAT)) } else { Ok(String::new()) };
        let text = format.and_then(|format| Ok(format + &to_line(line)?)).map_err(failed)?;
        file.append(&text, true)
    }
}

fn to_line(line: &ComparisonLine) -> io::Result<String> {
    Ok(serde_json::to_string(line)? + "\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::comparison::{LaunchFailure, SubjectTime};
    use crate::pattern::ArmSubject;
    use crate::units::Seconds;

    fn launch(block: u32, arm: &[(&str, &str)]) -> ArmLaunch {
        ArmLaunch {
            stage: Stage::Rules,
            block,
            arm: arm.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            at: String::new(),
            seconds: Seconds(1.0),
            apart: None,
            resident: None,
            asleep: None,
            outcome: Ok(vec![SubjectTime {
                subject: ArmSubject::Program,
                time: Seconds(2.0),
                turns: 3,
                calls: 1,
                deviation: 0.0,
            }]),
            wrong: Vec::new(),
        }
    }

    #[test]
    fn an_unfinished_line_is_cut_off_and_a_damaged_one_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let run = RunDir::derived(directory.path()).expect("is there");
        let mut log = ComparisonLog::open(&run).expect("none is there");
        let failed = ArmLaunch {
            outcome: Err(LaunchFailure { why: "it died".to_owned(), subject: Some(ArmSubject::Program) }),
            ..launch(0, &[("a", "1")])
        };
        [launch(0, &[]), failed.clone(), launch(1, &[])].into_iter().for_each(|it| log.append(it).expect("written"));
        assert_eq!(log.begin_validation("a").expect("written"), Stage::Validation(0));
        assert_eq!(log.begin_validation("a").expect("written"), Stage::Validation(0), "it was interrupted");
        assert_eq!(log.begin_validation("b").expect("written"), Stage::Validation(1), "on another system");
        log.conclude(Stage::Validation(0)).expect("written");
        let path = run.file(COMPARISON);
        let whole = fs::read(&path).expect("is there");
        // Interrupted in the middle of a launch.
        fs::write(&path, [&whole[..], b"{\"launch\":{\"stage\":\"ru"].concat()).expect("written");
        let mut log = ComparisonLog::open(&run).expect("reads");
        assert_eq!((log.launches().len(), log.begin_validation("a").expect("written")), (3, Stage::Validation(2)));
        log.append(launch(2, &[])).expect("written");
        let log = ComparisonLog::open(&run).expect("reads");
        assert_eq!(log.launches()[..], [launch(0, &[]), failed, launch(1, &[]), launch(2, &[])], "no unfinished line");
        // One byte is wrong.
        let text = String::from_utf8(whole).expect("text").replace("it died", "it \u{1}died");
        fs::write(&path, text).expect("written");
        let found = ComparisonLog::open(&run).map(|log| log.launches().len());
        assert!(matches!(found, Err(RunDirError::Damaged { cause, .. }) if cause.starts_with("line 3:")));
    }
}
