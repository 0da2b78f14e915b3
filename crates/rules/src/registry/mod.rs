//! The algorithms of each release: ids, names, what they use of a rule line, and what they need.

mod entries;

use std::fmt::Write;

use crate::choice::Choice;
use crate::collective::Collective;
use crate::release::Release;
use crate::units::{Bytes, Ranks};

use entries::entries;

/// One algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Id in rules files and MCA parameters, from 1 on.
    pub id: u32,
    /// The string of Open MPI's MCA enumerator, exactly.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Which parameters of a rule it heeds.
    pub uses: Uses,
    /// Whether the fan-out is the radix of its tree: below 2 it never comes to an end.
    pub radix: bool,
    /// Which communicator sizes it takes.
    pub ranks: RankNeed,
    /// What runs instead of it, in the order of the tests.
    pub fallbacks: &'static [Fallback],
    /// What becomes of operations that do not commute.
    pub noncommutative: NonCommutative,
    /// What becomes of ranks that describe the same data by different counts and datatypes.
    pub mixed_types: MixedTypes,
    /// What becomes of `MPI_IN_PLACE`.
    pub in_place: InPlace,
    /// The collectives of the same communicator that it calls, each by its own rules; gatherv and scatterv, which can
    /// have none, are left out.
    pub calls: &'static [Collective],
}

/// An algorithm that runs instead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The condition.
    pub when: When,
    /// The id of what runs then, which may fall back in its turn.
    pub runs: u32,
    /// The fan-out or radix that it gets; none for the one of the rule.
    pub faninout: Option<u32>,
}

/// When an algorithm gives way to another. Elements are those of the message in the caller's datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The number of ranks is odd.
    OddRanks,
    /// The number of ranks is no power of two.
    NotPowerOfTwo,
    /// There are fewer elements than ranks.
    FewerThanRanks,
    /// There are fewer elements than the largest power of two that is not larger than the number of ranks.
    FewerThanPowerOfTwo,
    /// There are fewer elements than one segment for every rank; always so without segments.
    FewerThanSegments,
    /// There are fewer than two elements, or half of them are less than a segment.
    TooSmallToSplit,
    /// The operation does not commute.
    NonCommutativeOperation,
}

/// What becomes of ranks that describe the same data by different counts and datatypes, which MPI allows: 5000 x int
/// on one side, 1 x 5000 int on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedTypes {
    /// Right results were seen.
    Safe,
    /// Wrong data or a hang with segments, right results without.
    FailSegmented,
    /// Wrong data or a hang.
    Fail,
    /// Not tested, or no datatypes to mix.
    Untested,
}

/// What an algorithm does with `MPI_IN_PLACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// The same, or the collective has no such argument.
    Plain,
    /// Something else runs, whatever the algorithm.
    Instead(&'static str),
    /// The ignored count and datatype are handed on to an inner gather, whose rules must then not depend on sizes.
    PassedOn,
}

/// The parameters of a choice that an algorithm heeds; it ignores the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Fan-in and fan-out, or the radix.
    pub faninout: bool,
    /// Segment size.
    pub segsize: bool,
    /// Bound on outstanding requests.
    pub max_requests: bool,
}

/// The communicator sizes that an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankNeed {
    /// Any size, if only by running something else (see [`Fallback`]).
    Any,
    /// Two ranks; any other size is an error on every rank (`MPI_ERR_UNSUPPORTED_OPERATION`).
    ExactlyTwo,
}

/// What becomes of user-defined operations that do not commute. `coll/tuned` does not test for them when a rule or
/// a forced algorithm decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonCommutative {
    /// The collective has no operation.
    NotApplicable,
    /// Right results.
    Safe,
    /// It calls another collective of the communicator, and all depends on what that one runs.
    Depends,
    /// Wrong results, silently.
    Unsafe,
}

/// An id that a release does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Open MPI {release} has no {collective} algorithm {id}; known are {known}")]
pub struct UnknownAlgorithm {
    /// The release that was asked.
    pub release: Release,
    /// The collective that was asked.
    pub collective: Collective,
    /// The id as given.
    pub id: u32,
    /// Ids and names that the release has.
    pub known: String,
}

/// The running library lists other algorithms than its release should have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the library's {collective} algorithms are not those of Open MPI {release}: {}", differences.join("; "))]
pub struct TableMismatch {
    /// The release that was expected.
    pub release: Release,
    /// The collective that was compared.
    pub collective: Collective,
    /// What differs, one phrase each.
    pub differences: Vec<String>,
}

impl RankNeed {
    /// Whether a call on a communicator of this size succeeds, if only by running something else.
    pub fn admits(self, ranks: Ranks) -> bool {
        match self {
            Self::ExactlyTwo => ranks.0 == 2,
            Self::Any => true,
        }
    }
}

