//! `collrules model`: times of messages, slow nodes, and predictions for collectives.

use std::io::Write;
use std::path::PathBuf;

use collrules_model::export;
use collrules_record::manifest;
use collrules_record::model::Model;
use collrules_record::rundir::{self, RunDir};
use collrules_report::model as report;
use collrules_workflow::model;

use crate::args::{Fit, ModelAction, ModelArgs, Predict};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen::{self, TextStyle, paint};
use crate::session::{self, FAILURES};

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
            let default = || PathBuf::from(format!("collrules-model-{}", manifest::stamp()));
            let out = args.out.clone().unwrap_or_else(default);
            let output = Output::new(args.json);
            let (run, fitted) = session::with(FAILURES, output, |session| {
                model::measured(&args.modelling, &out, args.terms(), session)
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
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&fitted)?).map_err(Failure::Stdout)?;
    } else {
        screen::print(&text(&fitted, target.as_ref()))?;
    }
    Ok(if fitted.names_slow() { Exit::Uneven } else { Exit::Done })
}

fn text(fitted: &Model, target: Option<&RunDir>) -> String {
    let mut text = report::text(fitted, screen::width());
    if let Some(run) = target {
        text += &format!("\n{}\n", paint(TextStyle::Heading, &format!("Files in {}:", run.path().display())));
        for (name, what) in [
            (rundir::MODEL_PAGE, "the map of pairs, and all parameters"),
            (rundir::MODEL_TEXT, "the same as text"),
            (rundir::MODEL, "all of it for programs, and for `collrules model predict`"),
        ] {
            text += &format!("  {name:<10}  {what}\n");
        }
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
