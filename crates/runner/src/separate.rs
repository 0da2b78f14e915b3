//! The starts of a campaign: launches in which all candidates take turns, and series of launches with one candidate each.
//!
//! Some collectives cannot be switched by `MPI_T` (`grid::NOT_SWITCHABLE`), and with `--launch-per-candidate` none is. Each of
//! their candidates then gets a launch of its own, under a rules file with that one rule; the builtin gets one without
//! rules. Nothing can be interleaved, so that the whole launch is the unit of replication: what is compared are launches
//! of one series, which follow each other closely, in an order that is shuffled for every series.

use collrules_record::plan::{CellPlan, Plan, Schedule, Separate};
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// One start of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All candidates, except those of separate collectives.
    Together {
        /// The launch, from 0.
        launch: u32,
    },
    /// One candidate of a separate collective.
    Alone {
        /// The series, from 0.
        series: u32,
        /// The collective.
        collective: Collective,
        /// The candidate.
        candidate: Candidate,
    },
}

impl Start {
    /// The number that its samples carry: of the launch, or of the series that it belongs to.
    pub fn number(self) -> u32 {
        match self {
            Self::Together { launch } => launch,
            Self::Alone { series, .. } => series,
        }
    }
}

/// All starts of a campaign, in their order: launches and series take turns.
pub fn starts(plan: &Plan) -> Vec<Start> {
    let Separate { collectives, series } = &plan.separate;
    let together = plan.cells.iter().any(|planned| !collectives.contains(&planned.cell.collective));
    let launches = if together { plan.launches } else { 0 };
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
            starts.push(Start::Together { launch: number });
        }
        if number < *series {
            points.shuffle(&mut rng);
            let alone = |(collective, candidate): &(_, _)| Start::Alone {
                series: number,
                collective: *collective,
                candidate: *candidate,
            };
            starts.extend(points.iter().map(alone));
        }
    }
    starts
}

/// The plan of one start, with what is `wanted` only.
pub fn plan_of(plan: &Plan, start: Start, wanted: impl Fn(Cell, Candidate) -> bool) -> Plan {
    let (together, alone) = budgets(plan);
    match start {
        Start::Together { launch } => with_budget(plan.for_launch(launch, wanted), together),
        Start::Alone { series, collective, candidate } => {
            let concerned = |planned: &&CellPlan| {
                planned.cell.collective == collective
                    && planned.candidates.contains(&candidate)
                    && wanted(planned.cell, candidate)
                    // Where the builtin failed there is nothing to compare with.
                    && wanted(planned.cell, Candidate::Builtin)
            };
            let cell =
                |planned: &CellPlan| CellPlan { cell: planned.cell, candidates: vec![candidate], shared: Vec::new() };
            let launch = Plan {
                cells: plan.cells.iter().filter(concerned).map(cell).collect(),
                ranks: plan.ranks,
                launches: 1,
                schedule: plan.schedule,
                seed: plan.seed.wrapping_add(u64::from(series) << 32),
                separate: Separate::default(),
                skipped: Vec::new(),
                under_rule: Some(candidate),
                placement: plan.placement.clone(),
            };
            with_budget(launch, alone)
        }
    }
}

/// The budgets of a launch with everything, and of one with a single candidate: as much for a point of the one as of the
/// other.
fn budgets(plan: &Plan) -> (Seconds, Seconds) {
    let (mut together, mut alone) = (0, 0);
    for planned in &plan.cells {
        let separate = plan.separate.collectives.contains(&planned.cell.collective);
        *(if separate { &mut alone } else { &mut together }) += planned.candidates.len();
    }
    let share = together as f64 / (together + alone).max(1) as f64;
    let starts = starts(plan).into_iter().filter(|start| matches!(start, Start::Alone { .. })).count();
    let left = plan.budget().0 * (1.0 - share);
    (Seconds(plan.schedule.budget.0 * share), Seconds(left / starts.max(1) as f64))
}

fn with_budget(plan: Plan, budget: Seconds) -> Plan {
    Plan { schedule: Schedule { budget, ..plan.schedule }, ..plan }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use collrules_record::Placement;
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
            schedule: Schedule { budget: Seconds(11.0), ..Schedule::default() },
            seed: 1,
            separate: Separate { collectives: BTreeSet::from([Collective::Allgatherv]), series: 3 },
            skipped: Vec::new(),
            under_rule: None,
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
                Start::Alone { series, collective, candidate } if *series == number => Some((*collective, *candidate)),
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
        let budget = |start| plan_of(&plan, start, |_, _| true).schedule.budget.0;
        // 6 of 11 points are together, in each of 2 launches; the rest is for 9 launches.
        assert!((budget(Start::Together { launch: 0 }) - 6.0).abs() < 1e-9);
        let candidate = Candidate::Builtin;
        let alone = budget(Start::Alone { series: 0, collective: Collective::Allgatherv, candidate });
        assert!((9.0 * alone - 10.0).abs() < 1e-9, "{alone}");
    }

    #[test]
    fn a_launch_of_its_own_has_its_candidate_alone() {
        let plan = plan();
        let start = |candidate| Start::Alone { series: 0, collective: Collective::Allgatherv, candidate };
        let cells = |candidate| plan_of(&plan, start(candidate), |_, _| true).cells.len();
        assert_eq!([Candidate::Builtin, TUNED[0], TUNED[1]].map(cells), [2, 2, 1]);
        let ended = |cell: Cell, candidate| (cell.bytes, candidate) != (Bytes(8), Candidate::Builtin);
        assert_eq!(plan_of(&plan, start(TUNED[0]), ended).cells.len(), 1, "nothing to compare with at 8 B");
        let together = plan_of(&plan, Start::Together { launch: 0 }, |_, _| true);
        assert!(together.cells.iter().all(|planned| planned.cell.collective == Collective::Bcast));
        assert_eq!(together.under_rule, None);
    }
}
