//! Costs of simulated calls: the formulas of the algorithms, and the choices of the builtin.

use std::collections::BTreeMap;
use std::sync::Arc;

use collrules_program::mockup::{Mockup, MockupPattern};
use collrules_program::{BufferPart, CollectiveCall, Costs, Machine, RankGroup, Reference, Seat, play};
use collrules_record::condition::{Arrival, BufferUse, Root, find_pattern};
use collrules_record::options::Scenario;
use collrules_record::{Bytes, Candidate, Cast, Cell, Even, Pattern, Ranks, Seconds};
use collrules_rules::{Choice, Collective};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::formulas::{BYTE_TIME, LATENCY, REDUCTION_TIME, algorithm_seconds};
use super::han::Hosts;
use super::machine::PlayedMachine;
use super::planted;
use crate::launch::LaunchPlan;

/// A cost model.
#[derive(Clone, Debug)]
pub(crate) struct CostModel {
    pub(super) scenario: Scenario,
    /// Factor on all times.
    slower: f64,
    /// Placement of the ranks.
    pub(super) hosts: Hosts,
    /// Machine on which calls are played instead of computed from formulas.
    pub(super) machine: Option<Arc<dyn PlayedMachine>>,
}

/// Returns the choice of the builtin on a stale cluster.
fn stale(collective: Collective) -> Choice {
    match collective {
        Collective::Bcast => Choice::plain(6),
        _ => Choice::plain(1),
    }
}

/// The choice that runs: that of a stale builtin if there is no other.
fn algorithm_that_runs(cell: Cell, choice: Option<Choice>) -> Choice {
    choice.filter(|choice| !choice.is_builtin()).unwrap_or(stale(cell.collective))
}

impl CostModel {
    /// Standard deviation of the logarithm of the noise that all candidates of a round share.
    pub(crate) const COMMON_NOISE: f64 = 0.05;
    /// Standard deviation of the logarithm of a single call's noise.
    pub(crate) const OWN_NOISE: f64 = 0.02;

    /// Standard deviation of the logarithm of the noise that all calls of a launch share, if launches are compared.
    pub(crate) const LAUNCH_NOISE: f64 = 0.01;
    /// Standard deviation of the logarithm of the noise that all calls of a cell share in a launch.
    pub(crate) const CELL_NOISE: f64 = 0.01;
    /// The algorithm of bcast that is slow in other calls than a benchmark's: scatter_allgather.
    pub(crate) const SLOW_IN_PROGRAMS: u32 = 8;
    /// Factor on the times of the rules of `Scenario::Deceptive`.
    pub(crate) const LETDOWN: f64 = 1.5;
    /// The message bytes from which the factor applies.
    pub(crate) const LETDOWN_BYTES: u64 = 256 << 10;

    /// The model of a scenario.
    pub(super) fn new(scenario: Scenario, hosts: Hosts) -> Self {
        match scenario {
            Scenario::Slowed => Self { scenario: Scenario::Stale, slower: 1.25, hosts, machine: None },
            scenario => Self { scenario, slower: 1.0, hosts, machine: None },
        }
    }

    /// Replaces the cost model by that of a machine, for the calls that the machine can simulate.
    pub(super) fn on(self, machine: Arc<dyn PlayedMachine>) -> Self {
        Self { machine: Some(machine), ..self }
    }

    /// The time without noise, in seconds.
    pub(crate) fn seconds(&self, cell: Cell, candidate: Candidate) -> f64 {
        self.slower * self.seconds_of(cell, candidate)
    }

