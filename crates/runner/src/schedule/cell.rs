//! When a cell is precise, and which of its candidates rest or are dropped.
//!
//! The visit is the unit: rounds of one visit repeat whatever stays through it. What is kept of a visit is the median
//! of its rounds per candidate, so that memory is bounded by the number of visits.

use std::collections::BTreeSet;

use collrules_record::Candidate;
use collrules_record::Estimate;
use collrules_record::estimate::median;
use collrules_record::plan::Schedule;
use collrules_record::policy::Assumptions;
use collrules_rules::Choice;

use super::standing::Standing;
use super::visit::{LEVEL, Visit};
use crate::launch::{Effort, LaunchCell};
use crate::wire::RankTimes;

/// With fewer visits no interval of the median has its level, and the extremes of the calls stand for it.
pub(super) const LEAST_VISITS: usize = 6;

/// How many times the slowest call of the best the fastest call of a candidate has to take to be dropped on few visits.
const EARLY_FACTOR: f64 = 2.0;

/// The same on a single call, which says something only where calls take longer than any hiccup of the system.
const SINGLE_FACTOR: f64 = 4.0;

/// Calls of so many seconds are long.
const LONG_CALL: f64 = 5e-3;

/// By so many seconds a check has to be longer than the best one's to say anything: on processors that others use as well,
/// whatever goes on may keep a short call waiting for tens of milliseconds.
const HICCUP: f64 = 50e-3;

/// How many times the best one's check one of that length has to take for a candidate to be dropped.
const CHECK_FACTOR: f64 = 3.0;

/// Calls of so many seconds are so much longer than what setting up connections takes that the first one says as much as any
/// other, and so long that a budget pays for few.
pub(super) const SECONDS: f64 = 0.5;

/// Where calls take seconds, the time that is left has to pay for so many visits: six make a test, and more a sure one.
const PAID_VISITS: f64 = 10.0;

/// So many rivals of the builtin stay whatever they take.
const LEAST_RIVALS: usize = 2;

/// What certainly takes so many times the time of the best is dropped for good: between launches of one job on one
/// machine, medians differ by less in 99 of 100 cells (measured on Summit and PEAK, public data of ORNL).
const FINAL_FACTOR: f64 = 2.0;

/// What needs an assumption that is not made is dropped if it takes so many times the time of a candidate that does not, on whatever
/// evidence: the run chooses it in no case.
const NEEDLESS_FACTOR: f64 = 1.1;

/// What is known about a cell in a launch.
#[derive(Clone, Debug)]
pub(super) struct CellState {
    /// Seconds that one round of all candidates took at last.
    pub(super) round_cost: f64,
    pub(super) visits: u32,
    /// Rounds done, those without result included.
    pub(super) rounds: u32,
    pub(super) effort: Effort,
    /// Candidates still timed. They were timed in the same visits.
    pub(super) active: Vec<usize>,
    /// How many of them it takes to learn something: two to compare, or the only one that there is.
    pub(super) needed: usize,
    /// Whether earlier launches checked all candidates, so that no check has to tell what a round takes.
    pub(super) is_known: bool,
    /// Whether earlier launches showed that calls take seconds.
    pub(super) takes_seconds: bool,
    /// Whether candidates are compared, beginning with the builtin; the casts of a pattern are timed each for itself.
    pub(super) is_compared: bool,
    /// Candidates that stay whatever they take: the builtin, and what is left of it when another component is out of
    /// the way. All others are compared with them.
    references: Vec<usize>,
    standings: Vec<Standing>,
    /// Candidates that a file may ask for: only of these may all that is known be that they are slow.
    choices: Vec<usize>,
    points: Vec<PointState>,
}

/// What is known about a candidate: rank maxima in seconds.
#[derive(Clone, Debug, Default)]
struct PointState {
    /// The median of each visit.
    medians: Vec<f64>,
    /// Calls that were timed, and the check if it was long.
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
    pub(super) fn new(planned: &LaunchCell, assumptions: Assumptions) -> Self {
        let candidates = planned.candidates.len();
        let is_reference = |place: &usize| {
            let candidate = planned.candidates[*place];
            candidate.choice() == Some(Choice::BUILTIN) && !matches!(candidate, Candidate::Han(_))
        };
        let standing = |one: &Candidate| Standing::of(planned.cell.collective, *one, assumptions);
        let is_choice = |place: &usize| matches!(planned.candidates[*place], Candidate::Tuned(_) | Candidate::Han(_));
        Self {
            round_cost: planned.round.map_or(0.0, |round| round.0),
            is_known: planned.round.is_some(),
            takes_seconds: planned.round.is_some_and(|round| round.0 > SECONDS * candidates as f64),
            visits: 0,
            rounds: 0,
            effort: planned.effort,
            active: (0..candidates).collect(),
            needed: candidates.min(2),
            is_compared: true,
            references: (0..candidates).filter(is_reference).collect(),
            standings: planned.candidates.iter().map(standing).collect(),
            choices: (0..candidates).filter(is_choice).collect(),
            points: vec![PointState { fastest: f64::INFINITY, ..PointState::default() }; candidates],
        }
    }

