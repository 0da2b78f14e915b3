//! What changed from one run to a later one, and whether it is time to tune again.

mod page;
mod tables;

use std::fmt::{self, Write};

use collrules_record::comparison::{Advice, Comparison, Side};
use collrules_record::validation::Outcome;
use collrules_rules::registry;

use crate::plain;
use crate::summary::percent;
use crate::terminal::aligned;

pub use page::page;
pub use tables::csv;
use tables::{changed, reserved};

/// The sentence that answers whether it is time to tune again.
pub fn answer(comparison: &Comparison) -> String {
    let judged = comparison.judged().count();
    let regret = comparison.regret();
    let harmed = comparison.harmed();
    let loss = slower_by(regret);
    let remedy = if comparison.after.rules == 0 {
        "Switch the earlier ones off: nothing beats today's builtin."
    } else {
        "Install the new ones."
    };
    match comparison.advice() {
        Advice::Unknown => {
            "It cannot be said whether the earlier rules still suit: the later run has timed nothing of what \
                            they give."
                .to_owned()
        }
        Advice::Replace if harmed > 0 => format!(
            "It was time to tune again: in {} of {judged} the earlier rules are slower than today's builtin or fail, and over \
             all they take {loss} than the new rules. {remedy}",
            cells(harmed),
        ),
        Advice::Replace => format!(
            "It was time to tune again: over {} the earlier rules take {loss} than the new ones. {remedy}",
            cells(judged),
        ),
        Advice::Keep => format!(
            "There was no need to tune again: over {} the earlier rules take {loss} than the new ones, where {} longer would \
             count, and nowhere are they shown to be slower than today's builtin.",
            cells(judged),
            percent(comparison.criteria.min_difference),
        ),
    }
}

/// `1 cell`, `2 cells`.
fn cells(count: usize) -> String {
    counted(count, "cell")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A regret in percent, without the sign of what rounds to nothing.
fn lost(regret: f64) -> String {
    let percent = rounded(regret);
    format!("{:.1} %", if percent == 0.0 { 0.0 } else { percent })
}

/// The same in words: `4.0 % longer`, `0.1 % less time`.
fn slower_by(regret: f64) -> String {
    let percent = rounded(regret);
    format!("{:.1} % {}", percent.abs(), if percent < 0.0 { "less time" } else { "longer" })
}

/// In percent, to the digit that is shown.
fn rounded(regret: f64) -> f64 {
    (regret * 1000.0).round() / 10.0
}

/// What happened to the builtin and to the choices, in whole sentences.
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said = Vec::new();
    let all = comparison.cells.len();
    if all > 0 {
        let [faster, same, slower] = [Outcome::Faster, Outcome::Same, Outcome::Slower].map(|it| comparison.count(it));
        said.push(format!(
            "Today's builtin is {:.3}x as fast as the earlier one in geometric mean over {} in common: {faster} became \
             faster, {slower} slower, and in {same} no change is shown.",
            comparison.builtin(),
            cells(all),
        ));
        said.push(format!("The rules serve {} of these cells otherwise than before.", comparison.reserved().count()));
        let unjudged = all - comparison.judged().count();
        if unjudged > 0 {
            said.push(format!("For {} the later run has not timed what the earlier rules give.", cells(unjudged)));
        }
    }
    let (before, after) = comparison.left_out;
    if before + after > 0 {
        said.push(format!("Left out: {} of the earlier run and {after} of the later one.", cells(before)));
    }
    said.push(format!(
        "A change counts from {} on, at a false discovery rate of {} over all cells; intervals are of {}, from the differences \
         between launches.",
        percent(comparison.criteria.min_difference),
        percent(comparison.criteria.error_rate),
        percent(comparison.criteria.level),
    ));
    said
}

/// A run in words.
fn side(side: &Side) -> String {
    let version = side.version.map_or_else(|| format!("Open MPI {}", side.release), |it| format!("Open MPI {it}"));
    let started = side.started.as_ref().map_or(String::new(), |started| format!(", {started}"));
    let started = plain::line(&started);
    format!("{} ({version}{started}, {})", plain::line(&side.source), counted(side.rules, "rule"))
}