    fn seconds_of(&self, cell: Cell, candidate: Candidate) -> f64 {
        let stale = stale(cell.collective);
        if self.machine.is_some() && !matches!(candidate, Candidate::Mockup(_)) {
            // What cannot be played was refused before the launch began.
            return self.machine_seconds(cell, candidate).unwrap_or(f64::INFINITY);
        }
        match (self.scenario, candidate) {
            (Scenario::Noise, _) => algorithm_seconds(cell, stale),
            (Scenario::Planted, _) => planted(cell, candidate) * algorithm_seconds(cell, stale),
            (Scenario::Arranged, _) => {
                let shared = self.hosts.nodes(cell.ranks).share();
                arranged(cell, candidate, shared) * algorithm_seconds(cell, stale)
            }
            (_, Candidate::Mockup(mockup)) => {
                mockup_seconds((cell, None), mockup, &|inner| self.seconds_of(inner, Candidate::Builtin))
            }
            (_, Candidate::Tuned(choice)) => algorithm_seconds(cell, choice),
            (_, Candidate::Reference(reference)) => played_seconds(cell, reference),
            // A rules file is asked for what it says before it comes to this.
            (Scenario::Fastest, _) => best_seconds(cell),
            (
                Scenario::Stale
                | Scenario::Slowed
                | Scenario::Deceptive
                | Scenario::Han
                | Scenario::Rooted
                | Scenario::Rotated
                | Scenario::Late
                | Scenario::Settings,
                _,
            ) => algorithm_seconds(cell, stale),
        }
    }

    /// The time of a call on the machine, in seconds; an error if its messages are unknown.
    pub(super) fn machine_seconds(&self, cell: Cell, candidate: Candidate) -> Result<f64, String> {
        match (candidate, &self.machine) {
            (Candidate::Reference(_), _) | (_, None) => {
                Err("reference algorithms have no messages of the model's kind".to_owned())
            }
            (_, Some(machine)) => machine.seconds(cell, algorithm_that_runs(cell, candidate.choice())),
        }
    }

    /// Returns the delay that the machine adds to a call with this choice, in seconds.
    pub(super) fn delay(
        &self,
        cell: Cell,
        candidate: Candidate,
        choice: &dyn Fn() -> Option<Choice>,
        rng: &mut ChaCha8Rng,
    ) -> f64 {
        let Some(machine) = &self.machine else { return 0.0 };
        // In pieces, each piece is a call of its own.
        let (calls, bytes) = match candidate {
            Candidate::Mockup(Mockup::Split { pieces, .. }) => (pieces, Bytes(cell.bytes.0.div_ceil(pieces.into()))),
            _ => (1, cell.bytes),
        };
        machine.delay(Cell { bytes, ..cell }, algorithm_that_runs(cell, choice()), calls, &mut || rng.random())
    }

    /// Returns the time without noise of a mock-up whose inner calls take these times.
    pub(crate) fn mockup_seconds(
        &self,
        (cell, even): (Cell, Option<Even>),
        mockup: Mockup,
        inner: &dyn Fn(Cell) -> f64,
    ) -> f64 {
        match self.scenario {
            Scenario::Noise | Scenario::Planted | Scenario::Arranged => self.seconds(cell, Candidate::Mockup(mockup)),
            _ => mockup_seconds((cell, even), mockup, inner),
        }
    }

    /// The time of a pattern without noise, in seconds. With formulas, every rank is on a host of its own, and all
    /// hosts are alike.
    pub(crate) fn pattern_seconds(&self, pattern: Pattern, cast: &Cast) -> f64 {
        if let Some(machine) = &self.machine {
            return machine.pattern_seconds(pattern, cast).unwrap_or(f64::INFINITY);
        }
        let times = pattern.programs().and_then(|programs| play(programs.as_slice(), &MACHINE).ok());
        times.map_or(f64::INFINITY, |times| match pattern.timed_part() {
            Some(part) => times[part as usize],
            None => times.into_iter().fold(0.0, f64::max),
        })
    }

