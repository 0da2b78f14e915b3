//! Violations of guidelines: calls that are faster than an equivalent call of the builtin, their severity, and
//! remedies.
//!
//! Mock-ups are judged like candidates: in the same rounds as the builtin, by visits and launches, with one correction
//! for all cases of the check. They are analysed separately from candidates that rules can choose.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::Criteria;
use collrules_record::estimate::median;
use collrules_record::findings::{PointFinding, Statistic};
use collrules_record::policy::{Assumption, Assumptions, Policy};
use collrules_record::reason::{Bar, Shortfall};
use collrules_record::{Candidate, Cell, Estimate, Mockup, Placement};
use collrules_rules::Release;
use collrules_runner::grid::needed_memory;
use collrules_tuner::judging::{
    CellTimings, Competitors, JudgedCell, JudgedPoint, PointTimings, adjust, adjust_cases, candidates_under_rules,
    check_criteria, judge, weigh, widen,
};
use collrules_tuner::{Observations, TunerError};

use super::found::{
    Change, Changed, Checked, CheckedCell, Cure, Doubt, FORMAT, FewLaunches, MockupFinding, Undecided, Violation,
    Withheld, exceeds,
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
    let cells = observations.cells_with(Competitors::Candidates);
    let adjusted = |p_values: &[Vec<_>]| adjust(p_values.concat());
    let judged = judge(cells, statistic, release, criteria, assumptions, adjusted);
    let policy = Policy { assumptions, ..Policy::default() };
    let written = candidates_under_rules(&judged, statistic, release, criteria, policy);
    let remedies = Remedies { written, cells: &judged, policy, release };
    against(observations, Competitors::Mockups, Some(&remedies), terms)
}

/// Judges the mock-ups of launches with an active rules file against the calls under it. These launches time no
/// remedies and do not record components.
pub fn check_under_rules(observations: &Observations, terms: &GuidelineTerms<'_>) -> Result<Checked, TunerError> {
    let mut checked = against(observations, Competitors::MockupsUnderRules, None, terms)?;
    checked.cells.iter_mut().for_each(|cell| cell.run_by = None);
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
    let mut timings = observations.cells_with(competitors);
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
    // The share of wrong cells is limited, not that of wrong mock-ups.
    let adjusted = |p_values: &[Vec<_>]| adjust_cases(p_values).concat();
    let judged = judge(timings, statistic, release, tested, assumptions, adjusted);
    let cells = judged
        .into_iter()
        .zip(severities.into_iter().zip(eliminated))
        .map(|(cell, (severities, eliminated))| checked(&cell, &severities, &eliminated, remedies, terms));
    let cells: Vec<CheckedCell> = cells.collect();
    let launches = cells.iter().filter_map(|cell| Some(cell.builtin?.samples)).min();
    let few_launches = launches.filter(|_| statistic.is_summary());
    let few_launches = few_launches.and_then(FewLaunches::find);
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
    severities: &Severities,
    eliminated: &BTreeSet<Candidate>,
    remedies: Option<&Remedies<'_>>,
    terms: &GuidelineTerms<'_>,
) -> CheckedCell {
    let GuidelineTerms { criteria, placement, .. } = *terms;
    let running = placement.find_running(cell.cell.collective, cell.cell.ranks);
    let severity = |mockup: Mockup| severities.get(&mockup).copied();
    let is_beyond = |mockup| severity(mockup).is_some_and(|it| exceeds(it, criteria.min_gain));
    let finding = |point: &JudgedPoint| {
        let mockup = mockup_of(point)?;
        let PointFinding { time, gain, p_value, q_value, .. } = point.finding;
        let violated = point.shortfall.is_none() && is_beyond(mockup);
        Some(MockupFinding { mockup, time, gain, p_value, q_value, violated })
    };
    let mockups: Vec<MockupFinding> = cell.points.iter().filter_map(finding).collect();
    let of_mockup = |(candidate, why): &(Candidate, String)| match candidate {
        Candidate::Mockup(mockup) => Some((*mockup, why.clone())),
        _ => None,
    };
    // A noisy mock-up may have the largest gain by chance; what is shown of it is less.
    let shown = |mockup| severity(mockup).map_or(f64::NEG_INFINITY, |it| it.low.unwrap_or(it.point));
    let violated = mockups.iter().filter(|found| found.violated).map(|found| found.mockup);
    let best = violated.max_by(|a, b| shown(*a).total_cmp(&shown(*b)));
    let violation = best.map(|best| {
        let memory = needed_memory(cell.cell, best, placement.even(cell.cell.ranks));
        let worth = 1.0 + severity(best).map_or(0.0, |severity| severity.point);
        let remedy = remedies.and_then(|remedies| Some((remedies, remedies.of(cell.cell)?)));
        let cure = remedy.map_or(Cure::Unmeasured, |(remedies, remedy)| remedies.cure(remedy, worth, criteria));
        Violation { best, memory, cure }
    });
    let undecided = if violation.is_none() { undecided(cell, eliminated) } else { None };
    let fastest = || severities.iter().max_by(|a, b| a.1.point.total_cmp(&b.1.point)).map(|(mockup, _)| *mockup);
    let compared = best.or_else(|| undecided.as_ref()?.mockup).or_else(fastest);
    CheckedCell {
        cell: cell.cell,
        builtin: cell.point(Candidate::Builtin).map(|point| point.time),
        run_by: running.map(|running| running.by),
        mockups,
        failed: cell.disqualified.iter().filter_map(of_mockup).collect(),
        compared,
        severity: compared.and_then(severity),
        undecided,
        violation,
    }
}

