//! One decision for several layouts, where a rules file cannot tell them apart.
//!
//! Each layout is judged by itself, as if there were no other. What a candidate gains is then the weighted mean of its log gains.
//! It may serve where it is shown to be better in a layout that counts, and does no harm in any: a layout in which it is slower
//! bars it, and one in which nothing shows that it is not makes it a risk. What is left goes the usual way, through the dynamic
//! programme over sizes.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::Estimate;
use collrules_record::findings::{Criteria, PointFinding, Verdict};
use collrules_record::laid_out::{CellInLayout, LaidOut};
use collrules_record::{Arrangement, Candidate, Cell, Component, Nodes, Placement, Policy, Ranks, Serving, Shares};
use collrules_rules::Collective;

use crate::bars::Bar;
use crate::evidence::Basis;
use crate::observations::Observations;
use crate::statistics::Score;
use crate::verdict::{JudgedCell, JudgedPoint, Shortfall, decide, is_harmless};

/// What one layout adds to the number of a launch, so that those of several are told apart: more than there can be.
const LAUNCHES: u32 = 1 << 20;

/// A layout beside the one of a run.
#[derive(Clone, Copy, Debug)]
pub struct Laid<'a> {
    /// Its timings.
    pub observations: &'a Observations,
    /// Where the ranks of its communicators are.
    pub placement: &'a Placement,
    /// The run, as the user named it.
    pub run: &'a str,
}

/// A layout with its cells, judged by themselves.
pub(crate) struct Judged<'a> {
    pub(crate) placement: &'a Placement,
    pub(crate) run: &'a str,
    pub(crate) cells: BTreeMap<Cell, JudgedCell>,
}

/// A cell in one layout, with what it counts for.
struct View<'a> {
    /// The number of the layout.
    number: u32,
    cell: &'a JudgedCell,
    arrangement: Arrangement,
    weight: f64,
    /// Whether `coll/tuned` is the builtin there: what asks HAN for something changes nothing.
    tuned_serves: bool,
}

impl<'a> Judged<'a> {
    pub(crate) fn new(placement: &'a Placement, run: &'a str, cells: Vec<JudgedCell>) -> Self {
        Self { placement, run, cells: cells.into_iter().map(|cell| (cell.cell, cell)).collect() }
    }

    /// Where communicators of this size are. What nothing is known of is taken for the usual.
    fn arrangement(&self, ranks: Ranks) -> Arrangement {
        self.placement.nodes.get(&ranks).and_then(Nodes::arrangement).unwrap_or(Arrangement::Full)
    }

    fn has(&self, collective: Collective, ranks: Ranks) -> bool {
        self.cells.keys().any(|cell| (cell.collective, cell.ranks) == (collective, ranks))
    }
}

/// The weight of each layout in a cell, all together being 1, and none for those that are left out.
fn weights(arrangements: &[Arrangement], shares: Shares) -> Vec<Option<f64>> {
    let unnamed = if shares.is_empty() { 1.0 } else { 0.0 };
    let alike = |arrangement| arrangements.iter().filter(|other| **other == arrangement).count() as f64;
    let own = |arrangement: &Arrangement| shares.of(*arrangement).unwrap_or(unnamed) / alike(*arrangement);
    let shared: Vec<f64> = arrangements.iter().map(own).collect();
    let sum: f64 = shared.iter().sum();
    let weight = |(arrangement, weight): (&Arrangement, &f64)| {
        if sum <= 0.0 {
            // Nothing that counts was measured here: what was counts alike.
            Some(1.0 / arrangements.len() as f64)
        } else if shares.of(*arrangement) == Some(0.0) {
            None
        } else {
            Some(weight / sum)
        }
    };
    arrangements.iter().zip(&shared).map(weight).collect()
}

