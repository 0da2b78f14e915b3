//! `collrules worker build`: builds the worker for another Open MPI from the sources of collrules.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use clap::Subcommand;
use collrules_record::ask::{PATIENCE, ask};
use collrules_record::installed::Installation;
use collrules_record::rundir::{self, LockBeside};
use collrules_runner::mpi::installation::{self, tool};
use collrules_runner::mpi::worker::{linked_library, list_interfaces, name_worker, own_directory, user_workers};
use collrules_workflow::WorkflowError;

use crate::screen::{self, wrapped};

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    action: WorkerAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerAction {
    /// Build the worker for an Open MPI, from the sources of collrules, next to those for others
    #[command(after_help = "One worker runs under every Open MPI with the same binary interface: one for 4.0 to 5.0, \
                            another for 6.0. Commands pick the one that fits their mpirun.")]
    Build(WorkerBuild),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WorkerBuild {
    /// The Open MPI to build it for: its directory, such as /opt/openmpi/6.0.0, or its mpirun
    #[arg(long = "for", value_name = "DIR")]
    openmpi: PathBuf,
    /// The sources of collrules [default: the current directory, or the one that this program lies in]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Directory for the worker [default: that of this program if it can be written, else ~/.local/share/collrules]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// The program of the crate `collrules-worker`, which builds without the other crates of collrules.
const PROGRAM: &str = "mpi-worker";

/// Variables that could make a build use another MPI than that of `MPICC`.
const OTHER_MPI: [&str; 2] = ["MPI_PKG_CONFIG", "CRAY_MPICH_DIR"];

/// Builds the worker for an installation, and installs it for every command.
pub(crate) fn run(WorkerArgs { action: WorkerAction::Build(args) }: &WorkerArgs) -> Result<(), WorkflowError> {
    let openmpi = installation::find(Some(&args.openmpi))?;
    let mpicc = openmpi.prefix.join("bin/mpicc");
    try_compiler(&openmpi, &mpicc)?;
    let source = find_source(args.source.as_deref())?;
    let interfaces: Vec<String> = list_interfaces(&openmpi.prefix.join("bin/mpirun")).into_iter().collect();
    let target = source.join("target/worker").join(interfaces.first().map_or("unknown", String::as_str));
    let cargo = |arguments: &[&str]| {
        let mut command = tool(&openmpi, Path::new("cargo"))?;
        command.current_dir(&source).args(arguments).arg("--target-dir").arg(&target).env("MPICC", &mpicc);
        for name in OTHER_MPI {
            command.env_remove(name);
        }
        run_cargo(command, &source)
    };
    // The bindings to MPI are rebuilt: cargo does not notice another installation with an equal interface.
    cargo(&["clean", "--quiet", "--release", "--package", "mpi-sys"])?;
    cargo(&["build", "--locked", "--release", "--package", "collrules-worker", "--bin", PROGRAM])?;
    let program = target.join("release").join(PROGRAM);
    let library = linked_library(&program).filter(|library| interfaces.is_empty() || interfaces.contains(library));
    let library = library.ok_or_else(|| {
        WorkflowError::Input(format!(
            "the worker was built with another MPI than that in {}: {} compiles with its headers and does not link with its \
             library ({})",
            openmpi.prefix.display(),
            mpicc.display(),
            interfaces.join(", "),
        ))
    })?;
    let worker = place(&program, &name_worker(&library), args.into.as_deref())?;
    let line = format!(
        "{} is the worker for {library}: Open MPI {} in {}, and others with this interface.",
        worker.display(),
        openmpi.version,
        openmpi.prefix.display()
    );
    let mut lines = wrapped(&line, "", "");
    lines.push(format!("  collrules doctor --mpirun {}", openmpi.prefix.join("bin/mpirun").display()));
    screen::print(&lines.join("\n"))
}

/// Compiles with the headers of an installation, which are often in a separate package.
fn try_compiler(openmpi: &Installation, mpicc: &Path) -> Result<(), WorkflowError> {
    let remedy = "Install what it is built with: libopenmpi-dev on Debian and Ubuntu, openmpi-devel on Fedora, or the \
                  complete installation that this one was copied from";
    let prefix = openmpi.prefix.display();
    if !mpicc.is_file() {
        return Err(WorkflowError::Input(format!("{prefix} has no bin/mpicc to build a worker with. {remedy}")));
    }
    let mut command = tool(openmpi, mpicc)?;
    command.args(["-x", "c", "-fsyntax-only", "-include", "mpi.h", "/dev/null"]);
    let output = ask(&mut command, b"", PATIENCE).map_err(|cause| WorkflowError::open(mpicc, cause))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find(|line| line.to_ascii_lowercase().contains("error")).or_else(|| said.lines().next());
    Err(WorkflowError::Input(format!(
        "{} cannot compile with mpi.h: {}. {remedy}",
        mpicc.display(),
        line.unwrap_or("it ended without a message").trim(),
    )))
}

/// The directory with the sources of collrules: the named one, the current one, or the one with the `target` directory of
/// this program.
fn find_source(named: Option<&Path>) -> Result<PathBuf, WorkflowError> {
    let has_worker = |directory: &Path| directory.join("crates/worker/Cargo.toml").is_file();
    if let Some(named) = named {
        let no = || WorkflowError::Input(format!("{} has no sources of collrules", named.display()));
        return has_worker(named).then(|| std::path::absolute(named).unwrap_or(named.to_owned())).ok_or_else(no);
    }
    let own = own_directory().unwrap_or_default();
    let above = own.ancestors().map(Path::to_owned);
    env::current_dir().ok().into_iter().chain(above).find(|directory| has_worker(directory)).ok_or_else(|| {
        WorkflowError::Input(format!(
            "a worker is built from the sources of collrules, and there are none here. Run `git clone {}`, and name its \
             directory with --source",
            env!("CARGO_PKG_REPOSITORY"),
        ))
    })
}

/// Runs cargo, which reports on standard error what it does.
fn run_cargo(mut command: Command, source: &Path) -> Result<(), WorkflowError> {
    let status = command.stdin(std::process::Stdio::null()).status().map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => WorkflowError::Input(
            "a worker is built with cargo, and there is none in PATH: install Rust (https://rustup.rs), or build it where \
             Rust is, and name it with --worker here"
                .to_owned(),
        ),
        _ => WorkflowError::open(Path::new("cargo"), cause),
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(WorkflowError::Input(format!(
            "cargo could not build the worker in {} ({status}); its messages are above. It needs libclang and a C compiler",
            source.display(),
        ))),
    }
}

/// Copies the program to the directory of workers, whole or not at all.
fn place(program: &Path, name: &str, named: Option<&Path>) -> Result<PathBuf, WorkflowError> {
    let copy = |directory: &Path| {
        fs::create_dir_all(directory)?;
        let worker = directory.join(name);
        let _lock = LockBeside::take(&directory.join("worker")).map_err(io::Error::other)?;
        rundir::sweep(directory);
        rundir::put_program(&worker, &fs::read(program)?)?;
        Ok::<_, io::Error>(worker)
    };
    if let Some(named) = named {
        return copy(named).map_err(|cause| WorkflowError::write(named, cause));
    }
    match own_directory().map(|directory| copy(&directory)) {
        Some(Ok(worker)) => Ok(worker),
        _ => {
            let directory =
                user_workers().ok_or_else(|| WorkflowError::Usage("HOME is not set: pass --into".to_owned()))?;
            copy(&directory).map_err(|cause| WorkflowError::write(&directory, cause))
        }
    }
}
