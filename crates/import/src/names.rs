//! Facts in the names of files and directories: `bcast-np2-a0.csv`, `np4/a3/bcast.txt`, `scatter/2_16ranks_run0.out`.

use collrules_record::CandidateName;
use collrules_rules::{Collective, Release, registry};

use super::facts::{Facts, collective_named};
use collrules_record::units::Ranks;

/// Reads the facts from a path, whose parts are those below the input that the user named. The last part with a fact
/// counts.
pub(super) fn facts(parts: &[&str], release: Release) -> Facts {
    let mut facts = Facts::default();
    let parts: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    for part in parts.iter().rev() {
        let (collective, rest) = collective(part);
        facts.collective = facts.collective.or(collective);
        let words = words(&rest);
        facts.ranks = facts.ranks.or_else(|| number(&words, &RANKS).filter(|ranks| *ranks > 0).map(Ranks));
        facts.launch = facts.launch.or_else(|| number(&words, &LAUNCH));
        if facts.algorithm.is_none() {
            facts.algorithm = predecessor(&words).or_else(|| number(&words, &ALGORITHM)).map(CandidateName::Id);
        }
    }
    if facts.algorithm.is_none() {
        // What the user named is more often called `tree` or `linear` for another reason.
        let below = if parts.len() > 1 { &parts[1..] } else { &parts };
        facts.algorithm = below.iter().rev().find_map(|part| parse_candidate_name(part, release, facts.collective));
    }
    facts
}

const RANKS: [&str; 9] = ["np", "nprocs", "nproc", "procs", "processes", "ranks", "nranks", "ntasks", "p"];
const ALGORITHM: [&str; 6] = ["a", "alg", "algo", "algorithm", "algid", "algorithmid"];
const LAUNCH: [&str; 4] = ["run", "launch", "rep", "trial"];

/// The longest name of a collective in a part, and the part without it.
fn collective(part: &str) -> (Option<Collective>, String) {
    let text = part.replace(['-', '.', ' '], "_");
    let mut names: Vec<(&str, Collective)> = Collective::ALL.iter().map(|known| (known.name(), *known)).collect();
    names.push(("broadcast", Collective::Bcast));
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, collective) in names {
        if let Some(at) = find_word(&text, name, |c| !c.is_ascii_alphabetic()) {
            return (Some(collective), format!("{} {}", &part[..at], &part[at + name.len()..]));
        }
    }
    (collective_named(&text), part.to_owned())
}

/// The place of a word in a text, with ends or such characters around it.
fn find_word(text: &str, word: &str, ends: impl Fn(char) -> bool) -> Option<usize> {
    let edge = |c: Option<char>| c.is_none_or(&ends);
    let is_whole = |at: &usize| edge(text[..*at].chars().next_back()) && edge(text[at + word.len()..].chars().next());
    text.match_indices(word).map(|(at, _)| at).find(is_whole)
}

/// Splits letters and digits: `np4` is `np`, `4`.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for c in text.chars() {
        let kind = match c {
            _ if c.is_ascii_digit() => Some(true),
            _ if c.is_alphabetic() => Some(false),
            _ => None,
        };
        match (kind, words.last_mut()) {
            (None, _) => {}
            (Some(_), Some(word)) if kind == last => word.push(c),
            (Some(_), _) => words.push(c.into()),
        }
        last = kind;
    }
    words
}

/// The number after one of these keys; for ranks also before it, as in `16ranks`.
fn number(words: &[String], keys: &[&str]) -> Option<u32> {
    let key = |word: &String| keys.contains(&word.as_str());
    let pairs = || words.windows(2);
    let behind = pairs().find_map(|pair| key(&pair[0]).then(|| pair[1].parse().ok()).flatten());
    // `2_16ranks_run0`: the number before `ranks` belongs to it.
    let before = || pairs().find_map(|pair| key(&pair[1]).then(|| pair[0].parse().ok()).flatten());
    if keys == RANKS { before().or(behind) } else { behind }
}

/// The algorithm in `3_16ranks_run0`, as ompi-collectives-tuning names its files.
fn predecessor(words: &[String]) -> Option<u32> {
    match words {
        [id, ranks, key, run, launch, ..] if key == "ranks" && run == "run" => {
            let all = [id, ranks, launch].map(|number| number.parse::<u32>().ok());
            if let [Some(id), Some(_), Some(_)] = all { Some(id) } else { None }
        }
        _ => None,
    }
}

/// The algorithm whose name a part contains, the longest match. Names other than those of the builtin depend on the
/// collective.
fn parse_candidate_name(part: &str, release: Release, collective: Option<Collective>) -> Option<CandidateName> {
    let (_, rest) = self::collective(part);
    let text = rest.replace(['-', '.', ' ', '/'], "_");
    let known = collective.into_iter().flat_map(|collective| registry::algorithms(release, collective));
    let mut names: Vec<&str> = known.map(|algorithm| algorithm.name).collect();
    names.extend(["default", "builtin"]);
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let whole = |name: &&&str| find_word(&text, name, |c| !c.is_ascii_alphanumeric()).is_some();
    names.iter().find(whole).map(|name| CandidateName::Word((*name).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> (Option<Collective>, Option<u32>, Option<CandidateName>, Option<u32>) {
        let facts = facts(&path.split('/').collect::<Vec<_>>(), Release::V5_0);
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
            ("Broadcast/128procs/binomial", (bcast, Some(128), name("binomial"), None)),
            ("results/table.csv", (None, None, None, None)),
            ("allgatherv-np4.txt", (Some(Collective::Allgatherv), Some(4), None, None)),
            ("x/np4/default.txt", (None, Some(4), name("default"), None)),
            ("tree/barrier-np4.txt", (Some(Collective::Barrier), Some(4), None, None)),
            ("x/tree/barrier-np4.txt", (Some(Collective::Barrier), Some(4), name("tree"), None)),
            // No words of their own.
            ("ibcast-map4.txt", (None, None, None, None)),
            ("np0-bcast", (bcast, None, None, None)),
            ("np99999999999-bcast", (bcast, None, None, None)),
        ] {
            assert_eq!(read(path), facts, "{path}");
        }
    }
}
