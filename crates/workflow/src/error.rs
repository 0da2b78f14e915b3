//! Errors that end a workflow without its result.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use collrules_record::RunDir;
use collrules_record::rundir::{self, RunDirError};
use collrules_record::tuning::TuningError;
use collrules_rules::deploy::quoted;
use collrules_rules::emit::EmitError;
use collrules_rules::words::first_lines;
use collrules_runner::RunnerError;
use collrules_runner::proof::Proof;
use collrules_tuner::TunerError;

/// Error that ended a workflow without its result. Each message includes a remedy.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// Launching or measuring failed.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// Measuring ended early.
    #[error("{cause}\n{samples} samples of {cells} of {planned} sizes are safe in {kept}. {next}")]
    Incomplete {
        /// Error that ended measuring.
        cause: Box<RunnerError>,
        /// Samples so far.
        samples: usize,
        /// Cells with samples.
        cells: usize,
        /// Cells of the plan.
        planned: usize,
        /// The samples file.
        kept: String,
        /// Commands that continue, in a sentence.
        next: String,
    },
    /// A comparison ended early. All files are as they were.
    #[error(
        "{cause}\nThe comparison is not complete: its launches are safe in {kept}, and `collrules {next}` resumes it"
    )]
    Unvalidated {
        /// Error that ended the comparison.
        cause: Box<WorkflowError>,
        /// The log of its launches.
        kept: String,
        /// Command that resumes it, with its arguments.
        next: String,
    },
    /// Jobs with the default fail.
    #[error("jobs with the default fail, so nothing can be compared: {0}")]
    DefaultFails(String),
    /// Some sizes are slower, and nothing can be reverted for them.
    #[error(
        "{rules} is slower than the default for some sizes, but removing their rules would not change the file: it \
         stays as it is. `collrules validate {rules}` names the sizes"
    )]
    NotRepaired {
        /// The rules file.
        rules: String,
    },
    /// A step after measuring failed.
    #[error("{cause}\nAll samples are safe; `collrules tune --resume {run}` continues from there")]
    Unconcluded {
        /// Error of that step.
        cause: Box<WorkflowError>,
        /// The run directory.
        run: String,
    },
    /// A run directory that cannot be used.
    #[error(transparent)]
    Record(#[from] RunDirError),
    /// The system lacks what a command needs, or is another one than before.
    #[error("{0}")]
    Environment(String),
    /// An input of another command, or of none.
    #[error("{0}")]
    Input(String),
    /// An input cannot be opened.
    #[error("cannot open {}: {cause}", path.display())]
    Open {
        /// The input.
        path: PathBuf,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// An analysis cannot be made.
    #[error("{source_name}: {cause}")]
    Analysis {
        /// Name of the run or table that was analysed.
        source_name: String,
        /// Error of the analysis.
        cause: TunerError,
    },
    /// The rules cannot be written as a file.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The settings cannot be written as a file.
    #[error("{0}; choose another output directory with --out")]
    Settings(String),
    /// Standard output is closed.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
    /// A structure cannot be written as JSON.
    #[error("cannot write as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The output exists already.
    #[error("{0}")]
    Occupied(String),
    /// Options that contradict each other, or the input.
    #[error("{0}")]
    Usage(String),
    /// The release in use does not accept the file.
    #[error("{} is not accepted:\n  {}", path.display(), reasons.join("\n  "))]
    NotInForce {
        /// The file.
        path: PathBuf,
        /// Reasons, by version.
        reasons: Vec<String>,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// It is unknown whether the file is obeyed.
    #[error("the check whether Open MPI obeys the rules file failed: {cause}")]
    Unshown {
        /// Failure of the job that should have shown it.
        cause: RunnerError,
    },
    /// The file is not obeyed.
    #[error("{what}:\n{}", faults.join("\n"))]
    Unproven {
        /// The file, with the consequence.
        what: String,
        /// Faults of the proof, a line each.
        faults: Vec<String>,
    },
}

impl From<TuningError> for WorkflowError {
    fn from(error: TuningError) -> Self {
        match error {
            TuningError::Open { path, cause } => Self::Open { path, cause },
            TuningError::Refused { path, reasons } => Self::NotInForce { path, reasons },
            TuningError::NotOfTuned { .. } => Self::Usage(error.to_string()),
            TuningError::Emit(cause) => Self::Emit(cause),
            TuningError::EmitHan(_) => Self::Input(error.to_string()),
        }
    }
}

/// Largest number of faults of a proof that are named.
const NAMED_FAULTS: usize = 20;

impl WorkflowError {
    /// A file that cannot be opened.
    pub fn open(path: &Path, cause: std::io::Error) -> Self {
        Self::Open { path: path.to_owned(), cause }
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, cause: std::io::Error) -> Self {
        match cause.kind() {
            ErrorKind::AlreadyExists => {
                Self::Occupied(format!("{} exists already; choose another --out", path.display()))
            }
            _ => Self::Write { path: path.to_owned(), cause },
        }
    }

    /// Options that contradict each other, or the input.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::Usage(what.into())
    }

    /// A file that no release accepts, with the reasons by version.
    pub fn not_in_force(path: &Path, reasons: Vec<String>) -> Self {
        Self::NotInForce { path: path.to_owned(), reasons }
    }

    /// Returns a function that wraps an error of an analysis of this source.
    pub fn analysis(source_name: impl ToString) -> impl Fn(TunerError) -> Self {
        let source_name = source_name.to_string();
        move |cause| Self::Analysis { source_name: source_name.clone(), cause }
    }

    /// Turns the failure of a proof's job into `Unshown`: it is no evidence for or against the file.
    pub fn unshown(self) -> Self {
        match self {
            Self::Runner(cause) if cause.is_of_job() => Self::Unshown { cause },
            other => other,
        }
    }

    /// Adds how to resume a validation to an error that ended it.
    pub(crate) fn while_comparing(self, rules: &str, home: &RunDir, repairs: bool) -> Self {
        let repair = if repairs { "--repair " } else { "" };
        let is_in_home = Path::new(rules).parent() == Some(home.path());
        let out = if is_in_home { String::new() } else { format!(" --out {}", quoted(&home.path().to_string_lossy())) };
        self.resumed_by(home, format!("validate {repair}{}{out}", quoted(rules)))
    }

    /// Adds how to resume a tuning to an error that ended its comparison.
    pub(crate) fn while_tuning(self, run: &RunDir) -> Self {
        self.resumed_by(run, format!("tune --resume {}", quoted(&run.path().to_string_lossy())))
    }

    fn resumed_by(self, home: &RunDir, next: String) -> Self {
        match self {
            Self::Runner(RunnerError::Interrupted | RunnerError::Scratch { .. })
            | Self::Record(_)
            | Self::DefaultFails(_) => {
                let kept = home.file(rundir::COMPARISON).display().to_string();
                Self::Unvalidated { cause: Box::new(self), kept, next }
            }
            other => other,
        }
    }

    /// Makes the error for a file that is not obeyed, with the faults of its proof.
    pub(crate) fn unproven(what: String, proof: &Proof) -> Self {
        let faults = first_lines(proof.faults.iter().map(ToString::to_string).collect(), NAMED_FAULTS);
        Self::Unproven { what, faults: faults.into_iter().map(|fault| format!("  {fault}")).collect() }
    }
}
