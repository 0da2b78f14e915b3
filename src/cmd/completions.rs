//! `collrules completions`: completions of the command line for shells.

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &Completions) -> Result<(), Failure> {
    let mut command = Args::command();
    let name = command.get_name().to_owned();
    // The generator panics if it cannot write; writing to memory always works.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    screen::raw(&script)
}
