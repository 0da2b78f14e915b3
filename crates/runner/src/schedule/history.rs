//! Results of the launches so far, and the division of the next one's time.
//!
//! Properties of a launch (placement, memory, connections) are sampled once per launch, so more calls in one launch
//! cannot average them out. After each launch, decided cells get one visit in the next one, which would reveal a
//! disagreement; cells whose launches disagree get more visits; and candidates that every launch shows to be beaten are
//! no longer timed.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::{median, medians, robust_deviation};
use collrules_record::plan::{CellPlan, Plan, Schedule};
use collrules_record::question::{Group, Question};
use collrules_record::sample::{EndReason, EndedPoint, Row};
use collrules_record::{Candidate, Cell, Estimate, Seconds};

use super::cell::LEAST_VISITS;
use super::first_share;
use super::visit::LEVEL;
use crate::launch::{Effort, LaunchCell, LaunchPlan};
use crate::wire::WorkerEvent;

/// Least gain or loss that counts as decided after a single launch: in nine of ten cells launches differ by less
/// (public data of Summit, 1.22).
const ONE_LAUNCH_MARGIN: f64 = 1.2;

/// Least distance of a decision from the threshold, in deviations between launches.
const DECISIVE_DEVIATIONS: f64 = 2.0;

/// Ratio to the time of the best above which, in each of two launches or more, a candidate may be beaten ...
const BEATEN_IN_EACH: f64 = 1.25;

/// ... and is, if the distance also exceeds this many deviations between launches. By chance this happens in less than
/// one launch of 40, and it takes two.
const BEATEN_DEVIATIONS: f64 = 2.5;

/// Visits that a decision needs, by which a test among many others is significant.
pub(crate) const DECISION_VISITS: u32 = 9;

/// One of so many sizes is measured first, and one of so many communicators.
const COARSE: usize = 4;
const COARSE_RANKS: usize = 2;

/// Largest factor between equally good candidates.
const ALIKE: f64 = 1.03;

/// Measurements of a campaign so far, from which the next launch is planned.
#[derive(Clone, Debug)]
pub(crate) struct History {
    plan: Plan,
    cells: BTreeMap<Cell, CellHistory>,
    ended: BTreeSet<(Cell, Candidate)>,
    /// Those that ended because they are slow.
    slow: BTreeSet<(Cell, Candidate)>,
    /// Seconds that finished launches and the current one report.
    past: f64,
    current: f64,
    launches: u32,
    /// Standard deviation, between launches, of the logarithm of a gain; missing before the second launch.
    spread: Option<f64>,
}

/// The visits of a cell.
#[derive(Clone, Debug, Default)]
struct CellHistory {
    /// The medians of finished visits, with their launch.
    visits: Vec<(u32, BTreeMap<Candidate, f64>)>,
    /// The current visit: launch, number, calls.
    current: Option<(u32, u32, BTreeMap<Candidate, Vec<f64>>)>,
}

impl History {
    /// The history of a campaign without measurements, in which all candidates are measured together.
    pub(crate) fn new(plan: &Plan) -> Self {
        let (cells, ended, slow) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { plan: plan.clone(), cells, ended, slow, past: 0.0, current: 0.0, launches: 0, spread: None }
    }

    /// Takes in rows, in the order in which they were written: those of an event, or of an earlier part of the
    /// campaign.
    pub(crate) fn see(&mut self, rows: &[Row]) {
        for row in rows {
            match row {
                Row::Sample(sample) => {
                    let cell = self.cells.entry(sample.cell).or_default();
                    let same = |(launch, visit, _): &(u32, u32, _)| (*launch, *visit) == (sample.launch, sample.visit);
                    if !cell.current.as_ref().is_some_and(same) {
                        cell.close();
                        cell.current = Some((sample.launch, sample.visit, BTreeMap::new()));
                    }
                    if let Some((_, _, calls)) = &mut cell.current {
                        calls.entry(sample.candidate).or_default().push(sample.max.0);
                    }
                }
                Row::Ended(point) => {
                    self.ended.insert((point.cell, point.candidate));
                    if matches!(point.ended, EndReason::Dropped(_)) {
                        self.slow.insert((point.cell, point.candidate));
                    }
                }
                // No decision about spending time uses them.
                Row::Pattern(_) | Row::EndedCast(_) => {}
            }
        }
    }

    /// Records a launch that was cut short, with its seconds without a report: its time is spent, and another will continue
    /// it.
    pub(crate) fn cut(&mut self, silent: f64) {
        self.past += std::mem::take(&mut self.current) + silent;
    }

