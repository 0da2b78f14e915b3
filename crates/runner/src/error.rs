//! What can go wrong while planning, launching and measuring.

use std::io;
use std::path::PathBuf;

use collrules_record::rundir::RunDirError;
use collrules_record::units::Ranks;
use collrules_rules::Collective;
use collrules_rules::registry::TableMismatch;
use collrules_rules::release::{BadVersion, UnknownRelease};

/// An error of the runner; the text says what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// No launcher.
    #[error(
        "no `{0}` found: install Open MPI (Debian and Ubuntu: apt-get install openmpi-bin), load its module, \
         or name it with --mpirun"
    )]
    NoLauncher(String),
    /// No launcher of the words that were given for one.
    #[error("`{0}` cannot start jobs: there is no such program; name another with --launcher")]
    NoOtherLauncher(String),
    /// No worker program.
    #[error(
        "no `collrules-worker` found beside this program or in PATH: build it (cargo install --path . with the \
         default feature `mpi`), or name it with --worker"
    )]
    NoWorker,
    /// A command line that starts no job.
    #[error(
        "`{words}` cannot be run as an MPI job: {why}. Write mpirun or srun and the program after --, such as \
         -- mpirun -np 4 ./app"
    )]
    NotAJob {
        /// The command line.
        words: String,
        /// Why not.
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
    /// A program could not be started.
    #[error("cannot start `{program}`: {cause}")]
    CannotStart {
        /// The program.
        program: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The job ended before the worker said anything.
    #[error("the worker did not start: {status}{}{}", hint(output), quoted(output))]
    WorkerDidNotStart {
        /// How the launcher ended.
        status: String,
        /// The last lines that the job printed.
        output: String,
    },
    /// The job ended before it was done.
    #[error("the MPI job ended too early ({status}) while {doing}{}", quoted(output))]
    JobDied {
        /// How the launcher ended.
        status: String,
        /// What was going on.
        doing: String,
        /// The last lines that the job printed.
        output: String,
        /// Whether it was ended by a signal that programs do not bring upon themselves.
        outside: bool,
    },
    /// The job said nothing for too long and was ended.
    #[error(
        "the MPI job said nothing for {seconds} s while {doing}, and was ended; if calls really take that long, raise \
         --hang-timeout{}",
        quoted(output)
    )]
    JobHung {
        /// The patience, in seconds.
        seconds: u64,
        /// What was going on.
        doing: String,
        /// The last lines that the job printed.
        output: String,
    },
    /// The job said nothing since it was started, and neither did the one that was started in its place.
    #[error(
        "the MPI job hung while starting, twice: it said nothing for {seconds} s and was ended; if starting really \
         takes that long, raise --hang-timeout{}",
        quoted(output)
    )]
    StartHung {
        /// The patience, in seconds.
        seconds: u64,
        /// The last lines that the job printed.
        output: String,
    },
    /// Too many launches failed.
    #[error("{failures} launches failed; the last one: {last}")]
    GaveUp {
        /// How many of them were not explained by a candidate.
        failures: u32,
        /// The last failure.
        last: Box<RunnerError>,
    },
    /// Somebody asked for the end.
    #[error("interrupted")]
    Interrupted,
    /// The worker gave up, for its own reason.
    #[error("the worker had to stop: {0}")]
    WorkerFailed(String),
    /// Controller and worker do not understand each other.
    #[error("the worker speaks protocol {worker}, this program {ours}: they come from different builds")]
    Protocol {
        /// The worker's.
        worker: u32,
        /// Ours.
        ours: u32,
    },
    /// An event line that cannot be read.
    #[error("the worker sent a line that cannot be read ({cause}): {line}")]
    BadEvent {
        /// The line, shortened.
        line: String,
        /// Why.
        cause: String,
    },
    /// Launcher and library belong to different versions.
    #[error(
        "mpirun is Open MPI {launcher}, but the worker loaded the library of {library}: \
         put the lib directory of the wanted one first in LD_LIBRARY_PATH"
    )]
    MixedVersions {
        /// What `mpirun --version` says.
        launcher: String,
        /// What the library says.
        library: String,
    },
    /// The library's version text is unreadable.
    #[error("the MPI library is not one that can be tuned: {said}: {cause}")]
    BadLibrary {
        /// What the library says of itself.
        said: String,
        /// Why.
        cause: BadVersion,
    },
    /// A version that nobody has looked at.
    #[error("{0}: its algorithms and its rules reader were never checked, and guessing would do harm")]
    UnknownRelease(#[from] UnknownRelease),
    /// The running library lists other algorithms than its version has.
    #[error("{0}: this build is not like its release, and guessing would do harm")]
    UnknownTable(#[from] TableMismatch),
    /// More ranks than slots.
    #[error(
        "{wanted} ranks are wanted, but there are {slots} slots: lower --np, give mpirun more hosts \
         (--mpirun-args '--hostfile FILE'), or pass --oversubscribe, which times the operating system's \
         scheduler along with the collectives"
    )]
    TooFewSlots {
        /// The largest communicator asked for.
        wanted: Ranks,
        /// The slots at hand.
        slots: Ranks,
    },
    /// The same in a simulation, which has as many as the user says.
    #[error(
        "{wanted} ranks are wanted, but the simulated cluster has {slots} slots: raise --simulated-slots, or lower --np"
    )]
    TooFewSimulated {
        /// The largest communicator asked for.
        wanted: Ranks,
        /// The slots of the simulation.
        slots: Ranks,
    },
    /// Nothing is known of messages that a simulated machine would have to play.
    #[error("the simulated machine cannot play this: {0}")]
    Unplayable(String),
    /// A model of a machine to be simulated cannot be read.
    #[error("{0}")]
    Model(String),
    /// There is nothing to communicate with.
    #[error("there is 1 slot, and a collective needs 2 ranks: pass --np 2 --oversubscribe to try it out")]
    OneSlot,
    /// Nothing to measure.
    #[error("nothing to measure: {0}")]
    EmptyGrid(String),
    /// The rules file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Rules {
        /// The rules file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// No copy of a rules file can be made for a probe.
    #[error("cannot put a copy of the rules for a probe into {}: {cause}", path.display())]
    Scratch {
        /// The directory.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Another component serves the calls.
    #[error(
        "{collectives}: not served by coll/tuned on this system, so rules would change nothing. Another component \
         serves them (hcoll, ucc, a vendor's own), or coll_tuned_priority is too low; `mpirun --mca coll_base_verbose \
         10` names the component, and --mpirun-args '--mca coll ^NAME' switches it off"
    )]
    NotServed {
        /// The collectives concerned.
        collectives: String,
    },
    /// The library has no algorithms to choose from.
    #[error("the library lists no algorithms for {0}: this Open MPI has no coll/tuned, or it is switched off")]
    NoAlgorithms(Collective),
    /// The run directory refused.
    #[error(transparent)]
    Record(#[from] RunDirError),
    /// Nobody takes the results any more.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// A pipe to the job failed.
    #[error("lost contact with the MPI job: {0}")]
    Io(#[from] io::Error),
    /// The environment's own arguments are malformed.
    #[error("--mpirun-args cannot be split into words: {0}")]
    BadArguments(#[from] shell_words::ParseError),
}

impl RunnerError {
    /// The same error, with the remedy that helps in a simulation if this is one.
    pub fn on(self, simulated: bool) -> Self {
        match self {
            Self::TooFewSlots { wanted, slots } if simulated => Self::TooFewSimulated { wanted, slots },
            Self::OneSlot if simulated => Self::TooFewSimulated { wanted: Ranks(2), slots: Ranks(1) },
            other => other,
        }
    }

    /// Whether the job failed, so that another launch may do better. Otherwise it is the environment, or ourselves.
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

    /// Whether something outside of the job ended it.
    pub fn came_from_outside(&self) -> bool {
        matches!(self, Self::JobDied { outside: true, .. })
    }
}

/// The job's last words, set off from the message.
fn quoted(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("\nthe job's last lines were:\n{output}") }
}

/// What usually helps against a launcher's complaint.
fn hint(output: &str) -> &'static str {
    if output.contains("as root") || output.contains("AS_ROOT") {
        "\nOpen MPI refuses to run as root unless told that this is meant: set OMPI_ALLOW_RUN_AS_ROOT=1 and \
         OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (5.0: PRTE_ALLOW_RUN_AS_ROOT=1 and PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1), \
         or run as a user"
    } else if output.contains("not enough slots") {
        "\nthere are fewer slots than ranks: lower --np, or pass --oversubscribe"
    } else if output.contains("shared librar") {
        "\nthe worker does not find its MPI library: put its directory into LD_LIBRARY_PATH"
    } else {
        ""
    }
}
