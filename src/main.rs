//! `collrules`: tunes Open MPI's coll/tuned.

mod args;
mod cmd;
mod deliver;
mod exit;
mod failure;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Tune(tune) => cmd::tune::run(&tune),
        Command::Analyze(analyze) => cmd::analyze::run(&analyze),
        Command::Verify(verify) => cmd::verify::run(&verify),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
