//! Remarks for the reader on the data or the rules, in whole sentences.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{Criteria, Stalling, Statistic};
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::registry::describe;
use collrules_rules::words::{counted, some};
use collrules_rules::{Collective, Release};

use crate::build::TableBuild;
use crate::cells::CellTimings;
use crate::common::Block;
use crate::evidence::LEAST_VISITS;
use crate::verdict::{JudgedCell, JudgedPoint, Shortfall, describe_stalls, percent};

/// Largest number of candidates that a remark names.
const NAMED: usize = 4;

/// Remarks on data, candidates and rules, in this order.
pub(crate) fn remarks(
    cells: &[JudgedCell],
    built: &TableBuild,
    statistic: Statistic,
    left_out: usize,
    release: Release,
    criteria: Criteria,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if left_out > 0 {
        let (were, are) = if left_out == 1 { ("was", "it is") } else { ("were", "they are") };
        let timings = counted(left_out, "timing");
        remarks.push(format!("{timings} {were} left out because {are} zero by the clock."));
    }
    if statistic == Statistic::RankAverage && !cells.is_empty() {
        remarks.push(
            "The timings are averages over ranks and calls, which hide the slowest rank and the spread.".to_owned(),
        );
    }
    remarks.extend(untested(cells, statistic, criteria));
    remarks.extend(without_builtin(cells));
    remarks.extend(failures(cells, release));
    remarks.extend(barred(cells, release));
    remarks.extend(stalling(cells, release, criteria));
    remarks.extend(one_choice_rules(cells, built, release));
    if !built.table.is_empty() {
        remarks.push(
            "The default stays for communicator sizes that were not measured, and message sizes beyond the measured \
             ones, unless a remark says otherwise."
                .to_owned(),
        );
    }
    remarks
}

/// Reports the number of points that seem faster but have too few visits for a test, and the consequence.
fn untested(cells: &[JudgedCell], statistic: Statistic, criteria: Criteria) -> Option<String> {
    let promising = |point: &&JudgedPoint| point.finding.gain.is_some_and(|gain| gain.point >= 1.0 + criteria.min_gain);
    let compared = || cells.iter().flat_map(|cell| &cell.points).filter(promising);
    let all = compared().count();
    let untested = compared().filter(|point| point.finding.p_value.is_none()).count();
    let one = untested == 1;
    let consequence = match statistic {
        Statistic::RankMaximum => "the default stays there, and more time would decide".to_owned(),
        Statistic::RankAverage | Statistic::SlowestRankSummary => {
            let subject =
                if one { "it replaces the default only if it is" } else { "they replace the default only if they are" };
            format!(
                "{subject} faster by at least {}, and on average with neighbouring communicator sizes too",
                percent(criteria.untested_gain)
            )
        }
    };
    let unit = match statistic {
        Statistic::RankMaximum => "visits",
        Statistic::RankAverage | Statistic::SlowestRankSummary => "launches",
    };
    let gain = percent(criteria.min_gain);
    let subject = match (untested, all) {
        (1, 1) => format!("The only apparent gain of {gain} or more rests"),
        (1, _) => format!("1 of {all} apparent gains of {gain} or more rests"),
        (2, 2) => format!("Both apparent gains of {gain} or more rest"),
        _ if untested == all => format!("All {all} apparent gains of {gain} or more rest"),
        _ => format!("{untested} of {all} apparent gains of {gain} or more rest"),
    };
    (untested > 0).then(|| format!("{subject} on fewer than {LEAST_VISITS} {unit}, too few for a test; {consequence}."))
}

