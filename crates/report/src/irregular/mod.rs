//! Calls that now and then take many times as long, for people.
//!
//! | module | job |
//! |---|---|
//! | `page` | the page, with curves of medians, means and 99th percentiles |
//! | `header` | gathers and scatters in pieces, for programs in C |

mod header;
mod page;

use collrules_record::estimate::median;
use collrules_record::irregular::{Calls, Cure, Irregular, Level, Stalls, Step};
use collrules_record::{Bytes, Candidate, Estimate, Mockup};
use collrules_rules::words::{counted, listed, some};
use collrules_rules::{Collective, registry};

pub use header::header;
pub use page::page;

use crate::plain;
use crate::words::{times, wrapped};

/// For a terminal of so many columns.
pub fn text(found: &Irregular, width: usize) -> String {
    let lines: Vec<String> = sentences(found).iter().flat_map(|sentence| wrapped(width, sentence, "", "  ")).collect();
    lines.join("\n") + "\n"
}

/// As Markdown, with every distribution.
pub fn markdown(found: &Irregular) -> String {
    let mut text = format!("# Irregular calls\n\n{}\n\n", plain::markdown(&origin(found)));
    text += &plain::bullets(sentences(found));
    let rows = found.points.iter().map(|calls| row(found, calls));
    text + &format!("\n## All calls\n\n{}", plain::table(&HEADS, &[2, 3, 4, 5, 6, 7], rows))
}

fn origin(found: &Irregular) -> String {
    let simulated =
        if found.simulated { " A simulation gave these times: they say nothing about any machine." } else { "" };
    format!("Measured: {} ({}).{simulated}", found.source, found.library)
}

/// What the columns of [`row`] are.
const HEADS: [&str; 10] =
    ["cell", "by", "calls", "usual", "median", "mean", "99 %", "longest", "first calls", "stalls"];

/// The distribution of a point.
fn row(found: &Irregular, calls: &Calls) -> Vec<String> {
    let levels: Vec<String> = calls.levels.iter().map(level).collect();
    let first = calls.first.map_or("-".to_owned(), |first| match first.calls {
        1 => first.median.to_string(),
        count => format!("{} to {} ({count})", first.median, first.longest),
    });
    vec![
        calls.cell.to_string(),
        named(found, calls.cell.collective, calls.candidate),
        calls.calls.to_string(),
        calls.usual.to_string(),
        calls.median.to_string(),
        calls.mean.to_string(),
        calls.p99.to_string(),
        calls.longest.to_string(),
        first,
        if levels.is_empty() { "none".to_owned() } else { listed(&levels) },
    ]
}

/// How much less is worth a word.
const WORTH: f64 = 1.03;

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
    said.extend(firsts(found));
    said.extend(only_first(found));
    said
}

/// How many of what is left out are named.
const NAMED: usize = 5;

/// What only first calls were timed of.
fn only_first(found: &Irregular) -> Option<String> {
    let left: Vec<String> =
        found.only_first.iter().map(|(cell, by)| format!("{cell} by {}", named(found, cell.collective, *by))).collect();
    (!left.is_empty()).then(|| {
        format!(
            "Only the first call of each launch was timed of {}, which says what connections cost. They are left out.",
            some(&left, NAMED)
        )
    })
}

/// What the first call of a launch takes, which is not among the others.
fn firsts(found: &Irregular) -> Option<String> {
    let over = |calls: &Calls| Some((calls.first?, calls.first?.median.0 / calls.usual.0));
    let mut ratios: Vec<f64> = found.points.iter().filter_map(|calls| Some(over(calls)?.1)).collect();
    let middle = median(&mut ratios)?;
    let worst = found.points.iter().max_by(|a, b| {
        let ratio = |calls: &Calls| over(calls).map_or(0.0, |(_, ratio)| ratio);
        ratio(a).total_cmp(&ratio(b))
    })?;
    let (first, ratio) = over(worst)?;
    Some(format!(
        "The first timed call of a launch, which is not among the others, takes {} as long as usual in the median, and {} for {} by \
         {} ({} instead of {}).",
        times(middle),
        times(ratio),
        worst.cell,
        named(found, worst.cell.collective, worst.candidate),
        first.median,
        worst.usual
    ))
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
    let instead = match stalls.candidate {
        Candidate::Mockup(Mockup::Pattern(pattern)) => format!(
            " No rule can be made for {}; programs whose counts are equal may call {} instead.",
            pattern.name(),
            stalls.collective
        ),
        _ => String::new(),
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
        "What helps best is {how}. Means go from {} to {}, the 99th percentile from {} to {}.{instead}",
        mean.0, mean.1, p99.0, p99.1
    )
}

fn leap(found: &Irregular, step: Step) -> String {
    let at_leap: Vec<&Calls> = found
        .points
        .iter()
        .filter(|calls| {
            let cell = calls.cell;
            (cell.collective, cell.ranks, cell.bytes) == (step.collective, step.ranks, step.above)
        })
        .collect();
    let own = at_leap.iter().find(|calls| calls.candidate == step.candidate);
    let best = at_leap.iter().min_by(|a, b| a.mean.0.total_cmp(&b.mean.0));
    let instead = match own.zip(best) {
        Some((own, best)) if best.mean.0 * WORTH < own.mean.0 => format!(
            " On average {} takes least there: {} instead of {}.",
            named(found, step.collective, best.candidate),
            best.mean,
            own.mean
        ),
        _ => " Nothing that was timed takes less there.".to_owned(),
    };
    format!(
        "{} by {} on {} ranks leaps above {}: with {} it takes {} ({:.0} %) more than smaller sizes let expect.{instead}",
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
        Candidate::Mockup(Mockup::Pattern(pattern)) => pattern.name().to_owned(),
        other => other.to_string(),
    }
}
