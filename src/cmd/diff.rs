//! `collrules diff`: the calls that two rules files decide differently.

use std::path::{Path, PathBuf};

use collrules_report::terminal::aligned;
use collrules_rules::diff::{self, Difference};
use collrules_rules::explain::{self, VersionGroup};
use collrules_rules::kind::{FileKind, RuleChoice, Rules};
use collrules_rules::lines::plain;
use collrules_rules::{Behaviour, Fault, convert};
use collrules_workflow::WorkflowError;
use serde_json::{Value, json};

use super::source::{self, pretty, refuse_han};
use crate::exit::Exit;
use crate::progress::say;
use crate::screen::{self, TextStyle, paint, wrapped};

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// A rules file, of any format; - is standard input, and a run directory stands for its rules
    #[arg(value_name = "A")]
    pub(crate) left: PathBuf,
    /// Another
    #[arg(value_name = "B")]
    pub(crate) right: PathBuf,
    /// Release, or version, to compare for; may be repeated [default: all that differ and take both files]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Vec<Behaviour>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Maximum number of ranges in a table: a million lines are useless, and take long to format.
const NAMED: usize = 1000;

/// Differences between two files as a version reads them.
#[derive(Debug, PartialEq)]
struct VersionDifferences {
    /// Reason why a file is not accepted, left and right.
    not_in_force: [Option<String>; 2],
    /// True if one of them, and not the other, crashes `MPI_Init`.
    one_crashes: bool,
    differences: Vec<Difference>,
}

/// Lists the differences; the exit code says if there are any.
pub(crate) fn run(args: &Diff) -> Result<Exit, WorkflowError> {
    if [&args.left, &args.right].into_iter().all(|path| path == Path::new("-")) {
        return Err(WorkflowError::usage("standard input holds one file: name the other one"));
    }
    let (left, right) = (source::read(&args.left)?, source::read(&args.right)?);
    let kind = FileKind::of(&left);
    if FileKind::of(&right) != kind {
        refuse_han(&args.left, &left)?;
        refuse_han(&args.right, &right)?;
    }
    let versions = source::versions(kind, &args.release);
    let mut unread = [Vec::new(), Vec::new()];
    let mut compared = Vec::new();
    for version in &versions {
        let loads = [kind.load(&left, version), kind.load(&right, version)];
        let [a, b] = &loads;
        let mut not_in_force = [a, b].map(why);
        for (why, bytes) in not_in_force.iter_mut().zip([&left, &right]) {
            if args.release.is_empty() && convert::is_foreign(bytes, version) {
                why.get_or_insert_with(|| "JSON, whose digits it reads as a classic file".to_owned());
            }
        }
        for (reasons, why) in unread.iter_mut().zip(&not_in_force) {
            reasons.extend(why.clone().map(|why| (*version, why)));
        }
        let differences = diff::rules(version.release, a.as_ref().ok(), b.as_ref().ok());
        let crashes = |load: &Result<Rules, Fault>| load.as_ref().is_err_and(|fault| fault.kind.crashes());
        let one_crashes = crashes(a) != crashes(b);
        compared.push((*version, VersionDifferences { not_in_force, one_crashes, differences }));
    }
    for (path, reasons) in [&args.left, &args.right].into_iter().zip(unread) {
        if reasons.len() == versions.len() {
            return Err(WorkflowError::not_in_force(path, in_groups(reasons)));
        }
    }
    let in_force = |(_, compared): &(Behaviour, VersionDifferences)| compared.not_in_force == [None, None];
    let mut left_out = Vec::new();
    if args.release.is_empty() && compared.iter().any(in_force) {
        // Formats are not compared: a release that does not accept both files is skipped unless it is named.
        left_out = compared.iter().filter(|entry| !in_force(entry)).map(|(version, _)| *version).collect();
        compared.retain(in_force);
    }
    let groups = explain::group(compared);
    if !left_out.is_empty() {
        say(&format!("not compared for releases that do not accept both files: {}", explain::label(&left_out)));
    }
    let text = if args.json {
        pretty(&groups.iter().map(in_json).collect::<Vec<_>>())?
    } else {
        groups.iter().map(|group| block(args, group)).collect::<Vec<_>>().join("\n")
    };
    screen::print(&text)?;
    let differ = groups.iter().any(|group| group.answer.one_crashes || !group.answer.differences.is_empty());
    Ok(if differ { Exit::PROBLEMS } else { Exit::DONE })
}

