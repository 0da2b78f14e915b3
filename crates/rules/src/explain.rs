//! Explains how each version treats a call or a whole file, and why; versions that agree are grouped.

use serde::Serialize;

use crate::behaviour::Behaviour;
use crate::call::Call;
use crate::collective::Collective;
use crate::diff::{self, ByteRange};
use crate::effective::{Effective, EffectiveAlgorithm, effective};
use crate::file::{Fault, Loaded};
use crate::han::{self, HanFile, Level};
use crate::hazard::RankRange;
use crate::kind::{Key, Part, RuleChoice, Rules};
use crate::lines::{Excerpt, Lines, plain};
use crate::metric::{self, Metric};
use crate::registry;
use crate::release::Release;
use crate::table::StepTable;
use crate::units::Ranks;

/// Versions that give the same answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionGroup<T> {
    /// The versions, in the order in which they were asked.
    #[serde(rename = "releases")]
    pub versions: Vec<Behaviour>,
    /// Answer of these versions.
    #[serde(flatten)]
    pub answer: T,
}

/// Outcome of reading a file, with an answer if the version accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "file", rename_all = "lowercase")]
pub enum Answer<T> {
    /// The whole file is silently ignored.
    Rejected {
        /// Place at which reading ends.
        at: Excerpt,
        /// Reason for the rejection.
        why: String,
    },
    /// `MPI_Init` crashes.
    Crashes {
        /// Place at which reading ends.
        at: Excerpt,
        /// Reason for the crash.
        why: String,
    },
    /// It is active.
    Accepted(T),
}

/// The rule that decides a call, and the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The size that is looked up.
    pub lookup_bytes: u64,
    /// The rule that decides; if no message rule does, the communicator rule that was searched.
    pub place: Option<Excerpt>,
    /// Reason why this rule decides, or none does.
    pub because: String,
    /// Choice of the rule.
    pub choice: RuleChoice,
    /// Choice of the rule in words.
    pub said: String,
    /// Outcome of the call.
    #[serde(rename = "outcome")]
    pub end: End,
    /// Algorithm that runs in the end, or component that carries out the call, in words.
    pub runs: String,
    /// Reasons why the effect differs from the rule's choice.
    pub reasons: Vec<String>,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Open MPI's built-in decision applies, or HAN's parameters.
    Builtin,
    /// A component carries out the call, by a rule of HAN.
    Component,
    /// An algorithm of the release runs.
    Algorithm,
    /// An implementation runs that no rule can name.
    Instead,
    /// It fails with an MPI error on every rank.
    Error,
    /// It never returns.
    Endless,
    /// It crashes.
    Crash,
    /// It returns a wrong result.
    Wrong,
    /// It returns before any rule is looked up, as there is nothing to do.
    Nothing,
}

/// The choices of a whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// The choices, by calls.
    pub rules: Vec<ChoiceRange>,
}

/// Choice of a file for a range of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChoiceRange {
    /// The collective.
    pub collective: Collective,
    /// The part of its calls.
    #[serde(flatten)]
    pub part: Part,
    /// The communicator sizes.
    pub ranks: RankRange,
    /// The sizes that are looked up.
    pub lookup: ByteRange,
    /// The message sizes with these lookup bytes.
    pub message: MessageSizes,
    /// The choice.
    pub choice: RuleChoice,
    /// The choice in words.
    pub said: String,
}

/// Message sizes behind lookup bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageSizes {
    /// Message sizes equal lookup bytes.
    Same,
    /// The bytes that each rank passes.
    #[serde(rename = "blocks")]
    PerRank(ByteRange),
    /// The lookup bytes divided by the number of ranks, which varies here.
    OverRanks,
    /// The lookup bytes are the ranks times the size of the datatype, whatever the count.
    CountFree,
    /// The lookup has no size.
    None,
}

impl<T> VersionGroup<T> {
    /// The versions in words: `every release of Open MPI`, or `Open MPI` with families and parts of them.
    pub fn label(&self) -> String {
        label(&self.versions)
    }
}

