//! What a file holds, as one version of Open MPI keeps it.

use serde::Serialize;

use super::index::{Index, Range, Search};
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::json::SyntaxError;
use crate::span::Span;

/// The format that a version took a file for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Format {
    /// The classic format.
    Classic {
        /// The number of its `rule-file-version-` line, where the version reads one; beyond 1 the fifth column counts.
        header: Option<i64>,
    },
    /// JSON.
    Json,
}

/// A file that a version accepts, with everything in it, even what never serves.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The version that read it.
    pub behaviour: Behaviour,
    /// The format that it was taken for.
    pub format: Format,
    /// Why a version that tries JSON first did not take it for that.
    pub not_json: Option<SyntaxError>,
    /// The collectives, in the order of the file.
    pub collectives: Vec<CollectiveRules>,
    /// For each collective id the place of the rules that count.
    pub(super) serving: [Option<u32>; Collective::ID_COUNT as usize],
}

/// The rules of a collective: one communicator rule of a classic file, one member of `collectives` in JSON.
#[derive(Clone, Debug)]
pub struct CollectiveRules {
    /// Open MPI's id.
    pub id: u32,
    /// The collective, unless it has no tuned algorithms.
    pub collective: Option<Collective>,
    /// All of it.
    pub span: Span,
    /// Its id or name.
    pub name: Span,
    /// Whether later rules for the same collective replace these.
    pub replaced: bool,
    /// Its communicator rules, in the order of the file.
    pub comm_rules: Vec<CommRule>,
    /// The search over `communicator rules` for each distribution, or one for all.
    pub(super) index: Vec<Index>,
}

/// A communicator rule: the message rules for some communicator sizes.
///
/// Up to 5.0 only `min` plays a part. In 6.0 the first communicator rule with `min <= ranks <= max` serves.
#[derive(Clone, Debug)]
pub struct CommRule {
    /// All of it.
    pub span: Span,
    /// Where its size is said; in JSON its smallest size if that is there, else the whole.
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
    pub(super) index: Index,
}

/// A message rule.
///
/// Up to 5.0 only `min` plays a part. In 6.0 the first rule with `min <= lookup bytes <= max` serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All of it.
    pub span: Span,
    /// The smallest lookup bytes.
    pub min: u64,
    /// The largest lookup bytes; `u64::MAX` where only the walk's next rule ends it.
    pub max: u64,
    /// What it says. Numbers are kept as Open MPI keeps them: the bits of a C `int`, and of a `long` for segments.
    pub choice: Choice,
    /// What became of its algorithm.
    pub state: RuleState,
    /// Whether it says `max_requests` itself.
    pub says_requests: bool,
}

/// What became of a rule's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RuleState {
    /// It is used as it stands. Classic files are not checked, so that it may not exist.
    Plain,
    /// JSON: there is none, or it is neither a string nor an integer; the rule leaves the decision to the builtin.
    NoAlgorithm,
    /// JSON: the version has no such algorithm; the rule is dropped, and its sizes are those of the next that matches.
    Disabled,
}

/// The largest message that Open MPI can count, `SSIZE_MAX`: what "inf" stands for.
pub(super) const SIZE_INF: u64 = i64::MAX as u64;

impl Rule {
    /// The lookup bytes that it can serve. Ends that no call reaches are open.
    pub(super) fn range(&self) -> Range {
        if self.min > SIZE_INF {
            return Range { min: 1, max: 0 };
        }
        Range { min: self.min, max: if self.max >= SIZE_INF { u64::MAX } else { self.max } }
    }
}

impl CommRule {
    /// The communicator sizes that it can serve. Negative numbers, as C sees large ones, lie below every size.
    pub(super) fn range(&self) -> Range {
        let size = |int: i32| u64::try_from(int).ok();
        match size(self.max) {
            None => Range { min: 1, max: 0 },
            Some(max) => {
                let max = if self.max == i32::MAX { u64::MAX } else { max };
                Range { min: size(self.min).unwrap_or(0), max }
            }
        }
    }

    /// The range for communicators that lie on nodes like this.
    fn range_for(&self, communicator: Distribution) -> Range {
        if self.distribution.serves(communicator) { self.range() } else { Range { min: 1, max: 0 } }
    }

    /// Makes the index; to be called when all rules are there.
    pub(super) fn finish(&mut self, search: Search) {
        self.index = Index::new(search, self.rules.iter().map(Rule::range));
    }

    pub(super) fn find(&self, search: Search, lookup_bytes: u64) -> Option<usize> {
        self.index.find(search, &self.rules, Rule::range, lookup_bytes)
    }
}

impl CollectiveRules {
    /// The distributions that its communicator rules tell apart.
    pub fn distributions(&self) -> &'static [Distribution] {
        let alike = self.comm_rules.iter().all(|comm_rule| comm_rule.distribution == Distribution::Any);
        if alike { &Distribution::ALL[..1] } else { &Distribution::ALL }
    }

    /// Makes the index; to be called when all communicator rules are there.
    pub(super) fn finish(&mut self, search: Search) {
        let index = |communicator: &Distribution| {
            Index::new(search, self.comm_rules.iter().map(|comm_rule| comm_rule.range_for(*communicator)))
        };
        self.index = self.distributions().iter().map(index).collect();
    }

    fn index_for(&self, communicator: Distribution) -> &Index {
        // One index serves all where no communicator rule asks for a distribution.
        self.index.get(communicator as usize).unwrap_or(&self.index[0])
    }

    pub(super) fn find(&self, search: Search, communicator: Distribution, ranks: u32) -> Option<usize> {
        let range = |comm_rule: &CommRule| comm_rule.range_for(communicator);
        self.index_for(communicator).find(search, &self.comm_rules, range, ranks.into())
    }

    pub(super) fn steps(&self, search: Search, communicator: Distribution) -> Vec<(u64, Option<usize>)> {
        self.index_for(communicator).steps(search, &self.comm_rules, |comm_rule| comm_rule.range_for(communicator))
    }
}

impl Loaded {
    /// Puts a file together: of several rules for a collective the last count.
    pub(super) fn new(behaviour: Behaviour, format: Format, mut collectives: Vec<CollectiveRules>) -> Self {
        let search = if behaviour.first_match { Search::FirstMatch } else { Search::Walk };
        let mut serving = [None; Collective::ID_COUNT as usize];
        for place in 0..collectives.len() {
            collectives[place].finish(search);
            let id = collectives[place].id as usize;
            if let Some(earlier) = serving[id].replace(place as u32) {
                collectives[earlier as usize].replaced = true;
            }
        }
        Self { behaviour, format, not_json: None, collectives, serving }
    }

    pub(super) fn search(&self) -> Search {
        if self.behaviour.first_match { Search::FirstMatch } else { Search::Walk }
    }

    /// The rules that count for a collective, and their place in the file.
    pub fn rules_for(&self, collective: Collective) -> Option<(usize, &CollectiveRules)> {
        let place = self.serving[collective.id() as usize]? as usize;
        Some((place, &self.collectives[place]))
    }
}
