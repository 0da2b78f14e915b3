//! Progress and estimate of the remaining time, from the budget and the duration of earlier launches.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use collrules_record::plan::Schedule;
use collrules_record::question::TEST_VISITS;
use collrules_record::{Candidate, Plan, Subject};
use collrules_runner::campaign::{CampaignLaunch, Notice};
use collrules_runner::separate;
use collrules_runner::wire::WorkerEvent;

/// Share of the cells from which on their number gives the duration of the others.
const TELLING_SHARE: f64 = 0.1;

/// Data for the estimate of the remaining time.
pub(crate) struct RemainingTime {
    launches: u32,
    /// Number of the first planned launch of this plan.
    first: u32,
    /// Seconds for a launch, unless it finishes earlier.
    budget: f64,
    /// Seconds of complete launches.
    took: Vec<f64>,
    planned: u32,
    /// Time of the first event of the present launch.
    begun: Option<Instant>,
    cells: usize,
    finished: usize,
    /// Visits to each cell in all launches.
    visits: BTreeMap<Subject, u32>,
}

impl RemainingTime {
    pub(super) fn new(plan: &Plan, first: u32) -> Self {
        Self {
            launches: separate::starts(plan).len() as u32,
            first,
            budget: seconds(&plan.schedule),
            took: Vec::new(),
            planned: 0,
            begun: None,
            cells: plan.cells.len() + plan.patterns.len(),
            finished: 0,
            visits: BTreeMap::new(),
        }
    }

    pub(super) fn see(&mut self, launch: &CampaignLaunch<'_>, notice: &Notice<'_>) {
        match notice {
            Notice::Launching => {
                self.planned = launch.planned - self.first;
                self.budget = seconds(&launch.plan.schedule);
                self.cells = launch.plan.subjects();
                self.begun = None;
                self.finished = 0;
            }
            Notice::Event(event) => {
                let begun = *self.begun.get_or_insert_with(Instant::now);
                match event {
                    WorkerEvent::Visited { cell, .. } => {
                        // The first candidate is in every visit; of launches with one candidate those of the default count.
                        let first = launch.plan.cells.get(*cell).and_then(|planned| planned.candidates.first());
                        let is_default = first.is_some_and(|first| *first == Candidate::Builtin);
                        *self.visits.entry(launch.plan.subject(*cell)).or_default() += u32::from(is_default);
                    }
                    WorkerEvent::Finished { .. } => self.finished += 1,
                    WorkerEvent::Measured { .. } => self.took.push(begun.elapsed().as_secs_f64()),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// The present launch: `launch 2 of 8`.
    pub(super) fn place(&self) -> String {
        format!("launch {} of {}", self.planned + 1, self.launches)
    }

    /// Number of sizes with enough visits for a decision so far.
    pub(super) fn decidable(&self) -> usize {
        self.visits.values().filter(|visits| **visits >= TEST_VISITS).count()
    }

    fn elapsed(&self) -> f64 {
        self.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64())
    }

    /// Estimated total seconds of the present launch.
    fn whole(&self) -> f64 {
        let elapsed = self.elapsed();
        let finished = self.finished as f64 / self.cells.max(1) as f64;
        let by_cells = if finished > TELLING_SHARE { elapsed / finished } else { f64::INFINITY };
        // Time that earlier launches had no use for is not used here either.
        let longest = self.took.iter().copied().reduce(f64::max).unwrap_or(f64::INFINITY);
        by_cells.min(longest).min(self.budget).max(elapsed)
    }

    /// Estimated seconds of each further launch.
    fn each(&self) -> f64 {
        if self.took.is_empty() { self.whole() } else { self.took.iter().sum::<f64>() / self.took.len() as f64 }
    }

    /// Returns the estimated remaining time.
    pub(super) fn left(&self) -> Duration {
        let to_come = f64::from(self.launches.saturating_sub(self.planned + 1));
        Duration::try_from_secs_f64((self.whole() - self.elapsed()).max(0.0) + to_come * self.each())
            .unwrap_or(Duration::MAX)
    }

    /// The completed share of the campaign, by time.
    pub(super) fn done(&self) -> f64 {
        let spent = self.took.iter().sum::<f64>() + self.elapsed();
        let all = spent + self.left().as_secs_f64();
        if all > 0.0 { spent / all } else { 0.0 }
    }
}

/// Seconds for a launch; without a budget there is no bound.
fn seconds(schedule: &Schedule) -> f64 {
    schedule.budget.map_or(f64::INFINITY, |budget| budget.0)
}

#[cfg(test)]
mod tests {
    use collrules_record::plan::CellPlan;
    use collrules_record::units::{Bytes, Ranks, Seconds};
    use collrules_record::{Candidate, Cell};
    use collrules_rules::Collective;

    use collrules_runner::launch::{LaunchCell, LaunchPlan};

    use super::*;

    #[test]
    fn what_is_left_is_bounded_by_the_budget_and_shrinks_with_what_is_done() {
        let cell = |bytes| {
            let cell = Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) };
            CellPlan::new(cell, vec![Candidate::Builtin])
        };
        let schedule = Schedule { budget: Some(Seconds(100.0)), ..Schedule::default() };
        let plan = Plan::new((1..=4).map(cell).collect(), 2, schedule, 1);
        let mut estimate = RemainingTime::new(&plan, 0);
        let seconds = |estimate: &RemainingTime| estimate.left().as_secs_f64();
        let launch = LaunchPlan::new(plan.cells.iter().map(LaunchCell::from).collect(), schedule, 1);
        let first = CampaignLaunch { number: 0, planned: 0, plan: &launch };
        estimate.see(&first, &Notice::Launching);
        assert!((199.0..=200.0).contains(&seconds(&estimate)), "{}", seconds(&estimate));
        for cell in 0..4 {
            let rounds = Vec::new();
            estimate.see(
                &first,
                &Notice::Event(&WorkerEvent::Visited {
                    cell,
                    visit: 0,
                    candidates: Vec::new(),
                    rounds,
                    seconds: 0.0,
                    at: 0.0,
                }),
            );
            estimate.see(&first, &Notice::Event(&WorkerEvent::Finished { cell }));
        }
        estimate.see(&first, &Notice::Event(&WorkerEvent::Measured { why: String::new() }));
        assert_eq!((estimate.visits.len(), estimate.decidable(), estimate.finished), (4, 0, 4));
        let second = CampaignLaunch { number: 1, planned: 1, plan: &launch };
        estimate.see(&second, &Notice::Launching);
        assert!(estimate.done() >= 0.5);
        assert!(seconds(&estimate) <= 1.0, "launches that end early leave little time to wait");
        let (spent, left) = (estimate.took.iter().sum::<f64>() + estimate.elapsed(), seconds(&estimate));
        assert!((estimate.done() - spent / (spent + left)).abs() < 0.1, "both numbers say the same");
    }
}
