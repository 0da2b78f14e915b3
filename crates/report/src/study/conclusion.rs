//! Conclusion of a study, in whole sentences: every word follows from a number.

use std::collections::BTreeSet;

use collrules_lab::study::results::{LineFit, Overall, Study, StudyCell, StudyPoint, StudyVerdict};
use collrules_record::estimate::geometric_mean;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::words::{counted, listed};
use collrules_rules::{Collective, registry};

use super::about::{About, MeasuredBy};
use super::names::{candidates, collectives, name, place};
use crate::document::{Block, Table};
use crate::facts::describe_failed_default;
use crate::words::{ends, interval, time, whole};

/// Largest misfit, as a share, of a line that describes the times.
const MISFIT: f64 = 0.25;

/// A paragraph for each collective, and one on the scope of the conclusion.
pub fn conclusion(study: &Study, about: &About<'_>) -> Vec<String> {
    let mut paragraphs: Vec<String> = describe_failed_default(&study.failed_defaults()).into_iter().collect();
    paragraphs.extend(collectives(study).into_iter().map(|collective| of_collective(study, about, collective)));
    paragraphs.push(reach(study, about));
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

/// The numbers behind the conclusion: verdicts by algorithm, and growth of times.
pub(super) fn numbers(study: &Study, about: &About<'_>) -> Block {
    let mut rows = Vec::new();
    let mut growths = Vec::new();
    for collective in collectives(study) {
        let cells: Vec<&StudyCell> = study.grid().filter(|cell| cell.cell.collective == collective).collect();
        rows.extend(study.overall.iter().filter(|overall| overall.collective == collective).map(|overall| {
            let counts = counts(&cells, overall.candidate).map(|count| count.to_string());
            let [faster, slower, alike] = counts;
            let algorithm = name(study, collective, overall.candidate);
            [collective.to_string(), algorithm, faster, slower, alike, interval(overall.gain, 2)]
        }));
        let said: Vec<String> = scaling(study, about, collective, &cells)
            .into_iter()
            .chain(size(study, about, collective, &cells))
            .collect();
        growths.extend((!said.is_empty()).then(|| format!("{collective}: {}", said.join(" "))));
    }
    let what = "Number of cases (numbers of ranks with message sizes) for which each algorithm is shown to be faster or slower than the default, and its \
                speedup in geometric mean over all of them, with the interval from differences between launches.";
    let heads = ["collective", "algorithm", "faster:", "slower:", "no difference:", "speedup:"];
    let table = Table::new(heads, rows).about(what);
    Block::part("", "In numbers", vec![Block::Table(table), Block::List(growths)])
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

/// Describes the growth of times with the communicator, or the reason why it is unknown.
fn scaling(study: &Study, about: &About<'_>, collective: Collective, cells: &[&StudyCell]) -> Option<String> {
    let mut ranks: Vec<Ranks> = cells.iter().map(|cell| cell.cell.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let (first, last) = (ranks.first()?, ranks.last()?);
    let sizes = if collective.has_sizes() { about.over_ranks.clone() } else { vec![Bytes(0)] };
    let growths = |bytes: Bytes| -> Vec<String> {
        let of = study.growths.iter().filter(|growth| (growth.collective, growth.bytes) == (collective, bytes));
        let by = |candidate| match candidate {
            Candidate::Builtin => "the default".to_owned(),
            _ => name(study, collective, candidate),
        };
        of.map(|growth| format!("{} with {}", interval(growth.exponent, 2), by(growth.candidate))).collect()
    };
    let told: Vec<String> = sizes
        .iter()
        .filter(|bytes| !growths(**bytes).is_empty())
        .map(|bytes| {
            let at = if collective.has_sizes() { format!("at {bytes} ") } else { String::new() };
            at + &listed(&growths(*bytes))
        })
        .collect();
    let slots = about.slots();
    Some(match told.is_empty() {
        true => format!(
            "Scaling is unknown: only communicators of {} ranks were measured.",
            listed(&ranks.iter().map(ToString::to_string).collect::<Vec<_>>()),
        ),
        false => {
            let doubt = if *last > slots {
                format!(
                    " Runs on more than {slots} ranks were oversubscribed: what grows there is the wait for a \
                     processor, not the time of the algorithms."
                )
            } else {
                String::new()
            };
            format!(
                "From {first} to {last} ranks, time grows with the number of ranks, to the power of {}.{doubt}",
                told.join("; "),
            )
        }
    })
}

/// Describes the growth of times with the message, on the largest communicator.
fn size(study: &Study, about: &About<'_>, collective: Collective, cells: &[&StudyCell]) -> Option<String> {
    let largest = cells.iter().map(|cell| cell.cell.ranks).filter(|ranks| *ranks <= about.slots()).max();
    let largest = largest.or_else(|| cells.iter().map(|cell| cell.cell.ranks).max())?;
    let fits: Vec<&LineFit> = study
        .lines
        .iter()
        .filter(|line| (line.collective, line.ranks) == (collective, largest))
        .filter(|line| line.candidate == Candidate::Builtin)
        .collect();
    let fit = fits.first()?;
    let doubles = doubling(cells, largest);
    let doubles = doubles.map_or(String::new(), |(bytes, least)| {
        format!(" Up to {bytes}, it takes at most twice as long as for {least}.")
    });
    let line = if fit.misfit <= MISFIT && fit.per_byte.point > 0.0 {
        format!(
            "On {largest} ranks, the default takes about {} plus {} per KiB; the line is off by {} in the root \
             mean square.",
            time(fit.latency),
            time(fit.per_byte.map(|seconds| 1024.0 * seconds)),
            whole(fit.misfit.exp() - 1.0),
        )
    } else {
        format!(
            "On {largest} ranks, a latency and a time per byte do not describe the default's times: the best line is \
             off by a factor of {:.2} in the root mean square. Changes of algorithm and protocol have this effect.",
            fit.misfit.exp(),
        )
    };
    Some(line + &doubles)
}

/// The largest size up to which the builtin takes at most twice as long as for the smallest size, which is named too.
fn doubling(cells: &[&StudyCell], ranks: Ranks) -> Option<(Bytes, Bytes)> {
    let of = |cell: &&&StudyCell| cell.cell.ranks == ranks;
    let times: Vec<(Bytes, f64)> =
        cells.iter().filter(of).filter_map(|cell| Some((cell.cell.bytes, cell.points.first()?.time.point))).collect();
    let (least, first) = *times.first()?;
    let within = times.iter().take_while(|(_, seconds)| *seconds <= 2.0 * first).last()?;
    (within.0 < times.last()?.0).then_some((within.0, least))
}

/// Describes the scope of the conclusion.
fn reach(study: &Study, about: &About<'_>) -> String {
    let mut varied = false;
    let mut compared = |collective: Collective| {
        let all = candidates(study, collective);
        let tuned = || all.iter().filter(|candidate| matches!(candidate, Candidate::Tuned(_)));
        let tried: BTreeSet<u32> = tuned().filter_map(|candidate| Some(candidate.choice()?.algorithm)).collect();
        varied |= tried.len() < tuned().count();
        let tried = tried.len();
        let offered = match &about.origin {
            // Algorithm 0 stands for the builtin.
            MeasuredBy::Measured(manifest) => {
                let listed = manifest.survey.algorithms.get(&collective).map_or(&[][..], Vec::as_slice);
                listed.iter().filter(|(id, _)| *id != 0).count()
            }
            MeasuredBy::Others { .. } => registry::algorithms(study.release, collective).count(),
        };
        format!("{tried} of {offered} algorithms of {collective}")
    };
    let compared: Vec<String> = collectives(study).into_iter().map(&mut compared).collect();
    let how = match varied {
        true => "with the parameters that the tables name",
        false => "each without variations of its parameters",
    };
    let where_from = if matches!(about.origin, MeasuredBy::Others { .. }) {
        "they hold for the machine, the release and the placement of ranks that they were taken on".to_owned()
    } else if about.is_simulated() {
        "they come from a cost model, and say nothing about any machine".to_owned()
    } else {
        "they hold for this machine, this release and this placement of ranks".to_owned()
    };
    format!(
        "The study compares {}, {how}. It does not say whether another algorithm or other segments would be better; \
         `collrules tune` does. As all measurements, {where_from}.",
        listed(&compared),
    )
}
