//! Rules files of coll/han in the commands on rules files.

use std::path::Path;

use collrules_report::terminal::aligned;
use collrules_rules::explain::{self, Answer, VersionGroup};
use collrules_rules::han::{self, CONFUSED, HanChoiceRange, HanDifference, HanExplanation, HanLoad};
use collrules_rules::lines::Lines;
use collrules_rules::words::counted;
use collrules_rules::{Behaviour, Bytes, Collective, Ranks};
use serde_json::json;

use super::diff::Diff;
use super::explain::Explain;
use super::source::{self, align_lines, contents_json, pretty, printable_path};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{self, TextStyle, paint};

/// Refuses a file for HAN if one for coll/tuned is required.
pub(super) fn refuse(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if han::is_han(bytes) {
        return Err(Failure::not_in_force(path, vec![CONFUSED.to_owned()]));
    }
    Ok(())
}

/// The requested versions, or those that have HAN.
fn versions(asked: &[Behaviour]) -> Vec<Behaviour> {
    let versions = source::versions(asked).into_iter();
    let with_han = |version: &Behaviour| !matches!(han::load(b"", version), HanLoad::NoHan);
    if asked.is_empty() { versions.filter(with_han).collect() } else { versions.collect() }
}

/// Explains the rule for a call, or the contents of a whole file.
pub(super) fn explain(args: &Explain, bytes: &[u8]) -> Result<(), Failure> {
    let lines = Lines::new(bytes);
    let versions = versions(&args.release);
    let file = printable_path(&args.file);
    let answers = versions.iter().map(|version| (*version, han::load(bytes, version)));
    let text = match call(args) {
        Some((collective, ranks, message)) => {
            let answer = |load: &HanLoad| han::call(load, &lines, collective, args.level, ranks.0, message.0);
            let groups = explain::group(answers.map(|(version, load)| (version, answer(&load))));
            if args.json {
                pretty(&json!({ "file": args.file, "level": args.level, "answers": groups }))?
            } else {
                let size = if collective.has_sizes() { format!(" of {message}") } else { String::new() };
                let title = format!("{collective}{size} on {ranks} ranks of {}, by {file}", args.level);
                let blocks: Vec<String> = groups.iter().map(|group| served(&file, collective, group)).collect();
                format!("{title}\n\n{}", blocks.join("\n"))
            }
        }
        None => {
            let answer = |load: &HanLoad| wanted(han::contents(load, &lines), args);
            let groups = explain::group(answers.map(|(version, load)| (version, answer(&load))));
            if args.json {
                pretty(&json!({ "file": args.file, "answers": groups.iter().map(contents_json).collect::<Vec<_>>() }))?
            } else {
                groups.iter().map(|group| contents(&file, group)).collect::<Vec<_>>().join("\n")
            }
        }
    };
    screen::print(&text)
}

/// The call in the options; none if they leave a part open.
fn call(args: &Explain) -> Option<(Collective, Ranks, Bytes)> {
    let collective = args.op?;
    let message = if collective.has_sizes() { args.size? } else { Bytes(0) };
    Some((collective, args.np?, message))
}

fn wanted(answer: Answer<Vec<HanChoiceRange>>, args: &Explain) -> Answer<Vec<HanChoiceRange>> {
    let Answer::Accepted(mut ranges) = answer else { return answer };
    ranges.retain(|range| {
        args.op.is_none_or(|op| op == range.collective) && args.np.is_none_or(|ranks| range.ranks.holds(ranks))
    });
    Answer::Accepted(ranges)
}

fn served(file: &str, collective: Collective, group: &VersionGroup<Answer<HanExplanation>>) -> String {
    let title = paint(TextStyle::Heading, &group.label());
    let lines = match &group.answer {
        Answer::Accepted(served) => {
            let mut lines =
                vec![("looks up", format!("{} ({} bytes)", Bytes(served.lookup_bytes), served.lookup_bytes))];
            let at = served.place.as_ref().map(|place| format!("{file}:{}: {}", place.line, place.text));
            lines.extend(at.map(|at| ("decided by", at)));
            lines.push(("because", served.because.to_owned()));
            lines.push(("says", han::words(collective, served.choice)));
            lines.push(("runs", served.runs.clone()));
            lines
        }
        other => not_in_force(file, other),
    };
    format!("{title}:\n{}", align_lines(&lines))
}

