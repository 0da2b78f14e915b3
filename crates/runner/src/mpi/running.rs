//! A job as a set of processes, and its end.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::processes::{self, Process};

/// Maximum time for a job to end after it was done or asked to end.
pub(super) const GRACE: Duration = Duration::from_secs(15);

/// Maximum time that ranks may outlive their mpirun.
const RANKS_GRACE: Duration = Duration::from_secs(3);

/// A job that is ended when this value is dropped.
pub(super) struct JobGuard {
    pub(super) child: Child,
    /// The other processes of the job on this host, as far as known.
    pub(super) ranks: Vec<Process>,
    /// True if it finished its task and ended by itself.
    pub(super) left: bool,
}

impl JobGuard {
    pub(super) fn new(child: Child) -> Self {
        Self { child, ranks: Vec::new(), left: false }
    }

    pub(super) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(i32::MAX)
    }

    pub(super) fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end, and enforces it after a time.
    pub(super) fn wait(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.end();
        Ok(None)
    }

    /// Asks mpirun to end its job with all ranks; kills them all if it does not.
    pub(super) fn end(&mut self) {
        if !self.is_over() {
            self.ranks.extend(processes::descendants(self.pid()));
            let tell = |signal| {
                // The child was not waited for yet, so that the number is still its own.
                let _ = kill(Pid::from_raw(self.pid()), signal);
            };
            tell(Signal::SIGTERM);
            // It may have been stopped, and then it gets no other signal before it continues.
            tell(Signal::SIGCONT);
        }
        let deadline = Instant::now() + GRACE;
        while !self.is_over() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        if !self.is_over() {
            self.ranks.extend(processes::descendants(self.pid()));
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        processes::see_off(&self.ranks, RANKS_GRACE);
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        if !self.left {
            self.end();
        }
    }
}

/// Returns true if a signal ended mpirun itself, or an external signal ended a rank: calls do not cause SIGHUP, SIGINT
/// or SIGTERM. SIGKILL may come from a system that is out of memory, which a call may have caused. mpirun exits with
/// 128 and the number of the signal that ended a rank.
pub(super) fn came_from_outside(status: Option<ExitStatus>) -> bool {
    let by_hand = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM].map(|signal| 128 + signal as i32);
    status.is_some_and(|status| status.signal().is_some() || status.code().is_some_and(|code| by_hand.contains(&code)))
}

/// Describes the end of mpirun, for people.
pub(super) fn described(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "it had to be killed".to_owned() };
    match status.code().map(|code| Signal::try_from(code - 128)) {
        Some(Ok(signal)) => format!("a rank was ended by {signal}"),
        _ => status.to_string(),
    }
}
