//! What was found on the system before measuring.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::{Collective, Version};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::units::{Bytes, Ranks, Seconds};

/// Where a rank may run, and under which limits, as the kernel tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Binding {
    /// The processors that it may run on, as in `0-3,8`.
    pub processors: String,
    /// The number of processors that its host has switched on; 0 where that is unknown.
    pub online: u32,
    /// The memory that it may lock, in bytes; missing where there is no limit, or none is known.
    pub lockable: Option<u64>,
    /// What decides the frequency of the host's first processor; missing where nothing does, or nobody says.
    pub governor: Option<String>,
}

/// The running Open MPI and the slots at hand, as a worker job reported them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// What `MPI_Get_library_version` says.
    pub library: String,
    /// The version read from it.
    pub version: Version,
    /// The host of each rank of a job that fills all slots, in rank order.
    #[serde(with = "crate::packed")]
    pub hosts: Vec<String>,
    /// Where each rank of that job may run, in rank order.
    #[serde(default, with = "crate::packed")]
    pub places: Vec<Binding>,
    /// The algorithms that the running library lists, id and name, per collective.
    pub algorithms: BTreeMap<Collective, Vec<(u32, String)>>,
    /// The collectives whose algorithm the library does not let be set while a job runs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_switchable: BTreeSet<Collective>,
    /// `coll_tuned` parameters that were already set to something before we set anything, by full name.
    pub preset: BTreeMap<String, String>,
    /// The components of Open MPI that may serve blocking collectives, with their priorities: the highest serves.
    #[serde(default)]
    pub components: BTreeMap<Component, i32>,
    /// The eager limits of what messages go by (`tcp`, and `sm` or `vader`): what is longer waits for its receiver. In runs of
    /// earlier versions there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eager: BTreeMap<String, Bytes>,
    /// The smallest step of the clock that times the calls.
    pub clock_step: Seconds,
}

impl Survey {
    /// The number of slots at hand.
    pub fn slots(&self) -> Ranks {
        Ranks(u32::try_from(self.hosts.len()).unwrap_or(u32::MAX))
    }
}
