//! A tuning that was installed for an Open MPI: what was put where, and what it was made from. `installed.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use collrules_rules::{Release, Version};
use serde::{Deserialize, Serialize};

use crate::format::FormatVersion;

/// The version of `installed.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The name of the file, beside the files that it tells of.
pub const INSTALLED: &str = "installed.json";

/// A tuning that was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The version of collrules that installed it.
    pub collrules: String,
    /// When, in UTC, as in RFC 3339.
    pub installed: String,
    /// What it was installed for.
    pub openmpi: Installation,
    /// The parameter file that switches it on.
    pub parameters: PathBuf,
    /// The run that it was made in.
    pub run: PathBuf,
    /// When that was begun; missing for what was not measured by collrules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The release that it was made for.
    pub release: Release,
    /// The version that was measured; missing for what was not measured by collrules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The SHA-256 digests of the files beside this one, by name.
    pub files: BTreeMap<String, String>,
    /// The settings in the parameter file.
    pub settings: BTreeMap<String, String>,
}

/// An Open MPI on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// The directory that it was installed into.
    pub prefix: PathBuf,
    /// Its version.
    pub version: Version,
    /// The directory of its parameter files.
    pub configuration: PathBuf,
}

impl Installation {
    /// The parameter file for everybody.
    pub fn parameters(&self) -> PathBuf {
        self.configuration.join("openmpi-mca-params.conf")
    }

    /// The parameter file that nothing can override, not even a command line.
    pub fn override_parameters(&self) -> PathBuf {
        self.configuration.join("openmpi-mca-params-override.conf")
    }
}
