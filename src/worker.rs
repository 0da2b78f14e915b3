//! `collrules-worker`: the MPI program that `collrules` starts with mpirun.

use std::process::ExitCode;

fn main() -> ExitCode {
    collrules_worker::run()
}
