//! One study on several placements: what is best, where short gives way to long, and what the nodes cost.

use std::fmt::Write;

use collrules_record::estimate::geometric_mean;
use collrules_record::study::{ClassVerdict, Rivalry, Study, StudyCell};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell};
use collrules_reference::Reference;
use collrules_rules::Collective;

use super::names::collectives;
use super::references::{answer, listed};
use crate::plain;
use crate::words::folded;

/// A study on one placement.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The placement, in words.
    pub name: String,
    /// The directory of its study, beside the page.
    pub directory: String,
    /// What was found there.
    pub study: Study,
}

/// What the page says beside the studies.
#[derive(Clone, Debug)]
pub struct Placements {
    /// The heading.
    pub title: String,
    /// What is asked, in a paragraph.
    pub question: String,
    /// What the reader should know, such as placements that were left out, in whole sentences.
    pub remarks: Vec<String>,
    /// How to make it again.
    pub command: String,
    /// What others found to be the best of the builtin and the reference algorithms.
    pub claims: std::collections::BTreeMap<Collective, Vec<Candidate>>,
}

/// The page.
pub fn placements(placed: &[Placed], about: &Placements) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "# {}\n\n", plain::markdown(about.title.trim()));
    let _ = write!(text, "{}\n\n", folded(&plain::markdown(about.question.trim())));
    let what = "The same ranks on several placements, each measured in a campaign of its own: times of one placement were taken \
                side by side, those of two were not.";
    let _ = write!(text, "{}\n\n", folded(what));
    for Placed { name, directory, .. } in placed {
        let _ = writeln!(text, "- [{name}]({directory}/README.md)");
    }
    text.push('\n');
    for sentence in &about.remarks {
        let _ = write!(text, "{}\n\n", folded(&plain::markdown(sentence)));
    }
    let _ = write!(text, "```sh\n{}\n```\n\n", plain::line(&about.command));
    best(&mut text, placed, about);
    crossovers(&mut text, placed);
    against_bound(&mut text, placed);
    against_first(&mut text, placed);
    text
}

/// A table with a column for each placement and a row for each of these, as far as some placement has something to say.
fn table<R>(
    text: &mut String,
    placed: &[Placed],
    heads: &[&str],
    rows: &[R],
    first: impl Fn(&R) -> Vec<String>,
    entry: impl Fn(&R, &Study) -> Option<String>,
) {
    let heads: Vec<&str> = heads.iter().copied().chain(placed.iter().map(|placed| placed.name.as_str())).collect();
    let row = |row: &R| {
        let entries: Vec<Option<String>> = placed.iter().map(|placed| entry(row, &placed.study)).collect();
        let has_any = entries.iter().any(Option::is_some);
        let entries = entries.into_iter().map(|it| it.unwrap_or_else(|| "-".to_owned()));
        has_any.then(|| first(row).into_iter().chain(entries).collect::<Vec<_>>())
    };
    let _ = writeln!(text, "{}", plain::table(&heads, &[], rows.iter().filter_map(row)));
}