/// The views of a cell: nothing where a layout that has communicators of this size has not this cell.
fn views<'a>(layouts: &'a [Judged<'_>], cell: Cell, shares: Shares) -> Option<Vec<View<'a>>> {
    let Cell { collective, ranks, .. } = cell;
    let having: Vec<(u32, &Judged<'_>)> =
        (0..).zip(layouts).filter(|(_, layout)| layout.has(collective, ranks)).collect();
    let arrangements: Vec<_> = having.iter().map(|(_, layout)| layout.arrangement(ranks)).collect();
    let weights = weights(&arrangements, shares);
    let mut views = Vec::new();
    for (((number, layout), arrangement), weight) in having.into_iter().zip(arrangements).zip(weights) {
        let Some(weight) = weight else { continue };
        let here = |serving: &&Serving| (serving.collective, serving.ranks) == (collective, ranks);
        let serving = layout.placement.serving.iter().find(here);
        let tuned_serves = serving.is_none_or(|serving| serving.by == Component::TUNED);
        views.push(View { number, cell: layout.cells.get(&cell)?, arrangement, weight, tuned_serves });
    }
    Some(views)
}

/// Decides for all layouts together. Cells that a layout lacks although it has others of the same communicator size are left
/// out: nobody knows what a rule would do there.
pub(crate) fn together(layouts: &[Judged<'_>], criteria: Criteria, policy: Policy) -> (Vec<JudgedCell>, usize) {
    let all: BTreeSet<Cell> = layouts.iter().flat_map(|layout| layout.cells.keys().copied()).collect();
    let found: Vec<Option<JudgedCell>> = all
        .iter()
        .map(|cell| {
            let views = views(layouts, *cell, policy.shares)?;
            match &views[..] {
                [] => None,
                [alone] => Some(alone.cell.clone()),
                views => Some(of_views(views, criteria, policy)),
            }
        })
        .collect();
    let lacking = found.iter().filter(|cell| cell.is_none()).count();
    let mut cells: Vec<JudgedCell> = found.into_iter().flatten().collect();
    for block in cells.chunk_by_mut(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        decide(block, criteria);
    }
    (cells, lacking)
}

fn of_views(views: &[View<'_>], criteria: Criteria, policy: Policy) -> JudgedCell {
    let candidates: BTreeSet<Candidate> =
        views.iter().flat_map(|view| &view.cell.points).map(|point| point.finding.candidate).collect();
    let points = candidates.into_iter().filter_map(|candidate| point(views, candidate, criteria, policy)).collect();
    let mut disqualified: BTreeMap<Candidate, String> = BTreeMap::new();
    for (candidate, why) in views.iter().flat_map(|view| &view.cell.disqualified) {
        disqualified.entry(*candidate).or_insert_with(|| why.clone());
    }
    JudgedCell {
        cell: views[0].cell.cell,
        points,
        disqualified: disqualified.into_iter().collect(),
        verdict: Verdict::Keep { why: String::new() },
    }
}

impl View<'_> {
    /// What a candidate does here: that of another one, where it comes to that.
    fn stands_for(&self, candidate: Candidate) -> Candidate {
        match candidate {
            Candidate::Component(Component::TUNED) | Candidate::Han(_) if self.tuned_serves => Candidate::Builtin,
            other => other,
        }
    }

    fn point(&self, candidate: Candidate) -> Option<&JudgedPoint> {
        self.cell.judged(self.stands_for(candidate))
    }

    /// Whether it is the builtin that the candidate comes to.
    fn is_builtin(&self, candidate: Candidate) -> bool {
        self.stands_for(candidate) == Candidate::Builtin
    }
}

/// A candidate over all views; nothing where one does not know it.
fn point(views: &[View<'_>], candidate: Candidate, criteria: Criteria, policy: Policy) -> Option<JudgedPoint> {
    let points: Option<Vec<(&View<'_>, &JudgedPoint)>> =
        views.iter().map(|view| Some((view, view.point(candidate)?))).collect();
    let points = points?;
    let mean = |value: &dyn Fn(&JudgedPoint) -> Option<f64>, of_builtin: Option<f64>| {
        let of = |(view, point): &(&View<'_>, &JudgedPoint)| match of_builtin {
            Some(one) if view.is_builtin(candidate) => Some(view.weight * f64::ln(one)),
            _ => Some(view.weight * value(point)?.ln()),
        };
        points.iter().map(of).sum::<Option<f64>>().map(f64::exp)
    };
    let time = joined(points.iter().map(|(view, point)| (view.weight, Some(point.finding.time))))?;
    let mut judged = JudgedPoint {
        finding: PointFinding {
            candidate,
            time,
            gain: None,
            expected: None,
            p_value: None,
            q_value: None,
            stalls: points.iter().find_map(|(_, point)| point.finding.stalls),
        },
        shortfall: Some(Shortfall::NoGain),
        basis: Basis::default(),
        cautious: None,
        bar: None,
        risk: false,
    };
    if candidate == Candidate::Builtin {
        return Some(judged);
    }
    let others = || points.iter().filter(|(view, _)| !view.is_builtin(candidate));
    let one = Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), ..time };
    let gains = points
        .iter()
        .map(|(view, point)| (view.weight, if view.is_builtin(candidate) { Some(one) } else { point.finding.gain }));
    judged.finding.gain = joined(gains);
    judged.finding.expected = mean(&|point| point.finding.expected, Some(1.0));
    judged.cautious = mean(&|point| point.cautious, Some(1.0));
    judged.basis = basis(&points, candidate);
    // One test for each layout that counts.
    let counting = others().filter(|(view, _)| view.weight > 0.0).count() as f64;
    let least = |value: &dyn Fn(&PointFinding) -> Option<f64>| {
        let counting_values =
            others().filter(|(view, _)| view.weight > 0.0).filter_map(|(_, point)| value(&point.finding));
        counting_values.reduce(f64::min).map(|least| (counting * least).min(1.0))
    };
    judged.finding.p_value = least(&|finding| finding.p_value);
    judged.finding.q_value = least(&|finding| finding.q_value);
    let least = 1.0 / (1.0 + policy.max_regret);
    let slower = others().find(|(_, point)| point.finding.gain.is_some_and(|gain| gain.point < least));
    let bar = others().find_map(|(_, point)| point.bar.clone());
    judged.bar = bar.or_else(|| slower.map(|(view, _)| Bar::Slower(view.arrangement)));
    let harmless = |point: &JudgedPoint| point.shortfall.is_none() || is_harmless(point, policy.max_regret);
    let risk = others().find(|(_, point)| !harmless(point));
    judged.risk = risk.is_some();
    judged.shortfall = shortfall(&judged, risk.map(|(view, _)| view.arrangement), &points, criteria);
    Some(judged)
}

/// What keeps it from replacing the builtin in all layouts.
fn shortfall(
    judged: &JudgedPoint,
    risk: Option<Arrangement>,
    points: &[(&View<'_>, &JudgedPoint)],
    criteria: Criteria,
) -> Option<Shortfall> {
    let PointFinding { gain, q_value, .. } = judged.finding;
    let Some(gain) = gain else { return Some(Shortfall::NoGain) };
    let counting = || points.iter().filter(|(view, _)| view.weight > 0.0);
    let shown = counting().any(|(_, point)| point.shortfall.is_none());
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
        // What is nearest in the layout that counts most.
        let most = counting().max_by(|(one, _), (other, _)| one.weight.total_cmp(&other.weight));
        most.and_then(|(_, point)| point.shortfall.clone()).or(Some(Shortfall::NotSignificant))
    } else if !certain || gain.low.is_some_and(|low| low <= 1.0) {
        Some(Shortfall::NotSignificant)
    } else {
        risk.map(Shortfall::Risk)
    }
}

/// The weighted geometric mean, with an interval whose half widths add up as squares: the layouts were measured apart.
fn joined(values: impl Iterator<Item = (f64, Option<Estimate>)>) -> Option<Estimate> {
    let values: Vec<(f64, Estimate)> = values.map(|(weight, value)| Some((weight, value?))).collect::<Option<_>>()?;
    let log = values.iter().map(|(weight, value)| weight * value.point.ln()).sum::<f64>();
    let reach = |end: &dyn Fn(&Estimate) -> Option<f64>| {
        let square = |(weight, value): &(f64, Estimate)| Some((weight * (end(value)?.ln() - value.point.ln())).powi(2));
        let counting = values.iter().filter(|(weight, _)| *weight > 0.0);
        counting.map(square).sum::<Option<f64>>().map(f64::sqrt)
    };
    Some(Estimate {
        point: log.exp(),
        low: reach(&|value| value.low).map(|reach| (log - reach).exp()),
        high: reach(&|value| value.high).map(|reach| (log + reach).exp()),
        level: values.first()?.1.level,
        samples: values.iter().map(|(_, value)| value.samples).sum(),
    })
}

fn basis(points: &[(&View<'_>, &JudgedPoint)], candidate: Candidate) -> Basis {
    let others = || points.iter().filter(|(view, _)| !view.is_builtin(candidate));
    let launches = others().flat_map(|(view, point)| {
        let first = view.number * LAUNCHES;
        point.basis.launches.iter().map(move |(launch, log_gain)| (first + launch, *log_gain))
    });
    let weight = |view: &View<'_>| view.weight * points.len() as f64;
    let scores = || others().filter_map(|(view, point)| Some((weight(view), point.basis.score?)));
    let score = Score {
        excess: scores().map(|(weight, score)| weight * score.excess).sum(),
        deviation: scores().map(|(weight, score)| (weight * score.deviation).powi(2)).sum::<f64>().sqrt(),
    };
    Basis {
        score: others().all(|(_, point)| point.basis.score.is_some()).then_some(score),
        launches: launches.collect(),
        every_launch: others().all(|(_, point)| point.basis.every_launch),
        deviation: others().map(|(view, point)| (view.weight * point.basis.deviation).powi(2)).sum::<f64>().sqrt(),
        launch_variance: None,
    }
}

/// What the rules mean to each layout. `served` says who serves a cell.
pub(crate) fn told(layouts: &[Judged<'_>], policy: Policy, served: impl Fn(&JudgedCell) -> Candidate) -> Vec<LaidOut> {
    let of_layout = |(number, own): (usize, &Judged<'_>)| {
        let cells = own.cells.values().filter_map(|cell| {
            let views = views(layouts, cell.cell, policy.shares)?;
            let here = views.iter().find(|view| view.number as usize == number)?;
            let (wanted, served) = (cell.wanted(), served(cell));
            let gain = |candidate| {
                let here = here.stands_for(candidate);
                cell.point(here).filter(|_| here != Candidate::Builtin).and_then(|point| point.gain)
            };
            Some(CellInLayout {
                cell: cell.cell,
                arrangement: here.arrangement,
                weight: here.weight,
                wanted,
                wanted_gain: gain(wanted),
                served,
                served_gain: gain(served),
            })
        });
        LaidOut { layout: own.placement.layout, run: own.run.to_owned(), cells: cells.collect() }
    };
    layouts.iter().enumerate().map(of_layout).collect()
}
