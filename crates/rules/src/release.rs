//! Open MPI versions, and the release families whose behaviour is known.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::BadText;
use crate::{names, read_from_text, stored_as_text};

names! {
    /// A family of Open MPI versions that share reader and algorithm tables, patch-level differences aside.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Release {
        /// 4.0.x
        #[serde(rename = "4.0")]
        V4_0 "4.0",
        /// 4.1.x
        #[serde(rename = "4.1")]
        V4_1 "4.1",
        /// 5.0.x
        #[serde(rename = "5.0")]
        V5_0 "5.0",
        /// 6.0.x
        #[serde(rename = "6.0")]
        V6_0 "6.0",
    }
}

/// An Open MPI version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
    /// Released, or built before that.
    pub maturity: Maturity,
}

/// Maturity of a version: builds before a release have a letter after its number, as in `6.0.0rc2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Maturity {
    /// `a1`.
    Alpha(u32),
    /// `b1`.
    Beta(u32),
    /// `rc1`.
    Candidate(u32),
    /// The release.
    #[default]
    Released,
}

impl Release {
    /// Returns true if its rules files can distinguish communicators of one size by their distribution over nodes.
    pub fn tells_distributions(self) -> bool {
        self >= Self::V6_0
    }

    /// The family that a version belongs to.
    pub fn from_version(version: Version) -> Result<Self, BadText> {
        let family = format!("{}.{}", version.major, version.minor);
        let found = Self::ALL.into_iter().find(|release| release.name() == family);
        found.ok_or_else(|| BadText(Self::describe_unknown(&version.to_string())))
    }

    pub(crate) fn describe_unknown(version: &str) -> String {
        format!("Open MPI {version} is unknown; known release families are {}", Self::ALL.map(Self::name).join(", "))
    }

    /// Reads a family (`5.0`) or any version of it (`5.0.11`).
    fn read(text: &str) -> Result<Self, String> {
        let version = text.parse().ok();
        version.and_then(|version| Self::from_version(version).ok()).ok_or_else(|| Self::describe_unknown(text))
    }
}

read_from_text!(Release);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        match self.maturity {
            Maturity::Alpha(number) => write!(f, "a{number}"),
            Maturity::Beta(number) => write!(f, "b{number}"),
            Maturity::Candidate(number) => write!(f, "rc{number}"),
            Maturity::Released => Ok(()),
        }
    }
}

impl Version {
    /// The release that the version is, or is made for.
    pub fn as_release(self) -> Self {
        Self { maturity: Maturity::Released, ..self }
    }
}

impl Maturity {
    /// The maturity that a text after the last number begins with; unknown text is a packager's own.
    fn from_suffix(suffix: &str) -> Self {
        let number = |mark: &str| {
            let rest = suffix.strip_prefix(mark)?;
            let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
            digits.parse().ok()
        };
        let maturities = [number("a").map(Self::Alpha), number("b").map(Self::Beta), number("rc").map(Self::Candidate)];
        maturities.into_iter().flatten().next().unwrap_or_default()
    }
}

impl Version {
    fn read(text: &str) -> Option<Self> {
        let mut fields = text.trim().splitn(3, '.');
        let mut maturity = Maturity::Released;
        let mut number = |required: bool| {
            let Some(field) = fields.next() else { return (!required).then_some(0) };
            let end = field.find(|c: char| !c.is_ascii_digit()).unwrap_or(field.len());
            maturity = Maturity::from_suffix(&field[end..]);
            field[..end].parse().ok()
        };
        let (major, minor, patch) = (number(true)?, number(true)?, number(false)?);
        Some(Self { major, minor, patch, maturity })
    }
}

read_from_text!(Version, "is not an Open MPI version; write one like 4.1.4 or 5.0");
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
    fn builds_before_a_release_are_told_apart_and_come_before_it() {
        let version = |text: &str| text.parse::<Version>().expect("a version");
        let ordered = ["5.0.11", "6.0.0a1", "6.0.0b1", "6.0.0rc1", "6.0.0rc2", "6.0.0", "6.0.1"];
        assert!(ordered.windows(2).all(|pair| version(pair[0]) < version(pair[1])));
        for text in ordered {
            assert_eq!(version(text).to_string(), text);
        }
        assert_eq!(version("6.0.0rc2").as_release(), version("6.0.0"));
        for (text, same) in [("6.0a1", "6.0.0a1"), ("4.1.4-1", "4.1.4"), ("4.1.7a1-git", "4.1.7a1"), ("5.0", "5.0.0")] {
            assert_eq!(version(text), version(same), "{text}");
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
