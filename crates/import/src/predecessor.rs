//! The tables of open-mpi/ompi-collectives-tuning: `detail.out` with all algorithms and `best.out` with the winners.
//!
//! Each value is a mean over runs of OSU's or IMB's rank average in microseconds, perhaps with its standard deviation in
//! parentheses. The collective is in the name of the directory. The raw outputs that they are made of are OSU or IMB
//! text, in files named `ALGORITHM_NPranks_runN.out`.

use super::facts::{Facts, TimeStatistics};
use super::finding::FindingCode;
use super::raw::{Digits, Parsed, Raw, time};
use super::stray::short;
use collrules_record::CandidateName;
use collrules_record::units::{Bytes, Ranks};

/// The header of such a table; none if a text begins otherwise.
fn header(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let mut words = line.split_whitespace();
    let is_header = matches!(words.next(), Some("#Nnodes" | "#Nranks")) && words.next() == Some("Message_size");
    is_header.then_some(line)
}

/// Returns true for the table of winners, false for that of all algorithms; none for other texts.
pub(super) fn is_best(text: &str) -> Option<bool> {
    header(text).map(|line| line.contains("Best_Algorithm"))
}

/// Reads a table. Its first column is headed `Nnodes` or `Nranks`, and holds ranks in either case.
pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let best = is_best(text).unwrap_or_default();
    let mut algorithms: Vec<&str> = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let fields = fields(content);
        if fields.is_empty() {
            continue;
        }
        if content.trim_start().starts_with('#') {
            algorithms = fields[2.min(fields.len())..].to_vec();
            continue;
        }
        // Rows of detail.out repeat the reference in one column more than the header has.
        let expected = algorithms.len() + 2;
        if fields.len() != expected && (best || fields.len() != expected + 1) {
            let what = format!("{} values instead of {expected}: {}", fields.len(), short(content));
            parsed.fault(line, FindingCode::BadRow, what);
            continue;
        }
        let (Ok(ranks), Ok(bytes)) = (fields[0].parse::<Ranks>(), fields[1].parse::<u64>()) else {
            let what = format!("the number of ranks or bytes is missing: {}", short(content));
            parsed.fault(line, FindingCode::BadRow, what);
            continue;
        };
        let mut value = |algorithm: &str, text: &str| {
            if text == NO_DATA {
                return;
            }
            let number = text.split('(').next().unwrap_or_default();
            match time(number, 1e6) {
                Err(what) => parsed.fault(line, FindingCode::BadTime, format!("{algorithm}: {what}")),
                Ok(seconds) => {
                    let algorithm = Some(CandidateName::read(algorithm));
                    let facts = Facts { ranks: Some(ranks), algorithm, ..Facts::default() };
                    let times = TimeStatistics { mean: Some(seconds), ..TimeStatistics::default() };
                    let (bytes, digits) = (Bytes(bytes), Digits::parse(number.as_bytes()));
                    parsed.raws.push(Raw { line, block: 0, facts, bytes, round: 0, times, digits });
                }
            }
        };
        if best {
            // Best algorithm and its latency, then the reference and its latency.
            value(fields[2], fields.get(3).copied().unwrap_or_default());
            if let (Some(reference), Some(latency)) = (fields.get(4), fields.get(5))
                && *reference != fields[2]
            {
                value(reference, latency);
            }
        } else {
            algorithms.iter().zip(&fields[2..]).for_each(|(algorithm, text)| value(algorithm, text));
        }
    }
    parsed
}

const NO_DATA: &str = "No data";

/// The values of a row; `No data` is one.
fn fields(content: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = content.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix(NO_DATA) {
            Some(_) => NO_DATA.len(),
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        fields.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    fields
}
