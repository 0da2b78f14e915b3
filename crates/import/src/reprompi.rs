//! The text that ReproMPI prints: one row per call, per call and process, or per message size.
//!
//! Its times are those of the slowest rank (`compute_runtimes` of ReproMPI takes the maximum of the local times, or the
//! last end minus the first start on a global clock). Message sizes are counts of a datatype whose size the header says.

use std::collections::BTreeMap;

use super::facts::{Facts, TimeStatistics, collective_named};
use super::finding::FindingCode;
use super::raw::{Parsed, Raw, fault, time};
use super::stray::{Stray, short};
use collrules_record::units::{Bytes, Ranks, Seconds};

/// Returns true if text has the marks of this format.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("#@") || ReprompiHeader::parse(line).is_some())
}

/// Places of the columns that are read.
struct ReprompiHeader {
    count: usize,
    test: usize,
    size: usize,
    in_bytes: bool,
    round: Option<usize>,
    invalid: Option<usize>,
    process: Option<usize>,
    kind: ReprompiKind,
}

#[derive(Clone, Copy, PartialEq)]
enum ReprompiKind {
    /// One call, the slowest rank.
    Call(usize),
    /// Start and end of one call on one process.
    Process(usize, usize),
    /// A summary of the calls of a size.
    Summary(usize),
}

impl ReprompiHeader {
    fn parse(line: &str) -> Option<Self> {
        let names: Vec<&str> = line.split_whitespace().collect();
        let place = |name: &str| names.iter().position(|found| *found == name);
        let test = place("test")?;
        let in_bytes = place("msize_bytes").is_some();
        let size = place("count").or_else(|| place("msize_bytes"))?;
        let kind = if let Some(place) = place("runtime_sec") {
            ReprompiKind::Call(place)
        } else if let (Some(start), Some(end)) = (place("loc_tstart_sec"), place("loc_tend_sec")) {
            ReprompiKind::Process(start, end)
        } else {
            ReprompiKind::Summary(place("median_sec").or_else(|| place("mean_sec"))?)
        };
        let round = place("nrep");
        Some(Self {
            count: names.len(),
            test,
            size,
            in_bytes,
            round,
            invalid: place("errorcode"),
            process: place("process"),
            kind,
        })
    }
}

/// Values of `#@key=value` lines.
#[derive(Default)]
struct Keys {
    ranks: Option<Ranks>,
    type_bytes: Option<u64>,
}

/// The processes of one call.
#[derive(Default)]
struct ReprompiCall {
    line: u64,
    max: f64,
    min: f64,
    sum: f64,
    processes: u32,
}

/// Reads text.
pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut stray = Stray::default();
    let (mut keys, mut header, mut block) = (Keys::default(), None, None);
    let mut calls: BTreeMap<(u32, String, u64, u32), ReprompiCall> = BTreeMap::new();
    let mut summaries = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        if let Some(key) = content.strip_prefix("#@") {
            self::key(key, &mut keys);
        } else if content.starts_with('#') {
            // Each start of the program says how it was called.
            if content.starts_with("#Command-line arguments") && header.is_some() {
                finish(&mut calls, &keys, &mut parsed);
                (keys, header) = (Keys::default(), None);
            }
        } else if let Some(found) = ReprompiHeader::parse(content) {
            stray.end(&mut parsed);
            header = Some(found);
            block = Some(block.map_or(0, |block| block + 1));
        } else if let (Some(header), Some(block)) = (&header, block) {
            let fields: Vec<&str> = content.split_whitespace().collect();
            if fields.get(header.test).is_none_or(|test| !test.starts_with("MPI_") && fields.len() != header.count) {
                stray.line(line, content);
                continue;
            }
            stray.end(&mut parsed);
            match read_row(&fields, header, &keys) {
                Err((code, what)) => parsed.fault(line, code, what),
                Ok(row) => match header.kind {
                    ReprompiKind::Process(..) => {
                        let call = calls
                            .entry((block, row.test, row.bytes, row.round))
                            .or_insert_with(|| ReprompiCall { line, min: f64::INFINITY, ..ReprompiCall::default() });
                        call.max = call.max.max(row.seconds);
                        call.min = call.min.min(row.seconds);
                        call.sum += row.seconds;
                        call.processes += 1;
                    }
                    kind => {
                        let times = TimeStatistics { max: Some(Seconds(row.seconds)), ..TimeStatistics::default() };
                        let raw = raw(line, block, (&row.test, row.bytes, row.round), times, &keys);
                        if matches!(kind, ReprompiKind::Summary(_)) { &mut summaries } else { &mut parsed.raws }
                            .push(raw);
                    }
                },
            }
        } else {
            stray.line(line, content);
        }
    }
    stray.end(&mut parsed);
    finish(&mut calls, &keys, &mut parsed);
    if parsed.raws.is_empty() {
        parsed.raws = summaries;
    } else if let Some(first) = summaries.first() {
        let what = "summaries of calls that the file also lists one by one";
        parsed.faults.push((Some(first.line), fault(FindingCode::PassedOver, what).of_timings(summaries.len())));
    }
    parsed
}

