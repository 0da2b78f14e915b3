//! What the exit code says.

use std::process::ExitCode;

/// How a command ended. The numbers are documented in the README and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well.
    Done,
    /// A checked file has problems, compared files differ, or benchmarked data is wrong.
    Problems,
    /// A usage error; clap exits with this by itself.
    Usage,
    /// An input file or directory is missing or unusable.
    Input,
    /// Nothing can be measured here: no mpirun, a worker that does not start, an unknown release, too few slots.
    Environment,
    /// Interrupted before it was complete, with what was measured kept; or a proof could not be made.
    Incomplete,
    /// An output cannot be written, or is already there.
    Output,
    /// The Open MPI in use does not do what the rules file says.
    Unproven,
    /// A rules file makes something slower than it is without.
    Slower,
    /// A collective is slower than other calls that do the same.
    Violated,
    /// A node or a pair of nodes is slower than the others.
    Uneven,
    /// A machine does not behave as it did when a run was measured.
    Drifted,
    /// What a program ended with that was run for its own sake.
    Program(u8),
}

impl Exit {
    /// The end of a program that was run for its own sake. Launchers know codes up to 255.
    pub(crate) fn of_program(code: i32) -> Self {
        u8::try_from(code)
            .map_or(Self::Program(u8::MAX), |code| if code == 0 { Self::Done } else { Self::Program(code) })
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Problems => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Environment => 4,
            Self::Incomplete => 5,
            Self::Output => 6,
            Self::Unproven => 7,
            Self::Slower => 8,
            Self::Violated => 9,
            Self::Uneven => 10,
            Self::Drifted => 11,
            Self::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
