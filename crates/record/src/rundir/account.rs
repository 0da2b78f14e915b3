//! Check that journal, samples and plans are those that were written.
//!
//! At the beginning and the end of each launch, the journal records its own digest so far, length and digest of the samples,
//! and the digest of the plans. After the last recorded length there may only be timings of the launch that had begun.

use std::collections::BTreeSet;

use collrules_rules::Collective;
use sha2::{Digest as _, Sha256};

use super::journal::{JournalEntry, JournalLine, JournalText};
use super::lines::row_of;
use crate::file::digest_so_far;
use crate::sample::{Row, Sample};

/// Returns the first change of the journal or of the plans since they were written, in a clause; none if both are
/// unchanged. `plans` is the digest of manifest and refinements.
pub(super) fn change_of_plans(journal: &JournalText, plans: &str) -> Option<String> {
    if let Some(line) = journal.altered {
        return Some(format!("a line of launches.jsonl before line {line} was changed"));
    }
    let marked: Vec<&JournalLine> = journal.lines.iter().filter(|line| line.mark.is_some()).collect();
    // A line that announces a change is followed by the change, unless that was interrupted.
    let announces = |line: &&&JournalLine| matches!(line.entry, JournalEntry::Format(_));
    let announced = marked.iter().rev().take_while(announces).count();
    let last = &marked[marked.len().saturating_sub(announced + 1)..];
    let is_other = |line: &&JournalLine| line.mark.as_ref().is_some_and(|mark| mark.plans_sha256 != plans);
    let is_changed = !last.is_empty() && last.iter().all(is_other);
    is_changed.then(|| "manifest.json or a refinement was changed since it was written".to_owned())
}

/// Returns the first change of the samples since the journal was written, in a clause; none if they are unchanged.
/// `text` is the samples file without an unfinished last line; algorithms of the collectives in `apart` have launches
/// of their own.
pub(super) fn change_of_samples(journal: &JournalText, text: &str, apart: &BTreeSet<Collective>) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut known, mut digest) = (0, Sha256::new());
    for (entry, mark) in journal.lines.iter().filter_map(|line| Some((&line.entry, line.mark.as_ref()?))) {
        let length = usize::try_from(mark.samples_bytes).unwrap_or(usize::MAX);
        let Some(part) = bytes.get(known..length) else {
            return Some(format!("{} bytes of the samples are missing", length.saturating_sub(bytes.len())));
        };
        digest.update(part);
        if digest_so_far(&digest) != mark.samples_sha256 {
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
    // A journal that was not written here may end within a character.
    let behind: BTreeSet<_> = String::from_utf8_lossy(&bytes[known..])
        .lines()
        .filter_map(|line| launch_of(&row_of(line).ok()?, apart))
        .collect();
    let turns = |entry: &&JournalEntry| matches!(entry, JournalEntry::Begun { .. } | JournalEntry::Ended { .. });
    let last = journal.lines.iter().map(|line| &line.entry).rfind(turns);
    let allowed = usize::from(last.is_some_and(|entry| matches!(entry, JournalEntry::Begun { .. })));
    let missing = behind.len().saturating_sub(allowed);
    (missing > 0).then(|| format!("the journal lacks launches that took samples ({missing})"))
}

/// The launch of a timing; none for other rows. A series has one number, and a launch for each candidate.
fn launch_of(row: &Row, apart: &BTreeSet<Collective>) -> Option<(u32, Option<String>)> {
    match row {
        Row::Sample(Sample { launch, cell, candidate, .. }) => {
            let alone = apart.contains(&cell.collective).then(|| format!("{} {candidate}", cell.collective));
            Some((*launch, alone))
        }
        Row::Pattern(sample) => Some((sample.launch, None)),
        Row::Ended(_) | Row::EndedCast(_) => None,
    }
}
