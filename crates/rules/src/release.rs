//! Open MPI versions, and the release families whose behaviour is known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{names, stored_as_text};

/// A family of Open MPI versions that share reader and algorithm tables, patch-level differences aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Release {
    /// 4.0.x
    #[serde(rename = "4.0")]
    V4_0,
    /// 4.1.x
    #[serde(rename = "4.1")]
    V4_1,
    /// 5.0.x
    #[serde(rename = "5.0")]
    V5_0,
    /// 6.0.x
    #[serde(rename = "6.0")]
    V6_0,
}

/// An Open MPI version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number; pre-release suffixes are dropped.
    pub patch: u32,
}

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an Open MPI version; write one like 4.1.4 or 5.0")]
pub struct BadVersion(String);

/// A version outside the families that are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Open MPI {0} is unknown; known release families are {names}", names = Release::names())]
pub struct UnknownRelease(pub String);

names!(Release {
    V4_0 "4.0",
    V4_1 "4.1",
    V5_0 "5.0",
    V6_0 "6.0",
});

impl Release {
    /// Whether its rules files can tell communicators of one size apart by how they lie on nodes.
    pub fn tells_distributions(self) -> bool {
        self >= Self::V6_0
    }

    /// The family that a version belongs to.
    pub fn of(version: Version) -> Result<Self, UnknownRelease> {
        match (version.major, version.minor) {
            (4, 0) => Ok(Self::V4_0),
            (4, 1) => Ok(Self::V4_1),
            (5, 0) => Ok(Self::V5_0),
            (6, 0) => Ok(Self::V6_0),
            _ => Err(UnknownRelease(version.to_string())),
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl FromStr for Release {
    type Err = UnknownRelease;

    /// Reads a family (`5.0`) or any version of it (`5.0.11`).
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let version: Version = text.parse().map_err(|_| UnknownRelease(text.to_owned()))?;
        Self::of(version).map_err(|_| UnknownRelease(text.to_owned()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion(text.to_owned());
        let mut fields = text.trim().splitn(3, '.');
        let mut number = |required: bool| -> Result<u32, BadVersion> {
            let Some(field) = fields.next() else { return if required { Err(bad()) } else { Ok(0) } };
            let digits = field.find(|c: char| !c.is_ascii_digit()).map_or(field, |end| &field[..end]);
            digits.parse().map_err(|_| bad())
        };
        Ok(Self { major: number(true)?, minor: number(true)?, patch: number(false)? })
    }
}

stored_as_text!(Version);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_find_their_family() {
        for (text, release) in [
            ("4.0.7", Release::V4_0),
            ("4.1.4", Release::V4_1),
            ("5.0.11", Release::V5_0),
            ("6.0.0a1", Release::V6_0),
            ("5.0", Release::V5_0),
        ] {
            assert_eq!(text.parse(), Ok(release), "{text}");
        }
    }

    #[test]
    fn unknown_versions_list_the_known() {
        for text in ["3.1.6", "6.1.0a1", "7", "main", ""] {
            let error = text.parse::<Release>().expect_err(text).to_string();
            assert!(error.contains("4.0, 4.1, 5.0, 6.0"), "{error}");
        }
    }
}
