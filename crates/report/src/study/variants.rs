//! One study in several variants: the best algorithms, crossovers from short to long, and the cost of each variant.

use std::fmt::Write;

use collrules_lab::study::results::{ClassVerdict, CostRatio, Rivalry, Study, StudyCell};
use collrules_program::Reference;
use collrules_record::estimate::geometric_mean;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use super::names::collectives;
use super::references::{answer, list_candidates};
use crate::plain;
use crate::words::folded;

/// Difference between the variants of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying {
    /// Placement of the ranks.
    Placement,
    /// The root of the calls.
    Root,
    /// The datatype of reductions.
    Data,
}

impl Varying {
    /// One variant, as a noun.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Placement => "placement",
            Self::Root => "root",
            Self::Data => "datatype",
        }
    }

    /// Several variants, as a noun.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Placement => "placements",
            Self::Root => "roots",
            Self::Data => "datatypes",
        }
    }
}

/// A study in one variant.
#[derive(Clone, Debug)]
pub struct StudyVariant {
    /// The variant, in words.
    pub name: String,
    /// The directory of its study, next to the page.
    pub directory: String,
    /// Study of this variant.
    pub study: Study,
    /// Times of its calls over those of the first variant.
    pub costs: Vec<CostRatio>,
}

/// Contents of the page in addition to the studies.
#[derive(Clone, Debug)]
pub struct Variants {
    /// The difference between them.
    pub varying: Varying,
    /// True if their launches took turns.
    pub took_turns: bool,
    /// The heading.
    pub title: String,
    /// The question, in a paragraph.
    pub question: String,
    /// Remarks for the reader, such as on variants that were left out, in whole sentences.
    pub remarks: Vec<String>,
    /// Command that repeats the study.
    pub command: String,
    /// Best of the builtin and the reference algorithms according to others.
    pub claims: std::collections::BTreeMap<Collective, Vec<Candidate>>,
}

/// The page.
pub fn variants(compared: &[StudyVariant], about: &Variants) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "# {}\n\n", plain::markdown(about.title.trim()));
    let _ = write!(text, "{}\n\n", folded(&plain::markdown(about.question.trim())));
    for answer in answers(compared, about) {
        let _ = write!(text, "{}\n\n", folded(&plain::markdown(&answer)));
    }
    if compared.len() > 1 {
        let _ = write!(text, "{}\n\n", folded(&campaigns(about)));
    }
    for StudyVariant { name, directory, .. } in compared {
        let _ = writeln!(text, "- [{name}]({directory}/README.md)");
    }
    text.push('\n');
    for sentence in &about.remarks {
        let _ = write!(text, "{}\n\n", folded(&plain::markdown(sentence)));
    }
    let _ = write!(text, "```sh\n{}\n```\n\n", plain::line(&about.command));
    costs(&mut text, compared, about);
    best(&mut text, compared, about);
    crossovers(&mut text, compared, about);
    against_bound(&mut text, compared);
    text
}

/// Describes the order of the campaigns.
fn campaigns(about: &Variants) -> String {
    let (one, all) = (about.varying.noun(), about.varying.plural());
    if about.took_turns {
        format!("Each {one} has launches of its own, and the launches of all {all} took turns.")
    } else {
        format!("Each {one} was measured in a campaign of its own, one after the other.")
    }
}

/// Describes the cost of each variant for the default, a sentence each.
pub fn answers(compared: &[StudyVariant], about: &Variants) -> Vec<String> {
    let Some((base, others)) = compared.split_first() else { return Vec::new() };
    let answer = |it: &StudyVariant| {
        let own: Vec<&CostRatio> = it.costs.iter().filter(|cost| cost.candidate == Candidate::Builtin).collect();
        let mut places: Vec<(Collective, Ranks)> = own.iter().map(|cost| (cost.collective, cost.ranks)).collect();
        places.dedup();
        let shown: Vec<String> = places.into_iter().filter_map(|place| difference(&own, place)).collect();
        let shown = match &shown[..] {
            [] if own.iter().all(|cost| cost.ratio.low.is_none()) => "too few launches to tell".to_owned(),
            [] => "no difference is shown".to_owned(),
            shown => shown.join(", "),
        };
        format!("{} against {}, with the default: {shown}.", it.name, base.name)
    };
    let mut answers: Vec<String> = others.iter().map(answer).collect();
    if !answers.is_empty() && !about.took_turns {
        answers.push("These campaigns ran one after the other: if the machine changes, they differ.".to_owned());
    }
    answers
}

/// Describes the cost of a collective in the mean over sizes or, if that is not shown, at the size with the largest
/// shown difference; none if no difference is shown.
fn difference(costs: &[&CostRatio], place: (Collective, Ranks)) -> Option<String> {
    let own = costs.iter().filter(|cost| (cost.collective, cost.ranks) == place);
    let (means, sizes): (Vec<&CostRatio>, Vec<&CostRatio>) =
        own.copied().filter(|cost| cost.is_shown()).partition(|cost| cost.bytes.is_none());
    if let [mean] = means[..] {
        return Some(format!("{} takes {} times as long", place.0, ratio(&mean.ratio)));
    }
    let far = |cost: &&&CostRatio| cost.ratio.point.ln().abs();
    let farthest = sizes.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let bytes = farthest.bytes?;
    Some(format!("{} at {bytes} takes {} times as long", place.0, ratio(&farthest.ratio)))
}

