//! `collrules study`: chosen algorithms compared on a grid.

use std::path::PathBuf;

use collrules_record::options::{Budget, SystemOptions};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{List, MOST_LAUNCHES, budget, communicators};
use collrules_rules::Release;
use collrules_workflow::study::{self, Studied, Studying};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::arguments;
use crate::progress::Output;
use crate::screen;
use crate::session::{self, FAILURES};

arguments! {
    #[command(after_help = "docs/guide/studies.md in collrules' sources describes definitions; examples/studies has several.")]
    StudyArgs {} => Studying {
        /// The definition, or a table of timings by others, of which all is studied
        #[arg(value_name = "FILE")]
        definition: PathBuf,
        /// Directory for README.md, the figures, times.csv and study.json, which must not hold any of them yet; what is measured
        /// goes into its directory run
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Measure nothing, and study this run directory, measured or imported, or table of timings; what it lacks is said. With
        /// placements, it is the directory of such a study
        #[arg(long, value_name = "RUN|TABLE")]
        run: Option<PathBuf>,
        /// Release of Open MPI whose algorithm numbers a table means [default: 5.0]
        #[arg(long, value_name = "RELEASE")]
        release: Option<Release>,
        /// Write the times as OSU's benchmarks print theirs as well, a file for each collective, number of ranks and algorithm
        #[arg(long)]
        osu_files: bool,
        /// Remarks on the machine for the reader, in whole sentences
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Communicator sizes, as for tune, instead of those of the definition; all must be possible
        #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
        ranks: List<Ranks>,
        /// Most memory for the buffers of one rank; larger calls are left out
        #[arg(long, value_name = "SIZE", default_value = "512M", conflicts_with = "run")]
        max_memory: Bytes,
        /// Time for all of it, instead of that of the definition
        #[arg(long, value_name = "TIME|none", value_parser = budget, conflicts_with = "run")]
        budget: Option<Budget>,
        /// Number of launches, instead of that of the definition
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_LAUNCHES), conflicts_with = "run")]
        launches: Option<u32>,
        /// Rounds of measuring more sizes around crossovers between classes of algorithms (builtin, chan:short, chan:long);
        /// they share 15 % of the time
        #[arg(long, value_name = "ROUNDS", default_value_t = 0, conflicts_with = "run")]
        refine: u32,
        #[command(flatten)]
        system: SystemOptions,
    } {}
}

pub(crate) fn run(args: &StudyArgs) -> Result<Exit, Failure> {
    let Studied { document, default_is_right, files } =
        session::with(FAILURES, Output::Text, |session| study::study(&args.resolve(), session))?;
    let width = files.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let files = screen::list_files(&args.out, width, files.iter().map(|(name, what)| (name.as_str(), what.as_str())));
    let text = document.text(screen::width()) + "\n" + &files.join("\n");
    screen::print(&text).map(|()| if default_is_right { Exit::Done } else { Exit::Problems })
}
