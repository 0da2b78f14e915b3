//! State and speedup of each message size under the files of a tuning: the one value that screen, report, page, tree and
//! comments of files are views of.
//!
//! If fresh launches compared the rules, their estimates count and no others. Without them, speedups are those that the
//! timings for tuning let expect.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{RangeBounds, RangeInclusive};

use collrules_record::condition::Condition;
use collrules_record::findings::{CellFinding, Findings, Verdict};
use collrules_record::reason::KeepReason;
use collrules_record::settings::{Finalist, Guard, RulesUse, SettingsFindings};
use collrules_record::tree::{LeafGain, Tree};
use collrules_record::validation::{Outcome, Round, ValidatedCell, Validation};
use collrules_record::{Bytes, CallRule, Candidate, Cell, Estimate, HanRules, Ranks, Tuning};
use collrules_rules::table::all_builtin;
use collrules_rules::words::counted;
use collrules_rules::{Collective, Release, RuleTable};
use serde::Serialize;

/// State of a message size under the files of a tuning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeState {
    /// Has a rule that fresh launches confirmed to be faster.
    Faster,
    /// Has a rule between such sizes, and no difference beyond the limit in fresh launches.
    Level,
    /// Has a rule that fresh launches confirmed at the sizes around it.
    Between,
    /// Has a rule that is slower in fresh launches, or makes calls fail.
    Slower,
    /// Has a rule for which fresh launches show neither a gain nor a loss.
    Undecided,
    /// Has a rule that no fresh launches compared.
    NotCompared,
    /// Has no rule; the settings of the tuning act on it, with this verdict on a loss.
    Settings(Guard),
    /// Has no rule any more.
    Removed(Removal),
    /// Keeps the default.
    Default,
}

/// Reason why a rule is not in the final files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Removal {
    /// It is slower, or makes calls fail.
    Slower,
    /// It is slower in such calls, or makes them fail.
    SlowerIn(Condition),
    /// It is not faster.
    NoGain,
    /// Neither a gain nor a loss is shown.
    Undecided,
    /// A loss in such calls is not excluded.
    MayLoseIn(Condition),
    /// It was faster, but shared its rule with sizes that were not.
    Shared,
    /// It was faster by default, and adds nothing under the settings of the tuning.
    UnderSettings,
    /// Fresh launches had no time for it.
    NotReached,
}

impl Removal {
    /// The reason, after "rule removed:".
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Slower => "slower in fresh launches".to_owned(),
            Self::SlowerIn(condition) => format!("slower {condition}"),
            Self::NoGain => "no gain in fresh launches".to_owned(),
            Self::Undecided => "undecided in fresh launches".to_owned(),
            Self::MayLoseIn(condition) => format!("faster, but perhaps slower {condition}"),
            Self::Shared => "faster, but shared its rule with sizes that were not".to_owned(),
            Self::UnderSettings => "faster by default, but adds nothing to the settings".to_owned(),
            Self::NotReached => "no time to compare it".to_owned(),
        }
    }
}

impl SizeState {
    /// Returns true if a rule of the files acts on it.
    pub fn has_rule(self) -> bool {
        matches!(self, Self::Slower | Self::Undecided | Self::NotCompared) || self.is_confirmed()
    }

    /// Returns true if fresh launches confirmed its rule.
    pub fn is_confirmed(self) -> bool {
        matches!(self, Self::Faster | Self::Level | Self::Between)
    }
}

/// State and speedup of a message size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellGain {
    /// Its state.
    pub state: SizeState,
    /// Time with the default over time with the tuning; none if the default stays, or nothing plausible is known.
    pub speedup: Option<Estimate>,
}

impl CellGain {
    const DEFAULT: Self = Self { state: SizeState::Default, speedup: None };

    /// Returns true if a rule or a setting acts on it.
    pub(crate) fn is_changed(&self) -> bool {
        self.state.has_rule() || matches!(self.state, SizeState::Settings(_))
    }

    /// Returns true if a rule or a setting acts on it, or a rule did before fresh launches.
    pub(crate) fn had_rule(&self) -> bool {
        self.is_changed() || matches!(self.state, SizeState::Removed(_))
    }

