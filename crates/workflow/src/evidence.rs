//! The only judge of a tuning: results of launches, as far as it has the rules that were launched.

use std::collections::BTreeSet;

use collrules_record::validation::{Outcome, Round, ValidatedCell};
use collrules_record::{Cell, HanRule, Placement, Ranks, Stage, Tuning, Validation, competitor};
use collrules_rules::steps::Steps;
use collrules_rules::{Choice, Collective, RuleTable};
use collrules_tuner::validation::{CellFacts, add_stretch};

/// The result of comparisons, in order, for the rules that these facts describe; none without any. In each size a result is about
/// the rule that was launched, whether it is still there or was removed; a later stretch adds to the comparison before it, and
/// of two comparisons the later one counts unless the earlier one decided more. `removed` are sizes whose rule comparisons
/// removed: a rule that was not chosen again has no result.
pub(crate) fn verdict<'a>(
    evidence: impl IntoIterator<Item = (Stage, &'a Validation)>,
    facts: impl Fn(Cell) -> CellFacts,
    removed: impl Fn(Cell) -> bool,
) -> Option<Validation> {
    let is_gone = |it: &ValidatedCell| is_gone(it, facts(it.cell)) && (!it.is_ruled() || removed(it.cell));
    let mut comparisons: Vec<Validation> = Vec::new();
    for (stage, found) in evidence {
        let part = about(found, &facts, is_gone);
        match comparisons.last_mut().filter(|_| stage.is_again()) {
            Some(before) => add_stretch(&mut before.round, &part.round, found.criteria),
            None => comparisons.push(part),
        }
    }
    let mut found = comparisons.into_iter().reduce(|before, mut later| {
        later.complete_from(&before);
        later
    })?;
    mark_removed(&mut found, &facts, is_gone);
    Some(found)
}

/// Lets sizes without a clear result keep their rule.
pub(crate) fn carry(found: &mut Validation, carried: &[Cell]) {
    let cells = found.round.cells.iter_mut();
    let is_carried = |it: &&mut ValidatedCell| it.verdict == Outcome::Undecided && carried.contains(&it.cell);
    cells.filter(is_carried).for_each(|it| it.verdict = Outcome::Same);
}

/// The part of a comparison that is about the rules that these facts describe.
fn about(
    found: &Validation,
    facts: impl Fn(Cell) -> CellFacts,
    is_gone: impl Fn(&ValidatedCell) -> bool,
) -> Validation {
    let is_about = |it: &ValidatedCell| it.rule() == facts(it.cell).rule() || is_gone(it);
    let mut found = found.clone();
    found.round.cells.retain(is_about);
    for check in &mut found.checks {
        check.round.cells.retain(is_about);
        check.untried.retain(|cell| facts(*cell).is_ruled());
    }
    found
}

/// Names the sizes whose rule was removed: those of a check if it is a reason.
fn mark_removed(found: &mut Validation, facts: impl Fn(Cell) -> CellFacts, is_gone: impl Fn(&ValidatedCell) -> bool) {
    let removed = |round: &Round| -> BTreeSet<Cell> {
        let gone = round.cells.iter().filter(|it| is_gone(it)).map(|it| it.cell);
        let failed = round.failed.iter().filter(|it| it.with && !facts(it.cell).is_ruled()).map(|it| it.cell);
        gone.chain(failed).collect()
    };
    found.round.repaired = removed(&found.round).into_iter().collect();
    for check in &mut found.checks {
        check.round.repaired.clear();
        let failing: BTreeSet<Cell> = check.losses().chain(check.unexcluded()).collect();
        check.round.repaired = removed(&check.round).intersection(&failing).copied().collect();
    }
}

/// Returns true if nothing acts any more on what a rule, its lookup, or a component that one switched off, acted on.
fn is_gone(then: &ValidatedCell, now: CellFacts) -> bool {
    !now.is_ruled() && (then.is_ruled() || !then.control && now.control && !now.looked_up)
}

/// A tuning in force: rules, components and settings that act on calls.
pub(crate) struct InForce<'a> {
    tuning: &'a Tuning,
    placement: &'a Placement,
    /// Collectives on which rules for calls within HAN act.
    below: BTreeSet<Collective>,
}

impl<'a> InForce<'a> {
    pub(crate) fn new(tuning: &'a Tuning, placement: &'a Placement) -> Self {
        Self { tuning, placement, below: tuning.below_han() }
    }

