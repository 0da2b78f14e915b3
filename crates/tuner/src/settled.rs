//! Which parameters HAN is to have in the whole job.
//!
//! They hold for every call of a collective that HAN carries out, so that they are chosen before anything else: for each
//! set that was timed the files are found as if it were set, and the set under which all cells together do best is taken
//! if that is better by the gain that is asked for than without any.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::{Candidate, HanChoice, HanSettings};
use collrules_rules::Collective;

use crate::analysis::analyze_in;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::table::Terms;
use crate::view::View;

/// The parameters of each collective that is better off with some.
pub(crate) fn settle(
    observations: &Observations,
    terms: &Terms<'_>,
    source: &str,
) -> Result<BTreeMap<Collective, HanSettings>, TunerError> {
    let without = analyze_in(observations, &View::default(), terms, source)?;
    let timed = |cell: &CellFinding| {
        let settings = cell.points.iter().filter_map(|point| match point.candidate {
            Candidate::Han(HanChoice::Settings(settings)) => Some((cell.cell.collective, settings)),
            _ => None,
        });
        settings.collect::<Vec<_>>()
    };
    let sets: BTreeSet<(Collective, HanSettings)> = without.cells.iter().flat_map(timed).collect();
    let mut best: BTreeMap<Collective, (f64, HanSettings)> = BTreeMap::new();
    for (collective, settings) in sets {
        if terms.given_back.iter().any(|range| range.collective == collective && range.is_settings()) {
            continue;
        }
        let settled = BTreeMap::from([(collective, settings)]);
        let with = analyze_in(observations, &View::default(), &Terms { settled: &settled, ..*terms }, source)?;
        let least = mean_log_gain(&without, collective) + (1.0 + terms.criteria.min_gain).ln();
        let gain = mean_log_gain(&with, collective);
        let known = best.get(&collective).map_or(f64::NEG_INFINITY, |(known, _)| *known);
        if gain >= least && gain > known && holds(&with, collective, settings, terms) {
            best.insert(collective, (gain, settings));
        }
    }
    Ok(best.into_iter().map(|(collective, (_, settings))| (collective, settings)).collect())
}

/// The mean over the cells of a collective of the logarithms of the gains that are to be expected.
fn mean_log_gain(findings: &Findings, collective: Collective) -> f64 {
    let cells = || findings.cells.iter().filter(|cell| cell.cell.collective == collective);
    let gains = cells().filter_map(|cell| {
        let point = cell.point(cell.served_candidate())?;
        point.expected.or(point.gain.map(|gain| gain.point))
    });
    gains.map(f64::ln).sum::<f64>() / cells().count().max(1) as f64
}

/// Whether something is known to carry out every call that HAN would carry out under the parameters: no cell is left to
/// a builtin that is no more what it was.
fn holds(findings: &Findings, collective: Collective, settings: HanSettings, terms: &Terms<'_>) -> bool {
    let affected = |cell: &&CellFinding| {
        let block = (cell.cell.collective, cell.cell.ranks);
        block.0 == collective && terms.handable.contains(&block)
    };
    let given_back = terms.given_back.iter().any(|range| range.collective == collective && !range.is_settings());
    let known = |cell: &CellFinding| {
        let acts = settings.act_on(collective, cell.cell.bytes.0);
        cell.served_candidate() != Candidate::Builtin || !acts
    };
    !given_back && findings.cells.iter().filter(affected).all(known)
}

/// What is to be said about parameters that hold for a whole job.
pub(crate) fn remarks(findings: &Findings, settled: &BTreeMap<Collective, HanSettings>) -> Vec<String> {
    let remark = |(collective, settings): (&Collective, &HanSettings)| {
        let wanted = Candidate::Han(HanChoice::Settings(*settings));
        let cells = findings.cells.iter().filter(|cell| cell.cell.collective == *collective);
        let served = cells.filter(|cell| cell.served_candidate() == wanted).count();
        let pins: Vec<String> =
            settings.pins(*collective).iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!(
            "A setting of the tuning, {}, makes HAN faster in {served} cells of {collective}. It acts on {collective} in \
             every communicator that HAN serves, measured or not.",
            pins.join(" and "),
        )
    };
    settled.iter().map(remark).collect()
}
