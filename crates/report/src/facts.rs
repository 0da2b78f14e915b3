//! Facts for reports of all formats, as texts.

use std::collections::{BTreeMap, BTreeSet};

use collrules_program::{Primitive, Reference};
use collrules_record::criteria::Middle;
use collrules_record::findings::{CellFinding, Crossover, Findings, PointFinding, Statistic};
use collrules_record::transport::Transport;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell, Component, HanRule, Manifest, Policy};
use collrules_rules::hazard::RankRange;
use collrules_rules::steps::Steps;
use collrules_rules::words::{listed, some};
use collrules_rules::{Choice, Collective, Release, hazard, registry};

use crate::document::{Block, Table};
use crate::words::percent;

/// The fastest candidate that is not the builtin.
pub(crate) fn best_alternative(cell: &CellFinding) -> Option<&PointFinding> {
    let competitors =
        cell.points.iter().filter(|point| matches!(point.candidate, Candidate::Tuned(_) | Candidate::Han(_)));
    competitors.min_by(|a, b| a.time.point.total_cmp(&b.time.point))
}

/// The name of a candidate in the release that the findings are for.
pub(crate) fn candidate_name(findings: &Findings, collective: Collective, candidate: Candidate) -> String {
    name_candidate(findings.release, collective, candidate)
}

/// The name of a candidate in a release.
pub fn name_candidate(release: Release, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin => registry::describe(release, collective, Choice::BUILTIN),
        Candidate::Tuned(choice) => registry::describe(release, collective, choice),
        Candidate::Component(component) => format!("{component}, with its default"),
        Candidate::Han(choice) => format!("han, {choice}"),
        Candidate::Rules => "the rules file".to_owned(),
        Candidate::Mockup(mockup) => mockup.to_string(),
        Candidate::Reference(reference) => composed(collective, reference),
    }
}

/// A reference algorithm with its parts, if the name does not tell them.
fn composed(collective: Collective, reference: Reference) -> String {
    let parts: Vec<String> =
        reference.primitives(collective).unwrap_or_default().iter().map(Primitive::to_string).collect();
    format!("chan:{} ({})", reference.name(), parts.join(", "))
}

/// A crossover in words: ranks, choice below, size, choice above, measured sizes around it, interval.
pub(crate) fn crossover_row(findings: &Findings, crossover: &Crossover) -> [String; 6] {
    let side = |candidate| candidate_name(findings, crossover.collective, candidate);
    let (below, above) = crossover.sides();
    let (low, high) = crossover.bracket;
    [
        crossover.ranks.to_string(),
        side(below),
        format!("{} B", crossover.at.0),
        side(above),
        format!("{low} and {high}"),
        // Ends that are the change itself are those of a range without rules, which no timing places.
        crossover
            .interval
            .filter(|(from, to)| from < to)
            .map_or("-".to_owned(), |(from, to)| format!("{} B and {} B", from.0, to.0)),
    ]
}

/// The contents of HAN's rules file, with the message sizes that callers pass, and what carries out the calls.
pub(crate) fn handover(findings: &Findings) -> Block {
    let mut rows = Vec::new();
    for collective in findings.han.collectives() {
        let Some(steps) = findings.han.get(collective) else { continue };
        let spoken_of = steps.iter().filter(|(.., sizes)| **sizes != Steps::constant(HanRule::Default));
        for (first, end, sizes) in spoken_of {
            let ranks = RankRange { first, end }.to_string();
            for (start, end, said) in sizes.iter() {
                let by = match said.algorithm() {
                    Some(algorithm) => format!("HAN, with its algorithm {algorithm}"),
                    None if *said == HanRule::Delegate => "coll/tuned, with its rules".to_owned(),
                    None => "HAN, unchanged".to_owned(),
                };
                let sizes = match end {
                    _ if !collective.has_sizes() => "-".to_owned(),
                    Some(end) => format!("{start} B to {} B", end - 1),
                    None => format!("{start} B and more"),
                };
                rows.push([collective.to_string(), ranks.clone(), sizes, by]);
                if !collective.has_sizes() {
                    break;
                }
            }
        }
    }
    Block::Table(Table::new(["collective", "ranks", "message sizes", "runs in"], rows).about(HANDOVER))
}

