//! What a comparison without and with a rules file showed, for a terminal of 80 columns.

use collrules_record::estimate::median;
use collrules_record::validation::{FailedCell, Outcome, Round, ValidatedCell, Validation};
use collrules_record::{Estimate, Seconds};
use collrules_rules::Release;
use collrules_rules::registry;

use crate::summary::percent;

/// Everything: each cell of the last comparison, then what they come to.
pub fn text(validation: &Validation, release: Release) -> String {
    let mut lines = Vec::new();
    if let Some(round) = validation.last() {
        for collective in round.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
            lines.push(collective[0].cell.collective.to_string());
            lines.push(
                format!(
                    "{:>5} {:>7} {:>8} {:>8} {:>8} {:^14} {:<7}{}",
                    "ranks", "size", "without", "with", "speedup", "interval", "", "rule",
                )
                .trim_end()
                .to_owned(),
            );
            lines.extend(collective.iter().map(|cell| row(cell, release)));
            lines.push(String::new());
        }
    }
    lines.extend(summary(validation));
    lines.join("\n")
}

/// What it comes to, in whole sentences, to be wrapped.
pub fn sentences(validation: &Validation) -> Vec<String> {
    let mut sentences = Vec::new();
    for (place, round) in validation.rounds.iter().enumerate() {
        if place + 1 < validation.rounds.len() || !round.repaired.is_empty() {
            sentences.push(given_back(round));
        }
    }
    let Some(round) = validation.last() else { return sentences };
    if !round.repaired.is_empty() {
        sentences.push("That leaves nothing to compare: the builtin serves all calls again.".to_owned());
        return sentences;
    }
    let count = |outcome| round.count(outcome);
    let (faster, same, slower) = (count(Outcome::Faster), count(Outcome::Same), count(Outcome::Slower));
    sentences.push(format!(
        "In {} pairs of fresh launches of Open MPI {}, without and with the rules file, {} compared: {faster} faster, \
         {same} the same, {slower} slower ({}); {} in geometric mean.",
        round.pairs,
        validation.version,
        if round.cells.len() == 1 { "1 cell was".to_owned() } else { format!("{} cells were", round.cells.len()) },
        percent((round.share_slower() * 1e3).round() / 1e3),
        round.speedup.map_or_else(|| format!("{:.2}x", round.geometric_mean()), ratio),
    ));
    if round.unreached > 0 {
        sentences.push(format!("{} more cells were not reached in the time given.", round.unreached));
    }
    sentences.extend(untold(round));
    let controls = round.cells.iter().filter(|cell| cell.verdict == Outcome::Slower && !validation.acts_on(cell));
    let controls = controls.count();
    if controls > 0 {
        sentences.push(format!(
            "Of the slower cells {controls} have no rule, so that the file is not to blame: something else differed between the \
             launches, or chance did.",
        ));
    }
    if let Some(worst) = validation.worst(round) {
        let (cell, speedup) = (worst.cell, ratio(worst.speedup));
        sentences.push(format!("Of what the file rules, the worst is {cell}: {speedup}, by itself."));
    }
    sentences.extend(failures(&round.failed));
    sentences
}

fn summary(validation: &Validation) -> Vec<String> {
    sentences(validation).iter().flat_map(|sentence| wrapped(sentence)).collect()
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
    let cells = if round.repaired.len() == 1 { "1 cell".to_owned() } else { format!("{} cells", round.repaired.len()) };
    format!("The rules of {cells} gave way to the builtin: {what} in {} pairs of fresh launches.", round.pairs)
}

/// What could not be told, where that is a good deal: half the width of the interval in the middle cell.
fn untold(round: &Round) -> Option<String> {
    let width = |cell: &ValidatedCell| Some((cell.speedup.high? / cell.speedup.low?).sqrt());
    let mut widths: Vec<f64> = round.cells.iter().filter_map(width).filter(|width| width.is_finite()).collect();
    let width = median(&mut widths).filter(|width| *width >= NOTABLE)?;
    Some(format!(
        "Launches differ so much here that differences below {}x cannot be told in half of the cells; quieter processors, \
         --pairs or more time would help.",
        number(width),
    ))
}

fn failures(failed: &[FailedCell]) -> Option<String> {
    let first = failed.first()?;
    let others = if failed.len() > 1 { format!(", and {} more", failed.len() - 1) } else { String::new() };
    let side = if first.with { "with" } else { "without" };
    Some(format!("Calls failed {side} the file in {}: {}{others}.", first.cell, first.why))
}

