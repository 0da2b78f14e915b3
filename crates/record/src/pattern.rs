//! Patterns: messages among a few ranks, or the operation alone, timed to find the parameters of a machine.
//!
//! No rule can choose a pattern, so it is no candidate of a cell, and rules, verdicts and tables ignore it. Runner and
//! worker treat cells and patterns alike, as the two kinds of [`Subject`].

use std::fmt;

use collrules_program::{Blocks, Program, late_receive, one_to_two, ping_pong, reduce_local, rotation, train};
use collrules_rules::{names, read_from_text, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::condition::Condition;
use crate::units::{Bytes, Ranks};

names! {
    /// Messages and operations of the ranks in a pattern.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Shape, read as "pattern" {
        /// The first rank sends to the second, which sends as much back.
        PingPong "pingpong",
        /// The first rank sends to the second, which answers with nothing.
        Ping "ping",
        /// The first rank sends to the second, which does not answer, then to the third, which answers with nothing.
        OneToTwo "one-to-two",
        /// The first rank sends ten messages in a row to the second, which answers the last with nothing.
        Train "train",
        /// A train whose sender computes for a while between two messages, so that only sending takes its time.
        BusyTrain "train-busy",
        /// The second rank sends to the first, which computes for a while before it receives, so that only receiving is
        /// left.
        LateReceive "receive-late",
        /// Every rank sends to the one before and receives from the one after.
        Rotation "rotation",
        /// Every rank applies the operation of reductions, and no rank sends anything.
        ReduceLocal "reduce-local",
    }
}

/// A shape with its number of ranks and its size; casts carry it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pattern {
    /// Shape: the messages and operations of the ranks.
    pub shape: Shape,
    /// Number of ranks that take part.
    pub ranks: Ranks,
    /// The bytes of a message, or those that the operation is applied to.
    pub bytes: Bytes,
}

/// The ranks of the job that take the parts of a pattern, in their order; written `0+4`, or `0-7` for all from 0 to 7.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cast(Vec<u32>);

/// A cell or pattern that is timed in a visit, with its candidates or casts side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A cell, with its candidates.
    Cell(Cell),
    /// A pattern, with its casts.
    Pattern(Pattern),
}

impl Pattern {
    /// Prefix of shapes in fields that may also hold names of collectives.
    pub const MARK: &'static str = "pattern:";

    /// The number of messages of a train.
    pub const TRAIN: u32 = 10;

    /// Time for which ranks compute in [`Shape::BusyTrain`] and [`Shape::LateReceive`], in nanoseconds: longer than a
    /// short message takes on a slow network.
    pub const BUSY: u64 = 1_000_000;

    /// The programs of its parts; none for too few ranks.
    pub fn programs(self) -> Option<Vec<Program>> {
        let bytes = self.bytes.0 / self.type_size() * self.type_size();
        match self.shape {
            Shape::PingPong => (self.ranks.0 == 2).then(|| ping_pong(bytes, bytes)),
            Shape::Ping => (self.ranks.0 == 2).then(|| ping_pong(bytes, 0)),
            Shape::OneToTwo => (self.ranks.0 == 3).then(|| one_to_two(bytes, 0)),
            Shape::Train => (self.ranks.0 == 2).then(|| train(bytes, 0, Self::TRAIN, 0)),
            Shape::BusyTrain => (self.ranks.0 == 2).then(|| train(bytes, 0, Self::TRAIN, Self::BUSY)),
            Shape::LateReceive => (self.ranks.0 == 2).then(|| late_receive(bytes, Self::BUSY)),
            Shape::Rotation => rotation(&Blocks::equal(bytes, self.ranks.0)),
            Shape::ReduceLocal => (self.ranks.0 >= 1).then(|| reduce_local(bytes, self.ranks.0)),
        }
    }

    /// The size in bytes of its elements: numbers if they are reduced, otherwise bytes.
    pub fn type_size(self) -> u64 {
        if self.shape == Shape::ReduceLocal { 4 } else { 1 }
    }

    /// The part whose time is that of the pattern; none if that is the slowest rank's.
    pub fn timed_part(self) -> Option<u32> {
        match self.shape {
            // It begins, and has the answer, or the message, in the end.
            Shape::PingPong | Shape::Ping | Shape::OneToTwo | Shape::Train | Shape::BusyTrain | Shape::LateReceive => {
                Some(0)
            }
            Shape::Rotation | Shape::ReduceLocal => None,
        }
    }
}

impl Cast {
    /// These ranks, in the order of their parts; none if a rank is repeated, or there is none.
    pub fn new(ranks: Vec<u32>) -> Option<Self> {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        sorted.dedup();
        (!ranks.is_empty() && sorted.len() == ranks.len()).then_some(Self(ranks))
    }

    /// The first ranks of the job, at least one.
    pub fn first(ranks: Ranks) -> Self {
        Self((0..ranks.0.max(1)).collect())
    }

