//! Probes: what is timed to find the parameters of a model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use collrules_record::Pattern;
use collrules_record::estimate::median;
use collrules_record::pattern::Shape;
use collrules_record::sample::PatternSample;

use crate::play::Action;

/// What the ranks of a probe do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The first sends to the second, which answers.
    PingPong,
    /// The first sends to the second, which does not answer, then to the third, which does.
    OneToTwo,
    /// The first sends so many messages to the second, which answers the last; between two of them it is busy for so many
    /// nanoseconds.
    Train {
        /// How many messages.
        messages: u32,
        /// How long the sender is busy after each but the last, in nanoseconds.
        delay: u64,
    },
    /// The second sends to the first, which is busy for so many nanoseconds before it receives; its time is that of the
    /// receiving alone.
    Receive {
        /// How long, in nanoseconds.
        delay: u64,
    },
}

/// A text that names no probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no probe; known are pingpong, one-to-two, train:MESSAGES, train:MESSAGES:NANOSECONDS and receive:NANOSECONDS"
)]
pub struct BadKind(String);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PingPong => f.pad("pingpong"),
            Self::OneToTwo => f.pad("one-to-two"),
            Self::Train { messages, delay: 0 } => write!(f, "train:{messages}"),
            Self::Train { messages, delay } => write!(f, "train:{messages}:{delay}"),
            Self::Receive { delay } => write!(f, "receive:{delay}"),
        }
    }
}

impl FromStr for Kind {
    type Err = BadKind;

    fn from_str(text: &str) -> Result<Self, BadKind> {
        let bad = || BadKind(text.to_owned());
        let mut parts = text.trim().split(':');
        let name = parts.next().unwrap_or_default();
        let mut number = || parts.next().map(|part| part.parse::<u64>().map_err(|_| bad())).transpose();
        let kind = match name {
            "pingpong" => Self::PingPong,
            "one-to-two" => Self::OneToTwo,
            "train" => {
                let messages = number()?.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
                Self::Train { messages: messages.ok_or_else(bad)?, delay: number()?.unwrap_or(0) }
            }
            "receive" => Self::Receive { delay: number()?.ok_or_else(bad)? },
            _ => return Err(bad()),
        };
        if parts.next().is_some() { Err(bad()) } else { Ok(kind) }
    }
}

impl Kind {
    /// How many ranks take part.
    pub fn ranks(self) -> usize {
        if self == Self::OneToTwo { 3 } else { 2 }
    }

    /// What each rank does, in the order of the ranks of the probe.
    pub fn programs(self, ranks: &[u32], there: u64, back: u64, all: usize) -> Vec<Vec<Action>> {
        let mut programs = vec![Vec::new(); all];
        let (first, second) = (ranks[0], ranks[1]);
        let send = |to: u32, bytes: u64| Action::Send { to, bytes };
        let receive = |from: u32| Action::Receive { from };
        match self {
            Self::PingPong => {
                programs[first as usize] = vec![send(second, there), receive(second)];
                programs[second as usize] = vec![receive(first), send(first, back)];
            }
            Self::OneToTwo => {
                let third = ranks[2];
                programs[first as usize] = vec![send(second, there), send(third, there), receive(third)];
                programs[second as usize] = vec![receive(first)];
                programs[third as usize] = vec![receive(first), send(first, back)];
            }
            Self::Train { messages, delay } => {
                let busy = Action::Busy(delay as f64 * 1e-9);
                for message in 0..messages {
                    programs[first as usize].push(send(second, there));
                    if delay > 0 && message + 1 < messages {
                        programs[first as usize].push(busy);
                    }
                    programs[second as usize].push(receive(first));
                }
                programs[first as usize].push(receive(second));
                programs[second as usize].push(send(first, back));
            }
            Self::Receive { delay } => {
                programs[first as usize] = vec![Action::Busy(delay as f64 * 1e-9), receive(second)];
                programs[second as usize] = vec![send(first, there)];
            }
        }
        programs
    }
}

/// One timing of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// What was timed.
    pub probe: Probe,
    /// The launch, from 0.
    pub launch: u32,
    /// What the first rank took.
    pub seconds: f64,
}

