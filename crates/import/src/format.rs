//! Detection of a file's format by its content; names do not matter.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{imb, osu, predecessor, reprompi};
use crate::headers;

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportFormat {
    /// Text of the OSU micro-benchmarks.
    Osu,
    /// Text of IMB-MPI1.
    Imb,
    /// Text of ReproMPI.
    Reprompi,
    /// `detail.out` of ompi-collectives-tuning.
    Detail,
    /// `best.out` of ompi-collectives-tuning.
    Best,
    /// A table with named columns.
    Table,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Osu => "text of OSU micro-benchmarks",
            Self::Imb => "text of IMB-MPI1",
            Self::Reprompi => "text of ReproMPI",
            Self::Detail => "detail.out of ompi-collectives-tuning",
            Self::Best => "best.out of ompi-collectives-tuning",
            Self::Table => "a table",
        })
    }
}

impl ImportFormat {
    /// The formats, for people.
    pub const NAMES: &str = "text of OSU, IMB-MPI1 or ReproMPI, detail.out or best.out of ompi-collectives-tuning, or a \
                             table with named columns";

    /// The format of a text, if it is known.
    pub(super) fn detect(text: &str) -> Option<Self> {
        // From the surest mark to the least.
        if predecessor::is(text) {
            return Some(if predecessor::is_best(text) { Self::Best } else { Self::Detail });
        }
        if imb::is(text) {
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
    let known = |delimiter: u8| {
        first
            .split(char::from(delimiter))
            .filter(|name| headers::meaning(name.trim().trim_matches('"')).is_some())
            .count()
    };
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|delimiter| known(*delimiter)).filter(|best| known(*best) >= 2)
}
