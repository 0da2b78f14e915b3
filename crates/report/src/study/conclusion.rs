//! What the numbers of a study come to, in whole sentences: every word follows from a number.

use std::collections::BTreeSet;

use collrules_record::estimate::geometric_mean;
use collrules_record::study::{LineFit, Overall, Standing, Study, StudyCell, StudyPoint};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::words::{counted, listed};
use collrules_rules::{Collective, registry};

use super::about::{About, MeasuredBy};
use super::names::{candidates, collectives, name, place};
use crate::words::{ends, interval, time};

/// A line that misses the times by more than this, as a share, does not describe them.
const MISFIT: f64 = 0.25;

/// A paragraph for each collective, and one on what they are good for.
pub fn conclusion(study: &Study, about: &About<'_>) -> Vec<String> {
    let mut paragraphs: Vec<String> =
        collectives(study).into_iter().map(|collective| of_collective(study, about, collective)).collect();
    paragraphs.push(reach(study, about));
    paragraphs
}

fn of_collective(study: &Study, about: &About<'_>, collective: Collective) -> String {
    let cells: Vec<&StudyCell> = study.cells.iter().filter(|cell| cell.cell.collective == collective).collect();
    let mut sentences = vec![against_builtin(study, collective, &cells)];
    sentences.extend(study.overall.iter().filter(|overall| overall.collective == collective).map(|overall| {
        let counts = counts(&cells, overall.candidate);
        verdicts(study, overall, counts)
    }));
    sentences.extend(closest(study, collective));
    sentences.extend(scaling(study, about, collective, &cells));
    sentences.extend(size(study, about, collective, &cells));
    format!("**{collective}.** {}", sentences.join(" "))
}

/// Whether the builtin is the best of what was compared.
fn against_builtin(study: &Study, collective: Collective, cells: &[&StudyCell]) -> String {
    let beaten: Vec<(&StudyCell, &StudyPoint)> = cells
        .iter()
        .filter_map(|cell| {
            let faster = cell.points.iter().filter(|point| point.outcome == Standing::Faster);
            Some((*cell, faster.max_by(|a, b| gain(a).total_cmp(&gain(b)))?))
        })
        .collect();
    let all = counted(cells.len(), "cell");
    let none = || match cells.len() {
        1 => "In the one cell none of the algorithms compared was shown to be faster than the builtin.".to_owned(),
        _ => format!("In none of the {all} was any of the algorithms compared shown to be faster than the builtin."),
    };
    if cells.iter().flat_map(|cell| &cell.points).all(|point| point.q_value.is_none()) {
        return as_they_stand(study, collective, cells);
    }
    let Some((cell, point)) = beaten.iter().max_by(|a, b| gain(a.1).total_cmp(&gain(b.1))) else {
        return none();
    };
    format!(
        "The builtin is not always the best: in {} of {all} at least one of the algorithms compared is shown to be faster. \
         It is beaten most on {}, by {}: {}.",
        beaten.len(),
        place(cell.cell),
        name(study, collective, point.candidate),
        point.gain.map_or_else(String::new, times_as_fast),
    )
}

/// What times say that are too few for a test.
fn as_they_stand(study: &Study, collective: Collective, cells: &[&StudyCell]) -> String {
    let compared = |cell: &&StudyCell| -> Option<(Cell, Candidate, f64)> {
        let builtin = cell.points.iter().find(|point| point.candidate == Candidate::Builtin)?;
        let best = cell.points.iter().min_by(|a, b| a.time.point.total_cmp(&b.time.point))?;
        Some((cell.cell, best.candidate, builtin.time.point / best.time.point))
    };
    let compared: Vec<(Cell, Candidate, f64)> = cells.iter().filter_map(compared).collect();
    let Some((cell, candidate, most)) = compared.iter().max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return "There are no times of the builtin to compare with.".to_owned();
    };
    let first = compared.iter().filter(|(_, candidate, _)| *candidate == Candidate::Builtin).count();
    let mean = geometric_mean(compared.iter().map(|(_, _, gain)| *gain)).unwrap_or(1.0);
    let lead = match candidate {
        Candidate::Builtin => String::new(),
        _ => format!(
            " The fastest algorithm of each cell is {mean:.2} times as fast as the builtin in the geometric mean, which luck \
             makes larger, and up to {most:.2} times on {}, where it is {}.",
            place(*cell),
            name(study, collective, *candidate),
        ),
    };
    format!(
        "Taken as they stand, since there are too few for a test, the times have the builtin ahead in {first} of {}.{lead}",
        counted(compared.len(), "cell"),
    )
}

fn gain(point: &StudyPoint) -> f64 {
    point.gain.map_or(1.0, |gain| gain.point)
}

/// A ratio of speeds, with its interval.
fn times_as_fast(gain: Estimate) -> String {
    format!("{:.2} times as fast{}", gain.point, ends(gain, |value| format!("{value:.2}")))
}

