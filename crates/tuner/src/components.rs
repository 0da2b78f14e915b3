//! Rules where another component than `coll/tuned` serves the calls.
//!
//! HAN can be told call by call to hand over to `coll/tuned`, by a rules file of its own: what `coll/tuned` would do with each
//! choice, and by its own decision (`component:tuned`), are candidates against HAN in every cell, and the rules of both
//! files are found together.
//!
//! Parameters of HAN, which hold for whole jobs, are chosen before that, by what each would leave to be found (`settled`).
//!
//! Other components have no such file. Rules have an effect there only with a setting that puts the component out of the
//! way for a collective. The setting acts on every call of that collective, also where the rules say nothing: what happens there is then not what
//! happened before, but what `coll/tuned` decides by itself, which is measured as the candidate `component:tuned`. So
//! the rules are made against `component:tuned`, as it is what a missing rule leaves, and then judged as a whole
//! against what users have today, per collective.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Criteria, Findings, Verdict};
use collrules_record::rival::{Rival, Switch};
use collrules_record::validation::GivenBack;
use collrules_record::{Candidate, Cell, Component, Placement, Policy, Ranks};
use collrules_rules::{Choice, Collective, Release};

use crate::analysis::analyze_in;
use crate::error::TunerError;
use crate::handed;
use crate::layouts::Laid;
use crate::settled;
use crate::table::Terms;
use crate::view::{Displaced, View, displaced};

/// The same as [`analyze`](crate::analyze()), for observations of communicators of which some are served by other
/// components than `coll/tuned`, and with ranges given back to the builtin, since other launches have shown that rules lose
/// there. The gains are over what users have today; beside the findings stand the collectives whose rules need those
/// components out of the way. `layouts` share the rules.
pub fn analyze_among(
    own: Laid<'_>,
    layouts: &[Laid<'_>],
    release: Release,
    criteria: Criteria,
    policy: Policy,
    given_back: &[GivenBack],
) -> Result<(Findings, BTreeSet<Collective>), TunerError> {
    let Laid { observations, placement, run: source } = own;
    let placements = std::iter::once(placement).chain(layouts.iter().map(|laid| laid.placement));
    let handable: BTreeSet<(Collective, Ranks)> =
        placements.flat_map(|placement| placement.handable(release)).collect();
    let none = BTreeMap::new();
    let terms = Terms {
        statistic: observations.statistic(),
        release,
        criteria,
        policy,
        given_back,
        weights: observations.weights(),
        handable: &handable,
        settled: &none,
        layouts,
        placement,
    };
    let settled = settled::settle(observations, &terms, source)?;
    let terms = Terms { settled: &settled, ..terms };
    let analyze = |view: &View| analyze_in(observations, view, &terms, source);
    let displaced = displaced(placement, release);
    let mut today = analyze(&View::default())?;
    today.placement = placement.clone();
    today.remarks.extend(handed::remarks(&today, &handable));
    today.remarks.extend(settled::remarks(&today, &settled));
    if displaced.is_empty() {
        return Ok((today, BTreeSet::new()));
    }
    let tuned = analyze(&View { displaced: displaced.clone(), ..View::default() })?;
    let collectives: BTreeSet<Collective> = displaced.keys().map(|(collective, _)| *collective).collect();
    let judged: Vec<Judged> =
        collectives.iter().map(|collective| judge(*collective, &displaced, &today, &tuned, criteria)).collect();
    let bound = bound(placement, &displaced);
    let in_the_way = |one: &Judged| {
        let others = judged.iter().filter(|other| bound(one.collective, other.collective) && !other.bears());
        others.map(|other| other.collective.name()).collect::<Vec<_>>()
    };
    // What one setting takes from a component together has to gain together.
    let pays = |one: &Judged| {
        let all = || {
            judged.iter().filter(|other| other.collective == one.collective || bound(one.collective, other.collective))
        };
        let gains = geometric_mean(all().flat_map(|judged| judged.gains.iter().copied())).unwrap_or(1.0);
        all().all(Judged::bears) && all().any(|judged| judged.shown > 0) && gains >= 1.0 + criteria.min_gain
    };
    let freed: BTreeSet<Collective> =
        judged.iter().filter(|judged| pays(judged)).map(|judged| judged.collective).collect();

    // The rules as a whole: in the end a collective is either handed over or left alone.
    let (over, left): (Displaced, Displaced) = displaced
        .iter()
        .map(|(place, component)| (*place, *component))
        .partition(|((collective, _), _)| freed.contains(collective));
    let left = left.into_keys().collect();
    let combined = analyze(&View { displaced: over, left, ..View::default() })?;
    let served: BTreeMap<Cell, Choice> = combined.cells.iter().map(|cell| (cell.cell, cell.served)).collect();
    let mut findings = Findings {
        crossovers: combined.crossovers,
        table: combined.table,
        handover: combined.handover,
        tree: combined.tree,
        layouts: combined.layouts,
        remarks: combined.remarks,
        ..today
    };
    for cell in &mut findings.cells {
        cell.served = served.get(&cell.cell).copied().unwrap_or(Choice::BUILTIN);
        let Some(component) = displaced.get(&(cell.cell.collective, cell.cell.ranks)) else { continue };
        if freed.contains(&cell.cell.collective) {
            cell.unruled = Candidate::Component(Component::TUNED);
        } else {
            cell.verdict = Verdict::Keep { why: format!("{component} serves it") };
        }
    }
    findings
        .remarks
        .extend(judged.iter().map(|judged| judged.remark(freed.contains(&judged.collective), &in_the_way(judged))));
    Ok((findings, freed))
}

/// Whether one setting alone takes two collectives from a component.
fn bound<'a>(placement: &'a Placement, displaced: &'a Displaced) -> impl Fn(Collective, Collective) -> bool + 'a {
    let whole = move |collective: Collective| -> BTreeSet<Component> {
        let of = placement.serving.iter().filter(|serving| serving.collective == collective);
        let of = of.filter(|serving| displaced.contains_key(&(collective, serving.ranks)));
        let components = of.flat_map(|serving| serving.without.iter().copied());
        components.filter(|component| Rival::of(*component).switch == Switch::Whole).collect()
    };
    move |one, other| one != other && !whole(one).is_disjoint(&whole(other))
}

fn in_cell<'a>(findings: &'a Findings, cell: &CellFinding) -> Option<&'a CellFinding> {
    findings.cells.iter().find(|other| other.cell == cell.cell)
}

