//! Violations of guidelines: calls that are faster than an equivalent call of the builtin, their severity, and
//! remedies.
//!
//! Mock-ups are judged like candidates: in the same rounds as the builtin, by visits and launches, with one correction
//! for all comparisons of the check. They are analysed separately from candidates that rules can choose.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::{Criteria, Middle};
use collrules_record::estimate::median;
use collrules_record::findings::Statistic;
use collrules_record::policy::{Assumption, Assumptions, Policy};
use collrules_record::reason::{Bar, Shortfall};
use collrules_record::{Candidate, Cell, Estimate, Placement};
use collrules_rules::Release;
use collrules_runner::grid::needed_memory;
use collrules_tuner::judging::{
    CellTimings, Competitors, Evidence, JudgedCell, JudgedPoint, PointTimings, TimingPair, candidates_under_rules,
    check_criteria, judge, log_gains, weigh, widen,
};
use collrules_tuner::{Observations, TunerError};

use super::found::{
    Change, Changed, Checked, CheckedCell, Cure, Doubt, FORMAT, FewLaunches, MockupFinding, Undecided, Violation,
    Withheld,
};

/// Terms of a check.
#[derive(Clone, Copy, Debug)]
pub struct GuidelineTerms<'a> {
    /// The release whose algorithms are remedies.
    pub release: Release,
    /// Criteria for a mock-up: `min_gain` is the tolerated slowdown.
    pub criteria: Criteria,
    /// Assumptions about programs.
    pub assumptions: Assumptions,
    /// Components that carry out the calls.
    pub placement: &'a Placement,
    /// Name of the run or table, for the reader.
    pub source: &'a str,
}

/// Judges the mock-ups of a run or a table.
pub fn check(observations: &Observations, terms: &GuidelineTerms<'_>) -> Result<Checked, TunerError> {
    let GuidelineTerms { release, criteria, assumptions, .. } = *terms;
    let statistic = observations.statistic();
    let judged = judge(observations.cells_with(Competitors::Candidates)?, statistic, release, criteria, assumptions);
    let policy = Policy { assumptions, ..Policy::default() };
    let written = candidates_under_rules(&judged, statistic, release, criteria, policy);
    let remedies = Remedies { written, cells: &judged, policy, release };
    against(observations, Competitors::Mockups, Some(&remedies), terms)
}

/// Judges the mock-ups of launches with an active rules file against the calls under it. These launches time no
/// remedies and do not record components.
pub fn check_under_rules(observations: &Observations, terms: &GuidelineTerms<'_>) -> Result<Checked, TunerError> {
    let mut checked = against(observations, Competitors::MockupsUnderRules, None, terms)?;
    checked.cells.iter_mut().for_each(|cell| cell.served_by = None);
    Ok(checked)
}

fn against(
    observations: &Observations,
    competitors: Competitors,
    remedies: Option<&Remedies<'_>>,
    terms: &GuidelineTerms<'_>,
) -> Result<Checked, TunerError> {
    let GuidelineTerms { release, criteria, assumptions, source, .. } = *terms;
    check_criteria(criteria)?;
    let statistic = observations.statistic();
    let mut timings = observations.cells_with(competitors)?;
    let has_mockup = |cell: &CellTimings| {
        cell.series.iter().any(|series| series.candidate.is_mockup())
            || cell.disqualified.iter().any(|(candidate, _)| candidate.is_mockup())
    };
    let failure = |cell: &CellTimings| Some((cell.cell, cell.failure(Candidate::Builtin)?.to_owned()));
    let default_failed: Vec<(Cell, String)> = timings.iter().filter_map(failure).collect();
    timings.retain(has_mockup);
    if timings.is_empty() && default_failed.is_empty() {
        return Err(TunerError::NoMockups);
    }
    // If all mock-ups failed, nothing was timed, and the failures are the result.
    let timed = timings.iter().any(|cell| !cell.series.is_empty());
    if timed && timings.iter().all(|cell| cell.builtin().is_none() && !cell.builtin_failed()) {
        return Err(TunerError::NoBuiltin);
    }
    let severities = severities(&timings, statistic, criteria);
    let eliminated: Vec<BTreeSet<Candidate>> = timings.iter().map(|cell| cell.dropped.clone()).collect();
    // A large gain without a test may convince `analyze` of a rule, which can be tried; a violation needs a test.
    let tested = Criteria { untested_gain: f64::INFINITY, ..criteria };
    let judged = judge(timings, statistic, release, tested, assumptions);
    let cells = judged
        .into_iter()
        .zip(severities.into_iter().zip(eliminated))
        .map(|(cell, (severity, eliminated))| checked(&cell, severity, &eliminated, remedies, terms));
    let cells: Vec<CheckedCell> = cells.collect();
    let launches = cells.iter().filter_map(|cell| Some(cell.builtin?.samples)).min();
    let comparisons = cells.iter().map(|cell| cell.mockups.len()).sum();
    let few_launches = launches.filter(|_| statistic.is_summary());
    let few_launches = few_launches.and_then(|few| FewLaunches::find(few, comparisons, criteria.error_rate));
    Ok(Checked {
        few_launches,
        format: FORMAT,
        source: source.to_owned(),
        simulated: false,
        library: None,
        command: Vec::new(),
        release,
        statistic,
        criteria,
        cells,
        default_failed,
        left_out: Vec::new(),
        skipped: Vec::new(),
        under_rules: None,
    })
}