fn why(load: &Result<Rules, Fault>) -> Option<String> {
    let fault = load.as_ref().err()?;
    let begin = if fault.kind.crashes() { "" } else { "rejected as a whole: " };
    Some(format!("{begin}{fault}"))
}

/// Reasons, each with its versions.
fn in_groups(reasons: Vec<(Behaviour, String)>) -> Vec<String> {
    explain::group(reasons).iter().map(|group| format!("{}: {}", group.label(), group.answer)).collect()
}

fn in_json(group: &VersionGroup<VersionDifferences>) -> Value {
    let VersionDifferences { not_in_force: [left, right], one_crashes, differences } = &group.answer;
    let releases: Vec<_> = group.versions.iter().map(Behaviour::name).collect();
    json!({
        "releases": releases,
        "not_in_force": { "left": left, "right": right },
        "one_crashes": one_crashes,
        "differences": differences,
    })
}

fn block(args: &Diff, group: &VersionGroup<VersionDifferences>) -> String {
    let VersionDifferences { not_in_force, differences, .. } = &group.answer;
    let (label, calls) = (group.label(), differences.len());
    let said_of_both = match (not_in_force, calls) {
        ([Some(_), Some(_)], _) => "neither file is active".to_owned(),
        (_, 0) => "both files choose the same for every call".to_owned(),
        (_, 1) => "the choice differs for 1 range of calls".to_owned(),
        _ => format!("the choice differs for {calls} ranges of calls"),
    };
    let mut lines = wrapped(&format!("{label}: {said_of_both}"), "", "  ");
    lines[0] = lines[0].replacen(&label, &paint(TextStyle::Heading, &label), 1);
    for (path, why) in [&args.left, &args.right].into_iter().zip(not_in_force) {
        let is = why.as_ref().map(|why| format!("{} is {why}", source::printable_path(path)));
        lines.extend(is.iter().flat_map(|is| wrapped(is, "  ", "    ")));
    }
    let mut text = lines.join("\n") + "\n";
    if !differences.is_empty() {
        // Within a group, names of algorithms differ at most in spelling.
        let release = group.versions[0].release;
        let part = differences.iter().find_map(|found| found.part.title());
        let [left, right] = names(&args.left, &args.right);
        let mut header = vec!["collective", "communicators", "looked up", &left, &right];
        header.splice(1..1, part);
        let rows = differences.iter().take(NAMED).map(|found| {
            let words = |choice: RuleChoice| choice.words(release, found.collective);
            let (ranks, sizes) = (found.ranks.to_string(), found.sizes.to_string());
            let mut cells = vec![found.collective.to_string(), ranks, sizes, words(found.left), words(found.right)];
            cells.splice(1..1, part.map(|_| found.part.to_string()));
            cells
        });
        text += &(aligned(screen::width(), &header, rows, &[]) + "\n");
        if calls > NAMED {
            text += &format!("and {} more ranges, which --json lists\n", calls - NAMED);
        }
    }
    text
}

/// Returns the column titles of two files: without their directories if the names alone differ.
fn names(left: &Path, right: &Path) -> [String; 2] {
    let short = [left, right].map(|path| path.file_name().map(|name| plain(&name.to_string_lossy())));
    match short {
        [Some(left), Some(right)] if left != right => [left, right],
        _ => [left, right].map(source::printable_path),
    }
}
