//! Names of files as the user describes them: `{collective}_{np}_{algorithm}*.txt`.

use std::cmp::Reverse;

use collrules_record::CandidateName;
use collrules_record::units::Ranks;
use collrules_rules::{Collective, read_from_text};
use regex::{Captures, Regex};

use super::facts::{Facts, collective_named};

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
        let bad = |what: &str| {
            format!(
                "`{text}` is not a name pattern: {what}; write one like {{collective}}-np{{np}}-a{{algorithm}}*.txt"
            )
        };
        let mut expression = regex::escape(text).replace(r"\*", "[^/]*");
        let collectives = spellings();
        let numbers = [("np", "[0-9]*[1-9][0-9]*"), ("algorithm", "[A-Za-z0-9_]+"), ("launch", "[0-9]+")];
        for (name, values) in [("collective", collectives.as_str())].into_iter().chain(numbers) {
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
