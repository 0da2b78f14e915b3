//! State of a cell: its precision, and which of its candidates rest or are dropped.
//!
//! The visit is the unit of replication, since rounds of one visit share its disturbances. Only the median of its
//! rounds per candidate is kept, so memory is bounded by the number of visits.

use std::collections::BTreeSet;

use collrules_record::Candidate;
use collrules_record::Estimate;
use collrules_record::estimate::median;
use collrules_record::plan::Schedule;
use collrules_record::question::{Group, TEST_VISITS};

use super::visit::{LEVEL, Visit};
use crate::launch::{Effort, LaunchCell};
use crate::wire::RankTimes;

/// Least number of visits for an interval; with fewer, the extremes of the calls are used instead.
pub(super) const LEAST_VISITS: usize = TEST_VISITS as usize;

/// Ratio of a candidate's fastest call to the best one's slowest call above which it is dropped on few visits.
const EARLY_FACTOR: f64 = 2.0;

/// Like [`EARLY_FACTOR`], for a single call, which counts only if calls take longer than any hiccup of the system.
const SINGLE_FACTOR: f64 = 4.0;

/// Least duration of long calls, in seconds.
const LONG_CALL: f64 = 5e-3;

/// Least difference between a check and the best one that counts, in seconds: on shared processors, a short call may
/// wait for tens of milliseconds.
const HICCUP: f64 = 50e-3;

/// Ratio of a check to the best one of the group above which a candidate is dropped, if it is longer by more than
/// chance ([`HICCUP`], or [`SECONDS`] if connections were not set up before).
const CHECK_FACTOR: f64 = 3.0;

/// Duration, in seconds, above which connection set-up is negligible, so the first call is a valid sample, and above
/// which a budget pays for few calls.
pub(super) const SECONDS: f64 = 0.5;

/// Number of visits that the remaining time has to allow if calls take seconds: a test needs six, and is surer with
/// more.
const PAID_VISITS: f64 = 10.0;

/// Number of the builtin's competitors that stay in any case.
const LEAST_RIVALS: usize = 2;

/// Certain ratio to the time of the best above which a candidate is dropped for good: between launches on one machine,
/// medians differ by less in 99 of 100 cells (measured on Summit and PEAK, public data of ORNL).
const FINAL_FACTOR: f64 = 2.0;

/// Ratio to the time of a permitted candidate above which one that needs an assumption is dropped, on any evidence: the
/// run never chooses it.
const NEEDLESS_FACTOR: f64 = 1.1;

/// State of a cell in a launch.
#[derive(Clone, Debug)]
pub(super) struct CellState {
    /// Seconds of the last round of all candidates.
    pub(super) round_cost: f64,
    pub(super) visits: u32,
    /// Number of rounds, including those without a result.
    pub(super) rounds: u32,
    pub(super) effort: Effort,
    /// Candidates that are still timed, all in the same visits.
    pub(super) active: Vec<usize>,
    /// Number of them that is needed: two to compare, or the only one.
    pub(super) needed: usize,
    /// True if earlier launches checked all candidates, so no check is needed to estimate a round.
    pub(super) is_known: bool,
    /// True if earlier launches showed that calls take seconds.
    pub(super) takes_seconds: bool,
    /// True if candidates are compared, beginning with the builtin; the casts of a pattern are not compared.
    pub(super) is_compared: bool,
    /// The group in which each candidate races.
    groups: Vec<Group>,
    /// Number of visits before precision can end the cell.
    pub(super) least_visits: u32,
    /// Candidates that a file may choose; only these may be dropped merely for being slow.
    choices: Vec<usize>,
    /// Candidates that are slow at neighbouring sizes.
    slow_around: Vec<usize>,
    points: Vec<PointState>,
}

/// State of a candidate: rank maxima in seconds.
#[derive(Clone, Debug, Default)]
struct PointState {
    /// The median of each visit.
    medians: Vec<f64>,
    /// Number of timed calls, with the check if it was long.
    calls: usize,
    fastest: f64,
    slowest: f64,
}

impl PointState {
    fn note(&mut self, call: f64) {
        self.calls += 1;
        self.fastest = self.fastest.min(call);
        self.slowest = self.slowest.max(call);
    }
}

