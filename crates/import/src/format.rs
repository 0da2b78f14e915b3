//! Detection of a file's format by its content; names do not matter.

use collrules_rules::names;
use serde::{Deserialize, Serialize};

use super::{imb, osu, predecessor, reprompi};
use crate::headers;

names! {
    /// A format that is read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ImportFormat {
        /// Text of the OSU micro-benchmarks.
        Osu "text of OSU micro-benchmarks",
        /// Text of IMB-MPI1.
        Imb "text of IMB-MPI1",
        /// Text of ReproMPI.
        Reprompi "text of ReproMPI",
        /// `detail.out` of ompi-collectives-tuning.
        Detail "detail.out of ompi-collectives-tuning",
        /// `best.out` of ompi-collectives-tuning.
        Best "best.out of ompi-collectives-tuning",
        /// A table with named columns.
        Table "a table",
    }
}

impl ImportFormat {
    /// The formats, for people.
    pub const NAMES: &str = "text of OSU, IMB-MPI1 or ReproMPI, detail.out or best.out of ompi-collectives-tuning, or a \
                             table with named columns";

    /// The format of a text, if it is known.
    pub(super) fn detect(text: &str) -> Option<Self> {
        // From the surest mark to the least.
        if let Some(is_best) = predecessor::is_best(text) {
            Some(if is_best { Self::Best } else { Self::Detail })
        } else if imb::is(text) {
            Some(Self::Imb)
        } else if reprompi::is(text) {
            Some(Self::Reprompi)
        } else if osu::is(text) {
            Some(Self::Osu)
        } else {
            delimiter(text).map(|_| Self::Table)
        }
    }
}

/// Returns the separator of the columns of a table: the character that divides its first line into the most known
/// names. A table has at least a column of times and one of sizes, ranks or the like.
pub(super) fn delimiter(text: &str) -> Option<u8> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let is_known = |name: &&str| headers::meaning(name.trim().trim_matches('"')).is_some();
    let known = |delimiter: u8| first.split(char::from(delimiter)).filter(is_known).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|delimiter| known(*delimiter)).filter(|best| known(*best) >= 2)
}
