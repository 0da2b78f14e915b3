//! `collrules status` and `collrules watch`: how far jobs and runs are.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use collrules_record::Seconds;
use collrules_record::status::{Stage, Status};
use collrules_report::status::sentences;
use collrules_workflow::status::status;

use crate::args::{StatusArgs, Watch};
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let status = status(&args.run)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&status)?);
    }
    print(&sentences(&status))
}

/// Says what has changed, until there is nothing more to come.
pub(crate) fn watch(args: &Watch) -> Result<(), Failure> {
    let mut before: Vec<String> = Vec::new();
    // What was there when anything was last seen to change.
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
                Some(format!("it has left the queue; its last files may take up to {} to be seen", args.lag.rounded()));
        }
        let now = lasting(&status);
        let is_new = |(sentence, _): &(&String, String)| !before.contains(sentence);
        let new: Vec<_> = now.iter().zip(sentences(&status)).filter(is_new).map(|(_, sentence)| sentence).collect();
        if !new.is_empty() {
            print(&new)?;
        }
        if status.is_over() {
            return done(&args.run);
        }
        before = now;
        thread::sleep(Duration::from_secs_f64(args.every.0.min(3600.0)));
    }
}

/// The sentences without what changes all the time while a launch goes on.
fn lasting(status: &Status) -> Vec<String> {
    let mut status = status.clone();
    for run in &mut status.runs {
        (run.silent, run.ahead, run.samples, run.measured, run.spent) = (None, None, 0, 0, Seconds(0.0));
    }
    sentences(&status)
}

fn done(run: &Path) -> Result<(), Failure> {
    print(&[format!("nothing more is to come; `collrules report {}` writes what was found", run.display())])
}

fn print(sentences: &[String]) -> Result<(), Failure> {
    let lines: Vec<String> = sentences.iter().flat_map(|sentence| screen::wrapped(sentence, "", "  ")).collect();
    screen::print(&lines.join("\n"))
}
