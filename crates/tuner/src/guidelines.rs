//! Whether calls that do the same are faster than the builtin, how much, and what would cure it.
//!
//! Mock-ups are judged as candidates are: side by side with the builtin, by visits and launches, with one correction for all
//! comparisons of the check. They are never in the same analysis as what rules can ask for.

use std::collections::{BTreeMap, BTreeSet};

use collrules_guidelines::advice;
use collrules_record::estimate::median;
use collrules_record::findings::{Criteria, Statistic};
use collrules_record::guidelines::{Change, Changed, Checked, CheckedCell, Cure, FORMAT, MockupFinding, Violation};
use collrules_record::policy::{Assumption, Assumptions, Policy};
use collrules_record::{Candidate, Cell, Estimate, HanChoice, Placement};
use collrules_rules::Release;

use crate::analysis::check as check_criteria;
use crate::bars::Bar;
use crate::build::{Built, build};
use crate::cells::{CellTimings, Series};
use crate::error::TunerError;
use crate::evidence::{Evidence, weigh};
use crate::launches::widen;
use crate::observations::Observations;
use crate::table;
use crate::verdict::{JudgedCell, JudgedPoint, Shortfall, judge};
use crate::view::{Rivals, View};
use crate::weights::Weights;

/// What is judged, and by what.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The release whose algorithms are remedies.
    pub release: Release,
    /// What a mock-up has to show: `min_gain` is the slowdown that is tolerated.
    pub criteria: Criteria,
    /// What programs are taken to keep to.
    pub assumptions: Assumptions,
    /// Who serves.
    pub placement: &'a Placement,
    /// What is judged, for the reader.
    pub source: &'a str,
}

/// Judges the mock-ups of a run or a table.
pub fn check(observations: &Observations, terms: &Terms<'_>) -> Result<Checked, TunerError> {
    let Terms { release, criteria, assumptions, .. } = *terms;
    let statistic = observations.statistic();
    let judged = judge(observations.cells()?, statistic, release, criteria, assumptions);
    let placement = &Placement::default();
    let (given_back, handable, settled) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    let rules = table::Terms {
        statistic,
        release,
        criteria,
        policy: Policy { assumptions, ..Policy::default() },
        given_back: &given_back,
        weights: Weights(&BTreeMap::new()),
        handable: &handable,
        settled: &settled,
        layouts: &[],
        placement,
    };
    let remedies = Remedies { built: build(&judged, &rules), cells: &judged, policy: rules.policy, release };
    against(observations, Rivals::Mockups, Some(&remedies), terms)
}

/// Judges the mock-ups of launches with a rules file in force, against what serves under it. What would cure a violation
/// was not timed there, nor asked who serves.
pub fn check_under_rules(observations: &Observations, terms: &Terms<'_>) -> Result<Checked, TunerError> {
    let mut checked = against(observations, Rivals::MockupsUnderRules, None, terms)?;
    checked.cells.iter_mut().for_each(|cell| cell.served_by = None);
    Ok(checked)
}

fn against(
    observations: &Observations,
    rivals: Rivals,
    remedies: Option<&Remedies<'_>>,
    terms: &Terms<'_>,
) -> Result<Checked, TunerError> {
    let Terms { release, criteria, assumptions, placement, source } = *terms;
    check_criteria(criteria)?;
    let statistic = observations.statistic();
    let view = View { rivals, ..View::default() };
    let mut timings = observations.cells_in(&view)?;
    let has_mockup = |cell: &CellTimings| {
        cell.series.iter().any(|series| series.candidate.is_mockup())
            || cell.disqualified.iter().any(|(candidate, _)| candidate.is_mockup())
    };
    timings.retain(has_mockup);
    if timings.is_empty() {
        return Err(TunerError::NoMockups);
    }
    // Where all mock-ups failed, nothing was timed, and the failures are what was found.
    let timed = timings.iter().any(|cell| !cell.series.is_empty());
    if timed && timings.iter().all(|cell| cell.builtin().is_none() && !cell.builtin_failed()) {
        return Err(TunerError::NoBuiltin);
    }
    let severities = severities(&timings, statistic, criteria);
    let judged = judge(timings, statistic, release, criteria, assumptions);
    let cells = judged
        .into_iter()
        .zip(severities)
        .map(|(cell, severity)| checked(&cell, severity, remedies, criteria, placement));
    Ok(Checked {
        format: FORMAT,
        source: source.to_owned(),
        simulated: false,
        library: None,
        command: Vec::new(),
        release,
        statistic,
        criteria,
        cells: cells.collect(),
        left_out: Vec::new(),
        skipped: Vec::new(),
        under_rules: None,
    })
}

