//! Questions to programs of the system, such as `ompi_info` and `squeue`, with limits of time and length.

use std::io::{self, Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The usual time for an answer: programs on a busy network file system take seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

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
    let mut answer = || {
        let (stdout, stderr) = (received(&stdout, until)?, received(&stderr, until)?);
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
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let why = match error.kind() {
            io::ErrorKind::TimedOut => format!("did not answer within {} s", limit.as_secs_f64()),
            io::ErrorKind::FileTooLarge => format!("wrote more than {most} bytes"),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("`{}` {why}; try it by hand", words.join(" ")))
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

fn received(stream: &Receiver<io::Result<Vec<u8>>>, until: Instant) -> io::Result<Vec<u8>> {
    let left = until.saturating_duration_since(Instant::now());
    stream.recv_timeout(left).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
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
