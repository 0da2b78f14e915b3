//! Chosen algorithms compared on a grid.
//!
//! | module | job |
//! |---|---|
//! | `one` | a study of a definition as an instrument; a study of what others measured |
//! | `between` | sizes between those of a definition, where classes cross |
//! | `definition` | the definition's file |
//! | `scope` | the cells and candidates of a run that the study reports, and its analysis |
//! | `variant` | what is varied beside algorithms |
//! | `variants` | the same in several variants, and a page that compares them |
//! | `analysis` | every verdict, from the samples |
//! | `competitors`, `curves`, `machine`, `costs`, `patterns` | classes and crossings, lines through times, bounds and predictions, costs of variants, times of messages |
//! | `results` | the result, as its file has it |
//! | `report` | the result for people |

mod analysis;
mod between;
mod competitors;
mod costs;
mod curves;
mod definition;
mod machine;
mod one;
mod patterns;
mod report;
pub mod results;
mod scope;
mod variant;
mod variants;

use std::path::{Path, PathBuf};

use collrules_record::Arguments;
use collrules_record::options::{Budget, SystemOptions};
use collrules_record::rundir::RunDir;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{List, MOST_LAUNCHES, budget, communicators};
use collrules_rules::{Release, deploy};
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;

use self::definition::Definition;
pub use self::one::{OneStudy, README, STUDY, Studied, TIMES};
use self::report::About;
pub use self::variant::Variant;
pub use self::variants::compare_variants;

/// Options of `study`.
#[derive(Clone, Debug, clap::Args)]
pub struct Studying {
    /// The definition, or a table of timings by others, of which all is studied
    #[arg(value_name = "FILE")]
    pub definition: PathBuf,
    /// Release of Open MPI whose algorithm numbers a table means [default: 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<Release>,
    /// Write the times as OSU's benchmarks print theirs as well, a file for each collective, number of ranks and algorithm
    #[arg(long)]
    pub osu_files: bool,
    /// Communicator sizes, as for tune, instead of those of the definition; all must be possible
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
    pub ranks: List<Ranks>,
    /// Most memory for the buffers of one rank; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M", conflicts_with = "run")]
    pub max_memory: Bytes,
    /// Time for all of it, instead of that of the definition
    #[arg(long, value_name = "TIME|none", value_parser = budget, conflicts_with = "run")]
    pub budget: Option<Budget>,
    /// Number of launches, instead of that of the definition
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_LAUNCHES), conflicts_with = "run")]
    pub launches: Option<u32>,
    /// Rounds of measuring more sizes around crossovers between classes of algorithms (builtin, chan:short, chan:long);
    /// they share 15 % of the time
    #[arg(long, value_name = "ROUNDS", default_value_t = 0, conflicts_with = "run")]
    pub refine: u32,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

/// The seed of random orders.
const SEED: u64 = 1;

impl Studying {
    /// Reads the definition of a study that is measured, or made of earlier measurements, and the variants to compare.
    pub fn read(self, input: Option<&Path>) -> Result<(OneStudy, Vec<Variant>), WorkflowError> {
        let usage = |why: String| Err(WorkflowError::Usage(why));
        if self.is_table() {
            let measures = self.budget.is_some() || self.launches.is_some() || self.refine > 0;
            if measures || input.is_some() {
                let shown = self.definition.display();
                return usage(format!("{shown} is a table: leave out --run, --budget, --launches and --refine"));
            }
            let arguments = Arguments::default();
            return Ok((OneStudy { options: self, definition: None, arguments, seed: SEED }, Vec::new()));
        }
        let definition = definition::read(&self.definition)?;
        let read = variant::variants(&definition);
        let (mut variants, arguments) = read.map_err(|why| definition::refuse(&self.definition, &why))?;
        if self.release.is_some() && !input.is_some_and(is_of_others) {
            return usage("--release is for tables; a run and a job know their release".to_owned());
        }
        // A run of a single variant is a study like any other.
        let is_there = |variant: &Variant| input.is_none_or(|input| input.join(&variant.directory).is_dir());
        if !variants.iter().any(is_there) {
            variants.clear();
        }
        Ok((OneStudy { options: self, definition: Some(definition), arguments, seed: SEED }, variants))
    }

    /// Returns true if a table takes the place of a definition.
    pub fn is_table(&self) -> bool {
        self.definition.extension().is_none_or(|extension| extension != "toml")
    }

    /// The communicator sizes.
    fn ranks<'a>(&'a self, definition: &'a Definition) -> &'a [Ranks] {
        if self.ranks.is_empty() { &definition.np } else { &self.ranks }
    }
}

/// The subject of a page.
fn about<'a>(definition: &'a Definition, remarks: Vec<String>, session: &Session<'_>) -> About<'a> {
    let words = session.command.iter().skip(1).map(|word| deploy::quoted(word));
    let command = std::iter::once("collrules".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    About { definition, remarks, command }
}

/// Returns true for a table of timings, or an imported run.
fn is_of_others(path: &Path) -> bool {
    path.is_file() || RunDir::open(path).and_then(|run| run.is_imported()).unwrap_or(false)
}