fn checked(
    cell: &JudgedCell,
    severity: Option<Estimate>,
    eliminated: &BTreeSet<Candidate>,
    remedies: Option<&Remedies<'_>>,
    terms: &GuidelineTerms<'_>,
) -> CheckedCell {
    let GuidelineTerms { criteria, placement, .. } = *terms;
    let serving = placement.find_serving(cell.cell.collective, cell.cell.ranks);
    let mockups: Vec<MockupFinding> = cell.points.iter().filter_map(mockup_finding).collect();
    let of_mockup = |(candidate, why): &(Candidate, String)| match candidate {
        Candidate::Mockup(mockup) => Some((*mockup, why.clone())),
        _ => None,
    };
    let gain = |found: &&MockupFinding| found.gain.map_or(0.0, |gain| gain.point);
    let best = mockups.iter().filter(|found| found.violated).max_by(|a, b| gain(a).total_cmp(&gain(b)));
    // A gain below the tolerated slowdown on visits that did not select the best mock-up was luck.
    let best = best.filter(|_| severity.is_none_or(|severity| severity.point >= criteria.min_gain));
    let violation = best.map(|best| {
        let memory = needed_memory(cell.cell, best.mockup, placement.even(cell.cell.ranks));
        let worth = severity.map_or_else(|| gain(&best), |severity| 1.0 + severity.point);
        let remedy = remedies.and_then(|remedies| Some((remedies, remedies.of(cell.cell)?)));
        let cure = remedy.map_or(Cure::Unmeasured, |(remedies, remedy)| remedies.cure(remedy, worth, criteria));
        Violation { best: best.mockup, memory, cure }
    });
    CheckedCell {
        cell: cell.cell,
        builtin: cell.point(Candidate::Builtin).map(|point| point.time),
        served_by: serving.map(|serving| serving.by),
        mockups,
        failed: cell.disqualified.iter().filter_map(of_mockup).collect(),
        severity,
        undecided: if violation.is_none() { undecided(cell, eliminated) } else { None },
        violation,
    }
}

/// The mock-up with the largest gain among those that may or may not be faster by more than the tolerated slowdown. One
/// that was eliminated is slower than another mock-up or the builtin.
fn undecided(cell: &JudgedCell, eliminated: &BTreeSet<Candidate>) -> Option<Undecided> {
    let mockups = || cell.points.iter().filter(|point| point.finding.candidate.is_mockup());
    let open = mockups()
        .filter(|point| !eliminated.contains(&point.finding.candidate))
        .filter_map(|point| Some((point, doubt(point)?)));
    let gain = |point: &JudgedPoint| point.finding.gain.map_or(0.0, |gain| gain.point);
    let Some((point, why)) = open.max_by(|(a, _), (b, _)| gain(a).total_cmp(&gain(b))) else {
        let is_timed = mockups().next().is_some();
        return (!is_timed).then_some(Undecided { mockup: None, why: Doubt::NotTimed });
    };
    let mockup = match point.finding.candidate {
        Candidate::Mockup(mockup) => Some(mockup),
        _ => None,
    };
    Some(Undecided { mockup, why })
}

