//! What reports say in every format: the facts as texts, one place for each.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Crossover, Findings, Middle, PointFinding, Statistic};
use collrules_record::policy::Between;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Component, Handed, Manifest, Policy};
use collrules_reference::{Primitive, Reference};
use collrules_rules::hazard::RankRange;
use collrules_rules::steps::Steps;
use collrules_rules::words::counted;
use collrules_rules::{Choice, Collective, Release, hazard, registry};

use crate::words::percent;

/// What every report of simulated times says first.
pub(crate) const SIMULATED: &str = "SIMULATED: a cost model gave these times. They say nothing about any real machine.";

/// The fastest candidate that is not the builtin.
pub(crate) fn best_rival(cell: &CellFinding) -> Option<&PointFinding> {
    let rivals = cell.points.iter().filter(|point| matches!(point.candidate, Candidate::Tuned(_) | Candidate::Han(_)));
    rivals.min_by(|a, b| a.time.point.total_cmp(&b.time.point))
}

/// The name of a choice in the release that the findings are for.
pub(crate) fn name(findings: &Findings, collective: Collective, choice: Choice) -> String {
    registry::describe(findings.release, collective, choice)
}

/// The name of a candidate in the release that the findings are for.
pub(crate) fn candidate_name(findings: &Findings, collective: Collective, candidate: Candidate) -> String {
    named(findings.release, collective, candidate)
}

/// The name of a candidate in a release.
pub(crate) fn named(release: Release, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin => registry::describe(release, collective, Choice::BUILTIN),
        Candidate::Tuned(choice) => registry::describe(release, collective, choice),
        Candidate::Component(component) => format!("{component}, by its own decision"),
        Candidate::Han(choice) => format!("han, {choice}"),
        Candidate::Rules => "the rules file".to_owned(),
        Candidate::Mockup(mockup) => mockup.to_string(),
        Candidate::Reference(reference) => composed(collective, reference),
    }
}

/// A reference algorithm with what composes it, where that is not clear from the name.
fn composed(collective: Collective, reference: Reference) -> String {
    let parts: Vec<String> =
        reference.primitives(collective).unwrap_or_default().iter().map(Primitive::to_string).collect();
    format!("chan:{} ({})", reference.name(), parts.join(", "))
}

/// A crossover in words: collective, ranks, below, from, above, measured around, certain between.
pub(crate) fn crossover_row(findings: &Findings, crossover: &Crossover) -> [String; 7] {
    let side = |candidate| candidate_name(findings, crossover.collective, candidate);
    let (below, above) = crossover.sides();
    let (low, high) = crossover.bracket;
    [
        crossover.collective.to_string(),
        crossover.ranks.to_string(),
        side(below),
        format!("{}B", crossover.at.0),
        side(above),
        format!("{low} and {high}"),
        crossover.interval.map_or("-".to_owned(), |(from, to)| format!("{}B to {}B", from.0, to.0)),
    ]
}

/// What HAN's rules file says: collective, ranks, message sizes as callers pass them, who carries out the calls.
pub(crate) fn handover(findings: &Findings) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    for collective in findings.handover.collectives() {
        let Some(steps) = findings.handover.get(collective) else { continue };
        let spoken_of = steps.iter().filter(|(.., sizes)| **sizes != Steps::constant(Handed::Kept));
        for (first, end, sizes) in spoken_of {
            let ranks = RankRange { first, end }.to_string();
            for (start, end, said) in sizes.iter() {
                let by = match said {
                    Handed::Kept => "HAN, as without the file".to_owned(),
                    Handed::By(algorithm) => format!("HAN, by its algorithm {algorithm}"),
                    Handed::Over => "coll/tuned, as its rules say".to_owned(),
                };
                let sizes = match end {
                    _ if !collective.has_sizes() => "-".to_owned(),
                    Some(end) => format!("{start}B to {}B", end - 1),
                    None => format!("{start}B and more"),
                };
                rows.push([collective.to_string(), ranks.clone(), sizes, by]);
                if !collective.has_sizes() {
                    break;
                }
            }
        }
    }
    rows
}

/// What such a file does elsewhere.
pub(crate) const HANDOVER: &str = "HAN asks its file on communicators over several nodes that have several ranks on some of \
them. On one node, and with one rank on each, it does not serve; rules of coll/tuned for as many ranks act there \
nevertheless, since they do not say where ranks are.";

