//! Injected faults, for tests.
//!
//! `collrules-worker --fault "KIND PHASE COLLECTIVE RANKS BYTES CANDIDATE"`, any number of times: crash, exit, hang or
//! give a wrong result when a candidate is checked or timed; `skip:N` leaves the call N of a mock-up out, from 0 on, on
//! all ranks, where it is checked; `poll` uses a processor while the job sleeps between its turns. `*` stands for any value. Rank 1 fails, so that the others are left in a call that
//! never ends. Without the option the cost is one check of an empty list, outside of timed code.

use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

/// The rank that fails.
const RANK: u32 = 1;

/// Phase in which a fault occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Before the checked call.
    Check,
    /// Before any other call.
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InjectedFaultKind {
    Crash,
    Exit,
    Hang,
    Wrong,
    /// Uses a processor between turns.
    Poll,
    /// Omits a call of a mock-up.
    #[serde(skip)]
    Skip(usize),
}

/// A fault, with its target as text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InjectedFault {
    kind: InjectedFaultKind,
    phase: Phase,
    /// Collective, ranks, bytes and candidate.
    target: [String; 4],
}

/// The faults of this worker; none without arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults(Vec<InjectedFault>);

impl Faults {
    /// Reads the arguments of the program, all of which are faults.
    pub(crate) fn of_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut faults = Vec::new();
        while let Some(argument) = arguments.next() {
            match (argument.as_str(), arguments.next()) {
                ("--fault", Some(fault)) => faults.push(InjectedFault::read(&fault)?),
                _ => return Err(format!("`{argument}` is not understood; this program is started by collrules")),
            }
        }
        Ok(Self(faults))
    }

    /// Fails if a fault is meant for this call; returns true if its result should be treated as wrong. `words` are the four that
    /// name the call in the samples.
    pub(crate) fn strike(&self, phase: Phase, rank: u32, words: impl Fn() -> [String; 4]) -> bool {
        let is_meant = |fault: &&InjectedFault| rank == RANK && fault.phase == phase && fault.hits(&words());
        let Some(fault) = self.0.iter().find(is_meant) else { return false };
        match fault.kind {
            InjectedFaultKind::Crash => std::process::abort(),
            InjectedFaultKind::Exit => std::process::exit(3),
            InjectedFaultKind::Hang => loop {
                thread::sleep(Duration::from_secs(3600));
            },
            InjectedFaultKind::Wrong => true,
            InjectedFaultKind::Skip(_) | InjectedFaultKind::Poll => false,
        }
    }

    /// Uses a processor from now on, if that is a fault of this rank.
    pub(crate) fn poll(&self, rank: u32) {
        if rank == RANK && self.0.iter().any(|fault| fault.kind == InjectedFaultKind::Poll) {
            thread::spawn(|| {
                loop {
                    std::hint::spin_loop();
                }
            });
        }
    }

    /// The call of a mock-up that all ranks omit in its check: if only one did, the others would wait for it.
    pub(crate) fn skipped(&self, words: impl Fn() -> [String; 4]) -> Option<usize> {
        self.0.iter().filter(|fault| fault.hits(&words())).find_map(|fault| match fault.kind {
            InjectedFaultKind::Skip(call) => Some(call),
            _ => None,
        })
    }
}

impl InjectedFault {
    fn hits(&self, words: &[String; 4]) -> bool {
        self.target.iter().zip(words).all(|(own, word)| own == "*" || own == word)
    }

    fn read(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[kind, phase, collective, ranks, bytes, candidate] = words.as_slice() else {
            return Err(format!("`{text}` is no fault; write KIND PHASE COLLECTIVE RANKS BYTES CANDIDATE"));
        };
        let kind = match kind.strip_prefix("skip:") {
            Some(call) => InjectedFaultKind::Skip(call.parse().map_err(|_| format!("`{kind}` names no call"))?),
            None => parse_word(kind)?,
        };
        let phase = parse_word(phase)?;
        Ok(Self { kind, phase, target: [collective, ranks, bytes, candidate].map(str::to_owned) })
    }
}

fn parse_word<'de, T: Deserialize<'de>>(word: &'de str) -> Result<T, String> {
    T::deserialize(word.into_deserializer()).map_err(|error: Error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_where_they_are_meant_to() {
        let arguments = ["--fault", "wrong check bcast 4 * tuned:3/0/0/0"].map(str::to_owned);
        let faults = Faults::of_arguments(arguments.into_iter()).expect("reads");
        let call = |ranks: &str, candidate: &str| ["bcast", ranks, "64", candidate].map(str::to_owned);
        let third = || call("4", "tuned:3/0/0/0");
        assert!(faults.strike(Phase::Check, RANK, third));
        assert!(!faults.strike(Phase::Time, RANK, third));
        assert!(!faults.strike(Phase::Check, 0, third));
        assert!(!faults.strike(Phase::Check, RANK, || call("4", "builtin")));
        assert!(!faults.strike(Phase::Check, RANK, || call("2", "tuned:3/0/0/0")));
        assert_eq!(Faults::of_arguments(std::iter::empty()), Ok(Faults::default()));
        for bad in [&["--fault"][..], &["x", "y"], &["--fault", "crash now bcast 4 * builtin"]] {
            assert!(Faults::of_arguments(bad.iter().map(|word| (*word).to_owned())).is_err(), "{bad:?}");
        }
    }
}
