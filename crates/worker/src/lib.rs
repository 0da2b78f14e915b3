//! The MPI program of collrules.
//!
//! Started by `mpirun` on every rank, it reads one [`WorkerRequest`] from the standard input of rank 0, runs it, and reports
//! [`WorkerEvent`]s on the standard output of rank 0.
//!
//! | module | job |
//! |---|---|
//! | `ffi` | the raw MPI calls whose return codes matter, and `MPI_T`; the only unsafe code of collrules |
//! | `faults` | faults injected on purpose, for tests |
//! | `error` | errors that end the worker early |
//! | `control` | commands and answers between rank 0 and the others, asleep while waiting; events on the standard output |
//! | `clock` | a clock that all ranks share |
//! | `sync` | bringing ranks together before every timed call, and the timed calls themselves |
//! | `harness` | effects of the harness on a timing |
//! | `operation` | a collective call with its buffers, its known data and its check |
//! | `switch` | setting a choice for the next communicator, and for the next call of HAN |
//! | `communicators` | one communicator per size and candidate; those of nodes and lanes |
//! | `subject` | subjects of a visit, checked and timed: candidates, or casts |
//! | `measure` | checking and timing, directed by rank 0 |
//! | `sleepers` | sleep of all ranks until the next turn of their job |
//! | `resident` | a job that sleeps, except in its turns |
//! | `benchmark` | consecutive calls, as benchmarks make them |
//! | `probe` | calls whose return codes show which rule was used |
//! | `traffic` | messages and bytes sent by a call |
//! | `circumstances` | the settings on which the effect of a rules file depends |
//! | `survey` | survey of library, hosts and algorithms |

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
mod operation;
mod probe;
mod resident;
mod sleepers;
mod subject;
mod survey;
mod switch;
mod sync;
mod traffic;

use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::time::Duration;

use collrules_runner::wire::{CONTROLLER, PROTOCOL, Task, WorkerEvent, WorkerRequest};
use mpi::topology::Communicator;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::control::{Control, emit, report};
use crate::error::WorkerError;
use crate::faults::Faults;
use crate::ffi::Tools;

/// Runs the program. Fails only if MPI cannot be started; other errors are reported to the controller.
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
    if let Some(WorkerRequest { task, layout, .. }) = job {
        let control = communicators::laid_out(control, layout);
        match run_task(&control, task, &faults) {
            Ok(()) => report(&control, &WorkerEvent::Bye),
            Err(error) => {
                emit(&WorkerEvent::Failed { why: error.to_string() });
                // The other ranks may wait for a message that will never come.
                world.abort(1);
            }
        }
    }
    ExitCode::SUCCESS
}

fn run_task(control: &Control, task: Task, faults: &Faults) -> Result<(), WorkerError> {
    match task {
        // Programs of users do not open MPI_T either.
        Task::TakeTurns(plan) => resident::run(control, &plan, faults),
        Task::Measure(plan) if plan.launch.is_as_users_do() => measure::run(control, None, &plan, faults),
        Task::Measure(plan) => measure::run(control, Some(&Tools::start()?), &plan, faults),
        Task::Survey => survey::run(control, &Tools::start()?),
        Task::Benchmark(benchmark) => benchmark::run(control, &Tools::start()?, &benchmark),
        Task::Probe { calls, without } => probe::run(control, &Tools::start()?, &calls, &without),
        Task::Count(plan) => traffic::run(control, &Tools::start()?, &plan),
        Task::Circumstances => circumstances::run(control, &Tools::start()?),
        Task::Parameters(names) => circumstances::report_parameter_values(control, &Tools::start()?, &names),
    }
}

/// The job that the controller sends to rank 0; if it cannot be read, or is of another version, none, and a report.
fn receive_job(ranks: u32) -> Option<WorkerRequest> {
    let mut line = String::new();
    let job = io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string()).and_then(|read| {
        if read == 0 {
            return Err(format!("standard input ended before a task came ({})", loaded_library(ranks)));
        }
        // Requests of other versions may have other fields.
        let Greeting { protocol } = read_line(&line)?;
        if protocol == PROTOCOL { Ok(Some(read_line(&line)?)) } else { Ok(None) }
    });
    match job {
        Ok(Some(job)) => return Some(job),
        Ok(None) => emit(&WorkerEvent::Hello { protocol: PROTOCOL, ranks }),
        Err(why) => emit(&WorkerEvent::Failed { why: format!("{why}; this program is started by collrules") }),
    }
    None
}

/// The part of a request that is the same in all versions.
#[derive(serde::Deserialize)]
struct Greeting {
    protocol: u32,
}

fn read_line<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("the task cannot be read: {error}"))
}

/// The MPI library of this process. With the mpirun of another library, each rank starts alone as rank 0, and all but
/// one receive no input.
fn loaded_library(ranks: u32) -> String {
    let name = mpi::environment::library_version().unwrap_or_default();
    let name = name.split(',').next().unwrap_or_default().trim_end_matches(['\0', '\n', ' ']).to_owned();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    // proc(5): the sixth field is the file.
    let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let file = files.find(|file| file.rsplit('/').next().is_some_and(|name| name.starts_with("libmpi.so")));
    format!(
        "the worker loaded {name} from {} and is one of {ranks} ranks; if mpirun belongs to another Open MPI, build \
         collrules-worker against that one",
        file.unwrap_or("an unknown file"),
    )
}

/// Ends the job when the controller is gone: nothing would read the results. Polls rank 0's standard input, which the
/// controller closes when it ends. Starts before the job is read, since a missing rank would keep the others in
/// `MPI_Init`. Other ranks have no such pipe.
fn leave_with_controller() {
    std::thread::spawn(|| {
        let stdin = io::stdin();
        loop {
            // Poll reports a hang-up without a request; no other event matters.
            let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                // If polling fails, the end of the launcher still ends the rank.
                Err(_) => return,
            }
            if watched[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
                let _ = writeln!(io::stderr(), "collrules-worker: the controller is gone");
                std::process::abort();
            }
        }
    });
}

/// Interval at which a rank checks that its launcher still runs: long enough for a negligible cost.
const LOOK: Duration = Duration::from_secs(1);

/// Ends this rank when the daemon that started it is gone, which changes the parent process. Otherwise, ranks in a call
/// with missing ranks would use their processors forever.
///
/// On the host of the launcher itself, also ends this rank when the controller that started the launcher is gone: a
/// launcher of 5.0 with a stopped rank does not forward the end of the pipe.
///
/// A stopped rank checks nothing. The kernel wakes it when its parent, or the thread that started the rank, ends. Since
/// the thread may end early, this signal alone must not end a rank.
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
