//! One study in several variants: the best algorithms, crossovers from short to long, and the cost of each variant.

use std::collections::BTreeMap;

use collrules_lab::study::results::{CostRatio, Study, StudyCell};
use collrules_record::estimate::geometric_mean;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use super::names::{candidates, name};
use super::references::{NamedStudy, classes, crossovers, table};
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
    pub claims: BTreeMap<Collective, Vec<Candidate>>,
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
    let studies: Vec<NamedStudy<'_>> = compared.iter().map(|it| (it.name.as_str(), &it.study)).collect();
    if compared.iter().any(|it| !it.study.rivalries.is_empty()) {
        let is_reference = |candidate| matches!(candidate, Candidate::Reference(_));
        blocks.push(classes(&studies, &about.claims));
        blocks.push(crossovers(&studies, |it| is_reference(it.one) && is_reference(it.other)));
        blocks.push(nearest(&studies));
    }
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
    let digits = |value: f64| format!("{value:.2}");
    let ends = if ratio.low.is_some() { ends(*ratio, digits) } else { " (no interval)".to_owned() };
    digits(ratio.point) + &ends
}

/// The cost of each variant over the first.
fn costs(compared: &[StudyVariant], about: &Variants) -> Block {
    let title = format!("Cost of the {}", about.varying.noun());
    let Some((base, others)) = compared.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Block::part("", title, Vec::new());
    };
    let what = format!(
        "Times divided by those of {}: the geometric mean over message sizes, with an interval over pairs of launches, and \
         the default at each size. All intervals of means, and all of sizes, hold together with a confidence of {}.",
        base.name,
        whole(base.study.level),
    );
    let mut all: Vec<(&StudyVariant, &CostRatio)> =
        others.iter().flat_map(|it| it.costs.iter().map(move |cost| (it, cost))).collect();
    all.retain(|(_, cost)| cost.bytes.is_none() || cost.collective.has_sizes());
    all.sort_by_key(|(_, cost)| (cost.collective, cost.ranks, cost.candidate, cost.bytes));
    let rows = all.into_iter().map(|(it, cost)| {
        [
            cost.collective.to_string(),
            cost.ranks.to_string(),
            name(&it.study, cost.collective, cost.candidate),
            cost.bytes.map_or("all".to_owned(), |bytes| bytes.to_string()),
            it.name.clone(),
            ratio(&cost.ratio),
        ]
    });
    let heads = ["collective", "ranks:", "algorithm", "message:", about.varying.noun(), "times as long:"];
    Block::part("", title, vec![Block::Table(Table::new(heads, rows).about(&what))])
}

/// The algorithm of each collective with the least geometric mean of its times over the bound, over the asked sizes.
fn nearest(studies: &[NamedStudy<'_>]) -> Block {
    let what = "The algorithm nearest to the lower bound, with its time divided by the bound (geometric mean over all \
                message sizes). The bound uses the cost of a message between nodes.";
    let rows = |study: &Study| {
        let grid: Vec<&StudyCell> = study.grid().collect();
        let groups = grid.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks));
        let row = |cells: &[&StudyCell]| {
            let Cell { collective, ranks, .. } = cells[0].cell;
            let mean = |candidate: Candidate| {
                let over = |cell: &&StudyCell| {
                    let point = cell.points.iter().find(|point| point.candidate == candidate)?;
                    Some(point.time.point / cell.bound.filter(|bound| bound.point > 0.0)?.point)
                };
                let ratios: Option<Vec<f64>> = cells.iter().map(over).collect();
                Some((candidate, geometric_mean(ratios?)?))
            };
            let all = candidates(study, collective).into_iter().filter_map(mean);
            let (candidate, over) = all.min_by(|a, b| a.1.total_cmp(&b.1))?;
            Some([collective.to_string(), ranks.to_string(), name(study, collective, candidate), format!("{over:.2}")])
        };
        groups.filter_map(row).collect()
    };
    let heads = ["collective", "ranks:", "algorithm", "over the bound:"];
    Block::part("", "Nearest to the bound", vec![table(studies, heads, what, rows)])
}
