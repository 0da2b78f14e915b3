//! Exit codes.

use std::process::ExitCode;

/// Outcome of a command. The numbers are documented in the README and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well.
    Done,
    /// A checked file has problems, compared files differ, or the default gives wrong data.
    Problems,
    /// A usage error; clap exits with this by itself.
    Usage,
    /// An input file or directory is missing or unusable.
    Input,
    /// Nothing can be measured here: no mpirun, a worker that does not start, an unknown release, too few slots.
    Environment,
    /// Interrupted, with the measurements saved; or the proof could not be made.
    Incomplete,
    /// An output cannot be written, or is already there.
    Output,
    /// The Open MPI in use does not obey the rules file.
    Unproven,
    /// A rules file makes a size slower.
    Slower,
    /// A collective is slower than other calls with an equal result.
    Violated,
    /// A node or a pair of nodes is slower than the others.
    Uneven,
    /// A machine's times have changed since a run was measured.
    Drifted,
    /// Rules were written that fresh launches did not confirm.
    Unconfirmed,
    /// Exit code of the program that a command runs for the user.
    Program(u8),
}

impl Exit {
    /// Returns the exit code of a program that was run for the user. Launchers use codes up to 255.
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
            Self::Unconfirmed => 12,
            Self::Program(code) => code,
        }
    }
}

/// A command that has nothing to say about its outcome is done.
impl From<()> for Exit {
    fn from((): ()) -> Self {
        Self::Done
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
