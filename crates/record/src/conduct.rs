//! Effects of rules in programs, which make other calls than a benchmark: on the bits of sums, and on times in other
//! calls.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use collrules_rules::Choice;
use collrules_rules::bits::{self, Effect};
use collrules_rules::hazard::RankRange;

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::component::Component;
use crate::findings::{CellFinding, Conduct, Findings, Trial, TrialOutcome};
use crate::validation::Validation;

/// The conduct of every rule, in the order of the cells.
pub fn list_conducts(findings: &Findings) -> Vec<Conduct> {
    let in_use = |cell: &CellFinding| (cell.cell.collective, cell.cell.ranks, cell.candidate_in_use());
    let conduct = |cells: &[CellFinding]| {
        let (first, last) = (cells.first()?.cell, cells.last()?.cell);
        let by = cells.first()?.candidate_in_use();
        let conduct = Conduct {
            collective: first.collective,
            ranks: first.ranks,
            first: first.bytes,
            last: last.bytes,
            by,
            bits: find_effect(findings, cells, by),
            trials: Vec::new(),
        };
        (by != Candidate::Builtin).then_some(conduct)
    };
    findings.cells.chunk_by(|a, b| in_use(a) == in_use(b)).filter_map(conduct).collect()
}

impl Conduct {
    /// Returns true if the rule applies to this cell.
    pub fn applies_to(&self, cell: Cell) -> bool {
        self.cells().contains(&cell)
    }

    fn cells(&self) -> RangeInclusive<Cell> {
        let cell = |bytes| Cell { collective: self.collective, ranks: self.ranks, bytes };
        cell(self.first)..=cell(self.last)
    }
}

/// Adds the outcomes of each rule in the comparisons of a validation, one for each planned condition.
pub fn add_trials(conducts: &mut [Conduct], validation: &Validation) {
    for check in &validation.checks {
        let (lost, untried): (BTreeSet<Cell>, BTreeSet<Cell>) =
            (check.losses().collect(), check.untried.iter().copied().collect());
        let tried: BTreeMap<Cell, Option<f64>> = check.round.cells.iter().map(|it| (it.cell, it.speedup.low)).collect();
        for conduct in &mut *conducts {
            let mut lows = tried.range(conduct.cells()).map(|(_, low)| *low).peekable();
            let is_tried = lows.peek().is_some();
            // One size without an interval leaves the lower end of all unknown.
            let lowest = lows.collect::<Option<Vec<f64>>>().and_then(|lows| lows.into_iter().reduce(f64::min));
            let has = |cells: &BTreeSet<Cell>| cells.range(conduct.cells()).next().is_some();
            let outcome = match () {
                () if has(&lost) => TrialOutcome::Loses,
                () if lowest.is_some_and(|low| low >= 1.0 - check.max_loss) => TrialOutcome::Holds,
                () if is_tried => TrialOutcome::Undecided,
                () if has(&untried) => TrialOutcome::Untried,
                () => continue,
            };
            conduct.trials.push(Trial { condition: check.condition, outcome, lowest });
        }
    }
}

/// Returns the worst effect on bits of the rules that these cells use.
fn find_effect(findings: &Findings, cells: &[CellFinding], by: Candidate) -> Effect {
    let Some(Cell { collective, ranks, .. }) = cells.first().map(|cell| cell.cell) else { return Effect::None };
    if !collective.reduces() {
        return Effect::None;
    }
    let running = findings.placement.find_running(collective, ranks);
    let default = match running.map(|running| running.by) {
        None | Some(Component::TUNED | Component::BASIC) => Effect::Same,
        Some(Component::HAN) => Effect::Other,
        Some(_) => Effect::Unknown,
    };
    let rule = match by {
        Candidate::Builtin => Effect::Same,
        Candidate::Han(_) => bits::han_effect(collective),
        Candidate::Tuned(choice) => {
            let effects = cells.iter().map(|cell| effect_of_rule(findings, cell.cell, choice));
            effects.max().unwrap_or(Effect::Unknown)
        }
        _ => Effect::Unknown,
    };
    rule.max(default)
}

/// Returns the effect of the rule that a cell uses, over all calls that use it.
fn effect_of_rule(findings: &Findings, cell: Cell, choice: Choice) -> Effect {
    let (ranks, bytes) = (u64::from(cell.ranks.0), cell.lookup_bytes(findings.release));
    let block = findings.table.get(cell.collective).map(|blocks| (blocks.around(ranks), blocks.get(ranks)));
    let (sizes, lookup) = match block {
        Some((sizes, steps)) => (sizes, steps.around(bytes)),
        // A rule for one way alone in which communicators lie on nodes.
        None => ((ranks, Some(ranks + 1)), (bytes, Some(bytes.saturating_add(1)))),
    };
    let sizes = RankRange { first: sizes.0.max(2), end: sizes.1 };
    bits::effect_of_rule(findings.release, cell.collective, choice, &[sizes], lookup)
}

#[cfg(test)]
mod tests {
    use collrules_rules::steps::Steps;
    use collrules_rules::table::all_builtin;
    use collrules_rules::{Collective, Release, RuleTable};

    use super::*;
    use crate::findings::Verdict;
    use crate::placement::RunningComponent;
    use crate::reason::KeepReason;
    use crate::units::{Bytes, Ranks};

    /// Conducts of a rule for allreduce on 8 ranks from 8 KiB on.
    fn find_conducts(id: u32, default: Option<Component>) -> Vec<Conduct> {
        let choice = Choice::plain(id);
        let mut sizes = Steps::constant(Choice::BUILTIN);
        sizes.set(8192, None, choice);
        let mut blocks = all_builtin();
        blocks.set(8, Some(9), sizes);
        let mut table = RuleTable::new();
        table.set(Collective::Allreduce, blocks);
        let cell = |bytes, in_use| CellFinding {
            cell: Cell { collective: Collective::Allreduce, ranks: Ranks(8), bytes: Bytes(bytes) },
            points: Vec::new(),
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: KeepReason::NothingTimed },
            in_use,
            unruled: Candidate::Builtin,
        };
        let cells = vec![cell(4096, Choice::BUILTIN), cell(8192, choice), cell(16384, choice)];
        let mut findings = Findings { cells, table, ..Findings::empty("a test", Release::V5_0) };
        findings.placement.running.extend(default.map(|by| RunningComponent {
            collective: Collective::Allreduce,
            ranks: Ranks(8),
            by,
            without: Vec::new(),
        }));
        list_conducts(&findings)
    }

    #[test]
    fn a_rule_says_if_it_changes_the_order_of_sums() {
        let doubling = find_conducts(3, None);
        assert_eq!(doubling.len(), 1, "none for the default");
        assert_eq!((doubling[0].first, doubling[0].last, doubling[0].bits), (Bytes(8192), Bytes(16384), Effect::Same));
        assert_eq!(find_conducts(4, None)[0].bits.phrase(), Some("changes the order of sums"));
        assert_eq!(find_conducts(2, None)[0].bits.phrase(), Some("order of sums unknown"));
    }

    #[test]
    fn the_order_of_another_default_is_not_that_of_tuned() {
        assert_eq!(find_conducts(3, Some(Component::TUNED))[0].bits, Effect::Same);
        assert_eq!(find_conducts(3, Some(Component::HAN))[0].bits, Effect::Other);
        assert_eq!(find_conducts(3, Some(Component::known("ucc")))[0].bits, Effect::Unknown);
    }
}
