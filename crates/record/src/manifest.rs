//! Provenance of the numbers of a run: no number is stored without it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::allocation::Allocation;
use crate::experiment::Experiment;
pub use crate::format::FormatVersion;
use crate::options::Request;
use crate::plan::Plan;
use crate::survey::Survey;
use crate::units::Ranks;

/// The format that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Value of `backend` in the manifest of an imported run.
pub const IMPORTED: &str = "import";
/// Value of `backend` in the manifest of a measured run.
pub const MEASURED: &str = "mpi";
/// Value of `backend` in the manifest of a run with times from a cost model.
pub const SIMULATED: &str = "simulation";

/// Everything about a run except its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the run directory.
    pub format: FormatVersion,
    /// The version of collrules that measured.
    pub collrules: String,
    /// When the run began, in UTC, as in RFC 3339.
    pub started: String,
    /// Backend that measured: `mpi`, or `simulation` for a cost model.
    pub backend: String,
    /// The command line of collrules, for people.
    pub command: Vec<String>,
    /// Options of the user.
    pub request: Request,
    /// Experiment behind the plan; none for a validation and for an imported run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Experiment>,
    /// The command that starts the measuring job; empty for a simulation.
    pub launcher: Vec<String>,
    /// Variables of the environment that Open MPI reads: `OMPI_*`, `PRTE_*`, `PMIX_*`.
    pub environment: BTreeMap<String, String>,
    /// Kernel and processor of the host that ran collrules, as far as the system tells.
    pub host: BTreeMap<String, String>,
    /// The batch jobs in which it was measured, session by session; empty outside of any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<Allocation>,
    /// MCA settings that the run needed and that the rules file needs as well, such as switching off a component.
    pub pins: BTreeMap<String, String>,
    /// State of the system before measuring.
    pub survey: Survey,
    /// Cells and candidates to measure.
    pub plan: Plan,
    /// The runs that were merged into this one; empty if it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<SourceRun>,
}

impl Manifest {
    /// Returns true if the times come from a cost model.
    pub fn is_simulated(&self) -> bool {
        self.backend == SIMULATED
    }
}

/// A run that became a part of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRun {
    /// Its directory at that time.
    pub run: PathBuf,
    /// When it was begun.
    pub started: String,
    /// The ranks of its job.
    pub ranks: Ranks,
}

/// The time now, in UTC, as in RFC 3339.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The local time now, in the form for file names: `20261121-153000`.
pub fn stamp() -> String {
    jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string()
}

/// Kernel and processor of this host, as far as the system tells.
pub fn host() -> BTreeMap<String, String> {
    let first_line = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.lines().next().unwrap_or_default().trim().to_owned())
    };
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpuinfo.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    let facts = [
        ("Host", first_line("/proc/sys/kernel/hostname")),
        ("Kernel", first_line("/proc/sys/kernel/osrelease")),
        ("Processor", model),
        ("Processors", std::thread::available_parallelism().ok().map(|count| count.to_string())),
        ("Load", first_line("/proc/loadavg")),
    ];
    facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
