//! What a budget buys: the share of the attainable gain that a campaign's rules have, by planted times.

use std::collections::BTreeMap;

use collrules_record::experiment::Experiment;
use collrules_record::manifest::Manifest;
use collrules_record::options::Request;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::question::Group;
use collrules_record::rundir::RULES;
use collrules_record::{Candidate, Cell, Seconds};
use collrules_rules::{Collective, Release, RuleTable};
use collrules_runner::Backend;
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::simulate::{Scenario, Simulation};
use collrules_runner::wire::WorkerEvent;
use collrules_workflow::campaign::Begin;
use collrules_workflow::tune::tune;

use crate::stage::{TuningFixture, means};

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
fn gains_of(table: &RuleTable, manifest: &Manifest) -> BTreeMap<Collective, (f64, f64)> {
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

/// Tunes a simulated cluster with this many slots, 32 on a node, and returns the share of the attainable log gain that the
/// rules have, with the gains of each collective.
fn tune_within(budget: &str, slots: u32, words: &str) -> (f64, BTreeMap<Collective, (f64, f64)>, TuningFixture) {
    let mut stage = TuningFixture::new();
    let words = format!(
        "--simulate --simulated-slots {slots} --simulated-ppn 32 --np 2:{slots} --sizes 1:1M --segments 8K,64K \
         --fanouts 2,4 --refine 2 --refine-width 1.25 --budget {budget} {words}"
    );
    let published = stage.tune(&words).unwrap();
    let gains = gains_of(&means(&stage.path().join(RULES), Release::V5_0), &published.manifest.unwrap());
    (share(&gains), gains, stage)
}

#[test]
fn any_budget_buys_something_and_more_buys_more() {
    // Comparisons have a budget of their own.
    const WORDS: &str = "--ops bcast,allgatherv --no-validate";
    let (little, gains, mut stage) = tune_within("3s", 16, WORDS);
    assert!(little > 0.3 && gains.values().all(|(rules, all)| rules / all > 0.1), "{little}: {gains:?}");
    let (more, gains, _) = tune_within("12s", 16, WORDS);
    assert!(more > little && more > 0.7, "{little}, {more}: {gains:?}");

    // The parts of a campaign add up.
    let begin = Begin::recorded(&stage.path()).unwrap();
    let Request::Tune(mut options) = begin.request.clone() else { panic!("is a tuning") };
    options.budget = Some(Seconds(12.0));
    let experiment = Experiment { budget: options.budget, ..begin.experiment };
    let again = Begin { experiment, request: Request::Tune(options), place: begin.place };
    let published = stage.play(|session| tune(&again, session)).unwrap();
    let gains = gains_of(&means(&stage.path().join(RULES), Release::V5_0), &published.manifest.unwrap());
    assert!(share(&gains) > little + 0.1, "{little}: {gains:?}");
}

/// Options, slots, budget, and the required share in percent.
const CAMPAIGNS: [(&str, u32, &str, f64); 7] = [
    ("--ops allreduce,bcast,alltoall", 1024, "2m", 60.0),
    ("--ops allreduce,bcast,alltoall", 1024, "5m", 90.0),
    ("--ops all", 64, "5m", 50.0),
    ("--ops all", 64, "15m", 90.0),
    ("--ops all", 64, "2h", 97.0),
    ("--ops all", 1024, "30m", 60.0),
    ("--ops all", 1024, "2h", 85.0),
];

#[test]
#[ignore = "minutes: cargo test --release -p collrules-workflow --test whole campaigns_reach -- --ignored"]
fn campaigns_reach_their_shares() {
    let missed = CAMPAIGNS.into_iter().flat_map(|campaign| [1, 2].map(|seed| (campaign, seed))).filter_map(
        |((words, slots, budget, least), seed)| {
            let (share, _, stage) = tune_within(budget, slots, &format!("{words} --seed {seed}"));
            let state = stage.run().state().unwrap().unwrap();
            let (share, of_budget) = (100.0 * share, state.spent(|_| true) / state.budget().unwrap().unwrap().0);
            let found = format!(
                "{words} on {slots} slots in {budget}, seed {seed}: {share:.0} % of the gain in {:.0} % of the time",
                100.0 * of_budget
            );
            println!("{found}");
            (share < least || of_budget > 1.1).then_some(found)
        },
    );
    assert_eq!(missed.collect::<Vec<_>>(), [""; 0]);
}
