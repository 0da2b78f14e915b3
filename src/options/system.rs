//! The system that runs the jobs.

use std::path::PathBuf;

use clap::ArgAction;
use collrules_record::Layout;
use collrules_record::options::{Jobs, Launching, Scenario, Simulated, SystemOptions};
use collrules_record::units::{Ranks, Seconds};
use collrules_rules::Release;
use collrules_workflow::values::{absolute, positive, simulated_slots};

use super::{Layer, layer, words};
use crate::failure::Failure;

#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Launching")]
pub(crate) struct SystemArgs<J: clap::Args = JobsArgs> {
    /// Order in which communicators take their ranks from those of the job: block (the first ones in mpirun's order),
    /// one-per-node, or spread (the nodes in turn)
    #[arg(long, value_name = "LAYOUT", default_value = "block")]
    pub(crate) layout: Option<Layout>,
    /// Allow more ranks than slots; times then include the operating system's scheduler
    #[arg(long, action = ArgAction::SetTrue)]
    oversubscribe: Option<bool>,
    #[command(flatten)]
    pub(crate) jobs: J,
}

impl<J: clap::Args + Layer<F>, F> Layer<SystemOptions<F>> for SystemArgs<J> {
    fn over(self, below: SystemOptions<F>) -> SystemOptions<F> {
        SystemOptions {
            layout: self.layout.over(below.layout),
            oversubscribe: self.oversubscribe.over(below.oversubscribe),
            jobs: self.jobs.over(below.jobs),
        }
    }
}

/// Options of both kinds of jobs; `--simulate` decides.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub(crate) struct JobsArgs {
    #[command(flatten)]
    launching: LaunchingArgs,
    #[command(flatten)]
    simulated: SimulatedArgs,
}

impl JobsArgs {
    /// Refuses options of the kind of jobs that a run did not have.
    pub(crate) fn refuse_others(&self, recorded: &Jobs) -> Result<(), Failure> {
        let about_mpi = self.launching != LaunchingArgs::default();
        Err(Failure::usage(match recorded {
            Jobs::Mpi(_) if self.simulated.scenario.is_some() => "error: the run was measured: leave out --simulate",
            Jobs::Simulation(_) if about_mpi => {
                "error: the run was simulated: leave out options for mpirun, the worker and its jobs"
            }
            _ => return Ok(()),
        }))
    }
}

impl Layer<Jobs> for JobsArgs {
    fn over(self, below: Jobs) -> Jobs {
        match below {
            Jobs::Simulation(below) => Jobs::Simulation(self.simulated.over(below)),
            Jobs::Mpi(_) if self.simulated.scenario.is_some() => {
                Jobs::Simulation(self.simulated.over(Simulated::default()))
            }
            Jobs::Mpi(below) => Jobs::Mpi(self.launching.over(below)),
        }
    }
}

layer! {
    #[command(next_help_heading = "Launching")]
    LaunchingArgs over Launching {
        /// The mpirun of the Open MPI to tune [default: the first in PATH]
        #[arg(long, value_name = "FILE")]
        mpirun: Option<PathBuf>,
        /// Command that starts MPI jobs: mpirun, srun, or a template with {np}, {mca} and {program}, such as 'srun
        /// --mpi=pmix -n {np}' [default: srun in Slurm jobs without mpirun or with srun set up for MPI, else mpirun]
        #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
        launcher: Option<String>,
        /// More options for mpirun, in one argument, such as '--hostfile hosts --map-by node'
        #[arg(long = "mpirun-args", value_name = "ARGS", default_value = "", allow_hyphen_values = true)]
        arguments: Option<String>,
        /// On several hosts, switch off Open MPI's component han for all collectives, here and in the settings; otherwise
        /// it is compared with the others
        #[arg(long, action = ArgAction::SetTrue)]
        disable_han: Option<bool>,
        /// The collrules-worker program [default: the first with the interface of this Open MPI, next to collrules, in
        /// ~/.local/share/collrules, in PATH]
        #[arg(long, value_name = "FILE")]
        worker: Option<PathBuf>,
        /// Kill a job after this time without a sign of life
        #[arg(long, value_name = "TIME", value_parser = positive, default_value = "120s")]
        hang_timeout: Option<Seconds>,
    }
}

layer! {
    #[command(next_help_heading = "Simulation")]
    SimulatedArgs over Simulated {
        /// Compute times from a cost model instead of measuring: no MPI needed
        #[arg(long = "simulate", value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "stale", require_equals = true, value_parser = words!(
            Scenario,
            "The default is out of date and can be beaten",
            "The default is the fastest algorithm of coll/tuned",
            "All algorithms are equal; differences are noise",
            "As stale, but some rules turn out slower in fresh launches",
            "As stale, but everything takes 25 % longer: what drift finds",
            "The default is the best, but mock-ups beat bcast of long messages and allreduce of short ones",
            "As stale, on hosts of two slots each, with HAN for communicators on several hosts",
            "The best algorithm for bcast depends on the layout: see --simulated-ppn and --also-layout",
            "As stale, but one algorithm loses if the last rank is the root",
            "As stale, but one algorithm loses if buffers change, and all rules for allreduce lose in place",
            "As stale, but one algorithm loses if a rank is late, in a profile if rank 0 waits for others",
            "As stale, with settings that help, harm, crash and hang inside nodes: see --simulated-ppn",
        ))]
        scenario: Option<Scenario>,
        /// Slots of the simulated cluster
        #[arg(long = "simulated-slots", value_name = "N", default_value = "8", requires = "scenario", value_parser = simulated_slots)]
        slots: Option<Ranks>,
        /// Slots of each simulated node
        #[arg(long = "simulated-ppn", value_name = "N", default_value = "1", requires = "scenario", value_parser = simulated_slots)]
        each: Option<Ranks>,
        /// Release of the simulated Open MPI
        #[arg(
        id = "simulated_release",
        long = "simulated-release",
        value_name = "RELEASE",
        default_value = "5.0",
        requires = "scenario"
        )]
        release: Option<Release>,
        /// Play the messages of calls, and the probes of models, event by event on the machine of this model.json: bcast, scatter,
        /// gather, alltoall and barrier. Its ranks are the slots; its release, where it has one, is the
        /// simulated one
        #[arg(long = "simulated-model", value_name = "MODEL", requires = "scenario", conflicts_with_all = ["slots", "each", "layout"], value_parser = absolute)]
        model: Option<PathBuf>,
    }
}