    /// The facts of a cell with this rule of coll/tuned; HAN acts on it if `has_han`.
    pub(crate) fn facts(&self, cell: Cell, tuned: bool, in_use: Choice, has_han: bool) -> CellFacts {
        let han = if has_han { self.tuning.han_rule(cell) } else { HanRule::Default };
        let is_set = |(name, value): (&String, &String)| competitor::acts_on(name, value, cell.collective);
        let is_below = has_han && self.below.contains(&cell.collective);
        let acts = han != HanRule::Default
            || is_below
            // Other settings are in force without it as well.
            || self.tuning.parameters.iter().any(is_set)
            || !self.inside_han(cell).is_empty();
        let control = in_use.is_builtin() && !acts;
        CellFacts { tuned, in_use, control, han, looked_up: self.has_rules(cell.collective, cell.ranks) }
    }

    /// Returns true if a file of coll/tuned has rules for calls of a collective on communicators of this size.
    fn has_rules(&self, collective: Collective, ranks: Ranks) -> bool {
        let is_ruled = |table: &RuleTable| {
            let rules = table.get(collective);
            rules.is_some_and(|steps| *steps.get(ranks.0.into()) != Steps::constant(Choice::BUILTIN))
        };
        self.tuning.tuned.as_ref().is_some_and(|file| file.all_tables().any(is_ruled))
    }

