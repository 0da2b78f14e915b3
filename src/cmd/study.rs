//! `collrules study`: chosen algorithms compared on a grid.

use std::path::PathBuf;

use collrules_record::options::{Budget, SystemOptions};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{List, MOST_LAUNCHES, budget, communicators};
use collrules_rules::Release;
use collrules_workflow::instrument::Instrument;
use collrules_workflow::study::{self, OneStudy, Studying, compare_variants};

use super::instrument::{self, Source};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{SessionArgs, arguments, named_or_new};
use crate::progress::Output;
use crate::{screen, session};

arguments! {
    #[command(after_help = "docs/guide/studies.md in collrules' sources describes definitions; examples/studies has several.")]
    StudyArgs {
        /// Measure nothing, and study this run directory, measured or imported, or table of timings; what it lacks is said. With
        /// placements, it is the directory of such a study
        #[arg(long, value_name = "RUN|TABLE")]
        run: Option<PathBuf>,
        /// Directory for what is measured, and for README.md, the figures, times.csv and study.json; it must not hold any of them
        /// yet [default: collrules-study-DATE-TIME where something is measured]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// List what would be measured, and stop
        #[arg(long)]
        dry_run: bool,
    } => Studying {
        /// The definition, or a table of timings by others, of which all is studied
        #[arg(value_name = "FILE")]
        definition: PathBuf,
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
    } {
        #[command(flatten)]
        session: SessionArgs,
    }
}

pub(crate) fn run(args: &StudyArgs) -> Result<Exit, Failure> {
    let options = args.resolve();
    let input = if options.is_table() { Some(args.definition.as_path()) } else { args.run.as_deref() };
    let (study, variants) = options.read(args.run.as_deref())?;
    let exit = |default_is_right: bool| if default_is_right { Exit::Done } else { Exit::Problems };
    if variants.is_empty() {
        let source = Source { input, out: args.out.as_deref(), session: &args.session, dry_run: args.dry_run };
        let files = [
            (study::README, "the study, with all tables and figures"),
            (study::TIMES, "every time"),
            (study::STUDY, "all of it for programs"),
        ];
        return instrument::run(&study, source, &files, |found| {
            (found.document.text(screen::width()), exit(found.study.failed_defaults().is_empty()))
        });
    }
    if args.dry_run {
        return Err(Failure::usage("--dry-run lists one measurement, and this study has several"));
    }
    let new = || named_or_new(args.out.as_deref(), OneStudy::NAME);
    let (out, resumes) = (args.session.resume.clone().unwrap_or_else(new), args.session.resume.is_some());
    let (document, studies) = session::with(args.session.failures, Output::new(args.session.json), |session| {
        compare_variants(&study, &variants, input, (&out, resumes), session)
    })?;
    let exit = exit(studies.values().all(|study| study.failed_defaults().is_empty()));
    let files = [(study::README, "the comparison, with links to each study")];
    instrument::print(&studies, Some(&out), args.session.json, &files, (document.text(screen::width()), exit))
}
