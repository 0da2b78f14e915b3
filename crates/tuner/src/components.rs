//! Rules for calls that another component than `coll/tuned` handles.
//!
//! HAN has a rules file of its own, which can delegate single calls to `coll/tuned`. So each algorithm of `coll/tuned`,
//! and its own decision (`component:tuned`), is compared with HAN in every cell, and the rules of both files are found
//! together.
//!
//! Other components have no such file. Rules have an effect there only with a setting that switches the component off
//! for a collective. The setting acts on every call of that collective: calls without a rule then use `coll/tuned`'s
//! own decision, which is measured as the candidate `component:tuned`. So the rules are found by comparison with
//! `component:tuned`. Then all rules of a collective together are compared with the component that runs its calls now.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::competitor::{Competitor, ComponentSwitch};
use collrules_record::criteria::Criteria;
use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings, Verdict};
use collrules_record::reason::KeepReason;
use collrules_record::remark::{Remark, StayReason};
use collrules_record::validation::RevertedRange;
use collrules_record::{Candidate, Cell, Component, Placement, Policy, Ranks};
use collrules_rules::{Choice, Collective, Release};

use crate::analysis::analyze_in;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::terms::{Block, Laid, Terms};
use crate::view::{Displaced, View, displaced};

/// Finds the calls for which an algorithm should replace the builtin, and the algorithm.
///
/// `source` names the data, for the reader. The same observations give the same findings, in any order. Without any
/// timing or failure, the result is an error.
pub fn analyze(
    observations: &Observations,
    release: Release,
    criteria: Criteria,
    policy: Policy,
    source: &str,
) -> Result<Findings, TunerError> {
    let own = Laid { observations, placement: &Placement::default(), run: source };
    analyze_among(own, &[], release, criteria, policy, &[]).map(|(findings, _)| findings)
}