/// Versions in words: `every release of Open MPI`, or `Open MPI` with families and parts of them.
pub fn label(versions: &[Behaviour]) -> String {
    let names = |list: &[Behaviour]| list.iter().map(Behaviour::name).collect::<Vec<_>>();
    let (asked, all) = (names(versions), Behaviour::distinct());
    if names(&all).iter().all(|name| asked.contains(name)) {
        return "every release of Open MPI".to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for version in versions {
        let family = all.iter().filter(|other| other.release == version.release);
        let whole = family.into_iter().all(|other| asked.contains(&other.name()));
        let part = if whole { version.release.name() } else { version.name() };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    format!("Open MPI {}", parts.join(", "))
}

/// Joins equal answers, each at the place of the first version that gives it.
pub fn group<T: PartialEq>(answers: impl IntoIterator<Item = (Behaviour, T)>) -> Vec<VersionGroup<T>> {
    let mut groups: Vec<VersionGroup<T>> = Vec::new();
    for (version, answer) in answers {
        match groups.iter_mut().find(|group| group.answer == answer) {
            Some(group) => group.versions.push(version),
            None => groups.push(VersionGroup { versions: vec![version], answer }),
        }
    }
    groups
}

/// Explains which rule decides a call and what the call then runs, given how a version reads the file. HAN's rules are
/// those for a topology level.
pub fn call(load: &Result<Rules, Fault>, lines: &Lines<'_>, call: &Call, level: Level) -> Answer<Explanation> {
    answer(load, lines, |rules| match rules {
        Rules::Tuned(loaded) => of_tuned(loaded, lines, call),
        Rules::Han(file) => of_han(file, lines, call, level),
    })
}

fn of_tuned(loaded: &Loaded, lines: &Lines<'_>, call: &Call) -> Explanation {
    let lookup = loaded.lookup(call);
    let release = loaded.behaviour.release;
    let ends = effective(release, call.collective, lookup.choice, call);
    let (end, runs) = in_words(&ends, call);
    let choice = RuleChoice::from(lookup.choice);
    // What the outcome says by itself is not said twice.
    let plain = ends.algorithm == EffectiveAlgorithm::Builtin && lookup.choice.is_builtin() && call.ranks.0 > 1;
    let mut reasons = if plain { Vec::new() } else { ends.reasons };
    let elements = metric::overflow(release, call.collective, call.ranks, call.message, call.type_size);
    reasons.extend(elements.filter(|_| !call.is_ignored()).map(|elements| {
        format!("up to 5.0 elements are counted in a C int, which {elements} overflow: hence the size looked up")
    }));
    Explanation {
        lookup_bytes: lookup.lookup_bytes,
        place: lookup.place().map(|span| lines.excerpt(span)),
        because: lookup.reason.to_string(),
        choice,
        said: choice.words(release, call.collective),
        end,
        runs,
        reasons,
    }
}

fn of_han(file: &HanFile, lines: &Lines<'_>, call: &Call, level: Level) -> Explanation {
    let Call { collective, ranks, message, .. } = *call;
    let lookup = file.lookup(collective, level, ranks.0, han::lookup_bytes(collective, message.0));
    let choice = RuleChoice::from(lookup.choice);
    Explanation {
        lookup_bytes: lookup.lookup_bytes,
        place: lookup.place().map(|span| lines.excerpt(span)),
        because: lookup.reason.to_string(),
        choice,
        said: choice.words(file.behaviour.release, collective),
        end: if lookup.choice.is_some() { End::Component } else { End::Builtin },
        runs: han::runs(collective, level, lookup.choice),
        reasons: Vec::new(),
    }
}

/// Lists the choices of a whole file by collective, communicator sizes and lookup bytes, except for impossible calls.
pub fn contents(load: &Result<Rules, Fault>, lines: &Lines<'_>) -> Answer<Contents> {
    answer(load, lines, |rules| {
        let ranges = match rules {
            Rules::Han(file) => ranges(file.behaviour.release, &file.to_table()),
            Rules::Tuned(loaded) => {
                let of = |(distribution, table)| {
                    let part = Part::Distribution(distribution);
                    let ranges = ranges(loaded.behaviour.release, &table).into_iter();
                    ranges.map(move |range| ChoiceRange { part, ..range })
                };
                diff::meanings(loaded).into_iter().flat_map(of).collect()
            }
        };
        Contents { rules: ranges }
    })
}

/// Returns the answer of a version that accepts the file, or the reason why it does not use it.
fn answer<T>(load: &Result<Rules, Fault>, lines: &Lines<'_>, accepted: impl FnOnce(&Rules) -> T) -> Answer<T> {
    match load {
        Ok(loaded) => Answer::Accepted(accepted(loaded)),
        Err(crash) if crash.kind.crashes() => {
            Answer::Crashes { at: lines.excerpt(crash.span), why: plain(&crash.to_string()) }
        }
        Err(rejection) => {
            let json = rejection.not_json.as_ref().map(|error| format!("; as JSON: {error}")).unwrap_or_default();
            Answer::Rejected { at: lines.excerpt(rejection.span), why: plain(&format!("{rejection}{json}")) }
        }
    }
}

fn in_words(ends: &Effective, call: &Call) -> (End, String) {
    if call.is_empty() && call.ranks.0 > 1 {
        let runs = "nothing: without data, MPI returns before it asks coll/tuned, so no rule is looked up";
        return (End::Nothing, runs.to_owned());
    }
    match ends.algorithm {
        EffectiveAlgorithm::Algorithm(algorithm) if !call.commutative && algorithm.reorders => {
            let words = registry::words(Some(algorithm), ends.choice);
            let why = "it reorders operands, and this operation does not commute";
            (End::Wrong, format!("{words}, with a WRONG RESULT: {why}"))
        }
        EffectiveAlgorithm::Builtin => (End::Builtin, "Open MPI's own decision".to_owned()),
        EffectiveAlgorithm::Algorithm(algorithm) => (End::Algorithm, registry::words(Some(algorithm), ends.choice)),
        EffectiveAlgorithm::Instead(what) => (End::Instead, what.to_owned()),
        EffectiveAlgorithm::Error(class) => {
            (End::Error, format!("nothing: the call fails with {} on every rank", class.name()))
        }
        EffectiveAlgorithm::Endless => (End::Endless, "the call never returns".to_owned()),
        EffectiveAlgorithm::Crash => (End::Crash, "the call crashes".to_owned()),
    }
}

fn ranges<K: Key, V>(release: Release, table: &StepTable<K, V>) -> Vec<ChoiceRange>
where
    V: Copy + Default + PartialEq + Into<RuleChoice>,
{
    let mut ranges = Vec::new();
    for (key, blocks) in table.collectives() {
        let (collective, part) = key.calls();
        for (first, end, sizes) in blocks.iter().filter(|(_, end, _)| end.is_none_or(|end| end > 2)) {
            let ranks = RankRange { first, end };
            for (first, end, choice) in sizes.iter() {
                let lookup = ByteRange { first, end };
                let message = message_sizes(release, collective, part, ranks, lookup);
                if first > 0 && message == MessageSizes::None {
                    break;
                }
                let choice: RuleChoice = (*choice).into();
                let said = choice.words(release, collective);
                ranges.push(ChoiceRange { collective, part, ranks, lookup, message, choice, said });
            }
        }
    }
    ranges
}

fn message_sizes(
    release: Release,
    collective: Collective,
    part: Part,
    ranks: RankRange,
    lookup: ByteRange,
) -> MessageSizes {
    let metric = match part {
        Part::Distribution(_) => metric::metric(release, collective, Ranks(2)),
        Part::Level(_) if collective.has_sizes() => Metric::Times(1),
        Part::Level(_) => Metric::None,
    };
    match metric {
        Metric::None => MessageSizes::None,
        Metric::CountFree => MessageSizes::CountFree,
        Metric::Times(1) => MessageSizes::Same,
        Metric::Times(_) if ranks.end == Some(ranks.first + 1) => {
            let per_rank = |bytes: u64| bytes.div_ceil(ranks.first);
            MessageSizes::PerRank(ByteRange { first: per_rank(lookup.first), end: lookup.end.map(per_rank) })
        }
        Metric::Times(_) => MessageSizes::OverRanks,
    }
}

#[cfg(test)]
mod tests;
