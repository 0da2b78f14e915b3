//! Whole output of commands, held by snapshots: files in `snapshots`, one per session. `INSTA_UPDATE=always cargo test
//! --test cli` writes them anew, and `git diff` shows what changed.

use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Ran, bounded};

/// Commands that run in a directory of their own, and what they said, as a terminal of 80 columns would show it.
pub(crate) struct Session {
    directory: tempfile::TempDir,
    said: String,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), said: String::new() }
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
        let mut command = bounded();
        command.current_dir(self.directory.path()).args(arguments.split_whitespace());
        Ran::from(command.output().unwrap()).exits(0);
    }

    /// `collrules` with arguments separated by blanks.
    pub(crate) fn run(&mut self, arguments: &str) -> Ran {
        self.run_with_input(arguments, "")
    }

    pub(crate) fn run_with_input(&mut self, arguments: &str, input: &str) -> Ran {
        let mut command = bounded();
        command.current_dir(self.directory.path()).args(arguments.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input leaves before it is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        let code = ran.code.map_or("a signal".to_owned(), |code| code.to_string());
        writeln!(self.said, "$ collrules {arguments}\n{}{}[{code}]\n", ran.stdout, ran.stderr).unwrap();
        ran
    }

    /// All that was said. Paths of this directory, which are others in each run, begin with DIR.
    pub(crate) fn said(&self) -> String {
        let directory = self.directory.path();
        let real = directory.canonicalize().unwrap();
        let said = self.said.replace(&real.display().to_string(), "DIR");
        said.replace(&directory.display().to_string(), "DIR")
    }
}

/// Fails unless a session says what its snapshot says.
macro_rules! assert_said {
    ($session:expr) => {
        insta::assert_snapshot!($session.said())
    };
}

pub(crate) use assert_said;
