//! The processes of a job on this host, so that none of them is left. Those on other hosts are ended by Open MPI's
//! daemons when mpirun is gone.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process. The time of its start distinguishes it from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process {
    pid: i32,
    start: u64,
}

impl Process {
    fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|(state, _, start)| start == self.start && state != 'Z' && state != 'X')
    }
}

/// Reads the state of a process, its parent and its start on Linux (proc(5), `/proc/pid/stat`); none on other systems.
fn stat(pid: i32) -> Option<(char, i32, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything; the fields after it count from 3.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((state, parent, start))
}

/// All descendants of a process, without itself.
pub(super) fn descendants(ancestor: i32) -> Vec<Process> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(Process, i32)> = numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| stat(pid).map(|(_, parent, start)| (Process { pid, start }, parent)))
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for (process, _) in all.iter().filter(|(_, its)| *its == parent) {
            parents.push(process.pid);
            found.push(*process);
        }
    }
    found
}

/// Gives processes some time to end by themselves, and then kills the rest.
pub(super) fn see_off(processes: &[Process], grace: Duration) {
    let deadline = Instant::now() + grace;
    while processes.iter().any(|process| process.is_alive()) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    for process in processes.iter().filter(|process| process.is_alive()) {
        let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn descendants_are_found_and_ended() {
        // A shell with a child that would outlive it; the shell waits, or it would become that child.
        let mut shell = Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().expect("starts");
        let pid = shell.id() as i32;
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut found = descendants(pid);
        while found.is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
            found = descendants(pid);
        }
        assert_eq!(found.len(), 1, "{found:?}");
        shell.kill().expect("ends");
        shell.wait().expect("ended");
        assert!(found[0].is_alive(), "nobody told it");
        see_off(&found, Duration::ZERO);
        while found[0].is_alive() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!found[0].is_alive());
        let other = Process { start: found[0].start + 1, ..found[0] };
        assert!(!other.is_alive(), "another process of that number would not be meant");
    }
}
