//! `collrules model`: times of messages, slow nodes, and predictions for collectives.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use collrules_model::model::{self as files, Model};
use collrules_model::{Simulator, SlowCriteria, export};
use collrules_record::options::Budget;
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::{Bytes, Ranks};
use collrules_report::model as report;
use collrules_rules::{Collective, Release};
use collrules_workflow::model;
use collrules_workflow::model::{CallQuestion, Modelling};
use collrules_workflow::values::{MOST_LAUNCHES, budget, collectives, percent, size, sizes, slowdown};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{Given, List, SystemArgs, TimingArgs, arguments, named_or_new};
use crate::progress::Output;
use crate::screen;
use crate::session::{self, FAILURES};

/// The level of intervals.
const LEVEL: f64 = 0.95;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A table of probes has a line for each timing, below the names of its columns: pattern (pingpong, \
one-to-two, train:MESSAGES, train:MESSAGES:NANOSECONDS, receive:NANOSECONDS), ranks (0+1, or 0+1+2), bytes, back (bytes \
of the answer), launch, seconds, and hosts (a+b) where ranks share hosts.

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
        /// Measure nothing: fit the timings of this table
        #[arg(long, value_name = "TABLE")]
        probes: Option<PathBuf>,
        /// Directory for what is measured, and for model.json, model.md and model.html [default: collrules-model-DATE-TIME where
        /// something is measured]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Print the model as a simulator reads it instead: simgrid, loggopsim
        #[arg(long, value_name = "SIMULATOR")]
        export: Option<Simulator>,
        /// Slowdown of nodes and pairs, in percent, that is tolerated
        #[arg(long, value_name = "PERCENT", default_value = "20", value_parser = slowdown)]
        tolerate: f64,
        /// Share of checks, in percent, in which one is named although none is slow
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
        error_rate: f64,
        /// Release of Open MPI that a table was measured with
        #[arg(long, value_name = "RELEASE", requires = "probes")]
        release: Option<Release>,
        /// Print the model as JSON
        #[arg(long)]
        json: bool,
    } => Modelling {
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
        timing: Given<TimingArgs>,
        #[command(flatten)]
        system: Given<SystemArgs>,
    } {}
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelAction {
    /// Say what a collective would take, by a model
    Predict(Predict),
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// The model: its directory, or its model.json
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The collective: bcast, scatter, gather or alltoall
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Collective,
    /// The algorithm of coll/tuned: its number or name, or a whole choice such as 3/0/8192/0
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) algorithm: String,
    /// Its segment size; 0 sends messages in one piece
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) segment: Bytes,
    /// Its fan-out; 0 is the algorithm's own
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) fanout: u32,
    /// Size of the communicator
    #[arg(long, value_name = "N")]
    pub(crate) np: Ranks,
    /// Size that the caller passes: the block of one rank for scatter and gather
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Bytes,
    /// Release whose algorithms are meant [default: that of the model, or 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Release>,
}

impl Fit {
    /// Returns the terms by which slow nodes are judged.
    pub(crate) fn terms(&self) -> SlowCriteria {
        SlowCriteria { tolerate: self.tolerate, error_rate: self.error_rate, level: LEVEL }
    }
}

impl Predict {
    /// Returns the question to the model.
    pub(crate) fn question(&self) -> CallQuestion {
        CallQuestion {
            collective: self.op,
            algorithm: self.algorithm.clone(),
            segment: self.segment.0,
            fanout: self.fanout,
            ranks: self.np.0,
            bytes: self.size.0,
            release: self.release,
        }
    }
}

pub(crate) fn run(args: &ModelArgs) -> Result<Exit, Failure> {
    match &args.action {
        Some(ModelAction::Predict(question)) => predict(question).map(|()| Exit::Done),
        None => fit(&args.fit),
    }
}

fn fit(args: &Fit) -> Result<Exit, Failure> {
    let derived = || args.out.as_ref().map(RunDir::prepare_derived).transpose();
    let (fitted, target) = match (&args.probes, &args.input) {
        (Some(table), _) => {
            let fitted = session::plain(|session| model::of_table(table, args.release, args.terms(), session))?;
            (fitted, derived()?)
        }
        (None, Some(input)) if input.is_dir() && input.join(rundir::SAMPLES).exists() => {
            let fitted = model::of_run(input, args.terms())?;
            // After a fit with other terms, the run's own files are updated.
            (fitted, Some(derived()?.map_or_else(|| RunDir::open(input), Ok)?))
        }
        (None, Some(input)) => (model::open(input)?, derived()?),
        (None, None) => {
            let out = named_or_new(args.out.as_deref(), "model");
            let output = Output::new(args.json);
            let (run, fitted) = session::with(FAILURES, output, |session| {
                model::measured(&args.resolve(), &out, args.terms(), session)
            })?;
            (fitted, Some(run))
        }
    };
    if let Some(target) = &target {
        model::write(target, &fitted)?;
    }
    if let Some(simulator) = args.export {
        let text = export(&fitted, simulator).map_err(|none| Failure::usage(none.to_string()))?;
        return screen::print(&text).map(|()| Exit::Done);
    }
    if args.json {
        screen::json_line(&fitted)?;
    } else {
        screen::print(&text(&fitted, target.as_ref()))?;
    }
    Ok(if fitted.names_slow() { Exit::Uneven } else { Exit::Done })
}

fn text(fitted: &Model, target: Option<&RunDir>) -> String {
    let mut text = report::document(fitted).text(screen::width());
    if let Some(run) = target {
        let files = [
            (files::PAGE, "the map of pairs, and all parameters"),
            (files::TEXT, "the same as text"),
            (files::FILE, "all of it for programs, and for `collrules model predict`"),
        ];
        text += &format!("\n{}", screen::list_files(run.path(), 10, files).join("\n"));
    }
    text
}

fn predict(args: &Predict) -> Result<(), Failure> {
    let fitted = model::open(&args.model)?;
    let question = args.question();
    let (choice, time, corrected) = session::plain(|session| model::ask(&fitted, &question, session))?;
    let by = if corrected { "the model, corrected by measured calls of this algorithm" } else { "the model" };
    let stalls = model::ask_many_to_one(&fitted, &question, choice);
    let stalls =
        stalls.map_or(String::new(), |said| report::many_to_one(said.mean, said.stalling, &said.quantiles) + "\n");
    screen::print(&format!(
        "{} {choice} on {} ranks with {} takes {}, predicted by {by}\n{stalls}",
        question.collective,
        args.np,
        args.size,
        report::prediction(time)
    ))
}