fn row(cell: &ValidatedCell, release: Release) -> String {
    let verdict = match cell.verdict {
        Outcome::Faster => "faster",
        Outcome::Same => "same",
        Outcome::Slower => "SLOWER",
    };
    let size = if cell.cell.collective.has_sizes() { cell.cell.bytes.to_string() } else { "-".to_owned() };
    let interval = match (cell.speedup.low, cell.speedup.high) {
        (Some(low), Some(high)) => format!("{:>5} .. {:<5}", number(low), number(high)),
        _ => String::new(),
    };
    let algorithm = registry::algorithm(release, cell.cell.collective, cell.served.algorithm);
    let rule = if cell.served.is_builtin() { "-" } else { algorithm.map_or("?", |algorithm| algorithm.name) };
    let line = format!(
        "{:>5} {size:>7} {:>8} {:>8} {:>7}x {interval:^14} {verdict:<7}{rule}",
        cell.cell.ranks.0,
        Seconds(cell.without.point).to_string(),
        Seconds(cell.with.point).to_string(),
        number(cell.speedup.point),
    );
    line.trim_end().to_owned()
}

/// A ratio with its interval: `0.85x (0.81 .. 0.90)`.
fn ratio(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{}x ({} .. {})", number(estimate.point), number(low), number(high)),
        _ => format!("{}x", number(estimate.point)),
    }
}

/// Two digits behind the point, as long as there is room for them.
fn number(value: f64) -> String {
    match value {
        large if large >= 1e4 => format!("{large:.0e}"),
        large if large >= 100.0 => format!("{large:.0}"),
        small => format!("{small:.2}"),
    }
}

/// Differences that it would be a pity not to be told.
const NOTABLE: f64 = 1.1;

/// The width of a terminal that nobody has widened.
const WIDTH: usize = 80;

fn wrapped(sentence: &str) -> Vec<String> {
    let options = textwrap::Options::new(WIDTH).break_words(false);
    textwrap::wrap(sentence, options).into_iter().map(|line| line.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use collrules_record::validation::{Criteria, FORMAT};
    use collrules_record::{Bytes, Cell, Ranks};
    use collrules_rules::{Choice, Collective};

    use super::*;

    fn validation(verdict: Outcome, speedup: f64) -> Validation {
        let estimate =
            |point: f64| Estimate { point, low: Some(point * 0.9), high: Some(point * 1.1), level: 0.95, samples: 4 };
        let cell = ValidatedCell {
            cell: Cell { collective: Collective::ReduceScatterBlock, ranks: Ranks(1024), bytes: Bytes(5793) },
            tuned: false,
            served: Choice::plain(3).with_segsize(65536).with_faninout(4),
            without: estimate(1.234e-3 * speedup),
            with: estimate(1.234e-3),
            speedup: estimate(speedup),
            q_value: Some(0.001),
            verdict,
        };
        Validation {
            format: FORMAT,
            rules: "rules.conf".to_owned(),
            version: "5.0.11".parse().expect("a version"),
            settings: BTreeMap::new(),
            criteria: Criteria::default(),
            rounds: vec![Round { pairs: 4, cells: vec![cell], ..Round::default() }],
            given_back: Vec::new(),
        }
    }

    #[test]
    fn lines_fit_into_eighty_columns_and_say_what_was_found() {
        for (verdict, speedup) in [(Outcome::Faster, 12345.6), (Outcome::Slower, 0.0123), (Outcome::Same, 123.4)] {
            let text = text(&validation(verdict, speedup), Release::V5_0);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert_eq!(text.contains("SLOWER"), verdict == Outcome::Slower, "{text}");
        }
        let text = text(&validation(Outcome::Slower, 0.5), Release::V5_0).replace('\n', " ");
        assert!(text.contains("1 cell was compared: 0 faster, 0 the same, 1 slower (100 %); 0.50x"), "{text}");
        assert!(text.contains("0.50x (0.45 .. 0.55)"), "{text}");
    }

    #[test]
    fn what_was_given_back_on_suspicion_is_called_so() {
        let mut validation = validation(Outcome::Same, 0.9);
        let cell = validation.rounds[0].cells[0].cell;
        validation.rounds[0].repaired.push(cell);
        let said = sentences(&validation).join(" ");
        assert!(said.contains("suspected to be slower, though not shown to be"), "{said}");
        assert!(said.contains("the builtin serves all calls again"), "{said}");
    }
}
