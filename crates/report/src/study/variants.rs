//! One study in several variants: the best algorithms, crossovers from short to long, and the cost of each variant.

use std::collections::BTreeSet;

use collrules_lab::study::results::{ClassVerdict, CostRatio, Rivalry, Study, StudyCell};
use collrules_program::Reference;
use collrules_record::estimate::geometric_mean;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Estimate};
use collrules_rules::Collective;

use super::references::{answer, list_candidates, vector};
use crate::document::{Block, Document, Table};
use crate::facts::describe_failed_default;
use crate::words::{ends, whole};

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

/// The variants next to each other.
pub fn variants(compared: &[StudyVariant], about: &Variants) -> Document {
    let prose = |texts: Vec<String>| texts.into_iter().map(Block::Prose);
    let link = |StudyVariant { name, directory, .. }: &StudyVariant| format!("[{name}]({directory}/README.md)");
    let mut blocks = vec![Block::prose(about.question.trim())];
    blocks.extend(prose(answers(compared, about)));
    blocks.extend((compared.len() > 1).then(|| Block::Prose(campaigns(about))));
    blocks.push(Block::List(compared.iter().map(link).collect()));
    blocks.extend(prose(about.remarks.clone()));
    blocks.push(Block::Commands(vec![about.command.clone()]));
    blocks.push(costs(compared, about));
    blocks.push(best(compared, about));
    blocks.push(crossovers(compared, about));
    blocks.push(Block::part("", "Nearest to the bound", against_bound(compared)));
    Document { subject: about.title.trim().to_owned(), blocks, ..Document::default() }
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
    let wrong =
        |it: &StudyVariant| Some(format!("{}: {}", it.name, describe_failed_default(&it.study.failed_defaults())?));
    let mut answers: Vec<String> = compared.iter().filter_map(wrong).chain(others.iter().map(answer)).collect();
    if !others.is_empty() && !about.took_turns {
        answers.push("These campaigns ran one after the other: if the machine changes, they differ.".to_owned());
    }
    answers
}

/// Describes the cost of a collective in the mean over sizes or, if that is not shown, at the size with the largest
/// shown difference; none if no difference is shown.
fn difference(costs: &[&CostRatio], place: Place) -> Option<String> {
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
    let digits = |value: f64| format!("{value:.2}");
    let ends = if ratio.low.is_some() { ends(*ratio, digits) } else { " (no interval)".to_owned() };
    digits(ratio.point) + &ends
}

/// A collective, its ranks, a candidate and a message size; none for the mean over sizes.
type CostKey = (Collective, Ranks, Candidate, Option<Bytes>);

/// The cost of each variant over the first.
fn costs(compared: &[StudyVariant], about: &Variants) -> Block {
    let title = format!("Cost of the {}", about.varying.noun());
    let Some((base, others)) = compared.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Block::part("", title, Vec::new());
    };
    let what = format!(
        "Times divided by those of {}: the geometric mean over message sizes, with an interval over pairs of launches; \
         then the default at each size. All intervals of a table hold together with a confidence of {}.",
        base.name,
        whole(base.study.level),
    );
    let key = |cost: &CostRatio| (cost.collective, cost.ranks, cost.candidate, cost.bytes);
    let rows: BTreeSet<CostKey> = others.iter().flat_map(|it| &it.costs).map(key).collect();
    let find = |it: &StudyVariant, row: &CostKey| {
        it.costs.iter().find(|cost| key(cost) == *row).map(|cost| ratio(&cost.ratio))
    };
    let entries = |row: &CostKey| -> Vec<String> {
        others.iter().map(|it| find(it, row).unwrap_or_else(|| "-".to_owned())).collect()
    };
    let mean = |row: &CostKey| {
        let name = super::names::name(&base.study, row.0, row.2);
        [row.0.to_string(), row.1.to_string(), name].into_iter().chain(entries(row)).collect::<Vec<_>>()
    };
    let single = |row: &CostKey| {
        let bytes = row.3.filter(|_| row.2 == Candidate::Builtin && row.0.has_sizes())?;
        Some(
            [row.0.to_string(), row.1.to_string(), bytes.to_string()]
                .into_iter()
                .chain(entries(row))
                .collect::<Vec<_>>(),
        )
    };
    let heads = |third: &'static str| {
        ["collective", "ranks", third].into_iter().chain(others.iter().map(|it| it.name.as_str()))
    };
    let means = Table::new(heads("algorithm"), rows.iter().filter(|row| row.3.is_none()).map(mean)).about(&what);
    let singles = Block::table(heads("default at"), rows.iter().filter_map(single));
    Block::part("", title, vec![Block::Table(means), singles])
}

/// A table with a column for each variant and a row for each place with a value in some variant, which begins with
/// `first`.
fn table(
    compared: &[StudyVariant],
    heads: &[&str],
    what: &str,
    first: impl Fn(&Place) -> Vec<String>,
    entry: impl Fn(&Place, &Study) -> Option<String>,
) -> Block {
    let row = |place: &Place| {
        let entries: Vec<Option<String>> = compared.iter().map(|it| entry(place, &it.study)).collect();
        let has_any = entries.iter().any(Option::is_some);
        let entries = entries.into_iter().map(|it| it.unwrap_or_else(|| "-".to_owned()));
        has_any.then(|| first(place).into_iter().chain(entries).collect::<Vec<_>>())
    };
    let heads = heads.iter().copied().chain(compared.iter().map(|it| it.name.as_str()));
    Block::Table(Table::new(heads, places(compared).iter().filter_map(row)).about(what))
}

/// The first columns of a place.
fn describe_place((collective, ranks): &Place) -> Vec<String> {
    vec![collective.to_string(), ranks.to_string()]
}