/// The algorithms that a release has for a collective, by id.
pub fn algorithms(release: Release, collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    entries(collective).iter().filter(move |entry| entry.covers(release)).map(|entry| &entry.algorithm)
}

/// The algorithm with this id. Id 0, the builtin, is no algorithm.
pub fn algorithm(release: Release, collective: Collective, id: u32) -> Result<&'static Algorithm, UnknownAlgorithm> {
    algorithms(release, collective).find(|algorithm| algorithm.id == id).ok_or_else(|| {
        let known: Vec<_> =
            algorithms(release, collective).map(|algorithm| format!("{} {}", algorithm.id, algorithm.name)).collect();
        UnknownAlgorithm { release, collective, id, known: known.join(", ") }
    })
}

/// The id that an enumerator of the release gives this name, in any case; `ignore` is 0.
pub fn id_of(release: Release, collective: Collective, name: &str) -> Option<u32> {
    let named = |algorithm: &&Algorithm| algorithm.name.eq_ignore_ascii_case(name);
    let id = || algorithms(release, collective).find(named).map(|algorithm| algorithm.id);
    if name.eq_ignore_ascii_case("ignore") { Some(0) } else { id() }
}

/// The algorithm with this id in the oldest release that has it.
pub(crate) fn in_any_release(collective: Collective, id: u32) -> Option<&'static Algorithm> {
    entries(collective).iter().map(|entry| &entry.algorithm).find(|algorithm| algorithm.id == id)
}

/// Compares ids and names that the running library enumerates, with or without `(0, "ignore")`, with the registry.
pub fn compare(release: Release, collective: Collective, listed: &[(u32, String)]) -> Result<(), TableMismatch> {
    let listed = || listed.iter().filter(|(id, name)| (*id, name.as_str()) != (0, "ignore"));
    let mut differences = Vec::new();
    for expected in algorithms(release, collective) {
        let names: Vec<_> = listed().filter(|(id, _)| *id == expected.id).map(|(_, name)| name).collect();
        match names[..] {
            [] => differences.push(format!("{} {} is missing", expected.id, expected.name)),
            [name] if name == expected.name => {}
            [name] => differences.push(format!("{} is called `{name}` instead of {}", expected.id, expected.name)),
            _ => differences.push(format!("{} {} is listed {} times", expected.id, expected.name, names.len())),
        }
    }
    for (id, name) in listed().filter(|(id, _)| algorithm(release, collective, *id).is_err()) {
        differences.push(format!("{id} `{name}` is unknown"));
    }
    if differences.is_empty() { Ok(()) } else { Err(TableMismatch { release, collective, differences }) }
}

/// A choice in words: `builtin`, `pipeline, 8KiB segments`. Parameters that the algorithm ignores are left out.
pub fn describe(release: Release, collective: Collective, choice: Choice) -> String {
    words(algorithm(release, collective, choice.algorithm).ok(), choice)
}

/// A choice in words, given its algorithm where that is known.
pub(crate) fn words(algorithm: Option<&Algorithm>, choice: Choice) -> String {
    if choice.is_builtin() {
        return "builtin".to_owned();
    }
    let everything = Uses { faninout: true, segsize: true, max_requests: true };
    let (mut text, uses) = match algorithm {
        Some(algorithm) => (algorithm.name.to_owned(), algorithm.uses),
        None => (format!("algorithm {}", choice.algorithm), everything),
    };
    // Writing to a string cannot fail.
    if uses.faninout && choice.faninout != 0 {
        let _ = write!(text, ", fan-out {}", choice.faninout);
    }
    if uses.segsize && choice.segsize != 0 {
        let _ = write!(text, ", {} segments", Bytes(choice.segsize));
    }
    if uses.max_requests && choice.max_requests != 0 {
        let _ = write!(text, ", at most {} requests", choice.max_requests);
    }
    text
}

/// The complete choice that `coll_tuned_COLLECTIVE_algorithm=id` alone amounts to; id 0 forces nothing.
pub fn forced(release: Release, collective: Collective, id: u32) -> Result<Choice, UnknownAlgorithm> {
    if id == 0 {
        return Ok(Choice::BUILTIN);
    }
    let algorithm = algorithm(release, collective, id)?;
    let choice = Choice::plain(id);
    Ok(if algorithm.uses.faninout {
        // `coll_tuned_init_tree_fanout` and `coll_tuned_init_chain_fanout`.
        choice.with_faninout(4)
    } else if (collective, id) == (Collective::Allgather, 2) {
        // Ignored here, but 6.0 takes it as the radix: 2 is the same Bruck there, 0 or 1 would never end.
        choice.with_faninout(2)
    } else {
        choice
    })
}

#[cfg(test)]
mod tests;
