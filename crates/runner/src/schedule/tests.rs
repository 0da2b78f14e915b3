//! Tests of the scheduler on constant times, and races on synthetic times with known truth.

mod budgets;
mod races;
mod rehearsal;

use collrules_record::policy::Assumptions;
use collrules_record::question::{Question, TEST_VISITS};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, Cell};
use collrules_rules::{Choice, Collective};

use super::*;
use crate::launch::LaunchCell;

fn plan(cells: u64, schedule: Schedule) -> LaunchPlan {
    let cell = |bytes| {
        let cell = Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) };
        let candidates =
            vec![Candidate::Builtin, Candidate::Tuned(Choice::plain(1)), Candidate::Tuned(Choice::plain(2))];
        LaunchCell::new(cell, candidates)
    };
    LaunchPlan::new((1..=cells).map(cell).collect(), schedule, 7)
}

/// Drives a scheduler with constant times per candidate; returns rounds per cell and candidate, and the end.
fn drive(plan: &LaunchPlan, times: [f64; 3], failed: &[usize]) -> (Vec<Vec<u32>>, String) {
    let mut scheduler = Scheduler::new(plan);
    let mut rounds = vec![vec![0; 3]; plan.cells.len()];
    let mut clock = 0.0;
    loop {
        match scheduler.next(clock) {
            ScheduleStep::Open(cell) => {
                clock += times.iter().sum::<f64>();
                scheduler.opened(cell, failed, &times, times.iter().sum(), clock);
            }
            ScheduleStep::Visit(visit) => {
                let round: Vec<RankTimes> = visit.candidates.iter().map(|c| [times[*c]; 3]).collect();
                let cost = round.iter().map(|t| t[0]).sum::<f64>() * f64::from(visit.rounds + visit.warmup);
                clock += cost;
                visit.candidates.iter().for_each(|c| rounds[visit.cell][*c] += visit.rounds);
                scheduler.visited(&visit, &vec![round; visit.rounds as usize], cost);
            }
            ScheduleStep::Stop(why) => return (rounds, why),
        }
    }
}

#[test]
fn precise_cells_end_and_beaten_candidates_are_dropped() {
    let schedule = Schedule { budget: None, ..Schedule::default() };
    let (rounds, why) = drive(&plan(5, schedule), [1e-5, 1.1e-5, 9e-5], &[]);
    for cell in rounds {
        assert_eq!(cell[0], schedule.min_rounds);
        assert_eq!(cell[1], schedule.min_rounds);
        assert_eq!(cell[2], schedule.rounds_per_visit, "nine times the best is dropped after one visit");
    }
    assert!(why.contains("every size is precise enough"), "{why}");
}

#[test]
fn a_long_check_tells_who_is_hopeless_once_connections_are_up() {
    let schedule = Schedule { budget: None, ..Schedule::default() };
    let timed = |times, schedule| {
        let (rounds, _) = drive(&plan(5, schedule), times, &[]);
        rounds.iter().filter(|cell| cell[2] > 0).count()
    };
    assert_eq!(timed([2e-2, 2.1e-2, 9e-2], schedule), 1, "in the first cell nobody was called before");
    assert_eq!(timed([2e-2, 2.1e-2, 6.5e-2], schedule), 5, "a hiccup may have been the cause");
    assert_eq!(timed([1e-3, 1e-3, 9e-2], schedule), 5, "where calls are short it takes more to be sure");
    assert_eq!(timed([2e-2, 2.1e-2, 9e-2], Schedule { keep_slow: true, ..schedule }), 5);
    // With one competitor there is something to compare in any case.
    let (rounds, _) = drive(&plan(5, schedule), [2e-2, 9e-2, 9.1e-2], &[]);
    assert!(rounds.iter().all(|cell| cell[0] > 0 && cell[1] > 0), "{rounds:?}");
}

