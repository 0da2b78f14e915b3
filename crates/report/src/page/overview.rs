//! What stands first: what is gained, where, and how sure that is.

use collrules_record::Candidate;
use collrules_record::findings::Findings;

use crate::Context;
use crate::summary::{Expectation, expectations, percent};

/// A number that stands out.
pub(super) struct Figure {
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

/// Geometric mean of expected gains over all cells.
fn overall(expected: &[Expectation]) -> f64 {
    let cells: usize = expected.iter().map(|one| one.cells).sum();
    let sum: f64 = expected.iter().map(|one| one.overall.mean.ln() * one.cells as f64).sum();
    (sum / cells.max(1) as f64).exp()
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
    let mean = overall(&expected);
    format!("With these rules {collectives} {run} faster: {mean:.2}\u{d7} in geometric mean over everything measured.")
}

pub(super) fn figures(findings: &Findings, context: &Context<'_>) -> Vec<Figure> {
    let expected = expectations(findings);
    let cells: usize = expected.iter().map(|one| one.cells).sum();
    let improved: usize = expected.iter().map(|one| one.improved).sum();
    let most = expected.iter().max_by(|a, b| a.overall.most.total_cmp(&b.overall.most));
    let figure = |value: String, label: &str, note: String| Figure { value, label: label.to_owned(), note };
    let mut figures = vec![
        figure(
            format!("{:.2}\u{d7}", overall(&expected)),
            "as fast as the builtin",
            "geometric mean over all measured cells; cells that keep the builtin count as 1".to_owned(),
        ),
        figure(format!("{improved} of {cells}"), "cells get faster", {
            let settled = findings.cells.iter().filter(|cell| cell.served_candidate() == Candidate::Builtin).count();
            format!("{settled} keep the builtin")
        }),
    ];
    if let Some((most, best)) = most.and_then(|one| Some((one.overall.most, one.best.as_ref()?))) {
        figures.push({
            let digits = usize::from(most < 100.0);
            figure(format!("{most:.digits$}\u{d7}"), "at best", best.clone())
        });
    }
    figures.push(figure(findings.table.rules().to_string(), "rules", {
        // The worst cell says little where all sizes have to share one choice.
        let regret = percent((findings.tree.regret * 1e4).round() / 1e4);
        format!("{regret} slower than the best permitted choice of every cell, in geometric mean")
    }));
    figures.push(sureness(context));
    figures
}

/// How sure it is that nothing became slower.
fn sureness(context: &Context<'_>) -> Figure {
    use collrules_record::validation::Outcome;
    match context.validation.and_then(|validation| validation.last()) {
        // Nothing is left that could be compared.
        Some(last) if !last.repaired.is_empty() => Figure {
            value: "0".to_owned(),
            label: "rules withstood validation".to_owned(),
            note: "all were given back to the builtin".to_owned(),
        },
        Some(last) => Figure {
            value: format!("{} of {}", last.count(Outcome::Slower), last.cells.len()),
            label: "slower in validation".to_owned(),
            note: format!("{} pairs of fresh launches, without and with the file", last.pairs),
        },
        None => Figure {
            value: "\u{2013}".to_owned(),
            label: "not validated".to_owned(),
            note: "collrules validate compares the file with the builtin on fresh launches".to_owned(),
        },
    }
}

pub(super) fn gains(findings: &Findings) -> Vec<GainRow> {
    let expected = expectations(findings);
    let longest = expected.iter().map(|one| one.overall.mean.ln()).fold(2f64.ln(), f64::max);
    let row = |one: &Expectation| GainRow {
        collective: one.collective.to_string(),
        mean: format!("{:.2}\u{d7}", one.overall.mean),
        bar: (one.overall.mean.ln() / longest * 100.0).clamp(0.0, 100.0),
        cautious: one.overall.cautious.map_or("\u{2013}".to_owned(), |low| format!("{low:.2}\u{d7}")),
        improved: one.improved,
        cells: one.cells,
        most: if one.improved > 0 { format!("{:.2}\u{d7}", one.overall.most) } else { "\u{2013}".to_owned() },
        best: one.best.clone().filter(|_| one.improved > 0).unwrap_or_else(|| "the builtin stays".to_owned()),
    };
    expected.iter().map(row).collect()
}
