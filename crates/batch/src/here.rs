//! Where facts about a job come from: variables, files, and tools of the batch system.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

/// What can be asked.
pub trait Here {
    /// A variable of the environment, if it says something.
    fn variable(&self, name: &str) -> Option<String>;

    /// The text of a file.
    fn file(&self, path: &str) -> Option<String>;

    /// What a tool prints, if it succeeds.
    fn answer(&self, command: &[&str]) -> Option<String>;

    /// The number that a variable says.
    fn number(&self, name: &str) -> Option<u32> {
        self.variable(name)?.trim().parse().ok()
    }
}

/// This process and this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Here for System {
    fn variable(&self, name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    fn answer(&self, command: &[&str]) -> Option<String> {
        let (program, arguments) = command.split_first()?;
        let mut tool = Command::new(program);
        let output = tool.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[cfg(test)]
pub(crate) mod made {
    use std::collections::BTreeMap;

    use super::Here;

    /// Surroundings that a test makes up.
    #[derive(Default)]
    pub(crate) struct Made(BTreeMap<String, String>);

    impl Made {
        /// These variables, files (names with a slash) and answers (names with a blank).
        pub(crate) fn of(facts: &[(&str, &str)]) -> Self {
            Self(facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        }
    }

    impl Here for Made {
        fn variable(&self, name: &str) -> Option<String> {
            self.0.get(name).cloned()
        }

        fn file(&self, path: &str) -> Option<String> {
            self.0.get(path).cloned()
        }

        fn answer(&self, command: &[&str]) -> Option<String> {
            self.0.get(&command.join(" ")).cloned()
        }
    }
}
