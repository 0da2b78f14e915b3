//! Remarks on the measurement of a run, and on its rules.

use std::collections::BTreeSet;

use collrules_record::Manifest;
use collrules_record::findings::Findings;
use collrules_record::remark::Remark;
use collrules_rules::registry;

/// Remarks for the findings of a run.
pub(crate) fn of_run(manifest: &Manifest) -> Vec<Remark> {
    let Manifest { survey, plan, pins, .. } = manifest;
    let mut remarks = Vec::new();
    remarks.extend(manifest.is_simulated().then_some(Remark::Simulated));
    let (ranks, slots) = (plan.ranks, survey.slots());
    remarks.extend((ranks > slots).then_some(Remark::Oversubscribed { ranks, slots }));
    let preset = survey.preset.iter().map(|(name, value)| (name.clone(), value.clone()));
    remarks.extend(preset.map(|(name, value)| Remark::Preset { name, value }));
    remarks.extend((!pins.is_empty()).then(|| Remark::Pins(pins.clone())));
    remarks.extend(pins.contains_key("coll_han_priority").then_some(Remark::HanOff));
    remarks
}

/// Requirements of the chosen algorithms on programs.
pub(crate) fn of_rules(findings: &Findings) -> Option<Remark> {
    let ranges = findings.table.collectives().flat_map(|(collective, blocks)| {
        let choices = blocks.iter().flat_map(|(_, _, sizes)| sizes.iter().map(|(_, _, choice)| *choice));
        choices.map(move |choice| (collective, choice))
    });
    let touchy = ranges.filter(|(collective, choice)| {
        let algorithm = registry::algorithm(findings.release, *collective, choice.algorithm);
        algorithm.is_ok_and(|algorithm| algorithm.wants_one_datatype(choice.segsize))
    });
    let choices: BTreeSet<_> = touchy.collect();
    (!choices.is_empty()).then_some(Remark::Datatypes(choices))
}