impl CellState {
    pub(super) fn new(planned: &LaunchCell) -> Self {
        let candidates = planned.candidates.len();
        let group = |one: &Candidate| planned.question.group(planned.cell.collective, *one);
        let is_choice = |place: &usize| matches!(planned.candidates[*place], Candidate::Tuned(_) | Candidate::Han(_));
        Self {
            round_cost: planned.round.map_or(0.0, |round| round.0),
            is_known: planned.round.is_some(),
            takes_seconds: planned.round.is_some_and(|round| round.0 > SECONDS * candidates as f64),
            effort: planned.effort,
            needed: candidates.min(2),
            is_compared: true,
            groups: planned.candidates.iter().map(group).collect(),
            least_visits: planned.least_visits,
            choices: (0..candidates).filter(is_choice).collect(),
            ..Self::of_casts(candidates)
        }
    }

    /// Returns the state of a pattern with this many casts.
    pub(super) fn of_casts(casts: usize) -> Self {
        Self {
            round_cost: 0.0,
            is_known: false,
            takes_seconds: false,
            visits: 0,
            rounds: 0,
            effort: Effort::Normal,
            active: (0..casts).collect(),
            needed: 1,
            is_compared: false,
            groups: vec![Group::Permitted; casts],
            least_visits: 1,
            choices: Vec::new(),
            slow_around: Vec::new(),
            points: vec![PointState { fastest: f64::INFINITY, ..PointState::default() }; casts],
        }
    }

    /// Returns true if timing is useful: nothing can be compared if the builtin or everything else failed.
    pub(super) fn is_worth_timing(&self) -> bool {
        (!self.is_compared || self.active.first() == Some(&0)) && self.active.len() >= self.needed
    }

    /// Returns true if it has the visits that a decision needs from this launch.
    pub(super) fn has_least_visits(&self) -> bool {
        self.visits >= self.least_visits
    }

    /// Adds a visit.
    pub(super) fn note(&mut self, visit: &Visit, rounds: &[Vec<RankTimes>]) {
        self.visits += 1;
        // Rounds that were planned and gave no result count too: nothing may go on forever.
        self.rounds += visit.rounds.max(rounds.len() as u32).max(1);
        for (place, candidate) in visit.candidates.iter().enumerate() {
            let mut times: Vec<f64> = rounds.iter().map(|round| round[place][0]).collect();
            let point = &mut self.points[*candidate];
            times.iter().for_each(|time| point.note(*time));
            point.medians.extend(median(&mut times));
        }
    }

    /// Adds the durations of checks, and removes candidates whose checks took much longer than the best, since timing
    /// them would take most of the launch. Only candidates that are `familiar`, or take seconds longer, are judged in
    /// this way. The fastest one always stays, so that there is something to compare.
    pub(super) fn drop_hopeless(&mut self, checks: &[f64], familiar: impl Fn(usize) -> bool) -> Vec<(usize, String)> {
        let took = |place: usize| checks.get(place).copied().unwrap_or_default();
        let by_check = |a: &usize, b: &usize| took(*a).total_cmp(&took(*b));
        let stays = self.competitors().min_by(by_check);
        // How many times the leader of a group it took, where the leader took so much less that this was no chance.
        let times = |place: usize, group: Group| {
            let best = took(self.leader(group, |other| Some(took(other)))?);
            let chance = if familiar(place) { HICCUP } else { SECONDS };
            (best > LONG_CALL && took(place) > best + chance).then(|| took(place) / best)
        };
        let longer: Vec<(usize, f64, bool)> = self
            .active
            .iter()
            .filter_map(|place| {
                let own = if *place == 0 { Group::Permitted } else { self.groups[*place] };
                let needless = || times(*place, Group::Permitted).is_some_and(|factor| factor > NEEDLESS_FACTOR);
                let factor = times(*place, own)?;
                Some((*place, factor, factor > CHECK_FACTOR || own == Group::NeedsAssumption && needless()))
            })
            .collect();
        let mut beaten = Vec::new();
        for (place, factor, is_out) in longer {
            let is_rival = self.choices.contains(&place) && Some(place) != stays;
            if is_rival && is_out {
                beaten.push((place, format!("its check took {factor:.2} times as long as that of the best")));
            } else {
                self.points[place].note(took(place));
            }
        }
        self.remove(beaten)
    }