/// Cells in which a candidate is faster, slower, and not told apart.
fn counts(cells: &[&StudyCell], candidate: Candidate) -> [usize; 3] {
    let points = || cells.iter().flat_map(|cell| &cell.points).filter(|point| point.candidate == candidate);
    [Standing::Faster, Standing::Slower, Standing::Alike].map(|wanted| points().filter(|p| p.outcome == wanted).count())
}

fn verdicts(study: &Study, overall: &Overall, [faster, slower, alike]: [usize; 3]) -> String {
    let name = name(study, overall.collective, overall.candidate);
    let total = faster + slower + alike;
    let told = match (faster, slower, alike) {
        (0, 0, 1) => "cannot be told apart from the builtin in its one cell".to_owned(),
        (0, 0, _) => format!("cannot be told apart from the builtin in any of {}", counted(total, "cell")),
        _ => format!("is faster in {faster}, slower in {slower}, and cannot be told apart in {alike}"),
    };
    let gain = overall.gain;
    let mean = match (gain.low, gain.high) {
        (Some(low), Some(high)) if low <= 1.0 && 1.0 <= high => format!(
            "on the geometric mean over cells no difference is shown: {} the builtin's speed",
            interval(gain, 2)
        ),
        _ => format!("on the geometric mean over cells it has {} times the builtin's speed", interval(gain, 2)),
    };
    format!("*{name}* {told}; {mean}.")
}

/// Which candidate is like the builtin, if there are several to choose from, and whether that is sure.
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
            "Closest to the builtin is {nearest}, whose times differ from it by a factor of {by} in the root mean square \
             over cells; next is {next}."
        )
    } else {
        format!(
            "Which one is closest to the builtin is not sure: {nearest} differs from it by a factor of {by} in the root mean \
             square over cells, {next}."
        )
    })
}

/// How times grow with the communicator, or why nothing can be said.
fn scaling(study: &Study, about: &About<'_>, collective: Collective, cells: &[&StudyCell]) -> Option<String> {
    let mut ranks: Vec<Ranks> = cells.iter().map(|cell| cell.cell.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let (first, last) = (ranks.first()?, ranks.last()?);
    let sizes = if collective.has_sizes() { about.over_ranks.clone() } else { vec![Bytes(0)] };
    let growths = |bytes: Bytes| -> Vec<String> {
        let of = study.growths.iter().filter(|growth| (growth.collective, growth.bytes) == (collective, bytes));
        let by = |candidate| match candidate {
            Candidate::Builtin => "the builtin".to_owned(),
            _ => name(study, collective, candidate),
        };
        of.map(|growth| format!("{} by {}", interval(growth.exponent, 2), by(growth.candidate))).collect()
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
            "With communicators of {} ranks alone, these numbers say nothing about scaling.",
            listed(&ranks.iter().map(ToString::to_string).collect::<Vec<_>>()),
        ),
        false => {
            let doubt = if *last > slots {
                format!(
                    " Above {slots} ranks there were more ranks than slots: what grows there is the time to get a \
                     processor, and no scaling of the algorithms."
                )
            } else {
                String::new()
            };
            format!(
                "From {first} to {last} ranks, time grows as a power of the number of ranks, which is {}.{doubt}",
                told.join("; "),
            )
        }
    })
}

/// How times grow with the message, on the largest communicator.
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
    let doubles = doubles
        .map_or(String::new(), |(bytes, least)| format!(" Its time stays within twice that of {least} up to {bytes}."));
    let line = if fit.misfit <= MISFIT && fit.per_byte.point > 0.0 {
        format!(
            "On {largest} ranks the builtin's time is about {} plus {} for each KiB; the line misses the times by {:.0} % \
             in the root mean square.",
            time(fit.latency),
            time(fit.per_byte.map(|seconds| 1024.0 * seconds)),
            100.0 * (fit.misfit.exp() - 1.0),
        )
    } else {
        format!(
            "On {largest} ranks no line of a latency and a time per byte describes the builtin's times: the best one misses \
             them by a factor of {:.2} in the root mean square, as changes of algorithm and protocol make them.",
            fit.misfit.exp(),
        )
    };
    Some(line + &doubles)
}

/// The largest size up to which the builtin's median takes at most twice that of the smallest, which is named too.
fn doubling(cells: &[&StudyCell], ranks: Ranks) -> Option<(Bytes, Bytes)> {
    let of = |cell: &&&StudyCell| cell.cell.ranks == ranks;
    let times: Vec<(Bytes, f64)> =
        cells.iter().filter(of).filter_map(|cell| Some((cell.cell.bytes, cell.points.first()?.time.point))).collect();
    let (least, first) = *times.first()?;
    let within = times.iter().take_while(|(_, seconds)| *seconds <= 2.0 * first).last()?;
    (within.0 < times.last()?.0).then_some((within.0, least))
}

/// What all of this holds for.
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
        "These are statements about {}, {how}: whether another one, or other \
         segments, would be better was not asked here, and `collrules tune` asks it. As all measurements, {where_from}.",
        listed(&compared),
    )
}