/// A ratio with its interval.
fn ratio(ratio: &Estimate) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{:.2} ({low:.2} to {high:.2})", ratio.point),
        _ => format!("{:.2} (no interval)", ratio.point),
    }
}

/// Writes the cost of each variant over the first.
fn costs(text: &mut String, compared: &[StudyVariant], about: &Variants) {
    let Some((base, others)) = compared.split_first().filter(|(_, others)| !others.is_empty()) else { return };
    let noun = about.varying.noun();
    let what = format!(
        "Times divided by those of {}: the geometric mean over message sizes, with an interval over pairs of launches; \
         then the default at each size. All intervals of a table hold together with a confidence of {:.0} %.",
        base.name,
        100.0 * base.study.level,
    );
    let _ = write!(text, "## Cost of the {noun}\n\n{}\n\n", folded(&what));
    let mut rows: Vec<(Collective, Ranks, Candidate, Option<Bytes>)> = Vec::new();
    for cost in others.iter().flat_map(|it| &it.costs) {
        let row = (cost.collective, cost.ranks, cost.candidate, cost.bytes);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.sort_unstable();
    let find = |it: &StudyVariant, row: &(Collective, Ranks, Candidate, Option<Bytes>)| {
        let of = |cost: &&CostRatio| (cost.collective, cost.ranks, cost.candidate, cost.bytes) == *row;
        it.costs.iter().find(of).map(|cost| ratio(&cost.ratio))
    };
    let mut write = |heads: &[&str], rows: Vec<Vec<String>>| {
        let heads: Vec<&str> = heads.iter().copied().chain(others.iter().map(|it| it.name.as_str())).collect();
        let _ = writeln!(text, "{}", plain::table(&heads, &[], rows.into_iter()));
    };
    let entries = |row: &(Collective, Ranks, Candidate, Option<Bytes>)| -> Vec<String> {
        others.iter().map(|it| find(it, row).unwrap_or_else(|| "-".to_owned())).collect()
    };
    let mean = |row: &(Collective, Ranks, Candidate, Option<Bytes>)| {
        let name = super::names::name(&base.study, row.0, row.2);
        [row.0.to_string(), row.1.to_string(), name].into_iter().chain(entries(row)).collect()
    };
    write(&["collective", "ranks", "algorithm"], rows.iter().filter(|row| row.3.is_none()).map(mean).collect());
    let single = |row: &(Collective, Ranks, Candidate, Option<Bytes>)| {
        let bytes = row.3.filter(|_| row.2 == Candidate::Builtin && row.0.has_sizes())?;
        Some([row.0.to_string(), row.1.to_string(), bytes.to_string()].into_iter().chain(entries(row)).collect())
    };
    let singles: Vec<Vec<String>> = rows.iter().filter_map(single).collect();
    if !singles.is_empty() {
        write(&["collective", "ranks", "default at"], singles);
    }
}

/// A table with a column for each variant and a row for each of `rows` with a value in some variant.
fn table<R>(
    text: &mut String,
    compared: &[StudyVariant],
    heads: &[&str],
    rows: &[R],
    first: impl Fn(&R) -> Vec<String>,
    entry: impl Fn(&R, &Study) -> Option<String>,
) {
    let heads: Vec<&str> = heads.iter().copied().chain(compared.iter().map(|it| it.name.as_str())).collect();
    let row = |row: &R| {
        let entries: Vec<Option<String>> = compared.iter().map(|it| entry(row, &it.study)).collect();
        let has_any = entries.iter().any(Option::is_some);
        let entries = entries.into_iter().map(|it| it.unwrap_or_else(|| "-".to_owned()));
        has_any.then(|| first(row).into_iter().chain(entries).collect::<Vec<_>>())
    };
    let _ = writeln!(text, "{}", plain::table(&heads, &[], rows.iter().filter_map(row)));
}

/// The collectives with their communicator sizes.
fn places(compared: &[StudyVariant]) -> Vec<(Collective, Ranks)> {
    let mut places: Vec<(Collective, Ranks)> = Vec::new();
    for study in compared.iter().map(|it| &it.study) {
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

fn best(text: &mut String, compared: &[StudyVariant], about: &Variants) {
    if compared.iter().all(|it| it.study.classes.is_empty()) {
        return;
    }
    let what = "The best of the default and the two reference algorithms by the geometric mean of times over all \
                message sizes, with those that do not differ from it significantly; then the same below and above the \
                crossover from short to long. In brackets, whether the claim holds.";
    let _ = write!(text, "## Best class by {}\n\n{}\n\n", about.varying.noun(), folded(what));
    let entry = |place: &(Collective, Ranks), study: &Study| {
        let own: Vec<&ClassVerdict> =
            study.classes.iter().filter(|verdict| (verdict.collective, verdict.ranks) == *place).collect();
        let (whole, parts) = own.split_first()?;
        let claim = about.claims.get(&place.0);
        let answer = claim.map_or(String::new(), |claim| format!(" ({})", answer(claim, &whole.best)));
        let part = |verdict: &&ClassVerdict| {
            let (first, last) = (vector(*place, verdict.sizes.0), vector(*place, verdict.sizes.1));
            format!("; {first} to {last}: {}", list_candidates(study, place.0, &verdict.best))
        };
        let parts: String = parts.iter().map(part).collect();
        Some(format!("{}{answer}{parts}", list_candidates(study, place.0, &whole.best)))
    };
    let first = |(collective, ranks): &(Collective, Ranks)| {
        let claim = about.claims.get(collective).zip(compared.first());
        let claim = claim.map_or("-".to_owned(), |(claim, first)| list_candidates(&first.study, *collective, claim));
        vec![collective.to_string(), ranks.to_string(), claim]
    };
    table(text, compared, &["collective", "ranks", "claimed"], &places(compared), first, entry);
}

fn crossovers(text: &mut String, compared: &[StudyVariant], about: &Variants) {
    let [short, long] = Reference::ALL.map(Candidate::Reference);
    let found = |place: &(Collective, Ranks), study: &Study| -> Option<String> {
        let of = |it: &&Rivalry| (it.collective, it.ranks, it.one, it.other) == (place.0, place.1, short, long);
        let rivalry = study.rivalries.iter().find(of)?;
        let crossing = rivalry.crossings.iter().map(|crossing| {
            let (low, high) = crossing.interval;
            format!("{} ({} to {})", vector(*place, crossing.at), vector(*place, low), vector(*place, high))
        });
        let measured = match (rivalry.first, rivalry.crossings.is_empty()) {
            (None, _) => "no significant difference".to_owned(),
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
    if places(compared).iter().all(|place| compared.iter().all(|it| found(place, &it.study).is_none())) {
        return;
    }
    let what = "Crossover from short to long, in bytes of the whole vector, with the sizes between which it may lie, \
                and the model's prediction. Never means: not within the measured sizes; the faster one is named.";
    let _ = write!(text, "## Short against long by {}\n\n{}\n\n", about.varying.noun(), folded(what));
    let first = |(collective, ranks): &(Collective, Ranks)| vec![collective.to_string(), ranks.to_string()];
    table(text, compared, &["collective", "ranks"], &places(compared), first, found);
}

/// A cell's seconds over its bound.
fn over_bound(cell: &StudyCell, seconds: f64) -> Option<f64> {
    cell.bound.filter(|bound| bound.point > 0.0).map(|bound| seconds / bound.point)
}

fn cells(study: &Study, place: (Collective, Ranks)) -> impl Iterator<Item = &StudyCell> {
    study.cells.iter().filter(move |cell| (cell.cell.collective, cell.cell.ranks) == place)
}

/// The candidate with the least geometric mean of its times over the bound, over the cells with a bound.
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

/// Least factor that counts as far from the bound.
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

fn against_bound(text: &mut String, compared: &[StudyVariant]) {
    let told = |study: &Study, place: &(Collective, Ranks), found: Option<(Candidate, f64)>| {
        found.map(|(candidate, factor)| format!("{} {factor:.2}", super::names::name(study, place.0, candidate)))
    };
    let of_all = |place: &(Collective, Ranks), study: &Study| told(study, place, nearest(study, *place, |_| true));
    let of_tuned = |place: &(Collective, Ranks), study: &Study| {
        told(study, place, nearest(study, *place, |candidate| matches!(candidate, Candidate::Tuned(_))))
    };
    let of_far = |place: &(Collective, Ranks), study: &Study| of_all(place, study).map(|_| far(study, *place));
    if places(compared).iter().all(|place| compared.iter().all(|it| of_all(place, &it.study).is_none())) {
        return;
    }
    let first = |(collective, ranks): &(Collective, Ranks)| vec![collective.to_string(), ranks.to_string()];
    let heads = ["collective", "ranks"];
    let what = "The algorithm nearest to the lower bound, with its time divided by the bound (geometric mean over all \
                message sizes). The bound uses the cost of a message between nodes.";
    let _ = write!(text, "## Nearest to the bound\n\n{}\n\n", folded(what));
    table(text, compared, &heads, &places(compared), first, of_all);
    let _ = write!(text, "The same for the algorithms of coll/tuned that were compared.\n\n");
    table(text, compared, &heads, &places(compared), first, of_tuned);
    let what = "Whole vectors at which even the fastest algorithm takes more than twice the bound.";
    let _ = write!(text, "{}\n\n", folded(what));
    table(text, compared, &heads, &places(compared), first, of_far);
}
