//! What HAN's rules files speak of: topology levels, components, algorithms.
//!
//! From `ompi/mca/coll/han/coll_han_dynamic.h`, `coll_han_component.c` and `coll_han_algorithms.c`. Tried on 5.0.11; 4.1
//! and 6.0 are read from source only.

use std::str::FromStr;

use serde::Serialize;

use crate::collective::Collective;
use crate::names;
use crate::release::Release;

/// Which communicator a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The communicator of the ranks of one node, which HAN makes.
    IntraNode,
    /// The communicator of one rank per node, which HAN makes.
    InterNode,
    /// The program's communicator.
    GlobalCommunicator,
}

names!(Level {
    IntraNode "intra_node",
    InterNode "inter_node",
    GlobalCommunicator "global_communicator",
});

impl Level {
    /// The id in files, which every release reads.
    pub fn id(self) -> u32 {
        self as u32
    }
}

/// A name that is no topology level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown topology level `{0}`; known are intra_node, inter_node, global_communicator")]
pub struct UnknownLevel(pub String);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        let wanted = name.trim();
        let named = |level: &Self| level.name() == wanted;
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownLevel(wanted.to_owned()))
    }
}

/// A component that a rule may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// Communicators of one rank.
    #[serde(rename = "self")]
    Own,
    /// Simple algorithms.
    Basic,
    /// Non-blocking collectives only.
    Libnbc,
    /// coll/tuned, with its rules.
    Tuned,
    /// Shared memory, up to 5.0.
    Sm,
    /// Event-driven bcast and reduce; HAN uses it below.
    Adapt,
    /// HAN itself.
    Han,
    /// Shared memory, from 6.0 on.
    Xhc,
}

names!(Component {
    Own "self",
    Basic "basic",
    Libnbc "libnbc",
    Tuned "tuned",
    Sm "sm",
    Adapt "adapt",
    Han "han",
    Xhc "xhc",
});

impl Component {
    /// The components that files of a release may name.
    pub fn known(release: Release) -> impl Iterator<Item = Self> {
        let absent = if release >= Release::V6_0 { Self::Sm } else { Self::Xhc };
        Self::ALL.into_iter().filter(move |component| *component != absent)
    }

    /// The component of a name, as a release compares it.
    pub fn named(release: Release, name: &[u8]) -> Option<Self> {
        Self::known(release).find(|component| component.name().as_bytes() == name)
    }

    /// Whether some release knows a component of this name, whatever its case, perhaps with an algorithm stuck to it.
    pub(crate) fn is_name(name: &[u8]) -> bool {
        let name = name.split(|byte| *byte == b'@').next().unwrap_or(name);
        Self::ALL.iter().any(|component| component.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// What a rule says: a component, and for `han` one of its algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Choice {
    /// The component.
    pub component: Component,
    /// The algorithm of `han`, by its place in [`algorithms`] counted from 1; 0 is its default.
    pub algorithm: u32,
}

impl Choice {
    /// A component, `han` with its default.
    pub fn of(component: Component) -> Self {
        Self { component, algorithm: 0 }
    }

    /// As a file says it: `tuned`, or `han @simple`.
    pub fn words(self, collective: Collective) -> String {
        let algorithm = (self.algorithm as usize).checked_sub(1);
        // Names are the same wherever there are any.
        let name = algorithm.and_then(|place| algorithms(Release::V6_0, collective.id()).get(place));
        match name {
            Some(name) => format!("{} @{name}", self.component),
            None => self.component.to_string(),
        }
    }
}

/// HAN's algorithms for a collective, without its default; nothing where it has none or the release reads none.
pub fn algorithms(release: Release, id: u32) -> &'static [&'static str] {
    match (release, Collective::from_id(id)) {
        (Release::V4_0 | Release::V4_1, _) => &[],
        (_, Some(Collective::Barrier)) => &["simple"],
        (_, Some(Collective::Bcast | Collective::Scatter | Collective::Gather | Collective::Allgather)) => {
            &["intra", "simple"]
        }
        (_, Some(Collective::Reduce | Collective::Allreduce)) => &["intra", "simple", "reproducible"],
        (Release::V6_0, Some(Collective::Alltoall)) => &["smsc", "disqualify"],
        // gatherv and scatterv.
        (Release::V6_0, None) if matches!(id, 10 | 16) => &["intra"],
        _ => &[],
    }
}

/// Whether HAN looks rules up for a collective at all (`mca_coll_han_is_coll_dynamic_implemented`).
pub fn is_ruled(release: Release, id: u32) -> bool {
    let since_6_0 = || matches!(id, 3 | 4 | 10 | 16);
    match release {
        Release::V4_0 => false,
        Release::V4_1 | Release::V5_0 => matches!(id, 0 | 1 | 2 | 6 | 7 | 9 | 11 | 15),
        Release::V6_0 => matches!(id, 0 | 1 | 2 | 6 | 7 | 9 | 11 | 15) || since_6_0(),
    }
}

/// Who carries out a call that a rule gives to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// The component itself.
    Named(Component),
    /// The component cannot: HAN passes the call to the component of the next lower priority, as a rule `tuned`.
    Next,
}

/// Who carries out a call of a collective on a level, where a rule names this component.
pub fn service(collective: Collective, level: Level, component: Component) -> Service {
    let serves = match component {
        // It keeps itself out of its own communicators, so that nothing goes in circles.
        Component::Han => level == Level::GlobalCommunicator && collective != Collective::Allgatherv,
        // adapt stands back from communicators of its own accord, sm is off, and the others have no blocking collectives
        // for several ranks: seen on 5.0.11.
        Component::Adapt | Component::Own | Component::Libnbc | Component::Sm => false,
        Component::Basic | Component::Tuned | Component::Xhc => true,
    };
    if serves { Service::Named(component) } else { Service::Next }
}

/// What HAN calls on communicators of its own to carry out a collective: on those of the ranks of a node, and on those of one
/// rank per node. coll/tuned serves these calls by its rules for as many ranks (`coll_han_subcomms.c`, and each collective's
/// file; between nodes coll/libnbc serves what is not blocking).
pub fn inner(collective: Collective) -> &'static [(Level, Collective)] {
    use Collective::{Allgather, Allreduce, Barrier, Bcast, Gather, Reduce, Scatter};
    use Level::{InterNode, IntraNode};
    match collective {
        Allreduce => &[(IntraNode, Reduce), (InterNode, Allreduce), (IntraNode, Bcast)],
        Allgather => &[(IntraNode, Gather), (InterNode, Allgather), (IntraNode, Bcast)],
        Barrier => &[(IntraNode, Barrier), (InterNode, Barrier)],
        Bcast => &[(IntraNode, Bcast), (InterNode, Bcast)],
        Gather => &[(IntraNode, Gather), (InterNode, Gather)],
        Reduce => &[(IntraNode, Reduce), (InterNode, Reduce)],
        Scatter => &[(IntraNode, Scatter), (InterNode, Scatter)],
        _ => &[],
    }
}

/// The collectives of programs that rules for a collective on a level act on: itself, or those for which HAN calls it.
pub fn acted_on(collective: Collective, level: Level) -> Vec<Collective> {
    if level == Level::GlobalCommunicator {
        return vec![collective];
    }
    Collective::ALL.into_iter().filter(|outer| inner(*outer).contains(&(level, collective))).collect()
}

/// The size that HAN looks up: what the caller passes. Unlike coll/tuned it does not multiply blocks by ranks.
pub fn lookup_bytes(collective: Collective, message: u64) -> u64 {
    if collective == Collective::Barrier { 0 } else { message }
}
