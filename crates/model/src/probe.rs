//! Probes: the patterns that are timed to find the parameters of a model.

use std::collections::{BTreeMap, BTreeSet};

use collrules_program::Program;
use collrules_record::estimate::medians;
use collrules_record::pattern::Shape;
use collrules_record::sample::PatternSample;
use collrules_record::{Bytes, Cast, Pattern, Ranks, Seconds};

/// A probe: its messages, and the ranks that take part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probe {
    /// Messages that are sent; an empty ping is an empty ping-pong.
    pub shape: Shape,
    /// Ranks that send them.
    pub ranks: Vec<u32>,
    /// Bytes of each message.
    pub bytes: u64,
}

impl Probe {
    /// The probe of a pattern; none if the pattern is no probe.
    pub fn new(pattern: Pattern, cast: &Cast) -> Option<Self> {
        pattern.timed_part()?;
        let Pattern { shape, bytes: Bytes(bytes), .. } = pattern;
        let shape = if (shape, bytes) == (Shape::Ping, 0) { Shape::PingPong } else { shape };
        Some(Self { shape, ranks: cast.ranks().to_vec(), bytes })
    }

    /// Returns true if an answer comes back from the receiver of all messages.
    pub(crate) fn is_round_trip(&self) -> bool {
        matches!(self.shape, Shape::PingPong | Shape::Ping)
    }

    /// The programs of all ranks of a job; none for too few or too many ranks of the probe.
    pub fn programs(&self, all: usize) -> Option<Vec<Program>> {
        let Self { shape, ref ranks, bytes } = *self;
        let pattern = Pattern { shape, ranks: Ranks(ranks.len() as u32), bytes: Bytes(bytes) };
        let mut programs = vec![Program::default(); all];
        for (rank, part) in ranks.iter().zip(pattern.programs()?) {
            programs[*rank as usize] = part.rename(|part| ranks[part as usize]);
        }
        Some(programs)
    }
}

/// One timing of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeTiming {
    /// Probe that was timed.
    pub probe: Probe,
    /// The launch, from 0.
    pub launch: u32,
    /// Time of the first rank, without that for which it is busy before it receives.
    pub seconds: f64,
}

impl ProbeTiming {
    /// The timing of a probe, as samples have it.
    pub fn new(probe: Probe, launch: u32, time: Seconds) -> Self {
        let before = if probe.shape == Shape::LateReceive { Pattern::BUSY as f64 * 1e-9 } else { 0.0 };
        Self { probe, launch, seconds: (time.0 - before).max(0.0) }
    }

    /// The timing of a pattern; none if the pattern is no probe.
    pub fn of_pattern(sample: &PatternSample) -> Option<Self> {
        Some(Self::new(Probe::new(sample.pattern, &sample.cast)?, sample.launch, sample.max))
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
        Self { medians: all.into_iter().map(|(launch, timings)| (launch, medians(timings).collect())).collect(), hosts }
    }

    /// The launches.
    pub fn launches(&self) -> impl Iterator<Item = u32> + '_ {
        self.medians.keys().copied()
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

    /// The round trip of a pair in a launch, with as many bytes back or, for a ping, none; whichever rank began.
    pub fn round_trip(&self, launch: u32, shape: Shape, (a, b): (u32, u32), bytes: u64) -> Option<f64> {
        let shape = if bytes == 0 { Shape::PingPong } else { shape };
        let timed = self.medians.get(&launch)?;
        let one = |ranks: [u32; 2]| timed.get(&Probe { shape, ranks: ranks.to_vec(), bytes }).copied();
        match (one([a, b]), one([b, a])) {
            (Some(x), Some(y)) => Some(f64::midpoint(x, y)),
            (x, y) => x.or(y),
        }
    }
}
