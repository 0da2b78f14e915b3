//! Provenance of the numbers of a run, the system that was measured among it: no number is stored without it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use collrules_rules::words::some;
use collrules_rules::{Collective, Version};
use serde::{Deserialize, Serialize};

use crate::allocation::Allocation;
use crate::component::Component;
use crate::experiment::Experiment;
use crate::file::FormatVersion;
use crate::options::Request;
use crate::plan::Plan;
use crate::transport::Transport;
use crate::units::{Bytes, Ranks, Seconds};

/// The format that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

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
    /// Experiment behind the plan.
    pub experiment: Experiment,
    /// The command that starts the measuring job; empty for a simulation.
    pub launcher: Vec<String>,
    /// Variables of the environment that Open MPI reads: `OMPI_*`, `PRTE_*`, `PMIX_*`.
    pub environment: BTreeMap<String, String>,
    /// Kernel and processor of the host that ran collrules, as far as the system tells.
    pub host: BTreeMap<String, String>,
    /// The batch jobs in which it was measured, session by session; empty outside of any.
    pub allocations: Vec<Allocation>,
    /// MCA settings that the run needed and that the rules file needs as well, such as switching off a component.
    pub pins: BTreeMap<String, String>,
    /// State of the system before measuring.
    pub survey: Survey,
    /// Cells and candidates to measure.
    pub plan: Plan,
    /// The runs that were merged into this one; empty if it was measured.
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

/// Processors that a rank may run on, and its limits, as the kernel reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Binding {
    /// The processors that it may run on, as in `0-3,8`.
    pub processors: String,
    /// The number of processors that are online on its host; 0 if unknown.
    pub online: u32,
    /// The memory that it may lock, in bytes; missing if there is no limit, or it is unknown.
    pub lockable: Option<u64>,
    /// Governor of the frequency of the host's first processor; missing if there is none or it is unknown.
    pub governor: Option<String>,
}

/// The running Open MPI and the available slots, as reported by a worker job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Text of `MPI_Get_library_version`.
    pub library: String,
    /// Its version.
    pub version: Version,
    /// The host of each rank of a job that fills all slots, in rank order.
    #[serde(with = "crate::packed")]
    pub hosts: Vec<String>,
    /// Processors and limits of each rank of that job, in rank order.
    #[serde(with = "crate::packed")]
    pub places: Vec<Binding>,
    /// The algorithms that the running library lists, id and name, per collective.
    pub algorithms: BTreeMap<Collective, Vec<(u32, String)>>,
    /// The collectives whose algorithm the library does not allow to change while a job runs.
    pub not_switchable: BTreeSet<Collective>,
    /// Forced algorithms and rules files of `coll/tuned` and `coll/han` that were set before collrules set any, by full name.
    pub preset: BTreeMap<String, String>,
    /// The components of Open MPI that may handle blocking collectives, with their priorities: the highest wins.
    pub components: BTreeMap<Component, i32>,
    /// The transport of the job's messages; missing if it is unknown, and in a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The eager limits of the components that carry messages (`tcp`, and `sm` or `vader`): longer messages wait for
    /// their receiver. Empty in runs of earlier versions.
    pub eager: BTreeMap<String, Bytes>,
    /// The smallest step of the clock that times the calls.
    pub clock_step: Seconds,
}

impl Survey {
    /// The number of available slots.
    pub fn slots(&self) -> Ranks {
        Ranks(u32::try_from(self.hosts.len()).unwrap_or(u32::MAX))
    }

    /// The different hosts.
    pub fn nodes(&self) -> BTreeSet<&String> {
        self.hosts.iter().collect()
    }

    /// The slots of the hosts, such as `1 on a, 42 on b and c`, if they differ.
    pub fn uneven_nodes(&self) -> Option<String> {
        const NAMED: usize = 3;
        let mut slots: BTreeMap<&String, usize> = BTreeMap::new();
        self.hosts.iter().for_each(|host| *slots.entry(host).or_default() += 1);
        let mut hosts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        slots.into_iter().for_each(|(host, slots)| hosts.entry(slots).or_default().push(host.clone()));
        let described = hosts.iter().map(|(slots, hosts)| format!("{slots} on {}", some(hosts, NAMED)));
        (hosts.len() > 1).then(|| described.collect::<Vec<_>>().join(", "))
    }
}
