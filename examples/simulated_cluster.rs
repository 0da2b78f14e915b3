//! Workflows as a library: what `collrules tune --simulate` does, without the command line.
//!
//! Run with `cargo run --example simulated_cluster`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use collrules_record::options;
use collrules_report::terminal;
use collrules_workflow::campaign::Begin;
use collrules_workflow::start::start;
use collrules_workflow::tune::tune;
use collrules_workflow::{Event, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("collrules-example-{}", std::process::id()));
    let tuning = options::read([
        "--simulate=stale",
        "--simulated-slots=16",
        "--ops=bcast",
        "--np=4,16",
        "--sizes=1,16,256,4K,64K,1M",
        "--seed=42",
        "--budget=none",
    ])?;
    let begin = Begin::tuning(tuning, directory.clone());
    let published = tune(
        &begin,
        &mut Session {
            stop: Arc::default(),
            failures: 20,
            command: Vec::new(),
            start: &start,
            watch: &mut |event| {
                if let Event::Note(note) = event {
                    println!("{note}");
                }
            },
        },
    )?;
    println!("{}\n", terminal::verdicts(&published.findings, 80));
    println!("{}", std::fs::read_to_string(published.run.file("rules.conf"))?);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
