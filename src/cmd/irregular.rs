//! `collrules irregular`: calls that sometimes take many times as long, and remedies.

use std::path::PathBuf;

use collrules_model::stalls;
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{List, MOST_LAUNCHES, budget, collectives, communicators, sizes};
use collrules_report::irregular as report;
use collrules_rules::Collective;
use collrules_workflow::irregular::Irregularity;

use super::instrument::{self, Source};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{SessionArgs, arguments};
use crate::screen;

arguments! {
    #[command(
        after_help = "Stalls are calls that take several times as long as usual, all by about the same; on TCP they are \
    timeouts for retransmission. A median does not show them."
    )]
    IrregularArgs {
        /// Measure nothing: look at the calls of this run, of whichever command, or of an import of single calls (ReproMPI)
        #[arg(value_name = "RUN")]
        input: Option<PathBuf>,
        /// Directory for what is measured, and for irregular.html, irregular.md, irregular.json and hmpi.h [default:
        /// collrules-irregular-DATE-TIME where something is measured]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// List what would be measured, and stop
        #[arg(long)]
        dry_run: bool,
    } => Irregularity {
        /// Collectives to time, separated by commas; also as gatherv, scatterv and alltoallv
        #[arg(long = "ops", value_name = "LIST", default_value = "gather,scatter,alltoall", value_parser = collectives)]
        collectives: List<Collective>,
        /// Communicator sizes, as for tune [default: all slots]
        #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
        ranks: List<Ranks>,
        /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
        #[arg(long, value_name = "SIZES", default_value = "1K:256K", value_parser = sizes)]
        sizes: List<Bytes>,
        /// Also split messages into these numbers of calls, with barriers between them; separated by commas. Those that
        /// keep calls below stalls and jumps are always timed
        #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..))]
        pieces: Vec<u32>,
        /// Time for all of it; with `none`, as long as all calls take
        #[arg(long, value_name = "TIME|none", default_value = "300s", value_parser = budget)]
        budget: Budget,
        /// Number of launches
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
        launches: u32,
        /// Seed of every random order
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Model of this machine by `collrules model`: shows the usual time as well if all calls of all sizes stall
        #[arg(long = "model", value_name = "MODEL")]
        fitted: Option<PathBuf>,
        #[command(flatten)]
        timing: TimingOptions,
        #[command(flatten)]
        system: SystemOptions,
    } {
        #[command(flatten)]
        session: SessionArgs,
    }
}

pub(crate) fn run(args: &IrregularArgs) -> Result<Exit, Failure> {
    let source = Source {
        input: args.input.as_deref(),
        out: args.out.as_deref(),
        session: &args.session,
        dry_run: args.dry_run,
    };
    let files = [
        (stalls::PAGE, "times by size for every alternative, and all distributions"),
        (stalls::TEXT, "the same as text"),
        (stalls::FILE, "all of it for programs"),
        (stalls::HEADER, "gathers and scatters in pieces, for programs in C"),
    ];
    instrument::run(&args.resolve(), source, &files, |found| {
        let exit = if found.default_failed.is_empty() { Exit::Done } else { Exit::Problems };
        (report::document(found).text(screen::width()), exit)
    })
}
