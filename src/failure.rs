//! One error type for the whole command line, each with its exit code.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use collrules_record::import::ImportError;
use collrules_record::rundir::RunDirError;
use collrules_report::plain;
use collrules_rules::classic::EmitError;
use collrules_rules::convert::Ambiguity;
use collrules_rules::deploy::Inexpressible;
use collrules_runner::RunnerError;
use collrules_runner::proof::Proof;
use collrules_tuner::TunerError;

use crate::exit::Exit;
use crate::screen::{self, Ink, paint};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nothing was measured.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// Measuring ended before its time.
    #[error(
        "{cause}\n{samples} samples of {cells} of {planned} cells are safe in {kept}. `collrules measure --resume {run}` \
         goes on, `collrules tune --resume {run}` makes the rules as well{}",
        if *samples > 0 { format!(", and `collrules analyze {run}` makes them of what there is") } else { String::new() }
    )]
    Incomplete { cause: Box<RunnerError>, samples: usize, cells: usize, planned: usize, kept: String, run: String },
    /// A comparison ended before its time.
    #[error(
        "{cause}\nThe comparison is not complete: its samples are safe in {kept}, and `collrules validate {arguments}` goes \
         on with it. The rules file {}",
        match original {
            Some(original) => format!("was repaired after the comparison before; what it was is kept as {}", original.display()),
            None => "stays as it was".to_owned(),
        }
    )]
    Unvalidated { cause: Box<Failure>, kept: String, arguments: String, original: Option<PathBuf> },
    /// Something is slower, and nothing can be given back for it.
    #[error(
        "{rules} is slower than the builtin in some cells, and giving those back does not change what it says: \
         it stays as it is. `collrules validate {rules}` names the cells"
    )]
    NotRepaired { rules: String },
    /// What comes after measuring failed.
    #[error("{cause}\nAll samples are safe; `collrules tune --resume {run}` does the rest again")]
    Unconcluded { cause: Box<Failure>, run: String },
    /// A run cannot be gone on with here.
    #[error(
        "{run} cannot be gone on with here, since its samples would not be alike:\n  {}\nGo on where it was begun, or \
         measure into a new directory with --out",
        differences.join("\n  ")
    )]
    OtherSystem { run: String, differences: Vec<String> },
    /// A run directory refused.
    #[error(transparent)]
    Record(#[from] RunDirError),
    /// A table cannot be used.
    #[error("{}: {cause}", path.display())]
    Import { path: PathBuf, cause: ImportError },
    /// An input that another command takes.
    #[error("{0}")]
    Input(String),
    /// Nothing of many files can be used.
    #[error("{cause}")]
    NotImported { cause: ImportError },
    /// An input cannot be opened.
    #[error("cannot open {}: {cause}", path.display())]
    Open { path: PathBuf, cause: std::io::Error },
    /// A file that does not hold findings.
    #[error("{} does not hold findings of this version: {cause}", path.display())]
    BadFindings { path: PathBuf, cause: serde_json::Error },
    /// Findings of a version that made no tree.
    #[error("{} holds no decision tree; `collrules analyze` makes one from the run or the table", path.display())]
    NoTree { path: PathBuf },
    /// An analysis cannot be made.
    #[error("{source_name}: {cause}")]
    Analysis { source_name: String, cause: TunerError },
    /// The rules cannot be written as a file.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The settings cannot be written as a file.
    #[error("{0}; choose another output directory with --out")]
    Settings(#[from] Inexpressible),
    /// A structure cannot be written as JSON.
    #[error("cannot write as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// What would be written is there already.
    #[error("{0}")]
    Occupied(String),
    /// The command line contradicts itself.
    #[error("{0}")]
    Usage(String),
    /// No release has the file in force.
    #[error("Open MPI does not take {}:\n  {}", path.display(), reasons.join("\n  "))]
    NotInForce { path: PathBuf, reasons: Vec<String> },
    /// A file that releases read differently.
    #[error("{}: {ambiguity}; say with --release whose reading is meant", path.display())]
    Ambiguous { path: PathBuf, ambiguity: Box<Ambiguity> },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write { path: PathBuf, cause: std::io::Error },
    /// The file is not obeyed.
    #[error("{what}:\n{}", faults.join("\n"))]
    Unproven { what: String, faults: Vec<String> },
    /// Whether the file is obeyed is not known.
    #[error("whether the rules file is obeyed could not be shown: {cause}")]
    Unshown { cause: RunnerError },
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
}

/// How many faults of a proof are named.
const NAMED_FAULTS: usize = 20;

impl Failure {
    /// What is not obeyed, and where.
    pub(crate) fn unproven(what: String, proof: &Proof) -> Self {
        let mut faults: Vec<String> =
            proof.faults.iter().take(NAMED_FAULTS).map(|fault| format!("  {fault}")).collect();
        if proof.faults.len() > NAMED_FAULTS {
            faults.push(format!("  and {} more", proof.faults.len() - NAMED_FAULTS));
        }
        Self::Unproven { what, faults }
    }

    /// Says what went wrong, on standard error, and gives the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        if matches!(self, Self::Stdout(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe) {
            // Who closes the pipe, as `head` does, has read enough.
            return self.exit().into();
        }
        // Nothing is left to be done where standard error itself is gone.
        // What is wrong with a file may be quoted from it, and is nothing for a terminal to obey.
        let said = self.to_string().lines().map(plain::line).collect::<Vec<_>>().join("\n");
        let text = screen::logged("collrules: ", &said);
        let text = text.strip_prefix("collrules:").unwrap_or(&text);
        let _ = writeln!(screen::stderr(), "{}{text}", paint(Ink::Bad, "collrules:"));
        self.exit().into()
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Runner(RunnerError::BadArguments(_) | RunnerError::EmptyGrid(_)) => Exit::Usage,
            Self::Import { .. }
            | Self::BadFindings { .. }
            | Self::NoTree { .. }
            | Self::NotImported { .. }
            | Self::Input(_)
            | Self::Open { .. }
            | Self::Analysis { .. }
            | Self::NotInForce { .. }
            | Self::Ambiguous { .. } => Exit::Input,
            Self::Runner(RunnerError::Record(error)) | Self::Record(error) if is_input(error) => Exit::Input,
            Self::Runner(RunnerError::Rules { .. }) => Exit::Input,
            Self::Runner(RunnerError::Record(_) | RunnerError::Scratch { .. } | RunnerError::Output(_))
            | Self::Record(_) => Exit::Output,
            Self::Occupied(_)
            | Self::Emit(_)
            | Self::Write { .. }
            | Self::Settings(_)
            | Self::Json(_)
            | Self::Stdout(_) => Exit::Output,
            Self::Runner(
                RunnerError::JobDied { .. }
                | RunnerError::JobHung { .. }
                | RunnerError::StartHung { .. }
                | RunnerError::GaveUp { .. }
                | RunnerError::Interrupted,
            ) => Exit::Incomplete,
            Self::Unconcluded { cause, .. } => cause.exit(),
            Self::OtherSystem { .. } => Exit::Environment,
            Self::Runner(_) => Exit::Environment,
            Self::Incomplete { .. } | Self::Unvalidated { .. } | Self::Unshown { .. } => Exit::Incomplete,
            Self::Unproven { .. } => Exit::Unproven,
            Self::NotRepaired { .. } => Exit::Slower,
        }
    }
}

/// Whether it is something that was to be read rather than written.
fn is_input(error: &RunDirError) -> bool {
    match error {
        RunDirError::NotARun { .. }
        | RunDirError::Imported { .. }
        | RunDirError::Read { .. }
        | RunDirError::BadManifest { .. }
        | RunDirError::BadSamples { .. }
        | RunDirError::NotResumable { .. }
        | RunDirError::Format { .. } => true,
        RunDirError::Occupied { .. }
        | RunDirError::NotADirectory { .. }
        | RunDirError::Create { .. }
        | RunDirError::Write { .. }
        | RunDirError::Append { .. }
        | RunDirError::Busy { .. } => false,
    }
}
