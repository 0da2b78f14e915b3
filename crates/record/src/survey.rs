//! State of the system before measuring.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::{Collective, Version};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::units::{Bytes, Ranks, Seconds};

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
    #[serde(default, with = "crate::packed")]
    pub places: Vec<Binding>,
    /// The algorithms that the running library lists, id and name, per collective.
    pub algorithms: BTreeMap<Collective, Vec<(u32, String)>>,
    /// The collectives whose algorithm the library does not allow to change while a job runs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_switchable: BTreeSet<Collective>,
    /// `coll_tuned` parameters that were already set before collrules set any, by full name.
    pub preset: BTreeMap<String, String>,
    /// The components of Open MPI that may handle blocking collectives, with their priorities: the highest wins.
    #[serde(default)]
    pub components: BTreeMap<Component, i32>,
    /// The eager limits of the components that carry messages (`tcp`, and `sm` or `vader`): longer messages wait for
    /// their receiver. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eager: BTreeMap<String, Bytes>,
    /// The smallest step of the clock that times the calls.
    pub clock_step: Seconds,
}

impl Survey {
    /// The number of available slots.
    pub fn slots(&self) -> Ranks {
        Ranks(u32::try_from(self.hosts.len()).unwrap_or(u32::MAX))
    }
}
