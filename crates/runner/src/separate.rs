//! The starts of a campaign: launches in which all candidates take turns, and series of launches with one candidate
//! each.
//!
//! Some collectives cannot be switched by `MPI_T` (`Survey::not_switchable`), and with `--launch-per-candidate` none
//! is. Each of their candidates then gets a launch of its own, with a rules file of that single rule; the builtin gets
//! one without rules. Since nothing is interleaved, the launch is the unit of replication: launches of one series,
//! which follow each other closely in random order, are compared.
//!
//! A validation is made of pairs of launches, one without a rules file and one with it. Which one comes first alternates
//! from pair to pair (ABBA), so that a machine that gets slower or faster steadily favours neither.

use std::collections::BTreeSet;

use collrules_record::obstacle::{CellObstacle, StartingCost};
use collrules_record::plan::{CellPlan, Plan, Schedule, Separate, Skipped};
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell, Launch};
use collrules_rules::Collective;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::launch::{LaunchCell, LaunchPlan};
use crate::schedule::history::strides;

/// Largest share of the time for starting launches with one candidate.
const STARTING_SHARE: f64 = 0.5;

/// Least number of series: with fewer, no test is significant.
pub const LEAST_SERIES: u32 = 6;

/// All starts of a campaign, in order: launches and series take turns.
pub fn starts(plan: &Plan) -> Vec<Launch> {
    let Separate { collectives, series } = &plan.separate;
    let together = plan.cells.iter().any(|planned| !collectives.contains(&planned.cell.collective));
    let launches = if together || !plan.patterns.is_empty() { plan.launches } else { 0 };
    let mut points: Vec<(Collective, Candidate)> = plan
        .cells
        .iter()
        .filter(|planned| collectives.contains(&planned.cell.collective))
        .flat_map(|planned| planned.candidates.iter().map(|candidate| (planned.cell.collective, *candidate)))
        .collect();
    points.sort_unstable();
    points.dedup();
    let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
    // A stream of its own: the scheduler uses the first.
    rng.set_stream(u64::MAX);
    let mut starts = Vec::new();
    for number in 0..launches.max(*series) {
        if number < launches {
            starts.push(plan.shared(number));
        }
        if number < *series {
            points.shuffle(&mut rng);
            let alone = |(collective, candidate): &(_, _)| Launch::Alone {
                series: number,
                collective: Some(*collective),
                candidate: *candidate,
            };
            starts.extend(points.iter().map(alone));
        }
    }
    starts
}

/// Returns the part of the plan that is measured together: without candidates and collectives with separate launches,
/// and with its part of the budget.
pub fn together(plan: &Plan) -> Plan {
    let apart = |planned: &&CellPlan| !plan.separate.collectives.contains(&planned.cell.collective);
    let cells: Vec<CellPlan> = plan.cells.iter().filter(apart).cloned().collect();
    let schedule = Schedule { budget: budgets(plan).0, ..plan.schedule };
    Plan { cells, schedule, separate: Separate::default(), ..plan.clone() }
}

/// The plan of a launch with one candidate, in the cells where it is `wanted`; none without such cells.
pub fn alone(
    plan: &Plan,
    series: u32,
    collective: Option<Collective>,
    candidate: Candidate,
    wanted: impl Fn(Cell, Candidate) -> bool,
) -> Option<LaunchPlan> {
    let separate = &plan.separate.collectives;
    let concerned = |planned: &&CellPlan| {
        collective.map_or(!separate.contains(&planned.cell.collective), |one| planned.cell.collective == one)
            && planned.candidates.contains(&candidate)
            && wanted(planned.cell, candidate)
            // Where the builtin failed there is nothing to compare with.
            && wanted(planned.cell, Candidate::Builtin)
    };
    let worth = strides(plan.cells.iter().map(|planned| planned.cell));
    let cell = |planned: &CellPlan| LaunchCell {
        lateness: planned.lateness,
        worth: worth[&planned.cell],
        ..LaunchCell::new(planned.cell, vec![candidate])
    };
    let cells: Vec<LaunchCell> = plan.cells.iter().filter(concerned).map(cell).collect();
    // Once its time is over, a launch with one candidate begins no cells any more: there are many of them.
    let budget = budgets(plan).1;
    let schedule = Schedule { budget, limit: budget.filter(|budget| budget.0 > 0.0), ..plan.schedule };
    // A seed for every series: if time is short, all of its candidates reach the same cells. The numbers are the offset
    // basis and the prime of FNV-1a, of 64 bits.
    let seed = (plan.seed ^ 0xcbf2_9ce4_8422_2325 ^ (u64::from(series) + 1)).wrapping_mul(0x0100_0000_01b3);
    let launch = Launch::Alone { series, collective, candidate };
    let launch = LaunchPlan { seed, ..LaunchPlan::of_plan(plan, cells, schedule, launch) };
    (!launch.cells.is_empty()).then_some(launch)
}

