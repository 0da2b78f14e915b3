//! One MPI job from start to end: it gets a task and sends events, and is ended if it falls silent.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::processes;
use super::running::{GRACE, JobGuard, came_from_outside, described};
use crate::error::{RunnerError, remedy};
use crate::wire::{MARK, WorkerEvent, WorkerRequest};

/// Interval between two checks of a silent job.
const LOOK: Duration = Duration::from_millis(250);

/// Additional time to wait for a sign of life: a controller that was stopped and continued finds its time over before
/// it has read the lines in between.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Number of the job's own last lines in an error.
const KEPT_LINES: usize = 12;

/// Bytes of the job's first lines in which the cause of a failed start is looked for.
const BEGINNING: usize = 1 << 16;

enum OutputLine {
    Out(String),
    Err(String),
}

/// Runs the job. `react` gets each event and returns the job's activity; its errors end the job, and so does `stop`.
/// `hear` gets all other lines that the job prints. However this ends, no process of the job is left on this host.
pub(super) fn hold(
    mut command: Command,
    job: &WorkerRequest,
    patience: Duration,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(&str),
    react: &mut dyn FnMut(WorkerEvent) -> Result<String, RunnerError>,
) -> Result<(), RunnerError> {
    let job = serde_json::to_string(job).map_err(std::io::Error::other)?;
    let program = command.get_program().into();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: what a terminal sends on Ctrl-C comes here alone, and the job is ended in order.
    command.process_group(0);
    let child = command.spawn().map_err(|cause| RunnerError::CannotStart { program, cause })?;
    let mut running = JobGuard::new(child);

    let (lines, received) = mpsc::channel();
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    stdout.into_iter().for_each(|pipe| listen(pipe, lines.clone(), OutputLine::Out));
    stderr.into_iter().for_each(|pipe| listen(pipe, lines.clone(), OutputLine::Err));
    drop(lines);
    // The pipe stays open until the job is over: its end tells the worker that the controller is gone. A job that does
    // not read is noticed by its silence, so that a failed write needs no handling of its own.
    let mut stdin = running.child.stdin.take();
    let writer = thread::spawn(move || {
        if let Some(pipe) = &mut stdin {
            let _ = writeln!(pipe, "{job}").and_then(|()| pipe.flush());
        }
        stdin
    });

    let mut doing = None;
    let mut tail = VecDeque::new();
    // Backtraces of all ranks may follow the cause.
    let mut beginning = String::new();
    let mut failed = None;
    let mut done = false;
    let mut silence = Silence::begins();
    loop {
        if stop.load(Ordering::Relaxed) {
            running.end();
            return Err(RunnerError::Interrupted);
        }
        let line = match received.recv_timeout(LOOK) {
            Ok(OutputLine::Out(line)) => line,
            Ok(OutputLine::Err(line)) => {
                silence = Silence::begins();
                hear(&line);
                keep(&mut tail, &mut beginning, line);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            // A process that mpirun left behind may keep the pipes open.
            Err(RecvTimeoutError::Timeout) if running.is_over() => break,
            Err(RecvTimeoutError::Timeout) => match silence.exceeds(if done { GRACE } else { patience }) {
                false => continue,
                // What was asked for is there; the end itself may hang without harm.
                true if done => break,
                true => {
                    running.end();
                    let (seconds, output) = (patience.as_secs(), joined(&tail));
                    return Err(match doing {
                        Some(doing) => RunnerError::JobHung { seconds, doing, output },
                        None => RunnerError::StartHung { seconds, output },
                    });
                }
            },
        };
        silence = Silence::begins();
        // Other output of the job may stand before the mark on the same line.
        let Some((before, text)) = line.split_once(MARK) else {
            hear(&line);
            keep(&mut tail, &mut beginning, line);
            continue;
        };
        if !before.is_empty() {
            keep(&mut tail, &mut beginning, before.to_owned());
        }
        let event: WorkerEvent = serde_json::from_str(text).map_err(|error| RunnerError::BadEvent {
            line: text.chars().take(200).collect(),
            cause: error.to_string(),
        })?;
        if running.ranks.is_empty() {
            // All ranks run before the first event. If mpirun dies, their origin cannot be found out any more.
            running.ranks = processes::descendants(running.pid());
        }
        match event {
            WorkerEvent::Failed { why } => failed = failed.or(Some(why)),
            WorkerEvent::Bye => done = true,
            event => doing = Some(react(event)?),
        }
    }
    if let Some(why) = failed {
        return Err(RunnerError::WorkerFailed(why));
    }
    let status = running.wait()?;
    drop(writer);
    let output = joined(&tail);
    let (outside, status) = (came_from_outside(status), described(status));
    match (done, doing) {
        // An exit code other than 0 after the last event is a failure to leave; nothing measured depends on it.
        (true, _) => {
            running.left = true;
            Ok(())
        }
        (false, None) => Err(RunnerError::WorkerDidNotStart { status, remedy: remedy(&beginning), output }),
        (false, Some(doing)) => Err(RunnerError::JobDied { status, doing, output, outside }),
    }
}

/// Duration of a job's silence.
struct Silence {
    since: Instant,
    /// Time at which patience was found to be over.
    over: Option<Instant>,
}

impl Silence {
    fn begins() -> Self {
        Self { since: Instant::now(), over: None }
    }

    fn exceeds(&mut self, patience: Duration) -> bool {
        self.since.elapsed() >= patience && self.over.get_or_insert_with(Instant::now).elapsed() >= SECOND_LOOK
    }
}

fn listen(pipe: impl Read + Send + 'static, lines: Sender<OutputLine>, wrap: fn(String) -> OutputLine) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if lines.send(wrap(text)).is_err() {
                return;
            }
            line.clear();
        }
    });
}

fn keep(tail: &mut VecDeque<String>, beginning: &mut String, line: String) {
    if line.trim().is_empty() {
        return;
    }
    if beginning.len() < BEGINNING {
        beginning.push_str(&line);
        beginning.push('\n');
    }
    if tail.len() == KEPT_LINES {
        tail.pop_front();
    }
    tail.push_back(line);
}

fn joined(tail: &VecDeque<String>) -> String {
    tail.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