/// The name of a candidate in the release of a run.
fn name(side: &Side, collective: collrules_rules::Collective, candidate: collrules_record::Candidate) -> String {
    match candidate {
        collrules_record::Candidate::Component(component) => format!("{component}, by its own decision"),
        other => registry::describe(side.release, collective, other.choice()),
    }
}

/// For a terminal with this many columns.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let mut lines = vec![
        format!("Before: {}", side(&comparison.before)),
        format!("After:  {}", side(&comparison.after)),
        String::new(),
    ];
    let wrapped = |sentence: &str, indent: &'static str| {
        let options = textwrap::Options::new(width).subsequent_indent(indent).break_words(false);
        textwrap::wrap(sentence, options).into_iter().map(|line| line.into_owned()).collect::<Vec<_>>()
    };
    lines.extend(wrapped(&answer(comparison), ""));
    lines.push(String::new());
    lines.extend(sentences(comparison).iter().flat_map(|sentence| wrapped(&format!("- {sentence}"), "  ")));
    lines.extend(comparison.obstacles.iter().flat_map(|sentence| wrapped(&format!("- {sentence}"), "  ")));
    if !comparison.differences.is_empty() {
        lines.extend([String::new(), "What differs:".to_owned()]);
        for difference in &comparison.differences {
            let text = format!("- {}: {} before, {} after", difference.what, difference.before, difference.after);
            let text = plain::line(&text);
            lines.extend(wrapped(&text, "  "));
        }
    }
    let changed = changed(comparison);
    if !changed.is_empty() {
        lines.extend([String::new(), "The builtin changed:".to_owned()]);
        let rows = changed.into_iter().map(Vec::from);
        lines.push(aligned(
            width,
            &["collective", "ranks", "message sizes", "change", "as fast as before"],
            rows,
            &[1],
        ));
    }
    let reserved = reserved(comparison);
    if !reserved.is_empty() {
        lines.extend([String::new(), "Served otherwise:".to_owned()]);
        let head = ["collective", "ranks", "message sizes", "before", "after", "the earlier rules lose"];
        lines.push(aligned(width, &head, reserved.into_iter().map(Vec::from), &[1, 5]));
    }
    lines.join("\n") + "\n"
}

/// As Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_markdown(&mut out, comparison);
    out
}