    /// Class of its colour, and its state in words.
    pub(crate) fn describe(&self) -> (&'static str, &'static str) {
        let gains = self.speedup.and_then(|speedup| speedup.low).is_some_and(|low| low > 1.0);
        match self.state {
            SizeState::Faster => ("yes", "faster, confirmed"),
            SizeState::Level => ("same", "rule, no difference"),
            SizeState::Between => ("yes", "between confirmed sizes"),
            SizeState::Slower => ("open", "rule, SLOWER"),
            SizeState::Undecided => ("open", "rule, undecided"),
            SizeState::NotCompared => ("open", "rule, not compared"),
            SizeState::Settings(Guard::Passed) if gains => ("yes", "faster with the settings"),
            SizeState::Settings(Guard::Passed) => ("same", "settings, no difference"),
            SizeState::Settings(Guard::Undecided) => ("open", "settings, a loss is possible"),
            SizeState::Settings(Guard::Lost) => ("open", "settings, SLOWER"),
            SizeState::Removed(_) => ("gone", "default, rule removed"),
            SizeState::Default => ("no", "default"),
        }
    }
}

/// Numbers of sizes by what became of their rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    /// Confirmed by fresh launches: faster, or between sizes that are faster.
    pub confirmed: usize,
    /// Removed, since they are slower or not faster, or still there and slower.
    pub dropped: usize,
    /// Removed or still there, without a clear result.
    pub undecided: usize,
}

/// Neighbouring sizes of a communicator with a rule and a speedup, without a hole between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GainRange {
    /// The smallest size.
    pub(crate) first: Cell,
    /// The largest size.
    pub(crate) last: Cell,
    /// The mean speedup.
    pub(crate) speedup: Estimate,
}

/// The results of fresh launches by cell.
struct Checked<'a> {
    /// Verdicts on all cells whose rule is still there.
    verdicts: BTreeMap<Cell, Outcome>,
    /// Conditions that removed a rule: the first under which it loses, and the first of all.
    reasons: BTreeMap<Cell, (Option<Condition>, Condition)>,
    /// Rules that were removed under the settings of the tuning.
    removed_under: BTreeSet<Cell>,
    /// Rules that were removed for lack of time alone.
    withdrawn: &'a [Cell],
}

impl<'a> Checked<'a> {
    fn new(validation: &'a Validation, under: Option<&Round>) -> Self {
        let mut reasons: BTreeMap<Cell, (Option<Condition>, Condition)> = BTreeMap::new();
        for check in &validation.checks {
            let slower = check.round.cells.iter().filter(|it| it.verdict == Outcome::Slower).map(|it| it.cell);
            let failed = check.round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell);
            let lost: BTreeSet<Cell> = slower.chain(failed).collect();
            for cell in &check.round.repaired {
                let (loses, _) = reasons.entry(*cell).or_insert((None, check.condition));
                *loses = loses.or(lost.contains(cell).then_some(check.condition));
            }
        }
        Self {
            verdicts: validation.verdicts(under),
            reasons,
            removed_under: under.iter().flat_map(|round| round.repaired.iter().copied()).collect(),
            withdrawn: &validation.withdrawn,
        }
    }

    /// The reason why a rule that was compared is gone.
    fn find_removal(&self, found: &ValidatedCell) -> Removal {
        match (found.verdict, self.reasons.get(&found.cell)) {
            (Outcome::Slower, _) => Removal::Slower,
            // Once a loss is shown, no launches decide on a gain.
            (_, Some((Some(lost), _))) => Removal::SlowerIn(*lost),
            (Outcome::Undecided, _) => Removal::Undecided,
            (_, Some((None, open))) => Removal::MayLoseIn(*open),
            _ if self.withdrawn.contains(&found.cell) => Removal::NotReached,
            (Outcome::Same, None) => Removal::NoGain,
            (Outcome::Faster, None) if self.removed_under.contains(&found.cell) => Removal::UnderSettings,
            (Outcome::Faster, None) => Removal::Shared,
        }
    }
}

