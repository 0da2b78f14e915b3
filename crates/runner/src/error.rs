//! Errors while planning, launching and measuring.

use std::io;
use std::path::PathBuf;

use collrules_record::rundir::RunDirError;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::Collective;
use collrules_rules::names::BadText;

/// An error of the runner; its text has the problem, the place, and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// No launcher was found.
    #[error(
        "no `{0}` found: install Open MPI (Debian and Ubuntu: apt-get install openmpi-bin), load its module, \
         or name it with --mpirun"
    )]
    NoLauncher(String),
    /// The named launcher does not exist.
    #[error("there is no `{}`: name an mpirun, or the directory of an Open MPI, such as /opt/openmpi/5.0.7", _0.display())]
    NoSuchLauncher(PathBuf),
    /// The named directory is none of an Open MPI.
    #[error(
        "{} has no bin/mpirun: name the directory of an Open MPI, such as /opt/openmpi/5.0.7, or its mpirun",
        _0.display()
    )]
    NoInstallation(PathBuf),
    /// There is no launcher of the given name.
    #[error("`{0}` cannot start jobs: there is no such program; name another with --launcher")]
    NoOtherLauncher(String),
    /// A program does not find its libraries next to it.
    #[error(
        "`{launcher}` does not start, since it finds its libraries neither in the lib directory next to it nor in \
         LD_LIBRARY_PATH: {missing}. Load its module, or add the directory that has them to LD_LIBRARY_PATH"
    )]
    NoLibraries {
        /// The launcher.
        launcher: PathBuf,
        /// The loader's message.
        missing: String,
    },
    /// No worker program was found.
    #[error(
        "no `collrules-worker`{needed} found next to this program, in ~/.local/share/collrules or in PATH: build it with \
         `{remedy}`, or name it with --worker"
    )]
    NoWorker {
        /// The MPI libraries of the installation, with a preposition; empty if unknown.
        needed: String,
        /// The command that builds a suitable worker.
        remedy: String,
    },
    /// The named worker is not a file.
    #[error("--worker names `{}`, which is not a file", _0.display())]
    NoSuchWorker(PathBuf),
    /// A worker for another binary interface.
    #[error(
        "`{}` is built for {library}, and the Open MPI in {} has {interfaces}. Build a worker for it: {remedy}",
        worker.display(), prefix.display()
    )]
    WrongWorker {
        /// The worker.
        worker: PathBuf,
        /// The MPI library that it is linked with.
        library: Box<str>,
        /// The directory of the installation.
        prefix: PathBuf,
        /// The MPI libraries of the installation.
        interfaces: Box<str>,
        /// The command that builds a suitable worker.
        remedy: Box<str>,
    },
    /// A command line that is not an MPI job.
    #[error(
        "`{words}` cannot be run as an MPI job: {why}. Write mpirun or srun and the program after --, such as \
         -- mpirun -np 4 ./app"
    )]
    NotAJob {
        /// The command line.
        words: String,
        /// Reason.
        why: String,
    },
    /// The launcher is not Open MPI's.
    #[error("`{launcher}` is not Open MPI's mpirun (its --version says `{said}`); name another with --mpirun")]
    NotOpenMpi {
        /// The launcher.
        launcher: PathBuf,
        /// The first line of its answer.
        said: String,
    },
    /// A program cannot be started.
    #[error("cannot start `{program}`: {cause}")]
    CannotStart {
        /// The program.
        program: PathBuf,
        /// Cause.
        cause: io::Error,
    },
    /// A program did not answer a question.
    #[error("{0}")]
    NoAnswer(io::Error),
    /// There is no space for the files of a job.
    #[error(
        "{free} are free in {}, where Open MPI keeps the files of a job: free some there, or let TMPDIR name another \
         directory",
        directory.display()
    )]
    NoSpace {
        /// The directory for temporary files.
        directory: PathBuf,
        /// Its free space.
        free: Bytes,
    },
    /// The job ended before the worker sent anything.
    #[error(
        "the worker did not start: {status}{remedy}{}",
        quoted(if [AS_ROOT, NO_SPACE].contains(remedy) { "" } else { output })
    )]
    WorkerDidNotStart {
        /// End of the launcher.
        status: String,
        /// A remedy for what the job said; empty if none is known.
        remedy: &'static str,
        /// The last lines that the job printed.
        output: String,
    },
    /// The job ended before it was done.
    #[error("the MPI job ended too early ({status}) while {doing}{}", quoted(output))]
    JobDied {
        /// End of the launcher.
        status: String,
        /// Activity of the job at that time.
        doing: String,
        /// The last lines that the job printed.
        output: String,
        /// True if it was ended by a signal that programs do not cause themselves.
        outside: bool,
    },
    /// The job was silent for too long and was ended.
    #[error(
        "the MPI job said nothing for {seconds} s while {doing}, and was ended; if calls really take that long, raise \
         --hang-timeout, or --budget if there is one{}",
        quoted(output)
    )]
    JobHung {
        /// The time limit, in seconds.
        seconds: u64,
        /// Activity of the job at that time.
        doing: String,
        /// The last lines that the job printed.
        output: String,
    },
    /// The job was silent since its start, and so was the one that was started in its place.
    #[error(
        "the MPI job hung while starting, twice: it said nothing for {seconds} s and was ended; if starting really \
         takes that long, raise --hang-timeout, or --budget if there is one{}",
        quoted(output)
    )]
    StartHung {
        /// The time limit, in seconds.
        seconds: u64,
        /// The last lines that the job printed.
        output: String,
    },
    /// Too many launches failed.
    #[error("{failures} launches failed; the last one: {last}")]
    GaveUp {
        /// Number of failures that were not explained by a candidate.
        failures: u32,
        /// The last failure.
        last: Box<RunnerError>,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The worker stopped, for this reason.
    #[error("the worker had to stop: {0}")]
    WorkerFailed(String),
    /// The worker is of another version.
    #[error(
        "`{}` belongs to another version of collrules (its protocol is {theirs}, that of this program {ours}): remove it, or \
         name another with --worker",
        worker.display()
    )]
    Protocol {
        /// The worker.
        worker: PathBuf,
        /// Protocol of the worker.
        theirs: u32,
        /// Protocol of this program.
        ours: u32,
    },
    /// An event line that cannot be read.
    #[error("the worker sent a line that cannot be read ({cause}): {line}")]
    BadEvent {
        /// The line, shortened.
        line: String,
        /// Cause.
        cause: String,
    },
    /// Launcher and library belong to different versions.
    #[error(
        "mpirun is Open MPI {launcher}, but the worker loaded the library of {library}: PATH and LD_LIBRARY_PATH \
         name different installations{}. Put the lib directory of the Open MPI to tune first in LD_LIBRARY_PATH, or \
         name the other mpirun with --mpirun",
        strangers()
    )]
    MixedVersions {
        /// Version that `mpirun --version` prints.
        launcher: String,
        /// Version of the library.
        library: String,
    },
    /// The library's version text is unreadable.
    #[error("the MPI library is not one that can be tuned: {said}: {cause}")]
    BadLibrary {
        /// The library's version text.
        said: String,
        /// Cause.
        cause: BadText,
    },
    /// A version that was never examined.
    #[error("{0}: its algorithms and its rules reader were never checked, and guessing would do harm")]
    UnknownRelease(BadText),
    /// The running library lists other algorithms than its version has.
    #[error("{0}: this build differs from its release, and guessing would do harm")]
    UnknownTable(String),
    /// More ranks than slots.
    #[error(
        "{wanted} ranks were asked for, but there are {slots} slots: lower --np, give mpirun more hosts \
         (--mpirun-args '--hostfile FILE'), or pass --oversubscribe, which times the operating system's \
         scheduler along with the collectives"
    )]
    TooFewSlots {
        /// The largest requested communicator.
        wanted: Ranks,
        /// The available slots.
        slots: Ranks,
    },
    /// More ranks than the slots of a simulated cluster, which the user sets.
    #[error(
        "{wanted} ranks were asked for, but the simulated cluster has {slots} slots: raise --simulated-slots, or lower \
         --np"
    )]
    TooFewSimulated {
        /// The largest requested communicator.
        wanted: Ranks,
        /// The slots of the simulation.
        slots: Ranks,
    },
    /// A simulated machine would have to play unknown messages.
    #[error("this cannot be simulated: {0}")]
    Unplayable(String),
    /// A model of a machine to be simulated cannot be read.
    #[error("{0}")]
    Model(String),
    /// There is only one slot.
    #[error("there is 1 slot, and a collective needs 2 ranks: pass --np 2 --oversubscribe to try it out")]
    OneSlot,
    /// Nothing to measure.
    #[error("nothing to measure: {0}")]
    EmptyGrid(String),
    /// Calls that cannot be made under a condition.
    #[error("{0}")]
    Condition(String),
    /// The rules file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Rules {
        /// The rules file.
        path: PathBuf,
        /// Cause.
        cause: io::Error,
    },
    /// No copy of a rules file can be made for a probe.
    #[error("cannot put a copy of the rules for a probe into {}: {cause}", path.display())]
    Scratch {
        /// The directory.
        path: PathBuf,
        /// Cause.
        cause: io::Error,
    },
    /// Another component carries out the calls.
    #[error(
        "{collectives}: not run by coll/tuned on this system, so rules would change nothing. Another component runs \
         them (hcoll, ucc, a vendor's own), or coll_tuned_priority is too low; `mpirun --mca coll_base_verbose 10` \
         names the component, and --mpirun-args '--mca coll ^NAME' switches it off"
    )]
    NotRunByTuned {
        /// The collectives concerned.
        collectives: String,
    },
    /// The library lists no algorithms.
    #[error("the library lists no algorithms for {0}: this Open MPI has no coll/tuned, or it is switched off")]
    NoAlgorithms(Collective),
    /// An error of the run directory.
    #[error(transparent)]
    Record(#[from] RunDirError),
    /// The receiver of the results is gone.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// A pipe to the job failed.
    #[error("lost contact with the MPI job: {0}")]
    Io(#[from] io::Error),
    /// The arguments for mpirun are malformed.
    #[error("--mpirun-args cannot be split into words: {0}")]
    BadArguments(#[from] shell_words::ParseError),
}

impl RunnerError {
    /// Returns the error, with the remedy for a simulation if this is one.
    pub fn on(self, simulated: bool) -> Self {
        match self {
            Self::TooFewSlots { wanted, slots } if simulated => Self::TooFewSimulated { wanted, slots },
            Self::OneSlot if simulated => Self::TooFewSimulated { wanted: Ranks(2), slots: Ranks(1) },
            other => other,
        }
    }

    /// Returns true if the job failed, so that another launch may succeed. Otherwise the cause is the environment, or
    /// collrules itself.
    pub fn is_of_job(&self) -> bool {
        matches!(
            self,
            Self::WorkerDidNotStart { .. }
                | Self::JobDied { .. }
                | Self::JobHung { .. }
                | Self::StartHung { .. }
                | Self::WorkerFailed(_)
                | Self::BadEvent { .. }
        )
    }

    /// Returns true if something outside of the job ended it.
    pub fn came_from_outside(&self) -> bool {
        matches!(self, Self::JobDied { outside: true, .. })
    }
}

/// Directories of LD_LIBRARY_PATH with an MPI library, as an addition to the message.
fn strangers() -> String {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let has_mpi = |directory: &PathBuf| {
        let mut files = std::fs::read_dir(directory).into_iter().flatten().flatten();
        files.any(|file| file.file_name().to_string_lossy().starts_with("libmpi.so"))
    };
    let found = std::env::split_paths(&path).filter(has_mpi);
    let found: Vec<String> = found.map(|directory| directory.display().to_string()).collect();
    if found.is_empty() { String::new() } else { format!(" (LD_LIBRARY_PATH has {})", found.join(" and ")) }
}

/// The job's last output, as an addition to the message.
fn quoted(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("\nthe job's last lines were:\n{output}") }
}

/// Remedy for jobs as root; nothing that the job says adds to it.
const AS_ROOT: &str = "\nOpen MPI refuses to run as root unless two variables allow it: set OMPI_ALLOW_RUN_AS_ROOT=1 and \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (5.0: PRTE_ALLOW_RUN_AS_ROOT=1 and PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1), or run as a \
    user";

/// Remedy for a full disk; likewise.
const NO_SPACE: &str = "\nno space is left for the files of a job, which Open MPI keeps in the directory that TMPDIR \
    names, or else in /tmp: free some there, or let TMPDIR name another directory";

/// Returns a remedy for what a job that did not start said; empty if none is known.
pub(crate) fn remedy(output: &str) -> &'static str {
    const FULL: [&str; 5] =
        ["OUT-OF-RESOURCE", "PMIX_ERR_FILE_WRITE_FAILURE", "No space left on device", "Bus error", "SIGBUS"];
    if output.contains("as root") || output.contains("AS_ROOT") {
        AS_ROOT
    } else if FULL.iter().any(|word| output.contains(word)) {
        NO_SPACE
    } else if output.trim() == "exit status: 0" {
        "\nit ended at once, and said nothing: --worker has to name a collrules-worker"
    } else if output.contains("not enough slots") {
        "\nthere are fewer slots than ranks: lower --np, or pass --oversubscribe"
    } else if output.contains("no usable transports") || output.contains("no active messages transport") {
        "\nthe transports or devices that UCX_TLS and UCX_NET_DEVICES name exist nowhere here, or do not lead to all ranks: \
         `ucx_info -d` lists those of this host; unset both, or add shm and self for ranks of a node and tcp or a network"
    } else if output.contains(" cannot be selected") || output.contains("opened in the pml framework") {
        "\nno component that the parameter pml names can carry messages here. ucx wants a network with hardware of its own \
         unless OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any; cm with ofi wants a provider that \
         is not excluded (`fi_info -l` lists them): OMPI_MCA_mtl_ofi_provider_include and, from 5.0 on, \
         OMPI_MCA_opal_common_ofi_provider_include name one; or leave pml out"
    } else if output.contains("shared librar") {
        "\nthe worker does not find its MPI library: if it is on the other hosts as well, put its directory into \
         LD_LIBRARY_PATH"
    } else {
        ""
    }
}
