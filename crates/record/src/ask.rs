//! Questions to programs of the system, such as `ompi_info` and `squeue`, with limits of time and length.

use std::io::{self, Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The usual time for an answer: programs on a busy network file system take seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Time after which users are told what is waited for.
const SOON: Duration = Duration::from_secs(3);

/// The function that tells users.
static TELL: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the function that tells users, in a sentence, which program does not answer soon. Later ones are ignored.
pub fn tell_waiting(tell: fn(&str)) {
    let _ = TELL.set(tell);
}

/// The most bytes of an answer; those of `ompi_info --all` are about 2 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Starts a program with this input, and returns its output when it ends. Kills it, with an error of the kind
/// [`io::ErrorKind::TimedOut`] or [`io::ErrorKind::FileTooLarge`] that names the command, after a limit of time or bytes.
pub fn ask(command: &mut Command, input: &[u8], limit: Duration) -> io::Result<Output> {
    ask_for(command, input, limit, MOST_BYTES)
}

fn ask_for(command: &mut Command, input: &[u8], limit: Duration, most: u64) -> io::Result<Output> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let until = Instant::now() + limit;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read it fails.
        thread::spawn(move || stdin.write_all(&input));
    }
    let (stdout, stderr) = (collect(child.stdout.take(), most), collect(child.stderr.take(), most));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let (words, seconds) = (words.join(" "), limit.as_secs_f64());
    let mut tell = TELL.get().map(|tell| || tell(&format!("waiting for `{words}`, for at most {seconds} s")));
    let mut answer = || {
        let (stdout, stderr) = (received(&stdout, until, &mut tell)?, received(&stderr, until, &mut tell)?);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Output { status, stdout, stderr });
            }
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(2));
        }
    };
    answer().map_err(|error: io::Error| {
        // It may have ended meanwhile.
        let _ = child.kill().and_then(|()| child.wait());
        let why = match error.kind() {
            io::ErrorKind::TimedOut => format!("did not answer within {seconds} s"),
            io::ErrorKind::FileTooLarge => format!("wrote more than {most} bytes"),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("`{words}` {why}; try it by hand"))
    })
}

/// Reads a stream in a thread of its own, so that neither of two fills up.
fn collect(stream: Option<impl Read + Send + 'static>, most: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.map_or(Ok(0), |stream| stream.take(most + 1).read_to_end(&mut bytes));
        let is_too_long = bytes.len() as u64 > most;
        // Nobody listens any more after a limit.
        let _ = sender.send(match read {
            Ok(_) if is_too_long => Err(io::ErrorKind::FileTooLarge.into()),
            read => read.map(|_| bytes),
        });
    });
    receiver
}

/// Waits for the content of a stream; calls `tell`, once, if it does not come soon.
fn received(
    stream: &Receiver<io::Result<Vec<u8>>>,
    until: Instant,
    tell: &mut Option<impl FnOnce()>,
) -> io::Result<Vec<u8>> {
    let left = || until.saturating_duration_since(Instant::now());
    let mut received = stream.recv_timeout(left().min(SOON));
    if let Err(RecvTimeoutError::Timeout) = received {
        if let Some(tell) = tell.take() {
            tell();
        }
        received = stream.recv_timeout(left());
    }
    received.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: &[u8], limit: Duration) -> io::Result<Output> {
        ask_for(Command::new("sh").args(["-c", script]), input, limit, 1000)
    }

    #[test]
    fn no_program_is_awaited_for_ever() {
        let short = Duration::from_millis(100);
        for script in ["exec sleep 60", "exec >&- 2>&-; exec sleep 60", "sleep 3 & exit 0"] {
            let error = shell(script, b"", short).expect_err("no answer");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}");
            assert!(error.to_string().contains(script), "{error}");
        }
    }

    #[test]
    fn users_learn_once_what_is_waited_for() {
        static SAID: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
        tell_waiting(|said| SAID.lock().expect("a list").push(said.to_owned()));
        let slow = format!("sleep {0}.3; exec >&-; sleep {0}.3; exit 5", SOON.as_secs());
        assert_eq!(shell(&slow, b"", PATIENCE).expect("answers").status.code(), Some(5));
        let said = SAID.lock().expect("a list");
        assert_eq!(said.iter().filter(|said| said.contains(&slow)).count(), 1, "{said:?}");
    }

    #[test]
    fn no_endless_answer_is_read() {
        for script in ["exec yes", "exec yes >&2"] {
            let error = shell(script, b"", PATIENCE).expect_err("an endless answer");
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{script}");
        }
    }

    #[test]
    fn answers_are_those_of_the_program() {
        let output = shell("cat; echo b >&2; exit 3", b"a", PATIENCE).expect("answers");
        assert_eq!((&output.stdout[..], &output.stderr[..], output.status.code()), (&b"a"[..], &b"b\n"[..], Some(3)));
        assert!(shell("exit 0", &[0; 1 << 20], PATIENCE).is_ok(), "a program need not read its input");
    }
}
