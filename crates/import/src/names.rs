//! Facts in the names of files and directories.
//!
//! A part of a path is believed if all of its words are known: `bcast-np4-a3.txt`, `np4/a3/bcast.txt`,
//! `scatter_16ranks_binomial_run2.out`, or ompi-collectives-tuning's `2_16ranks_run0.out`. Words that a name has for
//! another reason, such as those of `reduce_local` or `neighbor_allgather`, would make it mean something else.

use collrules_record::CandidateName;
use collrules_record::units::Ranks;
use collrules_rules::{Collective, Release};

use super::columns::words;
use super::facts::{Facts, collective_named};

/// Facts from a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathFacts {
    pub(super) facts: Facts,
    /// Reason why facts of the path are not believed.
    pub(super) unread: Option<String>,
    /// Name of another library than Open MPI.
    pub(super) library: Option<&'static str>,
}

/// Numbers of ranks, algorithms and launches, in front of the number or, of ranks, behind it.
const RANKS: [&str; 4] = ["np", "ranks", "nprocs", "procs"];
const ALGORITHM: [&str; 4] = ["a", "alg", "algo", "algorithm"];
const LAUNCH: [&str; 4] = ["run", "launch", "rep", "trial"];
/// Words that say nothing about a timing, apart from endings of files.
const PLAIN: [&str; 11] = ["osu", "imb", "reprompi", "mpi", "ompi", "openmpi", "gz", "mca", "alg", "algo", "algorithm"];
/// Other libraries, whose algorithms are not those of Open MPI.
const LIBRARIES: [&str; 10] =
    ["i_mpi_adjust", "intel_mpi", "intelmpi", "impi", "mpich", "mvapich", "nccl", "oneccl", "rccl", "ucc"];

/// Reads the facts from the parts of a path. Nothing is believed of parts that contradict each other.
pub(super) fn facts(parts: &[&str], release: Release) -> PathFacts {
    let (mut found, mut is_ours, mut difference) = (PathFacts::default(), false, None);
    for (place, part) in parts.iter().enumerate().rev() {
        let words = words_of(part);
        // `mvapich2` and `impi2021` name them too.
        let bare: Vec<_> = words.iter().map(|word| word.trim_end_matches(|sign: char| sign.is_ascii_digit())).collect();
        let joined = format!("_{}_", bare.join("_"));
        is_ours |= bare.iter().any(|word| ["ompi", "openmpi"].contains(word));
        let names = |library: &&&str| joined.contains(&format!("_{library}_"));
        if let (None, false) = (found.library, is_ours) {
            found.library = LIBRARIES.iter().find(names).copied();
        }
        // What the user named is more often called `tree` or `linear` for another reason.
        let has_algorithms = place > 0 || parts.len() == 1;
        let (facts, unknown) = read_part(&words, found.facts.collective, has_algorithms, release);
        let endings = part.split('.').skip(1).filter(|_| place + 1 == parts.len());
        let unknown = unknown.filter(|word| endings.into_iter().all(|ending| !ending.eq_ignore_ascii_case(word)));
        match unknown {
            None => {
                let collective = found.facts.collective.or(facts.collective);
                difference = difference.or_else(|| found.facts.difference(&facts, release, collective));
                found.facts = found.facts.or(facts);
            }
            Some(word) if facts != Facts::default() => {
                let why = || format!("`{part}` is not believed, since its word `{word}` is unknown");
                found.unread.get_or_insert_with(why);
            }
            Some(_) => {}
        }
    }
    if let Some(what) = difference {
        found.facts = Facts::default();
        found.unread = Some(format!("its path is not believed, since it names two values of {what}"));
    }
    found
}

/// The words of a part. Of a parameter such as `coll_tuned_bcast_algorithm` the component is no word for its default.
fn words_of(part: &str) -> Vec<String> {
    words(&part.to_lowercase().replace("coll_tuned_", ""))
}

/// Returns true if a directory's name consists of facts, so that it belongs to the timings below it alone.
pub(super) fn is_fact(part: &str, release: Release) -> bool {
    let (facts, unknown) = read_part(&words_of(part), None, true, release);
    unknown.is_none() && facts != Facts::default()
}

/// The facts in the words of a part, and the first unknown word.
fn read_part(
    words: &[String],
    around: Option<Collective>,
    has_algorithms: bool,
    release: Release,
) -> (Facts, Option<String>) {
    let mut facts = Facts::default();
    let mut unknown = None;
    let mut rest = words;
    // `2_16ranks_run0`, as ompi-collectives-tuning names its files.
    if let [id, ranks, run, ..] = words
        && (ranks.ends_with("ranks") && run.starts_with("run"))
        && let Ok(id) = id.parse()
    {
        facts.algorithm = Some(CandidateName::Id(id));
        rest = &words[1..];
    }
    while !rest.is_empty() {
        let longest =
            |is_known: &dyn Fn(&str) -> bool| (1..=rest.len()).rev().find(|count| is_known(&rest[..*count].join("_")));
        let is_algorithm = |name: &str| {
            let named =
                |collective: Collective| CandidateName::Word(name.to_owned()).candidate(release, collective).is_ok();
            match facts.collective.or(around) {
                Some(collective) => named(collective),
                None => Collective::ALL.into_iter().any(named),
            }
        };
        let free = facts.algorithm.is_none() && has_algorithms;
        let taken = if let (None, Some(count)) = (facts.collective, longest(&|name| collective_named(name).is_some())) {
            facts.collective = collective_named(&rest[..count].join("_"));
            count
        } else if let (true, Some(count)) = (free, longest(&is_algorithm)) {
            facts.algorithm = Some(CandidateName::Word(rest[..count].join("_")));
            count
        } else if let Some(count) = read_number(rest, &mut facts) {
            count
        } else {
            if !PLAIN.contains(&rest[0].as_str()) {
                unknown = unknown.or_else(|| Some(rest[0].clone()));
            }
            1
        };
        rest = &rest[taken..];
    }
    (facts, unknown)
}

