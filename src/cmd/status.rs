//! `collrules status`: progress of jobs and runs.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use collrules_batch::status::{Stage, Status};
use collrules_record::Seconds;
use collrules_record::values::positive;
use collrules_report::status::sentences;
use collrules_workflow::WorkflowError;
use collrules_workflow::status::status;

use crate::screen;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --follow, it ends when the batch system does not know the job any more, when the run has \
all results of tune, or when no process continues it and nothing is written for the time of --lag."
)]
pub(crate) struct StatusArgs {
    /// The directory of the run, or the one that was given to submit
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Answer in JSON
    #[arg(long, conflicts_with = "follow")]
    pub(crate) json: bool,
    /// Print changes until the job and the run are over
    #[arg(long)]
    pub(crate) follow: bool,
    /// Interval between two checks
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "10s", requires = "follow")]
    pub(crate) every: Seconds,
    /// Time to look for further files once the job has left the queue: a shared file system may show them late, NFS up
    /// to a minute
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "follow")]
    pub(crate) lag: Seconds,
}

pub(crate) fn run(args: &StatusArgs) -> Result<(), WorkflowError> {
    if args.follow {
        return follow(args);
    }
    let status = status(&args.run)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&status)?);
    }
    print(&sentences(&status))
}

/// Prints changes until the job and the run are over.
fn follow(args: &StatusArgs) -> Result<(), WorkflowError> {
    let mut before: Vec<String> = Vec::new();
    // State and time of the last change.
    let mut seen = (Vec::new(), Instant::now());
    loop {
        let mut status = status(&args.run)?;
        let grown: Vec<_> = status.runs.iter().map(|run| (run.stage, run.samples, run.complete, run.failed)).collect();
        if grown != seen.0 {
            seen = (grown, Instant::now());
        }
        let is_late = !status.is_complete(Stage::Proven) && seen.1.elapsed().as_secs_f64() < args.lag.0;
        if status.is_over() && is_late {
            status.queue =
                Some(format!("it has left the queue; its last files may take up to {} to appear", args.lag.rounded()));
        }
        let now = lasting(&status);
        let is_new = |(sentence, _): &(&String, String)| !before.contains(sentence);
        let new: Vec<_> = now.iter().zip(sentences(&status)).filter(is_new).map(|(_, sentence)| sentence).collect();
        if !new.is_empty() {
            print(&new)?;
        }
        if status.is_over() {
            let run = args.run.display();
            return print(&[format!("the run is done; `collrules report {run}` writes the results")]);
        }
        // The process that measured has ended, or works on another host and writes nothing.
        if status.submission.is_none() && status.is_left() && seen.1.elapsed().as_secs_f64() >= args.lag.0 {
            let lag = args.lag.rounded();
            return print(&[format!("nothing was written for {lag}, and no process of the run is known")]);
        }
        before = now;
        thread::sleep(Duration::from_secs_f64(args.every.0.min(3600.0)));
    }
}

/// The sentences that do not change constantly during a launch.
fn lasting(status: &Status) -> Vec<String> {
    let mut status = status.clone();
    for run in &mut status.runs {
        (run.silent, run.ahead, run.samples, run.measured, run.spent) = (None, None, 0, 0, Seconds(0.0));
    }
    sentences(&status)
}

fn print(sentences: &[String]) -> Result<(), WorkflowError> {
    let lines: Vec<String> = sentences.iter().flat_map(|sentence| screen::wrapped(sentence, "", "  ")).collect();
    screen::print(&lines.join("\n"))
}
