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
//!
//! Takes time `n log n` in the length of the file and never fails, whatever the bytes.

mod agree;
mod classic;
mod code;
mod collect;
mod json;
mod layout;
mod metrics;
mod outcome;
mod problem;
mod reach;
mod rules;
mod words;

use crate::behaviour::Behaviour;
use crate::file::{Load, Loaded, load};
use crate::json::Document;

pub use code::Code;
pub use problem::{Outcome, Problem, Related, Report, Severity, Verdict};

use collect::Collector;
use reach::View;

/// What a file was written as, which shows in its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    Classic,
    Json,
}

/// Checks a file for these versions; for all that behave differently where there are none.
///
/// A file that one of them rejects is an error.
pub fn check(source: &[u8], versions: &[Behaviour]) -> Report {
    let named = !versions.is_empty();
    check_all(source, if named { versions.to_vec() } else { Behaviour::distinct() }, named)
}

/// Checks a file for everything that is known. That older versions cannot read its format is then no more than a
/// warning, since no file of that format could do better.
pub fn check_everywhere(source: &[u8]) -> Report {
    check(source, &[])
}

fn check_all(source: &[u8], versions: Vec<Behaviour>, named: bool) -> Report {
    let mut kept: Vec<Behaviour> = Vec::new();
    for version in versions {
        if kept.iter().all(|earlier| earlier.name() != version.name()) {
            kept.push(version);
        }
    }
    let intent = intent(source);
    let mut problems = Collector::default();
    let strict = match intent {
        Intent::Classic => classic::read(source, &kept, &mut problems),
        Intent::Json => match Document::parse(source) {
            Ok(document) => {
                json::read(&document, source, &kept, &mut problems);
                classic::Strict::default()
            }
            Err(error) => {
                json::not_json(&error, source, &kept, &mut problems);
                classic::Strict::default()
            }
        },
    };
    let loads: Vec<(Behaviour, Load)> = kept.iter().map(|version| (*version, load(source, version))).collect();
    let outcomes = outcome::judge(source, intent, &loads, &strict, named, &mut problems);
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
    Report { outcomes, problems: problems.finish() }
}

fn intent(source: &[u8]) -> Intent {
    let text = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Intent::Json,
        _ => Intent::Classic,
    }
}

#[cfg(test)]
mod tests;
