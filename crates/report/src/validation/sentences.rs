//! Result of a comparison, in whole sentences.

use collrules_record::Cell;
use collrules_record::estimate::median;
use collrules_record::validation::{Check, FailedCell, Outcome, Round, ValidatedCell, Validation};
use collrules_rules::words::{counted, listed};

use crate::gains::Gains;
use crate::outcome::rules_verdict;
use crate::words::{agree, percent, ratio, times};

/// The outcome in whole sentences, the verdict first.
pub fn sentences(validation: &Validation) -> Vec<String> {
    let Some(round) = &validation.round else { return Vec::new() };
    let gains = Gains::of_comparison(validation);
    let mut sentences = vec![rules_verdict(validation, &gains).to_string()];
    sentences.extend(gains.describe_left_out());
    sentences.extend(describe_checks(&validation.checks));
    sentences.push(compared(validation, round));
    sentences.push(counts(validation, round, &gains));
    if round.unreached > 0 {
        sentences.push(format!("Not compared: {}.", counted(round.unreached, "more size")));
    }
    sentences.extend(resolution(round));
    let controls = round.cells.iter().filter(|cell| cell.verdict == Outcome::Slower && cell.control).count();
    if controls > 0 {
        sentences.push(format!(
            "{controls} of the slower sizes {} no rule. The file cannot be the cause there: something else differed \
             between the launches, or it is chance.",
            agree(controls, "has", "have"),
        ));
    }
    let left = round.cells.iter().filter(|cell| !cell.control && !round.repaired.contains(&cell.cell));
    if let Some(worst) = left.min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point)) {
        sentences.push(format!("The lowest speedup under a rule: {} for {}.", ratio(worst.speedup), worst.cell));
    }
    sentences.extend(failures(&round.failed));
    sentences
}

/// The comparisons under other conditions: rules that hold, were removed, are slower, or were not compared.
fn describe_checks(checks: &[Check]) -> Vec<String> {
    let counts: Vec<CheckCounts> = checks.iter().map(CheckCounts::new).collect();
    let list = |count: fn(&CheckCounts) -> usize, worst: fn(&Check) -> String| {
        let parts = checks.iter().zip(&counts).filter(|(_, counts)| count(counts) > 0);
        let parts = parts
            .map(|(check, counts)| format!("{} ({}{})", check.condition, counted(count(counts), "size"), worst(check)));
        Some(listed(&parts.collect::<Vec<_>>())).filter(|list| !list.is_empty())
    };
    let most = checks.first().map_or_else(String::new, |check| percent(check.max_loss));
    let said = [
        list(|it| if it.lost + it.gone == 0 { it.tried } else { 0 }, |_| String::new())
            .map(|when| format!("No rule is shown to lose {most} or more {when}.")),
        list(|it| it.slower, describe_worst).map(|when| format!("Removed rules that are slower {when}.")),
        list(|it| it.gone - it.slower, |_| String::new())
            .map(|when| format!("Removed rules for which a loss of {most} or more is not excluded {when}.")),
        list(|it| it.lost, describe_worst).map(|when| format!("Rules are SLOWER {when}.")),
        list(|it| it.untried, |_| String::new()).map(|when| format!("Not compared for lack of time: rules {when}.")),
    ];
    said.into_iter().flatten().collect()
}

/// The rule that loses most under a condition.
fn describe_worst(check: &Check) -> String {
    let lost: Vec<Cell> = check.losses().collect();
    let is_lost = |cell: &&ValidatedCell| lost.contains(&cell.cell) || check.round.repaired.contains(&cell.cell);
    let worst = check.round.cells.iter().filter(is_lost).min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point));
    worst.map_or_else(String::new, |cell| format!(", at worst {} for {}", times(cell.speedup.point), cell.cell))
}

/// Numbers of sizes in a comparison under another condition, by their fate.
struct CheckCounts {
    tried: usize,
    gone: usize,
    /// Those of them that are shown to be slower, or make calls fail.
    slower: usize,
    lost: usize,
    untried: usize,
}

impl CheckCounts {
    fn new(check: &Check) -> Self {
        let round = &check.round;
        let is_slower = |cell: &&Cell| {
            let slower = |it: &ValidatedCell| it.cell == **cell && it.verdict == Outcome::Slower;
            round.cells.iter().any(slower) || round.failed.iter().any(|failed| failed.cell == **cell)
        };
        Self {
            tried: round.cells.len(),
            gone: round.repaired.len(),
            slower: round.repaired.iter().filter(is_slower).count(),
            lost: check.losses().count(),
            untried: check.untried.len(),
        }
    }
}

