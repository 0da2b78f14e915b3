//! Errors and surprises in a rules file, for the versions that will read it.
//!
//! Two readings are compared: a strict one, which recovers and finds the apparent meaning of the text (`words`,
//! `listing`, `classic`, `json`), and Open MPI's own, version by version, through [`crate::file`] (`fate`, `checks`,
//! `agree`).
//!
//! | codes | about |
//! |---|---|
//! | CR0xx | treatment of the file as a whole |
//! | CR1xx | the text of a classic file |
//! | CR2xx | the text of a JSON file |
//! | CR3xx | the calls to which the rules apply |
//! | CR4xx | the effects of the rules on those calls |
//! | CR5xx | rules files of coll/han |
//!
//! Takes time `n log n` in the length of the file and accepts any bytes.

mod agree;
mod checks;
mod classic;
mod code;
mod collect;
mod fate;
mod han;
mod json;
mod listing;
mod problem;
mod words;

use std::collections::HashSet;

use crate::behaviour::Behaviour;
use crate::file::{Loaded, load};
use crate::kind::FileKind;
use crate::reach::FileView;
use crate::release::Release;
use crate::units::Ranks;

pub use code::{Code, Severity};
pub use problem::{FileFate, LintReport, Problem, Related, VersionReading};

use checks::Checks;
use collect::Collector;
use words::Strict;

/// Checks a file for these versions; for all distinct ones if none are given.
///
/// A file that one of them rejects is an error. If none is given, older versions that cannot read its format are only a
/// warning, since this applies to every file of that format.
pub fn check(source: &[u8], versions: &[Behaviour]) -> LintReport {
    check_on(source, versions, None)
}

/// Checks a file like [`check`]; with a number of ranks, only for communicators of that size.
pub fn check_on(source: &[u8], versions: &[Behaviour], ranks: Option<Ranks>) -> LintReport {
    let named = !versions.is_empty();
    let mut kept = if named { versions.to_vec() } else { Behaviour::distinct() };
    let mut names = HashSet::new();
    kept.retain(|version| names.insert(version.name()));
    if FileKind::of(source) == FileKind::Han {
        return han::check(source, &kept, named);
    }
    let is_json = fate::is_json(source);
    let readers = if is_json { json::readers(&kept) } else { kept.clone() };
    let newest = readers.iter().map(|version| version.release).max().unwrap_or(Release::V6_0);
    let mut problems = Collector::new(readers);
    let loads: Vec<_> = kept.iter().map(|version| (*version, load(source, version))).collect();
    let strict = if is_json {
        json::read(source, newest, &mut problems);
        Strict::default()
    } else {
        classic::read(source, loads.iter().any(|(_, load)| load.is_err()), &mut problems)
    };
    fate::judge(source, &loads, &strict, named, &mut problems);
    // Results of a version that mistakes the format for another are irrelevant.
    let meant = loads.iter().filter(|(version, _)| !is_json || version.reads_json);
    let meant: Vec<&Loaded> = meant.filter_map(|(_, load)| load.as_ref().ok()).collect();
    let views: Vec<FileView<'_>> = meant.iter().map(|loaded| FileView::new(loaded)).collect();
    let checks = Checks::new(source, &views, &strict, &kept, ranks);
    views.into_iter().for_each(|view| checks.check(view, &mut problems));
    // A file for earlier releases may be checked for 6.0 alone.
    let shifts = !is_json && kept.iter().all(|version| version.shifts_sizes);
    let earlier = shifts.then(|| load(source, &Behaviour::latest(Release::V5_0)));
    agree::check(&meant, earlier.as_ref().and_then(|load| load.as_ref().ok()), &mut problems);
    let readings = loads.iter().map(|(version, load)| VersionReading::new(*version, load)).collect();
    LintReport { kind: FileKind::Tuned, readings, problems: problems.finish() }
}

#[cfg(test)]
mod tests;
