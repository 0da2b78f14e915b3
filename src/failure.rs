//! Errors of commands, with their exit codes.

use std::path::{Path, PathBuf};

use collrules_import::ImportError;
use collrules_record::rundir::RunDirError;
use collrules_rules::convert::Ambiguity;
use collrules_rules::deploy::Inexpressible;
use collrules_rules::emit::EmitError;
use collrules_runner::RunnerError;
use collrules_workflow::WorkflowError;

use crate::exit::Exit;

/// Error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A workflow ended without its result.
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    /// None of many files can be used.
    #[error("{cause}")]
    NotImported { cause: ImportError },
    /// A file that releases interpret differently.
    #[error("{}: {ambiguity}; name with --release whose reading counts", path.display())]
    Ambiguous { path: PathBuf, ambiguity: Box<Ambiguity> },
    /// Standard output is closed.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
}

/// Implements the conversion from errors that become a `WorkflowError` first.
macro_rules! by_way_of_workflow {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Workflow(error.into())
            }
        })*
    };
}
by_way_of_workflow!(RunnerError, RunDirError, EmitError, Inexpressible, serde_json::Error);

impl Failure {
    /// An input cannot be opened.
    pub(crate) fn open(path: &Path, cause: std::io::Error) -> Self {
        WorkflowError::open(path, cause).into()
    }

    /// A file cannot be written.
    pub(crate) fn write(path: &Path, cause: std::io::Error) -> Self {
        WorkflowError::write(path, cause).into()
    }

    /// Options that contradict each other, or the input.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        WorkflowError::Usage(what.into()).into()
    }

    /// No release accepts the file.
    pub(crate) fn not_in_force(path: &Path, reasons: Vec<String>) -> Self {
        WorkflowError::NotInForce { path: path.to_owned(), reasons }.into()
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Workflow(error) => of_workflow(error),
            Self::NotImported { .. } | Self::Ambiguous { .. } => Exit::Input,
            Self::Stdout(_) => Exit::Output,
        }
    }
}

fn of_workflow(error: &WorkflowError) -> Exit {
    use WorkflowError as Error;
    match error {
        Error::Runner(error) => of_runner(error),
        Error::Record(error) => of_record(error),
        Error::Unconcluded { cause, .. } => of_workflow(cause),
        Error::Usage(_) => Exit::Usage,
        Error::Input(_) | Error::Open { .. } | Error::Analysis { .. } | Error::NotInForce { .. } => Exit::Input,
        Error::Environment(_) => Exit::Environment,
        Error::Incomplete { .. } | Error::Unvalidated { .. } | Error::DefaultFails(_) | Error::Unshown { .. } => {
            Exit::Incomplete
        }
        Error::Occupied(_) | Error::Emit(_) | Error::Write { .. } | Error::Settings(_) | Error::Json(_) => Exit::Output,
        Error::Unproven { .. } => Exit::Unproven,
        Error::NotRepaired { .. } => Exit::Slower,
    }
}

fn of_runner(error: &RunnerError) -> Exit {
    match error {
        RunnerError::BadArguments(_)
        | RunnerError::EmptyGrid(_)
        | RunnerError::Condition(_)
        | RunnerError::NotAJob { .. } => Exit::Usage,
        RunnerError::Record(error) => of_record(error),
        RunnerError::Rules { .. } | RunnerError::Model(_) => Exit::Input,
        RunnerError::Scratch { .. } | RunnerError::Output(_) => Exit::Output,
        RunnerError::JobDied { .. }
        | RunnerError::JobHung { .. }
        | RunnerError::StartHung { .. }
        | RunnerError::GaveUp { .. }
        | RunnerError::Interrupted => Exit::Incomplete,
        _ => Exit::Environment,
    }
}

/// Failed reads are input errors; failed writes, output errors.
fn of_record(error: &RunDirError) -> Exit {
    match error {
        RunDirError::NotARun { .. }
        | RunDirError::Imported { .. }
        | RunDirError::Read { .. }
        | RunDirError::Damaged { .. }
        | RunDirError::Unaccounted { .. }
        | RunDirError::Format { .. } => Exit::Input,
        RunDirError::Occupied { .. }
        | RunDirError::NotADirectory { .. }
        | RunDirError::Create { .. }
        | RunDirError::Write { .. }
        | RunDirError::Append { .. }
        | RunDirError::Busy { .. }
        | RunDirError::Locked { .. } => Exit::Output,
    }
}
