//! Conclusion of a study, in whole sentences: every word follows from a number.

use collrules_lab::study::results::{Overall, Study, StudyCell, StudyPoint, StudyVerdict};
use collrules_record::estimate::geometric_mean;
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;
use collrules_rules::words::counted;

use super::about::About;
use super::names::{collectives, name, place};
use crate::document::{Block, Table};
use crate::facts::describe_failed_default;
use crate::words::{ends, interval};

/// A paragraph for each collective, and one on the scope of the conclusion.
pub fn conclusion(study: &Study, about: &About<'_>) -> Vec<String> {
    let mut paragraphs: Vec<String> = describe_failed_default(&study.failed_defaults()).into_iter().collect();
    paragraphs.extend(collectives(study).into_iter().map(|collective| of_collective(study, about, collective)));
    paragraphs.push(reach(about));
    paragraphs
}

fn of_collective(study: &Study, about: &About<'_>, collective: Collective) -> String {
    let cells: Vec<&StudyCell> = study.grid().filter(|cell| cell.cell.collective == collective).collect();
    let mut sentences = vec![against_builtin(study, collective, &cells)];
    sentences.extend(closest(study, collective));
    if cells.iter().any(|cell| cell.cell.ranks > about.slots()) {
        let slots = about.slots();
        sentences
            .push(format!("Runs on more than {slots} ranks were oversubscribed: their times do not show scaling."));
    }
    format!("**{collective}.** {}", sentences.join(" "))
}

/// The numbers behind the conclusion: verdicts by algorithm.
pub(super) fn numbers(study: &Study) -> Block {
    let mut rows = Vec::new();
    for collective in collectives(study) {
        let cells: Vec<&StudyCell> = study.grid().filter(|cell| cell.cell.collective == collective).collect();
        rows.extend(study.overall.iter().filter(|overall| overall.collective == collective).map(|overall| {
            let counts = counts(&cells, overall.candidate).map(|count| count.to_string());
            let [faster, slower, alike] = counts;
            let algorithm = name(study, collective, overall.candidate);
            [collective.to_string(), algorithm, faster, slower, alike, interval(overall.gain, 2)]
        }));
    }
    let what = "Number of cases (numbers of ranks with message sizes) for which each algorithm is shown to be faster or \
                slower than the default, and its speedup in geometric mean over all of them, with the interval from \
                differences between launches.";
    let heads = ["collective", "algorithm", "faster:", "slower:", "no difference:", "speedup:"];
    Block::part("", "In numbers", vec![Block::Table(Table::new(heads, rows).about(what))])
}

/// Compares the builtin with the other algorithms of the study.
fn against_builtin(study: &Study, collective: Collective, cells: &[&StudyCell]) -> String {
    let beaten: Vec<(&StudyCell, &StudyPoint)> = cells
        .iter()
        .filter_map(|cell| {
            let faster = cell.points.iter().filter(|point| point.outcome == StudyVerdict::Faster);
            Some((*cell, faster.max_by(|a, b| gain(a).total_cmp(&gain(b)))?))
        })
        .collect();
    let all = counted(cells.len(), "case");
    let none = || format!("No algorithm of the study is shown to be faster than the default ({all}).");
    if cells.iter().flat_map(|cell| &cell.points).all(|point| point.q_value.is_none()) {
        return as_they_stand(study, collective, cells);
    }
    let Some((cell, point)) = beaten.iter().max_by(|a, b| gain(a.1).total_cmp(&gain(b.1))) else {
        return none();
    };
    format!(
        "The default is not always the best: for {} of {all}, another algorithm is shown to be faster. The largest \
         difference is on {}, with {}: {}.",
        beaten.len(),
        place(cell.cell),
        name(study, collective, point.candidate),
        point.gain.map_or_else(String::new, times_as_fast),
    )
}

/// Describes times without a test, if there are too few.
fn as_they_stand(study: &Study, collective: Collective, cells: &[&StudyCell]) -> String {
    let compared = |cell: &&StudyCell| -> Option<(Cell, Candidate, f64)> {
        let builtin = cell.points.iter().find(|point| point.candidate == Candidate::Builtin)?;
        let best = cell.points.iter().min_by(|a, b| a.time.point.total_cmp(&b.time.point))?;
        Some((cell.cell, best.candidate, builtin.time.point / best.time.point))
    };
    let compared: Vec<(Cell, Candidate, f64)> = cells.iter().filter_map(compared).collect();
    let Some((cell, candidate, most)) = compared.iter().max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return "There are no times of the default to compare with.".to_owned();
    };
    let first = compared.iter().filter(|(_, candidate, _)| *candidate == Candidate::Builtin).count();
    let mean = geometric_mean(compared.iter().map(|(_, _, gain)| *gain)).unwrap_or(1.0);
    let lead = match candidate {
        Candidate::Builtin => String::new(),
        _ => format!(
            " The fastest algorithm for each case is {mean:.2} times as fast as the default in geometric mean, which \
             chance makes larger, and up to {most:.2} times on {}, where it is {}.",
            place(*cell),
            name(study, collective, *candidate),
        ),
    };
    format!(
        "There are too few times for a test. As they are, the default is the fastest for {first} of {}.{lead}",
        counted(compared.len(), "case"),
    )
}

fn gain(point: &StudyPoint) -> f64 {
    point.gain.map_or(1.0, |gain| gain.point)
}

/// A ratio of speeds, with its interval.
fn times_as_fast(gain: Estimate) -> String {
    format!("{:.2} times as fast{}", gain.point, ends(gain, |value| format!("{value:.2}")))
}

/// Numbers of cells in which a candidate is faster, slower, or not significantly different.
fn counts(cells: &[&StudyCell], candidate: Candidate) -> [usize; 3] {
    let points = || cells.iter().flat_map(|cell| &cell.points).filter(|point| point.candidate == candidate);
    [StudyVerdict::Faster, StudyVerdict::Slower, StudyVerdict::Alike]
        .map(|wanted| points().filter(|p| p.outcome == wanted).count())
}

/// The candidate that is closest to the builtin, if there are several, and whether that is certain.
fn closest(study: &Study, collective: Collective) -> Option<String> {
    let mut all: Vec<&Overall> = study.overall.iter().filter(|overall| overall.collective == collective).collect();
    all.sort_by(|a, b| a.distance.point.total_cmp(&b.distance.point));
    let [first, second, ..] = all.as_slice() else { return None };
    let name = |overall: &Overall| name(study, collective, overall.candidate);
    let sure = matches!((first.distance.high, second.distance.low), (Some(high), Some(low)) if high < low);
    let (nearest, by) = (name(first), interval(first.distance, 2));
    let next = format!("{} by {}", name(second), interval(second.distance, 2));
    Some(if sure {
        format!(
            "Closest to the default is {nearest}: its times differ by a factor of {by} in the root mean square over \
             cases. Next is {next}."
        )
    } else {
        format!(
            "Undecided which one is closest to the default: {nearest} differs from it by a factor of {by} in the root \
             mean square over cases, {next}."
        )
    })
}

/// Describes the scope of the conclusion.
fn reach(about: &About<'_>) -> String {
    let holds = if about.is_simulated() {
        "The times come from a cost model, and say nothing about any machine."
    } else {
        "The times hold for the machine, the release and the placement of ranks that they were measured on."
    };
    format!("{holds} Other algorithms and segments were not compared; `collrules tune` does that.")
}
