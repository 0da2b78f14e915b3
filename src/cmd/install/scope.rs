//! Calls that an installed tuning acts on, next to those that were measured.

use std::collections::BTreeMap;

use collrules_record::findings::Findings;
use collrules_record::{Manifest, Nodes, Ranks, Tuning, manifest};
use collrules_rules::hazard::RankRange;
use collrules_rules::words::{counted, listed, some};
use collrules_rules::{Choice, steps::Steps};

/// Communicator sizes that a sentence names at most.
const NAMED: usize = 6;

/// Describes what a tuning acts on, in whole sentences.
pub(in crate::cmd) fn describe_scope(findings: &Findings, tuning: &Tuning) -> Vec<String> {
    let mut said = Vec::new();
    if !tuning.has_no_rules() {
        let ranges: Vec<String> = ruled_ranks(tuning).iter().map(ToString::to_string).collect();
        let nodes = measured(findings, tuning);
        let places: Vec<String> = nodes.values().map(|nodes| describe(nodes)).collect();
        let measured = match places.is_empty() {
            true => "on unknown nodes".to_owned(),
            false => format!("on {}", some(&places, NAMED)),
        };
        // Where other layouts of ranks were not measured, a rule may lose there.
        let others = match nodes.values().filter(|nodes| nodes.0.len() == 1).count() {
            _ if !findings.layout_rules.is_empty() => "",
            0 => ", also within a node",
            within if within == nodes.len() => ", also between nodes",
            _ => ", within a node and between nodes",
        };
        said.push(format!("The rules act on every communicator of {}{others}; measured {measured}.", listed(&ranges)));
    }
    if !tuning.parameters.is_empty() {
        let settings: Vec<String> = tuning.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        said.push(format!("The settings act on all messages of all programs: {}.", listed(&settings)));
    }
    said
}

/// Differences between the machine at hand, with a host for each slot, and the one that was measured: with them, gains and
/// the absence of losses are not known here. Add further properties of machines here.
pub(in crate::cmd) fn list_mismatches(
    findings: &Findings,
    manifest: Option<&Manifest>,
    tuning: &Tuning,
    hosts: &[String],
) -> Vec<String> {
    let mut differences: Vec<String> = manifest.and_then(other_processors).into_iter().collect();
    let slots = hosts.len() as u32;
    let several = !findings.layouts.is_empty() || !findings.layout_rules.is_empty();
    let measured = measured(findings, tuning).into_iter().filter(|(ranks, _)| !several && ranks.0 <= slots);
    let others = measured.filter_map(|(ranks, nodes)| {
        let here = findings.placement.layout.nodes(hosts, ranks);
        (here != *nodes && nodes.0.iter().sum::<u32>() == ranks.0)
            .then(|| format!("{}: on {} then, on {} here", counted(ranks.0, "rank"), describe(nodes), describe(&here)))
    });
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        differences.push(format!("Communicators have another layout here ({}).", some(&others, NAMED)));
    }
    differences
}

/// A host for each processor here: jobs of one node are what is known without a launch.
pub(in crate::cmd) fn hosts_here() -> Vec<String> {
    let here = manifest::host();
    let processors = here.get("Processors").and_then(|count| count.parse().ok()).unwrap_or(0);
    vec![here.get("Host").cloned().unwrap_or_default(); processors]
}

/// `4 hosts x 1`.
fn describe(Nodes(ranks): &Nodes) -> String {
    let hosts = counted(ranks.len(), "host");
    match (ranks.iter().min(), ranks.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("{hosts} x {most}"),
        (Some(least), Some(most)) => format!("{hosts} x {least} to {most}"),
        _ => hosts,
    }
}

/// The nodes of the measured communicators that rules act on.
fn measured<'a>(findings: &'a Findings, tuning: &Tuning) -> BTreeMap<Ranks, &'a Nodes> {
    let ruled = ruled_ranks(tuning);
    let nodes = findings.placement.nodes.iter().filter(|(ranks, _)| ruled.iter().any(|range| range.holds(**ranks)));
    nodes.map(|(ranks, nodes)| (*ranks, nodes)).collect()
}

/// The communicator sizes that have rules, also those of HAN.
pub(in crate::cmd) fn ruled_ranks(tuning: &Tuning) -> Vec<RankRange> {
    let table = tuning.table();
    let is_ruled = |sizes: &Steps<Choice>| sizes.iter().any(|(.., choice)| !choice.is_builtin());
    let blocks = table.collectives().flat_map(|(_, steps)| steps.iter().filter(|(.., sizes)| is_ruled(sizes)));
    let mut ranges: Vec<RankRange> = blocks.map(|(first, end, _)| RankRange { first, end }).collect();
    let han = tuning.han_rules();
    for collective in han.collectives() {
        let steps = han.get(collective).into_iter().flat_map(|steps| steps.iter());
        let changed = steps.filter(|(.., sizes)| **sizes != Steps::constant(collrules_record::HanRule::Default));
        ranges.extend(changed.map(|(first, end, _)| RankRange { first, end }));
    }
    ranges.sort_unstable_by_key(|range| (range.first, range.end));
    ranges.dedup();
    ranges
}

/// A sentence if a run was measured on other hosts, with other processors.
fn other_processors(manifest: &Manifest) -> Option<String> {
    let here = manifest::host();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let host = short(here.get("Host")?);
    let measured = manifest.host.get("Host").into_iter().chain(&manifest.survey.hosts);
    let same_kind = here.get("Processor").is_some_and(|processor| manifest.host.get("Processor") == Some(processor));
    if same_kind || measured.into_iter().any(|name| short(name) == host) {
        return None;
    }
    let unknown = "an unknown host".to_owned();
    let there = manifest.host.get("Host").unwrap_or(&unknown);
    Some(format!("It was measured on another machine: {there} and {host} have different processors."))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use collrules_record::Layout;
    use collrules_record::tuning::RulesFile;
    use collrules_rules::Release;

    use super::*;

    #[test]
    fn rules_that_were_measured_between_hosts_are_refused_within_one() {
        let text = b"1\n7\n1\n4\n1\n0 6 0 0\n".to_vec();
        let tuning =
            Tuning { tuned: Some(RulesFile::of_tuned(PathBuf::from("rules.conf"), text)), ..Tuning::default() };
        let mut findings = Findings::empty("", Release::V5_0);
        findings.placement.nodes.insert(Ranks(4), Nodes(vec![1; 4]));
        findings.placement.layout = Layout::default();
        let here = |host: [&str; 4]| list_mismatches(&findings, None, &tuning, &host.map(str::to_owned));
        assert_eq!(here(["a", "b", "c", "d"]), [""; 0]);
        assert_eq!(here(["a", "a", "a", "a"]).len(), 1);
        assert_eq!(list_mismatches(&findings, None, &tuning, &["a".to_owned()]), [""; 0], "4 ranks do not fit here");
        assert!(describe_scope(&findings, &tuning)[0].ends_with(", also within a node; measured on 4 hosts x 1."));
        findings.placement.nodes.insert(Ranks(4), Nodes(vec![4]));
        assert!(describe_scope(&findings, &tuning)[0].ends_with(", also between nodes; measured on 1 host x 4."));
    }
}
