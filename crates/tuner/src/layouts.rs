//! One decision for several layouts that a rules file cannot distinguish.
//!
//! Each layout is judged separately. The gain of a candidate is the weighted mean of its log gains. A candidate may be
//! chosen if it is significantly faster in one layout and harmless in all: a layout in which it is slower bars it, and
//! one in which it might be slower makes it a risk. The remaining candidates go through the dynamic programme over
//! sizes as usual.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::Criteria;
use collrules_record::estimate::Estimate;
use collrules_record::findings::{CellInLayout, LaidOut, PointFinding, Verdict};
use collrules_record::reason::{Bar, KeepReason, Shortfall};
use collrules_record::{Arrangement, Candidate, Cell, Component, Nodes, Placement, Ranks};
use collrules_rules::Collective;

use crate::evidence::{Basis, JudgedPoint};
use crate::terms::Terms;
use crate::verdict::{JudgedCell, decide_again, is_harmless};

/// Offset between the launch numbers of two layouts, larger than any number of launches.
const LAUNCHES: u32 = 1 << 20;

/// A layout with its cells, judged separately.
pub(crate) struct LayoutVerdicts<'a> {
    pub(crate) placement: &'a Placement,
    pub(crate) run: &'a str,
    pub(crate) cells: BTreeMap<Cell, JudgedCell>,
}

/// A cell in one layout, with its weight.
struct LayoutView<'a> {
    /// Number of the layout.
    number: u32,
    cell: &'a JudgedCell,
    arrangement: Arrangement,
    weight: f64,
    /// True if `coll/tuned` is the builtin there: then requests to HAN have no effect.
    runs_tuned: bool,
}

impl<'a> LayoutVerdicts<'a> {
    pub(crate) fn new(placement: &'a Placement, run: &'a str, cells: Vec<JudgedCell>) -> Self {
        Self { placement, run, cells: cells.into_iter().map(|cell| (cell.cell, cell)).collect() }
    }

    /// Arrangement of communicators of this size; the usual one if it is unknown.
    fn arrangement(&self, ranks: Ranks) -> Arrangement {
        self.placement.nodes.get(&ranks).and_then(Nodes::arrangement).unwrap_or(Arrangement::Full)
    }

    fn has(&self, collective: Collective, ranks: Ranks) -> bool {
        self.cells.keys().any(|cell| (cell.collective, cell.ranks) == (collective, ranks))
    }
}

