//! The tables of the specification as fixtures, and the properties of all files.

mod classic;
mod json;
mod properties;

use super::*;
use crate::call::Distribution;
use crate::collective::Collective;
use crate::units::Ranks;

fn version(text: &str) -> Behaviour {
    text.parse().expect("a known version")
}

/// What a version makes of a text that it must accept.
fn accepted(text: impl AsRef<[u8]>, by: &str) -> Loaded {
    match load(text.as_ref(), &version(by)) {
        Load::Accepted(loaded) => loaded,
        other => panic!("{by} on {}: {other:?}", text.as_ref().escape_ascii()),
    }
}

fn rejected(text: impl AsRef<[u8]>, by: &str) -> Rejection {
    match load(text.as_ref(), &version(by)) {
        Load::Rejected(rejection) => rejection,
        other => panic!("{by} on {}: {other:?}", text.as_ref().escape_ascii()),
    }
}

fn crashes(text: impl AsRef<[u8]>) -> Crash {
    match load(text.as_ref(), &version("6.0")) {
        Load::Crashes(crash) => crash,
        other => panic!("{}: {other:?}", text.as_ref().escape_ascii()),
    }
}

/// What serves a number of ranks and lookup bytes.
fn serving(loaded: &Loaded, collective: Collective, ranks: u32, bytes: u64) -> Lookup {
    loaded.serve(collective, Ranks(ranks), bytes, Distribution::Any)
}

/// The algorithm that serves, by number; none for want of a rule.
fn algorithm(loaded: &Loaded, ranks: u32, bytes: u64) -> Option<u32> {
    let lookup = serving(loaded, Collective::Bcast, ranks, bytes);
    lookup.rule.map(|_| lookup.choice.algorithm)
}

const OLD: [&str; 5] = ["4.0.7", "4.1.7", "4.1.8", "5.0.6", "5.0.11"];
