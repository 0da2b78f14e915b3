//! The classic rules file, version 1: what every release of Open MPI reads.

mod lookup;
mod probe;
mod read;
mod rejection;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod write;

use crate::choice::Choice;

pub use lookup::Served;
pub use probe::{Checkerboard, Edges, PROBE_ALGORITHM, checkerboard};
pub use read::read;
pub use rejection::{Field, Rejection};
pub use write::{EmitError, Notes};

/// A classic rules file, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicFile {
    /// Comment lines at the top, without `#`.
    pub header: Vec<String>,
    /// Its collectives.
    pub collectives: Vec<ClassicCollective>,
}

/// The rules of one collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicCollective {
    /// Open MPI's id; ids without tuned algorithms are legal.
    pub id: u32,
    /// Comment lines above, without `#`.
    pub notes: Vec<String>,
    /// Its communicator rules.
    pub sizes: Vec<ClassicCommRule>,
}

/// The rules that begin (or, on 6.0, end) at a communicator size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicCommRule {
    /// Number of ranks, kept as Open MPI keeps it: a C `int`, so that values from 2^31 on are negative there.
    pub comm_size: u32,
    /// Comment lines above, without `#`.
    pub notes: Vec<String>,
    /// Its message rules.
    pub rules: Vec<ClassicRule>,
}

/// One message rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicRule {
    /// Lookup bytes from which on the rule holds.
    pub size: u64,
    /// What it chooses; version 1 carries no `max_requests`.
    pub choice: Choice,
    /// Comment behind the rule, without `#`.
    pub note: Option<String>,
}

#[cfg(test)]
mod tests;
