//! Groups of ranks that read the same clock.
//!
//! Ranks of one host do, unless a container gives them a clock of their own. So ranks with one clock must have equal
//! names of host and clock, and pass a test: each reading of one lies between the start and the end of a round trip on
//! the other.

use std::collections::BTreeMap;
use std::fs;

use mpi::Rank;
use mpi::topology::SimpleCommunicator;

use super::ClockConversion;
use super::pingpong::{answer, ask, quickest};
use crate::control::Control;

/// Number of exchanges between a rank and the one that seems to have the same clock.
const EXCHANGES: usize = 20;

/// For every rank, the first rank that reads the same clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Domains {
    leaders: Vec<Rank>,
}

impl Domains {
    /// Finds the clocks, with all ranks; with `separate`, every rank is treated as having its own clock. Rank 0 also
    /// gets the largest error of a ping-pong between ranks that share a clock, in nanoseconds.
    pub(crate) fn find(control: &Control, comm: &SimpleCommunicator, separate: bool) -> (Self, Option<f64>) {
        let names = control.gather(control.ranks(), clock_name());
        let seeming = control.broadcast(control.is_root().then(|| leaders(&names)));
        let rank = control.rank() as Rank;
        let leader = seeming[rank as usize];
        let mut mine = (true, None);
        if leader == rank {
            let line = ClockConversion::default();
            let members = (0..).zip(&seeming).filter(|(member, leader)| **leader == rank && *member != rank);
            members.for_each(|(member, _)| answer(comm, member, EXCHANGES, &line));
        } else {
            let exchanges = ask(comm, leader, EXCHANGES);
            let error = quickest(&exchanges).map(|best| best.offset().abs());
            mine = (exchanges.iter().all(|exchange| exchange.may_be_one_clock()), error);
        }
        let found = control.gather(control.ranks(), mine);
        let shared = found.iter().filter(|(shared, _)| *shared);
        let known_error = shared.filter_map(|(_, error)| *error).max_by(f64::total_cmp);
        let leaders = control.broadcast(control.is_root().then(|| {
            let settled = (0..).zip(seeming.iter().zip(&found));
            settled
                .map(|(rank, (leader, (shared, _)))| if *shared && !separate { *leader } else { rank })
                .collect::<Vec<Rank>>()
        }));
        (Self { leaders }, known_error)
    }

    /// The first rank of each clock, in rank order; the first is rank 0.
    pub(crate) fn leaders(&self) -> Vec<Rank> {
        (0..).zip(&self.leaders).filter(|(rank, leader)| rank == *leader).map(|(rank, _)| rank).collect()
    }

    /// The first rank with the same clock.
    pub(crate) fn leader(&self, rank: Rank) -> Rank {
        self.leaders[rank as usize]
    }

    /// The other ranks with the clock of a leader.
    pub(crate) fn followers(&self, leader: Rank) -> impl Iterator<Item = Rank> {
        (0..).zip(&self.leaders).filter(move |(rank, of)| **of == leader && *rank != leader).map(|(rank, _)| rank)
    }
}

/// Returns the name that identifies the clock of a host or container: the boot of the kernel, and the time namespace.
fn clock_name() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    // Kernels before 5.6 have no time namespaces.
    let namespace = fs::read_link("/proc/self/ns/time").map(|name| name.display().to_string()).unwrap_or_default();
    Some(format!("{} {namespace}", boot.trim()))
}

/// For each rank, the first rank with its name; ranks without a name are alone.
fn leaders(names: &[Option<String>]) -> Vec<Rank> {
    let mut first: BTreeMap<&String, Rank> = BTreeMap::new();
    let named = (0..).zip(names);
    named.map(|(rank, name)| name.as_ref().map_or(rank, |name| *first.entry(name).or_insert(rank))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_name_have_its_first_for_leader() {
        let names = ["a", "b", "a", "", "b", ""].map(|name| (!name.is_empty()).then(|| name.to_owned()));
        let domains = Domains { leaders: leaders(&names) };
        assert_eq!(domains.leaders, [0, 1, 0, 3, 1, 5]);
        assert_eq!(domains.leaders(), [0, 1, 3, 5]);
        assert_eq!(domains.followers(1).collect::<Vec<_>>(), [4]);
        assert_eq!(domains.leader(2), 0);
    }
}
