//! Why a workflow ended without its result.

use std::path::{Path, PathBuf};

use collrules_record::rundir::RunDirError;
use collrules_rules::deploy::Inexpressible;
use collrules_rules::emit::EmitError;
use collrules_rules::words::first_lines;
use collrules_runner::RunnerError;
use collrules_runner::proof::Proof;
use collrules_tuner::TunerError;

/// Why a workflow ended without its result. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// Launching or measuring failed.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// Measuring ended early.
    #[error(
        "{cause}\n{samples} samples of {cells} of {planned} cells are safe in {kept}. `collrules measure --resume {run}` \
         resumes the run, `collrules tune --resume {run}` makes the rules as well{}",
        if *samples > 0 { format!(", and `collrules analyze {run}` makes them of what there is") } else { String::new() }
    )]
    Incomplete {
        /// What ended it.
        cause: Box<RunnerError>,
        /// Samples so far.
        samples: usize,
        /// Cells with samples.
        cells: usize,
        /// Cells of the plan.
        planned: usize,
        /// The samples file.
        kept: String,
        /// The run directory.
        run: String,
    },
    /// A check of guidelines ended early.
    #[error(
        "{cause}\n{samples} samples are safe in {kept}. `collrules guidelines --resume {run}` resumes the check, and \
         `collrules guidelines {run}` judges what there is"
    )]
    Unchecked {
        /// What ended it.
        cause: Box<RunnerError>,
        /// Samples so far.
        samples: usize,
        /// The samples file.
        kept: String,
        /// The run directory.
        run: String,
    },
    /// A comparison ended early.
    #[error(
        "{cause}\nThe comparison is not complete: its samples are safe in {kept}, and `collrules validate {arguments}` resumes \
         it. The rules file {}",
        match original {
            Some(original) => format!("was repaired after the previous comparison; the file before that is kept as {}", original.display()),
            None => "stays as it was".to_owned(),
        }
    )]
    Unvalidated {
        /// What ended it.
        cause: Box<RunnerError>,
        /// The directory of the comparison.
        kept: String,
        /// What makes `collrules validate` resume it.
        arguments: String,
        /// What the file was before it was repaired.
        original: Option<PathBuf>,
    },
    /// Something is slower, and nothing can be given back for it.
    #[error(
        "{rules} is slower than the builtin in some cells, but giving these cells back to the builtin would not \
         change the file: it stays as it is. `collrules validate {rules}` names the cells"
    )]
    NotRepaired {
        /// The rules file.
        rules: String,
    },
    /// What comes after measuring failed.
    #[error("{cause}\nAll samples are safe; `collrules tune --resume {run}` repeats the rest")]
    Unconcluded {
        /// What failed.
        cause: Box<WorkflowError>,
        /// The run directory.
        run: String,
    },
    /// A run cannot be resumed here.
    #[error(
        "{run} cannot be resumed here, since its samples could not be compared:\n  {}\nResume it where it was begun, \
         or measure into a new directory with --out",
        differences.join("\n  ")
    )]
    OtherSystem {
        /// The run directory.
        run: String,
        /// What is different.
        differences: Vec<String>,
    },
    /// A run directory refused.
    #[error(transparent)]
    Record(#[from] RunDirError),
    /// A job of which nothing was seen.
    #[error("there is no profile: {why}")]
    NoProfile {
        /// Why not.
        why: String,
        /// The code that the job ended with.
        code: i32,
    },
    /// No library to preload.
    #[error(
        "there is no {library} in {}: build it (cargo build --release), copy it into one of these, or name it with --library",
        list(places)
    )]
    NoLibrary {
        /// Its name.
        library: &'static str,
        /// Where it was looked for.
        places: Vec<PathBuf>,
    },
    /// An input that another command takes, or none.
    #[error("{0}")]
    Input(String),
    /// An input cannot be opened.
    #[error("cannot open {}: {cause}", path.display())]
    Open {
        /// The input.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// An analysis cannot be made.
    #[error("{source_name}: {cause}")]
    Analysis {
        /// What was analysed.
        source_name: String,
        /// What is wrong with it.
        cause: TunerError,
    },
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
    /// The options contradict each other, or the input.
    #[error("{0}")]
    Usage(String),
    /// The release in use does not take the file.
    #[error("Open MPI does not accept {}:\n  {}", path.display(), reasons.join("\n  "))]
    NotInForce {
        /// The file.
        path: PathBuf,
        /// Why, by version.
        reasons: Vec<String>,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// Whether the file is obeyed is not known.
    #[error("whether the rules file is obeyed could not be shown: {cause}")]
    Unshown {
        /// What the job did instead.
        cause: RunnerError,
    },
    /// The file is not obeyed.
    #[error("{what}:\n{}", faults.join("\n"))]
    Unproven {
        /// Which file, and what that means.
        what: String,
        /// What is not obeyed, a line each.
        faults: Vec<String>,
    },
}

/// How many faults of a proof are named.
const NAMED_FAULTS: usize = 20;

impl WorkflowError {
    /// A file that cannot be opened.
    pub fn open(path: &Path, cause: std::io::Error) -> Self {
        Self::Open { path: path.to_owned(), cause }
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, cause: std::io::Error) -> Self {
        Self::Write { path: path.to_owned(), cause }
    }

    /// What an analysis of this source ran into.
    pub fn analysis(source_name: impl ToString) -> impl Fn(TunerError) -> Self {
        let source_name = source_name.to_string();
        move |cause| Self::Analysis { source_name: source_name.clone(), cause }
    }

    /// What a proof ran into. A job that did not do what it was asked shows nothing, neither for the file nor against it.
    pub(crate) fn unshown(self) -> Self {
        match self {
            Self::Runner(cause) if cause.is_of_job() => Self::Unshown { cause },
            other => other,
        }
    }

    /// What is not obeyed, and where.
    pub(crate) fn unproven(what: String, proof: &Proof) -> Self {
        let faults = first_lines(proof.faults.iter().map(ToString::to_string).collect(), NAMED_FAULTS);
        Self::Unproven { what, faults: faults.into_iter().map(|fault| format!("  {fault}")).collect() }
    }
}

/// Directories in words.
fn list(places: &[PathBuf]) -> String {
    let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    match shown.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => shown.concat(),
    }
}
