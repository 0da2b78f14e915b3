//! One MPI job from start to end: the task goes in, events come out, and a job that falls silent is ended.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::processes;
use super::running::{GRACE, Running, came_from_outside, described};
use crate::error::RunnerError;
use crate::wire::{Event, Job, MARK};

/// How often a silent job is looked after.
const LOOK: Duration = Duration::from_millis(250);

/// How long to wait for a sign of life beyond all patience: whoever was stopped and continued finds its time over
/// before it has read what came meanwhile.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// How many of the job's own last lines go with an error.
const KEPT_LINES: usize = 12;

enum Line {
    Out(String),
    Err(String),
}

/// Runs the job. `react` sees each event and says what the job is doing now; its errors end the job, and so does `stop`.
/// However this ends, no process of the job is left on this host.
pub(super) fn hold(
    mut command: Command,
    job: &Job,
    patience: Duration,
    stop: &AtomicBool,
    react: &mut dyn FnMut(Event) -> Result<String, RunnerError>,
) -> Result<(), RunnerError> {
    let job = serde_json::to_string(job).map_err(std::io::Error::other)?;
    let program = command.get_program().into();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: what a terminal sends on Ctrl-C comes here alone, and the job is ended in order.
    command.process_group(0);
    let child = command.spawn().map_err(|cause| RunnerError::CannotStart { program, cause })?;
    let mut running = Running::new(child);

    let (lines, received) = mpsc::channel();
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    stdout.into_iter().for_each(|pipe| listen(pipe, lines.clone(), Line::Out));
    stderr.into_iter().for_each(|pipe| listen(pipe, lines.clone(), Line::Err));
    drop(lines);
    // The pipe stays open until the job is over: its end tells the worker that nobody listens any more. A job that
    // does not read is noticed by its silence, so that a failed write needs no handling of its own.
    let mut stdin = running.child.stdin.take();
    let writer = thread::spawn(move || {
        if let Some(pipe) = &mut stdin {
            let _ = writeln!(pipe, "{job}").and_then(|()| pipe.flush());
        }
        stdin
    });

    let mut doing = None;
    let mut tail = VecDeque::new();
    let mut failed = None;
    let mut done = false;
    let mut silence = Silence::begins();
    loop {
        if stop.load(Ordering::Relaxed) {
            running.end();
            return Err(RunnerError::Interrupted);
        }
        let line = match received.recv_timeout(LOOK) {
            Ok(Line::Out(line)) => line,
            Ok(Line::Err(line)) => {
                silence = Silence::begins();
                keep(&mut tail, line);
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
            keep(&mut tail, line);
            continue;
        };
        if !before.is_empty() {
            keep(&mut tail, before.to_owned());
        }
        let event: Event = serde_json::from_str(text).map_err(|error| RunnerError::BadEvent {
            line: text.chars().take(200).collect(),
            cause: error.to_string(),
        })?;
        if running.ranks.is_empty() {
            // All ranks run before the first event. If mpirun dies, nobody will know any more whose they were.
            running.ranks = processes::descendants(running.pid());
        }
        match event {
            Event::Failed { why } => failed = failed.or(Some(why)),
            Event::Bye => done = true,
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
        (false, None) => Err(RunnerError::WorkerDidNotStart { status, output }),
        (false, Some(doing)) => Err(RunnerError::JobDied { status, doing, output, outside }),
    }
}

/// How long a job has said nothing.
struct Silence {
    since: Instant,
    /// When patience was found to be over.
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

fn listen(pipe: impl Read + Send + 'static, lines: Sender<Line>, wrap: fn(String) -> Line) {
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

fn keep(tail: &mut VecDeque<String>, line: String) {
    if line.trim().is_empty() {
        return;
    }
    if tail.len() == KEPT_LINES {
        tail.pop_front();
    }
    tail.push_back(line);
}

fn joined(tail: &VecDeque<String>) -> String {
    tail.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
