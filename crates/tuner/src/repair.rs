//! What falls back to the builtin where a validation shows, or suspects, that a rules file loses.
//!
//! Never to lose counts for more than to gain a little. So a cell is given back if it was shown to be slower, and also
//! if all its launches together say so without being enough for a proof. With it goes what lies between it and the
//! nearest validated cells under the same rule that hold: nobody has seen that it is any better.

use std::collections::BTreeSet;

use collrules_record::findings::Verdict;
use collrules_record::policy::Assumptions;
use collrules_record::validation::{Criteria, GivenBack, Outcome, Round, ValidatedCell};
use collrules_record::{Candidate, Cell, Handed, Handover, Ranks};
use collrules_rules::hazard::RankRange;
use collrules_rules::metric::metric;
use collrules_rules::steps::{Steps, earlier, within};
use collrules_rules::table::{RankSteps, all_builtin};
use collrules_rules::{Choice, Collective, Release, RuleTable};

use crate::verdict::JudgedCell;

/// What a validation makes of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The cells that lose.
    pub cells: Vec<Cell>,
    /// The ranges that fall back to the builtin for it; empty where nothing can be given back.
    pub ranges: Vec<GivenBack>,
}

/// The table with these ranges left to the builtin.
#[must_use]
pub fn without(table: &RuleTable, given_back: &[GivenBack]) -> RuleTable {
    let mut repaired = RuleTable::new();
    for (collective, steps) in table.collectives() {
        let mut steps = steps.clone();
        leave(&mut steps, collective, given_back, &Choice::BUILTIN);
        repaired.set(collective, steps);
    }
    repaired
}

/// The same for what is decided on one collective.
pub(crate) fn leave<V: Clone + PartialEq>(
    steps: &mut Steps<Steps<V>>,
    collective: Collective,
    given_back: &[GivenBack],
    builtin: &V,
) {
    let here = |range: &&GivenBack| range.collective == collective && !range.is_settings();
    for GivenBack { ranks, lookup, .. } in given_back.iter().filter(here) {
        for (first, end, sizes) in steps.clone().iter() {
            let mut sizes = sizes.clone();
            sizes.set(lookup.0, lookup.1, builtin.clone());
            // Empty where the two ranges do not meet.
            steps.set(first.max(ranks.first), earlier(end, ranks.end), sizes);
        }
    }
}

/// Lets cells say that what their timings ask for was given back.
pub(crate) fn keep_what_was_given_back(cells: &mut [JudgedCell], release: Release, given_back: &[GivenBack]) {
    for cell in cells.iter_mut().filter(|cell| cell.wanted() != Candidate::Builtin) {
        let at = cell.cell.lookup_bytes(release);
        if given_back.iter().any(|range| covers(range, cell.cell.collective, cell.cell.ranks, at)) {
            cell.verdict = Verdict::Keep { why: "validation did not confirm the gain".to_owned() };
        }
    }
}

/// Whether calls on so many ranks that look up so many bytes were given back.
pub(crate) fn covers(range: &GivenBack, collective: Collective, ranks: Ranks, at: u64) -> bool {
    range.collective == collective && range.ranks.holds(ranks) && within(range.lookup.0, range.lookup.1, at)
}

/// How a tuning reaches calls that no rule of it is for.
pub struct Reach<'a> {
    /// Collectives that are freed from another component as a whole: only giving back all of one helps where it loses.
    pub freed: BTreeSet<Collective>,
    /// Whether the tuning sets parameters of HAN for a cell's collective, or has rules for what HAN calls for the cell.
    pub settles: &'a dyn Fn(Cell) -> bool,
    /// The rules that act inside HAN while it carries out a cell's calls, by collective and communicator size.
    pub inside: &'a dyn Fn(Cell) -> Vec<(Collective, Ranks)>,
}

impl Reach<'_> {
    fn reaches(&self, cell: Cell) -> bool {
        self.freed.contains(&cell.collective) || (self.settles)(cell) || !(self.inside)(cell).is_empty()
    }

    /// What to give back for a cell that loses although no rule is for it: the nearest cause that there is.
    fn given_back(&self, cell: Cell) -> Vec<GivenBack> {
        let inside = (self.inside)(cell);
        if !inside.is_empty() {
            let block = |(collective, ranks): (Collective, Ranks)| {
                let ranks = RankRange { first: ranks.0.into(), end: Some(u64::from(ranks.0) + 1) };
                GivenBack { collective, ranks, lookup: (0, None) }
            };
            inside.into_iter().map(block).collect()
        } else if (self.settles)(cell) {
            vec![GivenBack::settings(cell.collective)]
        } else {
            vec![GivenBack { collective: cell.collective, ranks: RankRange { first: 0, end: None }, lookup: (0, None) }]
        }
    }
}

/// The last of these rounds, in which cells without a verdict say what all rounds under the same rule say together, by
/// their pairs. What a short last look makes of chance is no reason to give back what longer looks found to be faster.
pub fn all_told(rounds: &[Round]) -> Option<Round> {
    let (last, before) = rounds.split_last()?;
    let mut told = last.clone();
    for cell in told.cells.iter_mut().filter(|cell| cell.verdict == Outcome::Same) {
        let of = (cell.cell, cell.served, cell.handed);
        let same = before.iter().flat_map(|round| &round.cells);
        let same = same.filter(|other| (other.cell, other.served, other.handed) == of).map(|other| other.speedup);
        let (mut sum, mut pairs) = (0.0, 0.0);
        for speedup in same.chain([cell.speedup]) {
            sum += speedup.point.ln() * speedup.samples as f64;
            pairs += speedup.samples as f64;
        }
        if pairs > 0.0 {
            cell.speedup.point = f64::exp(sum / pairs);
        }
    }
    Some(told)
}