fn mockup_of(point: &JudgedPoint) -> Option<Mockup> {
    match point.finding.candidate {
        Candidate::Mockup(mockup) => Some(mockup),
        _ => None,
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
    Some(Undecided { mockup: mockup_of(point), why })
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

/// The slowdown of the builtin relative to each mock-up of a cell, as a share.
type Severities = BTreeMap<Mockup, Estimate>;

/// Computes the slowdowns of each cell. Their intervals hold for all mock-ups of a cell at once (Bonferroni), since one
/// of several is selected by its times.
fn severities(cells: &[CellTimings], statistic: Statistic, criteria: Criteria) -> Vec<Severities> {
    let together = |cell: &CellTimings| {
        let mockups = cell.series.iter().filter(|series| series.candidate.is_mockup()).count();
        let level = 1.0 - (1.0 - criteria.level) / mockups.max(1) as f64;
        weigh(cell, statistic, Criteria { level, ..criteria })
    };
    let mut evidence: Vec<Vec<JudgedPoint>> = cells.iter().map(together).collect();
    widen(cells, &mut evidence);
    let one = |(cell, evidence): (&CellTimings, Vec<JudgedPoint>)| -> Severities {
        let builtin = cell.builtin().and_then(time);
        let severity = |JudgedPoint { finding: PointFinding { candidate, gain, .. }, .. }: JudgedPoint| {
            let (Candidate::Mockup(mockup), Some(gain)) = (candidate, gain) else { return None };
            // Launches of a table are no pairs: there it is the ratio of the median times.
            let series = || cell.series.iter().find(|series| series.candidate == candidate);
            let ratio = || Some(builtin? / time(series()?)?);
            let point = if statistic.is_summary() { ratio().unwrap_or(gain.point) } else { gain.point };
            let (low, high) = (gain.low.map(|low| low.min(point)), gain.high.map(|high| high.max(point)));
            let ratio = Estimate { point, low, high, level: criteria.level, ..gain };
            Some((mockup, ratio.map(|ratio| ratio - 1.0)))
        };
        evidence.into_iter().filter_map(severity).collect()
    };
    cells.iter().zip(evidence).map(one).collect()
}

/// The median over launches of the median of each.
fn time(series: &PointTimings) -> Option<f64> {
    median(&mut series.launch_medians().into_values().collect::<Vec<_>>())
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
            ((true, false), (_, Some(today))) if !exceeds(today, now.criteria.min_gain) => Change::Gone,
            ((true, false), _) => Change::Open,
        };
        Some(Changed { cell, before: severities.0, now: severities.1, how })
    };
    cells.into_iter().filter_map(change).collect()
}
