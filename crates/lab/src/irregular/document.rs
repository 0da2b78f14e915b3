//! Rare calls that take many times as long, for people.

use std::collections::BTreeSet;

use collrules_model::stalls::{CallTimes, Irregular, Jump, StallCure, StallLevel, Stalls};
use collrules_record::{Bytes, Candidate, Cell, Estimate, Mockup, Ranks, Seconds};
use collrules_report::document::{Block, Document, legend, plots};
use collrules_report::facts::describe_failed_default;
use collrules_report::plot::{Curves, Line, Reading, Stroke, X};
use collrules_report::words::{ends, whole};
use collrules_rules::words::{counted, listed, some};
use collrules_rules::{Collective, registry};

/// The calls that stall, with their remedies, and every distribution.
pub fn document(found: &Irregular) -> Document {
    let groups: BTreeSet<_> = found.points.iter().map(|calls| (calls.cell.collective, calls.cell.ranks)).collect();
    let figures = groups.into_iter().map(|(collective, ranks)| figures(found, collective, ranks));
    let rows = found.points.iter().map(|calls| row(found, calls));
    let remedies = Block::open("remedies", "Remedies", vec![remedies(found)]);
    let calls = Block::section("calls", "All calls", vec![Block::table(HEADS, rows)]);
    let headline = match (found.default_failed.len(), found.stalls.is_empty(), found.steps.is_empty()) {
        (0, false, _) => "Some calls take many times as long".to_owned(),
        (0, true, false) => "No call stalls, but times leap".to_owned(),
        (0, true, true) => "No call stalls".to_owned(),
        (failed, ..) => format!("The default failed for {}", counted(failed, "case")),
    };
    Document {
        subject: "irregular calls".to_owned(),
        simulated: found.simulated,
        headline,
        class: if found.stalls.is_empty() && found.default_failed.is_empty() { "" } else { "open" },
        answer: sentences(found),
        origin: vec![format!("Measured: {} ({}).", found.source, found.library)],
        blocks: figures.chain([remedies, calls]).collect(),
    }
}

/// Column titles of [`row`].
const HEADS: [&str; 10] =
    ["call", "algorithm", "calls:", "usual:", "median:", "mean:", "99 %:", "longest:", "first calls", "stalls"];

