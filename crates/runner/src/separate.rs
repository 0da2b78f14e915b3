//! The starts of a campaign: launches in which all candidates take turns, and series of launches with one candidate each.
//!
//! Some collectives cannot be switched by `MPI_T` (`Survey::not_switchable`), and with `--launch-per-candidate` none is. Each of
//! their candidates then gets a launch of its own, under a rules file with that one rule; the builtin gets one without
//! rules. Nothing can be interleaved, so that the whole launch is the unit of replication: what is compared are launches
//! of one series, which follow each other closely, in an order that is shuffled for every series.
//!
//! Parameters of HAN hold for a whole job as well. Beside the launches of everything else, which HAN's own algorithms are
//! part of, a series has a launch for each set of them and one of HAN as it is, with which they are compared.
//!
//! A validation is made of pairs of launches, one without a rules file and one with it. Which one comes first alternates
//! from pair to pair (ABBA), so that a machine that gets slower or faster steadily favours neither.

use std::collections::BTreeSet;

use collrules_record::plan::{CellPlan, Deployment, Plan, Schedule, Separate, Skipped};
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::launch::{LaunchCell, LaunchKind, LaunchPlan};

/// The most of the time that starting launches with one candidate may take.
const STARTING_SHARE: f64 = 0.5;

/// With fewer series no test comes out significant.
pub const LEAST_SERIES: u32 = 6;

/// One start of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All candidates, except those of separate collectives.
    Together {
        /// The launch, from 0.
        launch: u32,
    },
    /// One candidate.
    Alone {
        /// The series, from 0.
        series: u32,
        /// The separate collective; none for a candidate that is apart from all others, in every cell that has it.
        collective: Option<Collective>,
        /// The candidate.
        candidate: Candidate,
    },
    /// All cells, without a rules file or under it.
    Deployed {
        /// The pair of launches, from 0.
        pair: u32,
        /// `builtin` or `rules`.
        candidate: Candidate,
    },
}

/// All starts of a campaign, in their order: launches and series take turns.
pub fn starts(plan: &Plan) -> Vec<Start> {
    if let Some(deployment) = plan.deployment.as_ref().filter(|_| plan.is_of_pairs()) {
        let last = deployment.first_pair + plan.launches;
        return (deployment.first_pair..last).flat_map(|pair| pair_of(plan.seed, pair)).collect();
    }
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
    let apart = cells_apart(plan).flat_map(|planned| &planned.candidates).filter(|candidate| candidate.is_apart());
    let mut jobs: Vec<Candidate> = apart.copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
    // A stream of its own: the scheduler uses the first.
    rng.set_stream(u64::MAX);
    let mut starts = Vec::new();
    for number in 0..launches.max(*series) {
        if number < launches {
            starts.push(Start::Together { launch: number });
        }
        if number < *series {
            points.shuffle(&mut rng);
            let alone = |(collective, candidate): &(_, _)| Start::Alone {
                series: number,
                collective: Some(*collective),
                candidate: *candidate,
            };
            starts.extend(points.iter().map(alone));
            jobs.shuffle(&mut rng);
            let apart = |candidate: &_| Start::Alone { series: number, collective: None, candidate: *candidate };
            starts.extend(jobs.iter().map(apart));
        }
    }
    starts
}

/// The two launches of a pair in their order; that of the first pair is drawn.
fn pair_of(seed: u64, pair: u32) -> [Start; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX - 1);
    let mut order = [Candidate::Builtin, Candidate::Rules];
    order.shuffle(&mut rng);
    if pair % 2 == 1 {
        order.reverse();
    }
    order.map(|candidate| Start::Deployed { pair, candidate })
}

/// The plan of a launch without a rules file or under it, in the cells where that is `wanted`; none where there is none.
pub fn deployed(
    plan: &Plan,
    pair: u32,
    candidate: Candidate,
    wanted: impl Fn(Cell, Candidate) -> bool,
) -> Option<LaunchPlan> {
    let Deployment { way, settings, .. } = plan.deployment.clone()?;
    let concerned = |planned: &&CellPlan| {
        // What failed on one side leaves nothing to compare.
        planned.candidates.iter().all(|candidate| wanted(planned.cell, *candidate))
    };
    let in_force = candidate == Candidate::Rules;
    with_one(plan, plan.schedule, candidate, concerned, LaunchKind::Deployed { way, settings, in_force })
        .map(|launch| LaunchPlan { seed: mix(plan.seed, [u64::from(pair) + 1, u64::from(in_force)]), ..launch })
}

