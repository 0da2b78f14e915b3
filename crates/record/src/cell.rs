//! Collective, communicator size, message size: what a candidate is timed for.

use std::fmt;

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Ranks};

/// A cell of the campaign's grid. The layout (nodes, ranks per node) follows from the communicator size within one
/// run and is recorded in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The message bytes that the caller passes, per-rank block for scatter; 0 where calls have no size.
    pub bytes: Bytes,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ranks", self.collective, self.ranks)?;
        if self.collective.has_sizes() { write!(f, " at {}", self.bytes) } else { Ok(()) }
    }
}
