//! Settings that are known to matter for collectives, a line each, as data.

use serde::{Deserialize, Serialize};

use crate::{Release, names};

names! {
    /// The traffic that a setting acts on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Layer {
        /// Messages between ranks of a node, in shared memory.
        SharedMemory "shared memory",
        /// Messages over TCP.
        Tcp "TCP",
        /// All messages: the component that matches sends with receives.
        Matching "all messages",
        /// Messages over UCX.
        Ucx "UCX",
        /// Messages over libfabric.
        Libfabric "libfabric",
        /// Collectives of communicators on several nodes, in `coll/han`.
        Han "HAN",
        /// Collectives: the component that handles them.
        Components "components",
    }
}

/// The ranks that have to exist for a setting to have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingPlace {
    /// Two ranks on one node.
    Node,
    /// Ranks on several nodes.
    Network,
    /// Any two ranks.
    Anywhere,
}

/// The values to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// These numbers.
    Numbers(&'static [u64]),
    /// Those of these words that Open MPI lists.
    Words(&'static [&'static str]),
    /// All values that Open MPI lists for it.
    Listed,
    /// Each component of the framework of this name, alone.
    Each,
    /// All components of the framework of this name except one, for each of them.
    Without,
}

/// A setting that is known to matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// The MCA parameter, or `env:` and an environment variable.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// The traffic that it acts on.
    pub layer: Layer,
    /// Carriers of messages that an effect needs: a component of the framework pml first, then components of btl or mtl,
    /// transports of UCX or providers. All of them; empty for any.
    pub carriers: &'static [&'static str],
    /// The ranks that have to exist for an effect.
    pub place: SettingPlace,
    /// The first release and the last one that read it.
    pub releases: (Release, Release),
    /// The values to try.
    pub values: Values,
    /// Cost of a larger or different value, other than time.
    pub cost: &'static str,
    /// Definition in the source of Open MPI or UCX.
    pub source: &'static str,
}

use Layer::{Components, Han, Libfabric, Matching, SharedMemory, Tcp, Ucx};
use Release::{V4_0, V4_1, V5_0, V6_0};
use SettingPlace::{Anywhere, Network, Node};
use Values::{Each, Listed, Numbers, Without, Words};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const OLD: (Release, Release) = (V4_0, V4_1);
const NEW: (Release, Release) = (V5_0, V6_0);
const ALL: (Release, Release) = (V4_0, V6_0);

const ANY: &[&str] = &[];
const VADER_BTL: &[&str] = &["ob1", "vader"];
const SM_BTL: &[&str] = &["ob1", "sm"];
const TCP_BTL: &[&str] = &["ob1", "tcp"];
const UCX_PML: &[&str] = &["ucx"];
const EAGER: &str = "largest message that is sent without waiting for its receiver";
const EAGER_MEMORY: &str = "memory: each buffer for such a message grows with it";
const FRAGMENT: &str = "size of the pieces of longer messages that are copied twice";
const FAST_BOX: &str = "size of the buffer between two ranks for the smallest messages";
const FAST_BOX_MEMORY: &str = "memory: one per peer that sends often, in both directions";
const SOON: &str = "number of messages to a peer before it gets a buffer for the smallest messages";
const COPIES: &str = "how long messages are copied once, by the kernel or by mapping memory; without it, twice";
const COPIES_COST: &str = "processor time for large messages, if they are copied twice";
const VADER: &str = "opal/mca/btl/vader/btl_vader_component.c";
const SM: &str = "opal/mca/btl/sm/btl_sm_component.c";
const BTL: &str = "opal/mca/btl/base/btl_base_mca.c";
const TCP: &str = "opal/mca/btl/tcp/btl_tcp_component.c";
const SEGMENT: &str = "size of the pieces in which messages are passed between and inside nodes";
const CONTEXT: &str = "ucp/core/ucp_context.c of UCX";
const MM: &str = "uct/sm/mm/base/mm_iface.c of UCX";
const SEGMENTS: &str = "size of the buffers in shared memory for eager messages";
const HAN_SOURCE: &str = "ompi/mca/coll/han/coll_han_component.c";
const PRIORITY: &str = "runs collectives instead of coll/tuned if its priority is higher";
const OTHER_RULES: &str = "rules of coll/tuned have no effect on the collectives that it runs";

