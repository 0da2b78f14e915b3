//! Which communicators and sizes each rule serves, and rules that serve none.

use std::collections::HashSet;

use super::classic::Strict;
use super::code::Code;
use super::collect::Collector;
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::collective::Collective;
use crate::file::{Block, CollectiveRules, Format, Loaded, Lookup, Reason, Rule, RuleState, load};
use crate::hazard::RankRange;
use crate::units::Ranks;

/// The smallest communicator that coll/tuned serves.
const FIRST: u64 = 2;

/// A file as a version has it in force.
pub(super) struct View<'l> {
    pub(super) loaded: &'l Loaded,
    pub(super) collectives: Vec<Served<'l>>,
}

impl<'l> View<'l> {
    /// Finds out what serves what.
    pub(super) fn new(loaded: &'l Loaded) -> Self {
        Self { loaded, collectives: served(loaded) }
    }
}

/// The rules that count for a collective.
pub(super) struct Served<'l> {
    pub(super) collective: Collective,
    pub(super) rules: &'l CollectiveRules,
    /// The communicator rules that serve anybody.
    pub(super) blocks: Vec<ServedBlock<'l>>,
}

/// A communicator rule and what it serves.
pub(super) struct ServedBlock<'l> {
    pub(super) block: &'l Block,
    /// The communicator sizes, in ascending order.
    pub(super) ranks: Vec<RankRange>,
    /// The rules by lookup bytes: each start and the rule from there on.
    pub(super) steps: Vec<(u64, Option<usize>)>,
}

impl ServedBlock<'_> {
    /// The smallest communicator.
    pub(super) fn first(&self) -> u64 {
        self.ranks.first().map_or(FIRST, |range| range.first)
    }

    /// Rules with the sizes that they serve, half-open, in ascending order.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, Option<u64>, Option<usize>)> {
        let ends = self.steps.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        self.steps.iter().zip(ends).map(|((start, rule), end)| (*start, end, *rule))
    }
}

/// What a file serves, collective by collective, in time `n log n`.
fn served(loaded: &Loaded) -> Vec<Served<'_>> {
    let rules = |collective| Some((collective, loaded.rules_for(collective)?.1));
    let serve =
        |(collective, rules): (Collective, _)| Served { collective, rules, blocks: blocks(loaded, collective, rules) };
    Collective::ALL.into_iter().filter_map(rules).map(serve).collect()
}

fn blocks<'l>(loaded: &Loaded, collective: Collective, rules: &'l CollectiveRules) -> Vec<ServedBlock<'l>> {
    let alike = rules.blocks.iter().all(|block| block.distribution == Distribution::Any);
    let distributions = if alike { &Distribution::ALL[..1] } else { &Distribution::ALL };
    let edges =
        |block: &Block| [i64::from(block.min), i64::from(block.max) + 1].map(|edge| u64::try_from(edge).unwrap_or(0));
    let mut points: Vec<u64> = rules.blocks.iter().flat_map(edges).chain([FIRST]).collect();
    points.retain(|point| (FIRST..=i32::MAX as u64).contains(point));
    points.sort_unstable();
    points.dedup();
    let mut ranks: Vec<Vec<RankRange>> = vec![Vec::new(); rules.blocks.len()];
    let mut by: Vec<Distribution> = vec![Distribution::Any; rules.blocks.len()];
    for distribution in distributions {
        for (place, &first) in points.iter().enumerate() {
            let end = points.get(place + 1).copied();
            let lookup = loaded.serve(collective, Ranks(first as u32), 0, *distribution);
            let Some(block) = block_of(&lookup) else { continue };
            by[block] = *distribution;
            match ranks[block].last_mut().filter(|last| last.end == Some(first)) {
                Some(last) => last.end = end,
                None => ranks[block].push(RankRange { first, end }),
            }
        }
    }
    let serving = rules.blocks.iter().zip(ranks).zip(by).filter(|((_, ranks), _)| !ranks.is_empty());
    serving
        .map(|((block, mut ranks), distribution)| {
            ranks.sort_unstable_by_key(|range| range.first);
            let serve = |bytes| loaded.serve(collective, Ranks(ranks[0].first as u32), bytes, distribution);
            let steps = steps(block, |bytes| serve(bytes).rule.map(|rule| rule.rule));
            ServedBlock { block, ranks, steps }
        })
        .collect()
}

fn block_of(lookup: &Lookup) -> Option<usize> {
    match lookup.reason {
        Reason::EmptyBlock { block, .. } | Reason::NoSize { block, .. } => Some(block),
        _ => lookup.rule.map(|rule| rule.block),
    }
}

