//! The MPI program of collrules.
//!
//! Started by `mpirun` on every rank, it takes one [`Job`] from the standard input of rank
//! 0, does it, and reports [`Event`]s on the standard output of rank 0.
//!
//! | module | job |
//! |---|---|
//! | `ffi` | the raw MPI calls whose return codes matter, and `MPI_T`; the only unsafe code of collrules |
//! | `faults` | failing on purpose, for tests of what happens then |
//! | `control` | commands and answers between rank 0 and the others, asleep while waiting |
//! | `clock` | a clock that all ranks share |
//! | `sync` | bringing ranks together before every timed call |
//! | `turns` | the timed calls themselves |
//! | `harness` | what the harness does to a timing |
//! | `operation` | a collective call with its buffers, its known data and its check |
//! | `switch` | setting a choice so that the next communicator is made with it |
//! | `communicators` | one communicator per size and candidate |
//! | `measure` | checking and timing, as rank 0 says |
//! | `benchmark` | calls one after the other, as benchmarks make them |
//! | `probe` | calls whose return codes tell which rule served |
//! | `traffic` | what a call sends, counted |
//! | `circumstances` | the settings that decide whether a rules file has an effect |
//! | `survey` | what library, hosts and algorithms there are |

mod benchmark;
mod circumstances;
mod clock;
mod communicators;
mod control;
mod faults;
mod ffi;
mod harness;
mod measure;
mod operation;
mod probe;
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

use collrules_runner::wire::{CONTROLLER, Event, Job, MARK, PROTOCOL, Task};
use mpi::topology::Communicator;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::control::Control;
use crate::faults::Faults;
use crate::ffi::Tools;

/// What can end the worker early; the text goes to the controller.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("{0}")]
    Tools(#[from] ffi::ToolsError),
    #[error("{0}")]
    Operation(#[from] operation::Unsupported),
    #[error("{candidate} failed with MPI error class {class} while it was timed ({cell}), after its check had passed")]
    TimedCallFailed { candidate: String, cell: String, class: i32 },
    #[error("a communicator cannot be duplicated without some components (MPI error class {0})")]
    NoDuplicate(ffi::ErrorClass),
    #[error(
        "what calls send cannot be counted: this Open MPI has no monitoring layer, or its settings leave it out \
         (pml_monitoring of the point-to-point framework)"
    )]
    NotMonitored,
    #[error("what calls send cannot be counted among {ranks} ranks, only up to {most}")]
    TooManyToCount { ranks: u32, most: usize },
    #[error("{candidate} did not work in {cell} ({what})")]
    CountedCallFailed { candidate: String, cell: String, what: String },
    #[error("the MPI library is not Open MPI; it calls itself `{0}`")]
    NotOpenMpi(String),
    #[error("the job has {has} ranks, and a communicator of {wants} is wanted")]
    TooFewRanks { has: u32, wants: u32 },
}

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
    let job = control.broadcast(control.is_root().then(receive_job));
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
        && plan.deployment.is_some()
    {
        // Programs of users don't open MPI_T either.
        return measure::run(control, None, plan, faults, way);
    }
    let tools = Tools::start()?;
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

/// The job that the controller sends to rank 0; none, and a report of why, where it makes no sense.
fn receive_job() -> Option<Job> {
    let mut line = String::new();
    let job = io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string()).and_then(|_| {
        let job: Job = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if job.protocol == PROTOCOL {
            Ok(job)
        } else {
            Err(format!("the job is in protocol {}, this worker speaks {PROTOCOL}", job.protocol))
        }
    });
    match job {
        Ok(job) => Some(job),
        Err(why) => {
            emit(&Event::Failed {
                why: format!("no job could be read from standard input ({why}); this program is started by collrules"),
            });
            None
        }
    }
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
/// others that are gone would otherwise keep their processors busy for ever.
///
/// On the host of the launcher itself, the same when the controller that started the launcher is gone: a launcher of 5.0
/// that has a stopped rank does not hand the end of the pipe on.
fn leave_with_launcher() {
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

/// Reports an event if this is rank 0.
fn report(control: &Control, event: &Event) {
    if control.is_root() {
        emit(event);
    }
}

/// Writes an event line. Errors are left to `leave_with_controller`: they mean that nobody listens.
fn emit(event: &Event) {
    let mut out = io::stdout().lock();
    if let Ok(text) = serde_json::to_string(event) {
        let _ = writeln!(out, "{MARK}{text}");
        let _ = out.flush();
    }
}
