//! From a rule table to a file that every release reads alike.

use std::collections::BTreeMap;

use super::{ClassicCollective, ClassicCommRule, ClassicFile, ClassicRule};
use crate::choice::Choice;
use crate::collective::Collective;
use crate::hazard::{self, Hazard, RankRange};
use crate::registry::UnknownAlgorithm;
use crate::table::{RankSteps, RuleTable, SizeSteps};

/// Comments for a file that is made from a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Lines at the top.
    pub header: Vec<String>,
    /// Lines above a block of communicator sizes, by the first of its sizes.
    pub blocks: BTreeMap<(Collective, u64), Vec<String>>,
    /// Comment behind a rule, by the first communicator size of its block and its first lookup byte.
    pub rules: BTreeMap<(Collective, u64, u64), String>,
}

/// Why a table is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// It would break programs.
    #[error("the rules are not safe to use: {}", sentences(.0))]
    Hazards(Vec<Hazard>),
    /// A version that the file is for does not read its format.
    #[error("Open MPI {version} does not read {format} rules files; {remedy}")]
    Unreadable {
        /// The versions.
        version: &'static str,
        /// The format.
        format: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A version that the file is for does not have an algorithm, and would fail in the call.
    #[error("{0}")]
    UnknownAlgorithm(UnknownAlgorithm),
    /// Version 1 has no column for it.
    #[error("{collective} {choice} for {ranks} bounds its requests, which a classic file of version 1 cannot say")]
    MaxRequests {
        /// The collective.
        collective: Collective,
        /// The block of communicator sizes.
        ranks: RankRange,
        /// The choice.
        choice: Choice,
    },
    /// A number that Open MPI would truncate.
    #[error("{collective} for {ranks}: {what} {value} is too large for Open MPI; the most is {most}")]
    TooLarge {
        /// The collective.
        collective: Collective,
        /// The block of communicator sizes.
        ranks: RankRange,
        /// What the number counts.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest that is safe.
        most: u64,
    },
}

fn sentences(hazards: &[Hazard]) -> String {
    let sentences: Vec<_> = hazards.iter().map(Hazard::to_string).collect();
    sentences.join(" ")
}

/// The largest C `int`, which holds communicator sizes, algorithms, fan-outs, and segment sizes on their way to use.
pub(super) const INT_MAX: u64 = i32::MAX as u64;

/// The largest C `long`, which message sizes are read as.
pub(super) const LONG_MAX: u64 = i64::MAX as u64;

impl ClassicFile {
    /// The file that means this table to every release. Tables with hazards are refused.
    pub fn from_table(table: &RuleTable, notes: &Notes) -> Result<Self, EmitError> {
        Self::from_table_accepting(table, notes, |_| false)
    }

    /// The same, but hazards that the caller accepts are written.
    pub fn from_table_accepting(
        table: &RuleTable,
        notes: &Notes,
        accepted: impl Fn(&Hazard) -> bool,
    ) -> Result<Self, EmitError> {
        refuse_hazards(table, accepted)?;
        Self::build(table, notes, Layout { version: 1, doubled: true })
    }

    /// The file, whatever its hazards.
    pub(crate) fn build(table: &RuleTable, notes: &Notes, layout: Layout) -> Result<Self, EmitError> {
        let mut file = Self { header: header(notes, layout), collectives: Vec::new() };
        for (collective, blocks) in table.collectives() {
            for (first, end, sizes) in blocks.iter() {
                expressible(collective, RankRange { first, end }, sizes, layout.version > 1)?;
            }
            let sizes = comm_rules(collective, blocks, notes, layout.doubled);
            file.collectives.push(ClassicCollective { id: collective.id(), notes: Vec::new(), sizes });
        }
        Ok(file)
    }
}

/// How a classic file is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// 2 for a version line and a fifth column, else 1.
    pub(crate) version: u32,
    /// Whether boundaries between communicator sizes are listed twice, for 6.0.
    pub(crate) doubled: bool,
}

/// Refuses a table with hazards that are not accepted.
pub(crate) fn refuse_hazards(table: &RuleTable, accepted: impl Fn(&Hazard) -> bool) -> Result<(), EmitError> {
    let hazards: Vec<_> = hazard::check(table).into_iter().filter(|hazard| !accepted(hazard)).collect();
    if hazards.is_empty() { Ok(()) } else { Err(EmitError::Hazards(hazards)) }
}