    /// The ranks, in the order of their parts.
    pub fn ranks(&self) -> &[u32] {
        &self.0
    }

    /// The part of a rank, if any.
    pub fn part(&self, rank: u32) -> Option<usize> {
        self.0.iter().position(|other| *other == rank)
    }

    /// Returns true if all of them are on one host. `hosts` are those of the job's ranks.
    pub fn is_inside<H: PartialEq>(&self, hosts: &[H]) -> bool {
        let host = |rank: &u32| hosts.get(*rank as usize);
        self.0.iter().all(|rank| host(rank).is_some() && host(rank) == host(&self.0[0]))
    }
}

impl fmt::Display for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Three in a row and more: with two, the order of the parts is easier to see one by one.
        let rows: Vec<String> = self
            .0
            .chunk_by(|one, other| one + 1 == *other)
            .flat_map(|row| match row {
                [first, _, .., last] => vec![format!("{first}-{last}")],
                few => few.iter().map(u32::to_string).collect(),
            })
            .collect();
        f.pad(&rows.join("+"))
    }
}

impl Cast {
    fn read(text: &str) -> Option<Self> {
        /// The most ranks that a text may list: no job has more.
        const MOST: usize = 1 << 24;
        let mut ranks: Vec<u32> = Vec::new();
        for row in text.split('+') {
            let (first, last) = row.split_once('-').unwrap_or((row, row));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if last < first || (last - first) as usize >= MOST - ranks.len().min(MOST) {
                return None;
            }
            ranks.extend(first..=last);
        }
        Self::new(ranks)
    }
}

read_from_text!(Cast, "is not a list of distinct ranks; write 0+4, or 0-7 for all from 0 to 7");
stored_as_text!(Cast);

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} on {} ranks", self.shape, self.bytes, self.ranks)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell(cell) => cell.fmt(f),
            Self::Pattern(pattern) => pattern.fmt(f),
        }
    }
}

/// Calls, messages or a program by which arms are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmSubject {
    /// A collective, called in this way.
    Call(Cell, Condition),
    /// Messages without a collective, among these ranks.
    Messages(Pattern, Cast),
    /// A program as a whole.
    Program,
}

impl ArmSubject {
    /// The cell of a call.
    pub fn cell(&self) -> Option<Cell> {
        match self {
            Self::Call(cell, _) => Some(*cell),
            Self::Messages(..) | Self::Program => None,
        }
    }

    /// The condition of a call.
    pub fn condition(&self) -> Option<Condition> {
        match self {
            Self::Call(_, condition) => Some(*condition),
            Self::Messages(..) | Self::Program => None,
        }
    }
}

impl fmt::Display for ArmSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(cell, _) => cell.fmt(f),
            Self::Messages(pattern, cast) => write!(f, "{} of {} among ranks {cast}", pattern.shape, pattern.bytes),
            Self::Program => f.write_str("the program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_read_back() {
        for (text, ranks) in [("0+1", vec![0, 1]), ("5+0", vec![5, 0]), ("0-3", vec![0, 1, 2, 3]), ("7", vec![7])] {
            let cast: Cast = text.parse().expect("names ranks");
            assert_eq!((cast.ranks(), cast.to_string().as_str()), (ranks.as_slice(), text));
        }
        assert_eq!("4+0-2+9".parse::<Cast>().map(|cast| cast.to_string()), Ok("4+0-2+9".to_owned()));
        for bad in ["", "0+", "1+1", "3-1", "0-4294967295", "a", "-1"] {
            assert!(bad.parse::<Cast>().is_err(), "{bad}");
        }
    }

    #[test]
    fn casts_know_whether_they_share_a_host() {
        let hosts = ["a", "a", "b"];
        let inside = |text: &str| text.parse::<Cast>().map(|cast| cast.is_inside(&hosts));
        assert_eq!([inside("0+1"), inside("0+2"), inside("2"), inside("0+7")], [true, false, true, false].map(Ok));
    }

    #[test]
    fn every_shape_has_programs_for_its_ranks() {
        for shape in Shape::ALL {
            let ranks = match shape {
                Shape::PingPong | Shape::Ping | Shape::Train | Shape::BusyTrain | Shape::LateReceive => 2,
                Shape::OneToTwo => 3,
                Shape::Rotation | Shape::ReduceLocal => 5,
            };
            let pattern = Pattern { shape, ranks: Ranks(ranks), bytes: Bytes(64) };
            let programs = pattern.programs().expect("there are some");
            assert_eq!(programs.len(), ranks as usize, "{pattern}");
            assert!(pattern.timed_part().is_none_or(|part| part < ranks));
        }
        assert_eq!(Pattern { shape: Shape::PingPong, ranks: Ranks(3), bytes: Bytes(1) }.programs(), None);
    }
}
