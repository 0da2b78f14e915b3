//! What stands first: what is gained, where, and how sure that is.

use collrules_record::findings::Findings;
use collrules_record::validation::{Outcome, Validation};
use collrules_rules::words::{counted, listed, plural};

use crate::Context;
use crate::summary::{Expectation, expectations};
use crate::words::{number, percent};

/// A number that stands out.
pub(super) struct Card {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) note: String,
}

/// A line of the table of gains.
pub(super) struct GainRow {
    pub(super) collective: String,
    pub(super) mean: String,
    /// The length of the bar, in percent.
    pub(super) bar: f64,
    pub(super) cautious: String,
    pub(super) improved: usize,
    pub(super) cells: usize,
    pub(super) most: String,
    pub(super) best: String,
}

/// A ratio with a sign for times.
fn times(ratio: f64) -> String {
    number(ratio) + "\u{d7}"
}

/// Geometric mean of expected gains over all cells whose times are believed.
fn overall(expected: &[Expectation]) -> f64 {
    let sound = |one: &Expectation| (one.cells - one.doubted) as f64;
    let sum: f64 = expected.iter().map(|one| one.overall.mean.ln() * sound(one)).sum();
    (sum / expected.iter().map(sound).sum::<f64>().max(1.0)).exp()
}

/// The sentence that says it all.
pub(super) fn headline(findings: &Findings) -> String {
    if findings.cells.is_empty() {
        return "Nothing was measured.".to_owned();
    }
    let expected = expectations(findings);
    let gaining: Vec<&Expectation> = expected.iter().filter(|one| one.improved > 0).collect();
    if gaining.is_empty() {
        return "Nothing beats the builtin here: leave Open MPI as it is.".to_owned();
    }
    let (collectives, run) = match gaining.as_slice() {
        [one] => (one.collective.to_string(), "runs"),
        [one, other] => (format!("{} and {}", one.collective, other.collective), "run"),
        several => (format!("{} collectives", several.len()), "run"),
    };
    let mean = times(overall(&expected));
    format!("With these rules {collectives} {run} faster: {mean} in geometric mean over all measured cells.")
}

pub(super) fn cards(findings: &Findings, context: &Context<'_>) -> Vec<Card> {
    let expected = expectations(findings);
    let sum = |count: fn(&Expectation) -> usize| expected.iter().map(count).sum::<usize>();
    let (cells, doubted) = (sum(|one| one.cells), sum(|one| one.doubted));
    let card = |value: String, label: &str, note: String| Card { value, label: label.to_owned(), note };
    let not_counted = match doubted {
        0 => String::new(),
        _ => format!("; not counted: {} whose times can hardly be true", counted(doubted, "cell")),
    };
    let rest = [
        (sum(|one| one.kept), "keeps", "keep", "the builtin"),
        (sum(|one| one.level), "gains", "gain", "nothing under a rule"),
        (doubted, "has", "have", "times that can hardly be true"),
    ];
    let say = |(count, one, several, what): (usize, &str, &str, &str)| {
        format!("{count} {} {what}", if count == 1 { one } else { several })
    };
    let rest: Vec<String> = rest.into_iter().filter(|(count, ..)| *count > 0).map(say).collect();
    let mut cards = vec![
        card(
            times(overall(&expected)),
            "as fast as the builtin",
            format!("geometric mean over all measured cells; cells that keep the builtin count as 1{not_counted}"),
        ),
        card(format!("{} of {cells}", sum(|one| one.improved)), "cells get faster", listed(&rest)),
    ];
    let most = expected.iter().filter(|one| one.improved > 0);
    let most = most.max_by(|a, b| a.overall.most.total_cmp(&b.overall.most));
    if let Some((most, best)) = most.and_then(|one| Some((one.overall.most, one.best.as_ref()?))) {
        cards.push(card(times(most), "at best", best.clone()));
    }
    cards.push(card(
        findings.table.rules().to_string(),
        &plural(findings.table.rules(), "rule"),
        // The worst cell says little where all sizes have to share one choice.
        format!(
            "sharing rules costs {} of the time {}",
            percent((findings.tree.regret * 1e4).round() / 1e4),
            if findings.tree.by_time { "that programs spend in these calls" } else { "in geometric mean" },
        ),
    ));
    cards.push(sureness(context.validation));
    cards
}

/// How sure it is that nothing became slower.
fn sureness(validation: Option<&Validation>) -> Card {
    if let Some(left) = validation.and_then(|validation| validation.not_again.as_ref()) {
        return Card {
            value: left.cells.to_string(),
            label: "cells not compared again".to_owned(),
            note: "the time of the validation was spent after its last repair".to_owned(),
        };
    }
    match validation.and_then(Validation::last) {
        // Nothing is left that could be compared.
        Some(last) if !last.repaired.is_empty() => Card {
            value: "0".to_owned(),
            label: "rules withstood validation".to_owned(),
            note: "all were given back to the builtin".to_owned(),
        },
        Some(last) => {
            let tuned = last.cells.iter().filter(|cell| cell.tuned).count();
            let between = match last.cells.len() - tuned {
                0 => String::new(),
                between => format!("; {tuned} of the cells were measured for tuning, {between} lie between these"),
            };
            Card {
                value: format!("{} of {}", last.count(Outcome::Slower), last.cells.len()),
                label: "slower in validation".to_owned(),
                note: format!(
                    "{} of fresh launches, without and with the file{between}",
                    counted(last.pairs as usize, "pair")
                ),
            }
        }
        None => Card {
            value: "\u{2013}".to_owned(),
            label: "not validated".to_owned(),
            note: "`collrules validate` compares the file with the builtin in fresh launches".to_owned(),
        },
    }
}

pub(super) fn gains(findings: &Findings) -> Vec<GainRow> {
    let expected = expectations(findings);
    let longest = expected.iter().map(|one| one.overall.mean.ln()).fold(2f64.ln(), f64::max);
    let row = |one: &Expectation| GainRow {
        collective: one.collective.to_string(),
        mean: times(one.overall.mean),
        bar: (one.overall.mean.ln() / longest * 100.0).clamp(0.0, 100.0),
        cautious: one.overall.cautious.map_or("\u{2013}".to_owned(), times),
        improved: one.improved,
        cells: one.cells,
        most: if one.improved > 0 { times(one.overall.most) } else { "\u{2013}".to_owned() },
        best: one.best.clone().unwrap_or_else(|| "the builtin stays".to_owned()),
    };
    expected.iter().map(row).collect()
}
