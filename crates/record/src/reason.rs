//! Reasons for keeping the default, as codes with their numbers. `report` has the words.

use collrules_rules::hazard::Hazard;
use collrules_rules::registry::UnknownAlgorithm;
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::placement::Arrangement;
use crate::policy::Assumption;
use crate::units::{Ranks, Seconds};

/// Calls of a candidate that take several times as long as the builtin usually does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stalling {
    /// Calls that take longer are slow.
    pub beyond: Seconds,
    /// The slow calls of the candidate.
    pub slow: usize,
    /// All of its calls.
    pub calls: usize,
    /// The slow calls of the builtin.
    pub builtin_slow: usize,
    /// All of its calls.
    pub builtin_calls: usize,
    /// The candidate's mean over the builtin's.
    pub mean_ratio: f64,
}

/// Reason why a cell keeps the builtin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum KeepReason {
    /// The builtin itself failed.
    DefaultFailed,
    /// The builtin was not timed.
    DefaultNotTimed,
    /// Nothing else was timed.
    NothingTimed,
    /// A validation did not confirm the gain.
    NotConfirmed,
    /// This component runs the calls.
    OtherComponent(Component),
    /// A candidate is faster, but the cell shares a rule with others.
    SharedRule,
    /// The shortfall of the candidate that was nearest to replacing the builtin.
    #[serde(untagged)]
    Nearest(Shortfall),
}

/// Reason why a candidate does not replace the builtin, in the order of the checks: a later one is nearer to replacing
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum Shortfall {
    /// It is the builtin, or the two were never timed in one round.
    NoGain,
    /// The builtin is at least as fast.
    NotFaster,
    /// The gain is below the threshold.
    SmallGain,
    /// The difference is below the resolution of the clock.
    Unresolved,
    /// It was not timed in every launch of the builtin, such as after it was dropped.
    NotTimedInEveryLaunch,
    /// Too few timings of single calls for a test.
    FewVisits,
    /// No test is possible, and single values with their neighbours' gain too little without one.
    Doubtful,
    /// The test or the interval is compatible with no gain.
    NotSignificant,
    /// It is not faster in one of the launches.
    NotInEveryLaunch,
    /// Rare slow calls make it slower on average.
    Stalls(Stalling),
    /// Nothing excludes a loss in this arrangement of ranks.
    Risk(Arrangement),
    /// It must not be chosen.
    Barred(Bar),
}

/// Reason why a candidate must not be chosen for a collective and a communicator size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum Bar {
    /// The release does not have it.
    Unknown(UnknownAlgorithm),
    /// A rule for it would break programs.
    Hazard(Hazard),
    /// Communicators of one process never reach `coll/tuned`.
    Alone,
    /// It failed at some message size on this number of ranks.
    Failed,
    /// It is wrong for programs that violate this assumption, which is not made.
    Lacking(Assumption),
    /// It is an error on this number of ranks.
    Ranks(Ranks),
    /// It is slower than the builtin in one of the layouts that share the rules.
    Slower(Arrangement),
}