#[test]
fn long_cells_are_not_checked_again_once_connections_are_up() {
    let mut plan = plan(4, Schedule { budget: Some(Seconds(10.0)), ..Schedule::default() });
    for cell in &mut plan.cells[1..] {
        cell.round = Some(Seconds(1.0));
    }
    let mut scheduler = Scheduler::new(&plan);
    assert_eq!(scheduler.next(0.0), ScheduleStep::Open(0), "short ones come first");
    scheduler.opened(0, &[], &[1e-5; 3], 3e-5, 0.0);
    let cells: Vec<usize> = (0..4)
        .map(|_| match scheduler.next(0.0) {
            ScheduleStep::Visit(visit) => visit.cell,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(cells.iter().sum::<usize>(), 6, "each is visited, none is opened: {cells:?}");
    plan.cells[0].candidates.pop();
    let mut scheduler = Scheduler::new(&plan);
    scheduler.next(0.0);
    scheduler.opened(0, &[], &[1e-5; 2], 2e-5, 0.0);
    scheduler.next(0.0);
    assert!(
        matches!(scheduler.next(0.0), ScheduleStep::Open(_)),
        "a candidate that nobody called yet has no connections"
    );
}

#[test]
fn cells_in_which_programs_spend_more_come_first_and_calls_of_seconds_need_no_connections() {
    let mut plan = plan(4, Schedule { budget: Some(Seconds(10.0)), ..Schedule::default() });
    for (cell, weight) in plan.cells.iter_mut().zip([2.0, 1.0, 4.0, 3.0]) {
        (cell.weight, cell.round) = (Some(Seconds(weight)), Some(Seconds(6.0)));
    }
    let mut scheduler = Scheduler::new(&plan);
    let pass = |scheduler: &mut Scheduler| -> Vec<usize> {
        let visited = (0..4).map(|_| match scheduler.next(0.0) {
            ScheduleStep::Visit(visit) => {
                let round: Vec<RankTimes> = visit.candidates.iter().map(|_| [2.0; 3]).collect();
                scheduler.visited(&visit, &[round], 6.0);
                visit.cell
            }
            other => panic!("{other:?}"),
        });
        visited.collect()
    };
    assert_eq!(pass(&mut scheduler), [2, 3, 0, 1]);
    assert_eq!(pass(&mut scheduler), [2, 3, 0, 1]);
}

#[test]
fn nobody_is_dropped_for_a_reference_algorithm() {
    let schedule = Schedule::default();
    let mut plan = plan(5, schedule);
    for cell in &mut plan.cells {
        cell.candidates[2] = "chan:long".parse().expect("a candidate");
    }
    let (rounds, _) = drive(&plan, [1e-5, 1.1e-5, 1e-6], &[]);
    assert!(rounds.iter().all(|cell| cell[1] == schedule.min_rounds), "{rounds:?}");
    let (rounds, _) = drive(&plan, [1e-5, 1.1e-5, 9e-5], &[]);
    assert!(rounds.iter().all(|cell| cell[2] == schedule.rounds_per_visit), "a slow one is: {rounds:?}");
}

#[test]
fn a_mockup_is_eliminated_by_mockups_and_the_default_alone() {
    let schedule = Schedule::default();
    let with = |second: &str| {
        let mut plan = plan(3, schedule);
        for cell in &mut plan.cells {
            cell.candidates[1] = "mockup:scatter+allgather".parse().expect("a candidate");
            cell.candidates[2] = second.parse().expect("a candidate");
            cell.question = Question::new(cell.cell.collective, &cell.candidates, Assumptions::default());
        }
        plan
    };
    let (rounds, _) = drive(&with("tuned:6/0/0/0"), [1e-5, 0.8e-5, 1e-6], &[]);
    assert!(rounds.iter().all(|cell| cell[1] >= schedule.min_rounds), "a remedy is ten times as fast: {rounds:?}");
    let (rounds, _) = drive(&with("split:2"), [1e-5, 0.8e-5, 1e-6], &[]);
    assert!(rounds.iter().all(|cell| cell[1] == schedule.rounds_per_visit), "a mock-up is: {rounds:?}");
}

#[test]
fn what_is_tested_gets_the_visits_of_its_test_although_it_is_decided() {
    let schedule = Schedule::default();
    let mut plan = plan(3, schedule);
    plan.cells.iter_mut().for_each(|cell| cell.effort = Effort::Least);
    let (rounds, _) = drive(&plan, [1e-5, 1.1e-5, 1.2e-5], &[]);
    assert!(rounds.iter().all(|cell| cell[1] == schedule.rounds_per_visit), "{rounds:?}");
    plan.cells.iter_mut().for_each(|cell| cell.least_visits = TEST_VISITS);
    let (rounds, _) = drive(&plan, [1e-5, 1.1e-5, 1.2e-5], &[]);
    assert!(rounds.iter().all(|cell| cell[1] == TEST_VISITS * schedule.rounds_per_visit), "{rounds:?}");
}

#[test]
fn slow_candidates_are_kept_for_those_who_want_all_times() {
    let schedule = Schedule { keep_slow: true, ..Schedule::default() };
    let (rounds, _) = drive(&plan(5, schedule), [1e-5, 1.1e-5, 9e-5], &[]);
    assert!(rounds.iter().flatten().all(|rounds| *rounds >= schedule.min_rounds), "{rounds:?}");
}

#[test]
fn a_spent_budget_ends_it_and_cells_have_all_visits_or_none() {
    let mut plan = plan(50, Schedule { budget: Some(Seconds(10.0)), ..Schedule::default() });
    plan.cells.iter_mut().for_each(|cell| cell.least_visits = 3);
    let (rounds, why) = drive(&plan, [0.1, 0.1, 0.1], &[]);
    let begun = rounds.iter().filter(|cell| cell[0] > 0).count();
    // A check and three visits of one round take 1.2 s.
    assert_eq!(begun, 8);
    assert!(rounds.iter().all(|cell| cell[0] == 0 || cell[0] >= 3), "{rounds:?}");
    assert_eq!(why, "budget used up; 42 of 50 sizes were not reached");
}

#[test]
fn cells_that_stand_for_many_come_first_and_long_ones_last() {
    let mut plan = plan(4, Schedule { budget: Some(Seconds(100.0)), ..Schedule::default() });
    let sizes = [(8, 4.0), (9, 1.0), (10, 4.0), (1 << 20, 4.0)];
    for (planned, (bytes, worth)) in plan.cells.iter_mut().zip(sizes) {
        (planned.cell.bytes, planned.worth) = (Bytes(bytes), worth);
    }
    let mut waves = Waves::of_launch(&plan).expect("is limited");
    let mut next = |left| {
        let wave = waves.begin(0.0, left, |_, round| round).to_vec();
        wave.iter().for_each(|cell| waves.learn(*cell, 0.3 * plan.cells[*cell].cell.bytes.0 as f64, 3));
        wave
    };
    assert_eq!(next(100.0), [0], "its time is not known");
    assert_eq!(next(15.0), [2]);
    assert_eq!(next(15.0), [1]);
    assert_eq!(next(1000.0), [0; 0], "it takes too long");
    assert_eq!(next(1e9), [3]);
}

#[test]
fn what_is_slow_on_both_sides_is_not_timed_in_between() {
    let mut plan = plan(9, Schedule { budget: Some(Seconds(1e4)), ..Schedule::default() });
    for (power, planned) in plan.cells.iter_mut().enumerate() {
        planned.cell.bytes = Bytes(1 << power);
    }
    let strides = history::strides(plan.cells.iter().map(|planned| planned.cell));
    plan.cells.iter_mut().for_each(|planned| planned.worth = strides[&planned.cell]);
    let timed = |plan: &LaunchPlan| -> Vec<bool> {
        drive(plan, [0.1, 0.11, 0.25], &[]).0.iter().map(|rounds| rounds[2] > 0).collect()
    };
    let every_4th = [true, false, false, false, true, false, false, false, true];
    assert_eq!(timed(&plan), every_4th);
    plan.schedule.keep_slow = true;
    assert_eq!(timed(&plan), [true; 9]);
    plan.schedule = Schedule { budget: None, ..Schedule::default() };
    assert_eq!(timed(&plan), [true; 9], "without a budget there is time for all");
}

#[test]
fn sizes_come_first_around_which_something_changes() {
    let mut plan = plan(9, Schedule { budget: Some(Seconds(100.0)), ..Schedule::default() });
    plan.cells.iter_mut().for_each(|planned| planned.cell.bytes = Bytes(planned.cell.bytes.0 + 1000));
    let next = |plan: &LaunchPlan, fastest: [usize; 3]| {
        let mut waves = Waves::of_launch(plan).expect("is limited");
        for (cell, fastest) in [0, 4, 8].into_iter().zip(fastest) {
            waves.learn(cell, 3.0, 3);
            waves.decide(cell, Some(fastest), &[]);
        }
        // A quarter of the time is for one of those that are left.
        let waiting = |cell: usize| if [0, 4, 8].contains(&cell) { 1e3 } else { 20.0 };
        waves.begin(0.0, 100.0, |cell, _| waiting(cell)).to_vec()
    };
    assert_eq!(next(&plan, [1, 1, 2]), [5]);
    assert_eq!(next(&plan, [2, 1, 1]), [1]);
    plan.cells[7].is_jump = true;
    assert_eq!(next(&plan, [1, 1, 1]), [5]);
}

#[test]
fn failed_candidates_are_not_timed() {
    let (rounds, _) = drive(&plan(2, Schedule::default()), [1e-5; 3], &[1]);
    assert!(rounds.iter().all(|cell| cell[1] == 0 && cell[2] > 0));
    let (rounds, _) = drive(&plan(2, Schedule::default()), [1e-5; 3], &[0]);
    assert!(rounds.iter().flatten().all(|rounds| *rounds == 0), "nothing to compare with");
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = |seed| {
        let schedule = Schedule { budget: None, ..Schedule::default() };
        let mut scheduler = Scheduler::new(&LaunchPlan { seed, ..plan(20, schedule) });
        (0..20).map(|_| scheduler.next(0.0)).collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}
