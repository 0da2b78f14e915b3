//! The transport of a job's messages.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// The components of Open MPI that carried the messages of a job, and the paths that they took.
///
/// A path names what carries a message and, after a slash, its network device, if that is known: `vader`, `tcp/eth0`;
/// lanes of UCX as it lists them, `rc_mlx5/mlx5_0:1 cma/memory`; provider and domain of libfabric, `net/eth0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// The component of the framework pml, which matches sends with receives: `ob1`, `ucx`, `cm`.
    pub pml: String,
    /// The component of the framework mtl: `ofi`, `psm2`. Only `cm` has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtl: Option<String>,
    /// Paths between ranks of a node; empty if no two ranks share one, or if they are unknown.
    pub inside: BTreeSet<String>,
    /// Paths between nodes; empty if there is one node, or if they are unknown.
    pub between: BTreeSet<String>,
}

impl Transport {
    /// Returns both transports if messages of two jobs took different paths, so that neither the times nor the tuning of
    /// one hold for the other. What is unknown of one job is no difference.
    pub fn change<'a>(before: &'a Option<Self>, after: &'a Option<Self>) -> Option<(&'a Self, &'a Self)> {
        before.as_ref().zip(after.as_ref()).filter(|(before, after)| before.differs_from(after))
    }

    /// Returns true if settings of a tuning decide on the transport, so that its jobs use another one than those in which
    /// it was measured without them.
    pub fn is_decided_by(settings: &Settings) -> bool {
        settings.keys().any(|name| matches!(name.as_str(), "pml" | "mtl" | "btl" | "env:UCX_TLS"))
    }

    /// Ranks of a larger job may use more devices: paths differ if each job has one that the other lacks.
    fn differs_from(&self, other: &Self) -> bool {
        let differ = |one: &BTreeSet<String>, other: &BTreeSet<String>| !one.is_subset(other) && !other.is_subset(one);
        (&self.pml, &self.mtl) != (&other.pml, &other.mtl)
            || differ(&self.inside, &other.inside)
            || differ(&self.between, &other.between)
    }

    /// The components, transports of UCX and providers, without devices; none if no path is known.
    pub fn carriers(&self) -> Option<BTreeSet<String>> {
        let paths: Vec<&String> = self.inside.iter().chain(&self.between).collect();
        let lanes = paths.iter().flat_map(|path| path.split(' ')).filter_map(|lane| lane.split('/').next());
        let mut names: BTreeSet<String> = lanes.flat_map(|lane| lane.split(';')).map(str::to_owned).collect();
        names.extend(std::iter::once(&self.pml).chain(&self.mtl).cloned());
        (!paths.is_empty()).then_some(names)
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pml)?;
        if let Some(mtl) = &self.mtl {
            write!(f, " with {mtl}")?;
        }
        let list = |paths: &BTreeSet<String>| paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let places = [("within nodes", &self.inside), ("between nodes", &self.between)].into_iter();
        let known = places.filter(|(_, paths)| !paths.is_empty());
        let known: Vec<String> = known.map(|(place, paths)| format!("{place} {}", list(paths))).collect();
        if known.is_empty() { Ok(()) } else { write!(f, " ({})", known.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(pml: &str, inside: &[&str], between: &[&str]) -> Transport {
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        Transport { pml: pml.to_owned(), mtl: None, inside: paths(inside), between: paths(between) }
    }

    #[test]
    fn other_components_and_other_paths_differ_and_more_devices_do_not() {
        let one = transport("ucx", &["sysv/memory cma/memory"], &["rc_mlx5/mlx5_0:1"]);
        let differs = |other: &Transport| {
            let (one, other) = (Some(one.clone()), Some(other.clone()));
            assert_eq!(Transport::change(&one, &None), None);
            assert_eq!(Transport::change(&one, &other).is_some(), Transport::change(&other, &one).is_some());
            Transport::change(&one, &other).is_some()
        };
        assert!(!differs(&one));
        assert!(differs(&Transport { pml: "ob1".to_owned(), ..one.clone() }));
        assert!(differs(&Transport { mtl: Some("ofi".to_owned()), ..one.clone() }));
        assert!(differs(&transport("ucx", &["sysv/memory"], &["rc_mlx5/mlx5_0:1"])), "without single copy");
        assert!(differs(&transport("ucx", &["sysv/memory cma/memory"], &["tcp/ib0"])));
        assert!(!differs(&transport("ucx", &[], &["rc_mlx5/mlx5_0:1", "rc_mlx5/mlx5_1:1"])));
    }

    #[test]
    fn settings_may_decide_on_it() {
        let decides = |name: &str| Transport::is_decided_by(&Settings::from([(name.to_owned(), "^cma".to_owned())]));
        assert!(decides("pml") && decides("env:UCX_TLS") && !decides("smsc") && !decides("env:UCX_RNDV_THRESH"));
    }

    #[test]
    fn paths_have_carriers_and_are_shown() {
        let one = transport("ucx", &["sysv/memory cma/memory"], &["tcp/eth0"]);
        let carriers = |of: &Transport| of.carriers().unwrap_or_default().into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(carriers(&one), "cma sysv tcp ucx");
        assert_eq!(transport("ucx", &[], &[]).carriers(), None);
        assert_eq!(one.to_string(), "ucx (within nodes sysv/memory cma/memory; between nodes tcp/eth0)");
        let ofi = Transport { mtl: Some("ofi".to_owned()), ..transport("cm", &["tcp;ofi_rxm/eth0"], &[]) };
        assert_eq!(carriers(&ofi), "cm ofi ofi_rxm tcp");
        assert_eq!(ofi.to_string(), "cm with ofi (within nodes tcp;ofi_rxm/eth0)");
    }
}