/// The views of a cell; none if a layout with communicators of this size lacks the cell.
fn views<'a>(layouts: &'a [LayoutVerdicts<'_>], cell: Cell) -> Option<Vec<LayoutView<'a>>> {
    let Cell { collective, ranks, .. } = cell;
    let having = || (0..).zip(layouts).filter(|(_, layout)| layout.has(collective, ranks));
    let arrangements: Vec<_> = having().map(|(_, layout)| layout.arrangement(ranks)).collect();
    // 1 in total; layouts with equal arrangements share one weight.
    let alike = |arrangement| arrangements.iter().filter(|other| **other == arrangement).count() as f64;
    let shared: Vec<f64> = arrangements.iter().map(|arrangement| 1.0 / alike(*arrangement)).collect();
    let sum: f64 = shared.iter().sum();
    let weights = shared.into_iter().map(|weight| weight / sum);
    let view = |((number, layout), (arrangement, weight)): ((u32, &'a LayoutVerdicts<'_>), (Arrangement, f64))| {
        let running = layout.placement.find_running(collective, ranks);
        let runs_tuned = running.is_none_or(|running| running.by == Component::TUNED);
        Some(LayoutView { number, cell: layout.cells.get(&cell)?, arrangement, weight, runs_tuned })
    };
    having().zip(arrangements.iter().copied().zip(weights)).map(view).collect()
}

/// Decides for all layouts together. A cell is left out if a layout with other cells of its communicator size lacks it:
/// the effect of a rule there is unknown.
pub(crate) fn together(layouts: &[LayoutVerdicts<'_>], terms: &Terms<'_>) -> (Vec<JudgedCell>, usize) {
    let all: BTreeSet<Cell> = layouts.iter().flat_map(|layout| layout.cells.keys().copied()).collect();
    let decide = |cell: &Cell| match &views(layouts, *cell)?[..] {
        [] => None,
        [alone] => Some(alone.cell.clone()),
        views => Some(of_views(views, terms)),
    };
    let found: Vec<Option<JudgedCell>> = all.iter().map(decide).collect();
    let lacking = found.iter().filter(|cell| cell.is_none()).count();
    let mut cells: Vec<JudgedCell> = found.into_iter().flatten().collect();
    decide_again(&mut cells, terms.criteria, |_| ());
    (cells, lacking)
}

fn of_views(views: &[LayoutView<'_>], terms: &Terms<'_>) -> JudgedCell {
    let candidates: BTreeSet<Candidate> =
        views.iter().flat_map(|view| &view.cell.points).map(|point| point.finding.candidate).collect();
    let points = candidates.into_iter().filter_map(|candidate| point(views, candidate, terms)).collect();
    let mut disqualified: BTreeMap<Candidate, String> = BTreeMap::new();
    for (candidate, why) in views.iter().flat_map(|view| &view.cell.disqualified) {
        disqualified.entry(*candidate).or_insert_with(|| why.clone());
    }
    let (cell, verdict) = (views[0].cell.cell, Verdict::Keep { why: KeepReason::NothingTimed });
    JudgedCell { cell, points, disqualified: disqualified.into_iter().collect(), verdict }
}

impl LayoutView<'_> {
    /// The candidate that this one is equivalent to here.
    fn stands_for(&self, candidate: Candidate) -> Candidate {
        match candidate {
            Candidate::Component(Component::TUNED) | Candidate::Han(_) if self.runs_tuned => Candidate::Builtin,
            other => other,
        }
    }

    fn point(&self, candidate: Candidate) -> Option<&JudgedPoint> {
        self.cell.judged(self.stands_for(candidate))
    }

    /// Returns true if the candidate is equivalent to the builtin.
    fn is_builtin(&self, candidate: Candidate) -> bool {
        self.stands_for(candidate) == Candidate::Builtin
    }
}

/// Point of a candidate over all views; none if a view lacks it.
fn point(views: &[LayoutView<'_>], candidate: Candidate, terms: &Terms<'_>) -> Option<JudgedPoint> {
    let max_regret = terms.policy.max_regret;
    let points: Option<Vec<(&LayoutView<'_>, &JudgedPoint)>> =
        views.iter().map(|view| Some((view, view.point(candidate)?))).collect();
    let points = points?;
    let mean = |value: fn(&JudgedPoint) -> Option<f64>| {
        let of = |(view, point): &(&LayoutView<'_>, &JudgedPoint)| {
            if view.is_builtin(candidate) { Some(0.0) } else { Some(view.weight * value(point)?.ln()) }
        };
        points.iter().map(of).sum::<Option<f64>>().map(f64::exp)
    };
    let times = points.iter().map(|(view, point)| (view.weight, point.finding.time));
    let time = Estimate::product_of_independent(times)?;
    let mut judged = JudgedPoint::new(candidate, time);
    judged.finding.stalls = points.iter().find_map(|(_, point)| point.finding.stalls);
    if candidate == Candidate::Builtin {
        return Some(judged);
    }
    let others = || points.iter().filter(|(view, _)| !view.is_builtin(candidate));
    let one = Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), ..time };
    let gain = |(view, point): &(&LayoutView<'_>, &JudgedPoint)| {
        Some((view.weight, if view.is_builtin(candidate) { one } else { point.finding.gain? }))
    };
    let gains: Option<Vec<(f64, Estimate)>> = points.iter().map(gain).collect();
    judged.finding.gain = gains.and_then(Estimate::product_of_independent);
    judged.finding.expected = mean(|point| point.finding.expected);
    judged.cautious = mean(|point| point.cautious);
    judged.basis = basis(&points, candidate);
    // One test per layout.
    let tests = others().count() as f64;
    let least = |value: &dyn Fn(&PointFinding) -> Option<f64>| {
        others().filter_map(|(_, point)| value(&point.finding)).reduce(f64::min)
    };
    // Uniform without an effect, as tests of several sizes together want it (Sidak).
    judged.finding.p_value = least(&|finding| finding.p_value).map(|p| -f64::exp_m1(tests * f64::ln_1p(-p)));
    judged.finding.q_value = least(&|finding| finding.q_value).map(|q| (tests * q).min(1.0));
    let least = 1.0 / (1.0 + max_regret);
    let slower = others().find(|(_, point)| point.finding.gain.is_some_and(|gain| gain.point < least));
    let bar = others().find_map(|(_, point)| point.bar.clone());
    judged.bar = bar.or_else(|| slower.map(|(view, _)| Bar::Slower(view.arrangement)));
    let harmless = |point: &JudgedPoint| point.shortfall.is_none() || is_harmless(point, max_regret);
    let risk = others().find(|(_, point)| !harmless(point));
    judged.risk = risk.is_some();
    judged.shortfall = shortfall(&judged, risk.map(|(view, _)| view.arrangement), &points, terms.criteria);
    Some(judged)
}

/// The reason why it does not replace the builtin in all layouts.
fn shortfall(
    judged: &JudgedPoint,
    risk: Option<Arrangement>,
    points: &[(&LayoutView<'_>, &JudgedPoint)],
    criteria: Criteria,
) -> Option<Shortfall> {
    let PointFinding { gain, q_value, .. } = judged.finding;
    let Some(gain) = gain else { return Some(Shortfall::NoGain) };
    let shown = points.iter().any(|(_, point)| point.shortfall.is_none());
    let certain = q_value.is_none_or(|q_value| q_value <= criteria.error_rate);
    if gain.point <= 1.0 {
        Some(Shortfall::NotFaster)
    } else if gain.point < 1.0 + criteria.min_gain {
        Some(Shortfall::SmallGain)
    } else if let Some(bar) = &judged.bar {
        Some(Shortfall::Barred(bar.clone()))
    } else if !judged.basis.every_launch {
        Some(Shortfall::NotTimedInEveryLaunch)
    } else if !shown {
        // The shortfall in the layout with the largest weight.
        let most = points.iter().max_by(|(one, _), (other, _)| one.weight.total_cmp(&other.weight));
        most.and_then(|(_, point)| point.shortfall.clone()).or(Some(Shortfall::NotSignificant))
    } else if !certain || gain.low.is_some_and(|low| low <= 1.0) {
        Some(Shortfall::NotSignificant)
    } else {
        risk.map(Shortfall::Risk)
    }
}

fn basis(points: &[(&LayoutView<'_>, &JudgedPoint)], candidate: Candidate) -> Basis {
    let others = || points.iter().filter(|(view, _)| !view.is_builtin(candidate));
    let launches = others().flat_map(|(view, point)| {
        let first = view.number * LAUNCHES;
        point.basis.launches.iter().map(move |(launch, log_gain)| (first + launch, *log_gain))
    });
    Basis {
        launches: launches.collect(),
        every_launch: others().all(|(_, point)| point.basis.every_launch),
        deviation: others().map(|(view, point)| (view.weight * point.basis.deviation).powi(2)).sum::<f64>().sqrt(),
        launch_variance: None,
    }
}

/// Describes the effect of the rules on each layout. `in_use` returns the candidate used for a cell.
pub(crate) fn describe_layouts(
    layouts: &[LayoutVerdicts<'_>],
    in_use: impl Fn(&JudgedCell) -> Candidate,
) -> Vec<LaidOut> {
    let of_layout = |(number, own): (usize, &LayoutVerdicts<'_>)| {
        let cells = own.cells.values().filter_map(|cell| {
            let views = views(layouts, cell.cell)?;
            let here = views.iter().find(|view| view.number as usize == number)?;
            let (wanted, in_use) = (cell.verdict.candidate(), in_use(cell));
            let gain = |candidate| {
                let here = here.stands_for(candidate);
                cell.point(here).filter(|_| here != Candidate::Builtin).and_then(|point| point.gain)
            };
            Some(CellInLayout {
                cell: cell.cell,
                arrangement: here.arrangement,
                wanted,
                wanted_gain: gain(wanted),
                in_use,
                gain_in_use: gain(in_use),
            })
        });
        LaidOut { layout: own.placement.layout, run: own.run.to_owned(), cells: cells.collect() }
    };
    layouts.iter().enumerate().map(of_layout).collect()
}
