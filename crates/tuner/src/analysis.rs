//! The analysis of timings, from cells to findings.

use std::collections::BTreeSet;

use collrules_record::findings::{CellFinding, FORMAT, Findings};

use collrules_record::criteria::Criteria;
use collrules_record::policy::Assumption;
use collrules_record::remark::Remark;
use collrules_record::settings::Settings;
use collrules_record::tree::Alternative;
use collrules_record::{Candidate, Placement};
use collrules_rules::{Release, bits};

use crate::build::{TableBuild, build};
use crate::error::TunerError;
use crate::layouts::{LayoutVerdicts, describe_layouts, together};
use crate::observations::Observations;
use crate::remarks::{remarks, short_launches};
use crate::repair::keep_reverted;
use crate::terms::Terms;
use crate::tree::{mean_gain, tree};
use crate::verdict::{JudgedCell, judge_layout, judged_under};
use crate::view::{Displaced, View, displaced};

/// Analyses a view of the timings under the given terms.
pub(crate) fn analyze_in(
    observations: &Observations,
    view: &View,
    terms: &Terms<'_>,
    source: &str,
) -> Result<Findings, TunerError> {
    let Terms { statistic, release, criteria, policy, .. } = *terms;
    check(criteria)?;
    if !(policy.max_regret.is_finite() && policy.max_regret >= 0.0) {
        let wanted = "a share of at least 0, such as 0.03";
        return Err(TunerError::Criteria { name: "the largest regret", value: policy.max_regret, wanted });
    }
    let cells = observations.cells_in(view);
    if cells.is_empty() {
        return Err(TunerError::NoSamples { left_out: observations.left_out() });
    }
    let short = short_launches(&cells, observations.expected_launches);
    let own = judge_layout(cells, terms.placement, terms);
    let mut layouts = vec![LayoutVerdicts::new(terms.placement, source, own)];
    layouts.extend(terms.layouts.iter().map(|laid| {
        let cells = laid.observations.cells_in(&elsewhere(view, laid.placement, release));
        LayoutVerdicts::new(laid.placement, laid.run, judge_layout(cells, laid.placement, terms))
    }));
    let (mut cells, lacking) = together(&layouts, terms);
    keep_reverted(&mut cells, terms);
    let built = build(&cells, terms);
    let mut tree = tree(&cells, &built, terms);
    if terms.layouts.is_empty() {
        // Alternatives are not judged layout by layout, and one layout is described by its cells.
        tree.alternatives = alternatives(&cells, &built, terms);
        layouts.clear();
    }
    let mut remarks = remarks(&cells, &built, observations.left_out(), terms);
    remarks.splice(0..0, short);
    remarks.extend(tree.alternatives.iter().copied().map(Remark::Alternative));
    let reduces = cells.iter().any(|cell| cell.cell.collective.reduces());
    if policy.assumptions.keep_bits.is_some() && reduces && !bits::is_known(release) {
        remarks.push(Remark::UnknownBits);
    }
    let laid_out = describe_layouts(&layouts, |cell| built.in_use(release, cell));
    remarks.extend((lacking > 0).then_some(Remark::NotInAllLayouts(lacking)));
    let finding = |cell: JudgedCell| {
        let in_use = built.in_use(release, &cell);
        CellFinding {
            in_use: in_use.choice_in_rules(),
            unruled: if in_use.choice_in_rules().is_builtin() { in_use } else { Candidate::Builtin },
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
        han: built.han,
        tree,
        placement: terms.placement.clone(),
        transport: None,
        parameters: Settings::new(),
        doubted: BTreeSet::new(),
        layouts: laid_out,
        layout_rules: Vec::new(),
        conduct: Vec::new(),
        remarks,
    })
}

/// Converts a view of one layout to another: a setting that switches a component off for a collective acts in all
/// layouts.
fn elsewhere(view: &View, placement: &Placement, release: Release) -> View {
    if view.displaced.is_empty() && view.left.is_empty() {
        return view.clone();
    }
    let freed: BTreeSet<_> = view.displaced.keys().map(|(collective, _)| *collective).collect();
    let (displaced, left): (Displaced, Displaced) =
        displaced(placement, release).into_iter().partition(|((collective, _), _)| freed.contains(collective));
    View { displaced, left: left.into_keys().collect(), competitors: view.competitors }
}

/// The rules under each assumption that is not made, if they differ.
fn alternatives(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> Vec<Alternative> {
    let missing = Assumption::ALL.into_iter().filter(|assumption| !terms.policy.assumptions.makes(*assumption));
    let rules_under = |assumption: Assumption| {
        let mut terms = *terms;
        terms.policy.assumptions = terms.policy.assumptions.with(assumption);
        let judged = judged_under(cells, &terms);
        let other = build(&judged, &terms);
        let differs = |cell: &&JudgedCell| other.in_use(terms.release, cell) != built.in_use(terms.release, cell);
        let cells = judged.iter().filter(differs).count();
        let (rules, gain) = (other.table.rules(), mean_gain(&judged, &other, &terms));
        (cells > 0).then_some(Alternative { assumption, made: true, rules, gain, cells })
    };
    missing.filter_map(rules_under).collect()
}

/// Refuses criteria outside of their ranges.
pub fn check(criteria: Criteria) -> Result<(), TunerError> {
    let Criteria { min_gain, error_rate, level, untested_gain, clock_step, .. } = criteria;
    let is_share = |value: f64| value.is_finite() && value >= 0.0;
    let (probability, share) = ("between 0 and 1", "a share of at least 0, such as 0.03");
    let checks = [
        ("the error rate", error_rate, (0.0..=1.0).contains(&error_rate), probability),
        ("the confidence level", level, level > 0.0 && level < 1.0, probability),
        ("the smallest gain", min_gain, is_share(min_gain), share),
        ("the smallest gain without a test", untested_gain, is_share(untested_gain), share),
        ("the clock's step", clock_step.0, is_share(clock_step.0), "seconds, at least 0"),
    ];
    match checks.into_iter().find(|(_, _, fits, _)| !fits) {
        Some((name, value, _, wanted)) => Err(TunerError::Criteria { name, value, wanted }),
        None => Ok(()),
    }
}
