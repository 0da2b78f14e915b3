//! All that is wrong with a rules file, or might surprise its users, for the versions that shall read it.
//!
//! Two readings are laid side by side: a strict one, which recovers and says what the text looks as if it meant
//! (`words`, `layout`, `classic`, `json`), and Open MPI's own, version by version, through [`crate::file`] (`outcome`,
//! `reach`, `rules`, `agree`).
//!
//! | codes | about |
//! |---|---|
//! | CR0xx | what becomes of the file as a whole |
//! | CR1xx | the text of a classic file |
//! | CR2xx | the text of a JSON file |
//! | CR3xx | which calls the rules serve |
//! | CR4xx | what the rules do to those calls |
//! | CR5xx | rules files of coll/han |
//!
//! A problem whose remedy takes no decision comes with its edits (`edit`), and `fix` carries out those that leave the
//! meaning of the file alone.
//!
//! Takes time `n log n` in the length of the file and never fails, whatever the bytes.

mod agree;
mod classic;
mod code;
mod collect;
mod edit;
mod fate;
mod fix;
mod han;
mod json;
mod listing;
mod metrics;
mod problem;
mod reach;
mod rules;
mod words;

use crate::behaviour::Behaviour;
use crate::file::{Load, Loaded, load};
use crate::json::Document;
use crate::reach::View;

pub use code::{Code, Severity};
pub use edit::Edit;
pub use fix::{Fixed, fix};
pub use problem::{Fate, Kind, Problem, Reading, Related, Report};

use collect::Collector;
use fate::Intent;
use words::Strict;

/// Checks a file for these versions; for all that behave differently where there are none.
///
/// A file that one of them rejects is an error. Where none is named, that older versions cannot read its format is no
/// more than a warning, since no file of that format could do better.
pub fn check(source: &[u8], versions: &[Behaviour]) -> Report {
    let named = !versions.is_empty();
    let kept = versions_or_all(versions);
    if crate::han::is_han(source) {
        return han::check(source, &kept, named);
    }
    let intent = Intent::of(source);
    let mut problems = Collector::default();
    let strict = match intent {
        Intent::Classic => classic::read(source, &kept, &mut problems),
        Intent::Json => match Document::parse(source) {
            Ok(document) => {
                json::read(&document, source, &kept, &mut problems);
                Strict::default()
            }
            Err(error) => {
                json::not_json(&error, source, &kept, &mut problems);
                Strict::default()
            }
        },
    };
    let loads: Vec<(Behaviour, Load)> = kept.iter().map(|version| (*version, load(source, version))).collect();
    let readings = fate::judge(source, intent, &loads, &strict, named, &mut problems);
    // What a version makes of a format that it takes for another is beside the point.
    let reads = |version: &Behaviour| intent == Intent::Classic || version.reads_json;
    let meant: Vec<&Loaded> =
        loads.iter().filter(|(version, _)| reads(version)).filter_map(|(_, load)| load.accepted()).collect();
    let mut meanings = Collector::default();
    let views: Vec<View<'_>> = meant.iter().map(|loaded| View::new(loaded)).collect();
    reach::check(source, &views, &strict, &mut meanings);
    for view in &views {
        rules::check(view, &mut meanings);
        metrics::check(view, &mut meanings);
    }
    if strict.garbage.is_empty() {
        agree::check(&meant, &mut meanings);
    }
    // Behind the first place that is misread rules are not what they seem to be.
    let sound = strict.garbage.iter().map(|span| span.start).min().unwrap_or(usize::MAX);
    problems.extend(meanings, |problem| problem.span.end <= sound);
    Report { kind: Kind::Tuned, readings, problems: problems.finish() }
}

/// These versions, each once; all that behave differently where there are none.
fn versions_or_all(versions: &[Behaviour]) -> Vec<Behaviour> {
    let mut kept: Vec<Behaviour> = Vec::new();
    for version in if versions.is_empty() { Behaviour::distinct() } else { versions.to_vec() } {
        if kept.iter().all(|earlier| earlier.name() != version.name()) {
            kept.push(version);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
