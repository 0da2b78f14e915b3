//! Counts of the messages that collectives send, in place of Open MPI's monitoring layer.
//!
//! The layer (`--mca pml_monitoring_enable 2`) reports every message to a function of
//! `ompi/mca/common/monitoring/common_monitoring.h`. This program defines a function of that name and exports it, so
//! that the dynamic linker binds the layer's calls to it: symbols of the program come first. Nothing else calls it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use collrules_runner::wire::Sent;

use super::messages::TAG;

/// Maximum number of ranks with counted messages; messages to further ranks are not counted.
pub(crate) const PEERS: usize = 4096;

static MESSAGES: [AtomicU64; PEERS] = [const { AtomicU64::new(0) }; PEERS];
static BYTES: [AtomicU64; PEERS] = [const { AtomicU64::new(0) }; PEERS];
static CALLED: AtomicBool = AtomicBool::new(false);

/// Takes the place of the function of Open MPI 4.1 and 5.0: `peer` is a rank of the job, collectives have negative tags,
/// and messages of our own, those of reference algorithms and of a mock-up, have one.
#[unsafe(no_mangle)]
extern "C" fn mca_common_monitoring_record_pml(peer: c_int, size: usize, tag: c_int) {
    CALLED.store(true, Ordering::Relaxed);
    let peer = usize::try_from(peer).ok().filter(|peer| *peer < PEERS);
    if let Some(peer) = peer.filter(|_| tag < 0 || tag == TAG) {
        MESSAGES[peer].fetch_add(1, Ordering::Relaxed);
        BYTES[peer].fetch_add(size as u64, Ordering::Relaxed);
    }
}

/// Returns true if the layer has reported any message.
pub(crate) fn is_fed() -> bool {
    CALLED.load(Ordering::Relaxed)
}

/// Returns the messages and bytes that this process has sent for collectives to each of the first ranks of the job.
pub(crate) fn sent(ranks: u32) -> Vec<Sent> {
    let sent = MESSAGES.iter().zip(&BYTES).take(ranks as usize);
    sent.map(|(messages, bytes)| Sent {
        messages: messages.load(Ordering::Relaxed),
        bytes: bytes.load(Ordering::Relaxed),
    })
    .collect()
}
