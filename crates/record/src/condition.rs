//! Conditions of timed calls: programs make other calls than benchmarks do, and their ranks arrive at other times.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use collrules_program::Arguments;
use collrules_rules::{Collective, names};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::profile::Profile;
use crate::units::Seconds;
use crate::values;

/// The condition of the timed calls of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Timing")]
pub struct Condition {
    /// Root of bcast, gather, reduce and scatter
    #[arg(long, value_name = "RANK", default_value = "first")]
    pub root: Root,
    /// Buffers of the calls
    #[arg(long, value_name = "HOW", default_value = "rotate")]
    pub buffers: BufferUse,
    /// Ranks that enter late: `none`, `random` (another one in each call), `first`, `last`; or as in a profile of
    /// `collrules profile --imbalance`
    #[arg(long, value_name = "WHO|PROFILE", default_value = "none", value_parser = read_arrival)]
    pub arrival: Arrival,
    /// Time by which the rank is late [default: half of the default's time], or longest gap between arrivals of a
    /// profile [default: twice the default's time]
    #[arg(long, value_name = "TIME", value_parser = values::positive)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Seconds>,
}

// A time is read from text, and so never a number that is unlike itself.
impl Eq for Condition {}

impl Ord for Condition {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| {
            let lateness = it.lateness.map(|lateness| lateness.0.to_bits());
            (it.root as u8, it.buffers as u8, it.arrival as u8, lateness)
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Condition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reads who is late. Everything that is not a word for it is the path of a profile, which has to exist.
fn read_arrival(text: &str) -> Result<Arrival, String> {
    match text {
        "none" => Ok(Arrival::None),
        "random" => Ok(Arrival::Random),
        "first" => Ok(Arrival::First),
        "last" => Ok(Arrival::Last),
        path if Path::new(path).exists() => Ok(Arrival::Profile),
        path => Err(format!("there is no file `{path}`; write none, random, first, last, or the path of a profile")),
    }
}

/// The root of rooted collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// Rank 0
    #[default]
    First,
    /// The last rank; if there are several nodes, the last one that is on another node than rank 0
    Last,
}

names! {
    /// The buffers of successive calls.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
    #[serde(rename_all = "kebab-case")]
    pub enum BufferUse {
        /// One buffer for all calls, so that caches are warm, as in benchmarks
        #[default]
        Reuse "reuse",
        /// Others in each call, more than the last-level cache holds
        Rotate "rotate",
        /// One for input and result (MPI_IN_PLACE)
        InPlace "in-place",
        /// One buffer for all calls, 16 B after the beginning of a page, where malloc puts large ones
        Unaligned "unaligned",
    }
}

/// The ranks that enter a call late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// None: ranks leave a barrier together
    #[default]
    None,
    /// Another one in each call, at random
    Random,
    /// Rank 0
    First,
    /// The last rank of the communicator
    Last,
    /// Those that were late for calls of a program ([`ArrivalPattern`])
    Profile,
}

names!(Root { First "first", Last "last", });

impl Condition {
    /// Calls like those of most programs: their buffers are not in a cache, since a program works on other data between
    /// its calls (measured: RESULTS.md, "Other calls").
    pub const OF_PROGRAMS: Self =
        Self { root: Root::First, buffers: BufferUse::Rotate, arrival: Arrival::None, lateness: None };

    /// Calls with warm buffers where `malloc` puts them. Settings are compared with these: `coll/sm` takes about four
    /// times as long for them as for buffers that begin with a page (measured: RESULTS.md, "Alignment of buffers").
    pub const UNALIGNED: Self = Self { buffers: BufferUse::Unaligned, ..Self::OF_PROGRAMS };

    /// The arguments of calls of a collective under it, in place of these, if this is the other root.
    pub fn change(self, arguments: Arguments, collective: Collective, other_root: u32) -> Arguments {
        match self.root {
            Root::Last if collective.is_rooted() => Arguments { root: other_root, ..arguments },
            _ => arguments,
        }
    }

    /// The conditions that differ from it in one respect, as programs may have them. Warm or cold buffers come first:
    /// they change the choice most often.
    pub fn others(self) -> Vec<Self> {
        let root = Self { root: if self.root == Root::First { Root::Last } else { Root::First }, ..self };
        let arrival = if self.arrival == Arrival::None { Arrival::Random } else { Arrival::None };
        let buffers = [BufferUse::Reuse, BufferUse::Rotate, BufferUse::InPlace];
        let mut others: Vec<Self> = buffers
            .into_iter()
            .filter(|buffers| *buffers != self.buffers)
            .map(|buffers| Self { buffers, ..self })
            .collect();
        others.splice(1..1, [root, Self { arrival, ..self }]);
        others
    }

