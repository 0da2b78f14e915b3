//! The transport of a job, from what Open MPI and UCX log on their ways to the first messages.
//!
//! | known | from | log of |
//! |---|---|---|
//! | pml | `selected ucx best priority 51` | `pml_base_select.c`, 4.0 to 5.0 |
//! | mtl | `(  mtl) Selected component [ofi]` | `mca_base_components_select.c` |
//! | components of the framework btl, by pair | `Using vader btl for send to [[7,1],1] on node n1` | `bml_r2.c` |
//! | interfaces of btl/tcp | `using ipv4 interface eth0` (4.1), `if eth0 kidx 2` (5.0) | `btl_tcp_component.c` |
//! | provider and domain of libfabric | `mtl:ofi:prov: net`, `mtl:ofi:provider: eth0` (4.1); `provider: tcp`, `provider:domain: eth0` (5.0) | `mtl_ofi_component.c` |
//! | lanes of UCX | `intra-node cfg#1 tag(sysv/memory cma/memory)`, before 1.15 `ep_cfg[1]: tag(...)` | `ucp_worker.c` |
//!
//! Each is logged by the processes that use it, whatever selected it. Older UCX does not say which ranks a
//! configuration connects: devices called `memory` connect ranks of a node. If none does, one configuration connects both
//! kinds of pairs. The interfaces of btl/tcp are those that it opened. Lines that are missing leave paths unknown.

use std::collections::BTreeSet;

use collrules_record::transport::Transport;

