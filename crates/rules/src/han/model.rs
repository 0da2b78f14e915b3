//! What a HAN rules file holds, as one release keeps it.

use crate::behaviour::Behaviour;
use crate::span::Span;

use super::vocabulary::{Choice, Level};

/// A file that a version accepts, with everything in it, even what never serves.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The version that read it.
    pub behaviour: Behaviour,
    /// Its collectives, in the order of the file.
    pub collectives: Vec<CollectiveRules>,
    /// Lists of segment lengths, which are read and ignored.
    pub segments: Vec<Span>,
    /// A number behind everything that was announced.
    pub trailing: Option<Span>,
}

/// The rules of a collective. Of several for one collective the last counts.
#[derive(Clone, Debug)]
pub struct CollectiveRules {
    /// Open MPI's id.
    pub id: u32,
    /// Where it is named.
    pub span: Span,
    /// Its levels, in the order of the file.
    pub levels: Vec<LevelRules>,
}

/// The rules of a collective on a level. Of several for one level the last counts.
#[derive(Clone, Debug)]
pub struct LevelRules {
    /// The level.
    pub level: Level,
    /// Where it is named.
    pub span: Span,
    /// Its configurations, in the order of the file.
    pub configurations: Vec<Configuration>,
}

/// The rules from a communicator size on. Of several that fit the last in the file counts.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The smallest communicator, kept in a C `int`.
    pub size: i32,
    /// Where the size stands.
    pub span: Span,
    /// Its message rules, in the order of the file.
    pub rules: Vec<Rule>,
}

/// The choice from a message size on. Of several that fit the last in the file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The smallest message in bytes, as HAN looks it up.
    pub size: u64,
    /// What it says.
    pub choice: Choice,
    /// All of it.
    pub span: Span,
}
