//! A tuning that was installed for an Open MPI, with its files and origin: `installed.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collrules_rules::{Release, Version};
use serde::{Deserialize, Serialize};

use crate::file::FormatVersion;

/// The version of `installed.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The name of the file, next to the files that it describes.
pub const INSTALLED: &str = "installed.json";

/// Returns true if `collrules install` put this rules file there.
pub fn is_installed(rules: &Path) -> bool {
    rules.parent().is_some_and(|directory| directory.join(INSTALLED).is_file())
}

/// A tuning that was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The version of collrules that installed it.
    pub collrules: String,
    /// Time of the installation, in UTC, as in RFC 3339.
    pub installed: String,
    /// Open MPI installation that it was installed for.
    pub openmpi: Installation,
    /// The parameter file that switches it on.
    pub parameters: PathBuf,
    /// The run that it was made in.
    pub run: PathBuf,
    /// When that run was begun; missing if collrules did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The release that it was made for.
    pub release: Release,
    /// The version that was measured; missing if collrules did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The SHA-256 digests of the files next to this one, by name.
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
    /// The parameter file for all users.
    pub fn parameters(&self) -> PathBuf {
        self.configuration.join("openmpi-mca-params.conf")
    }

    /// The parameter file that nothing can override, not even options of mpirun.
    pub fn override_parameters(&self) -> PathBuf {
        self.configuration.join("openmpi-mca-params-override.conf")
    }
}
