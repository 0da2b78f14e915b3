//! Remarks on the measurement of a run, and on its rules.

use std::collections::BTreeSet;

use collrules_record::Manifest;
use collrules_record::findings::Findings;
use collrules_record::validation::RevertedRange;
use collrules_rules::registry;
use collrules_runner::circumstances::RULES_FILE;

/// Remarks for the findings of a run, in whole sentences.
pub(crate) fn of_run(manifest: &Manifest) -> Vec<String> {
    let Manifest { survey, plan, pins, .. } = manifest;
    let mut remarks = Vec::new();
    if manifest.is_simulated() {
        remarks.push("The times come from a cost model; they say nothing about any real machine.".to_owned());
    }
    if plan.ranks > survey.slots() {
        remarks.push(format!(
            "{} ranks ran on {} slots: the times include the operating system's scheduler, and the rules are good only \
             for oversubscribed jobs.",
            plan.ranks,
            survey.slots(),
        ));
    }
    for (name, value) in &survey.preset {
        if name == RULES_FILE {
            remarks.push(format!(
                "A rules file was active on this system, {value}. Nothing was measured with it, and the new settings \
                 replace it.",
            ));
            continue;
        }
        remarks.push(format!(
            "{name} is already set to {value} on this system, and competes with the rules file: in 5.0 and later a \
             forced algorithm beats it.",
        ));
    }
    if !pins.is_empty() {
        let settings: Vec<String> = pins.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        remarks.push(format!(
            "All times were taken with {}; the settings of the tuning include this.",
            settings.join(", "),
        ));
    }
    if pins.contains_key("coll_han_priority") {
        remarks.push(
            "Switching off Open MPI's component han affects all collectives of jobs on several hosts. Its effect was \
             not measured; measure without --disable-han to know it."
                .to_owned(),
        );
    }
    remarks
}

/// Names in a whole sentence the rules that were removed because a validation did not confirm them.
pub(crate) fn of_validation(reverted: &[RevertedRange]) -> Option<String> {
    let mut places: Vec<String> = reverted
        .iter()
        .map(|range| {
            let ranks = match (range.ranks.first, range.ranks.end) {
                (first, Some(end)) if end == first + 1 => format!("{} on {first} ranks", range.collective),
                (first, Some(end)) => format!("{} on {first} to {} ranks", range.collective, end - 1),
                (first, None) => format!("{} on {first} ranks and more", range.collective),
            };
            if range.is_settings() {
                return format!("the settings of HAN for {}", range.collective);
            }
            match range.lookup {
                (0, None) => ranks,
                (first, None) => format!("{ranks} from {first} B on"),
                (first, Some(end)) => format!("{ranks} from {first} B to {} B", end.saturating_sub(1)),
            }
        })
        .collect();
    places.dedup();
    (!places.is_empty()).then(|| {
        format!(
            "Rules removed, because they were slower in fresh launches or not confirmed (sizes as Open MPI looks them \
             up): {}.",
            places.join("; "),
        )
    })
}

/// Requirements of the chosen algorithms on programs, in whole sentences.
pub(crate) fn of_rules(findings: &Findings) -> Option<String> {
    let ranges = findings.table.collectives().flat_map(|(collective, blocks)| {
        let choices = blocks.iter().flat_map(|(_, _, sizes)| sizes.iter().map(|(_, _, choice)| *choice));
        choices.map(move |choice| (collective, choice))
    });
    let touchy = ranges.filter(|(collective, choice)| {
        let algorithm = registry::algorithm(findings.release, *collective, choice.algorithm);
        algorithm.is_ok_and(|algorithm| algorithm.wants_one_datatype(choice.segsize))
    });
    let names: BTreeSet<String> = touchy
        .map(|(collective, choice)| {
            format!("{collective} with {}", registry::describe(findings.release, collective, choice))
        })
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "MPI lets ranks describe the same data with different datatypes and counts. Programs that do so get wrong \
             data, or hang, under {}. Open MPI's own decision uses some of these algorithms too.",
            names.into_iter().collect::<Vec<_>>().join("; "),
        )
    })
}
