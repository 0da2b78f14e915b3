//! Exit codes.

use std::process::ExitCode;

use collrules_record::rundir::RunDirError;
use collrules_runner::RunnerError;
use collrules_workflow::WorkflowError;

/// Outcome of a command. The numbers are documented in the README and do not change; that of a program that a command runs
/// for the user is the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(pub(crate) u8);

impl Exit {
    /// Everything went well.
    pub(crate) const DONE: Self = Self(0);
    /// A checked file has problems, compared files differ, or the default gives wrong data.
    pub(crate) const PROBLEMS: Self = Self(1);
    /// A usage error; clap exits with this by itself.
    pub(crate) const USAGE: Self = Self(2);
    /// An input file or directory is missing or unusable.
    pub(crate) const INPUT: Self = Self(3);
    /// Nothing can be measured here: no mpirun, a worker that does not start, an unknown release, too few slots.
    pub(crate) const ENVIRONMENT: Self = Self(4);
    /// Interrupted, with the measurements saved; or the proof could not be made.
    pub(crate) const INCOMPLETE: Self = Self(5);
    /// An output cannot be written, or is already there.
    pub(crate) const OUTPUT: Self = Self(6);
    /// The Open MPI in use does not obey the rules file.
    pub(crate) const UNPROVEN: Self = Self(7);
    /// A rules file makes a size slower.
    pub(crate) const SLOWER: Self = Self(8);
    /// A collective is slower than other calls with an equal result.
    pub(crate) const VIOLATED: Self = Self(9);
    /// A node or a pair of nodes is slower than the others.
    pub(crate) const UNEVEN: Self = Self(10);
    /// A machine's times have changed since a run was measured.
    pub(crate) const DRIFTED: Self = Self(11);
    /// Rules were written that fresh launches did not confirm.
    pub(crate) const UNCONFIRMED: Self = Self(12);
    /// A tuning changes nothing, since nothing is decided.
    pub(crate) const UNDECIDED: Self = Self(13);
}

/// A command that has nothing to say about its outcome is done.
impl From<()> for Exit {
    fn from((): ()) -> Self {
        Self::DONE
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

impl From<&WorkflowError> for Exit {
    fn from(error: &WorkflowError) -> Self {
        use WorkflowError as Error;
        match error {
            Error::Runner(error) => of_runner(error),
            Error::Record(error) => of_record(error),
            Error::Unconcluded { cause, .. } => Self::from(&**cause),
            Error::Usage(_) => Exit::USAGE,
            Error::Input(_) | Error::Open { .. } | Error::Analysis { .. } | Error::NotInForce { .. } => Exit::INPUT,
            Error::Environment(_) => Exit::ENVIRONMENT,
            Error::Incomplete { .. } | Error::Unvalidated { .. } | Error::DefaultFails(_) | Error::Unshown { .. } => {
                Exit::INCOMPLETE
            }
            Error::Occupied(_)
            | Error::Emit(_)
            | Error::Write { .. }
            | Error::Settings(_)
            | Error::Json(_)
            | Error::Stdout(_) => Exit::OUTPUT,
            Error::Unproven { .. } => Exit::UNPROVEN,
            Error::NotRepaired { .. } => Exit::SLOWER,
        }
    }
}

fn of_runner(error: &RunnerError) -> Exit {
    match error {
        RunnerError::BadArguments(_)
        | RunnerError::EmptyGrid(_)
        | RunnerError::Condition(_)
        | RunnerError::NotAJob { .. } => Exit::USAGE,
        RunnerError::Record(error) => of_record(error),
        RunnerError::Rules { .. } | RunnerError::Model(_) => Exit::INPUT,
        RunnerError::Scratch { .. } | RunnerError::Output(_) => Exit::OUTPUT,
        RunnerError::JobDied { .. }
        | RunnerError::JobHung { .. }
        | RunnerError::StartHung { .. }
        | RunnerError::GaveUp { .. }
        | RunnerError::Interrupted => Exit::INCOMPLETE,
        _ => Exit::ENVIRONMENT,
    }
}

/// Failed reads are input errors; failed writes, output errors.
fn of_record(error: &RunDirError) -> Exit {
    match error {
        RunDirError::NotARun { .. }
        | RunDirError::Undecided { .. }
        | RunDirError::Imported { .. }
        | RunDirError::Read { .. }
        | RunDirError::Damaged { .. }
        | RunDirError::Unaccounted { .. }
        | RunDirError::Format { .. } => Exit::INPUT,
        RunDirError::Occupied { .. }
        | RunDirError::NotADirectory { .. }
        | RunDirError::Create { .. }
        | RunDirError::Write { .. }
        | RunDirError::Append { .. }
        | RunDirError::Busy { .. }
        | RunDirError::Locked { .. } => Exit::OUTPUT,
    }
}
