//! Chosen algorithms compared on a grid.
//!
//! | module | job |
//! |---|---|
//! | `between` | sizes between those of a definition, where classes cross |
//! | `definition` | the definition's file |
//! | `scope` | the cells and candidates of a run that the study reports, and its analysis |
//! | `written` | its output files |
//! | `one` | a measurement, with ranks as mpirun places them |
//! | `table` | a study of what others measured |
//! | `variant` | what is varied beside algorithms |
//! | `variants` | the same in several variants, and a page that compares them |

mod between;
mod definition;
mod one;
mod scope;
mod table;
mod variant;
mod variants;
mod written;

use std::path::{Path, PathBuf};

use collrules_record::options::{Budget, SystemOptions};
use collrules_record::rundir::RunDir;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::Release;

use self::one::StudyMeasurement;
pub use self::written::Studied;
use crate::error::WorkflowError;
use crate::session::Session;

/// Options of `study`.
#[derive(Clone, Debug)]
pub struct Studying {
    /// The definition, or a table of timings by others, of which all is studied.
    pub definition: PathBuf,
    /// Directory for README.md, the figures, times.csv and study.json, which must not hold any of them yet.
    pub out: PathBuf,
    /// A run or table to study instead of measuring.
    pub run: Option<PathBuf>,
    /// Release of a table.
    pub release: Option<Release>,
    /// True to write files in the format of OSU's benchmarks as well.
    pub osu_files: bool,
    /// Remarks on the machine.
    pub note: Option<String>,
    /// Communicator sizes; if empty, those of the definition.
    pub ranks: Vec<Ranks>,
    /// Most memory for the buffers of one rank.
    pub max_memory: Bytes,
    /// Time, instead of that of the definition.
    pub budget: Option<Budget>,
    /// Number of launches, instead of that of the definition.
    pub launches: Option<u32>,
    /// Rounds of measuring more sizes around crossovers between classes of algorithms.
    pub refine: u32,
    /// System that runs the jobs.
    pub system: SystemOptions,
}

/// The seed of random orders.
const SEED: u64 = 1;

/// Measures a definition, or reads its measurements from a run, and writes the study.
pub fn study(options: &Studying, session: &mut Session<'_>) -> Result<Studied, WorkflowError> {
    written::refuse_occupied(&options.out)?;
    if options.definition.extension().is_none_or(|extension| extension != "toml") {
        refuse_measuring(options)?;
        return table::study(options, None, &options.definition, session);
    }
    let definition = definition::read(&options.definition)?;
    let read = variant::variants(&definition);
    let (variants, arguments) = read.map_err(|why| definition::refuse(&options.definition, &why))?;
    if let Some(path) = options.run.as_deref().filter(|path| is_of_others(path)) {
        return table::study(options, Some(&definition), path, session);
    }
    if options.release.is_some() {
        return Err(WorkflowError::Usage("--release is for tables; a run and a job know their release".to_owned()));
    }
    let is_measured = |run: &PathBuf| variants.iter().any(|variant| variants::run_of(run, variant).is_dir());
    if options.run.as_ref().map_or(!variants.is_empty(), is_measured) {
        return variants::study(options, &definition, &variants, session);
    }
    let mut measurement = StudyMeasurement::begin(options.clone(), &definition, arguments, SEED, session)?;
    if let Some(measured) = &mut measurement.measured {
        measured.grid(session)?;
    }
    measurement.finish(session).map(|(_, studied)| studied)
}

/// Returns true for a table of timings, or an imported run.
fn is_of_others(path: &Path) -> bool {
    path.is_file() || RunDir::open(path).and_then(|run| run.is_imported()).unwrap_or(false)
}

/// Refuses options that ask for measurements next to a table.
fn refuse_measuring(options: &Studying) -> Result<(), WorkflowError> {
    let asked = [
        ("--run", options.run.is_some()),
        ("--budget", options.budget.is_some()),
        ("--launches", options.launches.is_some()),
        ("--refine", options.refine > 0),
    ];
    let asked = asked.into_iter().find(|(_, asked)| *asked);
    asked.map_or(Ok(()), |(option, _)| {
        let why = format!("{option} asks for measurements, and {} is a table", options.definition.display());
        Err(WorkflowError::Usage(why))
    })
}
