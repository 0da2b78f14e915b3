//! Result of runs of a program without and with a tuning, for a terminal.

use collrules_record::Seconds;
use collrules_record::validation::Outcome;
use collrules_rules::words::counted;
use collrules_tuner::results::ab_test::{AbTest, OutputComparison, RunMetric};

use crate::document::{Block, Document};
use crate::words::{percent, ratio, times};

/// Every pair of runs, and the answer.
pub fn document(tried: &AbTest) -> Document {
    let pairs = Block::table(["pair:", "without:", "with:", "gain:"], rows(tried));
    Document { subject: "A/B test".to_owned(), answer: sentences(tried), blocks: vec![pairs], ..Document::default() }
}

/// The value of one run of a pair, which is numbered from 0 on.
pub fn describe_run(tried: &AbTest, pair: u32, with: bool) -> String {
    let run = tried.runs.iter().find(|run| run.pair == pair && run.with == with);
    match run.map(|run| (run.value, &tried.metric)) {
        Some((Some(value), RunMetric::WallTime)) => Seconds(value).to_string(),
        Some((Some(value), RunMetric::Printed { .. })) => value.to_string(),
        Some((None, _)) => "failed".to_owned(),
        None => "-".to_owned(),
    }
}

fn rows(tried: &AbTest) -> impl Iterator<Item = [String; 4]> {
    let last = tried.runs.iter().map(|run| run.pair).max().map_or(0, |last| last + 1);
    let row = move |pair: u32| {
        let [without, with] = [false, true].map(|with| describe_run(tried, pair, with));
        let gain = tried.judgement.pairs.iter().find(|(of, _)| *of == pair);
        [(pair + 1).to_string(), without, with, gain.map_or("-".to_owned(), |(_, gain)| times(*gain))]
    };
    (0..last).map(row)
}

/// Comparison of the runs' output.
fn describe_output(tried: &AbTest) -> Option<String> {
    let (subject, file) = (tried.describe_subject(), tried.same_output.as_deref()?);
    let file = if file == "-" { "What it prints".to_owned() } else { file.to_owned() };
    let runs = counted(tried.runs.iter().filter(|run| run.digest.is_some()).count(), "run");
    Some(match tried.compare_written()? {
        OutputComparison::Same => format!("{file} has the same bytes with {subject} and without it ({runs})."),
        OutputComparison::Different => format!("{file} has OTHER bytes with {subject} than without it ({runs})."),
        OutputComparison::Varying => {
            format!("{file} differs from run to run, also with the same tuning: it cannot be compared.")
        }
        OutputComparison::Unknown => format!("{file} was not compared: each side needs two runs that succeed."),
    })
}

/// The answer.
fn sentences(tried: &AbTest) -> Vec<String> {
    let (judgement, subject) = (&tried.judgement, tried.describe_subject());
    let what = match &tried.metric {
        RunMetric::WallTime => "by its wall time".to_owned(),
        RunMetric::Printed { pattern, higher_is_better } => {
            let better = if *higher_is_better { "higher" } else { "lower" };
            format!("by what it prints for `{}` ({better} is better)", pattern)
        }
    };
    let mut said = Vec::new();
    for run in tried.failures() {
        let side = if run.with { "with" } else { "without" };
        let why = run.failed.as_deref().unwrap_or_default();
        said.push(format!(
            "The run {side} {subject} of pair {} failed and counts for nothing: {}. Its output is in {}.",
            run.pair + 1,
            why,
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
    said.push(match judgement.outcome {
        _ if judgement.pairs.is_empty() => "No pair of runs succeeded: there is no result.".to_owned(),
        outcome @ (Outcome::Faster | Outcome::Slower) => {
            let how = if outcome == Outcome::Faster { "faster" } else { "SLOWER" };
            format!(
                "The program is {how} with {subject}{gain}, {what}, in {pairs} of runs. Such a verdict is wrong in \
                 at most {rate} of cases."
            )
        }
        Outcome::Same => format!(
            "It is clear that {subject} makes no difference of {least} to this program{gain}, {what}, in {pairs} of \
             runs."
        ),
        Outcome::Undecided => format!(
            "Undecided whether {subject} changes this program by {least} or more{gain}, {what}, in {pairs} of runs."
        ),
    });
    said.extend(describe_output(tried));
    if let Some([without, with]) = tried.collectives {
        said.push(format!(
            "The mean rank spends {without} in collectives without the tuning and {with} with it (one further run each, with \
             the profiler)."
        ));
    }
    said
}
