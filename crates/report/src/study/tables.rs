//! All times of a study.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::iter;

use collrules_lab::study::results::{Study, StudyCell, StudyPoint, StudyVerdict};
use collrules_record::Candidate;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::Collective;

use super::about::About;
use super::names::{candidates, collectives, name};
use crate::document::Block;
use crate::words::interval;

/// Microseconds, as benchmarks print them.
const MICRO: f64 = 1e6;

/// Every cell, a table for each collective and communicator size.
pub(super) fn part(study: &Study, about: &About<'_>) -> Block {
    let legend = "Times in microseconds, with their intervals. + is faster than the default, - slower, = not \
                  significantly different. An algorithm that sends the same messages as another one is not timed, and \
                  names it.";
    let mut blocks = vec![Block::prose(legend)];
    for collective in collectives(study) {
        let cells: Vec<&StudyCell> = study.cells.iter().filter(|cell| cell.cell.collective == collective).collect();
        if !collective.has_sizes() {
            let table = table(study, collective, "ranks", &cells, |cell| cell.cell.ranks.to_string());
            blocks.push(Block::part("", collective.to_string(), vec![table]));
            continue;
        }
        for block in cells.chunk_by(|a, b| a.cell.ranks == b.cell.ranks) {
            let title = format!("{collective} on {} ranks{}", block[0].cell.ranks, doubt(about, block[0]));
            let table = table(study, collective, "message", block, |cell| cell.cell.bytes.to_string());
            blocks.push(Block::part("", title, vec![table]));
        }
    }
    blocks.extend(by_algorithm(study));
    Block::part("", "Tables", blocks)
}

/// A table for each algorithm, with a column for each number of ranks, which shows how times grow; none for a single
/// number of ranks.
fn by_algorithm(study: &Study) -> Vec<Block> {
    let mut blocks = Vec::new();
    for collective in collectives(study).into_iter().filter(|collective| collective.has_sizes()) {
        let cells: Vec<&StudyCell> = study.cells.iter().filter(|cell| cell.cell.collective == collective).collect();
        let ranks: BTreeSet<Ranks> = cells.iter().map(|cell| cell.cell.ranks).collect();
        let sizes: BTreeSet<Bytes> = cells.iter().map(|cell| cell.cell.bytes).collect();
        let part = |candidate: Candidate| {
            let row = |bytes: &Bytes| {
                let entry = |ranks: &Ranks| {
                    let cell = cells.iter().find(|cell| (cell.cell.ranks, cell.cell.bytes) == (*ranks, *bytes));
                    cell.map_or("-".to_owned(), |cell| column(study, cell, candidate))
                };
                iter::once(bytes.to_string()).chain(ranks.iter().map(entry)).collect::<Vec<_>>()
            };
            let heads = iter::once("message:".to_owned()).chain(ranks.iter().map(|ranks| format!("{ranks} ranks:")));
            let title = format!("{collective} with {}", name(study, collective, candidate));
            Block::part("", title, vec![Block::table(heads, sizes.iter().map(row))])
        };
        if ranks.len() > 1 {
            blocks.extend(candidates(study, collective).into_iter().map(part));
        }
    }
    blocks
}

fn doubt(about: &About<'_>, cell: &StudyCell) -> String {
    let slots: Ranks = about.slots();
    if cell.cell.ranks > slots { format!(" (oversubscribed: {slots} slots)") } else { String::new() }
}

fn table(
    study: &Study,
    collective: Collective,
    first: &str,
    cells: &[&StudyCell],
    key: impl Fn(&StudyCell) -> String,
) -> Block {
    let candidates = candidates(study, collective);
    let names = candidates.iter().map(|candidate| name(study, collective, *candidate) + ":");
    let row = |cell: &&StudyCell| {
        let columns = candidates.iter().map(|candidate| column(study, cell, *candidate));
        iter::once(key(cell)).chain(columns).collect::<Vec<_>>()
    };
    Block::table(iter::once(format!("{first}:")).chain(names), cells.iter().map(row))
}

fn column(study: &Study, cell: &StudyCell, candidate: Candidate) -> String {
    let Some(point) = cell.points.iter().find(|point| point.candidate == candidate) else {
        let failed = cell.disqualified.iter().find(|(failed, _)| *failed == candidate);
        return failed.map_or("not timed".to_owned(), |(_, why)| format!("failed: {why}"));
    };
    if point.measured_as != candidate {
        return format!("as {}", name(study, cell.cell.collective, point.measured_as));
    }
    let StudyPoint { time, outcome, .. } = point;
    let mark = match outcome {
        StudyVerdict::Reference => "",
        StudyVerdict::Faster => " +",
        StudyVerdict::Slower => " -",
        StudyVerdict::Alike => " =",
    };
    let micros = time.map(|seconds| MICRO * seconds);
    interval(micros, if micros.point < 9.995 { 2 } else { 1 }) + mark
}

/// Every point as a line of CSV, times in seconds.
pub fn csv(study: &Study) -> String {
    let mut text = String::from(
        "collective,comm_size,message_bytes,candidate,algorithm,measured_as,median_s,low_s,high_s,gain,gain_low,gain_high,\
         q_value,outcome\n",
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for cell in &study.cells {
        for point in &cell.points {
            let collrules_record::Cell { collective, ranks, bytes } = cell.cell;
            let outcome = match point.outcome {
                StudyVerdict::Reference => "reference",
                StudyVerdict::Faster => "faster",
                StudyVerdict::Slower => "slower",
                StudyVerdict::Alike => "alike",
            };
            // Names hold commas where parameters are said.
            let algorithm = name(study, collective, point.candidate);
            let _ = writeln!(
                text,
                "{collective},{ranks},{},{},\"{algorithm}\",{},{},{},{},{},{},{},{},{outcome}",
                bytes.0,
                point.candidate,
                point.measured_as,
                point.time.point,
                number(point.time.low),
                number(point.time.high),
                number(point.gain.map(|gain| gain.point)),
                number(point.gain.and_then(|gain| gain.low)),
                number(point.gain.and_then(|gain| gain.high)),
                number(point.q_value),
            );
        }
    }
    text
}
