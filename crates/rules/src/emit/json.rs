//! The text of a JSON file. Open MPI ignores unknown members, so comments are possible.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::notes::{Notes, harmless};
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::hazard::RankRange;
use crate::layout_rules::LayoutRules;
use crate::registry;
use crate::release::Release;
use crate::table::{RuleTable, SizeSteps};

/// Key of comments, which Open MPI does not know.
const COMMENT: &str = "\"comment\": ";

/// The text: integers only, ranges without gaps, no largest size if there is none, and one rule per line.
pub(super) fn text(table: &RuleTable, layout_rules: &[LayoutRules], notes: &Notes) -> String {
    let mut text = String::from("{\n  \"rule_file_version\": 3,\n  \"module\": \"tuned\",\n");
    // The minus is the first thing that a reader of classic files sees behind the version: it rejects any negative number.
    let fixed = [
        "-1 here makes versions before 6.0 reject the file, rather than take digits in it for rules.",
        "Rules for Open MPI's coll/tuned, for 6.0 and later.",
        "Sizes are what Open MPI looks up, in bytes, both ends included; alg 0 leaves the decision to Open MPI.",
    ];
    let header = fixed.into_iter().chain(notes.header.iter().map(String::as_str));
    let _ = writeln!(text, "  {COMMENT}{},", list(header, "    "));
    text.push_str("  \"collectives\": {");
    let nothing = Notes::default();
    let named: BTreeSet<Collective> =
        table.collectives().map(|(own, _)| own).chain(layout_rules.iter().map(|block| block.collective)).collect();
    separated(&mut text, "\n", named.into_iter(), |text, collective| {
        let _ = write!(text, "    \"{collective}\": [");
        let first = layout_rules.iter().filter(|block| block.collective == collective).map(|block| {
            let ranks = RankRange { first: block.ranks.0.into(), end: Some(u64::from(block.ranks.0) + 1) };
            (block.distribution, ranks, &block.sizes, &nothing)
        });
        let any = table.get(collective).into_iter().flat_map(|blocks| blocks.iter());
        let any = any.map(|(first, end, sizes)| (Distribution::Any, RankRange { first, end }, sizes, notes));
        separated(text, "\n", first.chain(any), |text, (distribution, ranks, sizes, notes)| {
            block(text, collective, (distribution, ranks), sizes, notes);
        });
        text.push_str("\n    ]");
    });
    text.push_str("\n  }\n}\n");
    text
}

fn block(
    text: &mut String,
    collective: Collective,
    (distribution, ranks): (Distribution, RankRange),
    sizes: &SizeSteps,
    notes: &Notes,
) {
    let said = match distribution {
        Distribution::Any => ranks.to_string(),
        alone => format!("{ranks}, {alone}"),
    };
    let own = notes.blocks.get(&(collective, ranks.first)).into_iter().flatten().map(String::as_str);
    let _ =
        writeln!(text, "      {{\n        {COMMENT}{},", list(std::iter::once(said.as_str()).chain(own), "          "));
    let _ = write!(text, "        \"comm_size_min\": {}", ranks.first);
    if let Some(end) = ranks.end {
        let _ = write!(text, ", \"comm_size_max\": {}", end - 1);
    }
    if distribution != Distribution::Any {
        let _ = write!(text, ",\n        \"comm_rank_distribution\": \"{distribution}\"");
    }
    text.push_str(",\n        \"rules\": [");
    separated(text, "\n", sizes.iter(), |text, (start, end, choice)| {
        let Choice { algorithm, faninout, segsize, max_requests } = choice;
        let _ = write!(text, "          {{ \"msg_size_min\": {start}");
        if let Some(end) = end {
            let _ = write!(text, ", \"msg_size_max\": {}", end - 1);
        }
        let _ = write!(text, ", \"alg\": {algorithm}");
        if !choice.is_builtin() {
            let _ = write!(text, ", \"faninout\": {faninout}, \"seg_size\": {segsize}, \"reqs\": {max_requests}");
        }
        let words = registry::describe(Release::V6_0, collective, *choice);
        let note = notes.rules.get(&(collective, ranks.first, start)).map(|note| format!("; {note}"));
        let _ = write!(text, ", {COMMENT}{} }}", quoted(&(words + &note.unwrap_or_default())));
    });
    text.push_str("\n        ]\n      }");
}

/// Elements separated by commas, each after this text.
fn separated<T>(text: &mut String, before: &str, items: impl Iterator<Item = T>, write: impl Fn(&mut String, T)) {
    for (place, item) in items.enumerate() {
        text.push_str(if place > 0 { "," } else { "" });
        text.push_str(before);
        write(text, item);
    }
}

/// A text, or a list of several lines.
fn list<'t>(lines: impl Iterator<Item = &'t str>, indent: &str) -> String {
    let lines: Vec<_> = lines.map(quoted).collect();
    match &lines[..] {
        [line] => line.clone(),
        _ => format!("[\n{indent}{}\n{}]", lines.join(&format!(",\n{indent}")), &indent[2..]),
    }
}

/// A string of printable ASCII.
fn quoted(text: &str) -> String {
    format!("\"{}\"", harmless(text).replace('\\', "\\\\").replace('"', "\\\""))
}
