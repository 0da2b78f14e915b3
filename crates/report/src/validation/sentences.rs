//! Result of a comparison, in whole sentences.

use collrules_record::Cell;
use collrules_record::estimate::median;
use collrules_record::validation::{Check, FailedCell, Fates, Outcome, Round, ValidatedCell, Validation};
use collrules_rules::words::{counted, listed};

use crate::gains::mean_speedup;
use crate::words::{agree, percent, ratio, times};

/// The outcome in whole sentences, the verdict first.
pub fn sentences(validation: &Validation) -> Vec<String> {
    let Some(round) = &validation.round else { return Vec::new() };
    let mut sentences = vec![verdict(validation)];
    sentences.extend(removed(round));
    sentences.extend(describe_checks(&validation.checks));
    sentences.push(compared(validation, round));
    sentences.push(counts(validation, round));
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

/// Describes in a sentence whether the rules are confirmed.
pub fn verdict(validation: &Validation) -> String {
    let Fates { confirmed, dropped, undecided } = validation.fates();
    let open = validation.unconfirmed().len();
    let unreached = validation.round.as_ref().map_or(0, |round| round.unreached);
    match (validation.is_confirmed(), confirmed) {
        (true, 0) if dropped + undecided == 0 => "No size that was compared has a rule.".to_owned(),
        (true, 0) if undecided > 0 => format!(
            "Undecided: more time is needed for {}; no rule is left, and the default stays for all calls.",
            counted(undecided, "size")
        ),
        (true, 0) => "No rule was confirmed, and the default stays for all calls.".to_owned(),
        (true, _) => format!("CONFIRMED in fresh launches: the rules for {}.", counted(confirmed, "size")),
        (false, _) if validation.loses() => "NOT CONFIRMED: the file makes calls slower, or they fail.".to_owned(),
        (false, _) if open == 0 => format!("NOT CONFIRMED: {} not compared.", sizes(unreached, "was", "were")),
        (false, _) => format!("NOT CONFIRMED: the rules for {} are undecided.", counted(open, "size")),
    }
}

fn counts(validation: &Validation, round: &Round) -> String {
    let count = |outcome| round.count(outcome);
    let are = |outcome| format!("{} {}", count(outcome), agree(count(outcome), "is", "are"));
    let acts = |cell: &&ValidatedCell| !cell.control && !validation.is_removed(cell.cell);
    let left: Vec<&ValidatedCell> = round.cells.iter().filter(acts).collect();
    let speedup = mean_speedup(Some(round), left.iter().map(|cell| cell.speedup)).map_or(String::new(), |speedup| {
        let over = if left.len() == 1 { "this size".to_owned() } else { format!("{} sizes", left.len()) };
        format!(" The speedup with the final file is {} in geometric mean over {over}.", ratio(speedup))
    });
    format!(
        "With the file {} faster, {} slower, {} the same within {}, {} undecided.{speedup}",
        sizes(count(Outcome::Faster), "is", "are"),
        are(Outcome::Slower),
        are(Outcome::Same),
        percent(validation.criteria.same_within.max(validation.criteria.min_difference)),
        are(Outcome::Undecided),
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

/// The rules that this comparison removed, with the reason; those that lose in other calls have sentences of their own.
fn removed(round: &Round) -> Option<String> {
    let verdict = |cell: &Cell| {
        let failed = round.failed.iter().any(|failed| failed.cell == *cell);
        let found = round.cells.iter().find(|other| other.cell == *cell).map(|found| found.verdict);
        if failed { Some(Outcome::Slower) } else { found }
    };
    let count = |outcome| round.repaired.iter().filter(|cell| verdict(cell) == Some(outcome)).count();
    let reasons =
        [(Outcome::Slower, "slower"), (Outcome::Same, "without a confirmed gain"), (Outcome::Undecided, "undecided")];
    let parts = reasons.map(|(outcome, what)| (count(outcome), what));
    let all: usize = parts.iter().map(|(count, _)| count).sum();
    if all == 0 {
        return None;
    }
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    Some(format!(
        "Removed the rules for {}: {}, in {} of fresh launches.",
        counted(all, "size"),
        parts.join(", "),
        counted(round.pairs as usize, "pair"),
    ))
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
        assert!(said.contains("0 sizes are faster, 1 is slower, 0 are the same within 5 %, 0 are undecided"), "{said}");
        assert!(said.contains("0.50x (0.45 to 0.55)"), "{said}");
    }

    #[test]
    fn what_cannot_be_resolved_is_never_called_the_same() {
        let said = sentences(&validation(Outcome::Undecided, 0.85));
        assert!(said[0].contains("NOT CONFIRMED: the rules for 1 size are undecided"), "{said:?}");
        assert!(said.join(" ").contains("0 are the same within 5 %, 1 is undecided"), "{said:?}");
    }

    #[test]
    fn rules_are_removed_with_the_reason() {
        let mut validation = validation(Outcome::Undecided, 0.9);
        let cell = validation.round.as_ref().expect("compared").cells[0].cell;
        validation.round.as_mut().expect("compared").repaired.push(cell);
        let said = sentences(&validation);
        assert!(said[0].starts_with("Undecided: more time is needed for 1 size"), "{said:?}");
        assert!(said[1].contains("Removed the rules for 1 size: 1 undecided, in 4 pairs"), "{said:?}");
    }
}