fn key(text: &str, keys: &mut Keys) {
    match text.split_once('=') {
        Some(("nprocs", value)) => keys.ranks = value.trim().parse().ok(),
        Some(("datatype_size_bytes", value)) => keys.type_bytes = value.trim().parse().ok(),
        _ => {}
    }
}

struct ReprompiRow {
    test: String,
    bytes: u64,
    round: u32,
    seconds: f64,
}

fn read_row(fields: &[&str], header: &ReprompiHeader, keys: &Keys) -> Result<ReprompiRow, (FindingCode, String)> {
    if fields.len() != header.count {
        return Err((FindingCode::BadRow, format!("{} values instead of {}", fields.len(), header.count)));
    }
    let bad = |what: String| (FindingCode::BadRow, what);
    let whole = |place: usize, what: &str| {
        fields[place].parse::<u64>().map_err(|_| bad(format!("`{}` is not {what}", fields[place])))
    };
    let seconds = |place: usize| {
        fields[place].parse::<f64>().map_err(|_| (FindingCode::BadTime, format!("`{}` is not a number", fields[place])))
    };
    if let Some(place) = header.invalid
        && fields[place] != "0"
    {
        let what = format!("ReproMPI marks the call as invalid: error code {}", short(fields[place]));
        return Err((FindingCode::InvalidMeasurement, what));
    }
    if let Some(place) = header.process {
        whole(place, "a process number")?;
    }
    let size = whole(header.size, "a size")?;
    let bytes = if header.in_bytes {
        size
    } else {
        let unknown = "the line #@datatype_size_bytes=... is missing, so counts cannot be converted to bytes";
        let type_bytes = keys.type_bytes.ok_or_else(|| bad(unknown.to_owned()))?;
        size.checked_mul(type_bytes).ok_or_else(|| bad(format!("{size} is too many")))?
    };
    let round = header.round.map_or(Ok(0), |place| whole(place, "a call number"))?;
    let round = u32::try_from(round).map_err(|_| bad(format!("{round} is too large for a number of calls")))?;
    let seconds = match header.kind {
        ReprompiKind::Call(place) | ReprompiKind::Summary(place) => {
            time(fields[place], 1.0).map_err(|what| (FindingCode::BadTime, what))?.0
        }
        ReprompiKind::Process(start, end) => {
            let duration = seconds(end)? - seconds(start)?;
            if !(duration.is_finite() && duration > 0.0) {
                return Err((FindingCode::BadTime, "the call does not end after its start".to_owned()));
            }
            duration
        }
    };
    Ok(ReprompiRow { test: fields[header.test].to_owned(), bytes, round, seconds })
}

/// A timing of these calls. An unknown name is left to be reported with those of other formats.
fn raw(line: u64, block: u32, call: (&str, u64, u32), times: TimeStatistics, keys: &Keys) -> Raw {
    let (test, bytes, round) = call;
    let facts = Facts { collective: collective_named(test), ranks: keys.ranks, ..Facts::default() };
    Raw { line, block, facts, bytes: Bytes(bytes), round, times, digits: None }
}

/// Finishes calls of which all processes have been read.
fn finish(calls: &mut BTreeMap<(u32, String, u64, u32), ReprompiCall>, keys: &Keys, parsed: &mut Parsed) {
    for ((block, test, bytes, round), call) in std::mem::take(calls) {
        match keys.ranks {
            Some(ranks) if ranks.0 != call.processes => {
                let what = format!("{} of {ranks} processes of this call have a row", call.processes);
                parsed.fault(call.line, FindingCode::BadRow, what);
            }
            _ => {
                let mean = call.sum / f64::from(call.processes);
                let times = TimeStatistics {
                    max: Some(Seconds(call.max)),
                    min: Some(Seconds(call.min)),
                    mean: Some(Seconds(mean)),
                };
                parsed.raws.push(raw(call.line, block, (&test, bytes, round), times, keys));
            }
        }
    }
}
