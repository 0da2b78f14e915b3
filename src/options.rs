//! Options that several commands share, and which of them the command line gives.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use collrules_record::condition::{Arrival, Condition};
use collrules_record::options::{Jobs, Launching};
use collrules_record::rundir;
use collrules_workflow::WorkflowError;

use crate::session::FAILURES;

/// The named directory, or a new one.
pub(crate) fn named_or_new(out: Option<&Path>, what: &str) -> PathBuf {
    out.map_or_else(|| rundir::unused_here(what), Path::to_owned)
}

/// Options of the session, which do not change what is measured.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Resume the run in this directory, with its options
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) events: EventArgs,
}

/// Options of everything that starts jobs.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct EventArgs {
    /// Print events as JSON, one per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = FAILURES)]
    pub(crate) failures: u32,
}

/// The options that the command line gives, without the defaults that help shows.
#[derive(Clone, Debug)]
pub(crate) struct Given(ArgMatches);

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = matches.clone();
        for id in matches.ids().filter(|id| matches.value_source(id.as_str()) != Some(ValueSource::CommandLine)) {
            // What is there can be cleared.
            let _ = given.try_clear_id(id.as_str());
        }
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|given| *self = given)
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl Given {
    /// Options that a run recorded, changed by those that are given.
    pub(crate) fn over<T: FromArgMatches>(&self, mut recorded: T) -> Result<T, WorkflowError> {
        recorded.update_from_arg_matches(&self.0).map_err(|error| WorkflowError::usage(error.to_string()))?;
        Ok(recorded)
    }

    /// Returns true if an option is given.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.ids().any(|given| given == id)
    }

    /// Ids of the given options.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.ids().map(clap::Id::as_str)
    }

    /// The profile that `--arrival` names.
    pub(crate) fn profile(&self, condition: &Condition) -> Option<&Path> {
        let is_profile = self.has("arrival") && condition.arrival == Arrival::Profile;
        is_profile.then(|| self.0.get_raw("arrival")?.next().map(Path::new)).flatten()
    }

    /// Refuses options of the kind of jobs that a run did not have.
    pub(crate) fn refuse_other_jobs(&self, recorded: &Jobs) -> Result<(), WorkflowError> {
        Err(WorkflowError::usage(match recorded {
            Jobs::Mpi(_) if self.has("scenario") => "error: the run was measured: leave out --simulate",
            Jobs::Simulation(_) if self.ids().any(declares::<Launching>) => {
                "error: the run was simulated: leave out options for mpirun, the worker and its jobs"
            }
            _ => return Ok(()),
        }))
    }
}

/// Returns true if a group of options has this one.
pub(crate) fn declares<T: Args>(id: &str) -> bool {
    T::augment_args(Command::new("")).get_arguments().any(|argument| argument.get_id() == id)
}
