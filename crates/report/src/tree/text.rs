//! The decision tree as text.

use std::fmt::Write;

use collrules_record::findings::Findings;
use collrules_record::tree::{CollectiveBranch, RankBranch};

use super::leaf::{evidence, heading, name, reason, sizes, summary, tells};
use crate::plain;
use crate::words;

/// The tree as text, with a line of evidence for each leaf.
///
/// Communicator sizes without measurements are shown only if they have a rule; all others keep the builtin. Lines have
/// at most `width` columns.
pub(crate) fn text(findings: &Findings, width: usize) -> String {
    let tree = &findings.tree;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", heading(findings));
    let what = "Sizes are what Open MPI looks up, in bytes. What is not listed keeps the default.";
    for sentence in [summary(tree).as_str(), what] {
        wrapped(&mut text, width, sentence, "", "");
    }
    for branch in &tree.collectives {
        collective(findings, branch, width, &mut text);
    }
    text
}

fn collective(findings: &Findings, branch: &CollectiveBranch, width: usize, text: &mut String) {
    let _ = writeln!(text, "\n{}", branch.collective);
    let told: Vec<&RankBranch> = branch.ranges.iter().filter(|range| tells(range)).collect();
    for (place, range) in told.iter().enumerate() {
        let last = place + 1 == told.len();
        let (fork, stem) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let _ = writeln!(text, "{fork}{}{}", range.ranks, measured(range));
        for (place, leaf) in range.leaves.iter().enumerate() {
            let last = place + 1 == range.leaves.len();
            let (fork, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let leads =
                format!("{}: {} ({})", sizes(leaf), name(findings.release, branch.collective, leaf), leaf.choice);
            wrapped(text, width, &leads, &format!("{stem}{fork}"), &format!("{stem}{below}"));
            let rests = evidence(branch.collective, leaf).map_or(String::new(), |rests| format!("{rests}; "));
            let indent = format!("{stem}{below}   ");
            wrapped(text, width, &format!("{rests}{}", reason(findings, range, leaf)), &indent, &indent);
        }
    }
}

/// Names and reasons come from the findings, which may be from elsewhere.
fn wrapped(text: &mut String, width: usize, sentence: &str, first: &str, rest: &str) {
    for line in words::wrapped(width, &plain::line(sentence), first, rest) {
        let _ = writeln!(text, "{line}");
    }
}

/// The measured sizes of a range of several.
fn measured(range: &RankBranch) -> String {
    let single = range.ranks.end == Some(range.ranks.first + 1);
    match range.measured.as_slice() {
        [] => ", not measured".to_owned(),
        [_] if single => String::new(),
        measured => {
            let sizes: Vec<String> = measured.iter().map(ToString::to_string).collect();
            format!(", measured on {}", sizes.join(", "))
        }
    }
}
