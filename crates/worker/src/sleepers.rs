//! Sleep of a job between its turns: one rank of each node listens for messages, with pauses that grow; the others block in
//! the kernel until it wakes them. Many ranks that all look for messages would disturb the job whose turn it is.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use mpi::collective::Root;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::clock::now;
use crate::control::{Control, Pauses};
use crate::sync::all_agree;

/// Time after which a sleeping rank looks for messages itself: those of others may need it to make progress.
const LOOK: Duration = Duration::from_millis(100);

/// Time within which the first rank of a node has to reach the others.
const REACHED: Duration = Duration::from_secs(5);

/// The ranks of a job asleep, as one of them sees it.
pub(crate) struct Sleepers<'a> {
    control: &'a Control,
    /// Where another rank wakes this one; none if it listens for messages.
    socket: Option<UnixDatagram>,
    /// The ranks that this one wakes.
    others: Vec<SocketAddr>,
}

impl<'a> Sleepers<'a> {
    /// Agrees with all ranks of the job on who wakes whom. If the ranks of a node cannot reach each other, all of them listen.
    pub(crate) fn new(control: &'a Control) -> Self {
        let node = control.world().split_shared(control.rank() as i32);
        let made = connect(&node);
        let is_reached = made.as_ref().is_ok_and(|(socket, others)| is_reached(socket.as_ref(), others));
        let agrees = all_agree(&node, is_reached);
        let (socket, others) = made.ok().filter(|_| agrees).unwrap_or_default();
        if socket.is_none() {
            control.pause_by(Pauses::BETWEEN_TURNS);
        }
        Self { control, socket, others }
    }

    /// Returns true if this rank waits for messages itself.
    pub(crate) fn listens(&self) -> bool {
        self.socket.is_none()
    }

    /// Sleeps until a command may have arrived.
    pub(crate) fn sleep(&self) {
        let Some(socket) = &self.socket else { return };
        while socket.recv(&mut [0]).is_err() && !self.control.has_command() {}
    }

    /// Wakes those that wait for this rank. One that cannot be woken looks for messages after a while.
    pub(crate) fn wake(&self) {
        wake(&self.others);
    }
}

/// Wakes the ranks with these sockets. Returns true if it reached all.
fn wake(others: &[SocketAddr]) -> bool {
    let Ok(socket) = UnixDatagram::unbound() else { return others.is_empty() };
    others.iter().filter(|address| socket.send_to_addr(&[1], address).is_err()).count() == 0
}

/// Makes the socket of a rank, none for the first of a node; on the first, returns the names of the others. These are not names
/// of files: they vanish with the ranks.
fn connect(node: &SimpleCommunicator) -> io::Result<(Option<UnixDatagram>, Vec<SocketAddr>)> {
    let mut token = [u64::from(std::process::id()), now() as u64];
    node.process_at_rank(0).broadcast_into(&mut token[..]);
    let address = |rank: i32| SocketAddr::from_abstract_name(format!("collrules-{:x}-{:x}-{rank}", token[0], token[1]));
    let own = || -> io::Result<UnixDatagram> {
        let socket = UnixDatagram::bind_addr(&address(node.rank())?)?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(socket)
    };
    let socket = if node.rank() > 0 { Some(own()).transpose() } else { Ok(None) };
    // Nobody sends before all are there.
    all_agree(node, true);
    let others = if node.rank() == 0 { (1..node.size()).map(address).collect::<io::Result<_>>()? } else { Vec::new() };
    Ok((socket?, others))
}

/// Checks that the first rank of a node reaches the others.
fn is_reached(socket: Option<&UnixDatagram>, others: &[SocketAddr]) -> bool {
    let all_sent = wake(others);
    let begin = now();
    let has_time = || now() - begin < REACHED.as_nanos() as i64;
    let is_own = socket.is_none_or(|socket| {
        std::iter::repeat_with(|| socket.recv(&mut [0]).is_ok()).take_while(|_| has_time()).any(|received| received)
    });
    all_sent && is_own
}
