//! Pace of pairs of launches: they share the time until an end, and stop if it runs out.

use std::time::{Duration, Instant};

use collrules_record::Plan;
use collrules_record::plan::Schedule;
use collrules_record::units::Seconds;

use crate::validation::LEAST_PAIRS;

/// The time of a plan's pairs.
pub(super) struct Pace {
    until: Option<Instant>,
    /// The least number of launches; fewer give no result.
    least: u32,
    longest: Duration,
}

impl Pace {
    /// The pace of a plan's pairs until an end. Pairs of a first plan are compared among themselves; later ones add to
    /// them.
    pub(super) fn new(plan: &Plan, until: Option<Instant>) -> Self {
        let adds = plan.first_pair().is_some_and(|first| first > 0);
        let until = until.filter(|_| plan.is_of_pairs());
        Self { until, least: if adds { 0 } else { 2 * LEAST_PAIRS }, longest: Duration::ZERO }
    }

    /// Gives a launch its part of the remaining time; false if another pair would take too long.
    pub(super) fn grant(&self, launch: u32, schedule: &mut Schedule) -> bool {
        let Some(until) = self.until else { return true };
        let left = until.saturating_duration_since(Instant::now());
        if launch >= self.least && launch.is_multiple_of(2) && left < 2 * self.longest {
            return false;
        }
        // Those that have to be made, or the rest of this pair.
        let to_come = if launch < self.least { self.least - launch } else { 2 - launch % 2 };
        let part = (left.as_secs_f64() / f64::from(to_come) - schedule.startup.0).max(0.0);
        let at_most = |time: Option<Seconds>| time.map_or(part, |time| time.0.min(part));
        (schedule.budget, schedule.limit) =
            (Some(Seconds(at_most(schedule.budget))), Some(Seconds(at_most(schedule.limit))));
        true
    }

    /// Records the duration of a launch, its start included.
    pub(super) fn took(&mut self, time: Duration) {
        self.longest = self.longest.max(time);
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::plan::{DeployedLaunches, Deployment};

    use super::*;

    fn plan(first: u32) -> Plan {
        let launches = DeployedLaunches::Paired { first };
        let deployment = Deployment { way: Default::default(), settings: Default::default(), launches };
        Plan { deployment: Some(deployment), ..Plan::new(Vec::new(), 4, Schedule::default(), 1) }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn pairs_share_what_is_left_and_end_in_time() {
        let begins =
            Schedule { budget: Some(Seconds(30.0)), limit: None, startup: Seconds(1.0), ..Schedule::default() };
        let until = |left| Some(Instant::now() + seconds(left));
        let granted = |pace: &Pace, launch| {
            let mut schedule = begins;
            pace.grant(launch, &mut schedule)
                .then(|| (schedule.budget.map(|it| it.0.round()), schedule.limit.map(|it| it.0.round())))
        };
        let mut pace = Pace::new(&plan(0), until(40));
        assert_eq!(granted(&pace, 0), Some((Some(9.0), Some(9.0))), "a fourth of 40 seconds without its start");
        assert_eq!(granted(&pace, 3), Some((Some(30.0), Some(39.0))), "the last that has to be made");
        pace.took(seconds(21));
        assert_eq!(granted(&pace, 4), None, "another pair takes 42 seconds");
        assert!(granted(&pace, 5).is_some(), "a pair that was begun is made whole");
        let late = Pace::new(&plan(0), until(0));
        assert_eq!(granted(&late, 1), Some((Some(0.0), Some(0.0))));
        let further = Pace::new(&plan(4), until(40));
        assert_eq!(granted(&further, 0), Some((Some(19.0), Some(19.0))), "half of a pair");
        let free = Pace::new(&plan(0), None);
        assert_eq!(granted(&free, 0), Some((Some(30.0), None)));
        let tuning = Pace::new(&Plan::new(Vec::new(), 4, Schedule::default(), 1), until(0));
        assert_eq!(granted(&tuning, 9), Some((Some(30.0), None)), "no pairs");
    }
}
