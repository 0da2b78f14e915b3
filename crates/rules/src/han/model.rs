//! Contents of a HAN rules file, as stored by one release.

use crate::behaviour::Behaviour;
use crate::span::Span;

use super::vocabulary::{ComponentChoice, Level};

/// A file that a version accepts, including rules that never apply.
#[derive(Clone, Debug)]
pub struct HanFile {
    /// The version that read it.
    pub behaviour: Behaviour,
    /// Its collectives, in the order of the file.
    pub collectives: Vec<HanCollectiveRules>,
    /// Lists of segment lengths, which are read and ignored.
    pub segments: Vec<Span>,
    /// A number after everything that was announced.
    pub trailing: Option<Span>,
}

/// The rules of a collective. Of several for one collective the last counts.
#[derive(Clone, Debug)]
pub struct HanCollectiveRules {
    /// Open MPI's id.
    pub id: u32,
    /// Place of its name.
    pub span: Span,
    /// Its levels, in the order of the file.
    pub levels: Vec<LevelRules>,
}

/// The rules of a collective on a level. Of several for one level the last counts.
#[derive(Clone, Debug)]
pub struct LevelRules {
    /// The level.
    pub level: Level,
    /// Place of its name.
    pub span: Span,
    /// Its configurations, in the order of the file.
    pub configurations: Vec<Configuration>,
}

/// The rules from a communicator size on. Of several that fit the last in the file counts.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The smallest communicator, kept in a C `int`.
    pub size: i32,
    /// Place of the size.
    pub span: Span,
    /// Its message rules, in the order of the file.
    pub rules: Vec<HanFileRule>,
}

/// The choice from a message size on. Of several that fit the last in the file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HanFileRule {
    /// The smallest message in bytes, as HAN looks it up.
    pub size: u64,
    /// Choice of the rule.
    pub choice: ComponentChoice,
    /// All of it.
    pub span: Span,
}