/// Like [`analyze`], for communicators whose calls other components than `coll/tuned` may run, and with reverted ranges.
pub fn analyze_among(
    own: Laid<'_>,
    layouts: &[Laid<'_>],
    release: Release,
    criteria: Criteria,
    policy: Policy,
    reverted: &[RevertedRange],
) -> Result<(Findings, BTreeSet<Collective>), TunerError> {
    let Laid { observations, placement, run: source } = own;
    let placements = std::iter::once(placement).chain(layouts.iter().map(|laid| laid.placement));
    let handable: BTreeSet<(Collective, Ranks)> =
        placements.flat_map(|placement| placement.handable(release)).collect();
    // One choice for all sizes is lost with any of them.
    let widen = |range: &RevertedRange| {
        let ranks = Ranks(u32::try_from(range.ranks.first).unwrap_or(u32::MAX));
        let is_shared = policy.assumptions.one_choice(release, range.collective, ranks);
        RevertedRange { lookup: if is_shared { (0, None) } else { range.lookup }, ..*range }
    };
    let reverted: Vec<RevertedRange> = reverted.iter().map(widen).collect();
    let terms = Terms {
        reverted: &reverted,
        planned: &observations.planned,
        weights: observations.weights(),
        handable: &handable,
        layouts,
        ..Terms::new(observations.statistic(), release, criteria, policy, placement)
    };
    let analyze = |view: &View| analyze_in(observations, view, &terms, source);
    let displaced = displaced(placement, release);
    let mut today = analyze(&View::default())?;
    today.remarks.extend(handled_by_han(&today, &handable));
    if displaced.is_empty() {
        return Ok((today, BTreeSet::new()));
    }
    let tuned = analyze(&View { displaced: displaced.clone(), ..View::default() })?;
    let collectives: BTreeSet<Collective> = displaced.keys().map(|(collective, _)| *collective).collect();
    let judged: Vec<ComponentGain> =
        collectives.iter().map(|collective| judge(*collective, &displaced, &today, &tuned, criteria)).collect();
    let bound = bound(placement, &displaced);
    let in_the_way = |one: &ComponentGain| {
        let others = judged.iter().filter(|other| bound(one.collective, other.collective) && !other.bears());
        others.map(|other| other.collective).collect::<Vec<_>>()
    };
    // Collectives that one setting moves must be faster together.
    let pays = |one: &ComponentGain| {
        let all = || {
            judged.iter().filter(|other| other.collective == one.collective || bound(one.collective, other.collective))
        };
        let gains = geometric_mean(all().flat_map(|judged| judged.gains.iter().copied())).unwrap_or(1.0);
        all().all(ComponentGain::bears) && all().any(|judged| judged.shown > 0) && gains >= 1.0 + criteria.min_gain
    };
    let freed: BTreeSet<Collective> =
        judged.iter().filter(|judged| pays(judged)).map(|judged| judged.collective).collect();

    // In the end a collective is either moved to `coll/tuned` or not changed.
    let (over, left): (Displaced, Displaced) =
        displaced.clone().into_iter().partition(|((collective, _), _)| freed.contains(collective));
    let left = left.into_keys().collect();
    let combined = analyze(&View { displaced: over, left, ..View::default() })?;
    let in_use: BTreeMap<Cell, Choice> = combined.cells.iter().map(|cell| (cell.cell, cell.in_use)).collect();
    let mut findings = Findings { cells: today.cells, ..combined };
    for cell in &mut findings.cells {
        cell.in_use = in_use.get(&cell.cell).copied().unwrap_or(Choice::BUILTIN);
        let Some(component) = displaced.get(&(cell.cell.collective, cell.cell.ranks)) else { continue };
        if freed.contains(&cell.cell.collective) {
            cell.unruled = Candidate::Component(Component::TUNED);
        } else {
            cell.verdict = Verdict::Keep { why: KeepReason::OtherComponent(*component) };
        }
    }
    let remark = |judged: &ComponentGain| judged.remark(freed.contains(&judged.collective), in_the_way(judged));
    findings.remarks.extend(judged.iter().map(remark));
    Ok((findings, freed))
}

/// Returns a predicate: true if a single setting moves both collectives.
fn bound<'a>(placement: &'a Placement, displaced: &'a Displaced) -> impl Fn(Collective, Collective) -> bool + 'a {
    let whole = move |collective: Collective| -> BTreeSet<Component> {
        let of = placement.running.iter().filter(|running| running.collective == collective);
        let of = of.filter(|running| displaced.contains_key(&(collective, running.ranks)));
        let components = of.flat_map(|running| running.without.iter().copied());
        components.filter(|component| Competitor::from_component(*component).switch == ComponentSwitch::Whole).collect()
    };
    move |one, other| one != other && !whole(one).is_disjoint(&whole(other))
}

/// Gain of the rules of a collective over the component that runs its calls without them.
struct ComponentGain {
    collective: Collective,
    component: Component,
    ranks: BTreeSet<Ranks>,
    /// Time now over time with the rules, for each measured cell with both times.
    gains: Vec<f64>,
    /// Number of cells with an unknown time.
    unknown: usize,
    /// Number of cells in which an algorithm of `coll/tuned` is significantly faster than the default.
    shown: usize,
    /// The required gain, such as 0.03.
    min_gain: f64,
}

fn judge(
    collective: Collective,
    displaced: &Displaced,
    today: &Findings,
    tuned: &Findings,
    criteria: Criteria,
) -> ComponentGain {
    let sizes = displaced.iter().filter(|((other, _), _)| *other == collective);
    let component = sizes.clone().map(|(_, component)| *component).next().unwrap_or(Component::HAN);
    let ranks: BTreeSet<Ranks> = sizes.map(|((_, ranks), _)| *ranks).collect();
    let is_own = |cell: &&CellFinding| cell.cell.collective == collective && ranks.contains(&cell.cell.ranks);
    let cells: Vec<&CellFinding> = today.cells.iter().filter(is_own).collect();
    let gain = |cell: &CellFinding| {
        let in_use = match tuned.cells.iter().find(|other| other.cell == cell.cell)?.in_use {
            Choice::BUILTIN => Candidate::Component(Component::TUNED),
            choice => Candidate::Tuned(choice),
        };
        Some(cell.point(in_use)?.gain?.point)
    };
    let gains: Vec<f64> = cells.iter().filter_map(|cell| gain(cell)).collect();
    let unknown = cells.len() - gains.len();
    let shown = cells.iter().filter(|cell| matches!(cell.verdict, Verdict::Replace { .. })).count();
    ComponentGain { collective, component, ranks, gains, unknown, shown, min_gain: criteria.min_gain }
}

impl ComponentGain {
    /// Returns true if moving the collective to `coll/tuned` costs nothing, with or without rules: all times are known,
    /// and no cell gets slower by more than `min_gain`.
    fn bears(&self) -> bool {
        self.unknown == 0 && self.slower() == 0
    }

    fn slower(&self) -> usize {
        self.gains.iter().filter(|gain| **gain * (1.0 + self.min_gain) < 1.0).count()
    }

    /// The decision on the collective: moved to `coll/tuned` or not, and the other collectives that the setting would
    /// move.
    fn remark(&self, freed: bool, in_the_way: Vec<Collective>) -> Remark {
        let least = self.gains.iter().copied().fold(f64::INFINITY, f64::min);
        let stays = match self.slower() {
            _ if freed => None,
            _ if self.unknown > 0 => Some(StayReason::Unknown(self.unknown)),
            sizes @ 1.. => Some(StayReason::Slower { sizes, most: 1.0 / least }),
            0 if !in_the_way.is_empty() => Some(StayReason::Bound(in_the_way)),
            0 => Some(StayReason::NotShown),
        };
        Remark::OtherComponent {
            collective: self.collective,
            component: self.component,
            ranks: self.ranks.iter().copied().collect(),
            sizes: self.gains.len(),
            gain: geometric_mean(self.gains.iter().copied()).unwrap_or(1.0),
            stays,
        }
    }
}

/// The collectives that HAN handles, and the communicator sizes for which it has rules.
fn handled_by_han(findings: &Findings, handable: &BTreeSet<Block>) -> Vec<Remark> {
    let blocks: Vec<&Block> = handable.iter().collect();
    let of_collective = blocks.chunk_by(|a, b| a.0 == b.0);
    let mut remarks: Vec<Remark> = of_collective
        .map(|own| Remark::Han { collective: own[0].0, ranks: own.iter().map(|block| block.1).collect() })
        .collect();
    let touched = handable.iter().filter(|block| findings.han.touches(block.0, block.1)).map(|block| block.1);
    let ranks: BTreeSet<Ranks> = touched.collect();
    let elsewhere = Remark::HanElsewhere(ranks.into_iter().collect());
    remarks.extend((!findings.han.is_empty()).then_some(elsewhere));
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(gains: &[f64], shown: usize, unknown: usize) -> ComponentGain {
        ComponentGain {
            collective: Collective::Bcast,
            component: Component::HAN,
            ranks: BTreeSet::from([Ranks(4)]),
            gains: gains.to_vec(),
            unknown,
            shown,
            min_gain: 0.03,
        }
    }

    #[test]
    fn a_component_is_displaced_only_where_no_cell_pays() {
        assert!(judged(&[1.5, 0.98], 1, 0).bears());
        for (gains, unknown) in [(&[1.5, 0.9][..], 0), (&[1.5, 1.5], 1)] {
            assert!(!judged(gains, 1, unknown).bears(), "{gains:?} {unknown}");
        }
        let stays = |judged: ComponentGain, others| match judged.remark(false, others) {
            Remark::OtherComponent { stays, .. } => stays,
            other => panic!("{other:?}"),
        };
        assert_eq!(stays(judged(&[1.5, 0.5], 1, 0), Vec::new()), Some(StayReason::Slower { sizes: 1, most: 2.0 }));
        let collectives = vec![Collective::Reduce];
        assert_eq!(stays(judged(&[1.5], 1, 0), collectives.clone()), Some(StayReason::Bound(collectives)));
    }
}