/// The table: name, traffic, its carriers, ranks, releases and values of each entry, then its meaning, cost and source.
macro_rules! catalogue {
    ($($name:literal, $layer:expr, $carriers:expr, $place:expr, $releases:expr, $values:expr, $about:expr, $cost:expr, $source:expr;)+) => {
        /// The catalogue.
        pub const ENTRIES: &[CatalogueEntry] = &[$(CatalogueEntry {
            name: $name,
            about: $about,
            layer: $layer,
            carriers: $carriers,
            place: $place,
            releases: $releases,
            values: $values,
            cost: $cost,
            source: $source,
        }),+];
    };
}

catalogue! {
    "btl_vader_eager_limit", SharedMemory, VADER_BTL, Node, OLD, Numbers(&[8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB]),
        EAGER, EAGER_MEMORY, BTL;
    "btl_vader_single_copy_mechanism", SharedMemory, VADER_BTL, Node, OLD, Listed,
        COPIES, COPIES_COST, VADER;
    "btl_vader_max_send_size", SharedMemory, VADER_BTL, Node, OLD, Numbers(&[64 * KIB, 128 * KIB]),
        FRAGMENT, EAGER_MEMORY, BTL;
    "btl_vader_fbox_size", SharedMemory, VADER_BTL, Node, OLD, Numbers(&[16 * KIB]),
        FAST_BOX, FAST_BOX_MEMORY, VADER;
    "btl_vader_fbox_threshold", SharedMemory, VADER_BTL, Node, OLD, Numbers(&[1]),
        SOON, FAST_BOX_MEMORY, VADER;
    "btl_sm_eager_limit", SharedMemory, SM_BTL, Node, NEW, Numbers(&[8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB]),
        EAGER, EAGER_MEMORY, BTL;
    "smsc", SharedMemory, SM_BTL, Node, NEW, Without,
        COPIES, COPIES_COST, "opal/mca/smsc/base/smsc_base_select.c";
    "btl_sm_max_send_size", SharedMemory, SM_BTL, Node, NEW, Numbers(&[64 * KIB, 128 * KIB]),
        FRAGMENT, EAGER_MEMORY, BTL;
    "btl_sm_fbox_size", SharedMemory, SM_BTL, Node, NEW, Numbers(&[16 * KIB]),
        FAST_BOX, FAST_BOX_MEMORY, SM;
    "btl_sm_fbox_threshold", SharedMemory, SM_BTL, Node, NEW, Numbers(&[1]),
        SOON, FAST_BOX_MEMORY, SM;
    "btl_tcp_eager_limit", Tcp, TCP_BTL, Network, ALL, Numbers(&[16 * KIB, 256 * KIB]),
        EAGER, EAGER_MEMORY, BTL;
    "btl_tcp_rndv_eager_limit", Tcp, TCP_BTL, Network, ALL, Numbers(&[16 * KIB, 256 * KIB]),
        "part of a longer message that is sent before its receiver answers", EAGER_MEMORY, BTL;
    "btl_tcp_max_send_size", Tcp, TCP_BTL, Network, ALL, Numbers(&[32 * KIB, 512 * KIB]),
        FRAGMENT, EAGER_MEMORY, BTL;
    "btl_tcp_sndbuf", Tcp, TCP_BTL, Network, ALL, Numbers(&[4 * MIB]),
        "buffer of each socket for sending; 0 leaves it to the kernel", "memory: one per connection, in the kernel", TCP;
    "btl_tcp_rcvbuf", Tcp, TCP_BTL, Network, ALL, Numbers(&[4 * MIB]),
        "buffer of each socket for receiving; 0 leaves it to the kernel", "memory: one per connection, in the kernel", TCP;
    "btl_tcp_links", Tcp, TCP_BTL, Network, ALL, Numbers(&[2, 4]),
        "connections between two ranks", "connections: as many times more", TCP;
    "pml", Matching, ANY, Anywhere, ALL, Each,
        "component that matches sends with receives, and chooses the transports",
        "other transports carry all messages", "ompi/mca/pml/base/pml_base_select.c";
    "env:UCX_TLS", Ucx, &["ucx", "cma"], Node, ALL, Words(&["^cma"]),
        "transports that UCX may use; without cma, longer messages within nodes are copied twice", COPIES_COST, CONTEXT;
    "env:UCX_RNDV_THRESH", Ucx, UCX_PML, Anywhere, ALL, Numbers(&[8 * KIB, 64 * KIB, 256 * KIB]),
        EAGER, EAGER_MEMORY, CONTEXT;
    "env:UCX_ZCOPY_THRESH", Ucx, UCX_PML, Anywhere, ALL, Numbers(&[4 * KIB, 64 * KIB]),
        "smallest message that is sent from its own memory instead of a copy", "", CONTEXT;
    "env:UCX_RNDV_SCHEME", Ucx, UCX_PML, Anywhere, ALL, Words(&["get_zcopy", "put_zcopy"]),
        "whether the receiver reads longer messages, or the sender writes them", "", CONTEXT;
    "env:UCX_PROTO_ENABLE", Ucx, UCX_PML, Anywhere, ALL, Words(&["n", "y"]),
        "whether UCX chooses protocols by its newer selection", "", CONTEXT;
    "env:UCX_MAX_EAGER_RAILS", Ucx, UCX_PML, Network, ALL, Numbers(&[2]),
        "network paths that one eager message may use", "", CONTEXT;
    "env:UCX_MAX_RNDV_RAILS", Ucx, UCX_PML, Network, ALL, Numbers(&[1, 4]),
        "network paths that one longer message may use", "", CONTEXT;
    "env:UCX_SYSV_SEG_SIZE", Ucx, &["ucx", "sysv"], Node, ALL, Numbers(&[16 * KIB, 64 * KIB]),
        SEGMENTS, EAGER_MEMORY, MM;
    "env:UCX_POSIX_SEG_SIZE", Ucx, &["ucx", "posix"], Node, ALL, Numbers(&[16 * KIB, 64 * KIB]),
        SEGMENTS, EAGER_MEMORY, MM;
    "env:UCX_TCP_TX_SEG_SIZE", Ucx, &["ucx", "tcp"], Network, ALL, Numbers(&[32 * KIB, 64 * KIB]),
        "size of the pieces that are copied for sending", EAGER_MEMORY, "uct/tcp/tcp_iface.c of UCX";
    "env:FI_OFI_RXM_BUFFER_SIZE", Libfabric, &["cm", "ofi_rxm"], Anywhere, ALL, Numbers(&[8 * KIB, 64 * KIB]),
        EAGER, EAGER_MEMORY, "prov/rxm/src/rxm_init.c of libfabric";
    "coll_han_bcast_segsize", Han, ANY, Network, (V4_1, V6_0), Numbers(&[16 * KIB, 256 * KIB, MIB]),
        SEGMENT, "", HAN_SOURCE;
    "coll_han_reduce_segsize", Han, ANY, Network, (V4_1, V6_0), Numbers(&[16 * KIB, 256 * KIB, MIB]),
        SEGMENT, "", HAN_SOURCE;
    "coll_han_allreduce_segsize", Han, ANY, Network, (V4_1, V6_0), Numbers(&[16 * KIB, 256 * KIB, MIB]),
        SEGMENT, "", HAN_SOURCE;
    "coll_sm_priority", Components, ANY, Node, (V4_0, V5_0), Numbers(&[90]),
        PRIORITY, OTHER_RULES, "ompi/mca/coll/sm/coll_sm_component.c";
    "coll_adapt_priority", Components, ANY, Anywhere, (V4_1, V6_0), Numbers(&[90]),
        PRIORITY, OTHER_RULES, "ompi/mca/coll/adapt/coll_adapt_component.c";
    "coll_xhc_priority", Components, ANY, Node, (V6_0, V6_0), Numbers(&[90]),
        PRIORITY, OTHER_RULES, "ompi/mca/coll/xhc/coll_xhc_component.c";
    "coll_acoll_priority", Components, ANY, Anywhere, (V6_0, V6_0), Numbers(&[90]),
        PRIORITY, OTHER_RULES, "ompi/mca/coll/acoll/coll_acoll_component.c";
    "coll_ucc_enable", Components, ANY, Anywhere, (V4_1, V6_0), Numbers(&[1]),
        "whether UCC runs collectives", OTHER_RULES, "ompi/mca/coll/ucc/coll_ucc_component.c";
    "coll_sync_barrier_before", Components, ANY, Network, ALL, Numbers(&[100]),
        "number of calls of a collective after which ranks are synchronised; 0 is never",
        "", "ompi/mca/coll/sync/coll_sync_component.c";
}

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static CatalogueEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// Returns true if a setting is known to act on messages, so that calls of all collectives feel it alike.
pub fn acts_on_messages(name: &str) -> bool {
    find(name).is_some_and(|entry| !matches!(entry.layer, Components | Han))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn entries_are_complete_and_there_once() {
        let names: BTreeSet<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ENTRIES.len());
        for entry in ENTRIES {
            assert!(entry.releases.0 <= entry.releases.1, "{}", entry.name);
            assert!(!entry.about.is_empty() && !entry.source.is_empty(), "{}", entry.name);
        }
    }
}
