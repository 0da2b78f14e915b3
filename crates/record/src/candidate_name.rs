//! Names of candidates, as people and files write them.

use collrules_rules::names::meant;
use collrules_rules::{Collective, Release, registry};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;

/// A name for a candidate of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateName {
    /// The value of `coll_tuned_COLLECTIVE_algorithm`; 0 is the builtin.
    Id(u32),
    /// Open MPI's name, or a word for the builtin.
    Word(String),
    /// A complete candidate.
    Complete(Candidate),
}

/// Words for algorithm 0; the tables of ompi-collectives-tuning call it `tuned`.
const BUILTIN_WORDS: [&str; 5] = ["builtin", "default", "ignore", "tuned", "fixed"];

/// The collectives that Chan et al. have algorithms for.
pub const WITH_REFERENCE: &str =
    "bcast, reduce, scatter, gather, allgather, reduce_scatter, reduce_scatter_block and allreduce";

impl CandidateName {
    /// Reads an id, a candidate (`builtin`, `tuned:3/0/8192/0`), or a name.
    pub fn read(text: &str) -> Self {
        if let (Ok(id), true) = (text.parse(), text.bytes().all(|byte| byte.is_ascii_digit())) {
            return Self::Id(id);
        }
        match text.parse() {
            Ok(candidate) => Self::Complete(candidate),
            Err(_) => Self::Word(text.to_owned()),
        }
    }

    /// The named candidate of a collective in a release, or why there is none.
    pub fn candidate(&self, release: Release, collective: Collective) -> Result<Candidate, String> {
        let forced =
            |id| registry::forced(release, collective, id).map(Candidate::from_choice).map_err(|e| e.to_string());
        match self {
            Self::Complete(candidate) => {
                // An algorithm that the release lacks is an error whoever names it.
                if let Some(choice) = candidate.choice() {
                    forced(choice.algorithm)?;
                }
                if let Candidate::Reference(reference) = candidate
                    && reference.primitives(collective).is_none()
                {
                    return Err(format!("{collective} has no reference algorithm {candidate}; {WITH_REFERENCE} have"));
                }
                Ok(*candidate)
            }
            Self::Id(id) => forced(*id),
            Self::Word(name) if name.starts_with("chan:") => {
                Err(format!("`{name}` is no reference algorithm; there are chan:short and chan:long"))
            }
            Self::Word(name) => {
                let plain = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
                let name = plain(name);
                let mut all = registry::algorithms(release, collective);
                if let Some(known) = all.find(|known| plain(known.name) == name) {
                    return forced(known.id);
                }
                if BUILTIN_WORDS.contains(&name.as_str()) {
                    return Ok(Candidate::Builtin);
                }
                let known: Vec<&str> = registry::algorithms(release, collective).map(|known| known.name).collect();
                Err(format!(
                    "Open MPI {release} has no {collective} algorithm `{name}`{}; known are builtin, {}",
                    meant(known.iter().copied(), &name),
                    known.join(", ")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use collrules_program::Reference;

    use super::*;

    /// `in-order_binary` was once unknown, since its hyphen was read as an underscore.
    #[test]
    fn every_algorithm_is_known_by_its_name() {
        for release in Release::ALL {
            for collective in Collective::ALL {
                for known in registry::algorithms(release, collective) {
                    let named = CandidateName::read(known.name).candidate(release, collective);
                    let by_id = CandidateName::Id(known.id).candidate(release, collective);
                    assert_eq!(named, by_id, "{collective} {} in {release}", known.name);
                }
            }
        }
    }

    #[test]
    fn reference_algorithms_are_named_where_there_are_some() {
        let named = |text: &str, collective| CandidateName::read(text).candidate(Release::V5_0, collective);
        for collective in Collective::ALL {
            match named("chan:short", collective) {
                Ok(candidate) => assert_eq!(candidate, Candidate::Reference(Reference::Short)),
                Err(why) => assert!(why.ends_with(&format!("{WITH_REFERENCE} have")), "{why}"),
            }
            let has_one = WITH_REFERENCE.split([',', ' ']).any(|name| name == collective.name());
            assert_eq!(named("chan:short", collective).is_ok(), has_one, "{collective}");
        }
        let error = named("chan:tree", Collective::Bcast).expect_err("no such algorithm");
        assert_eq!(error, "`chan:tree` is no reference algorithm; there are chan:short and chan:long");
    }
}
