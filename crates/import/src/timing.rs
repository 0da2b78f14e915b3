//! Timings: their statistics, their texts, and checks of whether they are possible.

use collrules_record::findings::Statistic;
use collrules_record::sample::{TableTiming, TimedRow, check_time};
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell};

use super::finding::{Finding, FindingCode, ImportError};

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
    /// True if the buffers are in the memory of a device.
    pub(super) is_on_device: bool,
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

/// The step between numbers as written, in seconds.
pub(super) fn step(text: &str, per_second: f64) -> f64 {
    let decimals =
        text.split_once('.').map_or(0, |(_, decimals)| decimals.bytes().take_while(u8::is_ascii_digit).count());
    let decimals = decimals.min(20) as f64;
    10_f64.powf(-decimals) / per_second
}

/// Parses a positive time, given its number of units per second.
pub(super) fn time(text: &str, per_second: f64) -> Result<Seconds, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if !number.is_finite() {
        return Err(format!("`{text}` is not finite"));
    }
    let seconds = number / per_second;
    match seconds {
        _ if number < 0.0 => Err(format!("`{text}` is negative")),
        // What is too small for a number counts as zero.
        0.0 => Err(format!("`{text}` is zero: no call takes no time")),
        _ => Ok(Seconds(seconds)),
    }
}

/// Most seconds of all calls of a timing: eleven days.
const MOST_SECONDS: f64 = 1e6;

/// Least seconds of a call on several ranks: a core sees what another one wrote no sooner.
const LEAST_SECONDS: f64 = 10e-9;

/// Share of a time by which the three may miss each other: they are of the same calls, apart from rounding.
const SLACK: f64 = 1e-3;

const UNIT: &str = "correct the unit in the header, or the value";

/// Checks the times of a row, which are means of this many calls and written with this step. Returns a finding about the
/// row, or an error about all rows. If the average is wanted, the others may be over calls.
pub(super) fn check(
    times: TimeStatistics,
    (step, calls): (Seconds, Option<u64>),
    cell: Cell,
    is_average: bool,
) -> Result<Option<Finding>, ImportError> {
    let TimeStatistics { max, min, mean } = times;
    let impossible = |why: String, remedy: &str| {
        let rule = "no time of the file is used, since a unit and a statistic hold for a column";
        Err(ImportError::Doubtful(format!("{why}; {rule}: {remedy}")))
    };
    if let Some(why) = max.into_iter().chain(min).chain(mean).find_map(|time| check_time(time, cell.bytes).err()) {
        return impossible(why, UNIT);
    }
    let Seconds(longest) = max.or(mean).unwrap_or(Seconds(0.0));
    if longest < LEAST_SECONDS && cell.ranks.0 > 1 && max.or(mean).is_some() {
        return impossible(format!("no call on {} ranks takes {}", cell.ranks, Seconds(longest)), UNIT);
    }
    let calls = calls.unwrap_or(1);
    let all = longest * calls as f64;
    if all > MOST_SECONDS {
        let why = format!("{calls} calls of {} would take {all:.0e} s", Seconds(longest));
        return impossible(why, UNIT);
    }
    let times: Vec<f64> = [min, mean, max].into_iter().flatten().map(|time| time.0).collect();
    let slack = step.0 + SLACK * longest;
    if !times.is_sorted_by(|a, b| *a <= b + slack) {
        let times: Vec<String> = [min, mean, max].into_iter().flatten().map(|time| time.to_string()).collect();
        let what = format!("minimum, mean and maximum are out of order: {}", times.join(", "));
        return Ok(Some(Finding::new(FindingCode::BadTime, what)));
    }
    if let (Some(max), Some(min), Some(mean), false) = (max, min, mean, is_average) {
        let others = f64::from(cell.ranks.0 - 1);
        let bounds = [max.0 + others * min.0, others * max.0 + min.0].map(|sum| sum / (others + 1.0));
        if mean.0 + slack < bounds[0] || mean.0 - slack > bounds[1] {
            let why = format!("{min}, {mean} and {max} are not minimum, mean and maximum over {} ranks", cell.ranks);
            return impossible(why, "if they are over calls, --time average uses the mean");
        }
    }
    Ok(None)
}
