//! The crates as libraries: plan, measure, decide and write, on a cluster that exists in formulas only.
//!
//! Run with `cargo run --example simulated_cluster`.

#![allow(clippy::print_stdout)]

use collrules_record::manifest::{self, Manifest};
use collrules_record::plan::Schedule;
use collrules_record::rundir::RunDir;
use collrules_record::units::Seconds;
use collrules_report::{notes, terminal};
use collrules_rules::emit;
use collrules_rules::{Collective, Release};
use collrules_runner::Backend;
use collrules_runner::campaign::{self, Policy, Tally};
use collrules_runner::grid::Grid;
use collrules_runner::simulate::{Scenario, Simulation};
use collrules_tuner::Observations;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut cluster = Simulation::new(Scenario::Stale, Release::V5_0, 16);
    let survey = cluster.survey()?;
    let grid = Grid { collectives: vec![Collective::Bcast], ..Grid::default() };
    let plan = grid.plan(&survey, 3, Schedule { budget: Some(Seconds(600.0)), ..Schedule::default() }, 42)?;

    let directory = std::env::temp_dir().join(format!("collrules-example-{}", std::process::id()));
    let manifest = Manifest {
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: manifest::now(),
        backend: cluster.name().to_owned(),
        command: Vec::new(),
        launcher: cluster.launcher(&plan),
        environment: Default::default(),
        host: Default::default(),
        pins: Default::default(),
        survey,
        plan: plan.clone(),
    };
    let run = RunDir::create(&directory, &manifest)?;
    let mut tally = Tally::default();
    campaign::measure(&mut cluster, &plan, &mut run.log()?, &Policy::default(), &mut tally, &mut |_, _| {})?;
    println!("{} samples of {} cells\n", tally.samples, tally.cells);

    let observations = Observations::from_samples(&run.samples()?.text)?;
    let findings = collrules_tuner::analyze(&observations, Release::V5_0, Default::default(), "the example")?;
    println!("{}\n", terminal::verdicts(&findings, 80));
    println!("{}", emit::classic(&findings.table, &notes::notes(&findings, "the example"), |_| false)?);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