/// Candidates that must not be chosen: candidate, cells, why. Cells with the same reason are put together.
pub(crate) fn disqualified(findings: &Findings) -> Vec<[String; 3]> {
    /// Collective, candidate, why.
    type Key<'a> = (Collective, String, &'a str);
    let mut rows: Vec<(Key<'_>, Vec<&CellFinding>)> = Vec::new();
    for cell in &findings.cells {
        for (candidate, why) in &cell.disqualified {
            let collective = cell.cell.collective;
            let key = (collective, candidate_name(findings, collective, *candidate), why.as_str());
            match rows.iter_mut().find(|(known, _)| *known == key) {
                Some((_, cells)) => cells.push(cell),
                None => rows.push((key, vec![cell])),
            }
        }
    }
    let say = |((collective, candidate, why), cells): (Key<'_>, Vec<&CellFinding>)| {
        let place = |cell: &CellFinding| match collective.has_sizes() {
            true => format!("{} ranks at {}", cell.cell.ranks, cell.cell.bytes),
            false => format!("{} ranks", cell.cell.ranks),
        };
        let named: Vec<String> = cells.iter().take(4).map(|cell| place(cell)).collect();
        let more = match cells.len() - named.len() {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more cell")),
        };
        [format!("{collective} by {candidate}"), named.join(", ") + &more, why.to_owned()]
    };
    rows.into_iter().map(say).collect()
}

/// What one time is, as a sentence.
pub(crate) fn timing(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::RankMaximum => "A time is that of one call on its slowest rank.",
        Statistic::RankAverage => "A time is a mean over calls and ranks, which hides the slowest rank.",
        Statistic::SlowestRankSummary => "A time stands for all calls of a launch on the slowest rank.",
    }
}

/// How it was decided, in paragraphs.
pub(crate) fn method(findings: &Findings) -> Vec<String> {
    let criteria = findings.criteria;
    let gain = percent(criteria.min_gain);
    let rate = percent(criteria.error_rate);
    let false_discoveries = format!("at a false discovery rate of {rate} over all comparisons of the analysis");
    let time = timing(findings.statistic);
    let level = percent(criteria.level);
    let estimates = match criteria.middle {
        Middle::Median => format!("{time} Estimates are medians with distribution-free intervals of {level}."),
        Middle::Mean => format!(
            "{time} Estimates are means with Student intervals of {level}, and gains are ratios of means: rare slow calls \
             count for what they take. Where a rank test is named below, Student's test over the visits takes its place."
        ),
    };
    let replaced = match findings.statistic {
        Statistic::RankMaximum => format!(
            "A candidate replaces the builtin where it meets all of these criteria. The builtin takes at least {gain} \
             longer. The interval of that gain lies above 1. A paired signed-rank test over the visits confirms the \
             gain {false_discoveries}; with fewer than 6 visits no test is possible, and the builtin stays. The \
             candidate was timed in every launch in which the builtin was, and was faster in each of them. The \
             difference exceeds two steps of the clock."
        ),
        Statistic::RankAverage | Statistic::SlowestRankSummary => format!(
            "A candidate replaces the builtin where it meets all of these criteria. The builtin takes at least {gain} \
             longer. The candidate was timed in every launch in which the builtin was, and was faster in each of them. \
             With 6 launches or more, the interval of the gain lies above 1, and a Mann-Whitney test on the launches \
             confirms the gain {false_discoveries}. With fewer launches no test is possible. Then the builtin has to \
             take at least {} longer, also in the mean with the gain at neighbouring communicator sizes.",
            percent(criteria.untested_gain),
        ),
    };
    let together = match findings.statistic {
        Statistic::RankMaximum => "passes the same test over all of them together".to_owned(),
        Statistic::RankAverage | Statistic::SlowestRankSummary => format!(
            "passes the same test over all of them together, or, where no test is possible, gains {} in every launch in \
             the mean",
            percent(criteria.untested_gain)
        ),
    };
    let one_choice = format!(
        "For some collectives, such as scatter and gather, all message sizes have to share one choice. There a \
         candidate replaces the builtin at all sizes or at none. It does so where it is slower at no size, gains at \
         least {gain} in geometric mean over the measured sizes, is faster in the mean in every launch, and \
         {together}. If one size was measured, it decides for the others."
    );
    let mut method = vec![estimates, replaced, one_choice];
    let stalls = findings.cells.iter().flat_map(|cell| &cell.points).any(|point| point.stalls.is_some());
    if stalls {
        method.push(
            "A call is slow if it takes more than four times as long as the builtin usually does. A candidate that has slow \
             calls in two visits or more, more often than the builtin by an exact test (1%), and that is slower on average \
             for it, does not replace the builtin, unless `--accept-stalls` is given."
                .to_owned(),
        );
    }
    method
}

