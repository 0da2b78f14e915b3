//! Whole output of commands, held by snapshots: files in `snapshots`, one per session. `INSTA_UPDATE=always cargo test
//! --test cli` writes them anew, and `git diff` shows what changed.

use std::cell::RefCell;
use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ran, bounded};

/// Commands that run in a directory and a home of their own, and their output, as a terminal of 80 columns would show it.
pub(crate) struct Session {
    directory: tempfile::TempDir,
    columns: &'static str,
    said: RefCell<String>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), columns: "80", said: RefCell::default() }
    }

    /// A session whose lines are not broken, for output with paths, whose length differs.
    pub(crate) fn wide() -> Self {
        Self { columns: "1000", ..Self::new() }
    }

    /// Returns the path of a name in this directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn copy(&self, from: &Path, name: &str) {
        fs::copy(from, self.path(name)).unwrap();
    }

    /// Runs a command that the session builds on; its output is not part of the session.
    pub(crate) fn given(&self, arguments: &str) {
        Ran::from(self.command(arguments).output().unwrap()).exits(0);
    }

    /// `collrules` in this directory.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = bounded();
        command.current_dir(self.directory.path()).env("HOME", self.path("home")).env("COLUMNS", self.columns);
        command.args(arguments.split_whitespace());
        command
    }

    /// `collrules` with arguments separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        self.run_with_input(arguments, "")
    }

    pub(crate) fn run_with_input(&self, arguments: &str, input: &str) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input leaves before it is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        let code = ran.code.map_or("a signal".to_owned(), |code| code.to_string());
        writeln!(self.said.borrow_mut(), "$ collrules {arguments}\n{}{}[{code}]\n", ran.stdout, ran.stderr).unwrap();
        ran
    }

    /// All that was said, without paths of this directory, digests and dates, which differ from run to run.
    pub(crate) fn said(&self) -> String {
        let directory = self.directory.path();
        let real = directory.canonicalize().unwrap();
        let said = self.said.borrow().replace(&real.display().to_string(), "DIR");
        let directory = directory.display().to_string();
        // The path may be a part of a name.
        let name = directory.trim_start_matches('/').replace('/', "-");
        without_digests_and_dates(&said.replace(&directory, "DIR").replace(&name, "DIR"))
    }
}

fn without_digests_and_dates(text: &str) -> String {
    let is_digest = |word: &str| {
        word.len() >= 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && word.contains(char::is_alphabetic)
    };
    let is_date = |word: &str| {
        let same = |(byte, like): (u8, &u8)| if *like == b'-' { byte == b'-' } else { byte.is_ascii_digit() };
        word.len() >= 10 && word.bytes().zip(b"2000-00-00").all(same)
    };
    let ends = |char: char| !char.is_ascii_alphanumeric() && !"-:".contains(char);
    let mut kept = String::new();
    for part in text.split_inclusive(ends) {
        let word = part.trim_end_matches(ends);
        let name = if is_digest(word) {
            "DIGEST"
        } else if is_date(word) {
            "DATE"
        } else {
            word
        };
        kept += name;
        kept += &part[word.len()..];
    }
    kept
}

/// Fails unless a session says what its snapshot says.
macro_rules! assert_said {
    ($session:expr) => {
        insta::assert_snapshot!($session.said())
    };
}

pub(crate) use assert_said;
