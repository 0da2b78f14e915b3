//! What a validation shows, in words that every format uses.

use collrules_record::findings::Findings;
use collrules_record::units::Seconds;
use collrules_record::validation::{Outcome, Round, ValidatedCell, Validation};

use crate::facts::ratio;
use crate::summary::{name, percent};

/// A comparison in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundRow {
    /// Which file it is about.
    pub(crate) name: String,
    pub(crate) pairs: u32,
    pub(crate) cells: usize,
    pub(crate) faster: usize,
    pub(crate) same: usize,
    pub(crate) slower: usize,
    pub(crate) mean: String,
    pub(crate) worst: String,
    pub(crate) repaired: usize,
}

/// All comparisons, in order.
pub(crate) fn rounds(validation: &Validation) -> Vec<RoundRow> {
    validation.rounds.iter().enumerate().map(|(number, round)| row(number, round)).collect()
}

fn row(number: usize, round: &Round) -> RoundRow {
    RoundRow {
        name: round_name(number),
        pairs: round.pairs,
        cells: round.cells.len(),
        faster: round.count(Outcome::Faster),
        same: round.count(Outcome::Same),
        slower: round.count(Outcome::Slower),
        mean: format!("{:.3}x", round.geometric_mean()),
        worst: round.worst().map_or("-".to_owned(), |cell| format!("{} ({:.2}x)", cell.cell, cell.speedup.point)),
        repaired: round.repaired.len(),
    }
}

fn round_name(number: usize) -> String {
    match number {
        0 => "as decided".to_owned(),
        1 => "after the repair".to_owned(),
        number => format!("after repair {number}"),
    }
}

/// The outcome in whole sentences.
pub(crate) fn sentences(validation: &Validation) -> Vec<String> {
    let Some(last) = validation.last() else {
        return vec!["No cell was compared.".to_owned()];
    };
    let plural = |count: usize| if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
    let criteria = validation.criteria;
    let mut said = vec![format!(
        "{} pairs of fresh launches of Open MPI {}, without and with the file as it is switched on, compared {}: with it \
         {} faster, {} the same, {} slower; {:.3}x in geometric mean.",
        last.pairs,
        validation.version,
        plural(last.cells.len()),
        last.count(Outcome::Faster),
        last.count(Outcome::Same),
        last.count(Outcome::Slower),
        last.geometric_mean(),
    )];
    let repaired: usize = validation.rounds.iter().map(|round| round.repaired.len()).sum();
    if repaired > 0 {
        said.push(format!(
            "{} had become slower and {} given back to the builtin; the last comparison is about the file that is left.",
            plural(repaired),
            if repaired == 1 { "was" } else { "were" },
        ));
    }
    said.push(format!(
        "A cell counts as faster or slower from a difference of {} on, at a false discovery rate of {}; intervals are of {}.",
        percent(criteria.min_difference),
        percent(criteria.error_rate),
        percent(criteria.level),
    ));
    said
}

/// Cells that were slower or repaired, and all with which the last file is slower: file, cell, rule, without, with,
/// speedup, verdict.
pub(crate) fn telling(findings: &Findings, validation: &Validation) -> Vec<[String; 7]> {
    let rounds = validation.rounds.iter().enumerate();
    let rows = rounds.flat_map(|(number, round)| {
        let told = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower || round.repaired.contains(&cell.cell);
        round.cells.iter().filter(told).map(move |cell| cell_row(findings, number, round, cell))
    });
    rows.collect()
}

/// A cell in words: file, cell, rule, without, with, speedup, verdict.
pub(crate) fn cell_row(findings: &Findings, number: usize, round: &Round, cell: &ValidatedCell) -> [String; 7] {
    let verdict = match cell.verdict {
        Outcome::Faster => "faster",
        Outcome::Same => "same",
        Outcome::Slower => "slower",
    };
    let repaired = if round.repaired.contains(&cell.cell) { ", given back to the builtin" } else { "" };
    let between = if cell.tuned { "" } else { ", not tuned" };
    [
        round_name(number),
        format!("{}{between}", cell.cell),
        name(findings, cell.cell.collective, cell.served),
        Seconds(cell.without.point).to_string(),
        Seconds(cell.with.point).to_string(),
        ratio(cell.speedup),
        format!("{verdict}{repaired}"),
    ]
}