/// Returns the reason why it is unknown whether a mock-up is faster by more than is tolerated; nothing if it is known.
fn doubt(point: &JudgedPoint) -> Option<Doubt> {
    match point.shortfall.as_ref()? {
        Shortfall::NoGain => Some(Doubt::NotTimed),
        // Without a test the true gain may be anything.
        Shortfall::NotFaster | Shortfall::SmallGain if point.finding.p_value.is_none() => Some(Doubt::FewVisits),
        Shortfall::FewVisits | Shortfall::Doubtful => Some(Doubt::FewVisits),
        Shortfall::NotTimedInEveryLaunch => Some(Doubt::MissedLaunches),
        Shortfall::NotSignificant => Some(Doubt::NotSignificant),
        Shortfall::NotInEveryLaunch => Some(Doubt::LaunchesDisagree),
        Shortfall::Unresolved => Some(Doubt::CoarseClock),
        Shortfall::NotFaster
        | Shortfall::SmallGain
        | Shortfall::Stalls(_)
        | Shortfall::Risk(_)
        | Shortfall::Barred(_) => None,
    }
}

fn mockup_finding(point: &JudgedPoint) -> Option<MockupFinding> {
    let Candidate::Mockup(mockup) = point.finding.candidate else { return None };
    let finding = &point.finding;
    Some(MockupFinding {
        mockup,
        time: finding.time,
        gain: finding.gain,
        p_value: finding.p_value,
        q_value: finding.q_value,
        violated: point.shortfall.is_none(),
    })
}

/// Judged cells of the candidates that rules can choose, with the rules that `tune` would make from the same times.
struct Remedies<'a> {
    cells: &'a [JudgedCell],
    /// The candidate of each cell under these rules.
    written: BTreeMap<Cell, Candidate>,
    policy: Policy,
    release: Release,
}

impl Remedies<'_> {
    fn of(&self, cell: Cell) -> Option<&JudgedCell> {
        self.cells.iter().find(|remedy| remedy.cell == cell)
    }

    /// Finds a remedy: a choice with which the call is within the tolerated slowdown of a mock-up that is `worth` times
    /// as fast as the builtin. The rule that `tune` would write is preferred.
    fn cure(&self, cell: &JudgedCell, worth: f64, criteria: Criteria) -> Cure {
        let Cure::Rule { choice, gain, .. } = cure(cell, worth, criteria) else { return cure(cell, worth, criteria) };
        let written = self.written.get(&cell.cell).copied().unwrap_or(Candidate::Builtin);
        let of_written = cell.point(written).and_then(|point| point.gain).map(|gain| gain.point);
        match (written, of_written) {
            (Candidate::Tuned(choice), Some(gain)) if is_near(gain, worth, criteria) => {
                Cure::Rule { choice, gain, withheld: None }
            }
            _ => Cure::Rule { choice, gain, withheld: Some(self.why_withheld(cell.cell)) },
        }
    }

    fn why_withheld(&self, Cell { collective, ranks, .. }: Cell) -> Withheld {
        if self.policy.assumptions.one_choice(self.release, collective, ranks) {
            Withheld::OneChoice
        } else {
            Withheld::SharedRule(self.policy.max_regret)
        }
    }
}

/// Returns true if a gain is within the tolerated slowdown of `worth`.
fn is_near(gain: f64, worth: f64, criteria: Criteria) -> bool {
    worth <= gain * (1.0 + criteria.min_gain)
}

