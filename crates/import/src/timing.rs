//! Timings: their statistics, their texts, checks of whether they are possible, and the choice of those that are compared:
//! those of one directory, since others may be of another library, layout or machine, and one of each point and launch.

use std::collections::BTreeSet;

use collrules_record::findings::Statistic;
use collrules_record::sample::{TableTiming, TimedRow, check_time};
use collrules_record::{Candidate, Cell, Seconds};
use collrules_rules::words::some;

use crate::columns;
use crate::facts::Facts;
use crate::finding::{Finding, FindingCode, ImportError};
use crate::group::group;

/// Times over ranks in seconds, as far as a file has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeStatistics {
    /// Of the slowest rank.
    pub max: Option<Seconds>,
    /// Of the fastest rank.
    pub min: Option<Seconds>,
    /// The mean over ranks.
    pub mean: Option<Seconds>,
}

/// One timing and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Index of the source.
    pub source: usize,
    /// The line in it, from 1.
    pub line: u64,
    /// Cell that was timed.
    pub cell: Cell,
    /// Candidate that was timed.
    pub candidate: Candidate,
    /// The start of the MPI job.
    pub launch: u32,
    /// The call within the launch; 0 where calls were averaged.
    pub round: u32,
    /// The times.
    pub times: TimeStatistics,
    /// True if the mean is a median over calls.
    pub(super) is_median: bool,
}

impl Imported {
    /// The row of the samples file, with the times that the source has.
    pub fn to_row(&self) -> TimedRow {
        let Self { cell, candidate, launch, round, times, .. } = *self;
        TimedRow { launch, round, cell, candidate, max: times.max, min: times.min, mean: times.mean }
    }

    /// The row of a table with one time; none without that time.
    pub fn in_table(&self, statistic: Statistic) -> Option<TableTiming> {
        let Self { cell, candidate, launch, .. } = *self;
        Some(TableTiming { cell, candidate, launch, time: self.time(statistic)? })
    }

    /// The time in the statistic of the import.
    pub fn time(&self, statistic: Statistic) -> Option<Seconds> {
        match statistic {
            Statistic::RankAverage => self.times.mean,
            _ => self.times.max,
        }
    }
}

/// Parses a positive time, given its number of units per second; its own unit counts more. Returns the step between times as
/// they are written as well.
pub(super) fn time(text: &str, per_second: Option<f64>) -> Result<(Seconds, f64), String> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = columns::per_second(&text[number.len()..].to_lowercase());
    let number = if unit.is_some() { number.trim_end() } else { text };
    let remedy = || if text.contains(',') { "; write a decimal point, and nothing between thousands" } else { "" };
    let value: f64 = number.parse().map_err(|_| format!("`{text}` is not a number{}", remedy()))?;
    let per_second = unit.or(per_second).ok_or_else(|| format!("`{text}` has no unit"))?;
    let decimals = number.split_once('.').map_or("", |(_, decimals)| decimals);
    let decimals = decimals.bytes().take_while(u8::is_ascii_digit).count().min(20) as f64;
    match value / per_second {
        _ if !value.is_finite() => Err(format!("`{text}` is not finite")),
        _ if value < 0.0 => Err(format!("`{text}` is negative")),
        // What is too small for a number counts as zero.
        0.0 => Err(format!("`{text}` is zero: no call takes no time")),
        seconds => Ok((Seconds(seconds), 10_f64.powf(-decimals) / per_second)),
    }
}

/// Least numbers of ranks that are taken for message sizes.
const LEAST_SWAPPED: usize = 3;

/// Refuses timings of which a part seems to have ranks and sizes in each other's place: most sizes of the others are its
/// numbers of ranks, with few sizes each.
pub(super) fn check_order(timings: &[Imported]) -> Result<(), ImportError> {
    for timings in group(timings, |timing| timing.cell.collective).into_values() {
        let sizes = |rows: &[&Imported]| rows.iter().map(|row| row.cell.bytes.0).collect::<BTreeSet<_>>();
        let rows = group(timings, |timing| u64::from(timing.cell.ranks.0));
        let parts = group(rows, |(_, rows)| sizes(rows));
        for (sizes, part) in parts.iter().filter(|(sizes, part)| part.len() >= LEAST_SWAPPED.max(sizes.len() + 1)) {
            let are_sizes = |others: &BTreeSet<u64>| part.iter().all(|(ranks, _)| others.contains(ranks));
            if parts.keys().any(|it| it != sizes && 2 * part.len() > it.len() && are_sizes(it)) {
                let what = "from here on numbers of ranks are sizes of other rows: columns may be in another order; give each \
                            part of the table its header, or import rows with few sizes separately";
                return Err(ImportError::doubtful(what).at(part[0].1[0].line));
            }
        }
    }
    Ok(())
}

/// Most seconds of all calls of a timing: eleven days.
const MOST_SECONDS: f64 = 1e6;

