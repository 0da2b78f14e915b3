//! Handling of rules files by each version of Open MPI: the release families and the patch levels at which it changes.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::names::BadText;
use crate::read_from_text;
use crate::release::{Maturity, Release, Version};

/// Handling of rules files by one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Behaviour {
    /// The version.
    pub version: Version,
    /// Its family, which decides the algorithms and the size metric.
    pub release: Release,
    /// Reads `rule-file-version-N` and the optional fifth column; earlier versions take the `-N` for a negative number
    /// and reject the file (4.1.8, 5.0.7, 6.0).
    pub reads_header: bool,
    /// Gives rules without the fifth column the value that `coll_tuned_alltoall_algorithm_max_requests` has when the
    /// file is read, instead of 0 (4.1.8, 5.0.7, 6.0).
    pub inherits_requests: bool,
    /// Tries to read JSON before the classic format (6.0).
    pub reads_json: bool,
    /// Takes the first range that matches instead of walking the list (6.0).
    pub first_match: bool,
    /// Takes a communicator size of a classic file for the end of its range instead of the beginning (6.0).
    pub shifts_sizes: bool,
    /// Lets forced algorithms (`coll_tuned_bcast_algorithm`) beat the file; up to 4.1 the file beats them.
    pub forced_first: bool,
    /// Lets `coll/han` handle most collectives of communicators that span nodes, so rules seem to be ignored (5.0).
    pub han_first: bool,
}

/// The last patch levels that were read, one per family.
const LATEST: [Version; 4] = [version(4, 0, 7), version(4, 1, 8), version(5, 0, 11), version(6, 0, 0)];

const fn version(major: u32, minor: u32, patch: u32) -> Version {
    Version { major, minor, patch, maturity: Maturity::Released }
}

impl Behaviour {
    /// Returns the behaviour of a version, exact to its patch level; `5.0.0` is the very first 5.0.
    pub fn from_version(version: Version) -> Result<Self, BadText> {
        let release = Release::from_version(version)?;
        let since = |in_4_1, in_5_0| match release {
            Release::V4_0 => false,
            Release::V4_1 => version.patch >= in_4_1,
            Release::V5_0 => version.patch >= in_5_0,
            Release::V6_0 => true,
        };
        let new = release >= Release::V6_0;
        Ok(Self {
            version,
            release,
            reads_header: since(8, 7),
            inherits_requests: since(8, 7),
            reads_json: new,
            first_match: new,
            shifts_sizes: new,
            forced_first: release >= Release::V5_0,
            han_first: release >= Release::V5_0,
        })
    }

    /// Returns the behaviour of the last known version of a family.
    pub fn latest(release: Release) -> Self {
        Self::from_version(LATEST[release as usize]).expect("the latest versions belong to known families")
    }

    /// One version for each distinct way of reading files, oldest first.
    pub fn distinct() -> Vec<Self> {
        let [v4_0, v4_1, v5_0, v6_0] = LATEST;
        let versions = [v4_0, version(4, 1, 7), v4_1, version(5, 0, 6), v5_0, v6_0];
        versions.into_iter().filter_map(|version| Self::from_version(version).ok()).collect()
    }

    /// The versions that read files like this one, as in `4.1.0 to 4.1.7`.
    pub fn name(&self) -> &'static str {
        match (self.release, self.reads_header) {
            (Release::V4_0, _) => "4.0",
            (Release::V4_1, false) => "4.1.0 to 4.1.7",
            (Release::V4_1, true) => "4.1.8 and later",
            (Release::V5_0, false) => "5.0.0 to 5.0.6",
            (Release::V5_0, true) => "5.0.7 and later",
            (Release::V6_0, _) => "6.0",
        }
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Writes the name.
impl Serialize for Behaviour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Behaviour {
    /// Reads a version (`5.0.3`), or a family (`5.0`), which stands for the last known version of it.
    fn read(text: &str) -> Result<Self, String> {
        let release: Release = text.parse()?;
        if text.trim().matches('.').count() < 2 {
            return Ok(Self::latest(release));
        }
        let version = text.parse().ok().and_then(|version| Self::from_version(version).ok());
        version.ok_or_else(|| Release::describe_unknown(text))
    }
}

read_from_text!(Behaviour);

#[cfg(test)]
mod tests {
    use super::*;

    fn behave(text: &str) -> Behaviour {
        text.parse().expect(text)
    }

    #[test]
    fn patch_levels_change_what_is_read() {
        for (text, header) in [
            ("4.0.7", false),
            ("4.1.0", false),
            ("4.1.7", false),
            ("4.1.8", true),
            ("5.0.0", false),
            ("5.0.6", false),
            ("5.0.7", true),
            ("5.0.11", true),
            ("6.0.0a1", true),
        ] {
            assert_eq!(behave(text).reads_header, header, "{text}");
            assert_eq!(behave(text).inherits_requests, header, "{text}");
            assert_eq!(behave(text).reads_json, text.starts_with('6'), "{text}");
        }
        assert_eq!(["4.0", "4.1", "5.0", "6.0"].map(|text| behave(text).forced_first), [false, false, true, true]);
    }

    #[test]
    fn a_family_is_its_last_known_version() {
        for (family, version) in [("4.0", "4.0.7"), ("4.1", "4.1.8"), ("5.0", "5.0.11"), ("6.0", "6.0.0")] {
            assert_eq!(behave(family), behave(version));
            assert_eq!(behave(family).version.to_string(), version);
        }
        for text in ["", "main", "3.1", "7.0.0", "6.1.0"] {
            let error = text.parse::<Behaviour>().expect_err(text).to_string();
            assert!(error.contains("4.0, 4.1, 5.0, 6.0"), "{error}");
        }
    }

    #[test]
    fn distinct_behaviours_are_named() {
        let names: Vec<_> = Behaviour::distinct().iter().map(Behaviour::to_string).collect();
        let expected = ["4.0", "4.1.0 to 4.1.7", "4.1.8 and later", "5.0.0 to 5.0.6", "5.0.7 and later", "6.0"];
        assert_eq!(names, expected);
        let versions: Vec<_> = Behaviour::distinct().iter().map(|behaviour| behaviour.version.to_string()).collect();
        assert_eq!(versions, ["4.0.7", "4.1.7", "4.1.8", "5.0.6", "5.0.11", "6.0.0"]);
    }
}
