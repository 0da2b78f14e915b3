//! `collrules model`: times of messages, slow nodes, and predictions for collectives.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use collrules_model::model as files;
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{List, MOST_LAUNCHES, budget, collectives, percent, size, sizes, slowdown};
use collrules_report::model as report;
use collrules_rules::{Collective, Release};
use collrules_workflow::model;
use collrules_workflow::model::{CallQuestion, Modelling};

use super::instrument::{self, Source};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{SessionArgs, arguments};
use crate::{screen, session};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A table of probes has a line for each timing, below the names of its columns: pattern (pingpong, ping, \
one-to-two, train, train-busy or receive-late), ranks (0+1, or 0+1+2), bytes, launch, seconds, and hosts (a+b) where \
ranks share hosts.

Exit code: 0 if no node and no pair stands out, 10 if one does."
)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ModelAction>,
    #[command(flatten)]
    pub(crate) fit: Fit,
}

arguments! {
    Fit {
        /// Measure nothing: fit the probes of this run, or show the model in this model.json
        #[arg(value_name = "RUN|MODEL", conflicts_with = "probes")]
        input: Option<PathBuf>,
        /// Directory for what is measured, and for model.json, model.md and model.html [default: collrules-model-DATE-TIME where
        /// something is measured]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// List what would be measured, and stop
        #[arg(long)]
        dry_run: bool,
    } => Modelling {
        /// Measure nothing: fit the timings of this table
        #[arg(long, value_name = "TABLE")]
        probes: Option<PathBuf>,
        /// Slowdown of nodes and pairs, in percent, that is tolerated
        #[arg(long, value_name = "PERCENT", default_value = "20", value_parser = slowdown)]
        tolerate: f64,
        /// Share of checks, in percent, in which one is named although none is slow
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
        error_rate: f64,
        /// Release of Open MPI that a table was measured with
        #[arg(long, value_name = "RELEASE", requires = "probes")]
        release: Option<Release>,
        /// Number of ranks whose messages are timed [default: all slots]
        #[arg(long = "np", value_name = "N")]
        ranks: Option<Ranks>,
        /// Message sizes of probes and collectives; empty messages are always timed
        #[arg(long, value_name = "SIZES", default_value = "1K,8K,32K,64K,128K,512K", value_parser = sizes)]
        sizes: List<Bytes>,
        /// Maximum number of partners of each rank in probes; with fewer ranks, all pairs are timed
        #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..))]
        partners: u32,
        /// Collectives to measure on all ranks, to test predictions and to fit each algorithm: bcast, scatter, gather,
        /// alltoall
        #[arg(long = "ops", value_name = "LIST", default_value = "scatter", value_parser = collectives)]
        collectives: List<Collective>,
        /// Time for all of it; with `none`, each launch goes on until everything is precise or has its maximum of rounds
        #[arg(long, value_name = "TIME|none", default_value = "240s", value_parser = budget)]
        budget: Budget,
        /// Number of launches; intervals come from differences between launches
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
        launches: u32,
        /// Seed of every random order
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        timing: TimingOptions,
        #[command(flatten)]
        system: SystemOptions,
    } {
        #[command(flatten)]
        session: SessionArgs,
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelAction {
    /// Say what a collective would take, by a model
    Predict(Predict),
}

arguments! {
    Predict {
        /// The model: its directory, or its model.json
        #[arg(value_name = "MODEL")]
        model: PathBuf,
    } => CallQuestion {
        /// The collective: bcast, scatter, gather or alltoall
        #[arg(long = "op", value_name = "NAME")]
        collective: Collective,
        /// The algorithm of coll/tuned: its number or name, or a whole choice such as 3/0/8192/0
        #[arg(long, value_name = "ALGORITHM")]
        algorithm: String,
        /// Its segment size; 0 sends messages in one piece
        #[arg(long, value_name = "SIZE", default_value = "0")]
        segment: Bytes,
        /// Its fan-out; 0 is the algorithm's own
        #[arg(long, value_name = "N", default_value_t = 0)]
        fanout: u32,
        /// Size of the communicator
        #[arg(long = "np", value_name = "N")]
        ranks: Ranks,
        /// Size that the caller passes: the block of one rank for scatter and gather
        #[arg(long = "size", value_name = "SIZE", value_parser = size)]
        bytes: Bytes,
        /// Release whose algorithms are meant [default: that of the model, or 5.0]
        #[arg(long, value_name = "RELEASE")]
        release: Option<Release>,
    } {}
}

pub(crate) fn run(args: &ModelArgs) -> Result<Exit, Failure> {
    match &args.action {
        Some(ModelAction::Predict(question)) => predict(question).map(|()| Exit::Done),
        None => fit(&args.fit),
    }
}

fn fit(args: &Fit) -> Result<Exit, Failure> {
    let source = Source {
        input: args.probes.as_deref().or(args.input.as_deref()),
        out: args.out.as_deref(),
        session: &args.session,
        dry_run: args.dry_run,
    };
    let files = [
        (files::PAGE, "the map of pairs, and all parameters"),
        (files::TEXT, "the same as text"),
        (files::FILE, "all of it for programs, and for `collrules model predict`"),
    ];
    instrument::run(&args.resolve(), source, &files, |model| {
        let exit = if model.names_slow() { Exit::Uneven } else { Exit::Done };
        (report::document(model).text(screen::width()), exit)
    })
}

fn predict(args: &Predict) -> Result<(), Failure> {
    let fitted = model::open(&args.model)?;
    let question = args.resolve();
    let (choice, time, corrected) = session::plain(|session| model::ask(&fitted, &question, session))?;
    let by = if corrected { "the model, corrected by measured calls of this algorithm" } else { "the model" };
    let stalls = model::ask_many_to_one(&fitted, &question, choice);
    let stalls =
        stalls.map_or(String::new(), |said| report::many_to_one(said.mean, said.stalling, &said.quantiles) + "\n");
    screen::print(&format!(
        "{} {choice} on {} ranks with {} takes {}, predicted by {by}\n{stalls}",
        question.collective,
        question.ranks,
        question.bytes,
        report::prediction(time)
    ))
}