/// What is assumed of programs and of sizes that were not measured, and what could go wrong where that does not hold.
pub(crate) fn assumptions(findings: &Findings) -> Vec<String> {
    let Policy { max_regret, between, shares, assumptions } = findings.tree.policy;
    let mut said = vec![format!(
        "Neighbouring sizes share a rule where that costs no measured cell more than {} of its time.",
        percent(max_regret)
    )];
    said.push(
        match between {
            Between::Keep => "Communicator sizes between measured ones keep the builtin.",
            Between::Agree => {
                "Communicator sizes between measured ones get what both neighbours choose; where these differ, the builtin stays."
            }
            Between::Lower => "Communicator sizes between measured ones get what the next smaller one chooses.",
        }
        .to_owned(),
    );
    if !findings.layouts.is_empty() {
        said.push(match shares.is_empty() {
            true => "All layouts that were measured count alike, and none may get slower by a rule for all.".to_owned(),
            false => format!(
                "The layouts count as --weight says: {}. None that is not left out by a weight of 0 may get slower by a rule for all.",
                shares.to_string().replace(',', ", ")
            ),
        });
    }
    let operations = if assumptions.commutative_ops {
        "The rules assume that all reduction operations of your programs commute."
    } else {
        "Reduction operations need not commute: no rule chooses an algorithm that needs this."
    };
    let arguments = if assumptions.consistent_arguments {
        "The rules assume that all ranks pass the same counts and datatypes to scatter and gather, also where MPI ignores them."
    } else {
        "Ranks may pass different counts to scatter and gather where MPI ignores them; therefore all sizes share one choice."
    };
    let datatypes = if assumptions.uniform_datatypes {
        "The rules assume that all ranks describe the same data by the same counts and datatypes. Open MPI's own decision assumes this too."
    } else {
        "Ranks may describe the same data by different datatypes: no rule chooses an algorithm that fails then."
    };
    said.extend([operations, arguments, datatypes].map(str::to_owned));
    said.extend(
        hazard::check(&findings.table).iter().map(|hazard| format!("Safe under these assumptions alone: {hazard}.")),
    );
    said
}

/// Where the ranks of each communicator were, and who served them before any rule: ranks, nodes, served by.
pub(crate) fn placement(findings: &Findings) -> Vec<[String; 3]> {
    let placement = &findings.placement;
    let row = |(ranks, nodes): (&Ranks, &collrules_record::Nodes)| {
        let mut by: BTreeMap<Component, Vec<&str>> = BTreeMap::new();
        for serving in placement.serving.iter().filter(|serving| serving.ranks == *ranks) {
            by.entry(serving.by).or_default().push(serving.collective.name());
        }
        let by: Vec<String> =
            by.iter().map(|(component, names)| format!("{component}: {}", names.join(", "))).collect();
        [ranks.to_string(), nodes.to_string(), if by.is_empty() { "-".to_owned() } else { by.join("; ") }]
    };
    placement.nodes.iter().map(row).collect()
}

/// The most hosts that are all named.
const MOST_NAMED: usize = 64;

/// Hosts, or the first of many, and the last: nobody reads ten thousand names.
fn naming(hosts: &BTreeSet<&str>) -> String {
    let names = |count: usize| hosts.iter().copied().take(count).collect::<Vec<_>>().join(", ");
    match hosts.last() {
        Some(last) if hosts.len() > MOST_NAMED => {
            format!("{} hosts: {}, ..., {last}; manifest.json has all", hosts.len(), names(MOST_NAMED / 8))
        }
        _ => names(MOST_NAMED),
    }
}

/// Where the numbers come from: what, and its value.
pub(crate) fn provenance(manifest: &Manifest) -> Vec<(String, String)> {
    let survey = &manifest.survey;
    let hosts: BTreeSet<&str> = survey.hosts.iter().map(String::as_str).collect();
    let fact = |key: &str, value: String| (key.to_owned(), value);
    let mut facts = vec![
        fact("Library", survey.library.clone()),
        fact("Slots", format!("{} on {}", survey.slots(), naming(&hosts))),
        fact(
            "Measured by",
            format!("collrules {} ({}), started {}", manifest.collrules, manifest.backend, manifest.started),
        ),
        fact("Seed", manifest.plan.seed.to_string()),
        fact("Clock step", survey.clock_step.to_string()),
    ];
    facts.extend(manifest.host.iter().map(|(key, value)| fact(key, value.clone())));
    let pin = |(key, value): (&String, &String)| fact("Setting in force while measuring", format!("{key} = {value}"));
    facts.extend(manifest.pins.iter().map(pin));
    facts
}

#[cfg(test)]
mod tests {
    use collrules_record::Cell;
    use collrules_record::findings::Verdict;
    use collrules_record::units::Bytes;

    use super::*;

    #[test]
    fn cells_with_one_reason_are_put_together() {
        let why = |text: &str| vec![(Candidate::Tuned(Choice::plain(3)), text.to_owned())];
        let cell = |bytes: u64, text: &str| CellFinding {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) },
            points: Vec::new(),
            disqualified: why(text),
            verdict: Verdict::Keep { why: String::new() },
            served: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let mut cells: Vec<CellFinding> = (0..6).map(|power| cell(1 << power, "wrong data")).collect();
        cells.push(cell(64, "hangs"));
        let findings = Findings { cells, ..Findings::empty("", Release::V5_0) };
        let rows = disqualified(&findings);
        let places = "4 ranks at 1B, 4 ranks at 2B, 4 ranks at 4B, 4 ranks at 8B and 2 more cells";
        assert_eq!(rows[0], ["bcast by pipeline", places, "wrong data"].map(str::to_owned));
        assert_eq!(rows[1], ["bcast by pipeline", "4 ranks at 64B", "hangs"].map(str::to_owned));
        assert_eq!(rows.len(), 2);
    }
}
