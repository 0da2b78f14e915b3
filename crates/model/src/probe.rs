//! Probes: what is timed to find the parameters of a model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use collrules_program::{Program, late_receive, one_to_two, ping_pong, train};
use collrules_record::Pattern;
use collrules_record::estimate::median;
use collrules_record::pattern::Shape;
use collrules_record::sample::PatternSample;

/// Messages of the ranks of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeKind {
    /// The first sends to the second, which answers.
    PingPong,
    /// The first sends to the second, which does not answer, then to the third, which does.
    OneToTwo,
    /// The first sends several messages to the second, which answers the last; between two messages it is busy for
    /// `delay`.
    Train {
        /// Number of messages.
        messages: u32,
        /// Time that the sender is busy after each message but the last, in nanoseconds.
        delay: u64,
    },
    /// The second sends to the first, which is busy for `delay` before it receives; the time is that of receiving
    /// alone.
    Receive {
        /// Time that the receiver is busy, in nanoseconds.
        delay: u64,
    },
}

/// A text that names no probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no probe; known are pingpong, one-to-two, train:MESSAGES, train:MESSAGES:NANOSECONDS and \
     receive:NANOSECONDS"
)]
pub struct BadProbeKind(String);

impl fmt::Display for ProbeKind {
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

impl FromStr for ProbeKind {
    type Err = BadProbeKind;

    fn from_str(text: &str) -> Result<Self, BadProbeKind> {
        let bad = || BadProbeKind(text.to_owned());
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

impl ProbeKind {
    /// Returns the number of ranks that take part.
    pub fn ranks(self) -> usize {
        if self == Self::OneToTwo { 3 } else { 2 }
    }

    /// The programs of all ranks of a job, of which these take part in the probe.
    pub fn programs(self, ranks: &[u32], there: u64, back: u64, all: usize) -> Vec<Program> {
        let parts = match self {
            Self::PingPong => ping_pong(there, back),
            Self::OneToTwo => one_to_two(there, back),
            Self::Train { messages, delay } => train(there, back, messages, delay),
            Self::Receive { delay } => late_receive(there, delay),
        };
        let mut programs = vec![Program::default(); all];
        for (rank, part) in ranks.iter().zip(parts) {
            programs[*rank as usize] = part.rename(|part| ranks[part as usize]);
        }
        programs
    }
}

/// One timing of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeTiming {
    /// Probe that was timed.
    pub probe: Probe,
    /// The launch, from 0.
    pub launch: u32,
    /// Time of the first rank.
    pub seconds: f64,
}

impl ProbeTiming {
    /// The timing of a pattern; none if the pattern is no probe.
    pub fn of_pattern(sample: &PatternSample) -> Option<Self> {
        let there = sample.pattern.bytes.0;
        let (kind, back) = match sample.pattern.shape {
            Shape::PingPong => (ProbeKind::PingPong, there),
            Shape::Ping => (ProbeKind::PingPong, 0),
            Shape::OneToTwo => (ProbeKind::OneToTwo, 0),
            Shape::Train => (ProbeKind::Train { messages: Pattern::TRAIN, delay: 0 }, 0),
            Shape::BusyTrain => (ProbeKind::Train { messages: Pattern::TRAIN, delay: Pattern::BUSY }, 0),
            Shape::LateReceive => (ProbeKind::Receive { delay: Pattern::BUSY }, 0),
            Shape::Rotation | Shape::ReduceLocal => return None,
        };
        let probe = Probe { kind, ranks: sample.cast.ranks().to_vec(), there, back };
        // What was timed of a late receive begins before its rank is busy.
        let before = if let ProbeKind::Receive { delay } = kind { delay as f64 * 1e-9 } else { 0.0 };
        Some(Self { probe, launch: sample.launch, seconds: (sample.max.0 - before).max(0.0) })
    }
}

/// A probe: its messages, and the ranks that take part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probe {
    /// Messages that are sent.
    pub kind: ProbeKind,
    /// Ranks that send them.
    pub ranks: Vec<u32>,
    /// Bytes of each message of the first rank; of the second for [`ProbeKind::Receive`].
    pub there: u64,
    /// Bytes of the answer.
    pub back: u64,
}

impl Probe {
    /// Returns true if it is a round trip with this many bytes each way.
    pub(crate) fn is_round_trip_of(&self, bytes: u64) -> bool {
        self.kind == ProbeKind::PingPong && self.there == bytes && self.back == bytes
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
    /// Collects the medians of timings, which have to be positive numbers.
    pub fn from_timings(timings: impl IntoIterator<Item = ProbeTiming>, hosts: BTreeMap<u32, String>) -> Self {
        let mut all: BTreeMap<u32, BTreeMap<Probe, Vec<f64>>> = BTreeMap::new();
        for ProbeTiming { probe, launch, seconds } in timings {
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

    /// The ranks that take part in any probe.
    pub fn ranks(&self) -> BTreeSet<u32> {
        self.all().into_iter().flat_map(|probe| probe.ranks.iter().copied()).collect()
    }

    /// Returns true if two ranks share a host. Ranks with an unknown host are on hosts of their own.
    pub fn share_host(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.hosts.get(&a), self.hosts.get(&b));
        a.is_some() && a == b
    }

    /// The round trip of a pair in a launch, with this many bytes each way, whichever rank began.
    pub fn round_trip(&self, launch: u32, a: u32, b: u32, there: u64, back: u64) -> Option<f64> {
        let one = |first, second| {
            self.time(launch, &Probe { kind: ProbeKind::PingPong, ranks: vec![first, second], there, back })
        };
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
            assert_eq!(text.parse::<ProbeKind>().map(|kind| kind.to_string()), Ok(text.to_owned()));
        }
        for bad in ["", "train", "train:0", "train:1:2:3", "receive", "pingpong:1", "train:99999999999"] {
            assert!(bad.parse::<ProbeKind>().is_err(), "{bad}");
        }
    }
}