/// Returns the number of starts with one candidate in a plan.
pub fn starts_apart(plan: &Plan) -> usize {
    starts(plan).iter().filter(|start| matches!(start, Launch::Alone { .. })).count()
}

/// The time for all launches with one candidate, starts included; none if unlimited.
pub fn budget_apart(plan: &Plan) -> Option<Seconds> {
    let launch = budgets(plan).1?;
    Some(Seconds((launch.0 + plan.schedule.startup.0) * starts_apart(plan) as f64))
}

/// Seconds for measuring: in all launches with all candidates together, and in all launches with one; none if unlimited.
pub(crate) fn measuring(plan: &Plan) -> (Option<Seconds>, Option<Seconds>) {
    let (together, alone) = budgets(plan);
    let all = |launch: Option<Seconds>, launches: f64| launch.map(|launch| Seconds(launch.0 * launches));
    (all(together, f64::from(plan.launches)), all(alone, starts_apart(plan) as f64))
}

/// Subtracts the time for starting launches with one candidate from that of the plan, except for `paid` launches that
/// were subtracted before. If it is most of the time, their collectives are left out as long as others remain;
/// otherwise there are fewer series. Returns a sentence about it.
pub fn afford(plan: &mut Plan, paid: usize) -> Option<String> {
    let (whole, startup) = (plan.budget()?, plan.schedule.startup);
    let cost = |plan: &Plan| Seconds(starts_apart(plan).saturating_sub(paid) as f64 * startup.0);
    if cost(plan).0 == 0.0 {
        return None;
    }
    let is_too_much = |plan: &Plan| cost(plan).0 > STARTING_SHARE * whole.0;
    let (wanted, series) = (starts_apart(plan), plan.separate.series);
    let starting = StartingCost { launches: wanted, takes: cost(plan), of: whole };
    let is_all = together(plan).cells.is_empty();
    let least = if is_all { 1 } else { LEAST_SERIES };
    while is_too_much(plan) && plan.separate.series > least {
        plan.separate.series -= 1;
    }
    let mut said = (plan.separate.series < series)
        .then(|| format!("{starting}: {} series of them instead of {series}", plan.separate.series));
    if is_too_much(plan) && !is_all {
        let theirs = if paid == 0 { std::mem::take(&mut plan.separate).collectives } else { BTreeSet::new() };
        leave_out(plan, &theirs, starting);
        said = None;
    }
    let left = (whole.0 - cost(plan).0) / f64::from(plan.launches.max(1)) - startup.0;
    plan.schedule.budget = Some(Seconds(left.max(0.0)));
    said
}

/// Leaves out collectives whose launches cost too much.
fn leave_out(plan: &mut Plan, collectives: &BTreeSet<Collective>, starting: StartingCost) {
    let is_theirs = |planned: &CellPlan| collectives.contains(&planned.cell.collective);
    let (apart, others) = std::mem::take(&mut plan.cells).into_iter().partition(is_theirs);
    let apart: Vec<CellPlan> = apart;
    plan.cells = others;
    let skipped = |planned: CellPlan| Skipped { cell: planned.cell, why: CellObstacle::Starts(starting) };
    plan.skipped.extend(apart.into_iter().map(skipped));
}

