//! Offset of another rank's clock, from the quickest of several questions and answers.

use mpi::Rank;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};

use super::{ClockConversion, now};

const QUESTION: mpi::Tag = 11;
const ANSWER: mpi::Tag = 12;

/// A question and its answer, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Time of the question, on the clock of the rank that asks.
    pub(crate) asked: i64,
    /// Time of the answer, on the clock of the rank that answers.
    pub(crate) answered: i64,
    /// Arrival of the answer, on the clock of the rank that asks.
    pub(crate) heard: i64,
}

impl Exchange {
    /// Returns the duration of the exchange.
    pub(crate) fn round_trip(&self) -> i64 {
        self.heard - self.asked
    }

    /// Returns the lead of the other clock if both ways take the same time; off by half the round trip at most.
    pub(crate) fn offset(&self) -> f64 {
        self.answered as f64 - (self.asked as f64 + self.round_trip() as f64 / 2.0)
    }

    /// Returns the middle of the exchange on the clock of the rank that asks.
    pub(crate) fn middle(&self) -> i64 {
        self.asked + self.round_trip() / 2
    }

    /// Returns true if both clocks may be one: the answer lies between the question and its arrival.
    pub(crate) fn may_be_one_clock(&self) -> bool {
        (self.asked..=self.heard).contains(&self.answered)
    }
}

/// Returns the quickest exchange: delayed messages make others longer, and less accurate.
pub(crate) fn quickest(exchanges: &[Exchange]) -> Option<Exchange> {
    exchanges.iter().copied().min_by_key(Exchange::round_trip)
}

/// Asks a rank so many times; the readings here are local.
pub(crate) fn ask(comm: &SimpleCommunicator, other: Rank, times: usize) -> Vec<Exchange> {
    let other = comm.process_at_rank(other);
    let exchange = |_| {
        let asked = now();
        other.send_with_tag(&0u8, QUESTION);
        let (answered, _) = other.receive_with_tag::<i64>(ANSWER);
        Exchange { asked, answered, heard: now() }
    };
    (0..times).map(exchange).collect()
}

/// Answers a rank as often, with readings of the common clock.
pub(crate) fn answer(comm: &SimpleCommunicator, other: Rank, times: usize, line: &ClockConversion) {
    let other = comm.process_at_rank(other);
    for _ in 0..times {
        let _: (u8, _) = other.receive_with_tag(QUESTION);
        other.send_with_tag(&line.now(), ANSWER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_exchange_tells_the_offset() {
        // The other clock is 1000 ahead; one message of the first exchange was held up for 300.
        let slow = Exchange { asked: 0, answered: 1350, heard: 400 };
        let quick = Exchange { asked: 500, answered: 1550, heard: 600 };
        let best = quickest(&[slow, quick]).expect("there is one");
        assert_eq!((best, best.offset(), best.middle()), (quick, 1000.0, 550));
        assert_eq!(slow.offset(), 1150.0);
        assert!(!quick.may_be_one_clock());
        assert!(Exchange { asked: 5, answered: 7, heard: 9 }.may_be_one_clock());
    }
}
