//! Facts about a timing apart from its numbers, and their sources: the file's text, its name, or the user.

use collrules_rules::{Collective, Release};

use collrules_record::units::{Ranks, Seconds};
use collrules_record::{Candidate, CandidateName};

/// Facts from one source; unknown ones are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Times over ranks in seconds, as far as a file has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeStatistics {
    /// Of the slowest rank.
    pub max: Option<Seconds>,
    /// Of the fastest rank.
    pub min: Option<Seconds>,
    /// The mean over ranks.
    pub mean: Option<Seconds>,
}

/// Combines facts of several sources, which must not contradict each other.
///
/// Each source has a name for messages. The release decides whether a name and a number mean the same algorithm.
pub(super) fn agreed(sources: &[(&str, &Facts)], release: Release) -> Result<Facts, String> {
    let collective = merge_fact("the collective", sources, |facts| facts.collective)?;
    let algorithm = match collective {
        Some(collective) => {
            let mut found: Option<(&str, Candidate)> = None;
            for (source, facts) in sources {
                let Some(algorithm) = &facts.algorithm else { continue };
                let candidate = algorithm.candidate(release, collective)?;
                match found {
                    Some((other, known)) if known != candidate => {
                        return Err(disagree("the algorithm", other, &known.to_string(), source, &candidate));
                    }
                    _ => found = Some((source, candidate)),
                }
            }
            found.map(|(_, candidate)| CandidateName::Complete(candidate))
        }
        None => sources.iter().find_map(|(_, facts)| facts.algorithm.clone()),
    };
    Ok(Facts {
        collective,
        ranks: merge_fact("the number of ranks", sources, |facts| facts.ranks)?,
        algorithm,
        launch: merge_fact("the launch", sources, |facts| facts.launch)?,
    })
}

fn merge_fact<T: PartialEq + Copy + std::fmt::Display>(
    what: &str,
    sources: &[(&str, &Facts)],
    get: impl Fn(&Facts) -> Option<T>,
) -> Result<Option<T>, String> {
    let mut said = sources.iter().filter_map(|(source, facts)| Some((*source, get(facts)?)));
    let Some((first, value)) = said.next() else { return Ok(None) };
    match said.find(|(_, other)| *other != value) {
        Some((other, found)) => Err(disagree(what, first, &value.to_string(), other, &found)),
        None => Ok(Some(value)),
    }
}

fn disagree(what: &str, first: &str, value: &str, other: &str, found: &impl std::fmt::Display) -> String {
    format!("{first} and {other} disagree about {what}: {value} and {found}")
}

/// The collective that a benchmark names: `Bcast`, `MPI_Bcast`, `Broadcast`, `Reduce_scatter`.
pub(super) fn collective_named(name: &str) -> Option<Collective> {
    let name = name.trim().to_lowercase().replace(['-', ' '], "_");
    let name = ["osu_", "mpi_"].iter().fold(name.as_str(), |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    match name {
        "broadcast" => Some(Collective::Bcast),
        // What OSU calls them.
        "all_to_all" | "all_to_all_personalized_exchange" => Some(Collective::Alltoall),
        "all_to_allv" | "all_to_allv_personalized_exchange" | "all_to_all_v_personalized_exchange" => {
            Some(Collective::Alltoallv)
        }
        _ => name.parse().ok(),
    }
}
