//! Definition of a study, from its file.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use collrules_record::options::Budget;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Arguments, Candidate, CandidateName, rundir};
use collrules_rules::{Collective, Release};
use collrules_runner::grid::named_candidates;
use serde::Deserialize;

use super::variant::{Named, Variant};
use crate::error::WorkflowError;
use collrules_record::values::{self, MOST_LAUNCHES};

/// The contents of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionFile {
    title: String,
    question: String,
    np: WrittenRanks,
    sizes: Option<String>,
    vectors: Option<String>,
    launches: Option<u32>,
    budget: Option<String>,
    algorithms: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    claims: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    figures: WrittenFigures,
    #[serde(default)]
    nodes: Vec<u32>,
    #[serde(default, rename = "map-by")]
    map_by: Vec<String>,
    #[serde(default)]
    roots: Vec<u32>,
    #[serde(default)]
    data: Vec<String>,
}

/// Communicator sizes as a list, or as text such as `2:48:2`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenRanks {
    List(Vec<u32>),
    Text(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFigures {
    #[serde(default)]
    over_ranks: Vec<String>,
    #[serde(default)]
    over_sizes: Vec<u32>,
    #[serde(default)]
    builtin: bool,
}

/// Definition of a study with parsed values.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) title: String,
    pub(super) question: String,
    pub(super) ranks: Vec<Ranks>,
    pub(super) sizes: Vec<Bytes>,
    /// True if the sizes are those of whole vectors.
    pub(super) vectors: bool,
    pub(super) launches: u32,
    pub(super) budget: Budget,
    /// Algorithms by collective, as the user named them.
    pub(super) algorithms: BTreeMap<Collective, Vec<String>>,
    pub(super) over_ranks: Vec<Bytes>,
    pub(super) over_sizes: Vec<Ranks>,
    pub(super) builtin: bool,
    /// Variants to compare; none if there is one study.
    pub(super) variants: Vec<Variant>,
    /// Root and datatype of all calls, or of the variant if it has them.
    pub(super) arguments: Arguments,
    /// Best classes according to others.
    pub(super) claims: BTreeMap<Collective, Vec<Candidate>>,
}

/// Default number of launches: six medians are the smallest number with a 95 % interval.
const LAUNCHES: u32 = 6;

/// Returns true if a file is a table of timings, and neither has the contents nor the name of a definition.
pub(super) fn is_table(path: &Path) -> Result<bool, WorkflowError> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Ok(false);
    }
    let bytes = collrules_import::read_file(path).map_err(|cause| WorkflowError::open(path, cause))?;
    let text = std::str::from_utf8(&bytes).ok();
    Ok(text.and_then(|text| text.parse::<toml::Table>().ok()).is_none())
}

/// Reads a definition.
pub(super) fn read(path: &Path) -> Result<Definition, WorkflowError> {
    let text = rundir::read_text(path).map_err(|cause| WorkflowError::open(path, cause))?;
    parse(&text).map_err(|why| refused(path, &why))
}

fn refused(path: &Path, why: &str) -> WorkflowError {
    WorkflowError::Input(format!("{} defines no study: {why}", path.display()))
}

impl Definition {
    /// Returns true if it compares reference algorithms, so that times of messages are needed.
    pub(super) fn has_references(&self) -> bool {
        let is_reference =
            |name: &String| matches!(CandidateName::read(name), CandidateName::Complete(Candidate::Reference(_)));
        self.algorithms.values().flatten().any(is_reference)
    }

    /// Returns the candidates of a release for the named algorithms, each once. `path` is the file that names them.
    pub(super) fn candidates(
        &self,
        path: &Path,
        release: Release,
    ) -> Result<BTreeMap<Collective, Vec<Candidate>>, WorkflowError> {
        let of = |(collective, named): (&Collective, &Vec<String>)| {
            let named: Vec<CandidateName> = named.iter().map(|name| CandidateName::read(name)).collect();
            let candidates = named_candidates(release, *collective, &named);
            let candidates = candidates.map_err(|why| refused(path, &format!("algorithms.{collective}: {why}")))?;
            Ok((*collective, candidates))
        };
        self.algorithms.iter().map(of).collect()
    }
}