fn header(notes: &Notes, layout: Layout) -> Vec<String> {
    let title = format!("Rules for Open MPI's coll/tuned, classic format, version {}.", layout.version);
    let rule = [
        "",
        "A rule: message size in bytes from which on it holds, as Open MPI looks it up; algorithm;",
        "fan-in and fan-out; segment size in bytes. Algorithm 0 leaves the decision to Open MPI.",
    ];
    let requests = ["A fifth number bounds the outstanding requests."];
    let doubled = [
        "A size of communicators where the rules change is listed twice: Open MPI up to 5.0 takes it",
        "for the beginning of a rule, 6.0 for the end, and so both read the same.",
    ];
    let single = ["Not for Open MPI 6.0, which would take the sizes of communicators for the ends of ranges."];
    let own = notes.header.iter().map(String::as_str);
    let gap = if notes.header.is_empty() { None } else { Some("") };
    let about_requests = if layout.version > 1 { &requests[..] } else { &[] };
    let about_sizes = if layout.doubled { &doubled[..] } else { &single };
    let fixed = rule.iter().chain(about_requests).chain(about_sizes).copied();
    own.chain(gap).chain([title.as_str()]).chain(fixed).map(str::to_owned).collect()
}

/// Whether a file can say what a block says.
pub(crate) fn expressible(
    collective: Collective,
    ranks: RankRange,
    sizes: &SizeSteps,
    requests: bool,
) -> Result<(), EmitError> {
    let within = |what, value, most| {
        if value <= most { Ok(()) } else { Err(EmitError::TooLarge { collective, ranks, what, value, most }) }
    };
    within("communicator size", ranks.first, INT_MAX)?;
    for (start, _, choice) in sizes.iter() {
        within("message size", start, LONG_MAX)?;
        if choice.is_builtin() {
            // What else it says is not written.
            continue;
        }
        within("algorithm", choice.algorithm.into(), INT_MAX)?;
        within("fan-out", choice.faninout.into(), INT_MAX)?;
        within("segment size", choice.segsize, INT_MAX)?;
        within("bound on requests", choice.max_requests.into(), INT_MAX)?;
        if choice.max_requests != 0 && !requests {
            return Err(EmitError::MaxRequests { collective, ranks, choice: *choice });
        }
    }
    Ok(())
}

/// The communicator rules: with blocks b0 b1 .. that begin at 0 s1 s2 .., the list 0:b0 s1:b1 s2:b2 .., or doubled
/// s1:b0 s1:b1 s2:b1 s2:b2 ..
///
/// Up to 5.0 a rule holds from its size on, and of two with the same size the later counts; below the first size the
/// first rule holds. In 6.0 a rule holds up to its size, and at a repeated size the later has an empty range.
fn comm_rules(collective: Collective, blocks: &RankSteps, notes: &Notes, doubled: bool) -> Vec<ClassicCommRule> {
    let blocks: Vec<_> = blocks.iter().collect();
    let rule = |at: u64, (first, end, sizes): &(u64, Option<u64>, &SizeSteps), again: bool| {
        let ranks = RankRange { first: *first, end: *end };
        let text = if again { format!("{ranks}, repeated for Open MPI 6.0") } else { ranks.to_string() };
        let own = notes.blocks.get(&(collective, *first)).filter(|_| !again);
        ClassicCommRule {
            comm_size: u32::try_from(at).expect("larger sizes were refused before"),
            notes: std::iter::once(text).chain(own.into_iter().flatten().cloned()).collect(),
            rules: message_rules(collective, *first, sizes, notes, again),
        }
    };
    if blocks.len() == 1 || !doubled {
        return blocks.iter().map(|block| rule(block.0, block, false)).collect();
    }
    let pairs = blocks.windows(2).enumerate();
    pairs.flat_map(|(index, pair)| [rule(pair[1].0, &pair[0], index > 0), rule(pair[1].0, &pair[1], false)]).collect()
}

fn message_rules(
    collective: Collective,
    first: u64,
    sizes: &SizeSteps,
    notes: &Notes,
    again: bool,
) -> Vec<ClassicRule> {
    let rule = |(size, _, choice): (u64, Option<u64>, &Choice)| {
        let note = notes.rules.get(&(collective, first, size)).filter(|_| !again).cloned();
        let choice = if choice.is_builtin() { Choice::BUILTIN } else { *choice };
        ClassicRule { size, choice, note }
    };
    sizes.iter().map(rule).collect()
}
