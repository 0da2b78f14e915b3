//! The worker as a program of its own, for `collrules worker build`: without the dependencies of the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    collrules_worker::run()
}
