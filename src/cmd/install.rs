//! `collrules install`: installs a tuning for every job of an Open MPI.

use collrules_workflow::WorkflowError;
use collrules_workflow::install::{self, Done, Installing, Undone};

use crate::screen::{self, wrapped};

pub(crate) fn run(options: &Installing) -> Result<(), WorkflowError> {
    let lines = match &options.run {
        Some(run) => done(&install::install(run, options)?, options.dry_run),
        None => undone(&install::undo(options)?, options.dry_run),
    };
    screen::print(&lines.join("\n"))
}

fn done(done: &Done, dry_run: bool) -> Vec<String> {
    let Done { openmpi, parameters, files, block, scope, notes } = done;
    let (would, has) = if dry_run { ("would get", "would be") } else { ("has", "are") };
    let first = format!(
        "Open MPI {} in {}: {} {would} these lines at its end.",
        openmpi.version,
        openmpi.prefix.display(),
        parameters.display()
    );
    let mut lines = wrapped(&first, "", "");
    lines.extend(block.iter().map(|line| format!("  {line}")));
    lines.extend(wrapped(&format!("The files that they name {has} in {}.", files.display()), "", ""));
    lines.extend(scope.iter().chain(notes).flat_map(|note| wrapped(note, "", "")));
    let mpirun = openmpi.prefix.join("bin/mpirun");
    if !dry_run {
        let next = "If nodes do not share these directories, copy both to every node. Then, in a job:";
        lines.extend(wrapped(next, "", ""));
        lines.push(format!("  collrules verify --deployed --mpirun {}", mpirun.display()));
    }
    lines
}

fn undone(undone: &Undone, dry_run: bool) -> Vec<String> {
    let Undone { parameters, removed, files, left } = undone;
    let file = parameters.display();
    let what = match (removed, dry_run) {
        (true, false) => format!("{file} is removed: there was none before."),
        (true, true) => format!("{file} would be removed: there was none before."),
        (false, false) => format!("{file} no longer has the lines of collrules."),
        (false, true) => format!("{file} would lose the lines of collrules."),
    };
    let mut lines = wrapped(&what, "", "");
    let gone = if dry_run { "would be removed" } else { "is removed" };
    lines.extend(files.iter().flat_map(|directory| wrapped(&format!("{} {gone}.", directory.display()), "", "")));
    lines.extend(left.iter().flat_map(|left| wrapped(left, "", "")));
    lines
}
