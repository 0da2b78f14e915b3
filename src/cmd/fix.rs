//! `collrules check --fix`: mends what takes no decision, in place, or shows what it would change.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use collrules_record::rundir;
use collrules_rules::lines::plain;
use collrules_rules::lint::{self, Code, Fixed};
use collrules_rules::words::counted;
use serde_json::{Value, json};
use similar::TextDiff;

use super::source;
use crate::args::Check;
use crate::failure::Failure;
use crate::screen;

/// Mends these files, and puts each in place whole. With `--dry-run` they stay as they are.
pub(super) fn mend(args: &Check, sources: &[Vec<u8>]) -> Result<Vec<Fixed>, Failure> {
    for path in &args.files {
        if path.is_dir() {
            let path = plain(&path.display().to_string());
            return Err(Failure::usage(format!(
                "--fix leaves the files of a run directory alone ({path}): analyze writes them anew; copy {} elsewhere to \
                 mend it",
                rundir::RULES
            )));
        }
        if source::is_standard_input(path) && !args.dry_run {
            return Err(Failure::usage("--fix cannot write to standard input; name a file, or add --dry-run"));
        }
    }
    let fixed: Vec<Fixed> = sources.iter().map(|source| lint::fix(source, &args.release)).collect();
    if !args.dry_run {
        for ((path, before), fixed) in args.files.iter().zip(sources).zip(&fixed) {
            if fixed.text != *before {
                rundir::replace(path, &fixed.text).map_err(|cause| Failure::write(path, cause))?;
            }
        }
    }
    Ok(fixed)
}

/// What was mended, or would be.
pub(super) fn show(out: &mut dyn Write, name: &str, before: &[u8], fixed: &Fixed, is_dry: bool) -> io::Result<()> {
    if is_dry && fixed.text != before {
        write!(out, "{}", diff(name, before, &fixed.text))?;
    }
    let said = match (fixed.mended.is_empty(), is_dry) {
        _ if fixed.is_past_mending => format!(
            "{name}: nothing mended, since Open MPI would ignore the file all the same; mend by hand what check shows, \
             then use --fix again"
        ),
        (true, _) => format!("{name}: nothing to mend without a decision"),
        (false, true) => format!("{name}: would mend {}", counts(&fixed.mended)),
        (false, false) => format!("{name}: mended {}", counts(&fixed.mended)),
    };
    lines(out, &said)?;
    if !fixed.left.is_empty() {
        let said = format!(
            "{name}: left alone {}. Open MPI accepts the file and reads other rules than it shows; a remedy would change \
             the rules in force, so mend these by hand",
            counts(&fixed.left)
        );
        lines(out, &said)?;
    }
    Ok(())
}

fn lines(out: &mut dyn Write, sentence: &str) -> io::Result<()> {
    screen::wrapped(sentence, "", "  ").iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// As in `3 problems (CR102 twice, CR107)`.
fn counts(codes: &BTreeMap<Code, usize>) -> String {
    let all: usize = codes.values().sum();
    let each: Vec<String> = codes
        .iter()
        .map(|(code, count)| match count {
            1 => code.to_string(),
            2 => format!("{code} twice"),
            _ => format!("{code} {count} times"),
        })
        .collect();
    format!("{} ({})", counted(all, "problem"), each.join(", "))
}

/// The lines that change, with one around them.
fn diff(name: &str, before: &[u8], after: &[u8]) -> String {
    let [before, after] = [before, after].map(|text| String::from_utf8_lossy(text).into_owned());
    let diff = TextDiff::from_lines(&before, &after);
    let shown = diff.unified_diff().context_radius(1).header(name, &format!("{name} (mended)")).to_string();
    // Control characters would reach the terminal.
    shown.split_inclusive('\n').map(|line| plain(line.trim_end_matches('\n')) + "\n").collect()
}

/// The same for programs.
pub(super) fn as_json(path: &Path, before: &[u8], fixed: &Fixed) -> Value {
    let by_code = |codes: &BTreeMap<Code, usize>| -> serde_json::Map<String, Value> {
        codes.iter().map(|(code, count)| (code.to_string(), json!(count))).collect()
    };
    let changes = fixed.text != before;
    json!({
        "mended": by_code(&fixed.mended),
        "left": by_code(&fixed.left),
        "diff": if changes { diff(&source::shown(path), before, &fixed.text) } else { String::new() },
    })
}
