//! Whether it was time to tune again, and what that follows from, in whole sentences.

use collrules_record::comparison::{Advice, Comparison, Side};
use collrules_record::validation::Outcome;
use collrules_rules::words::counted;

use crate::facts::SIMULATED;
use crate::plain;
use crate::words::{percent, tenths};

/// The sentence that answers whether it is time to tune again.
pub(super) fn answer(comparison: &Comparison) -> String {
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
            "It is unknown whether the earlier rules still suit: the later run timed none of their choices.".to_owned()
        }
        Advice::Replace if harmed > 0 => format!(
            "It was time to tune again. In {} of {judged} the earlier rules are slower than today's builtin, or fail. Over \
             all cells they take {loss} than the new rules. {remedy}",
            counted(harmed, "cell"),
        ),
        Advice::Replace => format!(
            "It was time to tune again. Over {} the earlier rules take {loss} than the new ones. {remedy}",
            counted(judged, "cell"),
        ),
        Advice::Keep => format!(
            "There was no need to tune again. Over {} the earlier rules take {loss} than the new ones; only {} or more \
             would count. In no cell are they shown to be slower than today's builtin.",
            counted(judged, "cell"),
            percent(comparison.criteria.min_difference),
        ),
    }
}

/// A regret in words: `4.0 % longer`, `0.1 % less time`.
fn slower_by(regret: f64) -> String {
    let said = tenths(regret.abs());
    // What rounds to nothing is no gain.
    if regret < 0.0 && said != tenths(0.0) { format!("{said} less time") } else { format!("{said} longer") }
}

/// What happened to the builtin and to the choices, in whole sentences.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said = Vec::new();
    let all = comparison.cells.len();
    if all > 0 {
        let [faster, same, slower] = [Outcome::Faster, Outcome::Same, Outcome::Slower].map(|it| comparison.count(it));
        said.push(format!(
            "Today's builtin is {:.3}x as fast as the earlier one in geometric mean over {} that both runs have. \
             {faster} became faster, {slower} became slower, and {same} show no change.",
            comparison.builtin(),
            counted(all, "cell"),
        ));
        said.push(format!(
            "The new rules serve {} differently from the earlier ones.",
            counted(comparison.reserved().count(), "cell")
        ));
        let unjudged = all - comparison.judged().count();
        if unjudged > 0 {
            said.push(format!(
                "In {} the later run did not time what the earlier rules choose.",
                counted(unjudged, "cell")
            ));
        }
    }
    let (before, after) = comparison.left_out;
    if before + after > 0 {
        said.push(format!(
            "Not compared: {} of the earlier run and {after} of the later one.",
            counted(before, "cell")
        ));
    }
    said.push(format!(
        "A change counts if it is {} or more, at a false discovery rate of {} over all cells. Intervals have a confidence \
         of {} and come from the differences between launches.",
        percent(comparison.criteria.min_difference),
        percent(comparison.criteria.error_rate),
        percent(comparison.criteria.level),
    ));
    said
}

/// What the reader has to know first.
pub(super) fn warning(comparison: &Comparison) -> Option<&'static str> {
    (comparison.before.simulated || comparison.after.simulated).then_some(SIMULATED)
}

/// A run in words.
pub(super) fn side(side: &Side) -> String {
    let simulated = if side.simulated { "simulated, " } else { "" };
    let version = side.version.map_or_else(|| side.release.to_string(), |version| version.to_string());
    let started = side.started.as_ref().map_or(String::new(), |started| format!(", {started}"));
    plain::line(&format!("{} ({simulated}Open MPI {version}{started}, {})", side.source, counted(side.rules, "rule")))
}