    /// If calls take seconds, removes the slowest by their checks until `left` seconds allow enough visits to the rest:
    /// a visit to all of them would leave no time for a second one, and one visit shows nothing.
    pub(super) fn drop_unpaid(&mut self, checks: &[f64], left: f64) -> Vec<(usize, String)> {
        let took = |place: usize| checks.get(place).copied().unwrap_or_default();
        let mut competitors: Vec<usize> = self.competitors().filter(|place| self.choices.contains(place)).collect();
        competitors.sort_by(|a, b| took(*a).total_cmp(&took(*b)));
        let Some(best) = competitors.first().map(|place| took(*place)).filter(|best| *best > SECONDS) else {
            return Vec::new();
        };
        let others: f64 =
            self.active.iter().filter(|place| !competitors.contains(place)).map(|place| took(*place)).sum();
        let mut spare = left / PAID_VISITS - others;
        let mut unpaid = Vec::new();
        // The fastest of each group come first.
        let mut seen = BTreeSet::new();
        let (first, rest): (Vec<usize>, Vec<usize>) =
            competitors.into_iter().partition(|place| seen.insert(self.groups[*place]));
        for (rank, place) in first.into_iter().chain(rest).enumerate() {
            spare -= took(place);
            if spare < 0.0 && rank >= LEAST_RIVALS {
                let factor = took(place) / best;
                let why = format!(
                    "its check took {factor:.2} times as long as that of the best, and there is no time for more calls"
                );
                unpaid.push((place, why));
            }
        }
        self.remove(unpaid)
    }

    /// Removes candidates that are slow at neighbouring sizes, by place, with these sizes in words; but not the one with the
    /// shortest check, so that there is something to compare.
    pub(super) fn drop_slow_around(&mut self, slow: Vec<(usize, String)>, checks: &[f64]) -> Vec<(usize, String)> {
        let took = |place: &usize| checks.get(*place).copied().unwrap_or_default();
        let stays = self.competitors().min_by(|a, b| took(a).total_cmp(&took(b)));
        let is_out =
            |place: &usize| self.active.contains(place) && self.choices.contains(place) && Some(*place) != stays;
        let out = slow.into_iter().filter(|(place, _)| is_out(place));
        let why = |around| format!("it takes more than {FINAL_FACTOR} times as long as the best {around}");
        let out: Vec<(usize, String)> = out.map(|(place, around)| (place, why(around))).collect();
        self.slow_around = out.iter().map(|(place, _)| *place).collect();
        self.remove(out)
    }