/// Each collective with its communicator sizes.
fn places(placed: &[Placed]) -> Vec<(Collective, Ranks)> {
    let mut places: Vec<(Collective, Ranks)> = Vec::new();
    for study in placed.iter().map(|placed| &placed.study) {
        for collective in collectives(study) {
            let own = study.cells.iter().map(|cell| cell.cell).filter(|cell| cell.collective == collective);
            for place in own.map(|cell| (collective, cell.ranks)) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
    }
    places
}

fn vector((collective, ranks): (Collective, Ranks), bytes: Bytes) -> Bytes {
    Cell { collective, ranks, bytes }.vector()
}

fn best(text: &mut String, placed: &[Placed], about: &Placements) {
    if placed.iter().all(|placed| placed.study.classes.is_empty()) {
        return;
    }
    let what = "The best of the builtin and the two reference algorithms by the geometric mean of times over all message sizes, \
                with those that cannot be told apart from it; then the same below and above the size of the whole vector where \
                short gives way to long. In brackets, whether that is what was claimed.";
    let _ = write!(text, "## Best class by placement\n\n{}\n\n", folded(what));
    let entry = |place: &(Collective, Ranks), study: &Study| {
        let own: Vec<&ClassVerdict> =
            study.classes.iter().filter(|verdict| (verdict.collective, verdict.ranks) == *place).collect();
        let (whole, parts) = own.split_first()?;
        let claim = about.claims.get(&place.0);
        let answer = claim.map_or(String::new(), |claim| format!(" ({})", answer(claim, &whole.best)));
        let part = |verdict: &&ClassVerdict| {
            let (first, last) = (vector(*place, verdict.sizes.0), vector(*place, verdict.sizes.1));
            format!("; {first} to {last}: {}", listed(study, place.0, &verdict.best))
        };
        let parts: String = parts.iter().map(part).collect();
        Some(format!("{}{answer}{parts}", listed(study, place.0, &whole.best)))
    };
    let first = |(collective, ranks): &(Collective, Ranks)| {
        let claim = about.claims.get(collective).zip(placed.first());
        let claim = claim.map_or("-".to_owned(), |(claim, placed)| listed(&placed.study, *collective, claim));
        vec![collective.to_string(), ranks.to_string(), claim]
    };
    table(text, placed, &["collective", "ranks", "claimed"], &places(placed), first, entry);
}

fn crossovers(text: &mut String, placed: &[Placed]) {
    let [short, long] = Reference::ALL.map(Candidate::Reference);
    let found = |place: &(Collective, Ranks), study: &Study| -> Option<String> {
        let of = |it: &&Rivalry| (it.collective, it.ranks, it.one, it.other) == (place.0, place.1, short, long);
        let rivalry = study.rivalries.iter().find(of)?;
        let crossing = rivalry.crossings.iter().map(|crossing| {
            let (low, high) = crossing.interval;
            format!("{} ({} to {})", vector(*place, crossing.at), vector(*place, low), vector(*place, high))
        });
        let measured = match (rivalry.first, rivalry.crossings.is_empty()) {
            (None, _) => "cannot be told apart".to_owned(),
            (Some(first), true) => format!("never: {}", super::names::name(study, place.0, first)),
            _ => crossing.collect::<Vec<_>>().join("; "),
        };
        let predicted = match rivalry.predicted {
            Some(bytes) => format!("; model {}", vector(*place, bytes)),
            None if study.patterns.is_empty() => String::new(),
            None => "; model never".to_owned(),
        };
        Some(measured + &predicted)
    };
    if places(placed).iter().all(|place| placed.iter().all(|placed| found(place, &placed.study).is_none())) {
        return;
    }
    let what = "Where short gives way to long, in bytes of the whole vector, with the sizes between which it may lie, and where \
                the model has it. Never means: within the sizes measured, and the faster one is named.";
    let _ = write!(text, "## Short against long by placement\n\n{}\n\n", folded(what));
    let first = |(collective, ranks): &(Collective, Ranks)| vec![collective.to_string(), ranks.to_string()];
    table(text, placed, &["collective", "ranks"], &places(placed), first, found);
}

/// A cell's seconds over its bound.
fn over_bound(cell: &StudyCell, seconds: f64) -> Option<f64> {
    cell.bound.filter(|bound| bound.point > 0.0).map(|bound| seconds / bound.point)
}

fn cells(study: &Study, place: (Collective, Ranks)) -> impl Iterator<Item = &StudyCell> {
    study.cells.iter().filter(move |cell| (cell.cell.collective, cell.cell.ranks) == place)
}

/// The one of these candidates with the least geometric mean of its times over the bound, over the cells that have one.
fn nearest(study: &Study, place: (Collective, Ranks), of: impl Fn(&Candidate) -> bool) -> Option<(Candidate, f64)> {
    let mean = |candidate: Candidate| {
        let over = |cell: &StudyCell| {
            let point = cell.points.iter().find(|point| point.candidate == candidate)?;
            over_bound(cell, point.time.point)
        };
        let ratios: Option<Vec<f64>> = cells(study, place).map(over).collect();
        Some((candidate, geometric_mean(ratios?)?))
    };
    let candidates = super::names::candidates(study, place.0).into_iter().filter(of);
    candidates.filter_map(mean).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// So many times the bound is far from it.
const FAR: f64 = 2.0;

/// The whole vectors at which even the fastest candidate is far from the bound, in rows of neighbouring sizes.
fn far(study: &Study, place: (Collective, Ranks)) -> String {
    let best = |cell: &StudyCell| cell.points.iter().map(|point| point.time.point).fold(f64::INFINITY, f64::min);
    let marks: Vec<(Bytes, bool)> = cells(study, place)
        .filter_map(|cell| Some((cell.cell.vector(), over_bound(cell, best(cell))? > FAR)))
        .collect();
    let rows = marks.chunk_by(|a, b| a.1 == b.1).filter(|row| row[0].1);
    let told: Vec<String> = rows
        .map(|row| match row {
            [(one, _)] => one.to_string(),
            [(first, _), .., (last, _)] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect();
    if told.is_empty() { "nowhere".to_owned() } else { told.join(", ") }
}

fn against_bound(text: &mut String, placed: &[Placed]) {
    let told = |study: &Study, place: &(Collective, Ranks), found: Option<(Candidate, f64)>| {
        found.map(|(candidate, factor)| format!("{} {factor:.2}", super::names::name(study, place.0, candidate)))
    };
    let of_all = |place: &(Collective, Ranks), study: &Study| told(study, place, nearest(study, *place, |_| true));
    let of_tuned = |place: &(Collective, Ranks), study: &Study| {
        told(study, place, nearest(study, *place, |candidate| matches!(candidate, Candidate::Tuned(_))))
    };
    let of_far = |place: &(Collective, Ranks), study: &Study| of_all(place, study).map(|_| far(study, *place));
    if places(placed).iter().all(|place| placed.iter().all(|placed| of_all(place, &placed.study).is_none())) {
        return;
    }
    let first = |(collective, ranks): &(Collective, Ranks)| vec![collective.to_string(), ranks.to_string()];
    let heads = ["collective", "ranks"];
    let what = "The candidate that comes nearest to the bound, with the geometric mean of its times over the bound over all \
                message sizes. The bound takes what a message costs between nodes there.";
    let _ = write!(text, "## Nearest to the bound\n\n{}\n\n", folded(what));
    table(text, placed, &heads, &places(placed), first, of_all);
    let _ = write!(text, "The same of the algorithms of coll/tuned that were compared.\n\n");
    table(text, placed, &heads, &places(placed), first, of_tuned);
    let what = "Whole vectors at which even the fastest candidate takes more than twice the bound.";
    let _ = write!(text, "{}\n\n", folded(what));
    table(text, placed, &heads, &places(placed), first, of_far);
}

fn against_first(text: &mut String, placed: &[Placed]) {
    let Some(base) = placed.first().filter(|_| placed.len() > 1) else { return };
    let what = format!(
        "The builtin's time on each placement over that on {}, as the geometric mean over message sizes. These are times of \
         different campaigns.",
        base.name
    );
    let _ = write!(text, "## What the placement costs\n\n{}\n\n", folded(&what));
    let builtin = |study: &Study, cell: Cell| {
        let cell = study.cells.iter().find(|other| other.cell == cell)?;
        cell.points.iter().find(|point| point.candidate == Candidate::Builtin).map(|point| point.time.point)
    };
    let entry = |place: &(Collective, Ranks), study: &Study| {
        let own = study.cells.iter().filter(|cell| (cell.cell.collective, cell.cell.ranks) == *place);
        let ratios = own.filter_map(|cell| Some(builtin(study, cell.cell)? / builtin(&base.study, cell.cell)?));
        geometric_mean(ratios).map(|ratio| format!("{ratio:.2}"))
    };
    let first = |(collective, ranks): &(Collective, Ranks)| vec![collective.to_string(), ranks.to_string()];
    table(text, placed, &["collective", "ranks"], &places(placed), first, entry);
}
