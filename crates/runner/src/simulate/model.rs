//! What the simulated calls cost: the formulas of the algorithms, and what the builtin does.

use collrules_guidelines::{Seat, program};
use collrules_record::cell::type_size;
use collrules_record::mockup::{Mockup, Pattern};
use collrules_record::options::Scenario;
use collrules_record::{Candidate, Cast, Cell, Even, Pattern as TimedPattern};
use collrules_reference::{Machine, Reference, play};
use collrules_rules::{Choice, Collective};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::formulas::{
    BYTE_TIME, LATENCY, REDUCTION_TIME, algorithm_seconds, copy_seconds, message_seconds, reduction_seconds,
};
use super::han::Hosts;
use super::played::Modelled;

/// A cost model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(super) scenario: Scenario,
    /// What all times are multiplied by.
    slower: f64,
    /// Where ranks are.
    pub(super) hosts: Hosts,
    /// What calls are played on instead of going by formulas.
    pub(super) machine: Option<Modelled>,
}

/// What the builtin of a stale cluster does.
pub(super) fn stale(collective: Collective) -> Choice {
    match collective {
        Collective::Bcast => Choice::plain(6),
        _ => Choice::plain(1),
    }
}

impl Model {
    /// Standard deviation of the logarithm of a time that all candidates of a round share.
    pub(crate) const COMMON_NOISE: f64 = 0.05;
    /// Standard deviation of the logarithm of a time that is each call's own.
    pub(crate) const OWN_NOISE: f64 = 0.02;

    /// Standard deviation of the logarithm of what all calls of a launch share, where launches are what is compared.
    pub(crate) const LAUNCH_NOISE: f64 = 0.01;
    /// The same of what all calls of a cell share in a launch.
    pub(crate) const CELL_NOISE: f64 = 0.01;
    /// What the rules of `Scenario::Deceptive` cost.
    pub(crate) const LETDOWN: f64 = 1.5;
    /// The message bytes from which on they do.
    pub(crate) const LETDOWN_BYTES: u64 = 256 << 10;

    /// The model of a scenario.
    pub(super) fn new(scenario: Scenario, hosts: Hosts) -> Self {
        match scenario {
            Scenario::Slowed => Self { scenario: Scenario::Stale, slower: 1.25, hosts, machine: None },
            scenario => Self { scenario, slower: 1.0, hosts, machine: None },
        }
    }

    /// The same on a machine that plays what it can.
    pub(super) fn on(self, machine: Modelled) -> Self {
        Self { machine: Some(machine), ..self }
    }

    /// The time without noise, in seconds.
    pub(crate) fn seconds(&self, cell: Cell, candidate: Candidate) -> f64 {
        self.slower * self.seconds_of(cell, candidate)
    }

    fn seconds_of(&self, cell: Cell, candidate: Candidate) -> f64 {
        let stale = stale(cell.collective);
        if let Some(machine) = self.machine.as_ref().filter(|_| !matches!(candidate, Candidate::Mockup(_))) {
            // What cannot be played was refused before the launch began.
            return machine.seconds(cell, candidate).unwrap_or(f64::INFINITY);
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
            (Scenario::Perfect, _) => best_seconds(cell),
            (Scenario::Stale | Scenario::Slowed | Scenario::Deceptive | Scenario::Han, _) => {
                algorithm_seconds(cell, stale)
            }
        }
    }

    /// The same of a mock-up whose inner calls take these times.
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

    /// The time of a pattern without noise, in seconds. By formulas every rank is a host of its own, and all are alike.
    pub(crate) fn pattern_seconds(&self, pattern: TimedPattern, cast: &Cast) -> f64 {
        if let Some(machine) = &self.machine {
            return machine.pattern_seconds(pattern, cast).unwrap_or(f64::INFINITY);
        }
        let times = pattern.script().and_then(|script| play(&script, machine(pattern.type_size()), &mut |_| ()).ok());
        times.map_or(f64::INFINITY, |times| match pattern.timed_part() {
            Some(part) => times[part as usize],
            None => times.into_iter().fold(0.0, f64::max),
        })
    }

    /// The time without noise where a rules file in force makes this choice, in seconds.
    pub(crate) fn deployed_seconds(&self, cell: Cell, choice: Choice) -> f64 {
        let deceived = self.scenario == Scenario::Deceptive
            && cell.collective == Collective::Bcast
            && cell.bytes.0 >= Self::LETDOWN_BYTES
            && !choice.is_builtin();
        if deceived {
            Self::LETDOWN * self.seconds(cell, Candidate::Builtin)
        } else {
            self.seconds(cell, Candidate::of(choice))
        }
    }
}

/// What the inner calls cost together, and the copies. The rank with the most to copy counts: the root, or another.
fn mockup_seconds((cell, even): (Cell, Option<Even>), mockup: Mockup, inner: &dyn Fn(Cell) -> f64) -> f64 {
    let of_rank = |rank: usize| {
        let seat = Seat::of(cell, rank, even);
        let program = program(mockup, seat)?;
        let calls = program.calls().map(|(on, call, from, to)| {
            let Some((ranks, _)) = seat.seat_in(on) else { return 0.0 };
            call.cell(from, to, ranks).map_or_else(|| message_seconds(to.len), inner)
        });
        let calls: f64 = calls.sum();
        Some(calls + copy_seconds(program.copied()) + reduction_seconds(program.combined()))
    };
    let all = [0, cell.ranks.0.saturating_sub(1) as usize].into_iter().filter_map(of_rank);
    // The grid plans no other.
    all.reduce(f64::max).unwrap_or(f64::INFINITY)
}

/// The message bytes from which on, in `Scenario::Planted`, bcast is beaten.
const PLANTED_BCAST: u64 = 256 << 10;
/// The message bytes up to which allreduce is.
const PLANTED_ALLREDUCE: u64 = 64;

/// What a candidate takes of the builtin's time in `Scenario::Planted`.
fn planted(cell: Cell, candidate: Candidate) -> f64 {
    let bcast = cell.collective == Collective::Bcast && cell.bytes.0 >= PLANTED_BCAST;
    let allreduce = cell.collective == Collective::Allreduce && cell.bytes.0 <= PLANTED_ALLREDUCE;
    match candidate {
        Candidate::Mockup(Mockup::Pattern(Pattern::ScatterAllgather)) if bcast => 2.0 / 3.0,
        Candidate::Tuned(choice) if bcast && choice.algorithm == 8 => 2.0 / 3.0,
        Candidate::Mockup(Mockup::Pattern(Pattern::ReduceBcast)) if allreduce => 0.5,
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

/// What a candidate takes of the builtin's time in `Scenario::Arranged`, by whether some node has several ranks.
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

/// The time of a reference algorithm, played event by event; infinite where there is none.
fn played_seconds(cell: Cell, reference: Reference) -> f64 {
    let machine = machine(type_size(cell.collective));
    let times = cell.script(reference).and_then(|script| play(&script, machine, &mut |_| ()).ok());
    times.map_or(f64::INFINITY, |times| times.into_iter().fold(0.0, f64::max))
}

/// The simulated machine, for elements of so many bytes.
fn machine(element: u64) -> Machine {
    let element = element as f64;
    Machine { latency: LATENCY, transfer: BYTE_TIME * element, operation: REDUCTION_TIME * element }
}

/// The time of the best choice that a default grid contains, if not of a better one.
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
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Release;

    use super::*;

    #[test]
    fn nothing_beats_a_perfect_builtin() {
        let model = Model::new(Scenario::Perfect, Hosts::new(Scenario::Perfect, Release::V5_0, 8, 1));
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