/// Least seconds of a call on several ranks: a core sees what another one wrote no sooner.
const LEAST_SECONDS: f64 = 10e-9;

/// Share of a time by which the three may miss each other: they are of the same calls, apart from rounding.
pub(super) const SLACK: f64 = 1e-3;

/// Checks the times of a row, which are means of this many calls and written with this step. A fault concerns all rows. If
/// the average is wanted, the others may be over calls.
pub(super) fn check(
    timing: &Imported,
    (step, calls): (Seconds, Option<u64>),
    is_average: bool,
) -> Result<(), ImportError> {
    let Imported { cell, times: TimeStatistics { max, min, mean }, .. } = *timing;
    let (Seconds(longest), calls) = (max.or(mean).unwrap_or(Seconds(LEAST_SECONDS)), calls.unwrap_or(1));
    let (low, high) = (min.map_or(0.0, |min| min.0), max.map_or(f64::INFINITY, |max| max.0));
    let slack = step.0 + SLACK * longest;
    // One rank at least has the minimum, and one the maximum.
    let is_over_ranks = !is_average && high.is_finite() && min.is_some();
    let apart = if is_over_ranks { (high - low) / f64::from(cell.ranks.0) } else { 0.0 };
    let is_outside = |mean: Seconds| mean.0 + slack < low + apart || mean.0 - slack > high - apart;
    let unit = "correct the unit in the header, or the value";
    let (why, remedy) = if let Some(why) =
        [max, min, mean].into_iter().flatten().find_map(|it| check_time(it, cell.bytes).err())
    {
        (why, unit)
    } else if longest < LEAST_SECONDS && cell.ranks.0 > 1 {
        (format!("no call on {} ranks takes {}", cell.ranks, Seconds(longest)), unit)
    } else if longest * calls as f64 > MOST_SECONDS {
        (format!("{calls} calls of {} would take {:.0e} s", Seconds(longest), longest * calls as f64), unit)
    } else if low > high + slack || mean.is_some_and(is_outside) {
        let times = [min, mean, max].into_iter().flatten().map(|time| time.to_string()).collect::<Vec<_>>().join(", ");
        let why = format!("{times} are not minimum, mean and maximum over {} ranks", cell.ranks);
        (why, "correct the header or the row; if they are over calls, --time average uses the mean")
    } else {
        return Ok(());
    };
    let rule = "no time of the file is used, since a unit and a statistic hold for a column";
    Err(ImportError::doubtful(format!("{why}; {rule}: {remedy}")))
}

/// Largest number of places that a message names.
const NAMED_PLACES: usize = 4;

/// Largest number of lines that a message names.
pub(super) const NAMED_LINES: usize = 6;

/// Leaves out communicator sizes that were timed in several places. Keeps the first of rows that agree about a point and
/// launch, and none of rows that contradict each other. Returns them by cell, candidate, launch and round. `line` names a row
/// for the reader.
pub(super) fn settle(
    rows: Vec<Imported>,
    names: &[(Facts, String)],
    line: impl Fn(&Imported) -> String,
    mut report: impl FnMut(&Imported, Finding),
) -> Vec<Imported> {
    let mut kept = Vec::new();
    for ((collective, ranks), rows) in group(rows, |row| (row.cell.collective, row.cell.ranks)) {
        let places = group(&rows, |row| &names[row.source].1);
        if places.len() > 1 {
            let lines: Vec<String> = places.values().map(|rows| line(rows[0])).collect();
            let what = format!(
                "{collective} on {ranks} ranks was timed in {} directories, which are not compared, and none is used; \
                 import one of them: lines {}",
                places.len(),
                some(&lines, NAMED_PLACES)
            );
            for rows in places.values() {
                report(rows[0], Finding::new(FindingCode::Contradiction, &*what).of_timings(rows.len()));
            }
            continue;
        }
        for ((cell, candidate, ..), rows) in group(rows, |row| (row.cell, row.candidate, row.launch, row.round)) {
            let first = &rows[0];
            if rows.iter().all(|row| row.times == first.times) {
                let what = format!("repeats line {}", line(first));
                rows[1..].iter().for_each(|row| report(row, Finding::new(FindingCode::Duplicate, &*what)));
                kept.push(first.clone());
                continue;
            }
            let lines: Vec<String> = rows.iter().map(&line).collect();
            let what = format!(
                "lines {} contradict each other about {cell}, {candidate}, and none is used; number repetitions in a \
                 column `launch` (starts of mpirun, `run1` in names of files) or `nrep` (calls of one start), and times of \
                 single ranks in a column `rank`; algorithm 0 and `default` are the same",
                some(&lines, NAMED_LINES),
            );
            rows.iter().for_each(|row| report(row, Finding::new(FindingCode::Contradiction, &*what)));
        }
    }
    kept
}