/// A launch with one candidate in the cells that it concerns; none where there is no such cell.
fn with_one(
    plan: &Plan,
    schedule: Schedule,
    candidate: Candidate,
    concerned: impl Fn(&&CellPlan) -> bool,
    kind: LaunchKind,
) -> Option<LaunchPlan> {
    let cell = |planned: &CellPlan| LaunchCell::new(planned.cell, vec![candidate]);
    let cells: Vec<LaunchCell> = plan.cells.iter().filter(concerned).map(cell).collect();
    (!cells.is_empty()).then(|| LaunchPlan {
        cells,
        patterns: Vec::new(),
        ranks: plan.ranks,
        schedule,
        seed: plan.seed,
        kind,
        placement: plan.placement.clone(),
    })
}

/// What is measured together: the plan without what has launches of its own, and its part of the budget.
pub fn together(plan: &Plan) -> Plan {
    let apart = |planned: &&CellPlan| !plan.separate.collectives.contains(&planned.cell.collective);
    let mut cells: Vec<CellPlan> = plan.cells.iter().filter(apart).cloned().collect();
    cells.iter_mut().for_each(|planned| planned.candidates.retain(|candidate| !candidate.is_apart()));
    let schedule = Schedule { budget: budgets(plan).0, ..plan.schedule };
    Plan { cells, schedule, separate: Separate::default(), ..plan.clone() }
}

/// The plan of a launch with one candidate, in the cells where it is `wanted`; none where there is no such cell.
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
    with_one(plan, schedule_alone(plan), candidate, concerned, LaunchKind::Alone(candidate))
        .map(|launch| LaunchPlan { seed: seed(plan, series), ..launch })
}

/// How many starts with one candidate a plan has.
pub fn starts_apart(plan: &Plan) -> usize {
    starts(plan).iter().filter(|start| matches!(start, Start::Alone { .. })).count()
}

/// The time that launches with one candidate may take together, starts included; none where it is unlimited.
pub fn budget_apart(plan: &Plan) -> Option<Seconds> {
    let launch = budgets(plan).1?;
    Some(Seconds((launch.0 + plan.schedule.startup.0) * starts_apart(plan) as f64))
}

/// Takes what starting launches with one candidate takes from the time of the plan, `paid` of which had theirs taken before.
/// Where that is most of it, their collectives are left out, as long as others are left; otherwise there are fewer series,
/// which is said in a sentence.
pub fn afford(plan: &mut Plan, paid: usize) -> Option<String> {
    let (whole, startup) = (plan.budget()?, plan.schedule.startup);
    let cost = |plan: &Plan| Seconds(starts_apart(plan).saturating_sub(paid) as f64 * startup.0);
    if cost(plan).0 == 0.0 {
        return None;
    }
    let is_too_much = |plan: &Plan| cost(plan).0 > STARTING_SHARE * whole.0;
    let (wanted, series) = (starts_apart(plan), plan.separate.series);
    let starting = format!(
        "starting {wanted} launches of one candidate takes {}, and there are {} for measuring everything",
        cost(plan).rounded(),
        whole.rounded(),
    );
    let is_all = together(plan).cells.is_empty();
    let least = if is_all { 1 } else { LEAST_SERIES };
    while is_too_much(plan) && plan.separate.series > least {
        plan.separate.series -= 1;
    }
    let mut said = (plan.separate.series < series)
        .then(|| format!("{starting}: {} series of them instead of {series}", plan.separate.series));
    if is_too_much(plan) && !is_all {
        let theirs = if paid == 0 { std::mem::take(&mut plan.separate).collectives } else { BTreeSet::new() };
        leave_out(plan, &theirs, &format!("{starting}; a longer --budget has time for it"));
        said = None;
    }
    let left = (whole.0 - cost(plan).0) / f64::from(plan.launches.max(1)) - startup.0;
    plan.schedule.budget = Some(Seconds(left.max(0.0)));
    said
}

/// Leaves out collectives, and candidates that are apart.
fn leave_out(plan: &mut Plan, collectives: &BTreeSet<Collective>, why: &str) {
    let is_theirs = |planned: &CellPlan| collectives.contains(&planned.cell.collective);
    let (apart, others) = std::mem::take(&mut plan.cells).into_iter().partition(is_theirs);
    let apart: Vec<CellPlan> = apart;
    plan.cells = others;
    plan.cells.iter_mut().for_each(|planned| planned.candidates.retain(|candidate| !candidate.is_apart()));
    let skipped = |planned: CellPlan| Skipped { cell: planned.cell, why: why.to_owned() };
    plan.skipped.extend(apart.into_iter().map(skipped));
}

/// The cells of which candidates may be apart from those that take turns.
fn cells_apart(plan: &Plan) -> impl Iterator<Item = &CellPlan> {
    plan.cells.iter().filter(|planned| !plan.separate.collectives.contains(&planned.cell.collective))
}

