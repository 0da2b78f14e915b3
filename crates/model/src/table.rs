//! Timings of probes as a table: `pattern,ranks,bytes,launch,seconds`, with `hosts` if ranks share hosts.

use std::collections::BTreeMap;

use collrules_rules::words::{plural, some};

use collrules_record::pattern::Shape;
use collrules_record::sample::check_time;
use collrules_record::{Bytes, Cast, Pattern, Ranks, Seconds};

use crate::probe::{Probe, ProbeTiming, Probes};

/// Columns that a table has to have.
const COLUMNS: [&str; 5] = ["pattern", "ranks", "bytes", "launch", "seconds"];
/// Column that a table may have.
const HOSTS: &str = "hosts";

/// The most faulty rows that are reported one by one.
const TOLD: usize = 3;

/// A table that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    /// Columns are missing.
    #[error("the table has no column {0}; it needs pattern, ranks, bytes, launch and seconds, and may have hosts")]
    Column(&'static str),
    /// A column is unknown: the timings of rows may depend on it.
    #[error(
        "the table has an unknown column `{0}`, on which times may depend, such as the bytes of an answer; remove it if \
         they do not: a table has pattern, ranks, bytes, launch and seconds, and perhaps hosts"
    )]
    Unknown(String),
    /// A column is there twice.
    #[error("the table has the column {0} more than once")]
    Repeated(String),
    /// No row can be used.
    #[error("no row of the table can be used: {0}")]
    Empty(String),
}

/// Reads a table. Unusable rows are left out and reported in sentences.
pub fn read(text: &str) -> Result<(Probes, Vec<String>), BadTable> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().cloned().unwrap_or_default();
    let place = |name: &str| headers.iter().position(|header| header.eq_ignore_ascii_case(name));
    if let Some(missing) = COLUMNS.into_iter().find(|name| place(name).is_none()) {
        return Err(BadTable::Column(missing));
    }
    for (at, header) in headers.iter().enumerate() {
        if place(header) != Some(at) {
            return Err(BadTable::Repeated(header.to_owned()));
        }
        if !COLUMNS.iter().chain([&HOSTS]).any(|name| header.eq_ignore_ascii_case(name)) {
            return Err(BadTable::Unknown(header.to_owned()));
        }
    }
    let mut timings = Vec::new();
    let mut hosts: BTreeMap<u32, String> = BTreeMap::new();
    let mut faults: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for record in reader.records() {
        let read = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            ("cannot be read as a row".to_owned(), line)
        });
        let row = read.and_then(|record| {
            let line = record.position().map_or(0, csv::Position::line);
            let value = |name: &str| place(name).and_then(|place| record.get(place)).unwrap_or_default();
            row(&value).map_err(|why| (why, line))
        });
        match row {
            Ok((timing, of_row)) => {
                timings.push(timing);
                hosts.extend(of_row);
            }
            Err((why, line)) => faults.entry(why).or_default().push(line),
        }
    }
    let told: Vec<String> = faults.iter().map(|(why, lines)| sentence(why, lines)).collect();
    if timings.is_empty() {
        return Err(BadTable::Empty(if told.is_empty() { "there is none".to_owned() } else { told.join("; ") }));
    }
    Ok((Probes::from_timings(timings, hosts), told))
}

fn sentence(why: &str, lines: &[u64]) -> String {
    let numbers: Vec<String> = lines.iter().map(u64::to_string).collect();
    format!("{} {}: {why}", plural(lines.len(), "line"), some(&numbers, TOLD))
}

type ProbeRow = (ProbeTiming, Vec<(u32, String)>);

fn row<'a>(value: &dyn Fn(&str) -> &'a str) -> Result<ProbeRow, String> {
    let shape: Shape = value("pattern").parse()?;
    let cast: Cast = value("ranks").parse()?;
    let bytes = value("bytes");
    let bytes = Bytes(bytes.parse().map_err(|_| format!("`{bytes}` is no number of bytes"))?);
    let pattern = Pattern { shape, ranks: Ranks(cast.ranks().len() as u32), bytes };
    let probe = Probe::new(pattern, &cast).filter(|_| pattern.programs().is_some());
    let probe = probe.ok_or_else(|| format!("{pattern} is no probe"))?;
    let launch = value("launch");
    let launch = launch.parse().map_err(|_| format!("`{launch}` is no whole number"))?;
    let seconds: f64 = value("seconds").parse().map_err(|_| "the time is missing or no number".to_owned())?;
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err("the time is not above zero".to_owned());
    }
    check_time(Seconds(seconds), bytes)?;
    let names = value(HOSTS);
    let hosts: Vec<(u32, String)> = if names.is_empty() {
        Vec::new()
    } else {
        let names: Vec<&str> = names.split('+').map(str::trim).collect();
        if names.len() != cast.ranks().len() {
            return Err("there are not as many hosts as ranks".to_owned());
        }
        cast.ranks().iter().copied().zip(names.into_iter().map(str::to_owned)).collect()
    };
    Ok((ProbeTiming::new(probe, launch, Seconds(seconds)), hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_probes() {
        let text = "# by hand\npattern,ranks,bytes,launch,seconds,hosts\n\
                    pingpong,0+1,0,0,4e-5,a+b\none-to-two,0+1+2,64,0,6e-5,a+b+b\n";
        let (probes, told) = read(text).expect("a table");
        assert_eq!(told, Vec::<String>::new());
        assert_eq!(probes.round_trip(0, Shape::Ping, (1, 0), 0), Some(4e-5));
        assert!(probes.share_host(1, 2) && !probes.share_host(0, 1));
    }

    #[test]
    fn bad_rows_are_told_and_the_rest_is_kept() {
        let text = "pattern,ranks,bytes,launch,seconds\npingpong,0+1,0,0,4e-5\npingpong,0+1,0,0,-1\npingpong,0+1,0,0,\n\
                    pingpong,0+0,0,0,1\npingpong,0+1+2,0,0,1\nhop,0+1,0,0,1\npingpong,0+1,x,0,1\npingpong,0+1,0,0,NaN\n";
        let (probes, told) = read(text).expect("a table");
        assert_eq!(probes.all().len(), 1);
        let told = told.join("\n");
        for part in [
            "lines 3 and 9: the time is not above zero",
            "line 4: the time is missing",
            "line 5: `0+0` is not a list of distinct ranks",
            "line 6: pingpong of 0 B on 3 ranks is no probe",
            "line 7: `hop`",
            "line 8: `x` is no number of bytes",
        ] {
            assert!(told.contains(part), "{part} in\n{told}");
        }
    }

    #[test]
    fn tables_without_columns_or_rows_are_refused() {
        assert_eq!(read("pattern,ranks,bytes,launch\n"), Err(BadTable::Column("seconds")));
        assert_eq!(read(""), Err(BadTable::Column("pattern")));
        for (columns, refused) in [
            ("pattern,ranks,bytes,back,launch,seconds", BadTable::Unknown("back".to_owned())),
            ("pattern,ranks,bytes,launch,seconds,note", BadTable::Unknown("note".to_owned())),
            ("pattern,ranks,bytes,launch,seconds,", BadTable::Unknown(String::new())),
            ("pattern,ranks,bytes,launch,seconds,Seconds", BadTable::Repeated("Seconds".to_owned())),
        ] {
            assert_eq!(read(&format!("{columns}\npingpong,0+1,0,0,4e-5,1\n")), Err(refused), "{columns}");
        }
        assert!(
            read("pattern,ranks,bytes,launch,seconds\n").is_err_and(|bad| bad.to_string().contains("there is none"))
        );
    }
}