    /// The rules that act inside HAN during a cell's calls, by collective and communicator size.
    pub(crate) fn inside_han(&self, cell: Cell) -> Vec<(Collective, Ranks)> {
        if self.tuning.han_rule(cell) == HanRule::Delegate {
            return Vec::new();
        }
        let is_ruled = |(collective, ranks): &(Collective, Ranks)| self.has_rules(*collective, *ranks);
        self.placement.inside_han(cell).into_iter().filter(is_ruled).collect()
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::condition::Condition;
    use collrules_record::validation::{Check, FORMAT, ValidationCriteria};
    use collrules_record::{Bytes, Estimate, Settings};

    use super::*;

    const DEFAULT: CellFacts =
        CellFacts { tuned: true, in_use: Choice::BUILTIN, control: true, han: HanRule::Default, looked_up: false };

    fn cell(bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) }
    }

    fn rule(algorithm: u32) -> CellFacts {
        CellFacts { in_use: Choice::plain(algorithm), control: false, ..DEFAULT }
    }

    fn result(bytes: u64, CellFacts { tuned, in_use, control, han, .. }: CellFacts, verdict: Outcome) -> ValidatedCell {
        let estimate = |samples| Estimate { point: 1.2, low: Some(1.1), high: Some(1.3), level: 0.95, samples };
        let (without, with, speedup) = (estimate(4), estimate(4), estimate(4));
        ValidatedCell { cell: cell(bytes), tuned, in_use, control, han, without, with, speedup, q_value: None, verdict }
    }

    fn compared(cells: Vec<ValidatedCell>) -> Validation {
        Validation {
            format: FORMAT,
            rules: String::new(),
            version: "5.0.0".parse().expect("a version"),
            settings: Settings::new(),
            criteria: ValidationCriteria::default(),
            digests: Default::default(),
            round: Round { pairs: 4, cells, ..Round::default() },
            reverted: Vec::new(),
            withdrawn: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// Verdicts by size with these comparisons of rules; algorithm 1 is in force from 2 B on, none below, where that of 1 B was
    /// removed.
    fn judge(evidence: &[(Stage, Validation)]) -> (Vec<(u64, Outcome)>, Vec<u64>) {
        let facts = |cell: Cell| if cell.bytes.0 < 2 { DEFAULT } else { rule(1) };
        let found = verdict(evidence.iter().map(|(stage, found)| (*stage, found)), facts, |cell| cell.bytes.0 == 1);
        let round = found.map(|found| found.round).unwrap_or_default();
        let verdicts = round.cells.iter().map(|it| (it.cell.bytes.0, it.verdict)).collect();
        (verdicts, round.repaired.iter().map(|cell| cell.bytes.0).collect())
    }

    use Outcome::{Faster, Slower, Undecided};

    #[test]
    fn only_launches_of_a_rule_confirm_it() {
        let other = compared(vec![result(2, rule(2), Faster), result(4, rule(1), Faster)]);
        assert_eq!(judge(&[(Stage::Rules, other)]), (vec![(4, Faster)], Vec::new()));
        assert_eq!(judge(&[]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_rule_that_was_removed_keeps_its_result() {
        let found = compared(vec![result(1, rule(1), Slower), result(2, rule(1), Faster)]);
        assert_eq!(judge(&[(Stage::Rules, found)]), (vec![(1, Slower), (2, Faster)], vec![1]));
    }

    #[test]
    fn a_rule_that_was_not_chosen_again_has_no_result() {
        let found = compared(vec![result(0, rule(1), Slower), result(2, rule(1), Faster)]);
        assert_eq!(judge(&[(Stage::Rules, found)]), (vec![(2, Faster)], Vec::new()));
    }

    /// Launches that compare the default with itself, where a rule was removed, give no other reason.
    #[test]
    fn a_rule_that_was_removed_keeps_its_reason() {
        let found = compared(vec![result(1, rule(1), Slower), result(2, rule(1), Faster)]);
        let look = compared(vec![result(1, DEFAULT, Outcome::Same), result(2, rule(1), Faster)]);
        let judged = judge(&[(Stage::Rules, found), (Stage::Validation(0), look)]);
        assert_eq!(judged, (vec![(1, Slower), (2, Faster)], vec![1]));
    }

    #[test]
    fn weak_evidence_replaces_no_strong_one() {
        let strong = compared(vec![result(2, rule(1), Faster), result(4, rule(1), Faster)]);
        let look = |verdict| (Stage::Validation(0), compared(vec![result(2, rule(1), verdict)]));
        let both = |verdict| judge(&[(Stage::Rules, strong.clone()), look(verdict)]).0;
        assert_eq!(both(Undecided), [(2, Faster), (4, Faster)]);
        assert_eq!(both(Slower), [(2, Slower), (4, Faster)], "a loss counts");
    }

    /// A loss in other calls that an earlier comparison showed is the reason for a removal, also if a later one decided less.
    #[test]
    fn a_loss_in_other_calls_is_none_of_a_rule_that_was_removed() {
        let compared = |verdict| {
            let round = Round { pairs: 4, cells: vec![result(1, rule(1), verdict)], ..Round::default() };
            let check = Check {
                condition: Condition::UNALIGNED,
                round,
                max_loss: 0.05,
                must_exclude: false,
                untried: Vec::new(),
            };
            Validation { checks: vec![check], ..compared(vec![result(1, rule(1), verdict)]) }
        };
        let found = [compared(Slower), compared(Undecided)];
        let judged = |facts: CellFacts| {
            let found =
                verdict(found.iter().map(|found| (Stage::Rules, found)), |_| facts, |_| true).expect("compared");
            (found.loses(), found.checks[0].round.repaired.len())
        };
        assert_eq!(judged(rule(1)), (true, 0));
        assert_eq!(judged(DEFAULT), (false, 1));
    }

    #[test]
    fn a_later_stretch_belongs_to_the_comparison_before_it() {
        let first = || (Stage::Rules, compared(vec![result(2, rule(1), Faster)]));
        let again = |verdict| (Stage::RulesAgain, compared(vec![result(2, rule(1), verdict)]));
        assert_eq!(judge(&[first(), again(Slower)]).0, [(2, Slower)]);
        assert_eq!(
            judge(&[first(), again(Slower), first()]).0,
            [(2, Slower)],
            "both have more launches than the third"
        );
    }

    /// A rule that switches HAN off acts on sizes without a rule. If it goes, they have the default as well.
    #[test]
    fn a_size_on_which_nothing_acts_any_more_cannot_be_slower() {
        let switched = CellFacts { control: false, ..DEFAULT };
        let is_gone = |then, now| is_gone(&result(1, then, Slower), now);
        assert!(is_gone(switched, DEFAULT) && is_gone(rule(6), DEFAULT) && is_gone(rule(6), switched));
        let looked_up = CellFacts { looked_up: true, ..DEFAULT };
        assert!(!is_gone(switched, looked_up), "the lookup that slows it down");
        assert!([DEFAULT, switched, looked_up, rule(6)].into_iter().all(|facts| !is_gone(facts, facts)));
    }

    /// A setting that the default has as well makes no difference: a size without a rule stays a control.
    #[test]
    fn settings_of_the_user_act_on_nothing() {
        let all = |value: &str| Settings::from([("coll".to_owned(), value.to_owned())]);
        let control = |tuning: Tuning| {
            let placement = Placement::default();
            InForce::new(&tuning, &placement).facts(cell(64), true, Choice::BUILTIN, true).control
        };
        assert!(control(Tuning { pins: all("^hcoll"), ..Tuning::default() }));
        assert!(!control(Tuning { parameters: all("^hcoll"), ..Tuning::default() }));
    }
}
