//! `collrules install`: installs a tuning for every job of an Open MPI.

use std::path::PathBuf;

use collrules_workflow::install::{self, Done, Installing, Undone};

use crate::failure::Failure;
use crate::options::arguments;
use crate::screen::{self, wrapped};

arguments! {
    #[command(
        after_help = "The lines go to the end of the installation's openmpi-mca-params.conf, between two markers. What was \
    there stays, and --undo takes the lines out again."
    )]
    Install {} => Installing {
        /// The run with the tuning to install
        #[arg(value_name = "RUN", required_unless_present = "undo")]
        run: Option<PathBuf>,
        /// The Open MPI to install it for: its directory, such as /opt/openmpi/5.0.7, or its mpirun [default: that of the
        /// mpirun in PATH]
        #[arg(long = "for", value_name = "DIR")]
        openmpi: Option<PathBuf>,
        /// Keep the rules files in DIR/share/collrules, in a directory for each Open MPI [default: next to the parameter
        /// file]
        #[arg(long, value_name = "DIR")]
        prefix: Option<PathBuf>,
        /// Install the rules alone, without settings
        #[arg(long, conflicts_with_all = ["settings_only", "undo"])]
        rules_only: bool,
        /// Install the settings alone, without rules
        #[arg(long, conflicts_with = "undo")]
        settings_only: bool,
        /// Switch it on for this user alone, in ~/.openmpi/mca-params.conf, which every Open MPI of the user reads
        #[arg(long, conflicts_with = "prefix")]
        user: bool,
        /// Undo an earlier install: restores the parameter file
        #[arg(long, conflicts_with = "run")]
        undo: bool,
        /// Only show what would be written
        #[arg(long)]
        dry_run: bool,
        /// Install a tuning that was not confirmed in fresh launches, that makes calls slower, or that was made on another machine
        /// or with another layout of ranks on nodes or another transport
        #[arg(long, conflicts_with = "undo")]
        force: bool,
        /// Write to a parameter file that is not below the directory that --for names
        #[arg(long)]
        yes: bool,
    } {}
}

pub(crate) fn run(args: &Install) -> Result<(), Failure> {
    let options = &args.resolve();
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
