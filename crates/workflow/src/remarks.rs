//! Remarks on the measurement of a run, and on its rules.

use std::collections::BTreeSet;

use collrules_record::Manifest;
use collrules_record::findings::Findings;
use collrules_record::options::{Jobs, Launching};
use collrules_record::remark::Remark;
use collrules_record::settings::Settings;
use collrules_rules::{Behaviour, Collective, han, registry};

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
    remarks.extend(is_han_off(&manifest.experiment.system.jobs, pins).then_some(Remark::HanOff));
    remarks
}

/// Returns true if `--disable-han` acted: settings of the user, and components that crash, pin priorities too.
fn is_han_off(jobs: &Jobs, pins: &Settings) -> bool {
    matches!(jobs, Jobs::Mpi(Launching { disable_han: true, .. }))
        && pins.get("coll_han_priority").is_some_and(|priority| priority == "0")
}

/// Rules for calls that HAN runs on several nodes, from timings that do not name the component.
pub(crate) fn of_unknown_component(findings: &Findings) -> Option<Remark> {
    let release = findings.release;
    let is_han =
        |collective: &Collective| Behaviour::latest(release).han_first && han::is_ruled(release, collective.id());
    let ruled: Vec<Collective> =
        findings.table.collectives().map(|(collective, _)| collective).filter(is_han).collect();
    (!ruled.is_empty()).then_some(Remark::HanUnknown(ruled))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_of_the_user_does_not_say_that_han_was_switched_off() {
        let pins = |priority: &str| Settings::from([("coll_han_priority".to_owned(), priority.to_owned())]);
        let jobs = |disable_han| Jobs::Mpi(Launching { disable_han, ..Launching::default() });
        assert!(is_han_off(&jobs(true), &pins("0")));
        assert!(!is_han_off(&jobs(true), &Settings::new()), "there is one host");
        assert!(!is_han_off(&jobs(true), &pins("100")));
        assert!(!is_han_off(&jobs(false), &pins("100")));
        assert!(!is_han_off(&jobs(false), &pins("0")));
    }
}