/// A collective on a number of ranks.
type Place = (Collective, Ranks);

/// The collectives with their communicator sizes.
fn places(compared: &[StudyVariant]) -> BTreeSet<Place> {
    let cells = compared.iter().flat_map(|it| &it.study.cells);
    cells.map(|cell| (cell.cell.collective, cell.cell.ranks)).collect()
}

fn best(compared: &[StudyVariant], about: &Variants) -> Block {
    let what = "The best of the default and the two reference algorithms by the geometric mean of times over all \
                message sizes, with those that do not differ from it significantly; then the same below and above the \
                crossover from short to long. In brackets, whether the claim holds.";
    let entry = |place: &Place, study: &Study| {
        let own: Vec<&ClassVerdict> =
            study.classes.iter().filter(|verdict| (verdict.collective, verdict.ranks) == *place).collect();
        let (whole, parts) = own.split_first()?;
        let claim = about.claims.get(&place.0);
        let answer = claim.map_or(String::new(), |claim| format!(" ({})", answer(claim, &whole.best)));
        let part = |verdict: &&ClassVerdict| {
            let (first, last) = (vector(place.0, place.1, verdict.sizes.0), vector(place.0, place.1, verdict.sizes.1));
            format!("; {first} to {last}: {}", list_candidates(study, place.0, &verdict.best))
        };
        let parts: String = parts.iter().map(part).collect();
        Some(format!("{}{answer}{parts}", list_candidates(study, place.0, &whole.best)))
    };
    let first = |(collective, ranks): &Place| {
        let claim = about.claims.get(collective).zip(compared.first());
        let claim = claim.map_or("-".to_owned(), |(claim, first)| list_candidates(&first.study, *collective, claim));
        vec![collective.to_string(), ranks.to_string(), claim]
    };
    let table = table(compared, &["collective", "ranks", "claimed"], what, first, entry);
    Block::part("", format!("Best class by {}", about.varying.noun()), vec![table])
}

fn crossovers(compared: &[StudyVariant], about: &Variants) -> Block {
    let [short, long] = Reference::ALL.map(Candidate::Reference);
    let found = |place: &Place, study: &Study| -> Option<String> {
        let of = |it: &&Rivalry| (it.collective, it.ranks, it.one, it.other) == (place.0, place.1, short, long);
        let rivalry = study.rivalries.iter().find(of)?;
        let crossing = rivalry.crossings.iter().map(|crossing| {
            let (low, high) = crossing.interval;
            format!(
                "{} ({} to {})",
                vector(place.0, place.1, crossing.at),
                vector(place.0, place.1, low),
                vector(place.0, place.1, high)
            )
        });
        let measured = match (rivalry.first, rivalry.crossings.is_empty()) {
            (None, _) => "no significant difference".to_owned(),
            (Some(first), true) => format!("never: {}", super::names::name(study, place.0, first)),
            _ => crossing.collect::<Vec<_>>().join("; "),
        };
        let predicted = match rivalry.predicted {
            Some(bytes) => format!("; model {}", vector(place.0, place.1, bytes)),
            None if study.patterns.is_empty() => String::new(),
            None => "; model never".to_owned(),
        };
        Some(measured + &predicted)
    };
    let what = "Crossover from short to long, in bytes of the whole vector, with the sizes between which it may lie, \
                and the model's prediction. Never means: not within the measured sizes; the faster one is named.";
    let table = table(compared, &["collective", "ranks"], what, describe_place, found);
    Block::part("", format!("Short against long by {}", about.varying.noun()), vec![table])
}

/// A cell's seconds over its bound.
fn over_bound(cell: &StudyCell, seconds: f64) -> Option<f64> {
    cell.bound.filter(|bound| bound.point > 0.0).map(|bound| seconds / bound.point)
}

fn cells(study: &Study, place: Place) -> impl Iterator<Item = &StudyCell> {
    study.cells.iter().filter(move |cell| (cell.cell.collective, cell.cell.ranks) == place)
}

/// The candidate with the least geometric mean of its times over the bound, over the cells with a bound.
fn nearest(study: &Study, place: Place, of: impl Fn(&Candidate) -> bool) -> Option<(Candidate, f64)> {
    let mean = |candidate: Candidate| {
        let over = |cell: &StudyCell| {
            let point = cell.points.iter().find(|point| point.candidate == candidate)?;
            over_bound(cell, point.time.point)
        };
        let ratios: Option<Vec<f64>> = cells(study, place).filter(|cell| !cell.added).map(over).collect();
        Some((candidate, geometric_mean(ratios?)?))
    };
    let candidates = super::names::candidates(study, place.0).into_iter().filter(of);
    candidates.filter_map(mean).min_by(|a, b| a.1.total_cmp(&b.1))
}

fn against_bound(compared: &[StudyVariant]) -> Vec<Block> {
    let told = |study: &Study, place: &Place, found: Option<(Candidate, f64)>| {
        found.map(|(candidate, factor)| format!("{} {factor:.2}", super::names::name(study, place.0, candidate)))
    };
    let of_all = |place: &Place, study: &Study| told(study, place, nearest(study, *place, |_| true));
    let of_tuned = |place: &Place, study: &Study| {
        told(study, place, nearest(study, *place, |candidate| matches!(candidate, Candidate::Tuned(_))))
    };
    let heads = ["collective", "ranks"];
    let all = "The algorithm nearest to the lower bound, with its time divided by the bound (geometric mean over all \
               message sizes). The bound uses the cost of a message between nodes.";
    let tuned = "The same for the algorithms of coll/tuned that were compared.";
    vec![table(compared, &heads, all, describe_place, of_all), table(compared, &heads, tuned, describe_place, of_tuned)]
}
