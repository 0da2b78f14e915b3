//! Whether journal and samples tell of the same launches.
//!
//! Who resumes a run believes both: what the journal does not know of is measured again, and what it calls complete is
//! not. So they are compared before anything is written. At the beginning and the end of each launch the journal says how
//! long the samples file was; behind the last such line there may be timings of the launch that had begun, and of no
//! other. Journals of format 1.0 do not say it: there, launches are counted.

use std::collections::BTreeSet;

use super::journal::{Entry, JournalLine};
use super::lines::row_of;
use crate::pattern::Subject;
use crate::plan::Plan;
use crate::sample::{Row, Sample};

/// The launch that a timing is of; timings of one launch have the same. A series, or a pair, has one number, and a launch
/// for each candidate.
fn launch_of(row: &Row, plan: &Plan) -> (u32, Option<String>) {
    let Row::Sample(Sample { launch, cell, candidate, .. }) = row else { return (row.launch(), None) };
    let alone = if plan.deployment.is_some() {
        Some(candidate.to_string())
    } else {
        plan.separate.collectives.contains(&cell.collective).then(|| format!("{} {candidate}", cell.collective))
    };
    (*launch, alone)
}

fn launches<'a>(samples: impl Iterator<Item = &'a Row>, plan: &Plan) -> BTreeSet<(u32, Option<String>)> {
    samples.map(|sample| launch_of(sample, plan)).collect()
}

/// Why journal and samples do not belong together, in a clause; nothing where they do. `text` is the samples file without
/// an unfinished last line, and `rows` what it holds.
pub(super) fn disagreement(journal: &[JournalLine], text: &str, rows: &[Row], plan: &Plan) -> Option<String> {
    let samples: Vec<&Row> = rows.iter().filter(|row| row.is_timing()).collect();
    let begun: Vec<u32> = journal.iter().filter_map(JournalLine::begun).collect();
    if begun.is_empty() && !samples.is_empty() {
        return Some("the journal lists no launch, but there are samples".to_owned());
    }
    if let Some((number, _)) = (0..).zip(&begun).find(|(number, launch)| number != *launch) {
        return Some(format!("the journal lacks launch {number}"));
    }
    if let Some(launch) = journal.iter().filter_map(JournalLine::launch).find(|launch| !begun.contains(launch)) {
        return Some(format!("the journal lacks the beginning of launch {launch}"));
    }
    lost(journal, text, rows, plan).or_else(|| unknown(journal, text, &samples, begun.len(), plan))
}

/// Samples of which the journal knows, and which are not there.
fn lost(journal: &[JournalLine], text: &str, rows: &[Row], plan: &Plan) -> Option<String> {
    // Series and pairs have numbers of their own.
    let numbered = |subject: &Subject| match subject {
        Subject::Cell(cell) => plan.deployment.is_none() && !plan.separate.collectives.contains(&cell.collective),
        Subject::Pattern(_) => true,
    };
    let place = |launch: u32, subject: Subject| (numbered(&subject).then_some(launch), subject);
    let there: BTreeSet<(Option<u32>, Subject)> = rows.iter().map(|row| place(row.launch(), row.subject())).collect();
    let mut known = 0;
    for line in journal {
        let finished = match &line.entry {
            Entry::Finished { launch, cell } => Some((*launch, Subject::Cell(*cell))),
            Entry::FinishedPattern { launch, pattern } => Some((*launch, Subject::Pattern(*pattern))),
            _ => None,
        };
        if let Some((launch, subject)) = finished.filter(|(launch, subject)| !there.contains(&place(*launch, *subject)))
        {
            return Some(format!("launch {launch} finished {subject}, of which there are no samples"));
        }
        let Some(length) = line.samples_bytes.map(|length| usize::try_from(length).unwrap_or(usize::MAX)) else {
            continue;
        };
        if length > text.len() {
            return Some(format!("{} bytes of the samples are missing", length - text.len()));
        }
        if length < known || text.as_bytes()[..length].last() != Some(&b'\n') {
            return Some("the samples are not those that the journal lists".to_owned());
        }
        known = length;
    }
    None
}

/// Samples that are there, and of which the journal does not know.
fn unknown(journal: &[JournalLine], text: &str, samples: &[&Row], begun: usize, plan: &Plan) -> Option<String> {
    let why = |launches: usize| Some(format!("the journal lacks launches that took samples ({launches})"));
    let all = launches(samples.iter().copied(), plan);
    let later = all.iter().filter(|(number, alone)| alone.is_none() && *number as usize >= begun).count();
    let missing = later.max(all.len().saturating_sub(begun));
    if missing > 0 {
        return why(missing);
    }
    let mark = |line: &&JournalLine| matches!(line.entry, Entry::Begun { .. } | Entry::Ended { .. });
    let last = journal.iter().rfind(mark)?;
    let known = usize::try_from(last.samples_bytes?).unwrap_or(usize::MAX).min(text.len());
    let rows: Vec<Row> = text[known..].lines().filter_map(|line| row_of(line).ok()).collect();
    let behind = rows.iter().filter(|row| row.is_timing());
    let allowed = usize::from(last.begun().is_some());
    match launches(behind, plan).len().saturating_sub(allowed) {
        0 => None,
        missing => why(missing),
    }
}
