//! What each version makes of a HAN file, for people.

use serde::Serialize;

use crate::collective::Collective;
use crate::diff::{ByteRange, both};
use crate::explain::Answer;
use crate::hazard::RankRange;
use crate::lines::{Excerpt, Lines};

use super::model::Loaded;
use super::read::Load;
use super::table::{Table, all_parameters};
use super::vocabulary::{Choice, Component, Level, Service, lookup_bytes, service};

/// How a call is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Served {
    /// The size that HAN looks up, in bytes.
    pub lookup_bytes: u64,
    /// The rule that decides, or where one was looked for.
    pub place: Option<Excerpt>,
    /// Why that.
    pub because: &'static str,
    /// What it says; none where HAN's parameters decide.
    pub choice: Option<Choice>,
    /// Who carries out the call, in words.
    pub runs: String,
}

/// What a file decides for a range of calls; none where HAN's parameters decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The collective.
    pub collective: Collective,
    /// Whose calls.
    pub level: Level,
    /// The sizes of the level's communicator.
    pub ranks: RankRange,
    /// The message sizes, as HAN looks them up.
    pub sizes: ByteRange,
    /// What is chosen.
    pub choice: Option<Choice>,
}

/// What two files decide differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What the left file decides.
    #[serde(flatten)]
    pub left: Decided,
    /// What the right file chooses for the same calls.
    pub right: Option<Choice>,
}

/// A choice in words; HAN's parameters where there is none.
pub fn words(collective: Collective, choice: Option<Choice>) -> String {
    choice.map_or_else(|| "HAN's parameters".to_owned(), |choice| choice.words(collective))
}

/// What a version makes of a file; the other way round, why it is not in force.
pub fn answer<T>(load: &Load, lines: &Lines<'_>, accepted: impl FnOnce(&Loaded) -> T) -> Answer<T> {
    match load {
        Load::Accepted(loaded) => Answer::Accepted(accepted(loaded)),
        Load::Rejected(rejection) => Answer::Rejected { at: lines.excerpt(rejection.span), why: rejection.to_string() },
        Load::Crashes(crash) => Answer::Crashes { at: lines.excerpt(crash.span), why: crash.to_string() },
        Load::NoHan => {
            let nothing = Excerpt { line: 1, text: String::new() };
            Answer::Rejected { at: nothing, why: "this version has no HAN".to_owned() }
        }
    }
}

/// How a call of so many bytes, as the caller passes them, is served.
pub fn call(
    load: &Load,
    lines: &Lines<'_>,
    collective: Collective,
    level: Level,
    ranks: u32,
    message: u64,
) -> Answer<Served> {
    let lookup_bytes = lookup_bytes(collective, message);
    answer(load, lines, |loaded| {
        let (choice, reason) = loaded.lookup(collective, level, ranks, lookup_bytes);
        let runs = match choice {
            None => "what HAN's parameters say: han for programs' communicators, tuned below".to_owned(),
            Some(choice) => match service(collective, level, choice.component) {
                Service::Named(Component::Tuned) => "tuned, by its own rules file where there is one".to_owned(),
                Service::Named(_) => choice.words(collective),
                Service::Next => {
                    format!("the component with the next lower priority, as {choice} cannot", choice = choice.component)
                }
            },
        };
        let place = reason.span().map(|span| lines.excerpt(span));
        Served { lookup_bytes, place, because: reason.words(), choice, runs }
    })
}

/// What a whole file decides, by collective, level, communicator size and message size.
pub fn contents(load: &Load, lines: &Lines<'_>) -> Answer<Vec<Decided>> {
    answer(load, lines, |loaded| {
        let ranges = ranges(&loaded.to_table(), &Table::default());
        ranges.into_iter().map(|(decided, _)| decided).collect()
    })
}

/// What two files decide differently.
pub fn differences(left: &Table, right: &Table) -> Vec<Difference> {
    let found = ranges(left, right).into_iter().filter(|(decided, right)| decided.choice != *right);
    found.map(|(left, right)| Difference { left, right }).collect()
}

/// The ranges on which both tables are constant, for each collective and level of either: what the left one decides, and
/// the right one's choice.
fn ranges(left: &Table, right: &Table) -> Vec<(Decided, Option<Choice>)> {
    let parameters = all_parameters();
    let mut list = Vec::new();
    for (collective, level) in Collective::ALL.into_iter().flat_map(|one| Level::ALL.map(|level| (one, level))) {
        let [left, right] = [left, right].map(|table| table.get(collective, level));
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
                    list.push((Decided { collective, level, ranks, sizes, choice: *choice }, *other));
                }
            }
        }
    }
    list
}