/// State and speedup of all message sizes that were measured or compared.
#[derive(Clone, Debug, Default)]
pub struct Gains<'a> {
    cells: BTreeMap<Cell, CellGain>,
    /// The fresh launches that the speedups of rules come from.
    pub(crate) round: Option<&'a Round>,
    /// The settings of the tuning, with their rules.
    pub(crate) chosen: Option<&'a Finalist>,
    /// The last comparison of settings with the rules under them.
    whole: Option<&'a Finalist>,
    /// Pairs of neighbouring sizes with rules between which the files do something else.
    holes: BTreeSet<(Cell, Cell)>,
    /// The rules that are gone.
    removed: BTreeMap<Cell, Removal>,
    /// The sizes over which the speedup of settings is a mean.
    asked: BTreeSet<Cell>,
}

impl<'a> Gains<'a> {
    /// States and speedups under a tuning, of all sizes that were measured or compared; `tuning` is what its files say, or
    /// none if they equal the compared rules.
    pub fn new(
        findings: &Findings,
        validation: Option<&'a Validation>,
        settings: Option<&'a SettingsFindings>,
        tuning: Option<&Tuning>,
    ) -> Self {
        let chosen = settings.and_then(SettingsFindings::chosen);
        let round = validation.map(|validation| &validation.round);
        let whole =
            settings.filter(|_| chosen.is_some()).and_then(|found| found.validation.as_ref()?.compared.as_ref());
        let mut gains = Self { round, chosen, whole, ..Self::default() };
        let expected = findings.cells.iter().map(|cell| (cell.cell, gains.expected_gain(findings, cell)));
        let mut cells: BTreeMap<Cell, CellGain> = expected.collect();
        if let Some((validation, round)) = validation.zip(round) {
            let files = tuning.map(|tuning| (tuning, findings.release));
            let checked = Checked::new(validation, gains.under());
            let compared = |cell: &ValidatedCell| gains.compared_gain(&checked, cell, files);
            cells.extend(round.cells.iter().map(|cell| (cell.cell, compared(cell))));
            let failed = round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell);
            cells.extend(failed.map(|cell| {
                let is_gone = !checked.verdicts.contains_key(&cell) || !gains.have_rules();
                let state = if is_gone { SizeState::Removed(Removal::Slower) } else { SizeState::Slower };
                (cell, CellGain { state, speedup: None })
            }));
        }
        gains.cells = cells;
        let removal = |(cell, gain): (Cell, CellGain)| match gain.state {
            SizeState::Removed(why) => Some((cell, why)),
            _ => None,
        };
        gains.removed = gains.iter().filter_map(removal).collect();
        gains.add_settings();
        let rules = tuning.map(|tuning| (tuning.table(), tuning.han_rules()));
        let (table, han) = rules.unwrap_or_else(|| (findings.table.clone(), findings.han.clone()));
        let ruled: Vec<Cell> = gains.iter().filter(|(_, gain)| gain.state.has_rule()).map(|(cell, _)| cell).collect();
        gains.holes = find_holes(&ruled, (&table, &han), findings.release);
        gains
    }

    /// States and speedups that the timings for tuning let expect.
    pub(crate) fn expected(findings: &Findings) -> Self {
        Self::new(findings, None, None, None)
    }

    /// States and speedups in a comparison of rules, whatever became of them under settings.
    pub fn of_comparison(validation: &'a Validation) -> Self {
        // Nothing asks for the release, since there are no files.
        Self::new(&Findings::empty("", Release::V5_0), Some(validation), None, None)
    }

    /// Returns true if the tuning has rules.
    pub(crate) fn have_rules(&self) -> bool {
        self.chosen.is_none_or(|chosen| chosen.rules == RulesUse::Shared)
    }

    /// The comparison of the rules under the settings of the tuning.
    fn under(&self) -> Option<&Round> {
        self.chosen.and_then(|chosen| chosen.under.as_ref())
    }

    /// The gain by the timings for tuning, corrected for the choice of what seemed best. It has no number if fresh launches
    /// took place and did not compare the cell.
    fn expected_gain(&self, findings: &Findings, cell: &CellFinding) -> CellGain {
        let is_unreached = cell.verdict == Verdict::Keep { why: KeepReason::NotConfirmed } && self.round.is_some();
        if cell.candidate_in_use() == Candidate::Builtin && is_unreached && self.have_rules() {
            return CellGain { state: SizeState::Removed(Removal::NotReached), speedup: None };
        }
        if cell.candidate_in_use() == Candidate::Builtin || !self.have_rules() {
            return CellGain::DEFAULT;
        }
        let rule = (cell.in_use, findings.han.rule(cell.cell));
        if self.round.is_some_and(|round| round.is_between(cell.cell, rule)) {
            return CellGain { state: SizeState::Between, speedup: None };
        }
        let measured = cell.gain_in_use().filter(|_| self.round.is_none() && !findings.doubts(cell));
        let point = |measured: Estimate| cell.expectation_in_use().unwrap_or(measured.point);
        let speedup = measured.map(|it| Estimate { point: point(it), ..it });
        CellGain { state: SizeState::NotCompared, speedup }
    }

    /// The gain by fresh launches; `files` are the rules, with the release that determines what they look up, or none if they
    /// are what was compared.
    fn compared_gain(
        &self,
        checked: &Checked<'_>,
        found: &ValidatedCell,
        files: Option<(&Tuning, Release)>,
    ) -> CellGain {
        let cell = found.cell;
        if !found.is_ruled() {
            return CellGain::DEFAULT;
        }
        let is_changed = files.filter(|_| self.have_rules()).is_some_and(|(tuning, release)| {
            let choice = tuning.choice(cell.collective, cell.ranks, cell.lookup_bytes(release));
            (choice, tuning.han_rule(cell)) != found.rule()
        });
        let Some(verdict) = checked.verdicts.get(&cell).filter(|_| !is_changed) else {
            return CellGain { state: SizeState::Removed(checked.find_removal(found)), speedup: None };
        };
        if !self.have_rules() {
            return CellGain::DEFAULT;
        }
        let state = match verdict {
            Outcome::Slower => SizeState::Slower,
            Outcome::Undecided => SizeState::Undecided,
            Outcome::Faster => SizeState::Faster,
            Outcome::Same => SizeState::Level,
        };
        CellGain { state, speedup: Some(found.speedup) }
    }

    /// Adds what settings do: to sizes without a rule, and to the gains of rules under them, unless both were compared
    /// together.
    fn add_settings(&mut self) {
        let Self { chosen: Some(chosen), whole, .. } = *self else { return };
        let guarded = whole.unwrap_or(chosen).guarded.iter();
        let guarded: BTreeMap<Cell, _> = guarded.filter_map(|it| Some((it.subject.cell()?, it))).collect();
        let under: BTreeMap<Cell, Estimate> =
            chosen.under.iter().flat_map(|round| &round.cells).map(|it| (it.cell, it.speedup)).collect();
        for (cell, gain) in &mut self.cells {
            let Some(guarded) = guarded.get(cell) else { continue };
            self.asked.extend(guarded.is_asked_for.then_some(*cell));
            let under = under.get(cell);
            match under.filter(|_| gain.state.has_rule()) {
                Some(_) if whole.is_some() => gain.speedup = Some(guarded.speedup),
                Some(under) => {
                    gain.speedup = Estimate::product_of_independent([guarded.speedup, *under].map(|it| (1.0, it)))
                }
                None if gain.state.has_rule() => *gain = CellGain { state: SizeState::NotCompared, speedup: None },
                None => *gain = CellGain { state: SizeState::Settings(guarded.guard), speedup: Some(guarded.speedup) },
            }
        }
    }

    /// Puts the gains that fresh launches confirmed into a decision tree, in place of those of the timings for tuning.
    pub fn confirm(&self, tree: &mut Tree) {
        if self.round.is_none() {
            return;
        }
        for branch in &mut tree.collectives {
            for range in &mut branch.ranges {
                let is_here =
                    |(cell, gain): &(Cell, CellGain)| range.ranks.holds(cell.ranks) && gain.state.is_confirmed();
                let confirmed: Vec<_> = self.of_collective(branch.collective).filter(is_here).collect();
                for evidence in range.leaves.iter_mut().filter_map(|leaf| leaf.evidence.as_mut()) {
                    let (first, last) = evidence.messages;
                    let inside = confirmed.iter().filter(|(cell, _)| (first..=last).contains(&cell.bytes));
                    let gain = LeafGain::over(inside.filter_map(|(_, gain)| gain.speedup));
                    evidence.gain = gain.unwrap_or(evidence.gain);
                }
            }
        }
    }

    /// All sizes in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cell, CellGain)> {
        self.within(..)
    }

    /// The gain of a cell; that of the default if nothing is known of it.
    pub fn get(&self, cell: Cell) -> CellGain {
        self.cells.get(&cell).copied().unwrap_or(CellGain::DEFAULT)
    }

    /// The reason why a cell has no rule any more.
    pub fn removal(&self, cell: Cell) -> Option<Removal> {
        self.removed.get(&cell).copied()
    }

    /// The cells of a collective in order.
    pub(crate) fn of_collective(&self, collective: Collective) -> impl Iterator<Item = (Cell, CellGain)> {
        self.within(cells_of(collective))
    }

    /// The cells of a range in order.
    fn within(&self, range: impl RangeBounds<Cell>) -> impl Iterator<Item = (Cell, CellGain)> {
        self.cells.range(range).map(|(cell, gain)| (*cell, *gain))
    }

    /// The number of cells in such a state.
    pub fn count(&self, is_wanted: impl Fn(SizeState) -> bool) -> usize {
        self.cells.values().filter(|gain| is_wanted(gain.state)).count()
    }

    /// The geometric mean over all cells of a range with a speedup. Under settings, sizes that refinement added do not count, as in
    /// the mean over all.
    pub(crate) fn mean(&self, range: impl RangeBounds<Cell>) -> Option<Estimate> {
        let counts = |cell: &Cell| self.chosen.is_none() || self.asked.contains(cell);
        let all = self.within(range).filter(|(cell, _)| counts(cell)).filter_map(|(_, gain)| gain.speedup);
        let all: Vec<Estimate> = all.collect();
        // The round's own mean has the pairs of launches for its units.
        let round = self.round.filter(|round| self.chosen.is_none() && round.cells.len() == all.len());
        round.and_then(|round| round.speedup).or_else(|| Estimate::geometric_mean(all))
    }

    /// The speedup of the tuning, and over which sizes it is a mean: `over 13 of 54 sizes`.
    pub fn overall(&self) -> Option<(Estimate, String)> {
        if let Some(chosen) = self.chosen {
            let speedup = self.whole.map_or_else(|| chosen.best_speedup(), |whole| whole.speedup);
            let asked = self.whole.unwrap_or(chosen).guarded.iter().filter(|guarded| guarded.is_asked_for).count();
            return Some((speedup, format!("over {}", counted(asked, "size"))));
        }
        let known = self.cells.values().filter(|gain| gain.speedup.is_some()).count();
        let over = format!("over {known} of {}", counted(self.cells.len(), "size"));
        Some((self.mean(..)?, over))
    }

    /// Counts what became of rules.
    pub fn fates(&self) -> Fates {
        let left = |is_wanted: fn(SizeState) -> bool| self.count(is_wanted);
        let gone = |is_wanted: fn(Removal) -> bool| self.removed.values().filter(|why| is_wanted(**why)).count();
        let is_open = |why| matches!(why, Removal::Undecided | Removal::MayLoseIn(_) | Removal::NotReached);
        let open = gone(is_open);
        Fates {
            confirmed: left(SizeState::is_confirmed),
            dropped: left(|state| state == SizeState::Slower) + self.removed.len() - open,
            undecided: left(|state| matches!(state, SizeState::Undecided | SizeState::NotCompared)) + open,
        }
    }

    /// The sizes whose rules were tried and left out, with the reasons, in a sentence.
    pub fn describe_left_out(&self) -> Option<String> {
        let count = |is_wanted: fn(Removal) -> bool| self.removed.values().filter(|why| is_wanted(**why)).count();
        let counts = [
            (count(|why| matches!(why, Removal::Slower | Removal::SlowerIn(_))), "slower"),
            (count(|why| why == Removal::NoGain), "no faster"),
            (count(|why| matches!(why, Removal::Undecided | Removal::MayLoseIn(_))), "not clear"),
            (count(|why| why == Removal::Shared), "in one rule with these"),
            (count(|why| why == Removal::UnderSettings), "no faster under the settings"),
        ];
        let each: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let untried = count(|why| why == Removal::NotReached);
        let tried = (self.removed.len() - untried, format!("tried and dropped: {}", each.join(", ")));
        let said: Vec<String> = [tried, (untried, "left out: no time to compare them".to_owned())]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("Rules for {} were {what}.", counted(count, "size")))
            .collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// Sizes with a rule that no speedup includes, with the reason, in a sentence.
    pub(crate) fn describe_missing(&self) -> Option<String> {
        let missing = self.cells.values().filter(|gain| gain.state.has_rule() && gain.speedup.is_none()).count();
        let why = if self.round.is_some() { "they were not timed again" } else { "their times are implausible" };
        (missing > 0).then(|| format!("Not counted, since {why}: {}.", counted(missing, "size")))
    }

    /// The ranges of sizes whose rules gain: those that fresh launches confirmed, or without these those that are expected
    /// to. A range ends where another state, or the default between two sizes, begins.
    pub(crate) fn ranges(&self) -> Vec<GainRange> {
        let is_shown = |state| match self.round {
            Some(_) => SizeState::is_confirmed(state),
            None => state == SizeState::NotCompared,
        };
        let all: Vec<(Cell, CellGain)> = self.iter().collect();
        let joined = |(a, one): &(Cell, CellGain), (b, other): &(Cell, CellGain)| {
            is_same_communicator(*a, *b)
                && is_shown(one.state) == is_shown(other.state)
                && !self.holes.contains(&(*a, *b))
        };
        let range = |cells: &[(Cell, CellGain)]| {
            let (first, last) = (cells.first()?.0, cells.last()?.0);
            let speedup = Estimate::geometric_mean(cells.iter().filter_map(|(_, gain)| gain.speedup))?;
            is_shown(cells[0].1.state).then_some(GainRange { first, last, speedup })
        };
        all.chunk_by(joined).filter_map(range).collect()
    }

    /// Returns true if the files do something else between two neighbours with rules.
    pub(crate) fn has_hole(&self, one: Cell, next: Cell) -> bool {
        self.holes.contains(&(one, next))
    }
}

