//! The times of a study in files like those of OSU's benchmarks, one per collective, number of ranks and algorithm.

use std::fmt::Write;

use collrules_lab::study::results::{Study, StudyCell};
use collrules_record::{Candidate, Cell, Seconds};

use super::names::{candidates, collectives, name};
use crate::osu::latency_head;

/// The files, by name. `average` gives the value of OSU's column for a candidate: the mean over calls and ranks.
pub fn osu_files(study: &Study, average: impl Fn(Cell, Candidate) -> Option<Seconds>) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for collective in collectives(study) {
        let own = || study.cells.iter().filter(|cell| cell.cell.collective == collective);
        let mut ranks: Vec<_> = own().map(|cell| cell.cell.ranks).collect();
        ranks.dedup();
        for ranks in ranks {
            for candidate in candidates(study, collective) {
                let rows: String = own()
                    .filter(|cell| cell.cell.ranks == ranks)
                    .filter_map(|cell| row(cell, candidate, &average))
                    .collect();
                if !rows.is_empty() {
                    let algorithm = name(study, collective, candidate);
                    let how = format!("{algorithm}: mean over calls and ranks");
                    let head = latency_head(collective, ranks, &how);
                    files.push((format!("{collective}-np{ranks}-{}.txt", plain(&algorithm)), head + &rows));
                }
            }
        }
    }
    files
}

fn row(cell: &StudyCell, candidate: Candidate, average: impl Fn(Cell, Candidate) -> Option<Seconds>) -> Option<String> {
    let micros = 1e6 * average(cell.cell, candidate)?.0;
    let mut row = String::new();
    // Writing to a string cannot fail. More digits than OSU's two, so that short times keep theirs.
    let _ = match cell.cell.collective.has_sizes() {
        true => writeln!(row, "{:<10}{micros:>18.4}", cell.cell.osu_bytes().0),
        false => writeln!(row, "{micros:>17.4}"),
    };
    Some(row)
}

/// A name that is valid on every file system: other characters than letters and digits become a dash.
fn plain(algorithm: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() || sign == '_' { sign } else { '-' };
    let words: String = algorithm.chars().map(sign).collect();
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
