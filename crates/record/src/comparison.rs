//! Fresh launches of arms and of the default, in blocks: what they time, and the lines of their log.
//!
//! An arm is a way to start jobs. It is identified by its settings by name, with the digest of a file in place of its path,
//! so that launches of other rules never count for the present ones. Without settings it is the default.

use serde::{Deserialize, Serialize};

use crate::file::FormatVersion;
use crate::pattern::ArmSubject;
use crate::settings::Settings;
use crate::units::Seconds;

/// The format of `comparison.jsonl` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// Stage of a comparison. Launches of different stages answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The rules of a tuning.
    Rules,
    /// The rules that were confirmed, minutes later.
    RulesAgain,
    /// A search: one setting at a time, the others at their default.
    Alone,
    /// A search: one setting at a time, the others as in the best combination.
    Foldover,
    /// The best settings, over all sizes and the guard set.
    Tuning,
    /// The rules under the settings that were chosen.
    UnderSettings,
    /// The rules that were confirmed under the settings, minutes later.
    UnderSettingsAgain,
    /// A tuning that was compared before; numbered from 0.
    Validation(u32),
    /// A tuning of some time ago.
    Drift,
    /// Runs of a program.
    Program,
}

impl Stage {
    /// Returns true if launches of it choose arms, so that they flatter those chosen.
    pub fn is_search(self) -> bool {
        matches!(self, Self::Alone | Self::Foldover)
    }

    /// Returns true if it is a later stretch of another one.
    pub fn is_again(self) -> bool {
        matches!(self, Self::RulesAgain | Self::UnderSettingsAgain)
    }
}

/// A line of the log, in the order of events. Launches are written when their block ends, or their job fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonLine {
    /// The first line.
    Format(FormatVersion),
    /// A stage begins, on a system and with options that have this digest: with others, its launches are made again.
    Begun(Stage, String),
    /// A launch of an arm.
    Launch(ArmLaunch),
    /// A validation ended with a result. Other stages are steps of the state.
    Concluded(Stage),
}

/// A launch of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmLaunch {
    /// Stage of the comparison.
    pub stage: Stage,
    /// The block, in which each arm of a stage has a launch. Of two launches of the base, the second is the control.
    pub block: u32,
    /// The arm.
    pub arm: Settings,
    /// When the block began, in UTC, as in RFC 3339.
    pub at: String,
    /// Duration of the block, divided by the number of its launches; of a job that failed, until it failed.
    pub seconds: Seconds,
    /// Reason why the jobs of the block ran one after the other; none if they lived at the same time and took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// Memory of the largest rank at the end; missing where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident: Option<u64>,
    /// Share of a processor that its busiest rank used while it slept; missing if it never slept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep: Option<f64>,
    /// The times, or why the job failed.
    pub outcome: Result<Vec<SubjectTime>, LaunchFailure>,
    /// Subjects with wrong data, and the finding of the check.
    pub wrong: Vec<(ArmSubject, String)>,
}

/// Time of a subject in a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubjectTime {
    /// The subject.
    pub subject: ArmSubject,
    /// Median over its turns of the mean time of a call on the slowest rank; without the slowest calls of each turn, unless
    /// means decide.
    pub time: Seconds,
    /// Number of turns.
    pub turns: u32,
    /// Number of calls of a turn.
    pub calls: u32,
    /// Standard deviation over turns of the logarithm of their time: over that of the base in the same pass, if it took turns
    /// with this job.
    pub deviation: f64,
}

/// Reason why a launch of an arm has no times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFailure {
    /// The first line of the job's error.
    pub why: String,
    /// The subject that was being called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<ArmSubject>,
}