    /// Adds the seconds that launches of an earlier session report.
    pub(crate) fn charge(&mut self, seconds: f64) {
        self.past += seconds;
    }

    /// Adds the time that a launch has taken.
    pub(crate) fn watch(&mut self, event: &WorkerEvent) {
        if let WorkerEvent::Visited { at, .. } | WorkerEvent::Opened { at, .. } = event {
            self.current = *at;
        }
    }

    /// Ends a launch: closes its visits, and returns the points beaten in every launch so far, to be recorded under its
    /// number.
    pub(crate) fn close(&mut self, launch: u32) -> Vec<EndedPoint> {
        self.past += self.current;
        self.current = 0.0;
        self.launches += 1;
        self.cells.values_mut().for_each(CellHistory::close);
        self.spread = self.spread();
        let least = BEATEN_IN_EACH.ln().max(BEATEN_DEVIATIONS * self.spread.unwrap_or(f64::INFINITY));
        let mut beaten = Vec::new();
        for (cell, history) in self.cells.iter().filter(|_| !self.plan.schedule.keep_slow) {
            for (candidate, factor, launches) in history.beaten(&self.ranking(*cell), least) {
                let why =
                    format!("it takes at least {factor:.2} times as long as the best in each of {launches} launches");
                beaten.push(EndedPoint { launch, cell: *cell, candidate, ended: EndReason::Dropped(why) });
            }
        }
        self.ended.extend(beaten.iter().map(|point| (point.cell, point.candidate)));
        beaten
    }

    /// The plan of a launch that begins after `elapsed`; none if nothing is left to measure or no time remains.
    ///
    /// A launch that was cut short (`begun`) is continued in any case, for the cells that it has not visited.
    pub(crate) fn next(
        &self,
        launch: u32,
        elapsed: Seconds,
        begun: bool,
        wanted: impl Fn(Cell, Candidate) -> bool,
    ) -> Option<LaunchPlan> {
        let wanted = |cell, candidate| !self.ended.contains(&(cell, candidate)) && wanted(cell, candidate);
        let worth = strides(self.plan.cells.iter().map(|planned| planned.cell));
        let cells = self.plan.cells.iter().map(|planned| {
            let candidates = planned.candidates.iter().copied().filter(|candidate| wanted(planned.cell, *candidate));
            let effort = self.effort(planned.cell, &self.plan.schedule);
            let candidates: Vec<Candidate> = candidates.collect();
            let round = self.long_round(planned.cell, &candidates).map(Seconds);
            let least_visits = self.least_visits(planned, launch);
            let worth = worth[&planned.cell];
            let fastest = self.ranking(planned.cell).first().map(|(candidate, _)| *candidate);
            let slow = planned.candidates.iter().filter(|one| self.slow.contains(&(planned.cell, **one)));
            let slow = slow.copied().collect();
            LaunchCell { candidates, least_visits, effort, worth, fastest, slow, round, ..LaunchCell::from(planned) }
        });
        let comparable = |planned: &LaunchCell| {
            planned.candidates.first() == Some(&Candidate::Builtin) && planned.candidates.len() > 1
        };
        let cells: Vec<LaunchCell> = cells.filter(comparable).collect();
        if cells.is_empty() && self.plan.patterns.is_empty() {
            return None;
        }
        let schedule = self.schedule(launch, elapsed, begun)?;
        let plan = LaunchPlan::of_plan(&self.plan, cells, schedule, self.plan.shared(launch));
        // Orders of its own.
        let seed = plan.seed.wrapping_add(u64::from(launch) << 32);
        Some(LaunchPlan { patterns: self.plan.patterns.clone(), seed, ..plan })
    }

    /// The schedule of a launch, with its part of the remaining time.
    fn schedule(&self, launch: u32, elapsed: Seconds, begun: bool) -> Option<Schedule> {
        let Some(whole) = self.plan.budget() else { return Some(self.plan.schedule) };
        // A simulation takes no time but that of its model.
        let elapsed = elapsed.0.max(self.past);
        let startup = if self.launches > 0 {
            ((elapsed - self.past) / f64::from(self.launches)).max(0.0)
        } else {
            self.plan.schedule.startup.0
        };
        let launches = f64::from(self.plan.launches.saturating_sub(launch).max(1));
        let left = whole.0 - elapsed - startup;
        // The first launch takes place in any case: without it there is nothing to say.
        if left <= 0.0 && self.launches > 0 && !begun {
            return None;
        }
        let budget = ((left - (launches - 1.0) * startup) / launches).max(0.0);
        let limit = (!begun).then_some(Seconds(left.max(0.0)));
        Some(Schedule { budget: Some(Seconds(budget)), limit, ..self.plan.schedule })
    }