    /// What is known about a pattern that so many casts carry out.
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
            references: Vec::new(),
            standings: vec![Standing::Any; casts],
            choices: Vec::new(),
            points: vec![PointState { fastest: f64::INFINITY, ..PointState::default() }; casts],
        }
    }

    /// Whether something can be learnt: nothing can be compared where the builtin or everything else failed.
    pub(super) fn is_worth_timing(&self) -> bool {
        (!self.is_compared || self.active.first() == Some(&0)) && self.active.len() >= self.needed
    }

    /// Takes in a visit.
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

    /// Takes in what checks took, and removes candidates that took so much longer than the best that timing their calls,
    /// which would take most of the launch, would be a waste. Only those that are `familiar`, or take seconds more, can be
    /// judged by it, and the fastest stays in any case, so that there is something to compare.
    pub(super) fn drop_hopeless(&mut self, checks: &[f64], familiar: impl Fn(usize) -> bool) -> Vec<(usize, String)> {
        let took = |place: usize| checks.get(place).copied().unwrap_or_default();
        let by_check = |a: &usize, b: &usize| took(*a).total_cmp(&took(*b));
        let stays = self.rivals().min_by(by_check);
        // How many times the best of a standing it took, where the best took so much less that this was no chance.
        let times = |place: usize, standing: Standing| {
            let best = took(self.best(standing, |other| Some(took(other)))?);
            let chance = if familiar(place) { HICCUP } else { SECONDS };
            (best > LONG_CALL && took(place) > best + chance).then(|| took(place) / best)
        };
        let longer: Vec<(usize, f64, bool)> = self
            .active
            .iter()
            .filter_map(|place| {
                let own = self.standings[*place];
                let needless = || times(*place, Standing::Any).is_some_and(|factor| factor > NEEDLESS_FACTOR);
                let factor = times(*place, own)?;
                Some((*place, factor, factor > CHECK_FACTOR || own == Standing::Assuming && needless()))
            })
            .collect();
        let mut beaten = Vec::new();
        for (place, factor, is_out) in longer {
            let is_rival = self.choices.contains(&place) && !self.references.contains(&place) && Some(place) != stays;
            if is_rival && is_out {
                beaten.push((place, format!("its check took {factor:.2} times that of the best")));
            } else {
                self.points[place].note(took(place));
            }
        }
        self.active.retain(|candidate| !beaten.iter().any(|(out, _)| out == candidate));
        beaten
    }

    /// Where calls take seconds, removes the slowest by their checks until `left` seconds pay for enough visits to what stays:
    /// a visit to each of them all would leave no time for a second one, and one shows nothing.
    pub(super) fn drop_unpaid(&mut self, checks: &[f64], left: f64) -> Vec<(usize, String)> {
        let took = |place: usize| checks.get(place).copied().unwrap_or_default();
        let mut rivals: Vec<usize> = self.rivals().filter(|place| self.choices.contains(place)).collect();
        rivals.sort_by(|a, b| took(*a).total_cmp(&took(*b)));
        let Some(best) = rivals.first().map(|place| took(*place)).filter(|best| *best > SECONDS) else {
            return Vec::new();
        };
        let others: f64 = self.active.iter().filter(|place| !rivals.contains(place)).map(|place| took(*place)).sum();
        let mut spare = left / PAID_VISITS - others;
        let mut unpaid = Vec::new();
        // The fastest of each standing come first.
        let mut seen = BTreeSet::new();
        let (first, rest): (Vec<usize>, Vec<usize>) =
            rivals.into_iter().partition(|place| seen.insert(self.standings[*place]));
        for (rank, place) in first.into_iter().chain(rest).enumerate() {
            spare -= took(place);
            if spare < 0.0 && rank >= LEAST_RIVALS {
                let factor = took(place) / best;
                let why =
                    format!("its check took {factor:.2} times that of the best, and the time pays for no more calls");
                unpaid.push((place, why));
            }
        }
        self.active.retain(|candidate| !unpaid.iter().any(|(out, _)| out == candidate));
        unpaid
    }

    /// Removes candidates that are so much slower than the best that no later launch has to ask; the builtin, which all
    /// are compared with, stays.
    pub(super) fn drop_beaten(&mut self) -> Vec<(usize, String)> {
        let medians = self.medians();
        let fastest = |standing: Standing| self.best(standing, |other| medians[other]);
        let times_the_best = |candidate: usize| {
            let (low, factor) = self.certain_ratio(candidate, fastest(self.standings[candidate])?)?;
            (low > factor).then_some(low)
        };
        let times_a_safe_one = |candidate: usize| {
            let needs_more = self.standings[candidate] == Standing::Assuming;
            let (low, _) = self.certain_ratio(candidate, fastest(Standing::Any).filter(|_| needs_more)?)?;
            (low > NEEDLESS_FACTOR).then_some(low)
        };
        let beaten: Vec<(usize, String)> = self
            .rivals()
            .filter_map(|candidate| {
                let low = times_the_best(candidate).or_else(|| times_a_safe_one(candidate))?;
                let calls = self.points[candidate].calls;
                Some((candidate, format!("at least {low:.2} times the best after {calls} calls")))
            })
            .collect();
        self.active.retain(|candidate| !beaten.iter().any(|(out, _)| out == candidate));
        beaten
    }

    /// Lets candidates rest for this launch that are certainly this many times as slow as the best.
    pub(super) fn rest(&mut self, factor: f64) {
        let medians = self.medians();
        let low = |candidate: usize| {
            let best = self.best(self.standings[candidate], |other| medians[other])?;
            self.ratio(candidate, best)?.low
        };
        let resting: Vec<usize> =
            self.rivals().filter(|candidate| low(*candidate).is_some_and(|low| low > factor.ln())).collect();
        self.active.retain(|candidate| !resting.contains(candidate));
    }

    /// Whether the cell needs no more visits in this launch.
    pub(super) fn is_finished(&self, settings: &Schedule) -> bool {
        self.rounds >= settings.max_rounds
            || self.active.len() < self.needed
            || (self.effort == Effort::Least && self.visits > 0)
            || (self.rounds >= settings.min_rounds && self.is_precise(settings.precision))
    }

    /// Whether the intervals are narrow: those of all times, or those of all gains over the builtin, which are narrower
    /// where something disturbs all candidates alike.
    fn is_precise(&self, precision: f64) -> bool {
        let time = |candidate: usize| Estimate::median(&self.points[candidate].medians, LEVEL)?.relative_half_width();
        let gain = |candidate: usize| {
            let ratio = self.ratio(candidate, 0)?;
            Some((ratio.high? - ratio.low?) / 2.0)
        };
        let narrow = |width: Option<f64>| width.is_some_and(|width| width <= precision);
        self.is_compared && self.rivals().all(|candidate| narrow(gain(candidate)))
            || self.active.iter().all(|candidate| narrow(time(*candidate)))
    }

    fn rivals(&self) -> impl Iterator<Item = usize> {
        self.active.iter().copied().filter(|candidate| !self.references.contains(candidate))
    }

    /// By candidate, the median over its visits.
    fn medians(&self) -> Vec<Option<f64>> {
        self.points.iter().map(|point| median(&mut point.medians.clone())).collect()
    }

    /// The active candidate with the smallest time of those for whose sake one of this standing may be dropped.
    fn best(&self, own: Standing, time: impl Fn(usize) -> Option<f64>) -> Option<usize> {
        let timed = self.active.iter().filter(|other| self.standings[**other].outdoes(own));
        let timed = timed.filter_map(|other| Some((*other, time(*other)?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(other, _)| other)
    }

    /// How many times the best a candidate takes at least, and how much that has to be for it to be dropped on such
    /// evidence.
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
    /// where the visits are too few.
    fn ratio(&self, candidate: usize, other: usize) -> Option<Estimate> {
        let (mine, others) = (&self.points[candidate].medians, &self.points[other].medians);
        let logs: Vec<f64> = mine.iter().zip(others).map(|(mine, other)| (mine / other).ln()).collect();
        Estimate::median(&logs, LEVEL).filter(|_| logs.len() >= LEAST_VISITS)
    }
}
