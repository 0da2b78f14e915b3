//! Ranges to revert to the builtin after a validation.
//!
//! Avoiding a loss matters more than a small gain. So a cell is reverted if it is significantly slower, and also if all
//! its launches together point to a loss without being significant. The range up to the nearest confirmed cells under
//! its rule is reverted too, since no measurement supports the rule there. Calls without a rule have one lookup more, which
//! short ones feel: if they lose by it, all rules of their collective on their communicator go.

use std::collections::BTreeSet;

use collrules_record::findings::Verdict;
use collrules_record::policy::Assumptions;
use collrules_record::profile::weight::lookup_span;
use collrules_record::reason::KeepReason;
use collrules_record::validation::{Outcome, RevertedRange, Round, ValidatedCell, ValidationCriteria};
use collrules_record::{Candidate, Cell, Estimate, HanRules, Ranks};
use collrules_rules::hazard::RankRange;
use collrules_rules::metric::metric;
use collrules_rules::steps::{Steps, earlier, within};
use collrules_rules::table::{RankSteps, all_builtin};
use collrules_rules::{Collective, Release, RuleTable};

use crate::comparison::class;
use crate::terms::Terms;
use crate::validation::excludes_loss;
use crate::verdict::JudgedCell;

/// Result of applying a validation to a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The slower cells.
    pub cells: Vec<Cell>,
    /// The ranges that are reverted for them; empty if nothing can be reverted.
    pub ranges: Vec<RevertedRange>,
    /// Undecided cells whose rule stays, since it is one choice for all sizes and faster in their mean, and a loss is excluded.
    pub carried: Vec<Cell>,
}

/// Keeps the builtin in cells whose timings select a reverted choice.
pub(crate) fn keep_reverted(cells: &mut [JudgedCell], terms: &Terms<'_>) {
    for cell in cells.iter_mut().filter(|cell| cell.verdict.candidate() != Candidate::Builtin) {
        if terms.is_reverted(cell.cell) {
            cell.verdict = Verdict::Keep { why: KeepReason::NotConfirmed };
        }
    }
}

/// The rules of both files.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// Of coll/tuned.
    pub table: RuleTable,
    /// Of HAN.
    pub han: HanRules,
    /// The release that looks them up.
    pub release: Release,
    /// True if the measured sizes are those of programs.
    pub of_programs: bool,
}

impl RuleSet {
    /// The rules of a collective that has rules, or of which HAN delegates calls.
    fn ruled(&self, collective: Collective) -> Option<RankSteps> {
        let own = self.table.get(collective).cloned();
        own.or_else(|| self.han.get(collective).map(|_| all_builtin()))
    }

    /// The lookup bytes that a compared size answers for.
    fn span(&self, cell: Cell) -> (u64, Option<u64>) {
        lookup_span(cell, self.release, self.of_programs)
    }
}

/// Effects of a tuning on calls that it has no rule for.
pub struct Reach<'a> {
    /// Collectives moved as a whole from another component: if one is slower, all of it must be reverted.
    pub freed: BTreeSet<Collective>,
    /// Returns true if the tuning has rules for the calls that HAN makes for a cell.
    pub below: &'a dyn Fn(Cell) -> bool,
    /// The rules that act inside HAN while it carries out a cell's calls, by collective and communicator size.
    pub inside: &'a dyn Fn(Cell) -> Vec<(Collective, Ranks)>,
}

impl Reach<'_> {
    /// Returns the ranges to revert for a cell that is slower although it has no rule: those of the nearest cause. None if the
    /// tuning does not reach it.
    fn ranges(&self, cell: Cell) -> Vec<RevertedRange> {
        let inside = (self.inside)(cell);
        let whole = |collective, ranks| RevertedRange { collective, ranks, lookup: (0, None) };
        if !inside.is_empty() {
            inside.into_iter().map(|(collective, ranks)| whole(collective, only(ranks))).collect()
        } else if (self.below)(cell) {
            vec![RevertedRange::settings(cell.collective)]
        } else if self.freed.contains(&cell.collective) {
            vec![whole(cell.collective, RankRange { first: 0, end: None })]
        } else {
            Vec::new()
        }
    }
}

/// A single communicator size.
fn only(ranks: Ranks) -> RankRange {
    RankRange { first: ranks.0.into(), end: Some(u64::from(ranks.0) + 1) }
}