    fn effort(&self, cell: Cell, settings: &Schedule) -> Effort {
        // Where every cell gets as many rounds, nothing is decided early.
        let fixed = settings.min_rounds >= settings.max_rounds;
        let Some(history) = self.cells.get(&cell).filter(|_| !fixed) else { return Effort::Normal };
        let spare = self.spread.map_or(ONE_LAUNCH_MARGIN.ln(), |spread| {
            DECISIVE_DEVIATIONS * spread / f64::from(self.launches.max(1)).sqrt()
        });
        let threshold = settings.min_gain.ln_1p();
        let ranking = self.ranking(cell);
        // What one group decides, it decides for none of the others.
        let of = |group: Group| {
            let theirs = |other: Group| other == group || other.may_eliminate(group);
            let candidates = ranking.iter().filter(|(_, other)| theirs(*other));
            history.effort(&candidates.map(|(candidate, _)| *candidate).collect::<Vec<_>>(), threshold, spare)
        };
        let groups: BTreeSet<Group> = ranking.iter().map(|(_, group)| *group).collect();
        let racing = groups.into_iter().filter(|group| !matches!(group, Group::Default | Group::Fallback));
        racing.map(of).max().unwrap_or_else(|| of(Group::Permitted))
    }

    /// Least number of visits to a cell in this launch, so that all launches together have the number that its question
    /// needs.
    fn least_visits(&self, planned: &CellPlan, launch: u32) -> u32 {
        let made = self.cells.get(&planned.cell).map_or(0, |history| history.visits.len() as u32);
        let left = self.plan.launches.saturating_sub(launch).max(1);
        // Without a limit, precision asks for more.
        let of_decision = if self.plan.schedule.budget.is_some() { DECISION_VISITS } else { 1 };
        planned.question.least_visits().max(of_decision).saturating_sub(made).div_ceil(left).max(1)
    }

    /// Returns the time of a round of these candidates, if all were timed and it exceeds that of a first visit.
    fn long_round(&self, cell: Cell, candidates: &[Candidate]) -> Option<f64> {
        let share = first_share(&self.plan.schedule, self.plan.cells.len() + self.plan.patterns.len());
        self.cells.get(&cell)?.round(candidates).filter(|round| *round > share)
    }

    /// The candidates of a cell that have not ended, by their median over visits, fastest first.
    fn ranking(&self, cell: Cell) -> Vec<(Candidate, Group)> {
        let mut times: BTreeMap<Candidate, Vec<f64>> = BTreeMap::new();
        let visits = self.cells.get(&cell).into_iter().flat_map(|history| &history.visits);
        for (candidate, time) in visits.flat_map(|(_, medians)| medians) {
            if !self.ended.contains(&(cell, *candidate)) {
                times.entry(*candidate).or_default().push(*time);
            }
        }
        let mut ranking: Vec<(Candidate, f64)> = medians(times).collect();
        ranking.sort_by(|a, b| a.1.total_cmp(&b.1));
        let planned = self.plan.cells.iter().find(|planned| planned.cell == cell);
        let none = Question::default();
        let question = planned.map_or(&none, |planned| &planned.question);
        let group = |candidate| question.group(cell.collective, candidate);
        ranking.into_iter().map(|(candidate, _)| (candidate, group(candidate))).collect()
    }

    /// The deviation between launches, from the differences of gains in one launch and the next: robust, since most
    /// points only show how much launches differ.
    fn spread(&self) -> Option<f64> {
        let steps = self.cells.values().flat_map(|history| {
            let candidates: BTreeSet<Candidate> =
                history.visits.iter().flat_map(|(_, medians)| medians.keys().copied()).collect();
            let competitors = candidates.into_iter().filter(|candidate| *candidate != Candidate::Builtin);
            competitors.flat_map(|candidate| {
                let (_, gains) = history.compare(Candidate::Builtin, candidate);
                gains.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect::<Vec<f64>>()
            })
        });
        let mut steps: Vec<f64> = steps.collect();
        // A difference of two has twice the variance.
        robust_deviation(&mut steps).map(|step| step / std::f64::consts::SQRT_2)
    }
}

