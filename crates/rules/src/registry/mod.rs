//! The algorithms of each release: ids, names, the parameters that they use, and their requirements.

mod algorithm;
mod entries;

use std::fmt::Write;

use crate::choice::Choice;
use crate::collective::Collective;
use crate::release::Release;
use crate::units::Bytes;

pub use algorithm::{Algorithm, Fallback, MixedTypes, Uses, When};
use entries::entries;

/// An id that a release does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("Open MPI {release} has no {collective} algorithm {id}; known are {known}")]
pub struct UnknownAlgorithm {
    /// The release.
    pub release: Release,
    /// The collective.
    pub collective: Collective,
    /// The id as given.
    pub id: u32,
    /// Ids and names that the release has.
    pub known: String,
}

/// The algorithms that a release has for a collective, by id.
pub fn algorithms(release: Release, collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    entries(collective).iter().filter(move |algorithm| algorithm.is_in(release))
}

/// The algorithm with this id. Id 0 is the builtin, not an algorithm.
pub fn algorithm(release: Release, collective: Collective, id: u32) -> Result<&'static Algorithm, UnknownAlgorithm> {
    algorithms(release, collective).find(|algorithm| algorithm.id == id).ok_or_else(|| {
        let known: Vec<_> =
            algorithms(release, collective).map(|algorithm| format!("{} {}", algorithm.id, algorithm.name)).collect();
        UnknownAlgorithm { release, collective, id, known: known.join(", ") }
    })
}

/// The id of this name in an enumerator of the release, in any case; `ignore` is 0.
pub fn id_of(release: Release, collective: Collective, name: &str) -> Option<u32> {
    let named = |algorithm: &&Algorithm| algorithm.name.eq_ignore_ascii_case(name);
    let id = || algorithms(release, collective).find(named).map(|algorithm| algorithm.id);
    if name.eq_ignore_ascii_case("ignore") { Some(0) } else { id() }
}

/// The algorithm with this id in the oldest release that has it.
pub fn in_any_release(collective: Collective, id: u32) -> Option<&'static Algorithm> {
    entries(collective).iter().find(|algorithm| algorithm.id == id)
}

/// Compares the ids and names of the running library, with or without `(0, "ignore")`, with the registry. Fails with the
/// differences in words.
pub fn compare(release: Release, collective: Collective, listed: &[(u32, String)]) -> Result<(), String> {
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
    if differences.is_empty() {
        return Ok(());
    }
    let differences = differences.join("; ");
    Err(format!("the library's {collective} algorithms are not those of Open MPI {release}: {differences}"))
}

/// A choice in words: `default`, `pipeline, 8 KiB segments`. Parameters that the algorithm ignores are left out.
pub fn describe(release: Release, collective: Collective, choice: Choice) -> String {
    words(algorithm(release, collective, choice.algorithm).ok(), choice)
}

/// A choice in words, with its algorithm if that is known.
pub(crate) fn words(algorithm: Option<&Algorithm>, choice: Choice) -> String {
    if choice.is_builtin() {
        return "default".to_owned();
    }
    let everything = Uses { faninout: true, segsize: true, max_requests: true };
    let (mut text, uses) = match algorithm {
        Some(algorithm) => (algorithm.name.to_owned(), algorithm.uses),
        None => (format!("algorithm {}", choice.algorithm), everything),
    };
    let Choice { faninout, segsize, max_requests, .. } = uses.keep(choice);
    // Writing to a string cannot fail.
    if faninout != 0 {
        let _ = write!(text, ", fan-out {faninout}");
    }
    if segsize != 0 {
        let _ = write!(text, ", {} segments", Bytes(segsize));
    }
    if max_requests != 0 {
        let _ = write!(text, ", at most {max_requests} requests");
    }
    text
}

/// The complete choice of `coll_tuned_COLLECTIVE_algorithm=id` alone; id 0 forces nothing.
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
