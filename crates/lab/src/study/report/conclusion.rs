//! Answer of a study: a sentence or two for each collective, and the numbers behind them.

use collrules_record::{Candidate, Cell};
use collrules_report::document::{Block, Table};
use collrules_report::facts::describe_failed_default;
use collrules_report::words::{ends, interval, ratio};
use collrules_rules::Collective;
use collrules_rules::words::counted;

use super::names::{collectives, name};
use crate::study::results::{Overall, Study, StudyCell, StudyPoint, StudyVerdict};

/// A paragraph for each collective.
pub(super) fn answers(study: &Study) -> Vec<String> {
    let failed = describe_failed_default(&study.failed_defaults()).into_iter();
    let answer = |collective: Collective| {
        let verdict = against_default(study, collective);
        format!("{collective}. {verdict}{}", closest(study, collective).unwrap_or_default())
    };
    failed.chain(collectives(study).into_iter().map(answer)).collect()
}

/// The cells of a collective with times of the default.
fn cells(study: &Study, collective: Collective) -> impl Iterator<Item = &StudyCell> {
    let has_default = |cell: &StudyCell| cell.points.iter().any(|point| point.candidate == Candidate::Builtin);
    study.grid().filter(move |cell| cell.cell.collective == collective && has_default(cell))
}

/// Compares the default with the other algorithms: as tested or, with too few times for a test, as the times are.
fn against_default<'a>(study: &'a Study, collective: Collective) -> String {
    let tested = cells(study, collective).flat_map(|cell| &cell.points).any(|point| point.q_value.is_some());
    let count = cells(study, collective).count();
    let best = |cell: &'a StudyCell| -> Option<(Cell, &'a StudyPoint, f64)> {
        let default = cell.points.iter().find(|point| point.candidate == Candidate::Builtin)?.time.point;
        let speedup =
            |point: &StudyPoint| point.gain.filter(|_| tested).map_or(default / point.time.point, |it| it.point);
        let better = cell.points.iter().filter(|point| match tested {
            true => point.outcome == StudyVerdict::Faster,
            false => speedup(point) > 1.0,
        });
        let best = better.max_by(|a, b| speedup(a).total_cmp(&speedup(b)))?;
        Some((cell.cell, best, speedup(best)))
    };
    let better: Vec<(Cell, &StudyPoint, f64)> = cells(study, collective).filter_map(best).collect();
    let all = counted(count, "case");
    let verdict = match (tested, better.len()) {
        _ if count == 0 => "There are no times of the default to compare with.".to_owned(),
        (true, 0) => format!("No algorithm of the study is shown to be faster than the default ({all})."),
        (true, better) => {
            format!(
                "The default is not always the best: for {better} of {all}, another algorithm is shown to be faster."
            )
        }
        (false, beaten) => format!(
            "There are too few times for a test. As they are, the default is the fastest for {} of {all}; the fastest \
             algorithm for each is {:.2} times as fast as the default in geometric mean, which chance makes larger.",
            count - beaten,
            (better.iter().map(|(.., gain)| gain.ln()).sum::<f64>() / count as f64).exp(),
        ),
    };
    let largest = better.iter().max_by(|a, b| a.2.total_cmp(&b.2)).map(|(cell, point, gain)| {
        let ends = point.gain.map_or_else(String::new, |gain| ends(gain, |value| format!("{value:.2}")));
        let name = name(study, collective, point.candidate);
        format!(" The largest difference: {cell} with {name} is {gain:.2} times as fast{ends}.")
    });
    verdict + &largest.unwrap_or_default()
}

/// The algorithms of a collective over all cases, the one closest to the default first.
fn by_distance(study: &Study, collective: Collective) -> Vec<&Overall> {
    let mut all: Vec<&Overall> = study.overall.iter().filter(|overall| overall.collective == collective).collect();
    all.sort_by(|a, b| a.distance.point.total_cmp(&b.distance.point));
    all
}

/// Names the algorithm that is closest to the default, if there are several, and whether that is certain.
fn closest(study: &Study, collective: Collective) -> Option<String> {
    let all = by_distance(study, collective);
    let [first, second, ..] = all.as_slice() else { return None };
    let sure = matches!((first.distance.high, second.distance.low), (Some(high), Some(low)) if high < low);
    let doubt = if sure { "" } else { "; this is not certain" };
    let [first, second] =
        [first, second].map(|it| format!("{}, within {}", name(study, collective, it.candidate), ratio(it.distance)));
    Some(format!(" Closest to the default: {first}, then {second}{doubt}."))
}

/// The numbers behind the answer: verdicts by algorithm.
pub(super) fn numbers(study: &Study) -> Block {
    let row = |collective: Collective, overall: &Overall| {
        let count = |outcome: StudyVerdict| {
            let points = cells(study, collective).flat_map(|cell| &cell.points);
            points.filter(|it| (it.candidate, it.outcome) == (overall.candidate, outcome)).count().to_string()
        };
        let [faster, slower, alike] = [StudyVerdict::Faster, StudyVerdict::Slower, StudyVerdict::Alike].map(count);
        let [gain, distance] = [overall.gain, overall.distance].map(|estimate| interval(estimate, 2));
        [collective.to_string(), name(study, collective, overall.candidate), faster, slower, alike, gain, distance]
    };
    let rows = collectives(study).into_iter().flat_map(|collective| {
        by_distance(study, collective).into_iter().map(|overall| row(collective, overall)).collect::<Vec<_>>()
    });
    let what =
        "Numbers of cases (ranks with message sizes) against the default; speedup and distance over all of them.";
    let heads = ["collective", "algorithm", "faster:", "slower:", "no difference:", "speedup:", "distance:"];
    Block::section("", "In numbers", vec![Block::Table(Table::new(heads, rows).about(what))])
}
