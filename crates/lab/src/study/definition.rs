//! Definition of a study, as its file has it.

use std::collections::BTreeMap;

use collrules_record::options::Budget;
use collrules_record::units::{Bytes, Ranks, powers_of_two};
use collrules_record::{Candidate, DataType, values};
use collrules_rules::Collective;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// A definition; what it does not say has its usual value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Definition {
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
pub struct RequestedFigures {
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
    pub fn lengths(&self) -> (Vec<Bytes>, bool) {
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
enum Listed {
    Text(String),
    Texts(Vec<String>),
    Numbers(Vec<u64>),
}

/// Reads values like those of an option.
fn read<'de, T, D: Deserializer<'de>>(from: D, value: fn(&str) -> Result<T, String>) -> Result<T, D::Error> {
    let text = match Listed::deserialize(from)? {
        Listed::Text(text) => text,
        Listed::Texts(all) => all.join(","),
        Listed::Numbers(all) => all.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
    };
    value(&text).map_err(D::Error::custom)
}

fn communicators<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Ranks>, D::Error> {
    read(from, values::communicators)
}

fn sizes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Bytes>, D::Error> {
    read(from, values::sizes)
}

fn budget<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Budget>, D::Error> {
    read(from, values::budget).map(Some)
}
