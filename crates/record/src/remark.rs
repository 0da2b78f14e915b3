//! Remarks on the data or the rules, as codes with their numbers. `report` has the words.

use std::collections::BTreeSet;
use std::path::PathBuf;

use collrules_rules::{Choice, Collective};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::component::Component;
use crate::estimate::Estimate;
use crate::reason::Bar;
use crate::reason::Stalling;
use crate::settings::Settings;
use crate::tree::Alternative;
use crate::units::{Bytes, Ranks, Seconds};
use crate::validation::RevertedRange;

/// Planned sizes of a collective that were not measured enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnmeasuredRange {
    /// The collective.
    pub collective: Collective,
    /// Number of sizes.
    pub sizes: usize,
    /// The smallest and the largest communicator.
    pub ranks: (Ranks, Ranks),
    /// The smallest and the largest message.
    pub bytes: (Bytes, Bytes),
    /// Expected time to measure them.
    pub takes: Seconds,
}

/// A remark for the reader on the data or the rules. It repeats nothing that is elsewhere in the findings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum Remark {
    /// Launches without timings.
    MissingLaunches {
        /// Number of launches with timings.
        timed: usize,
        /// Number of planned launches.
        planned: u32,
    },
    /// Number of sizes that were measured in fewer launches than others.
    FewerLaunches(usize),
    /// Number of timings that are zero by the clock.
    ZeroTimings(usize),
    /// The timings are averages over ranks and calls.
    Averages,
    /// Apparent gains with too few visits, or launches, for a test.
    Untested {
        /// Their number.
        untested: usize,
        /// The number of apparent gains.
        all: usize,
    },
    /// The builtin was not timed.
    DefaultNotTimed {
        /// The first such cell of a collective.
        cell: Cell,
        /// Number of further cells.
        others: usize,
    },
    /// A candidate failed.
    Failed {
        /// The first such cell.
        cell: Cell,
        /// The candidate.
        candidate: Candidate,
        /// Number of further message sizes on as many ranks.
        others: usize,
        /// The failure, as in the samples.
        why: String,
    },
    /// Candidates that are faster than the builtin, and must not be chosen.
    Barred {
        /// The collective.
        collective: Collective,
        /// The candidates.
        candidates: Vec<Candidate>,
        /// Number of cells in which they are faster.
        sizes: usize,
        /// The reason.
        bar: Bar,
    },
    /// A candidate with the better median, and rare slow calls.
    Stalls {
        /// The first such cell.
        cell: Cell,
        /// The candidate.
        candidate: Candidate,
        /// Number of further message sizes on as many ranks.
        others: usize,
        /// The slow calls in the first cell.
        stalls: Stalling,
    },
    /// Rules of a collective apply to all message sizes.
    EverySize(Collective),
    /// A single measured message size decided for all.
    SingleSize {
        /// The collective.
        collective: Collective,
        /// The communicator sizes.
        ranks: Vec<Ranks>,
    },
    /// All message sizes share an algorithm, and none is faster for all.
    NoCommonAlgorithm {
        /// The collective.
        collective: Collective,
        /// The communicator sizes.
        ranks: Vec<Ranks>,
    },
    /// The builtin stays for sizes that were not measured.
    DefaultElsewhere,
    /// The rules under other assumptions.
    Alternative(Alternative),
    /// The order in which this release adds up is not known.
    UnknownBits,
    /// Number of cells that are left out, because a layout lacks them.
    NotInAllLayouts(usize),
    /// The timings do not say which component ran calls; in this release, HAN runs these on several nodes.
    HanUnknown(Vec<Collective>),
    /// HAN runs a collective.
    Han {
        /// The collective.
        collective: Collective,
        /// The communicator sizes.
        ranks: Vec<Ranks>,
    },
    /// The files depend on the number of ranks, not on where they are. HAN has rules for these numbers.
    HanElsewhere(Vec<Ranks>),
    /// Another component runs a collective.
    OtherComponent {
        /// The collective.
        collective: Collective,
        /// The component.
        component: Component,
        /// The communicator sizes.
        ranks: Vec<Ranks>,
        /// Number of measured cells.
        sizes: usize,
        /// Time now over time in `coll/tuned` with the rules found, in geometric mean.
        gain: f64,
        /// Reason why it stays in use; missing if the settings delegate the collective.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stays: Option<StayReason>,
    },
    /// No reference algorithm is faster than the library.
    NoReferenceFaster,
    /// A reference algorithm is faster than the library.
    ReferenceFaster {
        /// The cell with the largest gain.
        cell: Cell,
        /// The reference algorithm.
        reference: Candidate,
        /// Number of cells in which it is faster.
        sizes: usize,
        /// The library's time over the reference algorithm's, in this cell.
        gain: Estimate,
    },
    /// Planned cells without timings, or with fewer visits than a test needs.
    NotMeasured {
        /// Their number.
        missing: usize,
        /// Those of them without any timing.
        #[serde(default)]
        untimed: usize,
        /// The number of planned cells.
        planned: usize,
        /// Those of each collective.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ranges: Vec<UnmeasuredRange>,
    },
    /// Gains and losses of each layout.
    Layouts,
    /// Each layout has rules of its own.
    LayoutsApart,
    /// Ranges of rules that were removed because a validation did not confirm them.
    Reverted(Vec<RevertedRange>),
    /// The proof in this run directory is about other rules.
    OtherProof(PathBuf),
    /// The validation in this run directory is about other rules.
    OtherValidation(PathBuf),
    /// Chosen algorithms that need the same datatypes on all ranks.
    Datatypes(BTreeSet<(Collective, Choice)>),
    /// The times are simulated.
    Simulated,
    /// There were more ranks than slots.
    Oversubscribed {
        /// Number of ranks.
        ranks: Ranks,
        /// Number of slots.
        slots: Ranks,
    },
    /// A setting of the system that competes with the tuning.
    Preset {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Settings of all launches.
    Pins(Settings),
    /// The component han was off in all launches.
    HanOff,
    /// Times that the clock does not resolve.
    Unresolved {
        /// Number of such points.
        points: usize,
        /// Times below are not resolved.
        least: Seconds,
    },
    /// Clocks and measuring code, in the worst launch.
    Clock {
        /// Step of the clock.
        step: Seconds,
        /// Time of an empty call.
        empty_call: Seconds,
        /// Overhead of a timed call.
        turn: Seconds,
        /// Median skew of the ranks at the start.
        skew: Seconds,
    },
    /// Calls began at agreed times.
    CommonClock {
        /// Number of clocks.
        clocks: u32,
        /// Number of checks.
        checks: usize,
        /// The largest error of a check.
        error: Seconds,
        /// Number of adjustments.
        set_anew: usize,
        /// Number of calls.
        calls: u64,
        /// Number of repeated calls.
        repeated: u64,
        /// Number of abandoned rounds.
        given_up: u64,
    },
    /// A suspicious number of an imported file or table.
    Suspicious {
        /// The file.
        file: String,
        /// The line; missing if it concerns the whole file.
        line: Option<u64>,
        /// The importer's message.
        message: String,
        /// True if the timing was left out.
        left_out: bool,
    },
    /// Number of rows of the table that could not be used.
    LostRows(usize),
    /// Number of rows of the imported files that could not be used.
    LostImports(usize),
}

/// Reason why a component stays in use although algorithms of `coll/tuned` are faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum StayReason {
    /// The time of `coll/tuned` is unknown in so many cells.
    Unknown(usize),
    /// `coll/tuned` would be slower.
    Slower {
        /// Number of such cells.
        sizes: usize,
        /// The largest time ratio.
        most: f64,
    },
    /// The component can only be switched off for these collectives too, and they may get slower.
    Bound(Vec<Collective>),
    /// The measurements do not show that `coll/tuned` is faster.
    NotShown,
}