/// Reports launches without timings, and cells with fewer launches than others. Later launches leave out cells with
/// nothing left to time.
pub(crate) fn short_launches(cells: &[CellTimings], expected: u32) -> Vec<String> {
    let launches: BTreeSet<u32> = cells.iter().flat_map(CellTimings::launches).collect();
    let unfinished: Vec<usize> =
        cells.iter().filter(|cell| !cell.finished()).map(|cell| cell.launches().len()).collect();
    let mut remarks = Vec::new();
    if launches.len() < expected as usize && !unfinished.is_empty() {
        let have = if launches.len() == 1 { "has" } else { "have" };
        remarks.push(format!(
            "Only {} of {} {have} timings, so the verdicts rest on fewer timings than planned.",
            launches.len(),
            counted(expected as usize, "launch"),
        ));
    }
    // Cells added later have their own launches, as many as the others.
    let usual = if expected == 0 { launches.len() } else { launches.len().min(expected as usize) };
    let short = unfinished.iter().filter(|count| **count < usual).count();
    if short > 0 {
        let were = if short == 1 { "was" } else { "were" };
        let sizes = counted(short, "size");
        remarks.push(format!("{sizes} {were} measured in fewer launches than others."));
    }
    remarks
}

/// Cells that cannot be judged because the builtin's time is missing.
fn without_builtin(cells: &[JudgedCell]) -> Vec<String> {
    let missing = |cell: &&JudgedCell| {
        let failed = cell.disqualified.iter().any(|(candidate, _)| *candidate == Candidate::Builtin);
        !failed && cell.point(Candidate::Builtin).is_none()
    };
    let mut remarks = Vec::new();
    for block in cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let lacking: Vec<&JudgedCell> = block.iter().filter(missing).collect();
        if let Some(first) = lacking.first() {
            let others = and_others(lacking.len() - 1, "size");
            let cell = first.cell;
            remarks.push(format!("The default was not timed for {cell}{others}, so nothing can replace it there."));
        }
    }
    remarks
}

/// Candidates that failed, by collective and communicator size.
fn failures(cells: &[JudgedCell], release: Release) -> Vec<String> {
    let mut failed: BTreeMap<_, Vec<(Bytes, &str)>> = BTreeMap::new();
    for cell in cells {
        for (candidate, why) in &cell.disqualified {
            let key = (cell.cell.collective, cell.cell.ranks, *candidate);
            failed.entry(key).or_default().push((cell.cell.bytes, why));
        }
    }
    let mut remarks = Vec::new();
    for ((collective, ranks, candidate), sizes) in failed {
        let (bytes, why) = sizes[0];
        let at = if collective.has_sizes() { format!(" at {bytes}") } else { String::new() };
        let others = and_others(sizes.len() - 1, "message size");
        let consequence = match candidate {
            Candidate::Builtin => "nothing can be compared with it there".to_owned(),
            Candidate::Component(_)
            | Candidate::Han(_)
            | Candidate::Rules
            | Candidate::Mockup(_)
            | Candidate::Reference(_) => "its speed there is unknown".to_owned(),
            Candidate::Tuned(_) => format!("it is not chosen for any call on {}", counted(ranks.0 as usize, "rank")),
        };
        let ranks = counted(ranks.0 as usize, "rank");
        let name = name(release, collective, candidate);
        remarks.push(format!("{collective}: {name} failed on {ranks}{at}{others} ({why}), so {consequence}."));
    }
    remarks
}

/// Candidates that were faster than the builtin and must not be chosen for a reason other than a failure.
fn barred(cells: &[JudgedCell], release: Release) -> Vec<String> {
    let mut barred: BTreeMap<(Collective, String), (BTreeSet<Candidate>, BTreeSet<Cell>)> = BTreeMap::new();
    for cell in cells {
        for point in &cell.points {
            // Failures have a remark of their own, whether or not the candidate was fast.
            if let Some(Shortfall::Barred(bar)) = point.shortfall.as_ref().filter(|short| !short.is_failure()) {
                let (candidates, cells) = barred.entry((cell.cell.collective, bar.to_string())).or_default();
                candidates.insert(point.finding.candidate);
                cells.insert(cell.cell);
            }
        }
    }
    let remarks = barred.into_iter().map(|((collective, why), (candidates, cells))| {
        let names: Vec<String> = candidates.iter().map(|candidate| name(release, collective, *candidate)).collect();
        let sizes = counted(cells.len(), "size");
        if let [name] = &names[..] {
            return format!("{collective}: {name} is faster than the default for {sizes} but is not chosen: {why}.");
        }
        let why = why.strip_prefix("it ").map_or(why.clone(), |why| format!("each {why}"));
        format!(
            "{collective}: {} algorithms are faster than the default, for {sizes} in all, but are not chosen ({}): \
             {why}.",
            names.len(),
            some(&names, NAMED),
        )
    });
    remarks.collect()
}