    /// Factor of a launch's condition and settings on the time of a choice.
    pub(super) fn factor_under(
        &self,
        (plan, subject): (&LaunchPlan, usize),
        cell: Cell,
        choice: Option<Choice>,
        settings: &BTreeMap<String, String>,
    ) -> f64 {
        let condition = plan.condition(subject);
        let waits_for_others = |call: &Vec<Seconds>| call.iter().any(|arrival| call[0].0 < arrival.0);
        let is_other = match self.scenario {
            Scenario::Rooted => condition.root == Root::Last,
            Scenario::Rotated => condition.buffers != BufferUse::Reuse,
            Scenario::Settings => planted::copies_twice(settings) && cell.bytes.0 >= 1024,
            Scenario::Late => match condition.arrival {
                Arrival::None => false,
                Arrival::Profile => {
                    find_pattern(&plan.arrivals, cell).is_some_and(|it| it.calls.iter().all(waits_for_others))
                }
                Arrival::Random | Arrival::First | Arrival::Last => true,
            },
            _ => false,
        };
        let Some(choice) = choice.filter(|_| is_other) else { return 1.0 };
        match cell.collective {
            Collective::Bcast if choice.algorithm == Self::SLOW_IN_PROGRAMS => 4.0,
            // Its rules are up to seven times as fast as the stale default.
            Collective::Allreduce
                if self.scenario == Scenario::Rotated
                    && condition.buffers == BufferUse::InPlace
                    && !choice.is_builtin() =>
            {
                10.0
            }
            _ => 1.0,
        }
    }

    /// The time without noise if an active rules file makes this choice, in seconds.
    pub(crate) fn deployed_seconds(&self, cell: Cell, choice: Choice) -> f64 {
        let deceived = self.scenario == Scenario::Deceptive
            && cell.collective == Collective::Bcast
            && cell.bytes.0 >= Self::LETDOWN_BYTES
            && !choice.is_builtin();
        if deceived {
            Self::LETDOWN * self.seconds(cell, Candidate::Builtin)
        } else {
            self.seconds(cell, Candidate::from_choice(choice))
        }
    }
}

/// Time to copy a byte within a rank in seconds: 10 GB/s.
const COPY_TIME: f64 = 0.1e-9;

/// Costs of a mock-up on a rank whose inner calls take these times.
struct MockupCalls<'a> {
    seat: Seat,
    inner: &'a dyn Fn(Cell) -> f64,
}

impl Costs for MockupCalls<'_> {
    fn message(&self, bytes: u64) -> f64 {
        MACHINE.message(bytes)
    }

    fn operation(&self, bytes: u64) -> f64 {
        MACHINE.operation(bytes)
    }

    fn copy(&self, bytes: u64) -> f64 {
        COPY_TIME * bytes as f64
    }

    fn call(&self, on: RankGroup, call: &CollectiveCall, from: BufferPart, to: BufferPart) -> f64 {
        let Some((ranks, _)) = self.seat.seat_in(on) else { return 0.0 };
        let called = call.collective(from, to, ranks).map(|(collective, bytes)| Cell {
            collective,
            ranks: Ranks(ranks as u32),
            bytes: Bytes(bytes as u64),
        });
        called.map_or_else(|| MACHINE.message(to.len as u64), self.inner)
    }
}

/// The time of a mock-up. The rank with the most to copy counts: the root, or another.
fn mockup_seconds((cell, even): (Cell, Option<Even>), mockup: Mockup, inner: &dyn Fn(Cell) -> f64) -> f64 {
    let of_rank = |rank: usize| {
        let seat = cell.seat(rank, even);
        let alone = [mockup.program(seat)?];
        play(alone.as_slice(), &MockupCalls { seat, inner }).ok()?.first().copied()
    };
    let all = [0, cell.ranks.0.saturating_sub(1) as usize].into_iter().filter_map(of_rank);
    // The grid plans no other.
    all.reduce(f64::max).unwrap_or(f64::INFINITY)
}

/// The message bytes from which on mock-ups beat bcast in `Scenario::Planted`.
const PLANTED_BCAST: u64 = 256 << 10;
/// The message bytes up to which mock-ups beat allreduce.
const PLANTED_ALLREDUCE: u64 = 64;

