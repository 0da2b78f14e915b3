//! One MPI job from start to end: the task goes in, events come out, and a job that falls silent is ended.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::RunnerError;
use crate::wire::{Event, Job, MARK};

/// How long a job may take to end after it was done, or was told to end.
const GRACE: Duration = Duration::from_secs(15);

/// How many of the job's own last lines go with an error.
const KEPT_LINES: usize = 12;

enum Line {
    Out(String),
    Err(String),
}

/// Runs the job. `react` sees each event and says what the job is doing now; its errors end the job.
pub(super) fn hold(
    mut command: Command,
    job: &Job,
    patience: Duration,
    react: &mut dyn FnMut(Event) -> Result<String, RunnerError>,
) -> Result<(), RunnerError> {
    let job = serde_json::to_string(job).map_err(std::io::Error::other)?;
    let program = command.get_program().into();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|cause| RunnerError::CannotStart { program, cause })?;
    let mut running = Running { child };

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
    loop {
        let line = match received.recv_timeout(if done { GRACE } else { patience }) {
            Ok(Line::Out(line)) => line,
            Ok(Line::Err(line)) => {
                keep(&mut tail, line);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            // What was asked for is there; the end itself may hang without harm.
            Err(RecvTimeoutError::Timeout) if done => break,
            Err(RecvTimeoutError::Timeout) => {
                running.end();
                return Err(RunnerError::JobHung {
                    seconds: patience.as_secs(),
                    doing: doing.unwrap_or_else(|| "starting".to_owned()),
                    output: joined(&tail),
                });
            }
        };
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
    match (done, doing) {
        // An exit code other than 0 after the last event is a failure to leave; nothing measured depends on it.
        (true, _) => Ok(()),
        (false, None) => Err(RunnerError::WorkerDidNotStart { status: described(status), output: joined(&tail) }),
        (false, Some(doing)) => Err(RunnerError::JobDied { status: described(status), doing, output: joined(&tail) }),
    }
}

/// A job that is ended when nobody waits for it any more, whatever happens here.
struct Running {
    child: Child,
}

impl Running {
    /// Waits for the end, and brings it about where it does not come.
    fn wait(&mut self) -> std::io::Result<Option<ExitStatus>> {
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

    /// Asks mpirun to end its job, which takes the ranks along; kills it where it does not listen.
    fn end(&mut self) {
        let running = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        if !running(&mut self.child) {
            return;
        }
        if let Ok(pid) = i32::try_from(self.child.id()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let deadline = Instant::now() + GRACE;
        while running(&mut self.child) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        if running(&mut self.child) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
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

fn described(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "it had to be killed".to_owned(), |status| status.to_string())
}