/// The range of all cells of a collective.
pub(crate) fn cells_of(collective: Collective) -> RangeInclusive<Cell> {
    let cell = |ranks, bytes| Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
    cell(0, 0)..=cell(u32::MAX, u64::MAX)
}

pub(crate) fn is_same_communicator(one: Cell, other: Cell) -> bool {
    (one.collective, one.ranks) == (other.collective, other.ranks)
}

/// The neighbours of these cells, which have rules, between which the files have other rules than for either, or none.
fn find_holes(ruled: &[Cell], (table, han): (&RuleTable, &HanRules), release: Release) -> BTreeSet<(Cell, Cell)> {
    let default = all_builtin();
    let of_communicator = |cells: &[Cell]| {
        let Cell { collective, ranks, .. } = cells[0];
        let tuned = table.get(collective).unwrap_or(&default).get(ranks.0.into());
        let steps = han.join(tuned, (collective, ranks), release);
        let is_hole = |one: Cell, next: Cell| {
            let (from, to) = (one.lookup_bytes(release), next.lookup_bytes(release));
            let ends = [steps.get(from), steps.get(to)];
            let is_inner = |start: u64, rule: &CallRule| start > from && start < to && !ends.contains(&rule);
            ends.iter().all(|rule| **rule != CallRule::default())
                && steps.iter().any(|(start, _, rule)| is_inner(start, rule))
        };
        let pairs = cells.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(one, next)| is_hole(*one, *next)).collect::<Vec<_>>()
    };
    ruled.chunk_by(|one, next| is_same_communicator(*one, *next)).flat_map(of_communicator).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::HanRule;
    use collrules_record::validation::{Check, FailedCell};
    use collrules_rules::steps::Steps;

    use super::*;
    use crate::validation::fixture::validation;

    #[test]
    fn fresh_launches_decide_and_removed_rules_gain_nothing() {
        let findings = Findings::empty("", Release::V5_0);
        let mut faster = validation(Outcome::Faster, 2.0);
        let cell = faster.round.cells[0].cell;
        let gain = |validation: &Validation| Gains::new(&findings, Some(validation), None, None).get(cell);
        assert_eq!(gain(&faster).state, SizeState::Faster);
        assert_eq!(gain(&validation(Outcome::Same, 1.0)).state, SizeState::Level);
        assert_eq!(gain(&validation(Outcome::Undecided, 1.3)).state, SizeState::Undecided);
        assert!([SizeState::Between, SizeState::Level].iter().all(|it| it.has_rule() && it.is_confirmed()));
        faster.round.repaired.push(cell);
        let removed = |why| CellGain { state: SizeState::Removed(why), speedup: None };
        assert_eq!(gain(&faster), removed(Removal::Shared), "a slower size took its rule along");
        faster.withdrawn.push(cell);
        assert_eq!(gain(&faster), removed(Removal::NotReached), "sizes that were not compared took its rule along");
        faster.withdrawn.clear();
        let slower = ValidatedCell { verdict: Outcome::Slower, ..faster.round.cells[0].clone() };
        let slower = ValidatedCell { cell: Cell { bytes: Bytes(1), ..cell }, ..slower };
        faster.round.repaired.push(slower.cell);
        faster.round.cells.insert(0, slower);
        assert_eq!(gain(&faster), removed(Removal::Shared));
        let other = Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(1) };
        assert_eq!(Gains::new(&findings, None, None, None).get(other).state, SizeState::Default);
    }

    #[test]
    fn a_default_that_fails_shows_no_loss() {
        let mut found = validation(Outcome::Faster, 2.0);
        let round = &mut found.round;
        let cell = round.cells[0].cell;
        round.repaired.push(cell);
        let condition = Condition::UNALIGNED;
        let removal = |with| {
            let failed = vec![FailedCell { cell, with, why: String::new() }];
            let round = Round { failed, repaired: vec![cell], ..Round::default() };
            let check = Check { condition, round, max_loss: 0.05, must_exclude: true, untried: Vec::new() };
            Gains::of_comparison(&Validation { checks: vec![check], ..found.clone() }).removal(cell)
        };
        assert_eq!(removal(true), Some(Removal::SlowerIn(condition)));
        assert_eq!(removal(false), Some(Removal::MayLoseIn(condition)));
    }

    #[test]
    fn the_mean_of_a_whole_round_is_that_of_the_round() {
        let mut found = validation(Outcome::Faster, 2.0);
        let own = Estimate { point: 2.0, low: Some(1.95), high: Some(2.05), level: 0.95, samples: 4 };
        found.round.speedup = Some(own);
        let mean = |found: &Validation| Gains::of_comparison(found).mean(..);
        assert_eq!(mean(&found), Some(own));
        let mut other = found.round.cells[0].clone();
        (other.cell.bytes, other.in_use) = (Bytes(1), collrules_rules::Choice::BUILTIN);
        found.round.cells.insert(0, other);
        assert_eq!(mean(&found).and_then(|mean| mean.low), Some(1.8), "one of two sizes has a rule");
        assert_eq!(Gains::default().mean(..), None);
    }

    #[test]
    fn a_hole_in_either_file_is_one() {
        let at = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(bytes) };
        let holes = |rules: &[(u64, u64, HanRule)]| {
            let mut own = Steps::constant(HanRule::Default);
            rules.iter().for_each(|(first, end, rule)| own.set(*first, Some(*end), *rule));
            let mut steps = Steps::constant(Steps::constant(HanRule::Default));
            steps.set(8, Some(9), own);
            let mut han = HanRules::default();
            han.set(Collective::Bcast, steps);
            !find_holes(&[at(8), at(512)], (&RuleTable::default(), &han), Release::V5_0).is_empty()
        };
        let simple = HanRule::Simple;
        assert!(!holes(&[(8, 513, simple)]) && !holes(&[(8, 64, simple), (64, 513, HanRule::Delegate)]));
        assert!(holes(&[(8, 64, simple), (65, 513, simple)]));
        assert!(!holes(&[(8, 64, simple)]), "a size without a rule ends the range by itself");
    }
}
