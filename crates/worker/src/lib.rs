//! The MPI program of collrules.
//!
//! Started by `mpirun` on every rank, it takes one [`Job`] from the standard input of rank
//! 0, does it, and reports [`Event`]s on the standard output of rank 0.
//!
//! | module | job |
//! |---|---|
//! | `ffi` | the raw MPI calls whose return codes matter, and `MPI_T`; the only unsafe code of collrules |
//! | `faults` | failing on purpose, for tests of what happens then |
//! | `error` | what can end the worker early |
//! | `report` | events, on the standard output of rank 0 |
//! | `control` | commands and answers between rank 0 and the others, asleep while waiting |
//! | `clock` | a clock that all ranks share |
//! | `sync` | bringing ranks together before every timed call |
//! | `turns` | the timed calls themselves |
//! | `harness` | what the harness does to a timing |
//! | `operation` | a collective call with its buffers, its known data and its check |
//! | `switch` | setting a choice so that the next communicator is made with it |
//! | `asking` | asking HAN for one of its algorithms, call by call |
//! | `communicators` | one communicator per size and candidate |
//! | `nodes` | those of nodes and lanes, for mock-ups that make calls there |
//! | `playing` | what is checked and timed in a visit: candidates, or casts |
//! | `measure` | checking and timing, as rank 0 says |
//! | `benchmark` | calls one after the other, as benchmarks make them |
//! | `probe` | calls whose return codes tell which rule served |
//! | `traffic` | what a call sends, counted |
//! | `circumstances` | the settings that decide whether a rules file has an effect |
//! | `survey` | what library, hosts and algorithms there are |

mod asking;
mod benchmark;
mod circumstances;
mod clock;
mod communicators;
mod control;
mod error;
mod faults;
mod ffi;
mod harness;
mod measure;
mod nodes;
mod operation;
mod playing;
mod probe;
mod report;
mod survey;
mod switch;
mod sync;
mod traffic;
mod turns;

use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::time::Duration;

use collrules_runner::launch::LaunchKind;
use collrules_runner::wire::{CONTROLLER, Event, Job, PROTOCOL, Task};
use mpi::topology::Communicator;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::control::Control;
use crate::error::WorkerError;
use crate::faults::Faults;
use crate::ffi::Tools;
use crate::report::{emit, report};

/// The program. Ends with failure only where MPI cannot be started; other errors are told to the controller.
pub fn run() -> ExitCode {
    let faults = match Faults::of_arguments(std::env::args().skip(1)) {
        Ok(faults) => faults,
        Err(why) => {
            let _ = writeln!(io::stderr(), "collrules-worker: {why}");
            return ExitCode::FAILURE;
        }
    };
    leave_with_launcher();
    leave_with_controller();
    let Some(universe) = mpi::initialize() else {
        let _ = writeln!(io::stderr(), "collrules-worker: MPI cannot be initialised");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let control = Control::new(world.duplicate());
    let job = control.broadcast(control.is_root().then(|| receive_job(control.ranks())));
    if let Some(Job { task, layout, .. }) = job {
        let control = communicators::laid_out(control, layout);
        match run_task(&control, task, &faults) {
            Ok(()) => report(&control, &Event::Bye),
            Err(error) => {
                emit(&Event::Failed { why: error.to_string() });
                // The other ranks may wait for a message that will not come.
                world.abort(1);
            }
        }
    }
    ExitCode::SUCCESS
}

fn run_task(control: &Control, task: Task, faults: &Faults) -> Result<(), WorkerError> {
    let way = if matches!(task, Task::Trial(_)) { measure::Way::Trial } else { measure::Way::Timed };
    if let Task::Measure(plan) | Task::Trial(plan) = &task
        && matches!(plan.kind, LaunchKind::Deployed { .. })
    {
        // Programs of users don't open MPI_T either.
        return measure::run(control, None, plan, faults, way);
    }
    let tools = Tools::start()?;
    if matches!(task, Task::Probe(_) | Task::Serving { .. }) {
        circumstances::seen_by_all(control, &tools)?;
    }
    match task {
        Task::Survey => survey::run(control, &tools),
        Task::Benchmark(benchmark) => benchmark::run(control, &tools, &benchmark),
        Task::Measure(plan) | Task::Trial(plan) => measure::run(control, Some(&tools), &plan, faults, way),
        Task::Probe(calls) => probe::run(control, &calls),
        Task::Serving { calls, without } => probe::serving(control, &tools, &calls, &without),
        Task::Count(plan) => traffic::run(control, &tools, &plan),
        Task::Circumstances => circumstances::run(control, &tools),
    }
}

/// The job that the controller sends to rank 0; none, and a report of why, where it cannot be read.
fn receive_job(ranks: u32) -> Option<Job> {
    let mut line = String::new();
    let job = io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string()).and_then(|read| {
        if read == 0 {
            return Err(format!("standard input ended before a task came ({})", loaded_library(ranks)));
        }
        let job: Job = serde_json::from_str(&line).map_err(|error| format!("the task cannot be read: {error}"))?;
        if job.protocol == PROTOCOL {
            Ok(job)
        } else {
            Err(format!("the job is in protocol {}, this worker speaks {PROTOCOL}", job.protocol))
        }
    });
    job.map_err(|why| {
        emit(&Event::Failed { why: format!("{why}; this program is started by collrules") });
    })
    .ok()
}