/// The distribution of a point.
fn row(found: &Irregular, calls: &CallTimes) -> Vec<String> {
    let levels: Vec<String> = calls.levels.iter().map(level).collect();
    let first = calls.first.map_or("-".to_owned(), |first| match first.calls {
        1 => first.median.to_string(),
        count => format!("{} to {} ({count})", first.median, first.longest),
    });
    vec![
        calls.cell.to_string(),
        name_candidate(found, calls.cell.collective, calls.candidate),
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

/// Returns true if only a rule or calls in pieces give programs the candidate.
fn is_alternative(candidate: Candidate) -> bool {
    !matches!(candidate, Candidate::Builtin | Candidate::Mockup(Mockup::Pattern(_)))
}

/// Smallest ratio of times at which a faster algorithm is a remedy for a jump.
const WORTH: f64 = 1.03;

fn sentences(found: &Irregular) -> Vec<String> {
    let mut said: Vec<String> = describe_failed_default(&found.default_failed).into_iter().collect();
    // What programs call, then what a rule would choose.
    let (others, called): (Vec<&Stalls>, Vec<&Stalls>) =
        found.stalls.iter().partition(|stalls| is_alternative(stalls.candidate));
    said.extend(called.into_iter().map(|stalls| stall(found, stalls)));
    let others: Vec<String> = others
        .iter()
        .filter(|stalls| !matches!(stalls.candidate, Candidate::Mockup(_)))
        .map(|stalls| {
            let Stalls { collective, ranks, candidate, first, last, .. } = stalls;
            let name = name_candidate(found, *collective, *candidate);
            format!("{collective} with {name} on {ranks} ranks ({})", range(*first, *last))
        })
        .collect();
    said.extend((!others.is_empty()).then(|| format!("Other algorithms that stall: {}.", some(&others, NAMED))));
    if found.stalls.is_empty() && found.points.iter().all(|calls| calls.levels.is_empty()) {
        let calls = found.points.iter().map(|calls| calls.calls).min().unwrap_or(0);
        let sizes: BTreeSet<Bytes> = found.points.iter().map(|calls| calls.cell.bytes).collect();
        let sizes = sizes.first().zip(sizes.last()).map_or(String::new(), |(first, last)| range(*first, *last));
        said.push(format!(
            "No call stalls {sizes}: no group of much longer calls is found in {} of {calls} calls or more each.",
            counted(found.points.len(), "distribution"),
        ));
    }
    let (others, called): (Vec<&Jump>, Vec<&Jump>) =
        found.steps.iter().partition(|step| is_alternative(step.candidate));
    said.extend(called.into_iter().map(|step| leap(found, *step)));
    let more = || format!("{} of other algorithms in irregular.json.", counted(others.len(), "leap"));
    said.extend((!others.is_empty()).then(more));
    said.extend(delays(found));
    let has_levels = found.points.iter().any(|calls| !calls.levels.is_empty());
    said.extend((found.one_host && has_levels).then(|| {
        "All ranks are on one host, so there is no network between them, and no control without one: other calls and \
         sizes of the same launches are the control."
            .to_owned()
    }));
    said.extend(only_first(found));
    said
}

/// Long calls that the network is not shown to cause.
fn delays(found: &Irregular) -> Option<String> {
    let others: Vec<(&CallTimes, &StallLevel)> = found
        .points
        .iter()
        .flat_map(|calls| calls.levels.iter().map(move |level| (calls, level)))
        .filter(|(_, level)| !level.is_network())
        .collect();
    let shortest = others.iter().min_by(|a, b| a.1.more.0.total_cmp(&b.1.more.0))?.1.more;
    let longest = others.iter().max_by(|a, b| a.1.more.0.total_cmp(&b.1.more.0))?.1.more;
    let ends = if shortest == longest { shortest.to_string() } else { format!("{shortest} to {longest}") };
    let unknown = others.iter().filter(|(_, level)| level.in_control.is_none()).count();
    Some(format!(
        "Delays, not counted as stalls: {} of {ends}. {} The operating system's scheduler may cause them: leave a \
         processor free, or use a quiet machine.",
        counted(others.len(), "level"),
        describe_controls(found.one_host, others.len(), unknown),
    ))
}

/// Describes the calls with which delays were compared; for `unknown` of `all` levels there are none.
fn describe_controls(one_host: bool, all: usize, unknown: usize) -> String {
    let others = "other calls of these launches that take at least half as long";
    let (with, none) = match one_host {
        true => (others.replacen('o', "O", 1), ""),
        false => (format!("Calls inside one host, or {others},"), "no calls inside one host, and "),
    };
    match unknown {
        0 => format!("{with} show them as often."),
        _ if unknown == all => format!("There are {none}no {others}, to compare with."),
        _ => format!("{with} show them as often. For {unknown} of them there are no such calls to compare with."),
    }
}

/// Maximum number of names in a list of points left out.
const NAMED: usize = 5;

/// Describes the points of which only first calls were timed.
fn only_first(found: &Irregular) -> Option<String> {
    let left: Vec<String> = found
        .only_first
        .iter()
        .map(|(cell, by)| format!("{cell} with {}", name_candidate(found, cell.collective, *by)))
        .collect();
    (!left.is_empty()).then(|| {
        format!(
            "Left out: {}, of which only the first call of each launch was timed. Such a call includes setting up \
             connections.",
            some(&left, NAMED)
        )
    })
}

/// Describes a range of stalls, with its worst size. The table has the others.
fn stall(found: &Irregular, stalls: &Stalls) -> String {
    let Stalls { collective, ranks, candidate, first, last, quiet_below, .. } = stalls;
    let of_range = |calls: &&CallTimes| {
        let cell = calls.cell;
        (cell.collective, cell.ranks, calls.candidate) == (*collective, *ranks, *candidate)
            && (*first..=*last).contains(&cell.bytes)
    };
    let worst = found.points.iter().filter(of_range).max_by(|a, b| a.mean.0.total_cmp(&b.mean.0));
    let worst = worst.map_or(String::new(), |calls| {
        let levels: Vec<String> = calls.levels.iter().filter(|level| level.is_network()).map(level).collect();
        format!(" Worst at {} (usually {}): {}.", calls.cell.bytes, calls.usual, listed(&levels))
    });
    let quiet = quiet_below.map_or("no smaller size was timed".to_owned(), |bytes| format!("none found up to {bytes}"));
    let end = Cell { collective: *collective, ranks: *ranks, bytes: *last };
    format!(
        "{collective} with {} on {ranks} ranks stalls {} ({quiet}).{}{worst}",
        name_candidate(found, *collective, *candidate),
        range(*first, *last),
        nothing_above(found, end, *candidate),
    )
}

/// A range of sizes, or one size.
fn range(first: Bytes, last: Bytes) -> String {
    if first == last { format!("at {first}") } else { format!("from {first} to {last}") }
}

/// Says that no larger size bounds what was found.
fn nothing_above(found: &Irregular, end: Cell, candidate: Candidate) -> String {
    let is_larger = |calls: &CallTimes| {
        let cell = calls.cell;
        (cell.collective, cell.ranks, calls.candidate) == (end.collective, end.ranks, candidate)
            && cell.bytes > end.bytes
    };
    let bounded = found.points.iter().any(is_larger);
    if bounded { String::new() } else { format!(" Nothing above {} was timed.", end.bytes) }
}

/// Describes a level: delay and share of calls.
fn level(level: &StallLevel) -> String {
    let timeout = if level.is_timeout { ", TCP's timeout," } else { "" };
    let share = level.probability;
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    format!("{}{timeout} in {}{} % of calls", level.more, percent(share.point), ends(share, percent))
}

fn leap(found: &Irregular, step: Jump) -> String {
    let Jump { collective, ranks, candidate, above, height, share, .. } = step;
    format!(
        "{collective} with {} on {ranks} ranks jumps at {above}: {height} ({}) above the trend of smaller sizes.{}",
        name_candidate(found, collective, candidate),
        whole(share),
        nothing_above(found, Cell { collective, ranks, bytes: above }, candidate),
    )
}

/// The best remedy for each stall and each jump of what programs call, with mean and 99th percentile without and with it.
/// Rules can choose algorithms; all else programs have to call themselves.
fn remedies(found: &Irregular) -> Block {
    let change = |(before, after): (Seconds, Seconds)| format!("{before} to {after}");
    let row = |place: String, remedy: Option<[String; 3]>| {
        let [what, mean, p99] = remedy.unwrap_or_else(|| ["nothing that was timed", "-", "-"].map(str::to_owned));
        [place, what, mean, p99]
    };
    let stall = |stalls: &Stalls| {
        let Stalls { collective, ranks, candidate, first, last, .. } = stalls;
        let name = name_candidate(found, *collective, *candidate);
        let remedy = stalls.cures.first().map(|StallCure { candidate, longest, mean, p99 }| {
            let what = match (candidate, longest) {
                (_, Some(longest)) => {
                    let pieces = stalls.pieces.unwrap_or(1);
                    format!("calls of at most {longest}, with barriers between them ({pieces} for {last})")
                }
                (Candidate::Mockup(Mockup::Split { pieces, .. }), None) => {
                    format!("{pieces} calls of a part each, with barriers between them")
                }
                _ => name_candidate(found, *collective, *candidate),
            };
            [what, change(*mean), change(*p99)]
        });
        row(format!("{collective} with {name} on {ranks} ranks {}", range(*first, *last)), remedy)
    };
    let leap = |step: &Jump| {
        let Jump { collective, ranks, candidate, below, above, cured, .. } = step;
        let here = |calls: &&CallTimes| {
            (calls.cell.collective, calls.cell.ranks, calls.cell.bytes) == (*collective, *ranks, *above)
        };
        let own = found.points.iter().filter(here).find(|calls| calls.candidate == *candidate);
        let best = found.points.iter().filter(here).min_by(|a, b| a.mean.0.total_cmp(&b.mean.0));
        let faster = own.zip(best).filter(|(own, best)| best.mean.0 * WORTH < own.mean.0);
        let remedy = match (cured, faster) {
            (Some(cured), _) => {
                Some([format!("calls of at most {below}, up to {}", cured.last), change(cured.mean), "-".to_owned()])
            }
            (None, Some((own, best))) => Some([
                name_candidate(found, *collective, best.candidate),
                change((own.mean, best.mean)),
                change((own.p99, best.p99)),
            ]),
            (None, None) => None,
        };
        row(
            format!("{collective} with {} on {ranks} ranks at {above}", name_candidate(found, *collective, *candidate)),
            remedy,
        )
    };
    let stalls = found.stalls.iter().filter(|stalls| !is_alternative(stalls.candidate)).map(stall);
    let leaps = found.steps.iter().filter(|step| !is_alternative(step.candidate)).map(leap);
    Block::table(["call", "remedy", "mean", "99 %"], stalls.chain(leaps))
}

/// A candidate with the name of its algorithm.
fn name_candidate(found: &Irregular, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin => "the default".to_owned(),
        Candidate::Tuned(choice) => registry::describe(found.release, collective, choice),
        Candidate::Mockup(Mockup::Pattern(pattern)) => pattern.name().to_owned(),
        other => other.to_string(),
    }
}

/// A quantity of the calls of a size, drawn as a figure.
type CallQuantity = (&'static str, fn(&CallTimes) -> Seconds);

/// Median, mean (the cost of the calls), and 99th percentile (how bad it gets).
const PARTS: [CallQuantity; 3] =
    [("Median", |calls| calls.median), ("Mean", |calls| calls.mean), ("99th percentile", |calls| calls.p99)];

/// The curves of a collective on a communicator.
fn figures(found: &Irregular, collective: Collective, ranks: Ranks) -> Block {
    let own: Vec<&CallTimes> =
        found.points.iter().filter(|calls| (calls.cell.collective, calls.cell.ranks) == (collective, ranks)).collect();
    let candidates: BTreeSet<Candidate> = own.iter().map(|calls| calls.candidate).collect();
    // One axis of times for all three, so that they can be compared.
    let all = || own.iter().flat_map(|calls| PARTS.map(|(_, of)| of(calls).0));
    let times = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let lines = |of: fn(&CallTimes) -> Seconds| -> Vec<Line> {
        let mut series = 0..;
        let line = |candidate: &Candidate| {
            let reading =
                |calls: &&&CallTimes| Reading { x: calls.cell.bytes.0, time: plain(of(calls).0, found.level) };
            let stroke = match candidate {
                Candidate::Builtin => Stroke::Builtin,
                _ => Stroke::Series(series.next().unwrap_or_default()),
            };
            let mut points: Vec<Reading> =
                own.iter().filter(|calls| calls.candidate == *candidate).map(|calls| reading(&calls)).collect();
            points.sort_by_key(|point| point.x);
            Line { name: name_candidate(found, collective, *candidate), stroke, points }
        };
        candidates.iter().map(line).collect()
    };
    let pictures = PARTS.map(|(caption, of)| {
        let description =
            format!("{caption} of {collective} on {ranks} ranks over the message size, one line per alternative.");
        let curves = Curves { lines: lines(of), times: Some(times), ..Curves::new(&description, X::MessageBytes) };
        (caption.to_owned(), curves.picture())
    });
    let legend = legend(&pictures[0].1.legend);
    Block::open("", format!("{collective} on {ranks} ranks"), vec![legend, plots(pictures)])
}

/// A value without an interval.
fn plain(point: f64, level: f64) -> Estimate {
    Estimate { point, low: None, high: None, level, samples: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_without_other_calls_are_not_said_to_show_in_them() {
        for one_host in [true, false] {
            let described = [0, 1, 2].map(|unknown| describe_controls(one_host, 2, unknown));
            assert_eq!([0, 1, 2].map(|at| described[at].contains("show them as often")), [true, true, false]);
            assert!(described.iter().all(|text| text.contains("inside one host") != one_host), "{described:?}");
        }
    }
}