/// Like [`Remedies::cure`], from the times of one cell.
fn cure(cell: &JudgedCell, worth: f64, criteria: Criteria) -> Cure {
    let competitors = || cell.points.iter().filter(|point| point.finding.candidate != Candidate::Builtin);
    if competitors().next().is_none() {
        return Cure::Unmeasured;
    }
    let cures = |point: &&JudgedPoint| is_near(point.finding.gain.map_or(0.0, |gain| gain.point), worth, criteria);
    let gain = |point: &JudgedPoint| point.finding.gain.map_or(1.0, |gain| gain.point);
    let best = |wanted: &dyn Fn(&&JudgedPoint) -> bool| {
        competitors().filter(cures).filter(wanted).max_by(|a, b| gain(a).total_cmp(&gain(b)))
    };
    let free = best(&|point| matches!(point.finding.candidate, Candidate::Tuned(_)) && point.shortfall.is_none());
    if let Some((point, choice)) = free.and_then(|point| Some((point, point.finding.candidate.choice()?))) {
        return Cure::Rule { choice, gain: gain(point), withheld: None };
    }
    let by_han = best(&|point| matches!(point.finding.candidate, Candidate::Han(_)) && point.shortfall.is_none());
    if let Some((Candidate::Han(algorithm), gain)) = by_han.map(|point| (point.finding.candidate, gain(point))) {
        return Cure::Han { algorithm, gain };
    }
    let barred = best(&|point| matches!(point.shortfall, Some(Shortfall::Barred(_))));
    if let Some((point, choice)) = barred.and_then(|point| Some((point, point.finding.candidate.choice()?)))
        && let Some(Shortfall::Barred(bar)) = &point.shortfall
    {
        return Cure::Barred { choice, gain: gain(point), why: bar.clone(), assumption: permitting(bar) };
    }
    let component =
        best(&|point| matches!(point.finding.candidate, Candidate::Component(_)) && point.shortfall.is_none());
    match component.map(|point| (point.finding.candidate, gain(point))) {
        Some((Candidate::Component(component), gain)) => Cure::Component { component, gain },
        _ => best(&|_| true)
            .map_or(Cure::Nothing, |point| Cure::Unproven { candidate: point.finding.candidate, gain: gain(point) }),
    }
}

/// The assumption that would lift a bar.
fn permitting(bar: &Bar) -> Option<Assumption> {
    match bar {
        Bar::Lacking(assumption) => Some(*assumption),
        Bar::Hazard(hazard) => {
            let with = Assumptions { consistent_arguments: true, ..Assumptions::default() };
            with.accept(hazard).then_some(Assumption::ConsistentArguments)
        }
        Bar::Failed | Bar::Alone | Bar::Unknown(_) | Bar::Ranks(_) | Bar::Slower(_) => None,
    }
}

/// Computes the slowdown of the builtin of each cell relative to its best mock-up, as a share.
///
/// The interval: if every mock-up of the cell is within its own, widened so that this holds for all of them at once
/// (Bonferroni), then the largest gain lies between the largest lower and the largest upper end. The value: the best of
/// several is selected on every other visit and its gain estimated on the others, in both directions, since a maximum
/// is biased upwards.
fn severities(cells: &[CellTimings], statistic: Statistic, criteria: Criteria) -> Vec<Option<Estimate>> {
    let places: Vec<Cell> = cells.iter().map(|cell| cell.cell).collect();
    let together = |cell: &CellTimings| {
        let level = 1.0 - (1.0 - criteria.level) / mockups(cell).count().max(1) as f64;
        weigh(cell, statistic, Criteria { level, ..criteria })
    };
    let mut evidence: Vec<Vec<Evidence>> = cells.iter().map(together).collect();
    widen(&places, &mut evidence);
    let one = |(cell, evidence): (&CellTimings, Vec<Evidence>)| severity(cell, &evidence, statistic, criteria.level);
    cells.iter().zip(evidence).map(one).collect()
}

fn severity(cell: &CellTimings, evidence: &[Evidence], statistic: Statistic, level: f64) -> Option<Estimate> {
    let gains: Vec<Estimate> = evidence.iter().filter_map(|evidence| evidence.gain).collect();
    let largest = gains.iter().max_by(|a, b| a.point.total_cmp(&b.point))?;
    // A mock-up with too few timings for an interval sets no limit on the gain of the others.
    let low = gains.iter().filter_map(|gain| gain.low).max_by(f64::total_cmp);
    // One that was dropped early as clearly slower has no interval either, and cannot have the largest gain.
    let competitors = gains.iter().filter(|gain| gain.high.is_some() || low.is_none_or(|low| gain.point > low));
    let highs: Option<Vec<f64>> = competitors.map(|gain| gain.high).collect();
    let high = highs.and_then(|highs| highs.into_iter().max_by(f64::total_cmp));
    let point = unselected(cell, statistic).unwrap_or(largest.point);
    let share = Estimate {
        point,
        low: low.map(|low| low.min(point)),
        high: high.map(|high| high.max(point)),
        level,
        samples: largest.samples,
    };
    Some(share.map(|gain| gain - 1.0))
}