/// Returns the time of a candidate over the builtin's in `Scenario::Planted`.
fn planted(cell: Cell, candidate: Candidate) -> f64 {
    let bcast = cell.collective == Collective::Bcast && cell.bytes.0 >= PLANTED_BCAST;
    let allreduce = cell.collective == Collective::Allreduce && cell.bytes.0 <= PLANTED_ALLREDUCE;
    match candidate {
        Candidate::Mockup(Mockup::Pattern(MockupPattern::ScatterAllgather)) if bcast => 2.0 / 3.0,
        Candidate::Tuned(choice) if bcast && choice.algorithm == 8 => 2.0 / 3.0,
        Candidate::Mockup(Mockup::Pattern(MockupPattern::ReduceBcast)) if allreduce => 0.5,
        Candidate::Mockup(_) => 1.2,
        Candidate::Tuned(_) => 1.1,
        Candidate::Builtin
        | Candidate::Component(_)
        | Candidate::Han(_)
        | Candidate::Rules
        | Candidate::Reference(_) => 1.0,
    }
}

/// The message bytes from which on, in `Scenario::Arranged`, the pipeline is faster in any layout.
const ANYWHERE: u64 = 256 << 10;
/// The message bytes from which on the chain does no harm with one rank per node.
const HARMLESS: u64 = 16 << 10;

/// Returns the time of a candidate over the builtin's in `Scenario::Arranged`; `shared` is true if some node has
/// several ranks.
fn arranged(cell: Cell, candidate: Candidate, shared: bool) -> f64 {
    const CHAIN: u32 = 2;
    const PIPELINE: u32 = 3;
    const BINARY: u32 = 5;
    const BINOMIAL: u32 = 6;
    let Candidate::Tuned(choice) = candidate else { return 1.0 };
    let either = |several: f64, one: f64| if shared { several } else { one };
    match (choice.algorithm, cell.bytes.0) {
        _ if cell.collective != Collective::Bcast => 1.1,
        (PIPELINE, ANYWHERE..) => 2.0 / 3.0,
        (CHAIN, HARMLESS..ANYWHERE) => either(0.6, 1.01),
        (BINARY, ..HARMLESS) => either(0.6, 1.5),
        (BINOMIAL, ..HARMLESS) => either(1.5, 0.6),
        _ => 1.1,
    }
}

/// The time of a reference algorithm, played event by event; infinite if there is none.
fn played_seconds(cell: Cell, reference: Reference) -> f64 {
    let times = cell.reference(reference).and_then(|algorithm| play(&algorithm, &MACHINE).ok());
    times.map_or(f64::INFINITY, |times| times.into_iter().fold(0.0, f64::max))
}

/// The simulated machine.
const MACHINE: Machine = Machine { latency: LATENCY, transfer: BYTE_TIME, operation: REDUCTION_TIME };

/// The time of the best choice in a default grid, if not of a better one.
fn best_seconds(cell: Cell) -> f64 {
    let segments = [0, 8 << 10, 64 << 10];
    let choices = (1..=9).flat_map(|id| {
        segments.into_iter().flat_map(move |segsize| {
            [0, 2, 4].map(|faninout| Choice::plain(id).with_segsize(segsize).with_faninout(faninout))
        })
    });
    choices.map(|choice| algorithm_seconds(cell, choice)).fold(f64::INFINITY, f64::min)
}

/// A standard normal variate.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}

#[cfg(test)]
mod tests {
    use collrules_rules::Release;

    use super::*;

    #[test]
    fn no_algorithm_beats_the_fastest() {
        let model = CostModel::new(Scenario::Fastest, Hosts::new(Scenario::Fastest, Release::V5_0, 8, 1));
        for collective in Collective::ALL {
            for (ranks, bytes) in [(2, 4), (5, 4096), (8, 1 << 20)] {
                let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
                let builtin = model.seconds(cell, Candidate::Builtin);
                for id in 1..10 {
                    let seconds = model.seconds(cell, Candidate::Tuned(Choice::plain(id).with_segsize(8 << 10)));
                    assert!(seconds >= builtin, "{cell}: {id}");
                }
            }
        }
    }
}
