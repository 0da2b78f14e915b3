//! Tests with tables of the specification as fixtures, and properties of all files.

mod classic;
mod json;
mod properties;

use super::*;
use crate::call::Distribution;
use crate::collective::Collective;
use crate::release::Release;
use crate::units::Ranks;

fn version(text: &str) -> Behaviour {
    text.parse().expect("a known version")
}

/// Reads a text as a version that must accept it.
fn accepted(text: impl AsRef<[u8]>, by: &str) -> Loaded {
    match load(text.as_ref(), &version(by)) {
        Ok(loaded) => loaded,
        other => panic!("{by} on {}: {other:?}", text.as_ref().escape_ascii()),
    }
}

fn rejected(text: impl AsRef<[u8]>, by: &str) -> Fault {
    match load(text.as_ref(), &version(by)) {
        Err(rejection) if !rejection.kind.crashes() => rejection,
        other => panic!("{by} on {}: {other:?}", text.as_ref().escape_ascii()),
    }
}

fn crashes(text: impl AsRef<[u8]>) -> Fault {
    match load(text.as_ref(), &version("6.0")) {
        Err(crash) if crash.kind.crashes() => crash,
        other => panic!("{}: {other:?}", text.as_ref().escape_ascii()),
    }
}

/// Looks up the rule for a collective, a number of ranks and lookup bytes.
fn look_up(loaded: &Loaded, collective: Collective, ranks: u32, bytes: u64) -> Lookup {
    loaded.lookup_by_size(collective, Ranks(ranks), bytes, Distribution::Any)
}

/// Returns the algorithm of the rule that applies, by number; none without a rule.
fn algorithm(loaded: &Loaded, ranks: u32, bytes: u64) -> Option<u32> {
    let lookup = look_up(loaded, Collective::Bcast, ranks, bytes);
    lookup.rule.map(|_| lookup.choice.algorithm)
}

const OLD: [&str; 5] = ["4.0.7", "4.1.7", "4.1.8", "5.0.6", "5.0.11"];

/// Seen on 5.0.11: a count of 2^32, for which nothing is allocated, lets `MPI_Init` abort with a corrupted heap.
#[test]
fn a_count_beyond_an_int_overwrites_memory() {
    let five = Behaviour::latest(Release::V5_0);
    let loaded = |text: &str| load(text.as_bytes(), &five);
    let overwrites = |text| matches!(loaded(text), Err(Fault { kind: FaultKind::Overwrites(..), .. }));
    assert!(overwrites("1 7 1 4 4294967296 0 6 0 0 100 6 0 0"));
    assert!(overwrites("1 7 4294967297 2 1 0 6 0 0 4 1 0 6 0 0"));
    // Room for one, and no more follows: the file ends first.
    assert!(loaded("1 7 1 4 4294967297 0 6 0 0").is_err_and(|fault| !fault.kind.crashes()));
    // A negative number of entries is refused before anything is read.
    assert!(loaded("1 7 1 4 2147483648 0 6 0 0").is_err_and(|fault| !fault.kind.crashes()));
}