/// Scope of HAN's rules file.
const HANDOVER: &str = "HAN uses its file for communicators on several nodes, with several ranks on at \
                                   least one of them. On one node, or with one rank per node, HAN does not run. Rules \
                                   of coll/tuned for as many ranks apply there too, since they do not say where ranks \
                                   are.";

/// Describes the cells in which the default failed or gave wrong data.
pub fn describe_failed_default(failed: &[(Cell, String)]) -> Option<String> {
    let calls: Vec<String> = failed.iter().map(|(cell, why)| format!("{cell} ({why})")).collect();
    (!failed.is_empty()).then(|| format!("WRONG: the default itself failed, and was left out, for {}.", listed(&calls)))
}

/// Warns of messages that take other paths in jobs here than when a tuning was measured.
pub fn describe_other_transport(measured: &Option<Transport>, here: &Option<Transport>) -> Option<String> {
    let (then, now) = Transport::change(measured, here)?;
    Some(format!(
        "ANOTHER TRANSPORT: it was measured over {then}, and jobs here use {now}. Other rules may be best here."
    ))
}

/// Candidates that must not be chosen: candidate, cells, reason. Cells with the same reason are joined.
pub(crate) fn disqualified(findings: &Findings) -> Vec<[String; 3]> {
    let mut places: BTreeMap<(Collective, String, &str), Vec<String>> = BTreeMap::new();
    for cell in &findings.cells {
        let Cell { collective, ranks, bytes } = cell.cell;
        let sized = if collective.has_sizes() { format!("{bytes} on ") } else { String::new() };
        for (candidate, why) in &cell.disqualified {
            let key = (collective, candidate_name(findings, collective, *candidate), why.as_str());
            places.entry(key).or_default().push(format!("{sized}{ranks} ranks"));
        }
    }
    let row = |((collective, candidate, why), places): ((Collective, String, &str), Vec<String>)| {
        [format!("{collective} with {candidate}"), some(&places, 4), why.to_owned()]
    };
    places.into_iter().map(row).collect()
}

/// Describes the meaning of a time, in a sentence.
pub(crate) fn timing(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::RankMaximum => "A time is that of one call on its slowest rank.",
        Statistic::RankAverage => "A time is a mean over calls and ranks, which hides the slowest rank.",
        Statistic::SlowestRankSummary => "A time summarizes all calls of a launch on the slowest rank.",
    }
}

/// Criteria of the decisions; METHODOLOGY.md says what they mean.
pub(crate) fn method(findings: &Findings) -> [[String; 2]; 7] {
    let criteria = findings.criteria;
    let is_run = findings.statistic == Statistic::RankMaximum;
    let test = match (is_run, criteria.middle) {
        (_, Middle::Mean) => "Student's test on means",
        (true, Middle::Median) => "signed-rank test over visits, at least 6",
        (false, Middle::Median) => "Student's test over launches, at least 6",
    };
    let untested = if is_run { "the default stays".to_owned() } else { percent(criteria.untested_gain) };
    let stalls = if criteria.accept_stalls { "accepted" } else { "exclude an algorithm" };
    [
        ["times", timing(findings.statistic)].map(str::to_owned),
        ["gain that replaces the default".to_owned(), percent(criteria.min_gain)],
        ["test", test].map(str::to_owned),
        ["gain that suffices if there are too few times for a test".to_owned(), untested],
        ["false discovery rate".to_owned(), percent(criteria.error_rate)],
        ["confidence of intervals".to_owned(), percent(criteria.level)],
        ["slow calls that make it slower on average (--accept-stalls)", stalls].map(str::to_owned),
    ]
}

