//! Contents of a file, as stored by one version of Open MPI.

use std::ops::RangeInclusive;

use serde::Serialize;

use super::index::index;
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::span::Span;
use crate::steps::Steps;

/// The format in which a version reads a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Format {
    /// The classic format.
    Classic {
        /// The number of its `rule-file-version-` line, if the version reads one; above 1, the fifth column counts.
        header: Option<i64>,
    },
    /// JSON.
    Json,
}

/// A file that a version accepts, including rules that never apply.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The version that read it.
    pub behaviour: Behaviour,
    /// The format in which it was read.
    pub format: Format,
    /// The collectives, in the order of the file.
    pub collectives: Vec<CollectiveRules>,
    /// The index of the effective rules for each collective id.
    pub(super) in_force: [Option<u32>; Collective::ID_COUNT as usize],
}

/// The rules of a collective: an entry of a classic file, or a member of `collectives` in JSON.
#[derive(Clone, Debug)]
pub struct CollectiveRules {
    /// Open MPI's id.
    pub id: u32,
    /// The collective, unless it has no tuned algorithms.
    pub collective: Option<Collective>,
    /// Its id or name.
    pub name: Span,
    /// True if later rules for the same collective replace these.
    pub replaced: bool,
    /// Its communicator rules, in the order of the file.
    pub comm_rules: Vec<CommRule>,
    /// The search over `communicator rules` for each distribution, or one for all.
    pub(super) indices: Vec<Steps<Option<usize>>>,
}

/// A communicator rule: the message rules for some communicator sizes.
///
/// Up to 5.0 only `min` matters. In 6.0 the first communicator rule with `min <= ranks <= max` applies.
#[derive(Clone, Debug)]
pub struct CommRule {
    /// All of it.
    pub span: Span,
    /// Place of its communicator size; in JSON of the smallest size if there is one, else of the whole rule.
    pub size: Span,
    /// The size as a classic file lists it, kept in a C `int`.
    pub listed: Option<i32>,
    /// The smallest communicator size.
    pub min: i32,
    /// The largest communicator size.
    pub max: i32,
    /// The communicators that it is for.
    pub distribution: Distribution,
    /// Its message rules, in the order of the file.
    pub rules: Vec<Rule>,
    /// The place of the rule that applies, by lookup bytes.
    pub(crate) index: Steps<Option<usize>>,
}

/// A message rule.
///
/// Up to 5.0 only `min` matters. In 6.0 the first rule with `min <= lookup bytes <= max` applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All of it.
    pub span: Span,
    /// The smallest lookup bytes.
    pub min: u64,
    /// The largest lookup bytes; `u64::MAX` if only the next rule ends it.
    pub max: u64,
    /// Choice of the rule. Numbers are kept as Open MPI keeps them: the bits of a C `int`, and of a `long` for
    /// segments.
    pub choice: Choice,
    /// Validity of its algorithm.
    pub state: RuleState,
    /// True if it sets `max_requests` itself.
    pub says_requests: bool,
}

/// Validity of a rule's algorithm, and the consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RuleState {
    /// It is used as it is. Classic files are not checked, so it may not exist.
    Plain,
    /// JSON: there is none, or it is neither a string nor an integer; the rule leaves the decision to the builtin.
    NoAlgorithm,
    /// JSON: the version has no such algorithm; the rule is dropped, and its sizes use the next matching rule.
    Disabled,
}

/// The largest message that Open MPI can count, `SSIZE_MAX`, the value of "inf".
pub(super) const SIZE_INF: u64 = i64::MAX as u64;

#[expect(clippy::reversed_empty_ranges, reason = "no size is in it")]
const EMPTY: RangeInclusive<u64> = 1..=0;

impl Rule {
    /// Returns the lookup bytes to which it can apply. Ends beyond all calls are open.
    fn range(&self) -> RangeInclusive<u64> {
        if self.min > SIZE_INF {
            return EMPTY;
        }
        self.min..=if self.max >= SIZE_INF { u64::MAX } else { self.max }
    }
}

impl CommRule {
    /// Returns the communicator sizes to which it can apply. Negative numbers, as C sees large ones, lie below every
    /// size.
    fn range(&self) -> RangeInclusive<u64> {
        let size = |int: i32| u64::try_from(int).ok();
        match size(self.max) {
            None => EMPTY,
            Some(max) => size(self.min).unwrap_or(0)..=if self.max == i32::MAX { u64::MAX } else { max },
        }
    }

    /// The range for communicators with this arrangement on nodes.
    fn range_for(&self, communicator: Distribution) -> RangeInclusive<u64> {
        if self.distribution.applies_to(communicator) { self.range() } else { EMPTY }
    }
}

impl CollectiveRules {
    /// The distributions that its communicator rules distinguish.
    pub fn distributions(&self) -> &'static [Distribution] {
        let alike = self.comm_rules.iter().all(|comm_rule| comm_rule.distribution == Distribution::Any);
        if alike { &Distribution::ALL[..1] } else { &Distribution::ALL }
    }

    /// Builds all indices, once all rules are present.
    fn finish(&mut self, first_match: bool) {
        for comm_rule in &mut self.comm_rules {
            comm_rule.index = index(first_match, comm_rule.rules.iter().map(Rule::range));
        }
        let ranges = |communicator: Distribution| self.comm_rules.iter().map(move |one| one.range_for(communicator));
        self.indices = self.distributions().iter().map(|one| index(first_match, ranges(*one))).collect();
    }

    /// The place of the communicator rule that applies, by communicator size.
    pub(crate) fn index_for(&self, communicator: Distribution) -> &Steps<Option<usize>> {
        // One index is enough if no communicator rule asks for a distribution.
        self.indices.get(communicator as usize).unwrap_or(&self.indices[0])
    }
}

impl Loaded {
    /// Assembles a file: of several rules for a collective the last count.
    pub(super) fn new(behaviour: Behaviour, format: Format, mut collectives: Vec<CollectiveRules>) -> Self {
        let mut in_force = [None; Collective::ID_COUNT as usize];
        for place in 0..collectives.len() {
            collectives[place].finish(behaviour.first_match);
            let id = collectives[place].id as usize;
            if let Some(earlier) = in_force[id].replace(place as u32) {
                collectives[earlier as usize].replaced = true;
            }
        }
        Self { behaviour, format, collectives, in_force }
    }

    /// The effective rules for a collective.
    pub fn rules_for(&self, collective: Collective) -> Option<&CollectiveRules> {
        self.in_force[collective.id() as usize].map(|place| &self.collectives[place as usize])
    }
}