fn checked(
    cell: &JudgedCell,
    severity: Option<Estimate>,
    remedies: Option<&Remedies<'_>>,
    criteria: Criteria,
    placement: &Placement,
) -> CheckedCell {
    let serving = placement
        .serving
        .iter()
        .find(|serving| (serving.collective, serving.ranks) == (cell.cell.collective, cell.cell.ranks));
    let mockups: Vec<MockupFinding> = cell.points.iter().filter_map(mockup_finding).collect();
    let of_mockup = |(candidate, why): &(Candidate, String)| match candidate {
        Candidate::Mockup(mockup) => Some((*mockup, why.clone())),
        _ => None,
    };
    let gain = |found: &&MockupFinding| found.gain.map_or(0.0, |gain| gain.point);
    let best = mockups.iter().filter(|found| found.violated).max_by(|a, b| gain(a).total_cmp(&gain(b)));
    // A gain that shrinks below what is tolerated where the best was not picked was luck.
    let best = best.filter(|_| severity.is_none_or(|severity| severity.point >= criteria.min_gain));
    let violation = best.map(|best| {
        let (advice, memory) = advice(cell.cell, best.mockup, placement.even(cell.cell.ranks));
        // Where the best was picked, its gain is a little too large.
        let worth = severity.map_or_else(|| gain(&best), |severity| 1.0 + severity.point);
        let remedy = remedies.and_then(|remedies| Some((remedies, remedies.of(cell.cell)?)));
        let cure = remedy.map_or(Cure::Unmeasured, |(remedies, remedy)| remedies.cure(remedy, worth, criteria));
        Violation { best: best.mockup, advice, memory, cure }
    });
    CheckedCell {
        cell: cell.cell,
        builtin: cell.point(Candidate::Builtin).map(|point| point.time),
        served_by: serving.map(|serving| serving.by),
        mockups,
        failed: cell.disqualified.iter().filter_map(of_mockup).collect(),
        severity,
        violation,
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

/// What rules can ask for, with those that `tune` would make by the same times.
struct Remedies<'a> {
    cells: &'a [JudgedCell],
    built: Built,
    policy: Policy,
    release: Release,
}

impl Remedies<'_> {
    fn of(&self, cell: Cell) -> Option<&JudgedCell> {
        self.cells.iter().find(|remedy| remedy.cell == cell)
    }

    /// What brings the call within the tolerated slowdown of a mock-up that is this many times as fast as the builtin. A rule
    /// is what `tune` would write, where that does.
    fn cure(&self, cell: &JudgedCell, worth: f64, criteria: Criteria) -> Cure {
        let Cure::Rule { choice, gain, .. } = cure(cell, worth, criteria) else { return cure(cell, worth, criteria) };
        let written = self.built.served(self.release, cell);
        let of_written = cell.point(written).and_then(|point| point.gain).map(|gain| gain.point);
        match (written, of_written) {
            (Candidate::Tuned(choice), Some(gain)) if is_near(gain, worth, criteria) => {
                Cure::Rule { choice, gain, withheld: None }
            }
            _ => Cure::Rule { choice, gain, withheld: Some(self.why_withheld(cell.cell)) },
        }
    }

    fn why_withheld(&self, Cell { collective, ranks, .. }: Cell) -> String {
        if self.policy.assumptions.one_choice(self.release, collective, ranks) {
            return "all message sizes of a communicator size share one choice, and over those that were timed another one is \
                    better, or none is shown to be"
                .to_owned();
        }
        format!(
            "a rule that neighbouring sizes share is kept as long as it takes at most {} % longer",
            100.0 * self.policy.max_regret
        )
    }
}

/// Whether a gain is within the tolerated slowdown of this one.
fn is_near(gain: f64, worth: f64, criteria: Criteria) -> bool {
    worth <= gain * (1.0 + criteria.min_gain)
}