/// Number of sizes that the decision of each of these cells stands for, if nothing is known: every 4th size of a
/// collective on a communicator comes first, and the largest, then every 2nd; and every 2nd communicator, and the largest.
pub(crate) fn strides(cells: impl Iterator<Item = Cell>) -> BTreeMap<Cell, f64> {
    let mut cells: Vec<Cell> = cells.collect();
    cells.sort_unstable();
    let stride = |place: usize, count: usize, coarse: usize| match place {
        place if place.is_multiple_of(coarse) || place + 1 == count => coarse as f64,
        place if place.is_multiple_of(2) => 2.0,
        _ => 1.0,
    };
    let mut strides = BTreeMap::new();
    for of_collective in cells.chunk_by(|a, b| a.collective == b.collective) {
        let lines: Vec<&[Cell]> = of_collective.chunk_by(|a, b| a.ranks == b.ranks).collect();
        for (row, line) in lines.iter().enumerate() {
            let of_ranks = stride(row, lines.len(), COARSE_RANKS);
            let of_sizes = |place: usize| stride(place, line.len(), COARSE);
            strides.extend(line.iter().enumerate().map(|(place, cell)| (*cell, of_ranks * of_sizes(place))));
        }
    }
    strides
}

impl CellHistory {
    fn close(&mut self) {
        if let Some((launch, _, calls)) = self.current.take() {
            self.visits.push((launch, medians(calls).collect()));
        }
    }

    /// Returns the time of a call of each of these together; none if one was not timed.
    fn round(&self, candidates: &[Candidate]) -> Option<f64> {
        let time = |candidate: &Candidate| {
            let mut times: Vec<f64> =
                self.visits.iter().filter_map(|(_, medians)| medians.get(candidate)).copied().collect();
            median(&mut times)
        };
        candidates.iter().map(time).sum()
    }

    /// Compares the time of a candidate with that of another: the lower end of the interval of the median logarithm of their
    /// ratio over all visits, missing with too few visits, and the median of each launch.
    fn compare(&self, candidate: Candidate, other: Candidate) -> (Option<f64>, Vec<f64>) {
        let mut launches: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (launch, medians) in &self.visits {
            if let (Some(mine), Some(others)) = (medians.get(&candidate), medians.get(&other)) {
                launches.entry(*launch).or_default().push((mine / others).ln());
            }
        }
        let all: Vec<f64> = launches.values().flatten().copied().collect();
        let interval = Estimate::median(&all, LEVEL).filter(|_| all.len() >= LEAST_VISITS);
        let launches = launches.into_values().filter_map(|mut logs| median(&mut logs)).collect();
        (interval.and_then(|interval| interval.low), launches)
    }

    /// Candidates of a ranking that were certainly beaten in each of at least two launches, with the least factor and
    /// the number of launches. `factor` is the logarithm of the required ratio.
    fn beaten(&self, ranking: &[(Candidate, Group)], factor: f64) -> Vec<(Candidate, f64, usize)> {
        let competitors = ranking.iter().filter(|(candidate, _)| *candidate != Candidate::Builtin);
        let beaten = competitors.filter_map(|(candidate, own)| {
            let (best, _) = ranking.iter().find(|(_, group)| group.may_eliminate(*own))?;
            let (low, launches) = self.compare(*candidate, *best);
            let least = launches.iter().copied().fold(f64::INFINITY, f64::min);
            let certain = low.is_some_and(|low| low > ALIKE.ln());
            (launches.len() >= 2 && certain && least > factor).then(|| (*candidate, least.exp(), launches.len()))
        });
        beaten.collect()
    }

    /// Returns the effort for a cell with these candidates, fastest first, given the logarithm of the deciding gain and
    /// the margin around it.
    fn effort(&self, ranking: &[Candidate], threshold: f64, spare: f64) -> Effort {
        let Some(best) = ranking.first().copied() else { return Effort::Normal };
        let competitors = || ranking.iter().copied().filter(|candidate| *candidate != Candidate::Builtin);
        let decided = if best == Candidate::Builtin {
            // The gain of every candidate certainly ends below the threshold.
            competitors().all(|candidate| {
                let (low, launches) = self.compare(candidate, best);
                low.is_some_and(|low| -low < threshold - spare) && launches.iter().all(|loss| -loss < threshold)
            })
        } else {
            let (low, launches) = self.compare(Candidate::Builtin, best);
            let wins = low.is_some_and(|low| low > threshold + spare) && launches.iter().all(|gain| *gain > threshold);
            // Whoever else may be faster is so by next to nothing.
            let rivalled = |candidate: Candidate| self.compare(candidate, best).0.is_none_or(|low| low < -ALIKE.ln());
            wins && !competitors().any(|candidate| candidate != best && rivalled(candidate))
        };
        if decided {
            return Effort::Least;
        }
        let disagree = |candidate: Candidate| {
            let (_, launches) = self.compare(Candidate::Builtin, candidate);
            let wins = launches.iter().filter(|gain| **gain > threshold).count();
            wins > 0 && wins < launches.len()
        };
        if competitors().any(disagree) { Effort::More } else { Effort::Normal }
    }
}
