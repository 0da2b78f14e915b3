//! Timings of probes as a table: `pattern,ranks,bytes,launch,seconds`, with `hosts` if ranks share hosts.

use std::collections::BTreeMap;

use collrules_rules::words::{plural, some};

use collrules_record::pattern::Shape;
use collrules_record::sample::{SLOWEST_BYTES, SLOWEST_STEP, check_time};
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
    /// Rows name several hosts of a rank.
    #[error("the table names {} and {} as the host of rank {rank}: split it by layouts", hosts[0], hosts[1])]
    Hosts {
        /// The rank.
        rank: u32,
        /// Two of its hosts.
        hosts: [String; 2],
    },
    /// All times are those of a slower network than any in use.
    #[error(
        "the fastest message of at most 1 KiB takes {0}, and none of 64 KiB or more has over 12.5 MB/s: slower than any \
         network in use; the column `seconds` may be in another unit"
    )]
    Slow(String),
    /// No row can be used.
    #[error("no row of the table can be used: {0}")]
    Empty(String),
}

/// Reads a table. Unusable rows are left out and reported in sentences.
pub fn read(text: &str) -> Result<(Probes, Vec<String>), BadTable> {
    let header = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    let separator = [b';', b'\t'].into_iter().find(|sign| header.as_bytes().contains(sign)).unwrap_or(b',');
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(separator).comment(Some(b'#')).flexible(true).trim(csv::Trim::All);
    let mut reader = builder.from_reader(text.as_bytes());
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
                for (rank, host) in of_row {
                    let known = hosts.entry(rank).or_insert_with(|| host.clone());
                    if *known != host {
                        return Err(BadTable::Hosts { rank, hosts: [known.clone(), host] });
                    }
                }
                timings.push(timing);
            }
            Err((why, line)) => faults.entry(why).or_default().push(line),
        }
    }
    let told: Vec<String> = faults.iter().map(|(why, lines)| sentence(why, lines)).collect();
    if timings.is_empty() {
        return Err(BadTable::Empty(if told.is_empty() { "there is none".to_owned() } else { told.join("; ") }));
    }
    if let Some(time) = slow_message(&timings) {
        return Err(BadTable::Slow(time.to_string()));
    }
    Ok((Probes::from_timings(timings, hosts), told))
}

/// Sizes of small and of large messages.
const SMALL: u64 = 1024;
const LARGE: u64 = 64 * 1024;

/// The time of the fastest small message, if messages are slower than on any network in use. Of small ones alone, it has to
/// be a second.
fn slow_message(timings: &[ProbeTiming]) -> Option<Seconds> {
    let is_message = |it: &&ProbeTiming| ![Shape::ReduceLocal, Shape::LateReceive].contains(&it.probe.shape);
    let messages = || timings.iter().filter(is_message);
    let small = messages().filter(|it| it.probe.bytes <= SMALL).map(|it| it.seconds).reduce(f64::min)?;
    let large = messages().filter(|it| it.probe.bytes >= LARGE);
    let speed = large.map(|it| it.probe.bytes as f64 / it.seconds).reduce(f64::max);
    // A message and its answer.
    let least = speed.map_or(1.0, |_| 2.0 * SLOWEST_STEP);
    (small >= least && speed.is_none_or(|speed| speed < SLOWEST_BYTES)).then_some(Seconds(small))
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

    #[test]
    fn tables_that_contradict_themselves_or_the_unit_are_refused() {
        let read = |rows: &str| read(&format!("pattern,ranks,bytes,launch,seconds,hosts\n{rows}"));
        let hosts = |host: &str| BadTable::Hosts { rank: 1, hosts: ["b".to_owned(), host.to_owned()] };
        let two = |host: &str, time: &str| format!("pingpong,0+1,0,0,2e-5,a+b\nping,1+2,0,0,{time},{host}+c\n");
        assert!(read(&two("b", "2e-5")).is_ok());
        assert_eq!(read(&two("c", "2e-5")), Err(hosts("c")));
        let sized = |small: &str, large: &str| format!("ping,0+1,8,0,{small},\nping,0+1,524288,0,{large},\n");
        for (small, large, is_used) in [
            ("2e-5", "1e-3", true),
            ("1e-3", "0.04", true),
            ("1e-4", "0.1", true),
            ("20.0", "1068.5", false),
            ("1e-3", "0.1", false),
        ] {
            assert_eq!(read(&sized(small, large)).is_ok(), is_used, "{small} {large}");
        }
        assert_eq!(read("ping,0+1,8,0,20.0,\n"), Err(BadTable::Slow("20 s".to_owned())));
        assert!(read("ping,0+1,8,0,0.002,\n").is_ok());
    }

    #[test]
    fn tables_may_have_semicolons_or_tabs() {
        let text = "# by hand\npattern,ranks,bytes,launch,seconds\npingpong,0+1,0,0,4e-5\n";
        let expected = read(text).expect("a table");
        assert_eq!(expected.0.all().len(), 1);
        for separator in [";", "\t"] {
            assert_eq!(read(&text.replace(',', separator)), Ok(expected.clone()));
        }
    }
}
