//! What the exit code says.

use std::process::ExitCode;

/// How a command ended. The numbers are documented in the README and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything went well.
    Done = 0,
    /// A checked file has problems, compared files differ, or benchmarked data is wrong.
    Problems = 1,
    /// A usage error; clap exits with this by itself.
    Usage = 2,
    /// An input file or directory is missing or unusable.
    Input = 3,
    /// Nothing can be measured here: no mpirun, a worker that does not start, an unknown release, too few slots.
    Environment = 4,
    /// Interrupted before it was complete, with what was measured kept; or a proof could not be made.
    Incomplete = 5,
    /// An output cannot be written, or is already there.
    Output = 6,
    /// The Open MPI in use does not do what the rules file says.
    Unproven = 7,
    /// A rules file makes something slower than it is without.
    Slower = 8,
    /// A collective is slower than other calls that do the same.
    Violated = 9,
    /// A node or a pair of nodes is slower than the others.
    Uneven = 10,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
