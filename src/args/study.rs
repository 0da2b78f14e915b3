//! Arguments of `collrules study`.

use std::path::PathBuf;

use collrules_workflow::options::{Budget, Communicators, MOST_LAUNCHES};

use super::{Launch, Simulate};

#[derive(Debug, clap::Args)]
#[command(after_help = "A definition says what is asked, which algorithms are compared, and what is drawn:

  title = \"Two ways to broadcast\"
  question = \"Which of them is faster, and where?\"
  np = [2, 4, 8]            # left out where there are fewer slots
  sizes = \"1:1M\"            # as --sizes of tune
  [algorithms]              # by name or number, beside the builtin
  bcast = [\"binomial\", \"chain\"]
  [figures]
  over_ranks = [\"1\", \"1M\"]  # these sizes over the number of ranks
  over_sizes = [8]          # these communicators over the message size
  builtin = true            # the builtin alone, a line per communicator

collrules' sources have two under examples/studies.")]
pub(crate) struct StudyArgs {
    /// The definition
    #[arg(value_name = "FILE")]
    pub(crate) definition: PathBuf,
    /// Directory for README.md, the figures, times.csv and study.json, which must not hold any of them yet; what is measured
    /// goes into its directory run
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Measure nothing: take what this run directory holds of what the definition asks for, which has to be all of it, but
    /// for communicators of more ranks than there were slots
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// What the reader should know about the machine, in whole sentences
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Communicator sizes, as for tune, instead of those of the definition; all of them are needed
    #[arg(long, value_name = "SIZES")]
    pub(crate) np: Option<Communicators>,
    /// Time for all of it, instead of that of the definition
    #[arg(long, value_name = "TIME|none", conflicts_with = "run")]
    pub(crate) budget: Option<Budget>,
    /// How many times to start the job, instead of what the definition says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_LAUNCHES), conflicts_with = "run")]
    pub(crate) launches: Option<u32>,
    #[command(flatten)]
    pub(crate) launch: Launch,
    #[command(flatten)]
    pub(crate) simulate: Simulate,
}
