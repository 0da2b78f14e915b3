//! Definition of a study, as its file has it.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::options::Budget;
use collrules_record::rundir;
use collrules_record::units::{Bytes, Ranks, powers_of_two};
use collrules_record::values::{self, MOST_LAUNCHES};
use collrules_record::{Candidate, CandidateName, DataType};
use collrules_rules::{Collective, Release};
use collrules_runner::grid::named_candidates;
use collrules_workflow::WorkflowError;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// A definition; what it does not say has its usual value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Definition {
    /// The heading.
    pub title: String,
    /// The question, in a paragraph.
    pub question: String,
    /// Communicator sizes.
    #[serde(deserialize_with = "communicators")]
    pub np: Vec<Ranks>,
    /// Message sizes; the usual ones if empty.
    #[serde(deserialize_with = "sizes")]
    pub sizes: Vec<Bytes>,
    /// Sizes of whole vectors, in place of message sizes.
    #[serde(deserialize_with = "sizes")]
    pub vectors: Vec<Bytes>,
    /// Number of launches.
    pub launches: Option<u32>,
    /// Time for all of it.
    #[serde(deserialize_with = "budget")]
    pub budget: Option<Budget>,
    /// Algorithms by collective, as the user named them.
    pub algorithms: BTreeMap<Collective, Vec<String>>,
    /// Best classes according to others: the builtin or reference algorithms.
    pub claims: BTreeMap<Collective, Vec<Candidate>>,
    /// Figures to draw.
    pub figures: RequestedFigures,
    /// Numbers of nodes to compare.
    pub nodes: Vec<u32>,
    /// Mappings of ranks to compare, such as `core`.
    #[serde(rename = "map-by")]
    pub map_by: Vec<String>,
    /// Roots to compare.
    pub roots: Vec<u32>,
    /// Datatypes of reductions to compare; next to other variants, the only one is that of all calls.
    pub data: Vec<DataType>,
}

/// Figures of a study.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RequestedFigures {
    /// Message sizes for which times are drawn over communicator sizes.
    #[serde(deserialize_with = "sizes")]
    pub over_ranks: Vec<Bytes>,
    /// Communicator sizes for which times are drawn over message sizes; if none of them was measured, the largest that
    /// was.
    pub over_sizes: Vec<Ranks>,
    /// Draw the builtin's times over message sizes, a line per communicator size.
    pub builtin: bool,
}

impl Definition {
    /// The sizes, and whether they are those of whole vectors.
    pub(super) fn lengths(&self) -> (Vec<Bytes>, bool) {
        match (&self.sizes[..], &self.vectors[..]) {
            ([], []) => (powers_of_two(Bytes(1), Bytes(1 << 20)), false),
            (sizes, []) => (sizes.to_vec(), false),
            (_, vectors) => (vectors.to_vec(), true),
        }
    }
}

/// Values as a list, or as text in the form of an option.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    Texts(Vec<String>),
    Numbers(Vec<u64>),
}

/// Reads values like those of an option.
fn read_list<'de, T, D: Deserializer<'de>>(from: D, value: fn(&str) -> Result<T, String>) -> Result<T, D::Error> {
    let text = match TextOrList::deserialize(from)? {
        TextOrList::Text(text) => text,
        TextOrList::Texts(all) => all.join(","),
        TextOrList::Numbers(all) => all.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
    };
    value(&text).map_err(D::Error::custom)
}

fn communicators<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Ranks>, D::Error> {
    read_list(from, values::communicators)
}

fn sizes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Bytes>, D::Error> {
    read_list(from, values::sizes)
}

fn budget<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Budget>, D::Error> {
    read_list(from, values::budget).map(Some)
}

/// Reads a definition.
pub(super) fn read(path: &Path) -> Result<Definition, WorkflowError> {
    let text = rundir::read_text(path).map_err(|cause| WorkflowError::open(path, cause))?;
    parse(&text).map_err(|why| refuse(path, &why))
}

/// The error of a file that defines no study.
pub(super) fn refuse(path: &Path, why: &str) -> WorkflowError {
    WorkflowError::Input(format!("{} defines no study: {why}", path.display()))
}