/// Assumptions of the rules about programs, and their choices between measured sizes.
pub(crate) fn assumptions(findings: &Findings) -> Vec<[String; 2]> {
    let Policy { max_regret, between, assumptions } = findings.tree.policy;
    let made = |what: &str, is_made: bool| [what, if is_made { "assumed" } else { "not assumed" }].map(str::to_owned);
    let bits = assumptions.keep_bits.map_or("may change".to_owned(), |keep| keep.to_string());
    let mut rows = vec![
        ["largest loss of a size that shares a rule (--max-regret)".to_owned(), percent(max_regret)],
        ["communicator sizes between measured ones (--between)".to_owned(), between.to_string()],
        made("all reduction operations commute", assumptions.commutative_ops),
        made(
            "all ranks pass the same counts and datatypes to scatter and gather, also those that MPI ignores",
            assumptions.consistent_arguments,
        ),
        made("all ranks describe the same data with the same counts and datatypes", assumptions.uniform_datatypes),
        ["order in which sums add up (--keep-bits)".to_owned(), bits],
    ];
    rows.extend(hazard::check(&findings.table).iter().map(|hazard| ["hazard".to_owned(), hazard.to_string()]));
    rows
}

/// Returns the placement of each communicator's ranks, and the components that it uses by default: ranks, nodes,
/// components.
pub(crate) fn placement(findings: &Findings) -> Vec<[String; 3]> {
    let placement = &findings.placement;
    let row = |(ranks, nodes): (&Ranks, &collrules_record::Nodes)| {
        let mut by: BTreeMap<Component, Vec<&str>> = BTreeMap::new();
        for running in placement.running.iter().filter(|running| running.ranks == *ranks) {
            by.entry(running.by).or_default().push(running.collective.name());
        }
        let by: Vec<String> =
            by.iter().map(|(component, names)| format!("{component}: {}", names.join(", "))).collect();
        [ranks.to_string(), nodes.to_string(), if by.is_empty() { "-".to_owned() } else { by.join("; ") }]
    };
    placement.nodes.iter().map(row).collect()
}

/// Hosts that are named at most; manifest.json has all.
const MOST_NAMED: usize = 64;

/// Returns the origin of the numbers: key and value of each fact.
pub(crate) fn provenance(manifest: &Manifest) -> Vec<(String, String)> {
    let survey = &manifest.survey;
    let hosts: BTreeSet<String> = survey.hosts.iter().cloned().collect();
    let hosts = some(&hosts.into_iter().collect::<Vec<_>>(), MOST_NAMED);
    let fact = |key: &str, value: String| (key.to_owned(), value);
    let mut facts = vec![
        fact("Library", survey.library.clone()),
        fact("Slots", format!("{} on {hosts}", survey.slots())),
        fact(
            "Measured by",
            format!("collrules {} ({}), started {}", manifest.collrules, manifest.backend, manifest.started),
        ),
        fact("Seed", manifest.plan.seed.to_string()),
        fact("Clock step", survey.clock_step.to_string()),
    ];
    let transport = || survey.transport.as_ref().map_or_else(|| "unknown".to_owned(), Transport::to_string);
    facts.extend((!manifest.is_simulated()).then(|| fact("Transport", transport())));
    facts.extend(manifest.host.iter().map(|(key, value)| fact(key, value.clone())));
    let pin = |(key, value): (&String, &String)| fact("Setting active while measuring", format!("{key} = {value}"));
    facts.extend(manifest.pins.iter().map(pin));
    facts
}

#[cfg(test)]
mod tests {
    use collrules_record::Cell;
    use collrules_record::findings::Verdict;
    use collrules_record::reason::KeepReason;
    use collrules_record::units::Bytes;

    use super::*;

    #[test]
    fn cells_with_one_reason_are_put_together() {
        let why = |text: &str| vec![(Candidate::Tuned(Choice::plain(3)), text.to_owned())];
        let cell = |bytes: u64, text: &str| CellFinding {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) },
            points: Vec::new(),
            disqualified: why(text),
            verdict: Verdict::Keep { why: KeepReason::NothingTimed },
            in_use: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let mut cells: Vec<CellFinding> = (0..6).map(|power| cell(1 << power, "wrong data")).collect();
        cells.push(cell(64, "hangs"));
        let findings = Findings { cells, ..Findings::empty("", Release::V5_0) };
        let rows = disqualified(&findings);
        let places = "1 B on 4 ranks, 2 B on 4 ranks, 4 B on 4 ranks, 8 B on 4 ranks and 2 more";
        assert_eq!(rows[0], ["bcast with pipeline", "64 B on 4 ranks", "hangs"].map(str::to_owned));
        assert_eq!(rows[1], ["bcast with pipeline", places, "wrong data"].map(str::to_owned));
        assert_eq!(rows.len(), 2);
    }
}