/// The same by the times of the cell alone.
fn cure(cell: &JudgedCell, worth: f64, criteria: Criteria) -> Cure {
    let rivals = || cell.points.iter().filter(|point| point.finding.candidate != Candidate::Builtin);
    if rivals().next().is_none() {
        return Cure::Unmeasured;
    }
    let cures = |point: &&JudgedPoint| is_near(point.finding.gain.map_or(0.0, |gain| gain.point), worth, criteria);
    let gain = |point: &JudgedPoint| point.finding.gain.map_or(1.0, |gain| gain.point);
    let best = |wanted: &dyn Fn(&&JudgedPoint) -> bool| {
        rivals().filter(cures).filter(wanted).max_by(|a, b| gain(a).total_cmp(&gain(b)))
    };
    let free = best(&|point| matches!(point.finding.candidate, Candidate::Tuned(_)) && point.shortfall.is_none());
    if let Some((point, choice)) = free.and_then(|point| Some((point, point.finding.candidate.choice()?))) {
        return Cure::Rule { choice, gain: gain(point), withheld: None };
    }
    let by_han = best(&|point| matches!(point.finding.candidate, Candidate::Han(_)) && point.shortfall.is_none());
    if let Some((Candidate::Han(HanChoice::Algorithm(algorithm)), gain)) =
        by_han.map(|point| (point.finding.candidate, gain(point)))
    {
        return Cure::Han { algorithm, gain };
    }
    let barred = best(&|point| matches!(point.shortfall, Some(Shortfall::Barred(_))));
    if let Some((point, choice)) = barred.and_then(|point| Some((point, point.finding.candidate.choice()?)))
        && let Some(Shortfall::Barred(bar)) = &point.shortfall
    {
        let why = bar.to_string();
        return Cure::Barred { choice, gain: gain(point), why, assumption: permitting(bar) };
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

/// How much slower the builtin of each cell is than the best of its mock-ups, as a share.
///
/// The interval: if every mock-up of the cell is within its own, widened so that this holds for all of them at once
/// (Bonferroni), then the largest gain lies between the largest lower and the largest upper end. The value: the best is
/// picked on every other visit and its gain taken on the others, both ways round, since a largest value is too large.
fn severities(cells: &[CellTimings], statistic: Statistic, criteria: Criteria) -> Vec<Option<Estimate>> {
    let places: Vec<Cell> = cells.iter().map(|cell| cell.cell).collect();
    let together = |cell: &CellTimings| {
        let mockups = cell.series.iter().filter(|series| series.candidate.is_mockup()).count().max(1);
        let level = 1.0 - (1.0 - criteria.level) / mockups as f64;
        weigh(cell, statistic, Criteria { level, ..criteria })
    };
    let mut evidence: Vec<Vec<Evidence>> = cells.iter().map(together).collect();
    widen(&places, &mut evidence);
    cells.iter().zip(evidence).map(|(cell, evidence)| severity(cell, &evidence, criteria.level)).collect()
}

fn severity(cell: &CellTimings, evidence: &[Evidence], level: f64) -> Option<Estimate> {
    let gains: Vec<Estimate> = evidence.iter().filter_map(|evidence| evidence.gain).collect();
    let largest = gains.iter().max_by(|a, b| a.point.total_cmp(&b.point))?;
    // One mock-up that was timed too seldom for an interval says nothing about how large the others are.
    let low = gains.iter().filter_map(|gain| gain.low).max_by(f64::total_cmp);
    // What was dropped early, for being clearly slower, has none either, and is no rival for the largest.
    let rivals = gains.iter().filter(|gain| gain.high.is_some() || low.is_none_or(|low| gain.point > low));
    let highs: Option<Vec<f64>> = rivals.map(|gain| gain.high).collect();
    let high = highs.and_then(|highs| highs.into_iter().max_by(f64::total_cmp));
    let point = cell.builtin().and_then(|builtin| unpicked(cell, builtin)).unwrap_or(largest.point);
    let within = point.clamp(low.unwrap_or(0.0).min(largest.point), high.unwrap_or(f64::INFINITY).max(largest.point));
    let share = Estimate { point: within, low, high, level, samples: largest.samples };
    Some(share.map(|gain| gain - 1.0))
}

/// The gain of the best mock-up on visits on which it was not picked; none where there are too few.
fn unpicked(cell: &CellTimings, builtin: &Series) -> Option<f64> {
    let halves = |series: &Series| {
        let pairs = series.pairs(builtin);
        let visits = pairs.chunk_by(|a, b| (a.launch, a.visit) == (b.launch, b.visit)).map(|visit| {
            let mut gains: Vec<f64> = visit.iter().map(|pair| pair.log_gain).collect();
            median(&mut gains)
        });
        let mut halves = [Vec::new(), Vec::new()];
        visits.flatten().enumerate().for_each(|(number, gain)| halves[number % 2].push(gain));
        let [even, odd] = &mut halves;
        Some([median(even)?, median(odd)?])
    };
    let mockups: Vec<[f64; 2]> =
        cell.series.iter().filter(|series| series.candidate.is_mockup()).filter_map(halves).collect();
    let picked = |by: usize| {
        let best = mockups.iter().max_by(|a, b| a[by].total_cmp(&b[by]))?;
        Some(best[1 - by])
    };
    Some(f64::midpoint(picked(0)?, picked(1)?).exp())
}

/// What changed between two checks: of cells in both, whether there is a violation, and, where there is in both, how bad it
/// is, if the intervals have nothing in common. A violation of a cell that was not measured before is new.
pub fn changes(before: &Checked, now: &Checked) -> Vec<Changed> {
    let stays = |changed: &Changed| matches!(changed.how, Change::Stays | Change::Open);
    became(before, now).into_iter().filter(|changed| !stays(changed) && now.cell(changed.cell).is_some()).collect()
}

/// What became of every violation of a check, and which ones are new.
///
/// One is gone where the later check has a severity below what it tolerates; where it shows no violation, and no such
/// severity either, that is open.
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
