//! `collrules submit`: batch jobs that measure.

use std::path::PathBuf;

use collrules_batch::job::JobOptions;
use collrules_batch::script::dialect;
use collrules_record::allocation::BatchSystem;
use collrules_record::units::Seconds;
use collrules_record::values::positive;
use collrules_workflow::submit::{All, Submitting, submit};

use crate::failure::Failure;
use crate::options::arguments;
use crate::screen;

arguments! {
    JobArgs {} => JobOptions {
        /// Ranks per node
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        ppn: u32,
        /// Time limit of each job; without --budget, the command uses all of it
        #[arg(long, value_name = "TIME", value_parser = positive)]
        time: Seconds,
        /// The partition, or the queue
        #[arg(long, value_name = "NAME")]
        partition: Option<String>,
        /// Account to charge
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// The quality of service
        #[arg(long, value_name = "NAME")]
        qos: Option<String>,
        /// Required node features, as the batch system writes them
        #[arg(long, value_name = "WHAT")]
        constraint: Option<String>,
        /// Reserve the nodes for this job alone: programs of other jobs there would disturb the times
        #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value_t = true, default_missing_value = "true")]
        exclusive: bool,
        /// The parallel environment (Grid Engine)
        #[arg(long, value_name = "NAME")]
        parallel_environment: Option<String>,
        /// Module to load before; may be repeated
        #[arg(long, value_name = "NAME")]
        module: Vec<String>,
        /// Number of jobs in an array: each has a run and a seed of its own
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        array: Option<u32>,
        /// Another directive for the script, without #SBATCH or the like; may be repeated
        #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
        directive: Vec<String>,
    } {}
}

impl From<JobArgs> for JobOptions {
    fn from(args: JobArgs) -> Self {
        args.resolve()
    }
}

arguments! {
    #[command(after_help = "No MPI is needed here. The script begins the run, or resumes it: submit it again where a \
job ran out of time (studies of several variants begin anew, in another directory). Behind -- comes the command of the job:

  collrules submit --nodes 8 --ppn 32 --time 30m --out tuned -- tune --ops all")]
    Submit {} => Submitting {
        /// Number of nodes; several numbers, separated by commas, make a job and a run each
        #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
        nodes: Vec<u32>,
        #[command(flatten)]
        job: JobArgs,
        /// The batch system [default: the one whose commands are in PATH]
        #[arg(long, value_name = "NAME")]
        system: Option<BatchSystem>,
        /// Directory for the script, the log and the run; a run in it is resumed [default: collrules-run-DATE-TIME]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Print the script; write and submit nothing
        #[arg(long)]
        print: bool,
        /// The command for the job: tune, measure, lab guidelines, lab study, lab model or lab irregular, with its options,
        /// without --out and --resume
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    } {}
}

pub(crate) fn run(args: &Submit) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::Stdout)?;
    let All { system, jobs } = submit(&args.resolve(), &program)?;
    let dialect = dialect(system);
    for submitted in &jobs {
        let Some(job) = &submitted.job else {
            screen::raw(submitted.script.as_bytes())?;
            continue;
        };
        let directory = submitted.directory.display();
        let lines = [
            format!("{system} has job {job}, which writes into {directory}. Follow it:"),
            format!("  collrules status --follow {directory}"),
            format!("  {} {job}", dialect.follow.join(" ")),
            format!(
                "`{} {job}` ends it; what was measured is kept, and the same `collrules submit` resumes what can be.",
                dialect.cancel
            ),
        ];
        let wrapped = lines
            .iter()
            .flat_map(|line| if line.starts_with(' ') { vec![line.clone()] } else { screen::wrapped(line, "", "") });
        screen::print(&wrapped.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(())
}
