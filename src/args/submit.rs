//! Arguments of `collrules submit`, `status` and `watch`.

use std::path::PathBuf;

use collrules_record::Seconds;
use collrules_record::options::Submitting;
use collrules_record::values::positive;

#[derive(Debug, clap::Args)]
#[command(after_help = "No MPI is needed here. The script begins the run, or resumes it: submit it again where a \
job ran out of time. Behind -- comes the command of the job:

  collrules submit --nodes 8 --ppn 32 --time 30m --out tuned -- tune --ops all")]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) submitting: Submitting,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// The directory of the run, or the one that was given to submit
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "It ends when the batch system does not know the job any more, when the run has all results \
of tune, or when no process continues it and nothing is written for the time of --lag.")]
pub(crate) struct Watch {
    /// The directory of the run, or the one that was given to submit
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Interval between two checks
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "10s")]
    pub(crate) every: Seconds,
    /// Time to look for further files once the job has left the queue: a shared file system may show them late, NFS up
    /// to a minute
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) lag: Seconds,
}