/// Candidates with the better median whose rare slow calls make them slower on average.
fn stalling(cells: &[JudgedCell], release: Release, criteria: Criteria) -> Vec<String> {
    let mut found: BTreeMap<_, Vec<(Bytes, Stalling)>> = BTreeMap::new();
    for cell in cells {
        for point in &cell.points {
            // Others are not chosen anyway.
            let wins = matches!(point.shortfall, None | Some(Shortfall::Stalls(_)));
            if let Some(stalls) = point.finding.stalls.filter(|_| wins) {
                let key = (cell.cell.collective, cell.cell.ranks, point.finding.candidate);
                found.entry(key).or_default().push((cell.cell.bytes, stalls));
            }
        }
    }
    let remark = |((collective, ranks, candidate), sizes): ((Collective, Ranks, Candidate), Vec<(Bytes, Stalling)>)| {
        let (bytes, stalls) = sizes[0];
        let at = if collective.has_sizes() { format!(" at {bytes}") } else { String::new() };
        let (others, name) = (and_others(sizes.len() - 1, "message size"), name(release, collective, candidate));
        let what = if criteria.accept_stalls {
            "it may still be chosen, because of --accept-stalls"
        } else {
            "it is not chosen there (--accept-stalls would choose it, --statistic mean compares means)"
        };
        format!(
            "{collective}: the median of {name} is faster than the default's on {}{at}{others}, but {}: {what}.",
            counted(ranks.0 as usize, "rank"),
            describe_stalls(&stalls)
        )
    };
    found.into_iter().map(remark).collect()
}

/// Describes the consequences of having one choice per communicator size.
fn one_choice_rules(cells: &[JudgedCell], built: &TableBuild, release: Release) -> Vec<String> {
    let mut remarks = Vec::new();
    for block in cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let collective = block[0].cell.collective;
        let ruled = built.table.collectives().any(|(other, _)| other == collective);
        if ruled && collective.has_sizes() && built.assumptions.one_choice(release, collective, block[0].cell.ranks) {
            let reason = match collective {
                Collective::Scatter | Collective::Gather => {
                    "ranks may see different sizes of the same call and must not run different algorithms"
                }
                _ => "Open MPI does not look at the message size when it picks one",
            };
            remarks.push(format!(
                "A {collective} rule also applies to message sizes outside the measured ones, because {reason}."
            ));
        }
        if let Some(ranks) = on_ranks(&built.stretched, collective) {
            remarks.push(format!(
                "On {ranks}, a single measured message size decided for {collective} calls of every size."
            ));
        }
        if let Some(ranks) = on_ranks(&built.overruled, collective) {
            remarks.push(format!(
                "On {ranks}, {collective} keeps the default although other algorithms are faster at some message \
                 sizes. All sizes have to share one algorithm, and none is shown to be faster over all sizes and \
                 slower at none."
            ));
        }
    }
    remarks
}

/// The communicator sizes of a collective's blocks, as `4, 8 ranks`; none without blocks.
fn on_ranks(blocks: &[Block], collective: Collective) -> Option<String> {
    let sizes: Vec<Ranks> = blocks.iter().filter(|(other, _)| *other == collective).map(|(_, ranks)| *ranks).collect();
    let (last, others) = sizes.split_last()?;
    let others: String = others.iter().map(|ranks| format!("{ranks}, ")).collect();
    Some(others + &counted(last.0 as usize, "rank"))
}

/// A candidate by its name, followed by the exact choice.
fn name(release: Release, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin => "default".to_owned(),
        Candidate::Component(component) => format!("the component {component}"),
        Candidate::Rules => "the rules file".to_owned(),
        Candidate::Han(_) | Candidate::Mockup(_) | Candidate::Reference(_) => candidate.to_string(),
        Candidate::Tuned(choice) => format!("{} ({choice})", describe(release, collective, choice)),
    }
}

fn and_others(count: usize, what: &str) -> String {
    if count == 0 { String::new() } else { format!(" and {}", counted(count, &format!("other {what}"))) }
}