/// Once its time is over, a launch with one candidate begins no cells any more: there are many of them.
fn schedule_alone(plan: &Plan) -> Schedule {
    let budget = budgets(plan).1;
    Schedule { budget, limit: budget.filter(|budget| budget.0 > 0.0), ..plan.schedule }
}

/// The budgets of a launch with everything, and of one with a single candidate: as much for a point of the one as of the
/// other.
fn budgets(plan: &Plan) -> (Option<Seconds>, Option<Seconds>) {
    let (mut together, mut alone): (usize, usize) = (plan.patterns.iter().map(|planned| planned.casts.len()).sum(), 0);
    for planned in &plan.cells {
        let apart = |candidate: &&Candidate| plan.is_apart(planned.cell.collective, **candidate);
        let apart = planned.candidates.iter().filter(apart).count();
        alone += apart;
        together += planned.candidates.len() - apart;
    }
    let share = together as f64 / (together + alone).max(1) as f64;
    let alone = |whole: Seconds| Seconds(whole.0 * (1.0 - share) / starts_apart(plan).max(1) as f64);
    (plan.schedule.budget.map(|launch| Seconds(launch.0 * share)), plan.budget().map(alone))
}

/// An order of its own for every series: where time is short, all of its candidates come to the same cells.
fn seed(plan: &Plan, series: u32) -> u64 {
    mix(plan.seed, [u64::from(series) + 1])
}

fn mix<const N: usize>(seed: u64, fields: [u64; N]) -> u64 {
    // The offset basis and the prime of FNV-1a, of 64 bits.
    let mix = |hash: u64, field: u64| (hash ^ field).wrapping_mul(0x0100_0000_01b3);
    fields.into_iter().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use collrules_record::Placement;
    use collrules_record::plan::{DeployWay, Deployment, Launched};
    use collrules_record::units::{Bytes, Ranks};
    use collrules_rules::Choice;

    use super::*;

    const TUNED: [Candidate; 2] = [
        Candidate::Tuned(Choice { algorithm: 1, faninout: 0, segsize: 0, max_requests: 0 }),
        Candidate::Tuned(Choice { algorithm: 2, faninout: 0, segsize: 0, max_requests: 0 }),
    ];

    /// Two cells of bcast, and two of allgatherv, of which the first has one candidate less.
    fn plan() -> Plan {
        let cell = |collective, bytes, tuned: &[Candidate]| CellPlan {
            cell: Cell { collective, ranks: Ranks(4), bytes: Bytes(bytes) },
            candidates: std::iter::once(Candidate::Builtin).chain(tuned.iter().copied()).collect(),
            shared: Vec::new(),
            left_out: Vec::new(),
            weight: None,
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
        }
    }

    #[test]
    fn every_series_has_every_candidate_once() {
        let starts = starts(&plan());
        assert_eq!(starts.len(), 2 + 3 * 3);
        let mut orders = BTreeSet::new();
        for number in 0..3 {
            let alone = |start: &Start| match start {
                Start::Alone { series, collective: Some(collective), candidate } if *series == number => {
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
    fn pairs_alternate_and_have_orders_of_their_own() {
        let settings = [(Deployment::FILE.to_owned(), "/rules".to_owned())].into();
        let deployment = Deployment { way: DeployWay::Environment, settings, first_pair: 2, launched: Launched::Pairs };
        let plan = Plan { launches: 4, deployment: Some(deployment), separate: Separate::default(), ..plan() };
        let starts = starts(&plan);
        let (pairs, sides): (Vec<u32>, Vec<Candidate>) = starts
            .iter()
            .filter_map(|start| match start {
                Start::Deployed { pair, candidate } => Some((*pair, *candidate)),
                _ => None,
            })
            .unzip();
        assert_eq!(pairs, [2, 2, 3, 3, 4, 4, 5, 5]);
        let (one, other) = (sides[0], sides[1]);
        assert_ne!(one, other);
        assert_eq!(sides, [one, other, other, one, one, other, other, one]);
        let seeds: BTreeSet<u64> = (0..9)
            .flat_map(|pair| {
                [Candidate::Builtin, Candidate::Rules].map(|side| deployed(&plan, pair, side, |_, _| true))
            })
            .map(|launch| launch.expect("all cells are wanted").seed)
            .collect();
        assert_eq!(seeds.len(), 18);
        let failed = |cell: Cell, candidate| (cell.bytes, candidate) != (Bytes(8), TUNED[0]);
        let launch = deployed(&plan, 0, Candidate::Rules, failed).expect("64 B are left");
        assert!(launch.cells.iter().all(|planned| planned.candidates == [Candidate::Rules]));
        assert_eq!(launch.cells.len(), 2);
        assert!(matches!(launch.kind, LaunchKind::Deployed { in_force: true, .. }));
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
            short.skipped[0].why.starts_with("starting 9 launches of one candidate takes 18s, and there are 14s for")
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
