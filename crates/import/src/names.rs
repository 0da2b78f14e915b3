//! Facts in the names of files and directories, in usual forms.
//!
//! A part of a path is believed if all of its words are known: `bcast-np4-a3.txt`, `np4/a3/bcast.txt`,
//! `scatter_16ranks_binomial_run2.out`, or ompi-collectives-tuning's `2_16ranks_run0.out`. Words that a name has for
//! another reason, such as those of `reduce_local` or `neighbor_allgather`, would make it mean something else.

use std::cmp::Reverse;
use std::path::{Component, Path};
use std::sync::LazyLock;

use collrules_record::{CandidateName, Ranks};
use collrules_rules::{Collective, Release};
use regex::{Captures, Regex};

use crate::facts::{Facts, collective_named, words};

/// Facts from a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathFacts {
    pub(super) facts: Facts,
    /// Reason why facts of the path are not believed.
    pub(super) unread: Option<String>,
}

/// Forms of facts among words that `_` joins, and before them a number of ompi-collectives-tuning: `2_16ranks_run0`.
static FORMS: LazyLock<(Regex, [Regex; 4])> = LazyLock::new(|| {
    let forms = [
        &format!("_(?P<collective>{})_", spellings()),
        r"_(?:(?:np|n?procs|ranks)_?(?P<np>\d*[1-9]\d*)|(?P<ranks>\d*[1-9]\d*)(?:np|n?procs|ranks))_",
        r"_(?:a|alg|algo|algorithm)_?(?P<algorithm>\d+)_",
        r"_(?:run|launch|rep|trial)_?(?P<launch>\d+)_",
    ];
    let compile = |form: &str| Regex::new(form).expect("an expression that a test compiles");
    (compile(r"^_(\d+)(_\d+ranks_run)"), forms.map(compile))
});

/// Words that say nothing about a timing, apart from endings of files.
const PLAIN: [&str; 11] = ["osu", "imb", "reprompi", "mpi", "ompi", "openmpi", "gz", "mca", "alg", "algo", "algorithm"];

/// Reads the facts from the parts of a path. Nothing is believed of parts that contradict each other.
pub(super) fn facts(parts: &[&str], release: Release) -> PathFacts {
    let (mut found, mut seen, mut difference) = (PathFacts::default(), Facts::default(), None);
    for (place, part) in parts.iter().enumerate().rev() {
        // What the user named is more often called `tree` or `linear` for another reason.
        let has_algorithms = place > 0 || parts.len() == 1;
        let (facts, unknown) = read_part(part, found.facts.collective, has_algorithms, release);
        let endings = part.split('.').skip(1).filter(|_| place + 1 == parts.len());
        let unknown = unknown.filter(|word| endings.into_iter().all(|ending| !ending.eq_ignore_ascii_case(word)));
        // The ranks of a part with unknown words are compared alone.
        let ranks = Facts { ranks: facts.ranks, ..Facts::default() };
        let compared = if unknown.is_none() { facts.clone() } else { ranks };
        let collective = seen.collective.or(compared.collective);
        difference = difference.or_else(|| seen.difference(&compared, release, collective));
        seen = seen.or(compared);
        match unknown {
            None => found.facts = found.facts.or(facts),
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

/// The directory of a file, without directories that are named after facts of timings, such as `np4/a3`.
pub(super) fn place(file: &str, release: Release) -> String {
    let directories = Path::new(file).parent().into_iter().flat_map(Path::components);
    let directories = directories.filter(|part| !matches!(part, Component::CurDir));
    let mut kept: Vec<_> = directories.map(|part| part.as_os_str().to_string_lossy()).collect();
    kept.retain(|name| {
        let (facts, unknown) = read_part(name, None, true, release);
        unknown.is_some() || facts == Facts::default()
    });
    kept.join("/")
}

/// The facts in the words of a part, and the first unknown word.
fn read_part(
    part: &str,
    around: Option<Collective>,
    has_algorithms: bool,
    release: Release,
) -> (Facts, Option<String>) {
    let (numbered, forms) = &*FORMS;
    // Of a parameter such as `coll_tuned_bcast_algorithm` the component is no word for its default.
    let words_of_part = words(&part.to_lowercase().replace("coll_tuned_", ""));
    let mut text = numbered.replace(&format!("_{}_", words_of_part.join("_")), "_a${1}${2}").into_owned();
    let mut facts = Facts::default();
    for form in forms {
        if let Some(found) = form.captures(&text)
            && let Some(more) = facts_in(&found)
        {
            facts = facts.or(more);
            let place = found.get_match().range();
            text.replace_range(place, "_/_");
        }
    }
    let rest: Vec<&str> = text.split('_').filter(|word| !word.is_empty()).collect();
    let mut unknown = None;
    for words in rest.split(|word| *word == "/" || PLAIN.contains(word)) {
        let is_algorithm = |count: &usize| {
            let name = CandidateName::Word(words[..*count].join("_"));
            let named = |collective: Collective| name.candidate(release, collective).is_ok();
            facts.collective.or(around).map_or_else(|| Collective::ALL.into_iter().any(named), named)
        };
        let is_free = has_algorithms && facts.algorithm.is_none();
        let count = (1..=words.len()).rev().filter(|_| is_free).find(is_algorithm).unwrap_or(0);
        if count > 0 {
            facts.algorithm = Some(CandidateName::Word(words[..count].join("_")));
        }
        unknown = unknown.or_else(|| words.get(count).map(|word| (*word).to_owned()));
    }
    (facts, unknown)
}

/// The spellings of collectives that [`collective_named`] reads in names of files. Of those that fit, the longest counts.
pub(super) fn spellings() -> String {
    let known = Collective::ALL.iter().map(|collective| collective.name().replace('_', ""));
    let mut names: Vec<String> = known.chain(["broadcast".to_owned()]).collect();
    names.sort_unstable_by_key(|name| Reverse(name.len()));
    let spelt = names.iter().map(|name| name.chars().map(String::from).collect::<Vec<_>>().join("_*"));
    format!("(?i-u:(?:osu_)?(?:mpi_)?(?:{}))", spelt.collect::<Vec<_>>().join("|"))
}

/// The facts that the groups of an expression found, if their numbers are not too large.
pub(super) fn facts_in(found: &Captures<'_>) -> Option<Facts> {
    let text = |name: &str| found.name(name).map(|text| text.as_str());
    let number = |name: &str| text(name).map(str::parse::<u32>).transpose().ok();
    Some(Facts {
        collective: text("collective").and_then(collective_named),
        ranks: number("np")?.or(number("ranks")?).map(Ranks),
        algorithm: text("algorithm").map(CandidateName::read),
        launch: number("launch")?,
    })
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
}
