//! What a budget buys: the share of the attainable gain that a campaign's rules have, by planted times.

use std::collections::BTreeMap;

use collrules_record::manifest::Manifest;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::question::Group;
use collrules_record::rundir::RULES;
use collrules_record::{Candidate, Cell, Seconds};
use collrules_rules::{Collective, Release, RuleTable};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::simulate::{Scenario, Simulation};
use collrules_runner::wire::WorkerEvent;
use collrules_runner::Backend;

use crate::stage::{Stage, means};

/// The planted time of each candidate of each cell, in seconds.
type Planted = BTreeMap<(Cell, Candidate), f64>;

/// Times candidates of cells on the machine of the campaigns.
fn planted(cells: Vec<CellPlan>, ranks: u32) -> Planted {
    let mut machine = Simulation::new(Scenario::Stale, Release::V5_0, ranks);
    let schedule = Schedule { budget: None, max_rounds: 9, min_rounds: 9, rounds_per_visit: 9, ..Schedule::default() };
    let schedule = Schedule { keep_slow: true, ..schedule };
    let plan = LaunchPlan::new(cells.iter().map(LaunchCell::from).collect(), schedule, 7);
    let mut times = Planted::new();
    let mut take = |event| {
        if let WorkerEvent::Visited { cell, candidates, rounds, .. } = event {
            for (place, candidate) in candidates.iter().enumerate() {
                let mut calls: Vec<f64> = rounds.iter().map(|round| round[place][0]).collect();
                calls.sort_by(f64::total_cmp);
                let planned = &cells[cell];
                times.insert((planned.cell, planned.candidates[*candidate]), calls[calls.len() / 2]);
            }
        }
        Ok(())
    };
    machine.measure(&plan, &mut take).unwrap();
    times
}

/// The log gain of the rules and the attainable one, by collective.
fn gains(table: &RuleTable, manifest: &Manifest) -> BTreeMap<Collective, (f64, f64)> {
    let release = Release::V5_0;
    let chosen = |cell: Cell| {
        let choice = table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(release));
        Candidate::from_choice(choice)
    };
    let cells = manifest.plan.cells.iter().map(|planned| {
        let mut planned = planned.clone();
        if !planned.candidates.contains(&chosen(planned.cell)) {
            planned.candidates.push(chosen(planned.cell));
        }
        planned
    });
    let times = planted(cells.collect(), manifest.plan.ranks.0);
    let mut gains: BTreeMap<Collective, (f64, f64)> = BTreeMap::new();
    for CellPlan { cell, candidates, question, .. } in &manifest.plan.cells {
        let gain = |candidate: Candidate| (times[&(*cell, Candidate::Builtin)] / times[&(*cell, candidate)]).ln();
        let permitted = candidates.iter().filter(|one| question.group(cell.collective, **one) == Group::Permitted);
        let best = permitted.map(|candidate| gain(*candidate)).fold(0.0, f64::max);
        let sum = gains.entry(cell.collective).or_default();
        // Noise is no gain.
        (sum.0, sum.1) = (sum.0 + gain(chosen(*cell)), sum.1 + if best > 0.03 { best } else { 0.0 });
    }
    gains
}

fn share(gains: &BTreeMap<Collective, (f64, f64)>) -> f64 {
    gains.values().map(|gain| gain.0).sum::<f64>() / gains.values().map(|gain| gain.1).sum::<f64>()
}

/// Prints the shares that budgets buy: with `CAMPAIGN`, of these options; `BUDGETS` in seconds.
#[test]
#[ignore = "minutes, and a table to read"]
fn shares_of_budgets() {
    let campaign = std::env::var("CAMPAIGN").unwrap_or("--ops bcast,allreduce,alltoall --np 2:1024".to_owned());
    let budgets = std::env::var("BUDGETS").unwrap_or("120,300,600".to_owned());
    let extra = std::env::var("EXTRA").unwrap_or_default();
    let ranks = campaign.split(':').nth(1).map(|text| text.split(' ').next().unwrap()).unwrap();
    for budget in budgets.split(',') {
        let began = std::time::Instant::now();
        let mut stage = Stage::new();
        let words = format!(
            "--simulate --simulated-slots {ranks} --simulated-ppn 32 --sizes 1:1M --segments 8K,64K --fanouts 2,4 \
             --refine 2 --refine-width 1.25 {campaign} --budget {budget} {extra}"
        );
        let published = stage.tune(&words).unwrap();
        let manifest = published.manifest.unwrap();
        let gains = gains(&means(&stage.path().join(RULES), Release::V5_0), &manifest);
        println!(
            "{budget} s, {} sizes: {:.0} %, {:.1} s",
            manifest.plan.cells.len(),
            100.0 * share(&gains),
            began.elapsed().as_secs_f64()
        );
        if std::env::var("VERBOSE").is_ok() {
            stage.notes.iter().for_each(|note| println!("   {note}"));
            let spent = stage.run().progress().spent;
            println!("   spent {spent}");
            for (collective, (rules, all)) in &gains {
                println!("   {collective}: {:.0} % of {:.1}", 100.0 * rules / all, all);
            }
        }
        let _ = Seconds(0.0);
    }
}