fn parse(text: &str) -> Result<Definition, String> {
    let written: DefinitionFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut algorithms: BTreeMap<Collective, Vec<String>> = BTreeMap::new();
    for (name, named) in &written.algorithms {
        let collective: Collective = parsed(name, "algorithms")?;
        if named.is_empty() {
            return Err(format!("algorithms: {collective} has none to compare"));
        }
        let named = named.iter().map(|algorithm| algorithm.trim().to_owned());
        algorithms.entry(collective).or_default().extend(named);
    }
    if algorithms.is_empty() {
        return Err("algorithms: no collective is named".to_owned());
    }
    let mut claims: BTreeMap<Collective, Vec<Candidate>> = BTreeMap::new();
    for (name, classes) in &written.claims {
        let collective: Collective = parsed(name, "claims")?;
        let class = |text: &String| match parsed(text, "claims")? {
            class @ (Candidate::Builtin | Candidate::Reference(_)) => Ok(class),
            other => Err(format!("claims: {other} is no class; write builtin, chan:short or chan:long")),
        };
        claims.insert(collective, classes.iter().map(class).collect::<Result<_, _>>()?);
    }
    let ranks = |list: &[u32], key: &str| -> Result<Vec<Ranks>, String> {
        let bad = list.iter().find(|ranks| **ranks < 2);
        bad.map_or(Ok(()), |bad| Err(format!("{key}: {bad} is no size of a communicator; they begin at 2")))?;
        let mut ranks: Vec<Ranks> = list.iter().copied().map(Ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Ok(ranks)
    };
    let np = match written.np {
        WrittenRanks::List(list) => list,
        WrittenRanks::Text(text) => {
            let sizes = values::communicators(&text).map_err(|why| format!("np: {why}"))?;
            sizes.into_iter().map(|ranks| ranks.0).collect()
        }
    };
    if np.is_empty() {
        return Err("np: no communicator size is named".to_owned());
    }
    let launches = written.launches.unwrap_or(LAUNCHES);
    if launches < 2 {
        return Err("launches: one launch shows no difference between launches; say 2 or more".to_owned());
    }
    if i64::from(launches) > MOST_LAUNCHES {
        return Err(format!("launches: {launches} is more than a study can have; say {} or fewer", MOST_LAUNCHES));
    }
    if written.sizes.is_some() && written.vectors.is_some() {
        return Err("sizes and vectors: a study has sizes of messages or of whole vectors; name one of them".to_owned());
    }
    let (key, text) = match (&written.sizes, &written.vectors) {
        (_, Some(text)) => ("vectors", text.as_str()),
        (text, None) => ("sizes", text.as_deref().unwrap_or("1:1M")),
    };
    let sizes = values::sizes(text).map_err(|why| format!("{key}: {why}"))?;
    let named = Named { nodes: &written.nodes, map_by: &written.map_by, roots: &written.roots, data: &written.data };
    let (variants, arguments) = named.read(algorithms.keys().copied())?;
    let figures = &written.figures;
    Ok(Definition {
        title: written.title,
        question: written.question,
        ranks: ranks(&np, "np")?,
        sizes,
        vectors: written.vectors.is_some(),
        launches,
        budget: values::budget(written.budget.as_deref().unwrap_or("10m")).map_err(|why| format!("budget: {why}"))?,
        algorithms,
        over_ranks: figures.over_ranks.iter().map(|size| parsed(size, "over_ranks")).collect::<Result<_, _>>()?,
        over_sizes: ranks(&figures.over_sizes, "over_sizes")?,
        builtin: figures.builtin,
        variants,
        arguments,
        claims,
    })
}

fn parsed<T: FromStr<Err: ToString>>(text: &str, key: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| format!("{key}: {}", error.to_string()))
}