/// The MPI library of this process. Under the mpirun of another one, ranks don't find each other: each is alone, takes
/// itself for rank 0, and all but one have nothing to read.
fn loaded_library(ranks: u32) -> String {
    let name = mpi::environment::library_version().unwrap_or_default();
    let name = name.split(',').next().unwrap_or_default().trim_end_matches(['\0', '\n', ' ']).to_owned();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    // proc(5): the sixth field is the file.
    let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let file = files.find(|file| file.rsplit('/').next().is_some_and(|name| name.starts_with("libmpi.so")));
    format!(
        "the worker loaded {name} from {} and is one of {ranks} ranks; where mpirun belongs to another Open MPI, build \
         collrules-worker against that one",
        file.unwrap_or("an unknown file"),
    )
}

/// Ends the job when the controller is gone, which closes its end of rank 0's standard input: nobody would ever read the
/// results. Others have no such pipe. It is watched, not read, so that this holds before there is a job as well: a rank
/// that never comes would keep the others in `MPI_Init`.
fn leave_with_controller() {
    std::thread::spawn(|| {
        let stdin = io::stdin();
        loop {
            // A hang-up is told without being asked for; nothing else is of interest.
            let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                // Without polling the end of the launcher still ends the rank.
                Err(_) => return,
            }
            if watched[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
                let _ = writeln!(io::stderr(), "collrules-worker: the controller is gone");
                std::process::abort();
            }
        }
    });
}

/// How often a rank looks whether its launcher is still there: seldom enough to cost nothing.
const LOOK: Duration = Duration::from_secs(1);

/// Ends this rank when the daemon that started it is gone, which shows by another parent. Ranks that wait in a call for
/// others that are gone would otherwise keep their processors busy forever.
///
/// On the host of the launcher itself, the same when the controller that started the launcher is gone: a launcher of 5.0
/// that has a stopped rank does not hand the end of the pipe on.
///
/// A rank that somebody stopped looks for nothing. The kernel wakes it when its parent ends, or when the thread of it that
/// started the rank does, for which reason this is no signal that ends a rank by itself.
fn leave_with_launcher() {
    #[cfg(target_os = "linux")]
    if let Err(why) = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGCONT) {
        let _ = writeln!(io::stderr(), "collrules-worker: a rank that is stopped will outlive its launcher: {why}");
    }
    let launcher = parent_id();
    let named = std::env::var(CONTROLLER).ok().and_then(|pid| pid.parse().ok());
    let controller: Option<u32> = named.filter(|pid| parent_of(launcher) == Some(*pid));
    std::thread::spawn(move || {
        let is_watched = || controller.is_none_or(|pid| parent_of(launcher) == Some(pid));
        while parent_id() == launcher && is_watched() {
            std::thread::sleep(LOOK);
        }
        let _ = writeln!(io::stderr(), "collrules-worker: the launcher or its controller is gone");
        std::process::abort();
    });
}

/// The parent of a process, from proc(5): the second field behind the name, which is in parentheses.
fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