/// Settings of a job whose log is read.
pub fn logging() -> Vec<(String, String)> {
    // UCX logs to standard output otherwise, between the parts of the worker's events.
    let settings = [
        ("pml_base_verbose", "10"),
        ("btl_base_verbose", "30"),
        ("mtl_base_verbose", "10"),
        ("opal_common_ofi_verbose", "10"),
        ("env:UCX_LOG_LEVEL", "info"),
        ("env:UCX_LOG_FILE", "stderr"),
    ];
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The transport in the log of a job.
#[derive(Debug, Default)]
pub struct TransportLog {
    /// The host of each rank.
    pub(super) hosts: Vec<String>,
    pml: Option<String>,
    mtl: Option<String>,
    inside: BTreeSet<String>,
    between: BTreeSet<String>,
    /// Configurations of UCX that do not say which ranks they connect.
    lanes: BTreeSet<String>,
    /// Interfaces of btl/tcp.
    interfaces: BTreeSet<String>,
    /// Providers of libfabric that 4.1 names.
    providers: BTreeSet<String>,
    /// What both call `provider`: a domain in 4.1, a provider in 5.0.
    named: BTreeSet<String>,
    domains: BTreeSet<String>,
}

impl TransportLog {
    /// Reads a line.
    pub fn read_line(&mut self, line: &str) {
        let word = |mark: &str| Some(line.split_once(mark)?.1.split_whitespace().next()?.to_owned());
        if line.contains(" best priority ") {
            self.pml = word("] selected ");
            self.hosts.extend(host(line).map(str::to_owned));
        } else if let Some(name) = word("(  mtl) Selected component [") {
            self.mtl = Some(name.trim_end_matches(']').to_owned());
        } else if let Some(name) = word("mca: bml: Using ") {
            let there = word(" on node ");
            let is_inside = host(line) == there.as_deref().and_then(|name| name.split('.').next());
            if name != "self" {
                let paths = if is_inside { &mut self.inside } else { &mut self.between };
                paths.insert(name);
            }
        } else if let Some(name) =
            word("btl:tcp: using ipv4 interface ").or_else(|| word("btl:tcp: using ipv6 interface "))
        {
            self.interfaces.insert(name);
        } else if let Some(name) = word(": if ").filter(|_| line.contains("btl:tcp:") && line.contains(" kidx ")) {
            self.interfaces.insert(name);
        } else if let Some(name) = word("mtl:ofi:prov: ") {
            self.providers.insert(name);
        } else if let Some(name) = word("mtl:ofi:provider:domain: ") {
            self.domains.insert(name);
        } else if let Some(name) = word("mtl:ofi:provider: ") {
            self.named.insert(name);
        } else if let Some((before, lanes)) = line.split_once(" tag(").filter(|_| line.contains(" UCX ")) {
            let lanes = lanes.split(')').next().unwrap_or_default().to_owned();
            if before.contains(" intra-node ") {
                self.inside.insert(lanes);
            } else if before.contains(" inter-node ") {
                self.between.insert(lanes);
            } else if !before.contains(" self ") && !lanes.starts_with("self/") {
                self.lanes.insert(lanes);
            }
        }
    }

    /// The transport; none if the log does not name the pml.
    pub fn into_transport(self) -> Option<Transport> {
        let nodes = self.hosts.iter().collect::<BTreeSet<_>>().len();
        let (has_pairs_inside, has_pairs_between) = (nodes < self.hosts.len(), nodes > 1);
        let Self { hosts: _, pml, mtl, mut inside, mut between, lanes, interfaces, providers, named, domains } = self;
        let pml = pml?;
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        if pml == "ob1" && !interfaces.is_empty() {
            for paths in [&mut inside, &mut between] {
                if paths.remove("tcp") {
                    paths.insert(format!("tcp/{}", list(&interfaces)));
                }
            }
        }
        let (near, far): (BTreeSet<String>, BTreeSet<String>) =
            lanes.into_iter().partition(|lanes| lanes.split(' ').any(|lane| lane.ends_with("/memory")));
        inside.extend(if near.is_empty() { far.clone() } else { near });
        between.extend(far);
        let mtl = mtl.filter(|_| pml == "cm");
        let (providers, domains) = if providers.is_empty() { (named, domains) } else { (providers, named) };
        if mtl.as_deref() == Some("ofi") && !providers.is_empty() {
            let path = [providers, domains].iter().filter(|it| !it.is_empty()).map(list).collect::<Vec<_>>().join("/");
            inside.insert(path.clone());
            between.insert(path);
        }
        if !has_pairs_inside {
            inside.clear();
        }
        if !has_pairs_between {
            between.clear();
        }
        Some(Transport { pml, mtl, inside, between })
    }
}

/// The host in `[HOST:PROCESS] ...`, without its domain.
fn host(line: &str) -> Option<&str> {
    line.split_once('[')?.1.split_once(':')?.0.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The transport of a job with ranks on these hosts, whose pml is this one, after these lines.
    fn shown(pml: &str, hosts: &[&str], lines: &str) -> String {
        let mut log = TransportLog::default();
        hosts.iter().for_each(|host| log.read_line(&format!("[{host}.site:5] selected {pml} best priority 20")));
        lines.lines().for_each(|line| log.read_line(line));
        log.into_transport().map(|transport| transport.to_string()).unwrap_or_default()
    }

    const TWO: &[&str] = &["n1", "n1", "n2", "n2"];
    const OB1: &str = "[n1:5] btl:tcp: using ipv6 interface eth0\n\
        [n1:5] mca: bml: Using self btl for send to [[7,1],0] on node n1\n\
        [n1:5] mca: bml: Using vader btl for send to [[7,1],1] on node n1.site\n\
        [n1.site:5] mca: bml: Using tcp btl for send to [[7,1],2] on node n2\n";

    /// As 4.1.4 and 5.0.11 log.
    #[test]
    fn components_of_the_framework_btl_are_told_by_pair() {
        assert_eq!(shown("ob1", TWO, OB1), "ob1 (within nodes vader; between nodes tcp/eth0)");
        let new = "[n1:5] btl:tcp: 0x55: if eth0 kidx 2 cnt 0 addr 10.77.0.1 IPv4 bw 10000 lt 100\n\
            [n1:5] mca: bml: Using tcp btl for send to [[7,1],2] on node n2\n";
        assert_eq!(shown("ob1", &["n1", "n2"], new), "ob1 (between nodes tcp/eth0)");
        assert_eq!(shown("ob1", &["n1", "n2"], ""), "ob1", "unknown paths");
        assert_eq!(TransportLog::default().into_transport(), None, "a log without a pml");
    }

    /// As UCX 1.13 and 1.20 log.
    #[test]
    fn lanes_of_ucx_are_told_by_pair() {
        let log = |configurations: &[&str]| {
            let line = |config: &&str| format!("[1.5] [n1:5:0]  ucp_worker.c:1763 UCX  INFO    {config}\n");
            configurations.iter().map(line).collect::<String>()
        };
        let both = "ucx (within nodes sysv/memory cma/memory; between nodes tcp/eth0)";
        let old = ["ep_cfg[0]: tag(self/memory0 cma/memory)", "ep_cfg[1]: tag(sysv/memory cma/memory)"];
        assert_eq!(shown("ucx", TWO, &log(&[old[0], old[1], "ep_cfg[2]: tag(tcp/eth0)"])), both);
        let named = [
            "ucp_context_0 self cfg#0 tag(self/memory cma/memory)",
            "ucp_context_0 intra-node cfg#1 tag(sysv/memory cma/memory)",
            "ucp_context_0 inter-node cfg#2 tag(tcp/eth0)",
        ];
        assert_eq!(shown("ucx", TWO, &log(&named)), both);
        let tcp = log(&["ep_cfg[0]: tag(self/memory0 tcp/eth0)", "ep_cfg[1]: tag(tcp/eth0)"]);
        assert_eq!(shown("ucx", TWO, &tcp), "ucx (within nodes tcp/eth0; between nodes tcp/eth0)");
    }

    /// As 4.1.4 and 5.0.11 log. Components of cm are tried before another pml is chosen.
    #[test]
    fn providers_of_libfabric_are_told() {
        let selected = "[n1:5] mca:base:select:(  mtl) Selected component [ofi]\n";
        let old = "[n1:5] ../ompi/mca/mtl/ofi/mtl_ofi_component.c:583: mtl:ofi:provider_include = \"(null)\"\n\
            [n1:5] ../ompi/mca/mtl/ofi/mtl_ofi_component.c:337: mtl:ofi:prov: net\n\
            [n1:5] ../ompi/mca/mtl/ofi/mtl_ofi_component.c:365: mtl:ofi:provider: eth0\n";
        let far = &["n1", "n2"];
        assert_eq!(shown("cm", far, &(selected.to_owned() + old)), "cm with ofi (between nodes net/eth0)");
        let new = "[n1:5] /ompi/mca/mtl/ofi/mtl_ofi_component.c:343: mtl:ofi:provider: tcp;ofi_rxm\n\
            [n1:5] /ompi/mca/mtl/ofi/mtl_ofi_component.c:368: mtl:ofi:provider:domain: eth0\n\
            [n2:6] /ompi/mca/mtl/ofi/mtl_ofi_component.c:343: mtl:ofi:provider: tcp;ofi_rxm\n";
        assert_eq!(shown("cm", far, &(selected.to_owned() + new)), "cm with ofi (between nodes tcp;ofi_rxm/eth0)");
        assert_eq!(shown("ob1", &["n1", "n1"], &(selected.to_owned() + OB1)), "ob1 (within nodes vader)");
    }
}