impl Timing {
    /// The timing of a pattern; none where it is no probe.
    pub fn of_pattern(sample: &PatternSample) -> Option<Self> {
        let there = sample.pattern.bytes.0;
        let (kind, back) = match sample.pattern.shape {
            Shape::PingPong => (Kind::PingPong, there),
            Shape::Ping => (Kind::PingPong, 0),
            Shape::OneToTwo => (Kind::OneToTwo, 0),
            Shape::Train => (Kind::Train { messages: Pattern::TRAIN, delay: 0 }, 0),
            Shape::BusyTrain => (Kind::Train { messages: Pattern::TRAIN, delay: Pattern::BUSY }, 0),
            Shape::LateReceive => (Kind::Receive { delay: Pattern::BUSY }, 0),
            Shape::Rotation | Shape::ReduceLocal => return None,
        };
        let probe = Probe { kind, ranks: sample.cast.ranks().to_vec(), there, back };
        // What was timed of a late receive begins before its rank is busy.
        let before = if let Kind::Receive { delay } = kind { delay as f64 * 1e-9 } else { 0.0 };
        Some(Self { probe, launch: sample.launch, seconds: (sample.max.0 - before).max(0.0) })
    }
}

/// A probe: who does what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probe {
    /// What is done.
    pub kind: Kind,
    /// By whom.
    pub ranks: Vec<u32>,
    /// Bytes of each message of the first rank; of the second for [`Kind::Receive`].
    pub there: u64,
    /// Bytes of the answer.
    pub back: u64,
}

impl Probe {
    /// Whether it is a round trip with so many bytes each way.
    pub(crate) fn is_round_trip_of(&self, bytes: u64) -> bool {
        self.kind == Kind::PingPong && self.there == bytes && self.back == bytes
    }
}

/// The median of each probe in each launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    medians: BTreeMap<u32, BTreeMap<Probe, f64>>,
    /// The host of each rank, as far as it is known.
    pub hosts: BTreeMap<u32, String>,
}

impl Probes {
    /// Of timings, which have to be positive numbers.
    pub fn of(timings: impl IntoIterator<Item = Timing>, hosts: BTreeMap<u32, String>) -> Self {
        let mut all: BTreeMap<u32, BTreeMap<Probe, Vec<f64>>> = BTreeMap::new();
        for Timing { probe, launch, seconds } in timings {
            all.entry(launch).or_default().entry(probe).or_default().push(seconds);
        }
        let reduced = |timings: BTreeMap<Probe, Vec<f64>>| {
            timings.into_iter().filter_map(|(probe, mut times)| Some((probe, median(&mut times)?))).collect()
        };
        Self { medians: all.into_iter().map(|(launch, timings)| (launch, reduced(timings))).collect(), hosts }
    }

    /// The launches.
    pub fn launches(&self) -> impl Iterator<Item = u32> + '_ {
        self.medians.keys().copied()
    }

    /// The median time of a probe in a launch.
    pub fn time(&self, launch: u32, probe: &Probe) -> Option<f64> {
        self.medians.get(&launch)?.get(probe).copied()
    }

    /// The median times of a launch.
    pub fn of_launch(&self, launch: u32) -> impl Iterator<Item = (&Probe, f64)> + '_ {
        self.medians.get(&launch).into_iter().flatten().map(|(probe, time)| (probe, *time))
    }

    /// All probes that were timed.
    pub fn all(&self) -> BTreeSet<&Probe> {
        self.medians.values().flat_map(BTreeMap::keys).collect()
    }

    /// The ranks that take part in any.
    pub fn ranks(&self) -> BTreeSet<u32> {
        self.all().into_iter().flat_map(|probe| probe.ranks.iter().copied()).collect()
    }

    /// Whether two ranks share a host. Ranks of which no host is known are on hosts of their own.
    pub fn share_host(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.hosts.get(&a), self.hosts.get(&b));
        a.is_some() && a == b
    }

    /// The round trip of a pair in a launch, whichever of them began: with so many bytes each way.
    pub fn round_trip(&self, launch: u32, a: u32, b: u32, there: u64, back: u64) -> Option<f64> {
        let one =
            |first, second| self.time(launch, &Probe { kind: Kind::PingPong, ranks: vec![first, second], there, back });
        match (one(a, b), one(b, a)) {
            (Some(x), Some(y)) => Some(f64::midpoint(x, y)),
            (x, y) => x.or(y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_read_back() {
        let kinds = ["pingpong", "one-to-two", "train:10", "train:10:5000", "receive:7"];
        for text in kinds {
            assert_eq!(text.parse::<Kind>().map(|kind| kind.to_string()), Ok(text.to_owned()));
        }
        for bad in ["", "train", "train:0", "train:1:2:3", "receive", "pingpong:1", "train:99999999999"] {
            assert!(bad.parse::<Kind>().is_err(), "{bad}");
        }
    }
}
