//! What a comparison comes to, in whole sentences.

use collrules_record::estimate::median;
use collrules_record::validation::{FailedCell, NotAgain, Outcome, Round, ValidatedCell, Validation};
use collrules_rules::words::counted;

use crate::words::{percent, ratio, times};

/// What it comes to, in whole sentences, to be wrapped.
pub fn sentences(validation: &Validation) -> Vec<String> {
    let mut sentences = Vec::new();
    for (place, round) in validation.rounds.iter().enumerate() {
        if place + 1 < validation.rounds.len() || !round.repaired.is_empty() {
            sentences.push(given_back(round));
        }
    }
    let Some(round) = validation.last() else { return sentences };
    match &validation.not_again {
        Some(left) => sentences.push(not_again(left)),
        None if !round.repaired.is_empty() => {
            sentences.push("No rule is left to compare: the builtin serves all calls again.".to_owned());
            return sentences;
        }
        None => {}
    }
    sentences.push(compared(validation, round));
    let count = |outcome| round.count(outcome);
    sentences.push(format!(
        "With the file {} faster, {} the same, {} slower ({}). The speedup is {} in geometric mean.",
        cells_are(count(Outcome::Faster)),
        are(count(Outcome::Same)),
        are(count(Outcome::Slower)),
        percent((round.share_slower() * 1e3).round() / 1e3),
        round.speedup.map_or_else(|| times(round.geometric_mean()), ratio),
    ));
    if round.unreached > 0 {
        sentences.push(format!("The time was too short for {}.", counted(round.unreached, "more cell")));
    }
    sentences.extend(untold(round));
    let controls = round.cells.iter().filter(|cell| cell.verdict == Outcome::Slower && cell.control);
    match controls.count() {
        0 => {}
        1 => sentences.push(
            "1 of the slower cells has no rule. The file cannot be the cause there: something else differed between \
             the launches, or it is chance."
                .to_owned(),
        ),
        controls => sentences.push(format!(
            "{controls} of the slower cells have no rule. The file cannot be the cause there: something else differed \
             between the launches, or it is chance.",
        )),
    }
    if let Some(worst) = round.worst() {
        sentences.push(format!("The lowest speedup under a rule: {} for {}.", ratio(worst.speedup), worst.cell));
    }
    sentences.extend(failures(&round.failed));
    sentences
}

/// What nobody looked at after the last repair.
fn not_again(left: &NotAgain) -> String {
    let otherwise = match &left.otherwise[..] {
        [] => "all of them as in the comparison before".to_owned(),
        [cell] => format!("{cell} by another rule than in the comparison before, the others as there"),
        [first, others @ ..] => format!(
            "{first} and {} by other rules than in the comparison before, the rest as there",
            counted(others.len(), "other cell"),
        ),
    };
    format!(
        "The time was spent then, and what is left was not compared again: it serves {}, {otherwise}. What follows is \
         about the file before that repair; `collrules validate` compares what is left.",
        counted(left.cells, "cell"),
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
        match round.cells.len() {
            1 => "1 cell was".to_owned(),
            cells => format!("{cells} cells were"),
        },
    )
}

fn cells_are(count: usize) -> String {
    if count == 1 { "1 cell is".to_owned() } else { format!("{count} cells are") }
}

fn are(count: usize) -> String {
    if count == 1 { "1 is".to_owned() } else { format!("{count} are") }
}

fn given_back(round: &Round) -> String {
    let shown = |cell: &&collrules_record::Cell| {
        round.cells.iter().any(|other| other.cell == **cell && other.verdict == Outcome::Slower)
            || round.failed.iter().any(|failed| failed.cell == **cell)
    };
    let shown = round.repaired.iter().filter(shown).count();
    let suspected = round.repaired.len() - shown;
    let what = match (shown, suspected) {
        (_, 0) => "shown to be slower".to_owned(),
        (0, _) => "suspected to be slower, though not shown to be".to_owned(),
        _ => format!("{shown} shown to be slower and {suspected} suspected of it"),
    };
    format!(
        "The rules of {} gave way to the builtin: {what} in {} of fresh launches.",
        counted(round.repaired.len(), "cell"),
        counted(round.pairs as usize, "pair"),
    )
}

/// Differences that it would be a pity not to be told.
const NOTABLE: f64 = 1.1;

/// What could not be told, where that is a good deal: half the width of the interval in the middle cell.
fn untold(round: &Round) -> Option<String> {
    let width = |cell: &ValidatedCell| Some((cell.speedup.high? / cell.speedup.low?).sqrt());
    let mut widths: Vec<f64> = round.cells.iter().filter_map(width).filter(|width| width.is_finite()).collect();
    let width = median(&mut widths).filter(|width| *width >= NOTABLE)?;
    Some(format!(
        "Launches differ much here: in half of the cells this comparison cannot see differences below {}. Quieter \
         processors, more --pairs or more time help.",
        times(width),
    ))
}

fn failures(failed: &[FailedCell]) -> Option<String> {
    let first = failed.first()?;
    let others = match failed.len() - 1 {
        0 => String::new(),
        others => format!(" Calls failed in {} too.", counted(others, "other cell")),
    };
    let side = if first.with { "with" } else { "without" };
    Some(format!("Calls failed {side} the file in {}: {}.{others}", first.cell, first.why.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::validation;
    use super::*;

    #[test]
    fn counts_add_up() {
        let said = sentences(&validation(Outcome::Slower, 0.5)).join(" ");
        assert!(said.contains("1 cell was compared."), "{said}");
        assert!(said.contains("With the file 0 cells are faster, 0 are the same, 1 is slower (100 %)."), "{said}");
        assert!(said.contains("0.50x (0.45 to 0.55)"), "{said}");
    }

    #[test]
    fn what_was_not_compared_again_is_told() {
        let mut validation = validation(Outcome::Slower, 0.5);
        let cell = validation.rounds[0].cells[0].cell;
        validation.rounds[0].repaired.push(cell);
        validation.not_again = Some(NotAgain { cells: 3, otherwise: vec![cell, cell] });
        let said = sentences(&validation).join(" ");
        assert!(
            said.contains("not compared again: it serves 3 cells, reduce_scatter_block on 1024 ranks at"),
            "{said}"
        );
        assert!(said.contains("and 1 other cell by other rules") && said.contains("1 cell was compared."), "{said}");
        validation.not_again = None;
        assert!(sentences(&validation).join(" ").contains("No rule is left"));
    }

    #[test]
    fn what_was_given_back_on_suspicion_is_called_so() {
        let mut validation = validation(Outcome::Same, 0.9);
        let cell = validation.rounds[0].cells[0].cell;
        validation.rounds[0].repaired.push(cell);
        let said = sentences(&validation).join(" ");
        assert!(said.contains("The rules of 1 cell gave way to the builtin: suspected to be slower"), "{said}");
        assert!(said.contains("the builtin serves all calls again"), "{said}");
    }
}
