//! The analysis as a whole.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Criteria, FORMAT, Findings};
use collrules_record::{Candidate, Placement, Policy};
use collrules_rules::{Release, hazard};

use crate::alternatives::{alternatives, sentence};
use crate::build::build;
use crate::error::TunerError;
use crate::layouts::{Judged, together, told};
use crate::observations::Observations;
use crate::remarks::{remarks, short_launches};
use crate::repair::keep_what_was_given_back;
use crate::table::Terms;
use crate::tree::tree;
use crate::verdict::{JudgedCell, judge};
use crate::view::{Displaced, View, displaced};

/// Concludes from timings what should replace the builtin, and where.
///
/// `source` names what is analysed, for the reader. The same observations give the same findings, in whatever order
/// their timings are. Without anything that was timed or failed there is nothing to conclude from, which is an error.
pub fn analyze(
    observations: &Observations,
    release: Release,
    criteria: Criteria,
    source: &str,
) -> Result<Findings, TunerError> {
    analyze_under(observations, release, criteria, Policy::default(), source)
}

/// The same under a policy of one's own.
pub fn analyze_under(
    observations: &Observations,
    release: Release,
    criteria: Criteria,
    policy: Policy,
    source: &str,
) -> Result<Findings, TunerError> {
    let terms = Terms {
        statistic: observations.statistic(),
        release,
        criteria,
        policy,
        given_back: &[],
        weights: observations.weights(),
        handable: &BTreeSet::new(),
        settled: &BTreeMap::new(),
        layouts: &[],
        placement: &Placement::default(),
    };
    analyze_in(observations, &View::default(), &terms, source)
}

/// The same in a view of the timings.
pub(crate) fn analyze_in(
    observations: &Observations,
    view: &View,
    terms: &Terms<'_>,
    source: &str,
) -> Result<Findings, TunerError> {
    let Terms { statistic, release, criteria, policy, given_back, .. } = *terms;
    check(criteria)?;
    if !(policy.max_regret.is_finite() && policy.max_regret >= 0.0) {
        let wanted = "a share of at least 0, such as 0.03";
        return Err(TunerError::Criteria { name: "the largest regret", value: policy.max_regret, wanted });
    }
    let cells = observations.cells_in(view)?;
    if cells.is_empty() {
        return Err(TunerError::NoSamples { left_out: observations.left_out() });
    }
    let short = short_launches(&cells, observations.expected_launches());
    let own = judge(cells, statistic, release, criteria, policy.assumptions);
    let (mut cells, lacking, layouts) = if terms.layouts.is_empty() {
        (own, 0, Vec::new())
    } else {
        let layouts = layouts_in(own, view, terms, source)?;
        let (cells, lacking) = together(&layouts, criteria, policy);
        (cells, lacking, layouts)
    };
    keep_what_was_given_back(&mut cells, release, given_back);
    let built = build(&cells, terms);
    let mut hazards = hazard::check(&built.table);
    hazards.retain(|hazard| !policy.assumptions.accept(hazard));
    if !hazards.is_empty() {
        return Err(TunerError::Hazards(hazards));
    }
    let mut tree = tree(&cells, &built, terms);
    // What other assumptions would allow was not asked of each layout.
    tree.alternatives = if terms.layouts.is_empty() { alternatives(&cells, &built, terms) } else { Vec::new() };
    let mut remarks = remarks(&cells, &built, statistic, observations.left_out(), release, criteria);
    remarks.splice(0..0, short);
    remarks.extend(tree.alternatives.iter().map(|other| sentence(other, tree.gain)));
    let laid_out = told(&layouts, policy, |cell| built.served(release, cell));
    if lacking > 0 {
        let cells = if lacking == 1 { "1 cell is".to_owned() } else { format!("{lacking} cells are") };
        remarks.push(format!("{cells} left out: a layout that has communicators of this size was not measured there."));
    }
    let finding = |cell: JudgedCell| {
        let served = built.served(release, &cell);
        CellFinding {
            served: served.served(),
            unruled: if served.served().is_builtin() { served } else { Candidate::Builtin },
            cell: cell.cell,
            points: cell.points.into_iter().map(|point| point.finding).collect(),
            disqualified: cell.disqualified,
            verdict: cell.verdict,
        }
    };
    let cells = cells.into_iter().map(finding).collect();
    Ok(Findings {
        format: FORMAT,
        source: source.to_owned(),
        simulated: false,
        statistic,
        release,
        criteria,
        cells,
        crossovers: built.crossovers,
        table: built.table,
        handover: built.handover,
        tree,
        placement: Placement::default(),
        pins: BTreeMap::new(),
        doubted: BTreeSet::new(),
        layouts: laid_out,
        apart: Vec::new(),
        remarks,
    })
}

/// The layout at hand and the others that share its rules, each judged by itself.
fn layouts_in<'a>(
    own: Vec<JudgedCell>,
    view: &View,
    terms: &Terms<'a>,
    source: &'a str,
) -> Result<Vec<Judged<'a>>, TunerError> {
    let mut layouts = vec![Judged::new(terms.placement, source, own)];
    for laid in terms.layouts {
        let cells = laid.observations.cells_in(&elsewhere(view, laid.placement, terms.release))?;
        let cells = judge(cells, terms.statistic, terms.release, terms.criteria, terms.policy.assumptions);
        layouts.push(Judged::new(laid.placement, laid.run, cells));
    }
    Ok(layouts)
}

/// What a view of one layout comes to in another: a setting that frees a collective from a component does so everywhere.
fn elsewhere(view: &View, placement: &Placement, release: Release) -> View {
    if view.displaced.is_empty() && view.left.is_empty() {
        return view.clone();
    }
    let freed: BTreeSet<_> = view.displaced.keys().map(|(collective, _)| *collective).collect();
    let (displaced, left): (Displaced, Displaced) =
        displaced(placement, release).into_iter().partition(|((collective, _), _)| freed.contains(collective));
    View { displaced, left: left.into_keys().collect(), rivals: view.rivals }
}

pub(crate) fn check(criteria: Criteria) -> Result<(), TunerError> {
    let Criteria { min_gain, error_rate, level, untested_gain, clock_step, .. } = criteria;
    for (name, value, open) in [("the error rate", error_rate, false), ("the confidence level", level, true)] {
        let fits = if open { value > 0.0 && value < 1.0 } else { (0.0..=1.0).contains(&value) };
        if !fits {
            return Err(TunerError::Criteria { name, value, wanted: "between 0 and 1" });
        }
    }
    for (name, value) in [("the smallest gain", min_gain), ("the smallest gain without a test", untested_gain)] {
        if !(value.is_finite() && value >= 0.0) {
            return Err(TunerError::Criteria { name, value, wanted: "a share of at least 0, such as 0.03" });
        }
    }
    if !(clock_step.0.is_finite() && clock_step.0 >= 0.0) {
        return Err(TunerError::Criteria {
            name: "the clock's step",
            value: clock_step.0,
            wanted: "seconds, at least 0",
        });
    }
    Ok(())
}