/// What the rules of a collective are worth against the component that serves it today.
struct Judged {
    collective: Collective,
    component: Component,
    ranks: BTreeSet<Ranks>,
    /// Time today over time under the rules, for each measured cell of which both are known.
    gains: Vec<f64>,
    /// Cells of which one is not known.
    unknown: usize,
    /// Cells in which something of `coll/tuned` was shown to be better than what serves today.
    shown: usize,
    /// The gain that is asked for, such as 0.03.
    min_gain: f64,
}

fn judge(
    collective: Collective,
    displaced: &Displaced,
    today: &Findings,
    tuned: &Findings,
    criteria: Criteria,
) -> Judged {
    let sizes = displaced.iter().filter(|((other, _), _)| *other == collective);
    let component = sizes.clone().map(|(_, component)| *component).next().unwrap_or(Component::HAN);
    let ranks: BTreeSet<Ranks> = sizes.map(|((_, ranks), _)| *ranks).collect();
    let mut judged =
        Judged { collective, component, ranks, gains: Vec::new(), unknown: 0, shown: 0, min_gain: criteria.min_gain };
    let cells = today.cells.iter().filter(|cell| cell.cell.collective == collective);
    for cell in cells.filter(|cell| judged.ranks.contains(&cell.cell.ranks)).collect::<Vec<_>>() {
        let served = in_cell(tuned, cell).map(|cell| match cell.served {
            Choice::BUILTIN => Candidate::Component(Component::TUNED),
            choice => Candidate::Tuned(choice),
        });
        let gain = served.and_then(|served| cell.point(served)).and_then(|point| point.gain);
        match gain {
            Some(gain) => judged.gains.push(gain.point),
            None => judged.unknown += 1,
        }
        judged.shown += usize::from(matches!(cell.verdict, Verdict::Replace { .. }));
    }
    judged
}

impl Judged {
    /// Whether handing over costs nothing, with rules or without: nothing is unknown, and no cell gets slower by more than
    /// the gain that is asked for.
    fn bears(&self) -> bool {
        self.unknown == 0 && self.slower() == 0
    }

    fn slower(&self) -> usize {
        self.gains.iter().filter(|gain| **gain * (1.0 + self.min_gain) < 1.0).count()
    }

    fn mean(&self) -> f64 {
        geometric_mean(self.gains.iter().copied()).unwrap_or(1.0)
    }

    /// What becomes of the collective, and why: it is freed or not, for these others that the same setting would take.
    fn remark(&self, freed: bool, in_the_way: &[&str]) -> String {
        let Self { collective, component, .. } = self;
        let sizes: Vec<String> = self.ranks.iter().map(ToString::to_string).collect();
        let served = format!("On {} ranks, Open MPI's component {component} serves {collective}", sizes.join(", "));
        let (cells, slower) = (self.gains.len(), self.slower());
        if freed {
            let others = match Rival::of(*component).switch {
                Switch::Whole => format!(
                    " The setting is {component}'s priority, which takes all its other collectives from it as well: those \
                     that were not measured may get slower.",
                ),
                _ => String::new(),
            };
            return format!(
                "{served}, and gains are over {component}. The settings of this tuning hand {collective} to coll/tuned \
                 instead, which gains {:.2}x in geometric mean over these {cells} cells. They do so on all communicators \
                 that {component} would serve, also on those that were not measured. Where no rule serves a call there, \
                 coll/tuned's builtin does.{others}",
                self.mean(),
            );
        }
        let why = if self.unknown > 0 {
            format!("nothing shows how fast coll/tuned would be in {} of its cells", self.unknown)
        } else if slower > 0 {
            let least = self.gains.iter().copied().fold(f64::INFINITY, f64::min);
            format!(
                "coll/tuned with the rules found would be slower in {slower} of {cells} cells, by up to {:.2}x ({:.2}x in \
                 geometric mean over all), and rules cannot hand single sizes back",
                1.0 / least,
                self.mean(),
            )
        } else if !in_the_way.is_empty() {
            format!(
                "{component} can only be put out of the way for all its collectives together, and nothing shows that \
                 {} would not get slower",
                in_the_way.join(", "),
            )
        } else {
            format!("the measurements do not show that coll/tuned is faster ({:.2}x in geometric mean)", self.mean())
        };
        format!("{served}, and goes on doing so: {why}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(gains: &[f64], shown: usize, unknown: usize) -> Judged {
        Judged {
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
        assert!(judged(&[1.5, 0.5], 1, 0).remark(false, &[]).contains("slower in 1 of 2 cells, by up to 2.00x"));
        assert!(
            judged(&[1.5], 1, 0).remark(false, &["reduce"]).contains("nothing shows that reduce would not get slower")
        );
    }
}