    /// Returns true if calls of a collective under it differ from those under another one.
    pub fn differs_for(self, other: Self, collective: Collective) -> bool {
        let buffers = |condition: Self| match condition.buffers {
            BufferUse::InPlace if !collective.has_in_place() => None,
            _ if !collective.has_sizes() => Some(BufferUse::Reuse),
            buffers => Some(buffers),
        };
        let (mine, others) = (buffers(self), buffers(other));
        (collective.is_rooted() && self.root != other.root)
            || (mine.is_some() && mine != others)
            || (self.arrival, self.lateness) != (other.arrival, other.lateness)
    }

    /// Its differences from [`Self::OF_PROGRAMS`], as a noun, on a communicator with this other root and last rank.
    pub fn name(self, other_root: u32, last_rank: u32) -> String {
        let root = (self.root == Root::Last).then(|| format!("root {other_root}"));
        let buffers = match self.buffers {
            BufferUse::Reuse => Some("reused buffers".to_owned()),
            BufferUse::Rotate => None,
            BufferUse::InPlace => Some("calls in place".to_owned()),
            BufferUse::Unaligned => Some("unaligned buffers".to_owned()),
        };
        let late = |who: &str| Some(format!("{who} late by {}", self.describe_lateness()));
        let arrival = match self.arrival {
            Arrival::None => None,
            Arrival::Random => late("one rank"),
            Arrival::First => late("rank 0"),
            Arrival::Last => late(&format!("rank {last_rank}")),
            Arrival::Profile => Some("arrivals of the profile".to_owned()),
        };
        let all: Vec<String> = [root, buffers, arrival].into_iter().flatten().collect();
        if all.is_empty() { "changing buffers".to_owned() } else { all.join(" with ") }
    }

    fn describe_lateness(self) -> String {
        self.lateness.map_or_else(|| "half a call".to_owned(), |time| time.to_string())
    }

    /// Returns true if the lateness of a rank follows from the time of the default algorithm.
    pub fn is_relative(&self) -> bool {
        self.arrival != Arrival::None && self.lateness.is_none()
    }

    /// The lateness of a rank if none is given, or the longest gap between arrivals of a profile, over the time of the
    /// default algorithm: after twice that time, ranks have done all that they can do without the next one.
    pub fn lateness_factor(&self) -> f64 {
        if self.arrival == Arrival::Profile { 2.0 } else { 0.5 }
    }
}

impl fmt::Display for Condition {
    /// Its differences from [`Self::OF_PROGRAMS`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = match self.root {
            Root::First => None,
            Root::Last => Some("with the last rank as the root".to_owned()),
        };
        let buffers = match self.buffers {
            BufferUse::Reuse => Some("with the same buffers in each call".to_owned()),
            BufferUse::Rotate => None,
            BufferUse::InPlace => Some("in place".to_owned()),
            BufferUse::Unaligned => Some("with buffers 16 B after the beginning of a page".to_owned()),
        };
        let late = |who: &str| Some(format!("with {who} late by {}", self.describe_lateness()));
        let arrival = match self.arrival {
            Arrival::None => None,
            Arrival::Random => late("one rank"),
            Arrival::First => late("rank 0"),
            Arrival::Last => late("the last rank"),
            Arrival::Profile => Some("with ranks as late as in the profile".to_owned()),
        };
        let all: Vec<String> = [root, buffers, arrival].into_iter().flatten().collect();
        if all.is_empty() { f.write_str("with other buffers in each call") } else { f.write_str(&all.join(", ")) }
    }
}

/// Arrivals of ranks at some of a program's calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalPattern {
    /// The cell of the calls.
    pub cell: Cell,
    /// For each call, the time of each rank's arrival after that of the first one.
    pub calls: Vec<Vec<Seconds>>,
}

/// The patterns of programs, one for each of their cells; none if they were profiled without `--imbalance`.
pub fn list_patterns<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Vec<ArrivalPattern> {
    let mut all: BTreeMap<Cell, Vec<Vec<Seconds>>> = BTreeMap::new();
    for profile in profiles {
        for calls in profile.calls.iter().filter(|calls| !calls.arrivals.is_empty()) {
            let Some(cell) = profile.cell(calls) else { continue };
            all.entry(cell).or_default().extend_from_slice(&calls.arrivals);
        }
    }
    all.into_iter().map(|(cell, calls)| ArrivalPattern { cell, calls }).collect()
}