#[cfg(test)]
mod tests {
    use collrules_record::DataType;
    use collrules_rules::Choice;

    use super::*;

    const SMALL: &str = "title = 'T'\nquestion = 'Q'\nnp = [8, 2]\n[algorithms]\nbcast = ['binomial', '5']\n";

    #[test]
    fn what_is_not_said_has_a_usual_value() {
        let read = parse(SMALL).expect("reads");
        assert_eq!(read.ranks, [Ranks(2), Ranks(8)]);
        assert_eq!((read.sizes.len(), read.launches, read.algorithms[&Collective::Bcast].len()), (21, 6, 2));
    }

    /// Floats on several numbers of nodes: a single datatype holds for all calls.
    #[test]
    fn a_single_datatype_varies_nothing_next_to_others() {
        let text = |more: &str| {
            format!("title = 'T'\nquestion = 'Q'\nnp = '8:8'\n{more}\n[algorithms]\nreduce = ['binomial']\n")
        };
        let read = parse(&text("nodes = [2, 4]\ndata = ['float']")).expect("reads");
        assert_eq!(read.variants, [Variant::Nodes(2), Variant::Nodes(4)]);
        assert_eq!(read.arguments.data, DataType::Float);
        assert_eq!(read.variants[0].arguments(read.arguments), read.arguments);
        let alone = parse(&text("data = ['float']")).expect("reads");
        assert_eq!((alone.variants, alone.arguments), (vec![Variant::Data(DataType::Float)], Arguments::default()));
        for bad in ["nodes = [2, 4]\ndata = ['float', 'int']", "nodes = [2]\nroots = [3]", "nodes = [2]\ndata = ['x']"]
        {
            assert!(parse(&text(bad)).is_err(), "{bad}");
        }
        assert_eq!(parse(&SMALL.replace("[8, 2]", "'2:48:2'")).expect("reads").ranks.len(), 24);
    }

    #[test]
    fn an_algorithm_is_one_however_often_it_is_named() {
        let choices = |named: &str| {
            let text = SMALL.replacen("'binomial', '5'", named, 1);
            parse(&text).expect("reads").candidates(Path::new("x.toml"), Release::V5_0)
        };
        let one = choices("'6', 'Binomial', 'builtin', '6', 'chain', 'chan:long'").expect("known");
        let forced = Choice::plain(2).with_faninout(4);
        let tuned = [Choice::plain(6), forced].map(Candidate::Tuned);
        let long = "chan:long".parse().expect("a candidate");
        assert_eq!(one, BTreeMap::from([(Collective::Bcast, vec![tuned[0], tuned[1], long])]));
        for (named, what) in [
            ("'builtin', '0'", "in addition to the default"),
            ("'oak'", "no bcast algorithm `oak`"),
            ("'chan:oak'", "no reference algorithm"),
        ] {
            let error = choices(named).expect_err(what).to_string();
            assert!(
                error.starts_with("x.toml defines no study: algorithms.bcast: ") && error.contains(what),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, what) in [
            ("8, 2", "1", "np: 1 is no size of a communicator"),
            ("bcast", "brodcast", "brodcast"),
            ("[alg", "[claims]\nbcast = ['rules']\n[alg", "claims: rules is no class"),
            ("'binomial', '5'", "", "bcast has none to compare"),
            ("np =", "n =", "unknown field `n`"),
            ("title", "launches = 1\ntitle", "launches: one launch"),
            ("title", "launches = 4294967295\ntitle", "launches: 4294967295 is more than"),
            ("title", "sizes = '9:1'\ntitle", "sizes: 9 B is larger"),
            ("title", "vectors = '9:1'\ntitle", "vectors: 9 B is larger"),
            ("title", "vectors = '8'\nsizes = '8'\ntitle", "sizes and vectors: a study has"),
        ] {
            let error = parse(&SMALL.replacen(from, to, 1)).expect_err(what);
            assert!(error.contains(what), "{error}");
        }
    }
}
