//! `collrules lab model`: times of messages, slow nodes, and predictions for collectives.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use collrules_lab::model;
use collrules_lab::model::document as report;
use collrules_lab::model::{CallQuestion, Modelling};
use collrules_model::model::{self as files, Model};
use collrules_workflow::WorkflowError;

use super::instrument::{self, InstrumentArgs};
use crate::exit::Exit;
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

#[derive(Clone, Debug, Args)]
pub(crate) struct Fit {
    /// Measure nothing: fit the probes of this run, or show the model in this model.json
    #[arg(value_name = "RUN|MODEL", conflicts_with = "probes")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Modelling,
    #[command(flatten)]
    pub(crate) instrument: InstrumentArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelAction {
    /// Say what a collective would take, by a model
    Predict(Predict),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Predict {
    /// The model: its directory, or its model.json
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) question: CallQuestion,
}

pub(crate) fn run(args: &ModelArgs) -> Result<Exit, WorkflowError> {
    match &args.action {
        Some(ModelAction::Predict(question)) => predict(question).map(|()| Exit::DONE),
        None => fit(&args.fit),
    }
}

fn fit(args: &Fit) -> Result<Exit, WorkflowError> {
    let input = args.options.probes.as_deref().or(args.input.as_deref());
    let files = [
        (files::PAGE, "the map of pairs, and all parameters"),
        (files::TEXT, "the same as text"),
        (files::FILE, "all of it for programs, and for `collrules lab model predict`"),
    ];
    instrument::run(&args.options, input, &args.instrument, &files, |model| {
        let exit = if model.names_slow() { Exit::UNEVEN } else { Exit::DONE };
        (report::document(model).text(screen::width()), exit)
    })
}

fn predict(args: &Predict) -> Result<(), WorkflowError> {
    let fitted = Model::read(&args.model)?;
    let question = &args.question;
    let (choice, time, corrected) = session::plain(|session| model::ask(&fitted, question, session))?;
    let by = if corrected { "the model, corrected by measured calls of this algorithm" } else { "the model" };
    let stalls = model::ask_many_to_one(&fitted, question, choice);
    let stalls =
        stalls.map_or(String::new(), |said| report::many_to_one(said.mean, said.stalling, &said.quantiles) + "\n");
    screen::print(&format!(
        "{} {choice} on {} ranks with {} takes {}, predicted by {by}\n{stalls}",
        question.collective,
        question.ranks,
        question.bytes,
        collrules_report::words::time(time)
    ))
}