/// The pattern for calls of a cell: that of the collective on as many ranks whose message size is nearest, else that of
/// another collective on as many ranks.
pub fn find_pattern(patterns: &[ArrivalPattern], cell: Cell) -> Option<&ArrivalPattern> {
    let size = |cell: Cell| (cell.bytes.0.max(1) as f64).ln();
    let rank = |pattern: &ArrivalPattern| {
        (pattern.cell.collective != cell.collective, (size(pattern.cell) - size(cell)).abs())
    };
    let fitting = patterns.iter().filter(|pattern| pattern.cell.ranks == cell.ranks && !pattern.calls.is_empty());
    fitting.min_by(|a, b| {
        let ((a_other, a_far), (b_other, b_far)) = (rank(a), rank(b));
        a_other.cmp(&b_other).then(a_far.total_cmp(&b_far))
    })
}

/// The arrivals in their order, with no rank more than `longest` after the one before it.
pub fn shorten_gaps(arrivals: &[Seconds], longest: Seconds) -> Vec<Seconds> {
    let mut order: Vec<usize> = (0..arrivals.len()).collect();
    order.sort_by(|a, b| arrivals[*a].0.total_cmp(&arrivals[*b].0));
    let mut shortened = arrivals.to_vec();
    for pair in order.windows(2) {
        let gap = arrivals[pair[1]].0 - arrivals[pair[0]].0;
        shortened[pair[1]] = Seconds(shortened[pair[0]].0 + gap.min(longest.0));
    }
    shortened
}

#[cfg(test)]
mod tests {
    use collrules_rules::Collective;

    use super::*;
    use crate::units::{Bytes, Ranks};

    #[test]
    fn only_rooted_collectives_have_another_root() {
        let root = |condition: Condition, collective| condition.change(Arguments::default(), collective, 7).root;
        let last = Condition { root: Root::Last, ..Condition::default() };
        assert_eq!((root(last, Collective::Bcast), root(last, Collective::Exscan)), (7, 0));
        assert_eq!(root(Condition::default(), Collective::Bcast), 0);
    }

    #[test]
    fn a_condition_is_tried_where_it_changes_the_calls() {
        let decided = Condition::OF_PROGRAMS;
        let tried = |collective| {
            let others = decided.others().into_iter().filter(|other| other.differs_for(decided, collective));
            others.map(|other| other.to_string()).collect::<Vec<_>>()
        };
        let (warm, late) = ("with the same buffers in each call", "with one rank late by half a call");
        assert_eq!(tried(Collective::Barrier), [late]);
        assert_eq!(tried(Collective::Bcast), [warm, "with the last rank as the root", late]);
        assert_eq!(tried(Collective::Allreduce), [warm, late, "in place"]);
        let late = Condition { arrival: Arrival::First, ..decided };
        assert!(late.others().iter().all(|other| *other != late && other.differs_for(late, Collective::Reduce)));
    }

    fn pattern(collective: Collective, ranks: u32, bytes: u64) -> ArrivalPattern {
        let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        ArrivalPattern { cell, calls: vec![vec![Seconds(0.0); ranks as usize]] }
    }

    #[test]
    fn the_nearest_calls_on_as_many_ranks_are_the_pattern() {
        let patterns = [
            pattern(Collective::Bcast, 8, 64),
            pattern(Collective::Bcast, 8, 4096),
            pattern(Collective::Allreduce, 8, 1 << 20),
            pattern(Collective::Bcast, 4, 1 << 20),
        ];
        let found = |collective, ranks, bytes| {
            let cell = pattern(collective, ranks, bytes).cell;
            find_pattern(&patterns, cell).map(|pattern| (pattern.cell.collective, pattern.cell.bytes.0))
        };
        assert_eq!(found(Collective::Bcast, 8, 1 << 20), Some((Collective::Bcast, 4096)));
        assert_eq!(found(Collective::Bcast, 8, 128), Some((Collective::Bcast, 64)));
        assert_eq!(found(Collective::Barrier, 8, 0), Some((Collective::Bcast, 64)), "not called: as at other calls");
        assert_eq!(found(Collective::Bcast, 2, 64), None);
    }

    #[test]
    fn ranks_arrive_in_their_order_without_long_gaps() {
        let arrivals = [0.5, 0.0, 0.001, 0.7].map(Seconds);
        let shortened = shorten_gaps(&arrivals, Seconds(0.01));
        for (found, expected) in shortened.iter().zip([0.011, 0.0, 0.001, 0.021]) {
            assert!((found.0 - expected).abs() < 1e-12, "{shortened:?}");
        }
        assert_eq!(shorten_gaps(&arrivals, Seconds(1.0)), arrivals);
    }
}
