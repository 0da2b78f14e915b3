//! Result of a comparison, in whole sentences.

use collrules_record::Cell;
use collrules_record::estimate::median;
use collrules_record::validation::{Check, FailedCell, Outcome, Round, ValidatedCell, Validation};
use collrules_rules::words::counted;

use crate::gains::Gains;
use crate::outcome::rules_verdict;
use crate::words::{agree, percent, ratio, times};

/// The outcome in whole sentences, the verdict first.
pub fn sentences(validation: &Validation) -> Vec<String> {
    let Some(round) = &validation.round else { return Vec::new() };
    let gains = Gains::of_comparison(validation);
    let mut sentences = vec![rules_verdict(validation, &gains).to_string()];
    sentences.extend(gains.describe_left_out());
    sentences.extend(validation.checks.iter().map(describe_check));
    sentences.push(compared(validation, round));
    sentences.push(counts(validation, round, &gains));
    if round.unreached > 0 {
        sentences.push(format!("Not compared: {}.", counted(round.unreached, "more size")));
    }
    sentences.extend(resolution(round));
    let controls = round.cells.iter().filter(|cell| cell.verdict == Outcome::Slower && cell.control).count();
    if controls > 0 {
        sentences.push(format!("Slower without a rule, so not because of the file: {}.", counted(controls, "size")));
    }
    let left = round.cells.iter().filter(|cell| !cell.control && !round.repaired.contains(&cell.cell));
    if let Some(worst) = left.min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point)) {
        sentences.push(format!("The lowest speedup under a rule: {} for {}.", ratio(worst.speedup), worst.cell));
    }
    sentences.extend(failures(&round.failed));
    sentences
}

/// The comparison of the rules in other calls.
fn describe_check(check: &Check) -> String {
    let (round, lost): (_, Vec<Cell>) = (&check.round, check.losses().collect());
    let is_lost = |cell: &&ValidatedCell| lost.contains(&cell.cell) || round.repaired.contains(&cell.cell);
    let worst = round.cells.iter().filter(is_lost).min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point));
    let worst = worst.map(|cell| format!("at worst {} for {}", times(cell.speedup.point), cell.cell));
    let counts = [(lost.len(), "SLOWER"), (round.repaired.len(), "removed"), (check.untried.len(), "not compared")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let all: Vec<String> = counts.chain(worst).collect();
    let sizes = counted(round.cells.len(), "size");
    let found = if all.is_empty() { format!("no loss of {} shown", percent(check.max_loss)) } else { all.join(", ") };
    format!("Calls {}: {sizes} with a rule; {found}.", check.condition)
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