fn not_in_force<T>(file: &str, answer: &Answer<T>) -> Vec<(&'static str, String)> {
    match answer {
        Answer::Rejected { at, why } => vec![
            ("ignores", format!("the whole of {file} (line {}: {why})", at.line)),
            ("runs", "what HAN's parameters say".to_owned()),
        ],
        Answer::Crashes { at, why } => vec![("crashes", format!("{file}:{}: {why}", at.line))],
        Answer::Accepted(_) => Vec::new(),
    }
}

fn contents(file: &str, group: &VersionGroup<Answer<Vec<HanChoiceRange>>>) -> String {
    let title = paint(TextStyle::Heading, &group.label());
    let ranges = match &group.answer {
        Answer::Accepted(ranges) if ranges.is_empty() => {
            return format!("{title}: {file} leaves every such call to HAN's parameters.\n");
        }
        Answer::Accepted(ranges) => ranges,
        other => return format!("{title}:\n{}", align_lines(&not_in_force(file, other))),
    };
    let header = ["collective", "level", "communicators", "message sizes", "component"];
    // Cells equal to those of the line above stay empty.
    let mut before: Option<&HanChoiceRange> = None;
    let cells = ranges.iter().map(|range| {
        let same = before.replace(range).is_some_and(|before| {
            (before.collective, before.level, before.ranks) == (range.collective, range.level, range.ranks)
        });
        let once = |text: String| if same { String::new() } else { text };
        let (level, ranks) = (once(range.level.to_string()), once(range.ranks.to_string()));
        let choice = han::words(range.collective, range.choice);
        vec![once(range.collective.to_string()), level, ranks, range.sizes.to_string(), choice]
    });
    format!("{title}:\n{}\n", aligned(screen::width(), &header, cells, &[]))
}

/// Compares the decisions of two HAN files.
pub(super) fn diff(args: &Diff, left: &[u8], right: &[u8]) -> Result<Exit, Failure> {
    let mut compared = Vec::new();
    for version in versions(&args.release) {
        let tables = [(&args.left, left), (&args.right, right)].map(|(path, bytes)| match han::load(bytes, &version) {
            HanLoad::Accepted(loaded) => Ok(loaded.to_table()),
            HanLoad::Rejected(why) | HanLoad::Crashes(why) => Err((path, why.to_string())),
            HanLoad::NoHan => Err((path, "this version has no HAN".to_owned())),
        });
        match tables {
            [Ok(left), Ok(right)] => compared.push((version, han::differences(&left, &right))),
            // A version that was not named need not accept the format of later ones.
            _ if args.release.is_empty() && version.release < collrules_rules::Release::V5_0 => {}
            [Err((path, why)), _] | [_, Err((path, why))] => {
                let reasons = vec![format!("{}: {why}", version.name())];
                return Err(Failure::not_in_force(path, reasons));
            }
        }
    }
    let groups = explain::group(compared);
    let text = if args.json {
        let all = groups.iter().map(|group| {
            let releases: Vec<_> = group.versions.iter().map(Behaviour::name).collect();
            json!({ "releases": releases, "differences": group.answer })
        });
        pretty(&json!(all.collect::<Vec<_>>()))?
    } else {
        groups.iter().map(compared_text).collect::<Vec<_>>().join("\n")
    };
    screen::print(&text)?;
    Ok(if groups.iter().any(|group| !group.answer.is_empty()) { Exit::Problems } else { Exit::Done })
}

fn compared_text(group: &VersionGroup<Vec<HanDifference>>) -> String {
    let title = paint(TextStyle::Heading, &group.label());
    if group.answer.is_empty() {
        return format!("{title}: both files choose the same for every call\n");
    }
    let header = ["collective", "level", "communicators", "message sizes", "left", "right"];
    let cells = group.answer.iter().map(|HanDifference { left, right }| {
        let words = |choice| han::words(left.collective, choice);
        let (level, ranks) = (left.level.to_string(), left.ranks.to_string());
        vec![left.collective.to_string(), level, ranks, left.sizes.to_string(), words(left.choice), words(*right)]
    });
    let calls = group.answer.len();
    let ranges = counted(calls, "range");
    format!("{title}: the choice differs for {ranges} of calls\n{}\n", aligned(screen::width(), &header, cells, &[]))
}