fn parse(text: &str) -> Result<Definition, String> {
    let definition: Definition = toml::from_str(text).map_err(|error| error.to_string())?;
    let Definition { title, question, np, sizes, vectors, launches, algorithms, claims, figures, .. } = &definition;
    let keys = [("title", title.is_empty()), ("question", question.is_empty()), ("np", np.is_empty())];
    if let Some((key, _)) = keys.into_iter().chain([("algorithms", algorithms.is_empty())]).find(|(_, empty)| *empty) {
        return Err(format!("`{key}` is missing"));
    }
    if let Some((collective, _)) = algorithms.iter().find(|(_, named)| named.is_empty()) {
        return Err(format!("algorithms: {collective} has none to compare"));
    }
    if let Some(bad) = np.iter().chain(&figures.over_sizes).find(|ranks| ranks.0 < 2) {
        return Err(format!("{bad} is no size of a communicator; they begin at 2"));
    }
    let is_class = |candidate: &&Candidate| matches!(candidate, Candidate::Builtin | Candidate::Reference(_));
    if let Some(other) = claims.values().flatten().find(|candidate| !is_class(candidate)) {
        return Err(format!("claims: {other} is no class; write builtin, chan:short or chan:long"));
    }
    // One launch shows no difference between launches.
    if let Some(launches) = launches.filter(|launches| !(2..=MOST_LAUNCHES).contains(&i64::from(*launches))) {
        return Err(format!("launches: {launches} is not between 2 and {MOST_LAUNCHES}"));
    }
    if !sizes.is_empty() && !vectors.is_empty() {
        return Err("sizes and vectors: a study has sizes of messages or of whole vectors; name one of them".to_owned());
    }
    Ok(definition)
}

/// Returns the candidates of a release for the named algorithms, each once. `path` is the file that names them.
pub(super) fn candidates(
    definition: &Definition,
    path: &Path,
    release: Release,
) -> Result<BTreeMap<Collective, Vec<Candidate>>, WorkflowError> {
    let of = |(collective, named): (&Collective, &Vec<String>)| {
        let named: Vec<CandidateName> = named.iter().map(|name| CandidateName::read(name.trim())).collect();
        let candidates = named_candidates(release, *collective, &named);
        Ok((*collective, candidates.map_err(|why| refuse(path, &format!("algorithms.{collective}: {why}")))?))
    };
    definition.algorithms.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::{Arguments, DataType, Ranks};
    use collrules_rules::Choice;

    use super::super::variant::variants;
    use super::*;

    const SMALL: &str = "title = 'T'\nquestion = 'Q'\nnp = [8, 2]\n[algorithms]\nbcast = ['binomial', '5']\n";

    #[test]
    fn what_is_not_said_has_a_usual_value() {
        let read = parse(SMALL).expect("reads");
        assert_eq!(read.np, [Ranks(2), Ranks(8)]);
        let (sizes, whole) = read.lengths();
        assert_eq!((sizes.len(), whole, read.algorithms[&Collective::Bcast].len()), (21, false, 2));
    }

    /// Floats on several numbers of nodes: a single datatype holds for all calls.
    #[test]
    fn a_single_datatype_varies_nothing_next_to_others() {
        let read = |more: &str| {
            let text =
                format!("title = 'T'\nquestion = 'Q'\nnp = '8:8'\n{more}\n[algorithms]\nreduce = ['binomial']\n");
            parse(&text).and_then(|read| variants(&read))
        };
        let (found, arguments) = read("nodes = [2, 4]\ndata = ['float']").expect("reads");
        assert_eq!([&found[0].name, &found[1].name], ["2 nodes", "4 nodes"]);
        assert_eq!((arguments.data, found[0].arguments), (DataType::Float, arguments));
        let (alone, arguments) = read("data = ['float']").expect("reads");
        assert_eq!((alone[0].arguments.data, alone.len(), arguments), (DataType::Float, 1, Arguments::default()));
        for bad in ["nodes = [2, 4]\ndata = ['float', 'int']", "nodes = [2]\nroots = [3]", "nodes = [2]\ndata = ['x']"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(parse(&SMALL.replace("[8, 2]", "'2:48:2'")).expect("reads").np.len(), 24);
    }

    #[test]
    fn an_algorithm_is_one_however_often_it_is_named() {
        let choices = |named: &str| {
            let text = SMALL.replacen("'binomial', '5'", named, 1);
            candidates(&parse(&text).expect("reads"), Path::new("x.toml"), Release::V5_0)
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
            ("8, 2", "1", "1 is no size of a communicator"),
            ("bcast", "brodcast", "brodcast"),
            ("[alg", "[claims]\nbcast = ['rules']\n[alg", "claims: rules is no class"),
            ("'binomial', '5'", "", "bcast has none to compare"),
            ("np =", "n =", "unknown field `n`"),
            ("title = 'T'", "", "`title` is missing"),
            ("title", "launches = 1\ntitle", "launches: 1 is not between"),
            ("title", "launches = 4294967295\ntitle", "launches: 4294967295 is not between"),
            ("title", "sizes = '9:1'\ntitle", "9 B is larger"),
            ("title", "vectors = '9:1'\ntitle", "9 B is larger"),
            ("title", "vectors = '8'\nsizes = '8'\ntitle", "sizes and vectors: a study has"),
        ] {
            let error = parse(&SMALL.replacen(from, to, 1)).expect_err(what);
            assert!(error.contains(what), "{error}");
        }
    }
}