fn write_markdown(out: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(out, "# What changed\n\n**{}**\n", answer(comparison))?;
    writeln!(
        out,
        "- Before: {}\n- After: {}",
        plain::markdown(&side(&comparison.before)),
        plain::markdown(&side(&comparison.after))
    )?;
    let all = sentences(comparison);
    all.iter()
        .chain(&comparison.obstacles)
        .try_for_each(|sentence| writeln!(out, "- {}", plain::markdown(sentence)))?;
    if !comparison.differences.is_empty() {
        writeln!(out, "\n## What differs\n\n| what | before | after |\n|---|---|---|")?;
        for difference in &comparison.differences {
            let (before, after) = (plain::cell(&difference.before), plain::cell(&difference.after));
            writeln!(out, "| {} | {before} | {after} |", plain::cell(&difference.what))?;
        }
    }
    let changed = changed(comparison);
    if !changed.is_empty() {
        writeln!(out, "\n## The builtin changed\n")?;
        writeln!(out, "| collective | ranks | message sizes | change | as fast as before |\n|---|---:|---|---|---|")?;
        changed.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))?;
    }
    let reserved = reserved(comparison);
    if !reserved.is_empty() {
        writeln!(out, "\n## Served otherwise\n")?;
        writeln!(
            out,
            "| collective | ranks | message sizes | before | after | the earlier rules lose |\n|---|---:|---|---|---|---:|"
        )?;
        reserved.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use collrules_record::comparison::{CellChange, FORMAT, OldRules};
    use collrules_record::units::{Bytes, Ranks};
    use collrules_record::validation::Criteria;
    use collrules_record::{Candidate, Cell, Estimate};
    use collrules_rules::{Choice, Collective, Release};

    use super::*;

    /// How many times as fast the builtin is, the verdict on that, and what the earlier rules lose and whether they harm.
    type Change = (f64, Outcome, Option<(f64, bool)>);

    /// Bcast on 4 ranks, the builtin this many times as fast as before, the earlier rules losing so much.
    fn comparison(cells: &[Change]) -> Comparison {
        let side = |source: &str, rules| Side {
            source: source.to_owned(),
            release: Release::V5_0,
            version: None,
            started: None,
            rules,
        };
        let cell = |(place, (ratio, change, old)): (usize, &Change)| CellChange {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(1 << place) },
            builtin: Estimate { point: *ratio, low: None, high: None, level: 0.95, samples: 3 },
            q_value: None,
            change: *change,
            served: (Candidate::Tuned(Choice::plain(6)), Candidate::Builtin),
            old_rules: old.map(|(regret, slower)| OldRules {
                gives: Candidate::Tuned(Choice::plain(6)),
                gain: None,
                regret: Some(regret),
                slower,
                failed: false,
            }),
        };
        Comparison {
            format: FORMAT,
            before: side("a|b", 3),
            after: side("<later>", 2),
            differences: Vec::new(),
            obstacles: Vec::new(),
            criteria: Criteria::default(),
            cells: cells.iter().enumerate().map(cell).collect(),
            left_out: (0, 1),
        }
    }

    #[test]
    fn the_answer_follows_from_harm_and_loss() {
        let same = Outcome::Same;
        let keep = comparison(&[(1.0, same, Some((0.0, false))), (1.0, same, Some((-0.0004, false)))]);
        assert_eq!(keep.advice(), Advice::Keep);
        assert!(answer(&keep).contains("no need") && answer(&keep).contains(" 0.0 % longer"), "{}", answer(&keep));
        let wins = answer(&comparison(&[(1.0, same, Some((-0.0014, false)))]));
        assert!(wins.contains("over 1 cell the earlier rules take 0.1 % less time than the new ones"), "{wins}");
        let loses = comparison(&[(1.0, same, Some((0.05, false))), (1.0, same, Some((0.03, false)))]);
        assert!(
            answer(&loses).contains("take 4.0 % longer than the new ones. Install the new ones."),
            "{}",
            answer(&loses)
        );
        let harms = comparison(&[(1.0, same, Some((0.0, true))), (1.0, same, Some((0.0, false)))]);
        assert!(answer(&harms).contains("in 1 cell of 2"), "{}", answer(&harms));
        let mut nothing_left = harms.clone();
        nothing_left.after.rules = 0;
        assert!(answer(&nothing_left).contains("Switch the earlier ones off"), "{}", answer(&nothing_left));
        let unknown = comparison(&[(1.0, same, None)]);
        assert!(answer(&unknown).contains("cannot be said"), "{}", answer(&unknown));
    }

    #[test]
    fn neighbours_share_a_line_in_every_format() {
        let faster = Outcome::Faster;
        let found = comparison(&[
            (2.0, faster, Some((0.5, true))),
            (8.0, faster, Some((0.5, true))),
            (1.0, Outcome::Same, Some((0.5, false))),
        ]);
        let text = text(&found, 120);
        assert!(text.contains("4.00x (2.00x .. 8.00x by cell)") && text.contains("1B to 2B"), "{text}");
        assert!(text.contains("50.0 %, slower than the builtin") && text.contains("1 of the later one"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        let mut hostile = found.clone();
        hostile.after.rules = 1;
        hostile.after.source = "x\n# y\u{1b}[2J<b>".to_owned();
        assert!(markdown(&hostile).contains("- After: x # y [2J&lt;b> (Open MPI 5.0, 1 rule)\n"));
        let markdown = markdown(&found);
        assert!(markdown.contains("| bcast | 4 | 1B to 4B | binomial | builtin | 50.0 %"), "{markdown}");
        let page = page(&found, "collrules");
        assert!(page.contains("&#60;later&#62;") || page.contains("&lt;later&gt;"), "escaped");
        assert_eq!(csv(&found).expect("in memory").lines().count(), 4);
    }
}
