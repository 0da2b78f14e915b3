//! Calls that now and then take many times as long, for people.

use collrules_record::irregular::{Calls, Cure, Irregular, Level, Stalls, Step};
use collrules_record::{Bytes, Candidate, Estimate};
use collrules_rules::words::{counted, listed};
use collrules_rules::{Collective, registry};

use crate::plain;
use crate::words::wrapped;

/// For a terminal of so many columns.
pub fn text(found: &Irregular, width: usize) -> String {
    let lines: Vec<String> = sentences(found).iter().flat_map(|sentence| wrapped(width, sentence, "", "  ")).collect();
    lines.join("\n") + "\n"
}

/// As Markdown, with every distribution.
pub fn markdown(found: &Irregular) -> String {
    let simulated =
        if found.simulated { " A cost model gave these times: they say nothing about any machine." } else { "" };
    let origin = format!("Measured: {} ({}).{simulated}", found.source, found.library);
    let mut text = format!("# Irregular calls\n\n{}\n\n", plain::markdown(&origin));
    text += &plain::bullets(sentences(found));
    let rows = found.points.iter().map(|calls| {
        let levels: Vec<String> = calls.levels.iter().map(level).collect();
        let by = named(found, calls.cell.collective, calls.candidate);
        let times = [calls.usual, calls.median, calls.mean, calls.p99, calls.longest].map(|time| time.to_string());
        let stalls = if levels.is_empty() { "none".to_owned() } else { listed(&levels) };
        [calls.cell.to_string(), by, calls.calls.to_string()].into_iter().chain(times).chain([stalls])
    });
    let heads = ["cell", "by", "calls", "usual", "median", "mean", "99 %", "longest", "stalls"];
    text + &format!("\n## All calls\n\n{}", plain::table(&heads, &[2, 3, 4, 5, 6, 7], rows))
}

fn sentences(found: &Irregular) -> Vec<String> {
    let mut said = Vec::new();
    for stalls in &found.stalls {
        said.push(stall(found, stalls));
        said.push(cured(found, stalls));
    }
    if found.stalls.is_empty() {
        let calls = found.points.iter().map(|calls| calls.calls).min().unwrap_or(0);
        said.push(format!(
            "No call stalls: no level of much longer calls is shown in {} of {} calls or more each.",
            counted(found.points.len(), "distribution"),
            calls
        ));
    }
    said.extend(found.steps.iter().map(|step| leap(found, *step)));
    said
}

fn stall(found: &Irregular, stalls: &Stalls) -> String {
    let Stalls { collective, ranks, candidate, first, last, quiet_below, .. } = stalls;
    let of_range = |calls: &&Calls| {
        let cell = calls.cell;
        (cell.collective, cell.ranks, calls.candidate) == (*collective, *ranks, *candidate)
            && (*first..=*last).contains(&cell.bytes)
    };
    let told: Vec<String> = found
        .points
        .iter()
        .filter(of_range)
        .filter(|calls| !calls.levels.is_empty())
        .map(|calls| {
            let levels: Vec<String> = calls.levels.iter().map(level).collect();
            format!("with {} (usually {}) by {}", calls.cell.bytes, calls.usual, listed(&levels))
        })
        .collect();
    let quiet = quiet_below.map_or("no smaller size was timed".to_owned(), |bytes| format!("up to {bytes} none"));
    format!(
        "{collective} by {} on {ranks} ranks stalls from {first} to {last} ({quiet}): {}.",
        named(found, *collective, *candidate),
        told.join("; ")
    )
}

/// How long, and how often.
fn level(level: &Level) -> String {
    let timeout = if level.is_timeout { ", TCP's timeout," } else { "" };
    let Estimate { point, low, high, .. } = level.probability;
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let ends = low.zip(high).map_or(String::new(), |(low, high)| format!(" ({} to {})", percent(low), percent(high)));
    format!("{}{timeout} in {}{ends} % of calls", level.more, percent(point))
}

fn cured(found: &Irregular, stalls: &Stalls) -> String {
    let Some(best) = stalls.cures.first() else {
        return "Nothing that was timed helps.".to_owned();
    };
    let Cure { candidate, mean, p99 } = best;
    let gathers = stalls.collective == Collective::Gather;
    let how = match candidate {
        Candidate::Mockup(_) => {
            let advice = "programs may call it in pieces; no rule can";
            match stalls.quiet_below.filter(|_| gathers) {
                Some(quiet) => format!(
                    "{}: {advice} (for M bytes, M / {} calls, rounded up, with barriers between them; {} for {})",
                    named(found, stalls.collective, *candidate),
                    quiet.0,
                    stalls.pieces.unwrap_or(1),
                    stalls.last
                ),
                None => format!("{}: {advice}", named(found, stalls.collective, *candidate)),
            }
        }
        Candidate::Tuned(choice)
            if matches!(stalls.collective, Collective::Gather | Collective::Scatter | Collective::Alltoall) =>
        {
            format!("{}: a rule for {choice}", named(found, stalls.collective, *candidate))
        }
        other => named(found, stalls.collective, *other),
    };
    format!(
        "What helps best is {how}. Means go from {} to {}, the 99th percentile from {} to {}.",
        mean.0, mean.1, p99.0, p99.1
    )
}

fn leap(found: &Irregular, step: Step) -> String {
    format!(
        "{} by {} on {} ranks leaps above {}: with {} it takes {} ({:.0} %) more than smaller sizes let expect.",
        step.collective,
        named(found, step.collective, step.candidate),
        step.ranks,
        size(step.below),
        size(step.above),
        step.height,
        step.share * 100.0
    )
}

fn size(bytes: Bytes) -> String {
    bytes.to_string()
}

/// A candidate with the name of its algorithm.
fn named(found: &Irregular, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin => "the builtin".to_owned(),
        Candidate::Tuned(choice) => registry::describe(found.release, collective, choice),
        other => other.to_string(),
    }
}