fn mockups(cell: &CellTimings) -> impl Iterator<Item = &PointTimings> {
    cell.series.iter().filter(|series| series.candidate.is_mockup())
}

/// The gain of the best mock-up on visits that did not select it; none if there are too few.
fn unselected(cell: &CellTimings, statistic: Statistic) -> Option<f64> {
    let builtin = cell.builtin()?;
    let log_gain = |series: &PointTimings, part| log_gain(builtin, series, statistic, part);
    let all: Vec<&PointTimings> = mockups(cell).collect();
    if let [only] = all[..] {
        return Some(log_gain(only, None)?.exp());
    }
    let halves = |series| Some([log_gain(series, Some(0))?, log_gain(series, Some(1))?]);
    let halves: Vec<[f64; 2]> = all.into_iter().filter_map(halves).collect();
    let selected = |by: usize| {
        let best = halves.iter().max_by(|a, b| a[by].total_cmp(&b[by]))?;
        Some(best[1 - by])
    };
    Some(f64::midpoint(selected(0)?, selected(1)?).exp())
}

/// The median log gain on every other visit, from the first or second on, or on all. Launches of a table are no pairs:
/// there it is that of the median times.
fn log_gain(builtin: &PointTimings, series: &PointTimings, statistic: Statistic, part: Option<usize>) -> Option<f64> {
    let middle = |values: Vec<f64>| {
        let (first, step) = part.map_or((0, 1), |part| (part, 2));
        median(&mut values.into_iter().skip(first).step_by(step).collect::<Vec<_>>())
    };
    if statistic.is_summary() {
        let time = |series: &PointTimings| middle(series.launch_medians().into_values().collect());
        return Some((time(builtin)? / time(series)?).ln());
    }
    let visits = log_gains(&series.pairs(builtin), Middle::Median, TimingPair::visit);
    middle(visits.into_iter().map(|(_, gain)| gain).collect())
}

/// Returns the changes between two checks: new and resolved violations, and, if a cell has a violation in both, a
/// severity whose intervals do not overlap. A violation of a cell that was not measured before is new.
pub fn changes(before: &Checked, now: &Checked) -> Vec<Changed> {
    let stays = |changed: &Changed| matches!(changed.how, Change::Stays | Change::Open);
    became(before, now).into_iter().filter(|changed| !stays(changed) && now.cell(changed.cell).is_some()).collect()
}

/// Returns the later state of every violation of a check, and the new ones.
///
/// A violation is gone if the later check has a severity below the one that it tolerates; if the later check shows
/// neither, its state is open.
pub fn became(before: &Checked, now: &Checked) -> Vec<Changed> {
    let violated = |checked: Option<&CheckedCell>| checked.is_some_and(|cell| cell.violation.is_some());
    let apart = |a: Estimate, b: Estimate| matches!((a.high, b.low), (Some(high), Some(low)) if high < low);
    let cells: BTreeSet<Cell> = before.cells.iter().chain(&now.cells).map(|checked| checked.cell).collect();
    let change = |cell: Cell| {
        let (then, today) = (before.cell(cell), now.cell(cell));
        let severity = |checked: Option<&CheckedCell>| checked.and_then(|checked| checked.severity);
        let severities = (severity(then), severity(today));
        let how = match ((violated(then), violated(today)), severities) {
            ((false, false), _) => return None,
            ((false, true), _) => Change::New,
            ((true, true), (Some(then), Some(today))) if apart(then, today) => Change::Worse,
            ((true, true), (Some(then), Some(today))) if apart(today, then) => Change::Better,
            ((true, true), _) => Change::Stays,
            ((true, false), (_, Some(today))) if today.point < now.criteria.min_gain => Change::Gone,
            ((true, false), _) => Change::Open,
        };
        Some(Changed { cell, before: severities.0, now: severities.1, how })
    };
    cells.into_iter().filter_map(change).collect()
}
