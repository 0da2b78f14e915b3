//! Rules files of coll/tuned and of coll/han alike: what a version reads, the parts of calls, the choices.

use std::fmt;

use serde::Serialize;

use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{self, Fault, Loaded};
use crate::han::{self, ComponentChoice, HanFile, Level};
use crate::registry;
use crate::release::Release;

/// The component that a rules file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// coll/tuned.
    Tuned,
    /// coll/han.
    Han,
}

/// A file that a version accepts.
#[derive(Clone, Debug)]
pub enum Rules {
    /// Of coll/tuned.
    Tuned(Loaded),
    /// Of coll/han.
    Han(HanFile),
}

impl FileKind {
    /// Returns the component that a text was written for.
    pub fn of(source: &[u8]) -> Self {
        if han::is_han(source) { Self::Han } else { Self::Tuned }
    }

    /// Reads a file as a version does.
    pub fn load(self, source: &[u8], version: &Behaviour) -> Result<Rules, Fault> {
        match self {
            Self::Tuned => file::load(source, version).map(Rules::Tuned),
            Self::Han => han::load(source, version).map(Rules::Han),
        }
    }

    /// One version for each behaviour, of those that have the component.
    pub fn versions(self) -> Vec<Behaviour> {
        let mut versions = Behaviour::distinct();
        versions.retain(|version| self == Self::Tuned || han::is_in(version.release));
        versions
    }

    /// Describes what decides a call without a rule.
    pub fn default_words(self) -> &'static str {
        match self {
            Self::Tuned => "Open MPI's own decision",
            Self::Han => "HAN's parameters",
        }
    }
}

/// The calls of a collective that a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Those on communicators with a distribution over nodes. [`Distribution::Any`] stands for those without a particular
    /// one, and for all if the file distinguishes none.
    Distribution(Distribution),
    /// Those on communicators of a topology level.
    Level(Level),
}

impl Part {
    /// Returns the title of a column that names parts; none if the table is about all calls.
    pub fn title(self) -> Option<&'static str> {
        match self {
            Self::Distribution(Distribution::Any) => None,
            Self::Distribution(_) => Some("on nodes"),
            Self::Level(_) => Some("level"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Distribution(distribution) => distribution.name(),
            Self::Level(level) => level.name(),
        })
    }
}

/// A key of a table.
pub trait Key: Copy + Ord {
    /// The collective, and the part of its calls.
    fn calls(self) -> (Collective, Part);
}

impl Key for Collective {
    fn calls(self) -> (Collective, Part) {
        (self, Part::Distribution(Distribution::Any))
    }
}

impl Key for (Collective, Level) {
    fn calls(self) -> (Collective, Part) {
        (self.0, Part::Level(self.1))
    }
}

/// Choice of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RuleChoice {
    /// Of coll/tuned.
    Tuned(Choice),
    /// Of coll/han; none if its parameters decide.
    Han(Option<ComponentChoice>),
}

impl RuleChoice {
    /// The choice in words, also if the release lacks the algorithm.
    pub fn words(self, release: Release, collective: Collective) -> String {
        match self {
            Self::Tuned(choice) => {
                let missing = registry::algorithm(release, collective, choice.algorithm).is_err();
                let there_is_none = if missing && !choice.is_builtin() { " (there is none)" } else { "" };
                registry::describe(release, collective, choice) + there_is_none
            }
            Self::Han(Some(choice)) => choice.words(collective),
            Self::Han(None) => FileKind::Han.default_words().to_owned(),
        }
    }
}

impl From<Choice> for RuleChoice {
    fn from(choice: Choice) -> Self {
        Self::Tuned(choice)
    }
}

impl From<Option<ComponentChoice>> for RuleChoice {
    fn from(choice: Option<ComponentChoice>) -> Self {
        Self::Han(choice)
    }
}