/// What to give back of the rules, and of what HAN's file says, after a round of validation. A call that the rules leave
/// alone can lose as well where the tuning `reach`es it.
pub fn repair(
    round: &Round,
    criteria: Criteria,
    (table, handover): (&RuleTable, &Handover),
    release: Release,
    assumptions: Assumptions,
    reach: &Reach<'_>,
) -> Repair {
    let mut repair = Repair::default();
    let of_block = |cell: &ValidatedCell| (cell.cell.collective, cell.cell.ranks);
    let failed = |cell: Cell| round.failed.iter().any(|failed| failed.with && failed.cell == cell);
    for block in round.cells.chunk_by(|a, b| of_block(a) == of_block(b)) {
        let (collective, ranks) = of_block(&block[0]);
        let steps = ruled(table, handover, collective).unwrap_or_else(all_builtin);
        let shared = assumptions.one_choice(release, collective, ranks);
        let lost = lost(block, shared, criteria, reach);
        for cell in block.iter().filter(|cell| lost.contains(&cell.cell)) {
            repair.cells.push(cell.cell);
            if !cell.is_ruled() {
                repair.ranges.extend(reach.given_back(cell.cell));
                continue;
            }
            let holds = |other: &&ValidatedCell| !lost.contains(&other.cell) && !failed(other.cell);
            let lookup = if shared {
                (0, None)
            } else {
                let sizes = sizes(steps.get(ranks.0.into()), handover, (collective, ranks), release);
                let holding = block.iter().filter(holds).map(|other| other.cell.lookup_bytes(release));
                around(&sizes, cell.cell.lookup_bytes(release), holding)
            };
            let ranks = ranks_around(&steps, handover, ranks, collective, round);
            repair.ranges.push(GivenBack { collective, ranks, lookup });
        }
    }
    for cell in round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell) {
        let Some(steps) = ruled(table, handover, cell.collective) else { continue };
        let ranks = ranks_around(&steps, handover, cell.ranks, cell.collective, round);
        repair.cells.push(cell);
        // What breaks a call is not given a second chance at other sizes.
        repair.ranges.push(GivenBack { collective: cell.collective, ranks, lookup: (0, None) });
    }
    repair.cells.sort_unstable();
    repair.cells.dedup();
    repair.ranges.dedup();
    repair
}

/// The rules of a collective that has some, or of which HAN hands something over.
fn ruled(table: &RuleTable, handover: &Handover, collective: Collective) -> Option<RankSteps> {
    let own = table.collectives().find(|(other, _)| *other == collective).map(|(_, steps)| steps.clone());
    own.or_else(|| handover.get(collective).map(|_| all_builtin()))
}

/// What is decided by lookup bytes on so many ranks: the rule, and whether HAN hands over.
fn sizes(
    rules: &Steps<Choice>,
    handover: &Handover,
    (collective, ranks): (Collective, Ranks),
    release: Release,
) -> Steps<(Choice, Handed)> {
    let factor = metric(release, collective, ranks).factor();
    let mut sizes = rules.map(|choice| (*choice, Handed::Kept));
    let Some(handed) = handover.get(collective).map(|steps| steps.get(ranks.0.into())) else { return sizes };
    for (first, end, said) in handed.iter().filter(|(.., handed)| **handed != Handed::Kept) {
        let (first, end) = (first.saturating_mul(factor), end.map(|end| end.saturating_mul(factor)));
        for (start, stop, choice) in rules.iter() {
            sizes.set(start.max(first), earlier(stop, end), (*choice, *said));
        }
    }
    sizes
}

/// The cells of a communicator size that lose by what the file says.
fn lost(block: &[ValidatedCell], shared: bool, criteria: Criteria, reach: &Reach<'_>) -> BTreeSet<Cell> {
    let least = 1.0 / (1.0 + criteria.min_difference);
    let slower =
        |cell: &&ValidatedCell| cell.verdict == Outcome::Slower && (cell.is_ruled() || reach.reaches(cell.cell));
    let mut lost: BTreeSet<Cell> = block.iter().filter(slower).map(|cell| cell.cell).collect();
    let ruled = || block.iter().filter(|cell| cell.is_ruled());
    let below = |cell: &&ValidatedCell| cell.speedup.point <= least && cell.verdict == Outcome::Same;
    if shared {
        // One choice for all sizes is judged by all of them.
        let logs: Vec<f64> = ruled().map(|cell| cell.speedup.point.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        if mean.exp() <= least {
            lost.extend(ruled().filter(|cell| cell.speedup.point <= least).map(|cell| cell.cell));
        }
    } else {
        lost.extend(ruled().filter(below).map(|cell| cell.cell));
    }
    lost
}

/// The range of a step around a point, up to the nearest of these others.
fn around<V: Clone + PartialEq>(steps: &Steps<V>, at: u64, others: impl Iterator<Item = u64>) -> (u64, Option<u64>) {
    let (mut first, mut end) = steps.around(at);
    for other in others {
        if other < at {
            first = first.max(other + 1);
        } else if other > at {
            end = earlier(end, Some(other));
        }
    }
    (first, end)
}

/// The communicator sizes around one that share its rules, up to the nearest that were validated. What HAN hands over is
/// decided for each communicator size.
fn ranks_around(
    steps: &RankSteps,
    handover: &Handover,
    ranks: Ranks,
    collective: Collective,
    round: &Round,
) -> RankRange {
    let at = u64::from(ranks.0);
    if handover.touches(collective, ranks) {
        return RankRange { first: at, end: Some(at + 1) };
    }
    let others = round.cells.iter().filter(|cell| cell.cell.collective == collective);
    let (first, end) = around(steps, at, others.map(|cell| cell.cell.ranks.0.into()));
    RankRange { first, end }
}
