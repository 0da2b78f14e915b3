//! Check that journal and samples describe the same launches.
//!
//! A resumed run relies on both: launches that the journal does not list are measured again, and those that it calls
//! complete are not. So they are compared before anything is written. At the beginning and the end of each launch, the
//! journal records the length of the samples file; after the last recorded length there may only be timings of the
//! launch that had begun. Journals of format 1.0 have no lengths, so launches are counted.

use std::collections::BTreeSet;

use super::journal::{JournalEntry, JournalLine, JournalText};
use super::lines::row_of;
use crate::file::Growing;
use crate::pattern::Subject;
use crate::plan::Plan;
use crate::sample::{Row, Sample};

/// The launch of a timing; all timings of a launch have the same. A series has one number, and a launch for each candidate.
fn launch_of(row: &Row, plan: &Plan) -> (u32, Option<String>) {
    let Row::Sample(Sample { launch, cell, candidate, .. }) = row else { return (row.launch(), None) };
    let is_apart = plan.separate.collectives.contains(&cell.collective);
    let alone = is_apart.then(|| format!("{} {candidate}", cell.collective));
    (*launch, alone)
}

fn launches<'a>(samples: impl Iterator<Item = &'a Row>, plan: &Plan) -> BTreeSet<(u32, Option<String>)> {
    samples.map(|sample| launch_of(sample, plan)).collect()
}

/// Returns the reason why journal and samples do not belong together, in a clause; none if they do. `text` is the
/// samples file without an unfinished last line, and `rows` its rows.
pub(super) fn disagreement(journal: &JournalText, text: &str, rows: &[Row], plan: &Plan) -> Option<String> {
    let journal = &journal.lines[..];
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

/// Returns the first change since the journal was written, in a clause; none if everything is unchanged. `plans` is the
/// digest of manifest and refinements.
pub(super) fn alteration(journal: &JournalText, text: Option<&str>, plans: &str) -> Option<String> {
    if let Some(line) = journal.altered {
        return Some(format!("line {line} of launches.jsonl, or one before it, was changed"));
    }
    if !journal.has_digests {
        return None;
    }
    let marks = || journal.lines.iter().filter(|line| line.mark.plans_sha256.is_some());
    // A line that announces a change is followed by the change, unless that was interrupted.
    let announces = |line: &&&JournalLine| matches!(line.entry, JournalEntry::Format(_));
    let last: Vec<&JournalLine> = {
        let all: Vec<&JournalLine> = marks().collect();
        let announced = all.iter().rev().take_while(announces).count();
        all[all.len().saturating_sub(announced + 1)..].to_vec()
    };
    if !last.is_empty() && last.iter().all(|line| line.mark.plans_sha256.as_deref() != Some(plans)) {
        return Some("manifest.json or a refinement was changed since it was written".to_owned());
    }
    let bytes = text?.as_bytes();
    let (mut known, mut digest) = (0, Growing::default());
    for JournalLine { entry, mark } in &journal.lines {
        let (Some(length), Some(sum)) = (mark.samples_bytes, &mark.samples_sha256) else { continue };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(part) = bytes.get(known..length) else {
            return Some(format!("{} bytes of the samples are missing", length.saturating_sub(bytes.len())));
        };
        digest.add(part);
        if digest.digest() != *sum {
            let line = |at: usize| bytes[..at].iter().filter(|byte| **byte == b'\n').count();
            let of = match entry {
                JournalEntry::Ended { launch, .. } => format!(" of launch {launch}"),
                _ => String::new(),
            };
            return Some(format!(
                "lines {} to {} of samples.csv{of} are not those that were written",
                line(known) + 1,
                line(length).max(line(known) + 1)
            ));
        }
        known = length;
    }
    None
}

/// Launches with rows after the last recorded length that the journal does not list.
pub(super) fn unmarked(journal: &JournalText, text: &str, plan: &Plan) -> Option<String> {
    behind(&journal.lines, text, plan)
}

/// Samples that the journal lists, but that are missing.
fn lost(journal: &[JournalLine], text: &str, rows: &[Row], plan: &Plan) -> Option<String> {
    // Series have numbers of their own.
    let numbered = |subject: &Subject| match subject {
        Subject::Cell(cell) => !plan.separate.collectives.contains(&cell.collective),
        Subject::Pattern(_) => true,
    };
    let place = |launch: u32, subject: Subject| (numbered(&subject).then_some(launch), subject);
    let there: BTreeSet<(Option<u32>, Subject)> = rows.iter().map(|row| place(row.launch(), row.subject())).collect();
    let mut known = 0;
    for line in journal {
        let finished = match &line.entry {
            JournalEntry::Finished { launch, cell } => Some((*launch, Subject::Cell(*cell))),
            JournalEntry::FinishedPattern { launch, pattern } => Some((*launch, Subject::Pattern(*pattern))),
            _ => None,
        };
        if let Some((launch, subject)) = finished.filter(|(launch, subject)| !there.contains(&place(*launch, *subject)))
        {
            return Some(format!("launch {launch} finished {subject}, of which there are no samples"));
        }
        let Some(length) = line.mark.samples_bytes.map(|length| usize::try_from(length).unwrap_or(usize::MAX)) else {
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

/// Samples that exist, but that the journal does not list.
fn unknown(journal: &[JournalLine], text: &str, samples: &[&Row], begun: usize, plan: &Plan) -> Option<String> {
    let all = launches(samples.iter().copied(), plan);
    let later = all.iter().filter(|(number, alone)| alone.is_none() && *number as usize >= begun).count();
    let missing = later.max(all.len().saturating_sub(begun));
    if missing > 0 {
        return Some(lacking(missing));
    }
    behind(journal, text, plan)
}

fn behind(journal: &[JournalLine], text: &str, plan: &Plan) -> Option<String> {
    let mark = |line: &&JournalLine| line.mark.samples_bytes.is_some();
    let last = journal.iter().rfind(mark)?;
    let known = usize::try_from(last.mark.samples_bytes?).unwrap_or(usize::MAX).min(text.len());
    let rows: Vec<Row> = text.get(known..)?.lines().filter_map(|line| row_of(line).ok()).collect();
    let behind = rows.iter().filter(|row| row.is_timing());
    // A change of the plans may be announced while a launch goes on.
    let turn = |line: &&JournalLine| matches!(line.entry, JournalEntry::Begun { .. } | JournalEntry::Ended { .. });
    let allowed = usize::from(journal.iter().rfind(turn).is_some_and(|line| line.begun().is_some()));
    match launches(behind, plan).len().saturating_sub(allowed) {
        0 => None,
        missing => Some(lacking(missing)),
    }
}

fn lacking(launches: usize) -> String {
    format!("the journal lacks launches that took samples ({launches})")
}