/// Counts sizes without a difference in one layout as confirmed if another layout that shares the rules confirmed them,
/// or is still to be compared.
pub fn share_gains(round: &mut Round, is_awaited: impl Fn(Cell) -> bool, elsewhere: &[Round]) {
    for cell in round.cells.iter_mut().filter(|cell| cell.verdict == Outcome::Same) {
        let of = (cell.cell, cell.rule());
        let mut others = elsewhere.iter().flat_map(|round| &round.cells);
        let is_alike = |other: &ValidatedCell| (other.cell, other.rule()) == of;
        if is_awaited(cell.cell) || others.any(|other| other.verdict == Outcome::Faster && is_alike(other)) {
            cell.verdict = Outcome::Faster;
        }
    }
}

/// Finds the ranges of the rules and of HAN's file to revert after a round of validation. A call without a rule can be
/// slower too if the tuning `reach`es it.
pub fn repair(
    round: &Round,
    criteria: ValidationCriteria,
    rules: &RuleSet,
    assumptions: Assumptions,
    reach: &Reach<'_>,
) -> Repair {
    let RuleSet { han, release, .. } = rules;
    let mut repair = Repair::default();
    let of_block = |cell: &ValidatedCell| (cell.cell.collective, cell.cell.ranks);
    let failed = |cell: Cell| round.failed.iter().any(|failed| failed.with && failed.cell == cell);
    for block in round.cells.chunk_by(|a, b| of_block(a) == of_block(b)) {
        let (collective, ranks) = of_block(&block[0]);
        let steps = rules.ruled(collective).unwrap_or_else(all_builtin);
        let rank_range = ranks_around(&steps, han, ranks, collective, round);
        let mut revert = |lookup| repair.ranges.push(RevertedRange { collective, ranks: rank_range, lookup });
        let ruled: Vec<&ValidatedCell> = block.iter().filter(|cell| cell.is_ruled()).collect();
        if assumptions.one_choice(*release, collective, ranks) {
            if !ruled.is_empty() && !is_confirmed_for_all(&ruled, criteria) {
                repair.cells.extend(ruled.iter().map(|cell| cell.cell));
                revert((0, None));
            } else {
                let carried = ruled.iter().filter(|it| it.verdict == Outcome::Undecided);
                repair.carried.extend(carried.map(|it| it.cell));
            }
        } else {
            let sizes = han.join(steps.get(ranks.0.into()), (collective, ranks), *release);
            let compared = ruled.iter().map(|it| ComparedSize {
                at: it.cell.lookup_bytes(*release),
                span: rules.span(it.cell),
                verdict: if failed(it.cell) { Outcome::Slower } else { it.verdict },
            });
            let holding: Vec<ComparedSize> = compared.collect();
            let mut lost = sizes.clone();
            for (first, end) in confirmed_sizes(&sizes, &holding) {
                lost.set(first, end, Default::default());
            }
            // HAN's ranges end at sizes of messages, so between the largest lookup bytes of one and their end there may be no call.
            let factor = if han.touches(collective, ranks) { metric(*release, collective, ranks).factor() } else { 1 };
            let has_calls = |(first, end): &(u64, Option<u64>)| {
                first.checked_next_multiple_of(factor).is_some_and(|at| within(*first, *end, at))
            };
            let is_ruled = |choice: &_| *choice != Default::default();
            let ranges = lost.iter().filter(|(.., choice)| is_ruled(*choice)).map(|(first, end, _)| (first, end));
            ranges.filter(has_calls).for_each(&mut revert);
            let is_lost = |at: u64| is_ruled(lost.get(at));
            repair.cells.extend(ruled.iter().map(|cell| cell.cell).filter(|cell| is_lost(cell.lookup_bytes(*release))));
        }
        for cell in block.iter().filter(|cell| !cell.is_ruled() && cell.verdict == Outcome::Slower) {
            let mut ranges = reach.ranges(cell.cell);
            if ranges.is_empty() && !cell.control && class(cell.cell.bytes) == 0 {
                // What is left is that the rules of its collective are looked up.
                ranges.push(RevertedRange { collective, ranks: rank_range, lookup: (0, None) });
            }
            repair.cells.extend((!ranges.is_empty()).then_some(cell.cell));
            repair.ranges.extend(ranges);
        }
    }
    for cell in round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell) {
        let Some(steps) = rules.ruled(cell.collective) else { continue };
        let ranks = ranks_around(&steps, han, cell.ranks, cell.collective, round);
        repair.cells.push(cell);
        // A choice that makes calls fail is removed at all sizes.
        repair.ranges.push(RevertedRange { collective: cell.collective, ranks, lookup: (0, None) });
    }
    repair.cells.sort_unstable();
    repair.cells.dedup();
    repair.ranges.dedup();
    repair
}

