//! What runs of a program without and with a tuning showed, for a terminal.

use collrules_record::Seconds;
use collrules_record::tried::{Metric, Tried};
use collrules_record::validation::Outcome;
use collrules_rules::words::counted;

use crate::plain;
use crate::terminal::aligned;
use crate::words::{percent, ratio, times, wrapped};

/// All of it, for a terminal of so many columns.
pub fn text(tried: &Tried, width: usize) -> String {
    let mut lines = vec![aligned(width, &["pair", "without", "with", "gain"], rows(tried), &[0, 1, 2, 3])];
    lines.push(String::new());
    for sentence in sentences(tried) {
        lines.extend(wrapped(width, &sentence, "", ""));
    }
    lines.join("\n") + "\n"
}

fn value(tried: &Tried, value: f64) -> String {
    match tried.metric {
        Metric::WallTime => Seconds(value).to_string(),
        Metric::Printed { .. } => value.to_string(),
    }
}

fn rows(tried: &Tried) -> Vec<Vec<String>> {
    let last = tried.runs.iter().map(|run| run.pair).max().map_or(0, |last| last + 1);
    let row = |pair: u32| {
        let side = |with: bool| {
            let run = tried.runs.iter().find(|run| run.pair == pair && run.with == with);
            run.map_or("-".to_owned(), |run| run.value.map_or("failed".to_owned(), |found| value(tried, found)))
        };
        let gain = tried.judgement.pairs.iter().find(|(of, _)| *of == pair);
        vec![(pair + 1).to_string(), side(false), side(true), gain.map_or("-".to_owned(), |(_, gain)| times(*gain))]
    };
    (0..last).map(row).collect()
}

/// The answer.
pub fn sentences(tried: &Tried) -> Vec<String> {
    let (judgement, subject) = (&tried.judgement, tried.subject());
    let what = match &tried.metric {
        Metric::WallTime => "by its wall time".to_owned(),
        Metric::Printed { pattern, higher_is_better } => {
            let better = if *higher_is_better { "higher" } else { "lower" };
            format!("by what it prints for `{}` ({better} is better)", plain::line(pattern))
        }
    };
    let mut said = Vec::new();
    for run in tried.failures() {
        let side = if run.with { "with" } else { "without" };
        let why = run.failed.as_deref().unwrap_or_default();
        said.push(format!(
            "The run {side} {subject} of pair {} failed and counts for nothing: {}. Its output is in {}.",
            run.pair + 1,
            plain::line(why),
            run.output
        ));
    }
    let gain = judgement.gain.map_or(String::new(), |gain| {
        let level = gain.low.map_or(String::new(), |_| format!(", {} interval", percent(gain.level)));
        format!(": {}{level}", ratio(gain))
    });
    let pairs = counted(judgement.pairs.len(), "pair");
    let least = percent(tried.criteria.min_difference);
    let rate = percent(tried.criteria.error_rate);
    said.push(match (judgement.outcome, judgement.clear) {
        _ if judgement.pairs.is_empty() => "No pair of runs is whole: nothing is shown.".to_owned(),
        (Outcome::Faster, _) => {
            format!("The program is faster with {subject}{gain}, {what}, in {pairs} of runs. Such a verdict is wrong in at most {rate} of cases.")
        }
        (Outcome::Slower, _) => {
            format!("The program is SLOWER with {subject}{gain}, {what}, in {pairs} of runs. Such a verdict is wrong in at most {rate} of cases.")
        }
        (_, true) => format!("It is clear that {subject} makes no difference of {least} to this program{gain}, {what}, in {pairs} of runs."),
        (_, false) => {
            let further = judgement.further.map_or(
                "runs differ too much among themselves for any reasonable number of pairs".to_owned(),
                |further| format!("about {} more would be needed", counted(further as usize, "pair")),
            );
            format!("It is not clear whether {subject} makes a difference of {least} to this program{gain}, {what}, in {pairs} of runs: {further}.")
        }
    });
    if let Some([without, with]) = tried.collectives {
        said.push(format!(
            "The mean rank spends {without} in collectives without the tuning and {with} with it (one further run each, with \
             the profiler)."
        ));
    }
    said
}
