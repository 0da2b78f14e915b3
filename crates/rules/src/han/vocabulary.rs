//! Vocabulary of HAN's rules files: topology levels, components, algorithms.
//!
//! From `ompi/mca/coll/han/coll_han_dynamic.h`, `coll_han_component.c` and `coll_han_algorithms.c`. Tested on 5.0.11;
//! 4.1 is read from source only, 6.0 from that of its branch at bb1c85d203.

use serde::Serialize;

use crate::collective::Collective;
use crate::names;
use crate::release::Release;

names! {
    /// The communicator that a rule is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level, read as "topology level" {
        /// The communicator of the ranks of one node, which HAN makes.
        IntraNode "intra_node",
        /// The communicator of one rank per node, which HAN makes.
        InterNode "inter_node",
        /// The program's communicator.
        GlobalCommunicator "global_communicator",
    }
}

impl Level {
    /// The id in files, which every release reads.
    pub fn id(self) -> u32 {
        self as u32
    }
}

names! {
    /// A component that a rule may name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum HanComponent {
        /// Communicators of one rank.
        #[serde(rename = "self")]
        Own "self",
        /// Simple algorithms.
        Basic "basic",
        /// Non-blocking collectives only.
        Libnbc "libnbc",
        /// coll/tuned, with its rules.
        Tuned "tuned",
        /// Shared memory; 6.0 still knows the name, but has no such component.
        Sm "sm",
        /// Event-driven bcast and reduce; HAN uses it below.
        Adapt "adapt",
        /// HAN itself.
        Han "han",
        /// Shared memory, from 6.0 on.
        Xhc "xhc",
    }
}

impl HanComponent {
    /// The components that files of a release may name.
    pub fn known(release: Release) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |component| *component != Self::Xhc || release >= Release::V6_0)
    }

    /// The component of a name, as a release compares it.
    pub fn from_name(release: Release, name: &[u8]) -> Option<Self> {
        Self::known(release).find(|component| component.name().as_bytes() == name)
    }

    /// Returns true if some release knows a component of this name, in any case, and also if an algorithm is attached
    /// to it.
    pub(crate) fn is_name(name: &[u8]) -> bool {
        let name = name.split(|byte| *byte == b'@').next().unwrap_or(name);
        Self::ALL.iter().any(|component| component.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// Choice of a rule: a component, and for `han` one of its algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ComponentChoice {
    /// The component.
    pub component: HanComponent,
    /// The algorithm of `han`, by its place in [`algorithms`] counted from 1; 0 is its default.
    pub algorithm: u32,
}

impl ComponentChoice {
    /// A component, `han` with its default.
    pub fn from_component(component: HanComponent) -> Self {
        Self { component, algorithm: 0 }
    }

    /// As in a file: `tuned`, or `han @simple`.
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

/// HAN's algorithms for a collective, without its default; empty if it has none or the release reads none.
pub fn algorithms(release: Release, id: u32) -> &'static [&'static str] {
    match (release, Collective::from_id(id)) {
        (Release::V4_0 | Release::V4_1, _) => &[],
        (_, Some(Collective::Barrier)) => &["simple"],
        (_, Some(Collective::Bcast | Collective::Scatter | Collective::Gather | Collective::Allgather)) => {
            &["intra", "simple"]
        }
        (_, Some(Collective::Reduce | Collective::Allreduce)) => &["intra", "simple", "reproducible"],
        (Release::V6_0, Some(Collective::Alltoall | Collective::Alltoallv)) => &["smsc"],
        // gatherv and scatterv.
        (Release::V6_0, None) if matches!(id, 10 | 16) => &["intra"],
        _ => &[],
    }
}

/// Returns true if a release has HAN.
pub fn is_in(release: Release) -> bool {
    release > Release::V4_0
}

/// Returns true if HAN looks up rules for a collective at all (`mca_coll_han_is_coll_dynamic_implemented`).
pub fn is_ruled(release: Release, id: u32) -> bool {
    let since_6_0 = release >= Release::V6_0 && matches!(id, 3 | 4 | 10 | 16);
    since_6_0 || is_in(release) && matches!(id, 0 | 1 | 2 | 6 | 7 | 9 | 11 | 15)
}

/// Component that carries out a call for which a rule names a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// The component itself.
    Named(HanComponent),
    /// The component itself if its priority is raised above 0; it is off by default, which means [`Service::Next`].
    IfRaised(HanComponent),
    /// The component cannot: HAN passes the call to the component with the next lower priority, usually `tuned`.
    Next,
}

/// Returns the component that carries out a call of a collective, by its id, on a level, if a rule names this
/// component.
pub fn service(id: u32, level: Level, component: HanComponent) -> Service {
    let collective = Collective::from_id(id);
    let holds = match component {
        // It keeps itself out of its own communicators, so that nothing goes in circles.
        HanComponent::Han => level == Level::GlobalCommunicator && collective != Some(Collective::Allgatherv),
        // adapt stands back from communicators of its own accord, sm is off, and the others have no blocking collectives
        // for several ranks: seen on 5.0.11.
        HanComponent::Adapt | HanComponent::Own | HanComponent::Libnbc | HanComponent::Sm => false,
        // It handles communicators within a node, and these collectives (`coll_xhc_module.c`).
        HanComponent::Xhc => {
            use Collective::{Allreduce, Barrier, Bcast, Reduce};
            let has = matches!(collective, Some(Allreduce | Barrier | Bcast | Reduce));
            return if has && level == Level::IntraNode { Service::IfRaised(component) } else { Service::Next };
        }
        // It has no gatherv and no scatterv.
        HanComponent::Tuned => collective.is_some(),
        HanComponent::Basic => true,
    };
    if holds { Service::Named(component) } else { Service::Next }
}

/// Describes the component that carries out a call of a collective on a level, given the choice of a rule.
pub fn runs(collective: Collective, level: Level, choice: Option<ComponentChoice>) -> String {
    let Some(choice) = choice else {
        return "what HAN's parameters say: han for programs' communicators, tuned below".to_owned();
    };
    match service(collective.id(), level, choice.component) {
        Service::Named(HanComponent::Tuned) => "tuned, by its own rules file where there is one".to_owned(),
        Service::Named(_) => choice.words(collective),
        Service::IfRaised(component) => {
            format!("{component} if coll_{component}_priority is above 0 (default: 0), else tuned")
        }
        Service::Next => {
            format!("the component with the next lower priority, since {} cannot run it", choice.component)
        }
    }
}

/// Returns the collectives that HAN calls on its own communicators to carry out a collective: on those of the ranks of
/// a node, and on those of one rank per node. coll/tuned carries out these calls with its rules for these numbers of
/// ranks (`coll_han_subcomms.c`, and each collective's file; between nodes coll/libnbc carries out nonblocking ones).
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

/// The collectives of programs that rules for a collective on a level affect: itself, or those for which HAN calls it.
pub fn acted_on(collective: Collective, level: Level) -> Vec<Collective> {
    if level == Level::GlobalCommunicator {
        return vec![collective];
    }
    Collective::ALL.into_iter().filter(|outer| inner(*outer).contains(&(level, collective))).collect()
}

/// The size that HAN looks up: that of the caller. Unlike coll/tuned, it does not multiply blocks by ranks.
pub fn lookup_bytes(collective: Collective, message: u64) -> u64 {
    if collective.has_sizes() { message } else { 0 }
}
