//! All times of a study.

use std::fmt::Write;

use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell, Estimate, Seconds};
use collrules_report::document::Block;
use collrules_report::osu::latency_head;
use collrules_report::words::interval;
use collrules_rules::Collective;

use super::names::{candidates, collectives, name};
use crate::study::results::{Study, StudyCell, StudyVerdict};

/// Microseconds, as benchmarks print them.
const MICRO: f64 = 1e6;

/// A table for each collective.
pub(super) fn part(study: &Study) -> Block {
    let legend = "Times in microseconds, with their intervals. + is faster than the default, - slower, = not \
                  significantly different. An algorithm that sends the same messages as another one is not timed, and \
                  names it.";
    let mut blocks = vec![Block::prose(legend)];
    blocks.extend(collectives(study).into_iter().map(|collective| table(study, collective)));
    Block::section("", "Times", blocks)
}

fn table(study: &Study, collective: Collective) -> Block {
    let own = || study.cells.iter().filter(|cell| cell.cell.collective == collective);
    let (sized, bounded) = (collective.has_sizes(), own().any(|cell| cell.bound.is_some()));
    let candidates = candidates(study, collective);
    let row = |cell: &StudyCell| {
        let bound = bounded.then(|| cell.bound.map_or("-".to_owned(), micros));
        let first = [cell.cell.ranks.to_string()].into_iter().chain(sized.then(|| cell.cell.bytes.to_string()));
        let times = candidates.iter().map(|candidate| entry(study, cell, *candidate));
        first.chain(bound).chain(times).collect::<Vec<_>>()
    };
    let heads = ["ranks:"].into_iter().chain(sized.then_some("message:")).chain(bounded.then_some("bound:"));
    let names = candidates.iter().map(|candidate| name(study, collective, *candidate) + ":");
    let table = Block::table(heads.map(str::to_owned).chain(names), own().map(row));
    Block::section("", collective.to_string(), vec![table])
}

fn micros(time: Estimate) -> String {
    let micros = time.map(|seconds| MICRO * seconds);
    interval(micros, if micros.point < 9.995 { 2 } else { 1 })
}

fn entry(study: &Study, cell: &StudyCell, candidate: Candidate) -> String {
    let Some(point) = cell.points.iter().find(|point| point.candidate == candidate) else {
        let failed = cell.disqualified.iter().find(|(failed, _)| *failed == candidate);
        return failed.map_or("not timed".to_owned(), |(_, why)| format!("failed: {why}"));
    };
    if point.measured_as != candidate {
        return format!("as {}", name(study, cell.cell.collective, point.measured_as));
    }
    micros(point.time) + describe(point.outcome).0
}

/// The mark of a verdict, and its name.
fn describe(outcome: StudyVerdict) -> (&'static str, &'static str) {
    match outcome {
        StudyVerdict::Reference => ("", "reference"),
        StudyVerdict::Faster => (" +", "faster"),
        StudyVerdict::Slower => (" -", "slower"),
        StudyVerdict::Alike => (" =", "alike"),
    }
}

/// Every point as a line of CSV, times in seconds.
pub(in crate::study) fn csv(study: &Study) -> String {
    let mut text = String::from(
        "collective,comm_size,message_bytes,candidate,algorithm,measured_as,median_s,low_s,high_s,gain,gain_low,gain_high,\
         q_value,outcome\n",
    );
    for cell in &study.cells {
        for point in &cell.points {
            let Cell { collective, ranks, bytes: Bytes(bytes) } = cell.cell;
            let (time, gain) = (point.time, point.gain);
            let [gain, low, high] = [gain.map(|it| it.point), gain.and_then(|it| it.low), gain.and_then(|it| it.high)];
            let numbers = [Some(time.point), time.low, time.high, gain, low, high, point.q_value]
                .map(|value| value.map_or(String::new(), |value| value.to_string()));
            // Names hold commas where parameters are said.
            let _ = writeln!(
                text,
                "{collective},{ranks},{bytes},{},\"{}\",{},{},{}",
                point.candidate,
                name(study, collective, point.candidate),
                point.measured_as,
                numbers.join(","),
                describe(point.outcome).1,
            );
        }
    }
    text
}

/// Files like those of OSU's benchmarks by name, one for each collective, number of ranks and algorithm. `average` gives
/// the value of OSU's column: the mean over calls and ranks.
pub(in crate::study) fn osu_files(
    study: &Study,
    average: impl Fn(Cell, Candidate) -> Option<Seconds>,
) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for cells in study.cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        let Cell { collective, ranks, .. } = cells[0].cell;
        for candidate in candidates(study, collective) {
            let row = |cell: &StudyCell| {
                let micros = MICRO * average(cell.cell, candidate)?.0;
                // More digits than OSU's two, so that short times keep theirs.
                Some(match collective.has_sizes() {
                    true => format!("{:<10}{micros:>18.4}\n", cell.cell.osu_bytes().0),
                    false => format!("{micros:>17.4}\n"),
                })
            };
            let rows: String = cells.iter().filter_map(row).collect();
            if !rows.is_empty() {
                let algorithm = name(study, collective, candidate);
                let head = latency_head(collective, ranks, &format!("{algorithm}: mean over calls and ranks"));
                files.push((format!("{collective}-np{ranks}-{}.txt", plain(&algorithm)), head + &rows));
            }
        }
    }
    files
}

/// A name that is valid on every file system: other characters than letters and digits become a dash.
fn plain(algorithm: &str) -> String {
    let words = algorithm.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
