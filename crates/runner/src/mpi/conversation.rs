//! One MPI job from start to end: it gets a task and sends events, and is ended if it falls silent.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
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

/// A running job with its pipes. When this is dropped, no process of the job is left on this host.
pub(super) struct Conversation {
    job: JobGuard,
    received: Receiver<OutputLine>,
    /// Lines for the job's standard input. The pipe stays open until this is dropped: its end tells the worker that the
    /// controller is gone.
    requests: Sender<String>,
    /// Activity of the job, for errors; none before its first event.
    pub(super) doing: Option<String>,
    tail: VecDeque<String>,
    /// The first lines. Backtraces of all ranks may follow the cause.
    beginning: String,
    failed: Option<String>,
    /// True if its last event has arrived.
    done: bool,
    silence: Silence,
}

impl Conversation {
    /// Starts a job with a request.
    pub(super) fn begin(mut command: Command, request: &WorkerRequest) -> Result<Self, RunnerError> {
        let request = serde_json::to_string(request).map_err(std::io::Error::other)?;
        let program = command.get_program().into();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: what a terminal sends on Ctrl-C comes here alone, and the job is ended in order.
        command.process_group(0);
        let child = command.spawn().map_err(|cause| RunnerError::CannotStart { program, cause })?;
        let mut job = JobGuard::new(child);
        let (lines, received) = mpsc::channel();
        let (stdout, stderr) = (job.child.stdout.take(), job.child.stderr.take());
        stdout.into_iter().for_each(|pipe| listen(pipe, lines.clone(), OutputLine::Out));
        stderr.into_iter().for_each(|pipe| listen(pipe, lines.clone(), OutputLine::Err));
        let (requests, written) = mpsc::channel::<String>();
        // A job that does not read is noticed by its silence, so that a failed write needs no handling of its own.
        let mut stdin = job.child.stdin.take();
        thread::spawn(move || {
            for line in written {
                if let Some(pipe) = &mut stdin {
                    let _ = writeln!(pipe, "{line}").and_then(|()| pipe.flush());
                }
            }
        });
        let mut conversation = Self {
            job,
            received,
            requests,
            doing: None,
            tail: VecDeque::new(),
            beginning: String::new(),
            failed: None,
            done: false,
            silence: Silence::begins(),
        };
        conversation.send(request);
        Ok(conversation)
    }

    /// Sends a line to the job, which begins another silence.
    pub(super) fn send(&mut self, line: String) {
        // A writer that is gone means that the job is, which its output tells.
        let _ = self.requests.send(line);
        self.silence = Silence::begins();
    }

    /// Waits for the next event; none if the job has ended well. `hear` gets all other lines that the job prints. `stop`, or
    /// a silence beyond patience, ends the job with an error.
    pub(super) fn next_event(
        &mut self,
        patience: Duration,
        stop: &AtomicBool,
        hear: &mut dyn FnMut(&str),
    ) -> Result<Option<WorkerEvent>, RunnerError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                self.job.end();
                return Err(RunnerError::Interrupted);
            }
            let line = match self.received.recv_timeout(LOOK) {
                Ok(OutputLine::Out(line)) => line,
                Ok(OutputLine::Err(line)) => {
                    self.silence = Silence::begins();
                    hear(&line);
                    self.keep(line);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return self.finish(),
                // A process that mpirun left behind may keep the pipes open.
                Err(RecvTimeoutError::Timeout) if self.job.is_over() => return self.finish(),
                Err(RecvTimeoutError::Timeout) => {
                    match self.silence.exceeds(if self.done { GRACE } else { patience }) {
                        false => continue,
                        // What was asked for is there; the end itself may hang without harm.
                        true if self.done => return self.finish(),
                        true => return Err(self.give_up(patience)),
                    }
                }
            };
            self.silence = Silence::begins();
            // Other output of the job may stand before the mark on the same line.
            let Some((before, text)) = line.split_once(MARK) else {
                hear(&line);
                self.keep(line);
                continue;
            };
            if !before.is_empty() {
                self.keep(before.to_owned());
            }
            let event: WorkerEvent = serde_json::from_str(text).map_err(|error| RunnerError::BadEvent {
                line: text.chars().take(200).collect(),
                cause: error.to_string(),
            })?;
            if self.job.ranks.is_empty() {
                // All ranks run before the first event. If mpirun dies, their origin cannot be found out any more.
                self.job.ranks = processes::descendants(self.job.pid());
            }
            match event {
                WorkerEvent::Failed { why } => self.failed = self.failed.take().or(Some(why)),
                WorkerEvent::Bye => self.done = true,
                event => return Ok(Some(event)),
            }
        }
    }

    /// Ends a job that was silent for too long.
    fn give_up(&mut self, patience: Duration) -> RunnerError {
        self.job.end();
        let (seconds, output) = (patience.as_secs(), joined(&self.tail));
        match self.doing.clone() {
            Some(doing) => RunnerError::JobHung { seconds, doing, output },
            None => RunnerError::StartHung { seconds, output },
        }
    }

    /// The outcome of a job whose pipes are closed.
    fn finish(&mut self) -> Result<Option<WorkerEvent>, RunnerError> {
        if let Some(why) = self.failed.take() {
            return Err(RunnerError::WorkerFailed(why));
        }
        let status = self.job.wait()?;
        let output = joined(&self.tail);
        let (outside, status) = (came_from_outside(status), described(status));
        match (self.done, self.doing.clone()) {
            // An exit code other than 0 after the last event is a failure to leave; nothing measured depends on it.
            (true, _) => {
                self.job.left = true;
                Ok(None)
            }
            (false, None) => {
                let remedy = remedy(&format!("{status}\n{}", self.beginning));
                Err(RunnerError::WorkerDidNotStart { status, remedy, output })
            }
            (false, Some(doing)) => Err(RunnerError::JobDied { status, doing, output, outside }),
        }
    }

    fn keep(&mut self, line: String) {
        if line.trim().is_empty() {
            return;
        }
        if self.beginning.len() < BEGINNING {
            self.beginning.push_str(&line);
            self.beginning.push('\n');
        }
        if self.tail.len() == KEPT_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }
}

/// Runs the job. `react` gets each event and returns the job's activity; its errors end the job, and so does `stop`.
/// `hear` gets all other lines that the job prints. However this ends, no process of the job is left on this host.
pub(super) fn hold(
    command: Command,
    request: &WorkerRequest,
    patience: Duration,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(&str),
    react: &mut dyn FnMut(WorkerEvent) -> Result<String, RunnerError>,
) -> Result<(), RunnerError> {
    let mut conversation = Conversation::begin(command, request)?;
    while let Some(event) = conversation.next_event(patience, stop, hear)? {
        conversation.doing = Some(react(event)?);
    }
    Ok(())
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

fn joined(tail: &VecDeque<String>) -> String {
    tail.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
