//! What the strict reading of a classic file leaves behind.

use std::collections::HashSet;

use crate::span::Span;

/// What later checks need to know of the strict reading.
#[derive(Debug, Default)]
pub(super) struct Strict {
    /// Where Open MPI reads something else than is written.
    pub(super) garbage: Vec<Span>,
    /// Where rules or communicator rules begin whose sizes are reported already.
    pub(super) flagged: HashSet<usize>,
}
