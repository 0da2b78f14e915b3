//! The times of one row, which have to be possible and to fit each other.

use collrules_record::Cell;
use collrules_record::sample::check_time;
use collrules_record::units::Seconds;

use crate::error::ImportError;
use crate::facts::TimeStatistics;
use crate::finding::{Finding, FindingCode};
use crate::raw::Raw;

/// Most seconds of all calls of a timing: eleven days.
const MOST_SECONDS: f64 = 1e6;

/// Least seconds of a call on several ranks: a core sees what another one wrote no sooner.
const LEAST_SECONDS: f64 = 10e-9;

/// Share of a time by which the three may miss each other: they are of the same calls, apart from rounding.
const SLACK: f64 = 1e-3;

const UNIT: &str = "correct the unit in the header, or the value";

/// Checks the times of a row. Returns a finding about the row, or an error about all rows. If the average is wanted, the
/// others may be over calls.
pub(super) fn check(raw: &Raw, cell: Cell, is_average: bool) -> Result<Option<Finding>, ImportError> {
    let TimeStatistics { max, min, mean } = raw.times;
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
    let calls = raw.calls.unwrap_or(1);
    let all = longest * calls as f64;
    if all > MOST_SECONDS {
        let why = format!("{calls} calls of {} would take {all:.0e} s", Seconds(longest));
        return impossible(why, UNIT);
    }
    let times: Vec<f64> = [min, mean, max].into_iter().flatten().map(|time| time.0).collect();
    let slack = raw.step.0 + SLACK * longest;
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
