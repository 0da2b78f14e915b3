//! Rows of the samples file as lines. Only the last column may hold quotes.

use std::fmt::{Display, Write};

use crate::cell::Cell;
use crate::pattern::{Pattern, Subject};
use crate::sample::{COLUMNS, EndReason, EndedCast, EndedPoint, PatternSample, Row, Sample, TimedRow, check_time};
use crate::units::{Bytes, Seconds};

/// The line of a row, with its line end.
pub(super) fn line_of(row: &Row) -> String {
    match row {
        Row::Sample(Sample { launch, visit, round, cell, candidate, max, min, mean }) => {
            let times = [*max, *min, *mean].map(Some);
            line(*launch, Some((*visit, *round)), Subject::Cell(*cell), candidate, times, "")
        }
        Row::Pattern(PatternSample { launch, visit, round, pattern, cast, max, min, mean }) => {
            let times = [*max, *min, *mean].map(Some);
            let cast = format_args!("{CAST}{cast}");
            line(*launch, Some((*visit, *round)), Subject::Pattern(*pattern), &cast, times, "")
        }
        Row::Ended(EndedPoint { launch, cell, candidate, ended }) => {
            line(*launch, None, Subject::Cell(*cell), candidate, [None; 3], &quoted(ended))
        }
        Row::EndedCast(EndedCast { launch, pattern, cast, ended }) => {
            let cast = format_args!("{CAST}{cast}");
            line(*launch, None, Subject::Pattern(*pattern), &cast, [None; 3], &quoted(ended))
        }
    }
}

/// Prefix of a cast, in the column where candidates are allowed too.
const CAST: &str = "ranks:";

fn quoted(ended: &EndReason) -> String {
    // No value holds a line break, so that every line break ends a row.
    let why = ended.to_string().replace("\r\n", " ").replace(['\n', '\r'], " ");
    if why.contains([',', '"']) { format!("\"{}\"", why.replace('"', "\"\"")) } else { why }
}

/// Formats a timing of which some times may be missing.
pub(super) fn line_of_timed(row: &TimedRow) -> String {
    let TimedRow { launch, round, cell, candidate, max, min, mean } = *row;
    line(launch, Some((0, round)), Subject::Cell(cell), &candidate, [max, min, mean], "")
}

fn line(
    launch: u32,
    place: Option<(u32, u32)>,
    subject: Subject,
    candidate: &impl Display,
    times: [Option<Seconds>; 3],
    ended: &str,
) -> String {
    let mut line = format!("{launch},");
    // Writing to a string does not fail.
    let _ = match place {
        Some((visit, round)) => write!(line, "{visit},{round}"),
        None => write!(line, ","),
    };
    let _ = match subject {
        Subject::Cell(Cell { collective, ranks, bytes }) => {
            write!(line, ",{collective},{},{},{candidate}", ranks.0, bytes.0)
        }
        Subject::Pattern(Pattern { shape, ranks, bytes }) => {
            write!(line, ",{}{shape},{},{},{candidate}", Pattern::MARK, ranks.0, bytes.0)
        }
    };
    for time in times {
        let _ = match time {
            Some(Seconds(seconds)) => write!(line, ",{seconds}"),
            None => write!(line, ","),
        };
    }
    let _ = writeln!(line, ",{ended}");
    line
}

/// The row of a line.
pub(super) fn row_of(line: &str) -> Result<Row, String> {
    let mut fields = line.splitn(COLUMNS.len(), ',');
    let mut number = 0;
    let mut field = || {
        number += 1;
        fields.next().ok_or_else(|| format!("`{line}` has {} columns instead of {}", number - 1, COLUMNS.len()))
    };
    let (launch, visit, round) = (field()?, field()?, field()?);
    let (collective, ranks, bytes, candidate) = (field()?, field()?, field()?, field()?);
    let (max, min, mean, ended) = (field()?, field()?, field()?, field()?);
    let bad = |what: &dyn Display| format!("`{line}`: {what}");
    let whole = |text: &str| text.parse::<u32>().map_err(|error| bad(&error));
    let seconds = |text: &str| text.parse().map(Seconds).map_err(|error| bad(&error));
    // A clock with large steps may say that a call took no time.
    let slowest = |text: &str, bytes: Bytes| {
        let time = seconds(text)?;
        if time.0 == 0.0 { Ok(time) } else { check_time(time, bytes).map(|()| time).map_err(|why| bad(&why)) }
    };
    let ended = Some(unquoted(ended)).filter(|ended| !ended.is_empty());
    let ended: Option<EndReason> = ended.map(|ended| ended.parse()).transpose().map_err(|error| bad(&error))?;
    let launch = whole(launch)?;
    let (ranks, bytes) = (ranks.parse().map_err(|error| bad(&error))?, bytes.parse().map_err(|error| bad(&error))?);
    if let Some(shape) = collective.strip_prefix(Pattern::MARK) {
        let pattern = Pattern { shape: shape.parse().map_err(|error| bad(&error))?, ranks, bytes };
        let cast = candidate.strip_prefix(CAST).unwrap_or(candidate).parse().map_err(|error| bad(&error))?;
        if let Some(ended) = ended {
            return Ok(Row::EndedCast(EndedCast { launch, pattern, cast, ended }));
        }
        let (visit, round) = (whole(visit)?, whole(round)?);
        let (max, min, mean) = (slowest(max, bytes)?, seconds(min)?, seconds(mean)?);
        return Ok(Row::Pattern(PatternSample { launch, visit, round, pattern, cast, max, min, mean }));
    }
    let cell = Cell { collective: collective.parse().map_err(|error| bad(&error))?, ranks, bytes };
    let candidate = candidate.parse().map_err(|error| bad(&error))?;
    if let Some(ended) = ended {
        return Ok(Row::Ended(EndedPoint { launch, cell, candidate, ended }));
    }
    let (visit, round) = (whole(visit)?, whole(round)?);
    let max = slowest(max, bytes)?;
    // Others may have timed the slowest rank only.
    let (min, mean) = if min.is_empty() && mean.is_empty() { (max, max) } else { (seconds(min)?, seconds(mean)?) };
    Ok(Row::Sample(Sample { launch, visit, round, cell, candidate, max, min, mean }))
}

/// The first value of what is left of a line: a newer version may have added columns.
fn unquoted(rest: &str) -> String {
    let rest = rest.trim_end_matches('\r');
    let Some(quoted) = rest.strip_prefix('"') else {
        return rest.split(',').next().unwrap_or_default().to_owned();
    };
    let (mut value, mut signs) = (String::new(), quoted.chars().peekable());
    while let Some(sign) = signs.next() {
        if sign == '"' && signs.next_if_eq(&'"').is_none() {
            break;
        }
        value.push(sign);
    }
    value
}
