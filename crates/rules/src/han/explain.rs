//! Explains, for people, how each version reads a HAN file.

use serde::Serialize;

use crate::collective::Collective;
use crate::diff::{ByteRange, both};
use crate::explain::{Answer, answer};
use crate::file::Load;
use crate::hazard::RankRange;
use crate::lines::{Excerpt, Lines};
use crate::table::all_builtin;

use super::model::HanFile;
use super::table::HanTable;
use super::vocabulary::{ComponentChoice, HanComponent, Level, Service, lookup_bytes, service};

/// The rule that decides a call, and the component that carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HanExplanation {
    /// The size that HAN looks up, in bytes.
    pub lookup_bytes: u64,
    /// The rule that decides, or the place that was searched.
    pub place: Option<Excerpt>,
    /// Reason why this rule decides, or none does.
    pub because: String,
    /// Choice of the rule; none if HAN's parameters decide.
    pub choice: Option<ComponentChoice>,
    /// Component that carries out the call, in words.
    pub runs: String,
}

/// Choice of a file for a range of calls; none if HAN's parameters decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HanChoiceRange {
    /// The collective.
    pub collective: Collective,
    /// Topology level of the calls.
    pub level: Level,
    /// The sizes of the level's communicator.
    pub ranks: RankRange,
    /// The message sizes, as HAN looks them up.
    pub sizes: ByteRange,
    /// The choice.
    pub choice: Option<ComponentChoice>,
}

/// Difference between the choices of two files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HanDifference {
    /// Calls and choice of the left file.
    #[serde(flatten)]
    pub left: HanChoiceRange,
    /// Choice of the right file for the same calls.
    pub right: Option<ComponentChoice>,
}

/// A choice in words, or HAN's parameters if there is none.
pub fn words(collective: Collective, choice: Option<ComponentChoice>) -> String {
    choice.map_or_else(|| "HAN's parameters".to_owned(), |choice| choice.words(collective))
}

/// Explains which rule decides a call of this many bytes, as the caller passes them, and which component carries it
/// out.
pub fn call(
    load: &Load<HanFile>,
    lines: &Lines<'_>,
    collective: Collective,
    level: Level,
    ranks: u32,
    message: u64,
) -> Answer<HanExplanation> {
    let lookup_bytes = lookup_bytes(collective, message);
    answer(load, lines, |loaded| {
        let lookup = loaded.lookup(collective, level, ranks, lookup_bytes);
        let choice = lookup.choice;
        let runs = match choice {
            None => "what HAN's parameters say: han for programs' communicators, tuned below".to_owned(),
            Some(choice) => match service(collective.id(), level, choice.component) {
                Service::Named(HanComponent::Tuned) => "tuned, by its own rules file where there is one".to_owned(),
                Service::Named(_) => choice.words(collective),
                Service::IfRaised(component) => {
                    format!("{component} if coll_{component}_priority is above 0 (default: 0), else tuned")
                }
                Service::Next => {
                    let named = choice.component;
                    format!("the component with the next lower priority, since {named} cannot run it")
                }
            },
        };
        let place = lookup.place().map(|span| lines.excerpt(span));
        HanExplanation { lookup_bytes, place, because: lookup.reason.to_string(), choice, runs }
    })
}

/// Lists the choices of a whole file by collective, level, communicator size and message size.
pub fn contents(load: &Load<HanFile>, lines: &Lines<'_>) -> Answer<Vec<HanChoiceRange>> {
    answer(load, lines, |loaded| {
        let ranges = ranges(&loaded.to_table(), &HanTable::default());
        ranges.into_iter().map(|(decided, _)| decided).collect()
    })
}

/// Lists the differences between two tables.
pub fn differences(left: &HanTable, right: &HanTable) -> Vec<HanDifference> {
    let found = ranges(left, right).into_iter().filter(|(decided, right)| decided.choice != *right);
    found.map(|(left, right)| HanDifference { left, right }).collect()
}

/// The ranges on which both tables are constant, for each collective and level of either, with the choices of both.
fn ranges(left: &HanTable, right: &HanTable) -> Vec<(HanChoiceRange, Option<ComponentChoice>)> {
    let parameters = all_builtin();
    let mut list = Vec::new();
    for (collective, level) in Collective::ALL.into_iter().flat_map(|one| Level::ALL.map(|level| (one, level))) {
        let [left, right] = [left, right].map(|table| table.get((collective, level)));
        if left.is_none() && right.is_none() {
            continue;
        }
        let [left, right] = [left, right].map(|steps| steps.unwrap_or(&parameters));
        // Communicators of one rank do not come here.
        for (first, end, left, right) in both(left, right).filter(|(_, end, ..)| end.is_none_or(|end| end > 2)) {
            let ranks = RankRange { first, end };
            for (first, end, choice, other) in both(left, right) {
                if collective.has_sizes() || first == 0 {
                    let sizes = ByteRange { first, end };
                    list.push((HanChoiceRange { collective, level, ranks, sizes, choice: *choice }, *other));
                }
            }
        }
    }
    list
}