fn steps(block: &Block, find: impl Fn(u64) -> Option<usize>) -> Vec<(u64, Option<usize>)> {
    // Larger messages than a signed integer counts do not exist.
    let edges = |rule: &Rule| [rule.min, rule.max.saturating_add(1)];
    let mut points: Vec<u64> =
        block.rules.iter().flat_map(edges).chain([0]).filter(|at| *at < i64::MAX as u64).collect();
    points.sort_unstable();
    points.dedup();
    let mut steps: Vec<(u64, Option<usize>)> = Vec::new();
    for at in points {
        let rule = find(at);
        if steps.last().is_none_or(|(_, last)| *last != rule) {
            steps.push((at, rule));
        }
    }
    steps
}

/// Reports rules that never serve, in any version that there is, and those that serve more than they seem to.
pub(super) fn check(source: &[u8], views: &[View<'_>], strict: &Strict, problems: &mut Collector) {
    if views.is_empty() {
        return;
    }
    let json = views.iter().all(|view| view.loaded.format == Format::Json);
    // Files for several versions hold rules for some of them: the whole truth is with all versions.
    let others: Vec<Loaded> = Behaviour::distinct()
        .iter()
        .filter(|version| views.iter().all(|view| view.loaded.behaviour.name() != version.name()))
        .filter(|version| !json || version.reads_json)
        .filter_map(|version| load(source, version).into_accepted())
        .collect();
    let others: Vec<View<'_>> = others.iter().map(View::new).collect();
    let mut live: HashSet<usize> = HashSet::new();
    for view in views.iter().chain(&others) {
        for served in &view.collectives {
            for block in &served.blocks {
                live.insert(block.block.span.start ^ BLOCK);
                let rules = block.steps.iter().filter_map(|(_, rule)| *rule);
                live.extend(rules.map(|rule| block.block.rules[rule].span.start));
            }
        }
    }
    for View { loaded, collectives } in views {
        let versions = [loaded.behaviour];
        for served in collectives {
            let name = served.collective.name();
            for block in &served.rules.blocks {
                let said = strict.flagged.contains(&block.span.start) || block.listed.is_none() && block.max < 0;
                if !live.contains(&(block.span.start ^ BLOCK)) {
                    // What leaves the decision to Open MPI is a guard, and may be one too many.
                    if !said && !block.rules.iter().all(|rule| rule.choice.is_builtin()) {
                        let message = || format!("these {name} rules serve no communicator");
                        problems.merge(Code::DeadBlock, block.size, 0, &versions, message);
                    }
                    continue;
                }
                for rule in &block.rules {
                    let said = strict.flagged.contains(&rule.span.start) || rule.state == RuleState::Disabled;
                    if !said && !rule.choice.is_builtin() && !live.contains(&rule.span.start) {
                        let why =
                            if rule.min > rule.max { "its sizes end before they begin" } else { "others come first" };
                        let message = || format!("this {name} rule serves no message: {why}");
                        problems.merge(Code::DeadRule, rule.span, 0, &versions, message);
                    }
                }
            }
            below_first(loaded, served, problems);
            gaps(loaded, served, problems);
        }
    }
}

/// Tells communicator rules from message rules in a set of places.
const BLOCK: usize = 1 << (usize::BITS - 1);

fn below_first(loaded: &Loaded, served: &Served<'_>, problems: &mut Collector) {
    let Some(first) = served.rules.blocks.first() else { return };
    let Some(size) = first.listed.filter(|size| *size > FIRST as i32) else { return };
    if first.rules.iter().all(|rule| rule.choice.is_builtin()) {
        return;
    }
    let name = served.collective.name();
    if served.rules.blocks.len() == 1 {
        let message = || format!("the {name} rules for {size} ranks serve communicators of every size");
        problems.merge(Code::LoneSize, first.size, 0, &[loaded.behaviour], message);
    } else if !loaded.behaviour.first_match {
        let message =
            || format!("the {name} rules for {size} ranks serve communicators of 2 to {} ranks as well", size - 1);
        problems.merge(Code::BelowFirst, first.size, 0, &[loaded.behaviour], message);
    }
}

fn gaps(loaded: &Loaded, served: &Served<'_>, problems: &mut Collector) {
    for block in served.blocks.iter().filter(|block| block.block.listed.is_none() && !block.block.rules.is_empty()) {
        let Some((start, end, _)) = block.ranges().find(|(_, _, rule)| rule.is_none()) else { continue };
        let end = end.map_or("on".to_owned(), |end| format!("to {}", end - 1));
        let name = served.collective.name();
        let message = || format!("no {name} rule is for looked-up sizes from {start} {end}");
        problems.merge(Code::Gap, block.block.size, 0, &[loaded.behaviour], message);
    }
}
