//! Result of a comparison, in whole sentences.

use std::collections::BTreeSet;

use collrules_record::Cell;
use collrules_record::validation::{Check, FailedCell, ValidatedCell, Validation};
use collrules_rules::words::counted;

use crate::gains::Gains;
use crate::outcome::rules_verdict;
use crate::words::{percent, ratio, times};

/// The outcome in whole sentences, the verdict first; `gains` are those of the rules.
pub fn sentences(validation: &Validation, gains: &Gains<'_>) -> Vec<String> {
    let round = &validation.round;
    let ruled = gains.iter().filter(|(_, gain)| gain.speedup.is_some()).count();
    let speedup = gains.mean(..).map(|speedup| {
        let (all, ruled) = (counted(round.cells.len(), "compared size"), counted(ruled, "size"));
        format!(
            "The final file is {} as fast as the default, in geometric mean over {ruled} with a rule of {all}.",
            ratio(speedup)
        )
    });
    let verdict = rules_verdict(validation, gains).to_string();
    std::iter::once(verdict)
        .chain(speedup)
        .chain(gains.describe_left_out())
        .chain(validation.checks.iter().map(describe_check))
        .chain(failures(&round.failed))
        .collect()
}

/// The comparison of the rules in other calls.
fn describe_check(check: &Check) -> String {
    let CheckCounts { compared, kept, lost, removed, untried } = CheckCounts::new(check);
    let round = &check.round;
    let is_lost = |cell: &&ValidatedCell| cell.speedup.point <= 1.0 - check.max_loss;
    let worst = round.cells.iter().filter(is_lost).min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point));
    let worst = worst.map(|cell| format!("at worst {} for {}", times(cell.speedup.point), cell.cell));
    let counts = [(kept, "without a loss"), (lost, "SLOWER"), (removed, "removed"), (untried, "not compared")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let all: Vec<String> = counts.chain(worst).collect();
    let sizes = counted(compared + untried, "size");
    let found = if kept == compared + untried {
        format!("no loss of {} is shown", percent(check.max_loss))
    } else {
        all.join(", ")
    };
    format!("Calls {}: of {sizes} with a rule {found}.", check.condition)
}

/// Sizes with a rule by their results in other calls; each is in one of the counts after the first.
struct CheckCounts {
    /// All that were compared.
    compared: usize,
    kept: usize,
    lost: usize,
    removed: usize,
    /// Those without a comparison.
    untried: usize,
}

impl CheckCounts {
    fn new(check: &Check) -> Self {
        let round = &check.round;
        let failed = round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell);
        let compared: BTreeSet<Cell> = round.cells.iter().map(|it| it.cell).chain(failed).collect();
        let lost = check.losses().collect::<BTreeSet<Cell>>().len();
        let gone = |cell: &&Cell| round.repaired.contains(cell);
        let removed = compared.iter().filter(gone).count();
        let untried = check.untried.iter().filter(|cell| !compared.contains(cell) && !gone(cell)).count();
        Self { compared: compared.len(), kept: compared.len() - lost - removed, lost, removed, untried }
    }
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
    use collrules_record::Estimate;
    use collrules_record::validation::Outcome;

    use super::super::fixture::validation;
    use super::*;

    fn sentences(validation: &Validation) -> Vec<String> {
        super::sentences(validation, &Gains::of_comparison(validation))
    }

    #[test]
    fn the_verdict_comes_first() {
        let said = sentences(&validation(Outcome::Slower, 0.5));
        assert!(said[0].starts_with("NOT CONFIRMED: the file makes calls slower"), "{said:?}");
        assert!(said[1].contains("0.50x (0.45 to 0.55)"), "{said:?}");
        let said = sentences(&validation(Outcome::Undecided, 0.85));
        assert!(said[0].contains("NOT CONFIRMED: the rules for 1 size are undecided"), "{said:?}");
    }

    #[test]
    fn a_control_that_is_off_is_the_reason() {
        let mut validation = validation(Outcome::Faster, 1.5);
        assert!(validation.is_confirmed());
        let round = &mut validation.round;
        round.control = Some(Estimate { point: 1.1, low: Some(1.05), high: Some(1.15), level: 0.99, samples: 8 });
        assert!(!validation.is_confirmed());
        assert!(sentences(&validation)[0].contains("the default is 1.10x (1.05 to 1.15) as fast as itself"));
    }

    #[test]
    fn rules_are_removed_with_the_reason() {
        let mut validation = validation(Outcome::Undecided, 0.9);
        let cell = validation.round.cells[0].cell;
        validation.round.repaired.push(cell);
        let said = sentences(&validation);
        assert!(said[0].starts_with("Undecided: no rule is left; 1 size had no clear result"), "{said:?}");
        assert!(said[1].contains("Rules for 1 size were tried and dropped: 1 not clear"), "{said:?}");
    }
}
