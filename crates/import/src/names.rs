//! Facts in the names of files and directories, in usual forms or as the user describes them.
//!
//! A part of a path is believed if all of its words are known: `bcast-np4-a3.txt`, `np4/a3/bcast.txt`,
//! `scatter_16ranks_binomial_run2.out`, or ompi-collectives-tuning's `2_16ranks_run0.out`. Words that a name has for
//! another reason, such as those of `reduce_local` or `neighbor_allgather`, would make it mean something else.

use std::cmp::Reverse;
use std::path::{Component, Path};
use std::sync::LazyLock;

use collrules_record::{CandidateName, Ranks};
use collrules_rules::{Collective, Release, read_from_text};
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

/// The directory of a file, without directories that are named after facts of timings, such as `np4/a3`, and without the
/// last ones that a pattern describes.
pub(super) fn place(file: &str, described: usize, release: Release) -> String {
    let directories = Path::new(file).parent().into_iter().flat_map(Path::components);
    let directories = directories.filter(|part| !matches!(part, Component::CurDir));
    let names: Vec<_> = directories.map(|part| part.as_os_str().to_string_lossy()).collect();
    let mut kept = names[..names.len().saturating_sub(described)].to_vec();
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

/// A description of names. `{collective}`, `{np}`, `{algorithm}` and `{launch}` stand for these facts, `*` for anything
/// within a part, `/` separates parts.
#[derive(Clone, Debug)]
pub struct NamePattern {
    /// Matches a whole number of last parts of a path, with a group for each fact.
    expression: Regex,
    /// Number of directories that it describes.
    pub(super) directories: usize,
}

impl NamePattern {
    fn read(text: &str) -> Result<Self, String> {
        let example = "{collective}-np{np}-a{algorithm}*.txt";
        let bad = |what: &str| format!("`{text}` is not a name pattern: {what}; write one like {example}");
        let mut expression = regex::escape(text).replace(r"\*", "[^/]*");
        let collectives = spellings();
        let forms = ["[0-9]*[1-9][0-9]*", "[A-Za-z0-9_]+", "[0-9]+", &collectives];
        for (name, values) in ["np", "algorithm", "launch", "collective"].into_iter().zip(forms) {
            expression = expression.replace(&format!(r"\{{{name}\}}"), &format!("(?P<{name}>{values})"));
        }
        if [r"\{", r"\}"].iter().any(|brace| expression.contains(brace)) {
            return Err(bad("known are {collective}, {np}, {algorithm}, {launch}"));
        }
        if !text.contains('{') {
            return Err(bad("it has no placeholder"));
        }
        let expression = Regex::new(&format!(r"(?:\A|/){expression}\z"));
        let expression = expression.map_err(|_| bad("it names a fact twice, or is too long"))?;
        Ok(Self { expression, directories: text.matches('/').count() })
    }

    /// Reads the facts from a path, if a whole number of its last parts matches the pattern.
    pub fn facts(&self, path: &str) -> Option<Facts> {
        facts_in(&self.expression.captures(path)?)
    }
}

read_from_text!(NamePattern);

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

    #[test]
    fn a_pattern_finds_what_it_names() {
        let pattern: NamePattern = "{collective}_{np}_{algorithm}*.txt".parse().expect("a pattern");
        let facts = pattern.facts("data/osu_bcast_16_3-b.txt").expect("fits");
        assert_eq!(facts.collective, Some(Collective::Bcast));
        assert_eq!(facts.ranks, Some(Ranks(16)));
        assert_eq!(facts.algorithm, Some(CandidateName::Id(3)));
        assert_eq!(pattern.facts("bcast_16.txt"), None);
        assert_eq!(pattern.facts("bcast_16_3.csv"), None);
        let pattern: NamePattern = "{np}/*/{launch}".parse().expect("a pattern");
        let facts = pattern.facts("deep/down/8/x/2").expect("fits");
        assert_eq!((facts.ranks, facts.launch), (Some(Ranks(8)), Some(2)));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, why) in [
            ("", "no placeholder"),
            ("*.txt", "no placeholder"),
            ("{np", "known are"),
            ("{n*p}", "known are"),
            ("np}", "known are"),
            ("{x}", "known are"),
            ("{np}/{np}", "twice"),
        ] {
            let error = text.parse::<NamePattern>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    /// All spellings that are read are those of a collective, and where one name continues another, what follows decides.
    #[test]
    fn collectives_are_told_apart_by_what_follows() {
        let pattern: NamePattern = "{collective}_{algorithm}.txt".parse().expect("a pattern");
        for (name, collective, algorithm) in [
            ("bcast_scatter_allgather.txt", Collective::Bcast, "scatter_allgather"),
            ("reduce_scatter_block_ring.txt", Collective::ReduceScatterBlock, "ring"),
            ("reduce_scatter_ring.txt", Collective::ReduceScatter, "ring"),
            ("osu_mpi_All_Reduce_ring.txt", Collective::Allreduce, "ring"),
        ] {
            let facts = pattern.facts(name).expect(name);
            assert_eq!(facts.collective, Some(collective), "{name}");
            assert_eq!(facts.algorithm, Some(CandidateName::Word(algorithm.to_owned())), "{name}");
        }
        for collective in Collective::ALL {
            let facts = pattern.facts(&format!("{collective}_1.txt")).expect("fits");
            assert_eq!((facts.collective, facts.algorithm), (Some(collective), Some(CandidateName::Id(1))));
        }
    }

    /// Matching must not take exponential time.
    #[test]
    fn many_stars_are_no_trouble() {
        let pattern: NamePattern = format!("{}{{np}}x", "*a".repeat(30)).parse().expect("a pattern");
        assert_eq!(pattern.facts(&"a".repeat(200)), None);
    }
}
