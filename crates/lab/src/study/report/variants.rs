//! One study in several variants: the best algorithms, crossovers from short to long, and the cost of each variant.

use collrules_record::{Candidate, Estimate};
use collrules_report::document::{Block, Document, Table};
use collrules_report::facts::describe_failed_default;
use collrules_report::words::{interval, whole};

use super::names::name;
use super::page::About;
use super::references::{NamedStudy, parts};
use crate::study::results::{CostRatio, Rivalry, Study};

/// A study in one variant.
#[derive(Clone, Debug)]
pub(in crate::study) struct StudyVariant {
    /// The variant, in words.
    pub name: String,
    /// The directory of its study, next to the page.
    pub directory: String,
    /// Study of this variant.
    pub study: Study,
    /// Times of its calls over those of the first variant.
    pub costs: Vec<CostRatio>,
}

/// The variants next to each other. `noun` is that of one variant, such as `placement`; `took_turns` is true if the
/// launches of all variants did.
pub(in crate::study) fn variants(
    compared: &[StudyVariant],
    noun: &str,
    took_turns: bool,
    about: &About<'_>,
) -> Document {
    let order = (compared.len() > 1).then(|| match took_turns {
        true => format!("Each {noun} has launches of its own, and the launches of all {noun}s took turns."),
        false => format!(
            "Each {noun} was measured in a campaign of its own, one after the other: if the machine changes, they \
             differ."
        ),
    });
    let link = |StudyVariant { name, directory, .. }: &StudyVariant| format!("[{name}]({directory}/README.md)");
    let links = Block::List(compared.iter().map(link).collect());
    let studies: Vec<NamedStudy<'_>> = compared.iter().map(|it| (it.name.as_str(), &it.study)).collect();
    let mut blocks = vec![Block::section("", "Studies", vec![links]), costs(compared, noun)];
    blocks.extend(parts(&studies, &about.definition.claims, Rivalry::is_of_references));
    about.document(compared.iter().any(|it| it.study.simulated), answers(compared), order, blocks)
}

/// Describes the cost of each variant for the default, a sentence each.
fn answers(compared: &[StudyVariant]) -> Vec<String> {
    let Some((base, others)) = compared.split_first() else { return Vec::new() };
    let answer = |it: &StudyVariant| {
        let own: Vec<&CostRatio> = it.costs.iter().filter(|cost| cost.candidate == Candidate::Builtin).collect();
        let of_one = own.chunk_by(|a, b| (a.collective, a.ranks) == (b.collective, b.ranks));
        let shown: Vec<String> = of_one.filter_map(difference).collect();
        let shown = match &shown[..] {
            [] if own.iter().all(|cost| cost.ratio.low.is_none()) => "too few launches to tell".to_owned(),
            [] => "no difference is shown".to_owned(),
            shown => shown.join(", "),
        };
        format!("{} against {}, with the default: {shown}.", it.name, base.name)
    };
    let wrong =
        |it: &StudyVariant| Some(format!("{}: {}", it.name, describe_failed_default(&it.study.failed_defaults())?));
    compared.iter().filter_map(wrong).chain(others.iter().map(answer)).collect()
}

/// Describes the cost of a collective in the mean over sizes or, if that is not shown, at the size with the largest
/// shown difference; none if no difference is shown.
fn difference(costs: &[&CostRatio]) -> Option<String> {
    let far = |cost: &&&CostRatio| (cost.bytes.is_none(), cost.ratio.point.ln().abs());
    let shown = costs.iter().filter(|cost| cost.is_shown());
    let cost = shown.max_by(|a, b| far(a).0.cmp(&far(b).0).then(far(a).1.total_cmp(&far(b).1)))?;
    let at = cost.bytes.map_or(String::new(), |bytes| format!(" at {bytes}"));
    Some(format!("{}{at} takes {} times as long", cost.collective, ratio(cost.ratio)))
}

/// A ratio with its interval.
fn ratio(ratio: Estimate) -> String {
    interval(ratio, 2) + if ratio.low.is_some() { "" } else { " (no interval)" }
}

/// The cost of each variant over the first.
fn costs(compared: &[StudyVariant], noun: &str) -> Block {
    let mut all: Vec<(&StudyVariant, &CostRatio)> =
        compared.iter().skip(1).flat_map(|it| it.costs.iter().map(move |cost| (it, cost))).collect();
    all.retain(|(_, cost)| cost.bytes.is_none() || cost.collective.has_sizes());
    all.sort_by_key(|(_, cost)| (cost.collective, cost.ranks, cost.candidate, cost.bytes));
    let rows = all.into_iter().map(|(it, cost)| {
        [
            cost.collective.to_string(),
            cost.ranks.to_string(),
            name(&it.study, cost.collective, cost.candidate),
            cost.bytes.map_or("all".to_owned(), |bytes| bytes.to_string()),
            it.name.clone(),
            ratio(cost.ratio),
        ]
    });
    let what = compared.first().map_or_else(String::new, |base| {
        format!(
            "Times divided by those of {}. All intervals of means, and all of sizes, hold together with {}.",
            base.name,
            whole(base.study.level),
        )
    });
    let heads = ["collective", "ranks:", "algorithm", "message:", noun, "times as long:"];
    Block::section("", format!("Cost of the {noun}"), vec![Block::Table(Table::new(heads, rows).about(&what))])
}
