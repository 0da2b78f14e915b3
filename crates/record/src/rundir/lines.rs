//! Rows of the samples file as lines. Only the last column may hold quotes.

use std::fmt::{Display, Write};

use crate::cell::Cell;
use crate::sample::{COLUMNS, Ended, EndedPoint, Row, Sample, TimedRow};
use crate::units::Seconds;

/// The line of a row, with its line end.
pub(super) fn line_of(row: &Row) -> String {
    match row {
        Row::Sample(Sample { launch, visit, round, cell, candidate, max, min, mean }) => {
            let times = [*max, *min, *mean].map(Some);
            line(*launch, Some((*visit, *round)), *cell, candidate, times, "")
        }
        Row::Ended(EndedPoint { launch, cell, candidate, ended }) => {
            // No value holds a line break, so that every line break ends a row.
            let why = ended.to_string().replace("\r\n", " ").replace(['\n', '\r'], " ");
            let why = if why.contains([',', '"']) { format!("\"{}\"", why.replace('"', "\"\"")) } else { why };
            line(*launch, None, *cell, candidate, [None; 3], &why)
        }
    }
}

/// The same of a timing of which some times may be missing.
pub(super) fn line_of_timed(row: &TimedRow) -> String {
    let TimedRow { launch, round, cell, candidate, max, min, mean } = *row;
    line(launch, Some((0, round)), cell, &candidate, [max, min, mean], "")
}

fn line(
    launch: u32,
    place: Option<(u32, u32)>,
    cell: Cell,
    candidate: &impl Display,
    times: [Option<Seconds>; 3],
    ended: &str,
) -> String {
    let mut line = format!("{launch},");
    let Cell { collective, ranks, bytes } = cell;
    // Writing to a string does not fail.
    let _ = match place {
        Some((visit, round)) => write!(line, "{visit},{round}"),
        None => write!(line, ","),
    };
    let _ = write!(line, ",{collective},{},{},{candidate}", ranks.0, bytes.0);
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
    let cell = Cell {
        collective: collective.parse().map_err(|error| bad(&error))?,
        ranks: ranks.parse().map_err(|error| bad(&error))?,
        bytes: bytes.parse().map_err(|error| bad(&error))?,
    };
    let (launch, candidate) = (whole(launch)?, candidate.parse().map_err(|error| bad(&error))?);
    let ended = unquoted(ended);
    if ended.is_empty() {
        let (visit, round) = (whole(visit)?, whole(round)?);
        let (max, min, mean) = (seconds(max)?, seconds(min)?, seconds(mean)?);
        return Ok(Row::Sample(Sample { launch, visit, round, cell, candidate, max, min, mean }));
    }
    let ended: Ended = ended.parse().map_err(|error| bad(&error))?;
    Ok(Row::Ended(EndedPoint { launch, cell, candidate, ended }))
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
