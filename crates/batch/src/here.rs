//! Sources of facts about a job: variables, files, and tools of the batch system.

use std::env;
use std::fs;
use std::process::Command;

use collrules_record::ask::{PATIENCE, ask};

/// Interface to the environment, files and tools of this machine.
pub trait Here {
    /// A variable of the environment; none if it is unset or empty.
    fn variable(&self, name: &str) -> Option<String>;

    /// The text of a file.
    fn file(&self, path: &str) -> Option<String>;

    /// Runs a tool and returns its output, or its own words if it fails.
    fn asked(&self, command: &[&str]) -> Result<String, String>;

    /// Runs a tool and returns its output if it succeeds.
    fn answer(&self, command: &[&str]) -> Option<String> {
        self.asked(command).ok()
    }

    /// The number that a variable holds.
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

    fn asked(&self, command: &[&str]) -> Result<String, String> {
        let (program, arguments) = command.split_first().ok_or_else(String::new)?;
        let ran = ask(Command::new(program).args(arguments), b"", PATIENCE);
        let output = ran.map_err(|cause| format!("{program}: {cause}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = [output.stderr, output.stdout].map(|said| String::from_utf8_lossy(&said).trim().to_owned());
        Err(said.into_iter().find(|said| !said.is_empty()).unwrap_or_else(|| format!("{program}: {}", output.status)))
    }
}

#[cfg(test)]
pub(crate) mod made {
    use std::collections::BTreeMap;

    use super::Here;

    /// Synthetic surroundings of a test.
    #[derive(Default)]
    pub(crate) struct Made(BTreeMap<String, String>);

    impl Made {
        /// Surroundings with these variables, files (names with a slash) and answers of commands (names with a blank;
        /// an answer that begins with `!` is a failure).
        pub(crate) fn from_facts(facts: &[(&str, &str)]) -> Self {
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

        fn asked(&self, command: &[&str]) -> Result<String, String> {
            let answer = self.0.get(&command.join(" ")).cloned().ok_or("no such command")?;
            answer.strip_prefix('!').map_or(Ok(answer.clone()), |why| Err(why.to_owned()))
        }
    }
}