/// The budgets of a launch with all candidates, and of one with a single candidate: the same for each point.
fn budgets(plan: &Plan) -> (Option<Seconds>, Option<Seconds>) {
    let (mut together, mut alone): (usize, usize) = (plan.patterns.iter().map(|planned| planned.casts.len()).sum(), 0);
    for planned in &plan.cells {
        let count = if plan.is_apart(planned.cell.collective) { &mut alone } else { &mut together };
        *count += planned.candidates.len();
    }
    let share = together as f64 / (together + alone).max(1) as f64;
    let alone = |whole: Seconds| Seconds(whole.0 * (1.0 - share) / starts_apart(plan).max(1) as f64);
    (plan.schedule.budget.map(|launch| Seconds(launch.0 * share)), plan.budget().map(alone))
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};
    use collrules_record::{Arguments, Placement};
    use collrules_rules::Choice;

    use super::*;

    const TUNED: [Candidate; 2] = [
        Candidate::Tuned(Choice { algorithm: 1, faninout: 0, segsize: 0, max_requests: 0 }),
        Candidate::Tuned(Choice { algorithm: 2, faninout: 0, segsize: 0, max_requests: 0 }),
    ];

    /// A plan: two cells of bcast, and two of allgatherv, of which the first has one candidate less.
    fn plan() -> Plan {
        let cell = |collective, bytes, tuned: &[Candidate]| CellPlan {
            candidates: std::iter::once(Candidate::Builtin).chain(tuned.iter().copied()).collect(),
            ..CellPlan::new(Cell { collective, ranks: Ranks(4), bytes: Bytes(bytes) }, Vec::new())
        };
        Plan {
            cells: vec![
                cell(Collective::Bcast, 8, &TUNED),
                cell(Collective::Bcast, 64, &TUNED),
                cell(Collective::Allgatherv, 8, &TUNED[..1]),
                cell(Collective::Allgatherv, 64, &TUNED),
            ],
            ranks: Ranks(4),
            launches: 2,
            schedule: Schedule { budget: Some(Seconds(11.0)), ..Schedule::default() },
            seed: 1,
            patterns: Vec::new(),
            separate: Separate { collectives: BTreeSet::from([Collective::Allgatherv]), series: 3 },
            skipped: Vec::new(),
            deployment: None,
            placement: Placement::default(),
            arguments: Arguments::default(),
            arrivals: Vec::new(),
        }
    }

    #[test]
    fn every_series_has_every_candidate_once() {
        let starts = starts(&plan());
        assert_eq!(starts.len(), 2 + 3 * 3);
        let mut orders = BTreeSet::new();
        for number in 0..3 {
            let alone = |start: &Launch| match start {
                Launch::Alone { series, collective: Some(collective), candidate } if *series == number => {
                    Some((*collective, *candidate))
                }
                _ => None,
            };
            let order: Vec<_> = starts.iter().filter_map(alone).collect();
            assert_eq!(BTreeSet::from_iter(&order).len(), 3);
            orders.insert(order);
        }
        assert!(orders.len() > 1, "the order is shuffled");
    }

    #[test]
    fn the_budget_is_shared_by_points() {
        let plan = plan();
        let budget = |schedule: Schedule| schedule.budget.expect("there is one").0;
        // 6 of 11 points are together, in each of 2 launches; the rest is for 9 launches.
        assert!((budget(together(&plan).schedule) - 6.0).abs() < 1e-9);
        let alone = alone(&plan, 0, Some(Collective::Allgatherv), Candidate::Builtin, |_, _| true);
        let alone = alone.map(|launch| budget(launch.schedule));
        assert!(alone.is_some_and(|alone| (9.0 * alone - 10.0).abs() < 1e-9), "{alone:?}");
    }

    #[test]
    fn starts_are_a_part_of_the_budget() {
        let with = |startup, budget| {
            let schedule = Schedule { startup: Seconds(startup), budget: Some(Seconds(budget)), ..Schedule::default() };
            Plan { schedule, ..plan() }
        };
        // 2 launches of everything, and 9 of one candidate.
        let mut paid = with(1.0, 11.0);
        assert_eq!(afford(&mut paid, 0), None);
        assert_eq!(paid.schedule.budget, Some(Seconds(6.5)), "24 are 2 + 9 starts, and 13 for measuring");
        let apart = budget_apart(&paid).expect("is limited").0;
        assert!((apart - (9.0 + 15.0 * 5.0 / 11.0)).abs() < 1e-9, "{apart}");
        assert!(paid.skipped.is_empty() && paid.separate == plan().separate);
        let before = paid.clone();
        afford(&mut paid, 9);
        assert_eq!(paid, before, "nobody pays twice");

        let mut short = with(2.0, 5.0);
        assert_eq!(afford(&mut short, 0), None);
        assert!(short.cells.iter().all(|planned| planned.cell.collective == Collective::Bcast));
        assert_eq!((short.skipped.len(), short.separate.is_empty()), (2, true));
        assert!(
            short.skipped[0]
                .why
                .to_string()
                .starts_with("starting 9 launches of one algorithm each takes 18 s, of 14 s for")
        );
        assert_eq!(short.schedule.budget, Some(Seconds(5.0)), "all of it is for the others");

        let mut alone = with(2.0, 5.0);
        alone.cells.retain(|planned| planned.cell.collective == Collective::Allgatherv);
        let said = afford(&mut alone, 0).expect("is said");
        assert!(said.ends_with(": 1 series of them instead of 3"), "{said}");
        assert_eq!(alone.cells.len(), 2);
    }

    #[test]
    fn a_launch_of_its_own_has_its_candidate_alone() {
        let plan = plan();
        let cells = |candidate| {
            alone(&plan, 0, Some(Collective::Allgatherv), candidate, |_, _| true).map_or(0, |plan| plan.cells.len())
        };
        assert_eq!([Candidate::Builtin, TUNED[0], TUNED[1]].map(cells), [2, 2, 1]);
        let ended = |cell: Cell, candidate| (cell.bytes, candidate) != (Bytes(8), Candidate::Builtin);
        let first = alone(&plan, 0, Some(Collective::Allgatherv), TUNED[0], ended).expect("64 B are left");
        assert_eq!(first.cells.len(), 1, "nothing to compare with at 8 B");
        assert_eq!(alone(&plan, 0, Some(Collective::Allgatherv), TUNED[0], |_, _| false), None);
        let together = together(&plan);
        assert!(together.cells.iter().all(|planned| planned.cell.collective == Collective::Bcast));
    }
}