fn counts(validation: &Validation, round: &Round, gains: &Gains<'_>) -> String {
    let ruled = || round.cells.iter().filter(|cell| cell.is_ruled());
    let count = |outcome| ruled().filter(|cell| cell.verdict == outcome).count();
    let speedup = gains.overall().map_or(String::new(), |(speedup, over)| {
        format!(" The final file is {} as fast as the default, in geometric mean {over}.", ratio(speedup))
    });
    let same = percent(validation.criteria.same_within.max(validation.criteria.min_difference));
    format!(
        "Of {} with a rule {} {} faster, {} slower, {} the same within {same}, {} undecided.{speedup}",
        counted(ruled().count(), "size"),
        count(Outcome::Faster),
        agree(count(Outcome::Faster), "is", "are"),
        count(Outcome::Slower),
        count(Outcome::Same),
        count(Outcome::Undecided),
    )
}

fn compared(validation: &Validation, round: &Round) -> String {
    let tuned = round.cells.iter().filter(|cell| cell.tuned).count();
    let between = match round.cells.len() - tuned {
        _ if tuned == 0 => String::new(),
        0 => String::new(),
        between => format!(", {tuned} that were measured for tuning and {between} between these"),
    };
    format!(
        "Open MPI {} ran in {} of fresh launches, without and with the rules file. {} compared{between}.",
        validation.version,
        counted(round.pairs as usize, "pair"),
        sizes(round.cells.len(), "was", "were"),
    )
}

/// `1 size was`, `2 sizes were`.
fn sizes(count: usize, one: &'static str, several: &'static str) -> String {
    format!("{} {}", counted(count, "size"), agree(count, one, several))
}

/// The smallest resolution that is mentioned.
const NOTABLE: f64 = 1.1;

/// The smallest visible difference, if it is large: half the width of the median cell's interval.
fn resolution(round: &Round) -> Option<String> {
    let width = |cell: &ValidatedCell| Some((cell.speedup.high? / cell.speedup.low?).sqrt());
    let mut widths: Vec<f64> = round.cells.iter().filter_map(width).filter(|width| width.is_finite()).collect();
    let width = median(&mut widths).filter(|width| *width >= NOTABLE)?;
    Some(format!(
        "Too noisy: for half of the sizes, differences below {} cannot be seen. An idle machine or more time helps.",
        percent(width - 1.0),
    ))
}

fn failures(failed: &[FailedCell]) -> Option<String> {
    let first = failed.first()?;
    let others = match failed.len() - 1 {
        0 => String::new(),
        others => format!(" Calls failed in {} too.", counted(others, "other size")),
    };
    let side = if first.with { "with" } else { "without" };
    Some(format!("Calls failed {side} the file in {}: {}.{others}", first.cell, first.why.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::validation;
    use super::*;

    #[test]
    fn the_verdict_comes_first_and_counts_add_up() {
        let said = sentences(&validation(Outcome::Slower, 0.5));
        assert!(said[0].starts_with("NOT CONFIRMED: the file makes calls slower"), "{said:?}");
        let said = said.join(" ");
        assert!(said.contains("1 size was compared."), "{said}");
        assert!(
            said.contains("Of 1 size with a rule 0 are faster, 1 slower, 0 the same within 5 %, 0 undecided"),
            "{said}"
        );
        assert!(said.contains("0.50x (0.45 to 0.55)"), "{said}");
    }

    #[test]
    fn what_cannot_be_resolved_is_never_called_the_same() {
        let said = sentences(&validation(Outcome::Undecided, 0.85));
        assert!(said[0].contains("NOT CONFIRMED: the rules for 1 size are undecided"), "{said:?}");
        assert!(said.join(" ").contains("0 the same within 5 %, 1 undecided"), "{said:?}");
    }

    #[test]
    fn rules_are_removed_with_the_reason() {
        let mut validation = validation(Outcome::Undecided, 0.9);
        let cell = validation.round.as_ref().expect("compared").cells[0].cell;
        validation.round.as_mut().expect("compared").repaired.push(cell);
        let said = sentences(&validation);
        assert!(said[0].starts_with("Undecided: no rule is left; 1 size had no clear result"), "{said:?}");
        assert!(said[1].contains("Sizes whose rule was left out: 1 without a clear result"), "{said:?}");
    }
}
