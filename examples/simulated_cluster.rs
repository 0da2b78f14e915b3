//! Workflows as a library: what `collrules tune --simulate` does, without the command line.
//!
//! Run with `cargo run --example simulated_cluster`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use collrules_record::grid::Grid;
use collrules_record::options::{Jobs, Simulated, SystemOptions, TuneOptions};
use collrules_record::units::{Bytes, Ranks};
use collrules_report::terminal;
use collrules_rules::Collective;
use collrules_workflow::campaign::Begin;
use collrules_workflow::start::start;
use collrules_workflow::tune::tune;
use collrules_workflow::{Event, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("collrules-example-{}", std::process::id()));
    let tuning = TuneOptions {
        grid: Grid {
            collectives: vec![Collective::Bcast],
            ranks: [4, 16].map(Ranks).to_vec().into(),
            sizes: [1, 16, 256, 4 << 10, 64 << 10, 1 << 20].map(Bytes).to_vec(),
            ..Grid::default()
        },
        seed: 42,
        budget: None,
        system: SystemOptions {
            jobs: Jobs::Simulation(Simulated { slots: Ranks(16), ..Simulated::default() }),
            ..SystemOptions::default()
        },
        ..TuneOptions::default()
    };
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
