//! The times of a study as OSU's benchmarks print theirs, a file for each collective, number of ranks and algorithm: for tools
//! that read such files.

use std::fmt::Write;

use collrules_record::Candidate;
use collrules_record::study::{Study, StudyCell};

use super::names::{candidates, collectives, name};
use crate::osu::latency_head;

/// The files, by name. A time is the study's: the median over launches of what the slowest rank took.
pub fn osu_files(study: &Study) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for collective in collectives(study) {
        let own = || study.cells.iter().filter(|cell| cell.cell.collective == collective);
        let mut ranks: Vec<_> = own().map(|cell| cell.cell.ranks).collect();
        ranks.dedup();
        for ranks in ranks {
            for candidate in candidates(study, collective) {
                let rows: String = own()
                    .filter(|cell| cell.cell.ranks == ranks)
                    .filter_map(|cell| row(cell, candidate, collective.has_sizes()))
                    .collect();
                if !rows.is_empty() {
                    let algorithm = name(study, collective, candidate);
                    let how = format!("{algorithm}: median over launches, slowest rank");
                    let head = latency_head(collective, ranks, &how);
                    files.push((format!("{collective}-np{ranks}-{}.txt", plain(&algorithm)), head + &rows));
                }
            }
        }
    }
    files
}

fn row(cell: &StudyCell, candidate: Candidate, has_sizes: bool) -> Option<String> {
    let seconds = cell.points.iter().find(|point| point.candidate == candidate)?.time.point;
    let micros = 1e6 * seconds;
    let mut row = String::new();
    // Writing to a string cannot fail. More digits than OSU's two, so that short times keep theirs.
    let _ = match has_sizes {
        true => writeln!(row, "{:<10}{micros:>18.4}", cell.cell.bytes.0),
        false => writeln!(row, "{micros:>17.4}"),
    };
    Some(row)
}

/// A name that every file system has: whatever is not a letter, a digit or a line becomes a line.
fn plain(algorithm: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() || sign == '_' { sign } else { '-' };
    let words: String = algorithm.chars().map(sign).collect();
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
