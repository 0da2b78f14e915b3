//! Workflows as a library: what `collrules tune --simulate` does, without the command line.
//!
//! Run with `cargo run --example simulated_cluster`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use collrules_record::findings::Criteria;
use collrules_record::options::{Grid, Jobs, Refinement, Scenario, Simulated, System, Timing, Tuning};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Layout, Policy};
use collrules_report::terminal;
use collrules_rules::{Collective, Release};
use collrules_workflow::campaign::Begin;
use collrules_workflow::start::start;
use collrules_workflow::tune::tune;
use collrules_workflow::{Event, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("collrules-example-{}", std::process::id()));
    let tuning = Tuning {
        grid: Grid {
            collectives: vec![Collective::Bcast],
            ranks: vec![Ranks(4), Ranks(16)],
            sizes: (0..=20).step_by(4).map(|power| Bytes(1 << power)).collect(),
            segments: vec![Bytes(8192)],
            fanouts: vec![4],
            requests: Vec::new(),
            max_memory: Bytes(512 << 20),
            only: Vec::new(),
            launch_per_candidate: false,
            mockups: None,
            reference: false,
        },
        budget: None,
        launches: 3,
        seed: 42,
        keep_slow: false,
        timing: Timing { sync: Default::default(), clock_bound: Seconds(1e-6), separate_clocks: false },
        criteria: Criteria::default(),
        policy: Policy::default(),
        refinement: Refinement { rounds: 1, width: 1.25, ranks: false },
        validate: true,
        system: System {
            layout: Layout::default(),
            oversubscribe: false,
            jobs: Jobs::Simulation(Simulated { scenario: Scenario::Stale, slots: Ranks(16), release: Release::V5_0 }),
        },
    };
    let begin = Begin::New { tuning, out: directory.clone() };
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