    /// The fastest candidate.
    pub(super) fn fastest(&self) -> Option<usize> {
        let medians = self.medians();
        let timed = self.active.iter().filter_map(|place| Some((*place, medians[*place]?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
    }

    /// Choices that take [`FINAL_FACTOR`] times as long as the leader of their group, here or around.
    pub(super) fn list_slow(&self) -> Vec<usize> {
        let medians = self.medians();
        let is_slow = |place: &usize| {
            let best = self.leader(self.groups[*place], |other| medians[other]).and_then(|best| medians[best]);
            medians[*place].zip(best).is_some_and(|(own, best)| own > FINAL_FACTOR * best)
        };
        let here = self.choices.iter().copied().filter(is_slow);
        here.chain(self.slow_around.iter().copied()).collect()
    }

    /// Removes candidates that are so much slower than the leader of their group that later launches need not time
    /// them; the builtin stays.
    pub(super) fn drop_beaten(&mut self) -> Vec<(usize, String)> {
        let medians = self.medians();
        let fastest = |group: Group| self.leader(group, |other| medians[other]);
        let times_the_best = |candidate: usize| {
            let (low, factor) = self.certain_ratio(candidate, fastest(self.groups[candidate])?)?;
            (low > factor).then_some(low)
        };
        let times_a_safe_one = |candidate: usize| {
            let needs_more = self.groups[candidate] == Group::NeedsAssumption;
            let (low, _) = self.certain_ratio(candidate, fastest(Group::Permitted).filter(|_| needs_more)?)?;
            (low > NEEDLESS_FACTOR).then_some(low)
        };
        let beaten: Vec<(usize, String)> = self
            .competitors()
            .filter_map(|candidate| {
                let low = times_the_best(candidate).or_else(|| times_a_safe_one(candidate))?;
                let calls = self.points[candidate].calls;
                Some((candidate, format!("it takes at least {low:.2} times as long as the best, after {calls} calls")))
            })
            .collect();
        self.remove(beaten)
    }

    /// Removes candidates, and returns them with the reasons.
    fn remove(&mut self, out: Vec<(usize, String)>) -> Vec<(usize, String)> {
        self.active.retain(|candidate| !out.iter().any(|(out, _)| out == candidate));
        out
    }

    /// Lets candidates rest for this launch if they are certainly slower than the leader of their group by this factor.
    pub(super) fn rest(&mut self, factor: f64) {
        let medians = self.medians();
        let low = |candidate: usize| {
            let best = self.leader(self.groups[candidate], |other| medians[other])?;
            self.ratio(candidate, best)?.low
        };
        let resting: Vec<usize> =
            self.competitors().filter(|candidate| low(*candidate).is_some_and(|low| low > factor.ln())).collect();
        self.active.retain(|candidate| !resting.contains(candidate));
    }

    /// Returns true if the cell needs no more visits in this launch.
    pub(super) fn is_finished(&self, settings: &Schedule) -> bool {
        let is_enough = (self.effort == Effort::Least && self.visits > 0)
            || (self.rounds >= settings.min_rounds && self.is_precise(settings.precision));
        self.rounds >= settings.max_rounds || self.active.len() < self.needed || (is_enough && self.has_least_visits())
    }

    /// Returns true if all intervals of times, or all of gains over the builtin, are narrow. Those of gains are
    /// narrower if a disturbance affects all candidates alike.
    fn is_precise(&self, precision: f64) -> bool {
        let time = |candidate: usize| Estimate::median(&self.points[candidate].medians, LEVEL)?.relative_half_width();
        let gain = |candidate: usize| {
            let ratio = self.ratio(candidate, 0)?;
            Some((ratio.high? - ratio.low?) / 2.0)
        };
        let narrow = |width: Option<f64>| width.is_some_and(|width| width <= precision);
        self.is_compared && self.competitors().all(|candidate| narrow(gain(candidate)))
            || self.active.iter().all(|candidate| narrow(time(*candidate)))
    }

    fn competitors(&self) -> impl Iterator<Item = usize> {
        let stays = |candidate: &usize| matches!(self.groups[*candidate], Group::Default | Group::Fallback);
        self.active.iter().copied().filter(move |candidate| !stays(candidate))
    }

    /// For each candidate, the median over its visits.
    fn medians(&self) -> Vec<Option<f64>> {
        self.points.iter().map(|point| median(&mut point.medians.clone())).collect()
    }

    /// The fastest active candidate of those that may eliminate one of this group.
    fn leader(&self, group: Group, time: impl Fn(usize) -> Option<f64>) -> Option<usize> {
        let timed = self.active.iter().filter(|other| self.groups[**other].may_eliminate(group));
        let timed = timed.filter_map(|other| Some((*other, time(*other)?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(other, _)| other)
    }

    /// Returns the certain ratio of a candidate to the best, and the ratio above which it is dropped on such evidence.
    fn certain_ratio(&self, candidate: usize, best: usize) -> Option<(f64, f64)> {
        if let Some(low) = self.ratio(candidate, best).and_then(|ratio| ratio.low) {
            return Some((low.exp(), FINAL_FACTOR));
        }
        let (point, best) = (&self.points[candidate], &self.points[best]);
        let factor = match point.calls {
            0 => return None,
            1 if point.fastest <= LONG_CALL => return None,
            1 => SINGLE_FACTOR,
            _ => EARLY_FACTOR,
        };
        Some((point.fastest / best.slowest, factor))
    }

    /// The median over visits of the logarithm of a candidate's time over another's; the interval's ends are missing
    /// with too few visits.
    fn ratio(&self, candidate: usize, other: usize) -> Option<Estimate> {
        let (mine, others) = (&self.points[candidate].medians, &self.points[other].medians);
        let logs: Vec<f64> = mine.iter().zip(others).map(|(mine, other)| (mine / other).ln()).collect();
        Estimate::median(&logs, LEVEL).filter(|_| logs.len() >= LEAST_VISITS)
    }
}
