//! `collrules`: tunes Open MPI's coll/tuned.

mod args;
mod cmd;
mod exit;
mod failure;
mod interrupt;
mod progress;
mod screen;
mod session;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

fn main() -> ExitCode {
    let done = |()| Exit::Done;
    let args = match Args::try_parse() {
        Ok(args) => args,
        // Help and version are output like any other.
        Err(said) if !said.use_stderr() => {
            return said.print().map_or_else(|cause| Failure::Stdout(cause).tell(), |()| Exit::Done.into());
        }
        Err(wrong) => wrong.exit(),
    };
    let result = match args.command {
        Command::Tune(tune) => cmd::tune::run(&tune),
        Command::Measure(tune) => cmd::measure::run(&tune).map(done),
        Command::Plan(tune) => cmd::plan::run(&tune).map(done),
        Command::Analyze(analyze) => cmd::analyze::run(&analyze).map(done),
        Command::Tree(tree) => cmd::tree::run(&tree).map(done),
        Command::Report(report) => cmd::report::run(&report).map(done),
        Command::Import(import) => cmd::import::run(&import).map(done),
        Command::Verify(verify) => cmd::verify::run(&verify).map(done),
        Command::Validate(validate) => cmd::validate::run(&validate),
        Command::Doctor(doctor) => cmd::doctor::run(&doctor),
        Command::Check(check) => cmd::check::run(&check),
        Command::Explain(explain) => cmd::explain::run(&explain).map(done),
        Command::Convert(convert) => cmd::convert::run(&convert).map(done),
        Command::Diff(diff) => cmd::diff::run(&diff),
        Command::Bench(bench) => cmd::bench::run(&bench),
        Command::Study(study) => cmd::study::run(&study).map(done),
        Command::Completions(completions) => cmd::completions::run(&completions).map(done),
        Command::Man(man) => cmd::man::run(&man).map(done),
    };
    match result {
        Ok(exit) => match progress::lost() {
            None => exit.into(),
            Some(cause) => Failure::Stdout(cause).tell(),
        },
        Err(failure) => failure.tell(),
    }
}