/// Reads `np8`, `np 8`, `8ranks` and the like at the beginning of words; returns the number of words, if there is a fact.
fn read_number(words: &[String], facts: &mut Facts) -> Option<usize> {
    let first = &words[0];
    let digits = first.find(|sign: char| sign.is_ascii_digit()).unwrap_or(first.len());
    let letters = first.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(first.len());
    let (key, number, count) = match (digits, letters) {
        (0, letters) if letters < first.len() => (&first[letters..], &first[..letters], 1),
        (digits, _) if digits == first.len() => (first.as_str(), words.get(1)?.as_str(), 2),
        (digits, _) => (&first[..digits], &first[digits..], 1),
    };
    let number: u32 = number.parse().ok()?;
    if RANKS.contains(&key) && number > 0 && facts.ranks.is_none() {
        facts.ranks = Some(Ranks(number));
    } else if digits > 0 && ALGORITHM.contains(&key) && facts.algorithm.is_none() {
        facts.algorithm = Some(CandidateName::Id(number));
    } else if digits > 0 && LAUNCH.contains(&key) && facts.launch.is_none() {
        facts.launch = Some(number);
    } else {
        return None;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> (Option<Collective>, Option<u32>, Option<CandidateName>, Option<u32>) {
        let PathFacts { facts, .. } = facts(&path.split('/').collect::<Vec<_>>(), Release::V5_0);
        (facts.collective, facts.ranks.map(|ranks| ranks.0), facts.algorithm, facts.launch)
    }

    #[test]
    fn names_say_what_was_timed() {
        let id = |id| Some(CandidateName::Id(id));
        let name = |name: &str| Some(CandidateName::Word(name.to_owned()));
        let (bcast, scatter) = (Some(Collective::Bcast), Some(Collective::Scatter));
        for (path, facts) in [
            ("bcast-np2-a0.csv", (bcast, Some(2), id(0), None)),
            ("bcast-np4-a3.txt", (bcast, Some(4), id(3), None)),
            ("np4/a3/bcast.txt", (bcast, Some(4), id(3), None)),
            ("osu_bcast_np=16_alg=6_run=2.out", (bcast, Some(16), id(6), Some(2))),
            ("output/scatter/2_16ranks_run0.out", (scatter, Some(16), id(2), Some(0))),
            ("reduce_scatter_block/0_4ranks_run1.out", (Some(Collective::ReduceScatterBlock), Some(4), id(0), Some(1))),
            ("scatter-np8-linear_nb.txt", (scatter, Some(8), name("linear_nb"), None)),
            ("scatter_default_np8.txt", (scatter, Some(8), name("default"), None)),
            ("bcast_ignore_np8.csv", (bcast, Some(8), name("ignore"), None)),
            ("bcast-np8-scatter_allgather_ring.csv", (bcast, Some(8), name("scatter_allgather_ring"), None)),
            ("bcast-np8-scatter_allgather.txt", (bcast, Some(8), name("scatter_allgather"), None)),
            ("all_reduce-np8-a3.csv", (Some(Collective::Allreduce), Some(8), id(3), None)),
            ("Broadcast/128procs/binomial", (bcast, Some(128), name("binomial"), None)),
            ("results/table.csv", (None, None, None, None)),
            ("allgatherv-np4.txt", (Some(Collective::Allgatherv), Some(4), None, None)),
            ("x/np4/default.txt", (None, Some(4), name("default"), None)),
            ("tree/barrier-np4.txt", (Some(Collective::Barrier), Some(4), None, None)),
            ("x/tree/barrier-np4.txt", (Some(Collective::Barrier), Some(4), name("tree"), None)),
            // Words that mean something else.
            ("ibcast-map4.txt", (None, None, None, None)),
            ("neighbor_allgather-np4-a1.txt", (None, None, None, None)),
            ("reduce_local-np4-a1.txt", (None, None, None, None)),
            ("bcast_init-np4-a1.txt", (None, None, None, None)),
            ("np4/bcast-fast.txt", (None, Some(4), None, None)),
            ("bcast-np4-a3.result.gz", (bcast, Some(4), id(3), None)),
            ("np0-bcast", (None, None, None, None)),
            ("np99999999999-bcast", (None, None, None, None)),
        ] {
            assert_eq!(read(path), facts, "{path}");
        }
    }

    #[test]
    fn other_libraries_are_known_by_their_names() {
        let library = |path: &str| facts(&path.split('/').collect::<Vec<_>>(), Release::V5_0).library;
        for (path, name) in [
            ("I_MPI_ADJUST_BCAST=3_np8.txt", Some("i_mpi_adjust")),
            ("impi/bcast-np8-a0.txt", Some("impi")),
            ("bcast-np8-mvapich2.txt", Some("mvapich")),
            ("IntelMPI2021/bcast-np8-a0.txt", Some("intelmpi")),
            ("intel-mpi/bcast-np8-a0.txt", Some("intel_mpi")),
            ("mpich/ompi/bcast-np8-a0.txt", None),
            ("mpich-vs-ompi/bcast-np8-a0.txt", None),
            ("success/bcast-np8-a0.txt", None),
        ] {
            assert_eq!(library(path), name, "{path}");
        }
    }
}
