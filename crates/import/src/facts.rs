//! Facts about a timing apart from its numbers, and their sources: the file's text, its name, or the user.

use collrules_rules::{Collective, Release};

use collrules_record::{Candidate, CandidateName, Ranks};

/// Facts from one source; unknown ones are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facts {
    /// The collective.
    pub collective: Option<Collective>,
    /// The communicator size.
    pub ranks: Option<Ranks>,
    /// The candidate.
    pub algorithm: Option<CandidateName>,
    /// The start of the MPI job.
    pub launch: Option<u32>,
}

/// Facts that a timing needs.
pub(super) struct CompleteFacts {
    pub(super) collective: Collective,
    pub(super) ranks: Ranks,
    pub(super) candidate: Candidate,
    pub(super) launch: u32,
}

/// Combines facts of the options, the content and the file name. Options and content must agree. A name that contradicts
/// them is not believed, which is returned as a note; if it is about another collective, nothing of it is believed.
pub(super) fn combine(
    given: &Facts,
    content: &Facts,
    name: &Facts,
    release: Release,
) -> Result<(Facts, Option<String>), String> {
    let collective = given.collective.or(content.collective).or(name.collective);
    if let Some(difference) = given.difference(content, release, collective) {
        return Err(format!("the options and the content disagree about {difference}"));
    }
    let stated = given.clone().or(content.clone());
    let difference = stated.difference(name, release, collective);
    let is_other = stated.collective.is_some_and(|known| name.collective.is_some_and(|other| other != known));
    let mut facts = if is_other { stated } else { stated.or(name.clone()) };
    if let (Some(collective), Some(algorithm)) = (facts.collective, &facts.algorithm) {
        facts.algorithm = Some(CandidateName::Complete(algorithm.candidate(release, collective)?));
    }
    let extent = if is_other { "the name is not believed" } else { "that of the name is not believed" };
    Ok((
        facts,
        difference.map(|what| format!("the file name contradicts the content or the options about {what}; {extent}")),
    ))
}

impl Facts {
    /// These facts, completed by others.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            collective: self.collective.or(others.collective),
            ranks: self.ranks.or(others.ranks),
            algorithm: self.algorithm.or(others.algorithm),
            launch: self.launch.or(others.launch),
        }
    }

    /// The first fact about which others differ. The release and the collective tell whether a name and a number mean the
    /// same algorithm.
    pub(super) fn difference(&self, others: &Self, release: Release, collective: Option<Collective>) -> Option<String> {
        let algorithm = |facts: &Self| {
            let candidate = facts.algorithm.as_ref()?.candidate(release, collective?);
            Some(candidate.map_or_else(|why| why, |candidate| candidate.to_string()))
        };
        let texts = |facts: &Self| {
            let (collective, ranks) = (facts.collective.map(|it| it.to_string()), facts.ranks.map(|it| it.to_string()));
            [collective, ranks, algorithm(facts), facts.launch.map(|it| it.to_string())]
        };
        let names = ["the collective", "the number of ranks", "the algorithm", "the launch"];
        names.into_iter().zip(texts(self)).zip(texts(others)).find_map(|((what, own), other)| {
            let (own, other) = (own?, other?);
            (own != other).then(|| format!("{what}: {own} and {other}"))
        })
    }
}

/// The collective that a benchmark names: `Bcast`, `MPI_Bcast`, `Broadcast`, `Reduce_scatter`, `All-to-All Personalized
/// Exchange`, `all_reduce`.
pub(super) fn collective_named(name: &str) -> Option<Collective> {
    let name = name.trim().to_lowercase().replace(['-', ' '], "_");
    let name = ["osu_", "mpi_"].iter().fold(name.as_str(), |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    let plain = name.strip_suffix("_personalized_exchange").unwrap_or(name).replace('_', "");
    match plain.as_str() {
        "broadcast" => Some(Collective::Bcast),
        plain => Collective::ALL.into_iter().find(|known| known.name().replace('_', "") == plain),
    }
}

/// Words of a name, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    let words = name.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

pub(super) fn has_word(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collective_of_the_name_tells_that_a_number_and_a_word_are_one_algorithm() {
        let algorithm = |name: &str| Facts { algorithm: Some(CandidateName::read(name)), ..Facts::default() };
        let name = Facts { collective: Some(Collective::Bcast), ..Facts::default() };
        let both = |content: &str| combine(&algorithm("3"), &algorithm(content), &name, Release::V5_0);
        let (facts, note) = both("pipeline").expect("they agree");
        assert_eq!((facts.collective, note), (Some(Collective::Bcast), None));
        assert!(both("chain").is_err());
    }
}