/// Returns the ranges to revert so that these cells use the default: the range of each around it, for its communicator
/// size, without those that are kept.
pub fn withdraw(cells: &[Cell], kept: &[Cell], rules: &RuleSet) -> Vec<RevertedRange> {
    let range = |cell: &Cell| {
        let Cell { collective, ranks, .. } = *cell;
        let steps = rules.ruled(collective)?;
        let sizes = rules.han.join(steps.get(ranks.0.into()), (collective, ranks), rules.release);
        let here = cell.lookup_bytes(rules.release);
        let alike = kept.iter().filter(|kept| (kept.collective, kept.ranks) == (collective, ranks));
        let span = |kept: &Cell| {
            let (first, end) = rules.span(*kept);
            let at = kept.lookup_bytes(rules.release);
            if within(first, end, here) { (at, at.checked_add(1)) } else { (first, end) }
        };
        let lookup = around(&sizes, here, alike.map(span));
        Some(RevertedRange { collective, ranks: only(ranks), lookup })
    };
    cells.iter().filter_map(range).collect()
}

/// Returns true if fresh launches confirm one choice for all sizes: it is faster in geometric mean, and a loss is excluded for
/// each size. Since sizes share noise, their mean is no more certain than a single one.
fn is_confirmed_for_all(cells: &[&ValidatedCell], criteria: ValidationCriteria) -> bool {
    let may_lose = |it: &ValidatedCell| it.verdict == Outcome::Undecided && !excludes_loss(it.speedup, criteria);
    let slower = cells.iter().any(|cell| cell.verdict == Outcome::Slower || may_lose(cell));
    let faster = cells.iter().all(|cell| cell.verdict == Outcome::Faster);
    let gains = |mean: Estimate| mean.low.is_some_and(|low| low > 1.0) && mean.point >= 1.0 + criteria.min_difference;
    faster || !slower && Estimate::geometric_mean(cells.iter().map(|cell| cell.speedup)).is_some_and(gains)
}

/// Verdict on a compared size.
struct ComparedSize {
    /// Its lookup bytes.
    at: u64,
    /// The lookup bytes for which it answers.
    span: (u64, Option<u64>),
    verdict: Outcome,
}

/// The ranges of lookup bytes in which a rule stays: from one confirmed size to another, with all for which these answer, if
/// no size between them is slower. A range without an end keeps none if its largest size is confirmed.
fn confirmed_sizes<V: Clone + PartialEq + Default>(
    sizes: &Steps<V>,
    cells: &[ComparedSize],
) -> Vec<(u64, Option<u64>)> {
    let mut kept = Vec::new();
    for (first, end, _) in sizes.iter().filter(|(.., in_use)| **in_use != V::default()) {
        let inside: Vec<&ComparedSize> = cells.iter().filter(|it| within(first, end, it.at)).collect();
        for run in inside.split(|it| !it.verdict.holds()) {
            let is_faster = |it: &&&ComparedSize| it.verdict == Outcome::Faster;
            let (Some(low), Some(high)) = (run.iter().find(is_faster), run.iter().rfind(is_faster)) else { continue };
            let below = inside.iter().rfind(|it| it.at < low.at).map_or(first, |it| it.at + 1);
            let above = inside.iter().find(|it| it.at > high.at).map(|it| it.at);
            let is_open = end.is_none() && above.is_none();
            let stop = if is_open { None } else { earlier(earlier(high.span.1, above), end) };
            kept.push((low.span.0.max(below), stop));
        }
    }
    kept
}

/// The range of a step around a point, up to the nearest of other ranges.
fn around<V: Clone + PartialEq>(
    steps: &Steps<V>,
    at: u64,
    others: impl Iterator<Item = (u64, Option<u64>)>,
) -> (u64, Option<u64>) {
    let (mut first, mut end) = steps.around(at);
    for (start, stop) in others {
        if start > at {
            end = earlier(end, Some(start));
        } else if let Some(stop) = stop.filter(|stop| *stop <= at) {
            first = first.max(stop);
        }
    }
    (first, end)
}

/// The communicator sizes around one that share its rules, up to the nearest that were validated. HAN delegates for
/// each communicator size separately.
fn ranks_around(steps: &RankSteps, han: &HanRules, ranks: Ranks, collective: Collective, round: &Round) -> RankRange {
    if han.touches(collective, ranks) {
        return only(ranks);
    }
    let others = round.cells.iter().filter(|cell| cell.cell.collective == collective);
    let (at, others) = (u64::from(ranks.0), others.map(|cell| u64::from(cell.cell.ranks.0)));
    let (first, end) = around(steps, at, others.map(|ranks| (ranks, Some(ranks + 1))));
    RankRange { first, end }
}
