//! Results of fresh launches without and with a rules file, as plain data: `validation.json`.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::hazard::RankRange;
use collrules_rules::steps::within;
use collrules_rules::{Choice, Collective, Release, Version};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::condition::Condition;
use crate::criteria::Middle;
use crate::estimate::{Estimate, geometric_mean, median};
use crate::file::Digests;
use crate::file::FormatVersion;
use crate::han_rules::{CallRule, HanRule};
use crate::units::Seconds;

/// The version of `validation.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 3, minor: 0 };

/// A comparison of a rules file, as deployed, with the system without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The rules file, as the user named it.
    pub rules: String,
    /// The Open MPI that was used.
    pub version: Version,
    /// The MCA settings of the launches with the file, by name; launches without it have none of them.
    pub settings: BTreeMap<String, String>,
    /// Criteria that a cell had to meet to count as faster or slower.
    pub criteria: ValidationCriteria,
    /// The digests of the final rules files.
    pub digests: Digests,
    /// The comparison in the calls that decide. Its rules are those of the final files, except where they were removed.
    pub round: Round,
    /// The ranges that were reverted to the builtin, also in earlier validations of the run. An analysis of the run
    /// keeps them so.
    pub reverted: Vec<RevertedRange>,
    /// Sizes whose rule was removed for lack of time alone: launches did not compare it under the settings of the tuning, or
    /// not at all sizes that share it.
    #[serde(default)]
    pub withdrawn: Vec<Cell>,
    /// Comparisons of the rules that remained, under other conditions.
    pub checks: Vec<Check>,
}

/// Comparison of rules under another condition than the one that decided on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The condition.
    pub condition: Condition,
    /// The comparison; its criteria have `max_loss` as the least difference.
    pub round: Round,
    /// The largest loss that a rule may have there, such as 0.05.
    pub max_loss: f64,
    /// True if a rule stays only if a larger loss is excluded: programs make such calls as often as those that decided.
    /// Otherwise it stays unless a larger loss is shown.
    pub must_exclude: bool,
    /// The cells with rules that were not compared for lack of time.
    pub untried: Vec<Cell>,
}

impl Check {
    fn complete_from(&mut self, before: &Check) {
        self.round.complete_from(&before.round);
        self.untried.extend(&before.untried);
        self.untried.sort_unstable();
        self.untried.dedup();
        let known = self.round.known();
        self.untried.retain(|cell| !known.contains(cell));
    }

    /// The cells with a rule that is slower there, or makes calls fail, and is still in the file.
    pub fn losses(&self) -> impl Iterator<Item = Cell> {
        let slower = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower && cell.is_ruled();
        let slower = self.round.cells.iter().filter(slower).map(|cell| cell.cell);
        let failed = self.round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell);
        let removed = self.round.removed();
        slower.chain(failed).filter(move |cell| !removed.contains(cell))
    }

    /// The cells with a rule for which a larger loss is neither shown nor excluded, although it must be.
    pub fn unexcluded(&self) -> impl Iterator<Item = Cell> {
        let limit = 1.0 - self.max_loss;
        let is_open = move |cell: &&ValidatedCell| {
            let may_lose = cell.verdict == Outcome::Undecided && cell.speedup.low.is_none_or(|low| low < limit);
            may_lose && cell.is_ruled()
        };
        let open = self.round.cells.iter().filter(is_open).map(|cell| cell.cell);
        let open = open.chain(self.untried.iter().copied()).filter(|_| self.must_exclude);
        let removed = self.round.removed();
        open.filter(move |cell| !removed.contains(cell))
    }
}

/// A range of a rule table that was reverted to the builtin because of a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertedRange {
    /// The collective.
    pub collective: Collective,
    /// The communicator sizes.
    pub ranks: RankRange,
    /// The first lookup bytes and the end, excluded; none if it is open.
    pub lookup: (u64, Option<u64>),
}

impl RevertedRange {
    /// Returns the range that stands for rules for the collectives that HAN calls in one of its own. Rules for the calls of programs are not among them: no message of this size can ask
    /// for one.
    pub fn settings(collective: Collective) -> Self {
        Self { collective, ranks: RankRange { first: 0, end: None }, lookup: (u64::MAX, None) }
    }

    /// Returns true if the rules of a cell, or those within it, were reverted with one of these ranges.
    pub fn any_covers(ranges: &[Self], cell: Cell, release: Release) -> bool {
        ranges.iter().any(|range| range.covers(cell, release) || range.is_settings())
    }

    /// Returns true if a release looks up the rules of a cell in it.
    pub fn covers(&self, cell: Cell, release: Release) -> bool {
        let (first, end) = self.lookup;
        self.collective == cell.collective
            && self.ranks.holds(cell.ranks)
            && within(first, end, cell.lookup_bytes(release))
    }

    /// Returns true if it represents the tuning of HAN itself.
    pub fn is_settings(&self) -> bool {
        self.lookup.0 == u64::MAX
    }
}

/// Criteria that a cell has to meet to count as faster or slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationCriteria {
    /// Differences below this count as the same, such as 0.03.
    pub min_difference: f64,
    /// The bound on the share of wrong verdicts among those of "faster" and "slower" (false discovery rate).
    pub error_rate: f64,
    /// The largest difference, as a factor minus one, of cells that count as the same: their intervals lie within it. A
    /// cell with a wider interval is undecided.
    pub same_within: f64,
    /// Confidence of the intervals.
    pub level: f64,
    /// Statistic of the calls of a launch that is compared.
    pub middle: Middle,
    /// The smallest step of the clock; a difference of less than two of them counts as none. 0 if it is unknown.
    pub clock_step: Seconds,
    /// Number of looks at undecided cells, including the first; each look has its share of the error rate.
    pub looks: u32,
}

impl ValidationCriteria {
    /// Returns true if a control, the same compared with itself, shows a difference that would count.
    pub fn is_off(&self, control: Estimate) -> bool {
        let is_shown = control.low.is_some_and(|low| low > 1.0) || control.high.is_some_and(|high| high < 1.0);
        is_shown && control.point.ln().abs() >= self.min_difference.ln_1p()
    }
}

impl Default for ValidationCriteria {
    fn default() -> Self {
        Self {
            min_difference: 0.03,
            error_rate: 0.05,
            same_within: 0.05,
            level: 0.95,
            middle: Middle::default(),
            clock_step: Seconds(0.0),
            looks: 1,
        }
    }
}

/// One comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of pairs of launches, one without and one with the file; undecided cells have all of them, others fewer.
    pub pairs: u32,
    /// Every compared cell, ordered by collective, communicator size and message size.
    pub cells: Vec<ValidatedCell>,
    /// The geometric mean of the speedups over all cells, with an interval over pairs; missing if no pair has all
    /// cells.
    pub speedup: Option<Estimate>,
    /// The speedup of a second launch without the file over the first one: 1 if the comparison is right. Missing without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Estimate>,
    /// Reason why launches were compared one after the other; missing if they were compared side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// Number of cells with a rule for which it does not answer, for lack of time.
    pub unreached: usize,
    /// Cells that could not be compared, and why.
    pub failed: Vec<FailedCell>,
    /// The cells whose rules are not in the final files: slower, not confirmed, or lost elsewhere; and cells on which
    /// nothing acts any more.
    pub repaired: Vec<Cell>,
}

/// A cell that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCell {
    /// The cell.
    pub cell: Cell,
    /// True if calls failed with the file; otherwise without it.
    pub with: bool,
    /// Description of the failure.
    pub why: String,
}

/// Results for one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidatedCell {
    /// The cell.
    pub cell: Cell,
    /// True if it was measured for tuning; otherwise it lies between such cells.
    pub tuned: bool,
    /// Choice of the file for it.
    pub in_use: Choice,
    /// True if neither a rule nor a setting acts on its calls, so that a change has other causes.
    pub control: bool,
    /// HAN's rule for it.
    pub han: HanRule,
    /// Seconds without the file.
    pub without: Estimate,
    /// Seconds with the file.
    pub with: Estimate,
    /// The time without the file over the time with it: 1.10 if the file makes calls 10 % faster.
    pub speedup: Estimate,
    /// Probability of such a difference, in either direction, if there were none, adjusted for the number of cells and
    /// of looks; missing with too few launches.
    pub q_value: Option<f64>,
    /// The verdict.
    pub verdict: Outcome,
}

/// Verdict on a cell with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Faster than without it.
    Faster,
    /// No difference beyond [`ValidationCriteria::same_within`].
    Same,
    /// Slower than without it.
    Slower,
    /// Neither a difference nor equality is shown.
    Undecided,
}

impl Outcome {
    /// Returns true if a rule may stay for a cell with this outcome, between sizes at which it was confirmed.
    pub fn holds(self) -> bool {
        matches!(self, Self::Faster | Self::Same)
    }
}

impl Validation {
    /// Adds what an earlier comparison of the same files found for cells and calls that this one left out, or did not decide. A
    /// control that is off remains; an earlier comparison with one shows nothing.
    pub fn complete_from(&mut self, before: &Validation) {
        if before.control_that_is_off().is_some() {
            return;
        }
        let off = self.control_that_is_off();
        self.round.complete_from(&before.round);
        self.round.control = off.or(self.round.control);
        for check in &before.checks {
            match self.checks.iter_mut().find(|own| own.condition == check.condition) {
                Some(own) => own.complete_from(check),
                None => self.checks.push(check.clone()),
            }
        }
    }

    /// Returns true if this is about these rules files.
    pub fn is_about(&self, digests: &Digests) -> bool {
        self.digests == *digests
    }

    /// The cells whose rule was removed after the last comparison, or after one under another condition.
    pub fn removed(&self) -> BTreeSet<Cell> {
        let rounds = std::iter::once(&self.round).chain(self.checks.iter().map(|check| &check.round));
        rounds.flat_map(|round| round.repaired.iter().copied()).collect()
    }

    /// The verdict over all calls on each cell with a rule in the final files, and on those that are slower since something else
    /// acts on them. A loss in any calls is one, and one that has to be excluded and is not leaves a cell undecided. Verdicts
    /// `under` the settings of a tuning count in place of those without them.
    pub fn verdicts(&self, under: Option<&Round>) -> BTreeMap<Cell, Outcome> {
        let under: BTreeMap<Cell, Outcome> =
            under.iter().flat_map(|round| &round.cells).map(|it| (it.cell, it.verdict)).collect();
        let acts = |it: &&ValidatedCell| it.is_ruled() || !it.control && it.verdict == Outcome::Slower;
        let own = |it: &ValidatedCell| (it.cell, under.get(&it.cell).copied().unwrap_or(it.verdict));
        let mut verdicts: BTreeMap<Cell, Outcome> = self.round.cells.iter().filter(acts).map(own).collect();
        for cell in self.checks.iter().flat_map(Check::unexcluded) {
            let verdict = verdicts.entry(cell).or_insert(Outcome::Undecided);
            *verdict = if verdict.holds() { Outcome::Undecided } else { *verdict };
        }
        let failed = self.round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell);
        let lost = failed.chain(self.checks.iter().flat_map(Check::losses));
        verdicts.extend(lost.map(|cell| (cell, Outcome::Slower)));
        let removed = self.removed();
        verdicts.retain(|cell, _| !removed.contains(cell));
        verdicts
    }

    /// Returns true if the final file makes calls slower, or they fail.
    pub fn loses(&self) -> bool {
        self.verdicts(None).into_values().any(|verdict| verdict == Outcome::Slower)
    }

    /// Returns the speedup of the control if it is off, so that the comparison shows nothing.
    pub fn control_that_is_off(&self) -> Option<Estimate> {
        self.round.control.filter(|control| self.criteria.is_off(*control))
    }

    /// Returns true if fresh launches confirmed every rule of the final file.
    pub fn is_confirmed(&self) -> bool {
        self.round.unreached == 0
            && self.control_that_is_off().is_none()
            && self.verdicts(None).into_values().all(Outcome::holds)
    }
}

impl ValidatedCell {
    /// Returns true if this earlier result of the same rule stands against a later one; or of one that was removed, against the
    /// default.
    fn outweighs(&self, later: &Self) -> bool {
        let has_more = self.speedup.samples > later.speedup.samples;
        if self.is_ruled() && !later.is_ruled() {
            return later.control || later.verdict != Outcome::Slower;
        }
        self.rule() == later.rule()
            && match (self.verdict, later.verdict) {
                (_, Outcome::Slower) => false,
                (Outcome::Undecided, Outcome::Undecided) => has_more,
                (Outcome::Undecided, _) => false,
                (_, Outcome::Undecided) => true,
                _ => has_more,
            }
    }

    /// The rule that was launched.
    pub fn rule(&self) -> CallRule {
        (self.in_use, self.han)
    }

    /// Returns true if a rule of coll/tuned or of HAN acts on it.
    pub fn is_ruled(&self) -> bool {
        self.rule() != CallRule::default()
    }
}

impl Round {
    /// Lets an earlier result of the same rule stand, unless a loss is shown now, or as many launches decide otherwise.
    fn confirm_from(&mut self, before: &Round) {
        let earlier: BTreeMap<Cell, &ValidatedCell> = before.cells.iter().map(|it| (it.cell, it)).collect();
        for cell in &mut self.cells {
            if let Some(earlier) = earlier.get(&cell.cell).filter(|earlier| earlier.outweighs(cell)) {
                *cell = (*earlier).clone();
                // No launch has all of these cells.
                self.speedup = None;
            }
        }
    }

    /// Adds an earlier comparison of the same rules.
    fn complete_from(&mut self, before: &Round) {
        let (known, compared) = (self.known(), self.cells.len());
        self.confirm_from(before);
        let is_new = |cell: Cell| !known.contains(&cell);
        self.cells.extend(before.cells.iter().filter(|it| is_new(it.cell)).cloned());
        self.failed.extend(before.failed.iter().filter(|it| is_new(it.cell)).cloned());
        self.repaired.extend(before.repaired.iter().filter(|cell| is_new(**cell)));
        self.cells.sort_by_key(|it| it.cell);
        self.repaired.sort_unstable();
        if before.pairs > self.pairs {
            (self.pairs, self.control) = (before.pairs, before.control);
        }
        if self.cells.len() > compared {
            self.speedup = None;
        }
    }

    /// Returns true if the comparison answers for a cell with this rule: the cell was compared, or lies between two neighbours
    /// with the same rule, which stays at both.
    pub fn covers(&self, cell: Cell, rule: CallRule) -> bool {
        let above = self.cells.partition_point(|it| it.cell < cell);
        let is_compared = self.cells.get(above).is_some_and(|it| it.cell == cell);
        is_compared || self.is_between(cell, rule) || self.failed.iter().any(|failed| failed.cell == cell)
    }

    /// Returns true if a cell that was not compared lies between two neighbours with this rule, which stays at both: a range is
    /// one question.
    pub fn is_between(&self, cell: Cell, rule: CallRule) -> bool {
        let above = self.cells.partition_point(|it| it.cell < cell);
        let is_alike = |it: &&ValidatedCell| {
            let is_here = (it.cell.collective, it.cell.ranks) == (cell.collective, cell.ranks) && it.cell != cell;
            is_here && it.rule() == rule && it.verdict.holds() && !self.repaired.contains(&it.cell)
        };
        self.cells[..above].last().is_some_and(|it| is_alike(&it))
            && self.cells.get(above).is_some_and(|it| is_alike(&it))
    }

    /// The cells that were compared, or could not be.
    pub fn known(&self) -> BTreeSet<Cell> {
        self.cells.iter().map(|it| it.cell).chain(self.failed.iter().map(|it| it.cell)).collect()
    }

    fn removed(&self) -> BTreeSet<Cell> {
        self.repaired.iter().copied().collect()
    }

    /// The number of cells with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.cells.iter().filter(|cell| cell.verdict == outcome).count()
    }

    /// The smallest difference, as a share, that is seen for half of the cells; none without intervals.
    pub fn resolution(&self) -> Option<f64> {
        let widths = self.cells.iter().filter_map(|cell| Some((cell.speedup.high? / cell.speedup.low?).sqrt()));
        let mut widths: Vec<f64> = widths.filter(|width| width.is_finite()).collect();
        Some(median(&mut widths)? - 1.0)
    }

    /// The geometric mean of the speedups; 1 without cells.
    pub fn geometric_mean(&self) -> f64 {
        geometric_mean(self.cells.iter().map(|cell| cell.speedup.point)).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Ranks};

    fn cell(bytes: u64, speedup: f64, verdict: Outcome) -> ValidatedCell {
        let estimate = |point| Estimate { point, low: None, high: None, level: 0.95, samples: 3 };
        ValidatedCell {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) },
            tuned: true,
            in_use: Choice::plain(6),
            control: false,
            han: HanRule::Default,
            without: estimate(speedup * 1e-6),
            with: estimate(1e-6),
            speedup: estimate(speedup),
            q_value: None,
            verdict,
        }
    }

    fn of_round(round: Round) -> Validation {
        Validation {
            format: FORMAT,
            rules: String::new(),
            version: "5.0.0".parse().expect("a version"),
            settings: BTreeMap::new(),
            digests: Digests::new(),
            criteria: ValidationCriteria::default(),
            round,
            reverted: Vec::new(),
            withdrawn: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// Results beside a control that is off confirm nothing later, and such a control is not replaced by an earlier one.
    #[test]
    fn a_control_that_is_off_confirms_nothing_in_another_comparison() {
        let control = |point: f64| Estimate { point, low: Some(point), high: Some(point), level: 0.99, samples: 9 };
        let with = |verdict, speedup, pairs| {
            let control = Some(control(speedup));
            of_round(Round { pairs, cells: vec![cell(1, 1.4, verdict)], control, ..Round::default() })
        };
        let (faster, open) = (Outcome::Faster, Outcome::Undecided);
        let is_confirmed = |mut later: Validation, before: Validation| {
            later.complete_from(&before);
            later.is_confirmed()
        };
        assert!(is_confirmed(with(open, 1.0, 2), with(faster, 1.0, 9)));
        assert!(!is_confirmed(with(open, 1.0, 2), with(faster, 1.2, 9)), "the earlier one is off");
        assert!(!is_confirmed(with(faster, 1.2, 2), with(faster, 1.0, 9)), "the later one is off");
    }

    /// A look that decides nothing takes away nothing; a shown loss takes the place of a gain, and what was shown for another
    /// rule counts for none.
    #[test]
    fn what_is_undecided_keeps_the_earlier_verdict() {
        let (faster, slower) = (Outcome::Faster, Outcome::Slower);
        let round = |cells: &[ValidatedCell]| Round { cells: cells.to_vec(), ..Round::default() };
        let before = round(&[cell(1, 1.4, faster), cell(2, 1.4, faster), cell(4, 1.4, faster), cell(8, 1.4, faster)]);
        let other = ValidatedCell { in_use: Choice::plain(2), ..cell(4, 0.9, Outcome::Undecided) };
        let mut later = round(&[cell(1, 0.9, Outcome::Undecided), cell(2, 0.8, slower), other]);
        later.complete_from(&before);
        let found: Vec<(f64, Outcome)> = later.cells.iter().map(|it| (it.speedup.point, it.verdict)).collect();
        assert_eq!(found, [(1.4, faster), (0.8, slower), (0.9, Outcome::Undecided), (1.4, faster)]);
    }

    /// A gain with an unknown lower end may be a loss; one whose lower end is above the limit is none.
    #[test]
    fn a_loss_that_must_be_excluded_and_is_not_leaves_a_rule_unconfirmed() {
        let with_low = |bytes, low| {
            let undecided = cell(bytes, 1.02, Outcome::Undecided);
            ValidatedCell { speedup: Estimate { low: Some(low), ..undecided.speedup }, ..undecided }
        };
        let round = Round { cells: vec![with_low(1, 0.94), with_low(2, 0.96)], ..Round::default() };
        let check = |must_exclude| Check {
            condition: Condition::default(),
            round: round.clone(),
            max_loss: 0.05,
            must_exclude,
            untried: vec![cell(3, 1.0, Outcome::Same).cell],
        };
        let bytes = |check: &Check| check.unexcluded().map(|cell| cell.bytes.0).collect::<Vec<_>>();
        assert_eq!(bytes(&check(true)), [1, 3]);
        assert_eq!(bytes(&check(false)), [0; 0]);
        let mut removed = check(true);
        removed.round.repaired.push(cell(1, 1.0, Outcome::Same).cell);
        assert_eq!(bytes(&removed), [3]);
        assert_eq!(removed.losses().count(), 0);
    }

    #[test]
    fn a_part_completed_from_an_earlier_comparison_lacks_what_neither_compared() {
        let at = |bytes| cell(bytes, 1.2, Outcome::Faster);
        let check = |compared: &[u64], untried: &[u64]| Check {
            condition: Condition::default(),
            round: Round {
                cells: compared.iter().map(|bytes| at(*bytes)).collect(),
                speedup: Some(at(1).speedup),
                ..Round::default()
            },
            max_loss: 0.05,
            must_exclude: true,
            untried: untried.iter().map(|bytes| at(*bytes).cell).collect(),
        };
        let completed = |mut own: Check, before: Check| {
            own.complete_from(&before);
            own
        };
        assert_eq!(completed(check(&[1], &[2]), check(&[2, 3], &[1, 4])), {
            let both = check(&[1, 2, 3], &[4]);
            Check { round: Round { speedup: None, ..both.round }, ..both }
        });
        let whole = check(&[1, 2], &[]);
        assert_eq!(completed(whole.clone(), check(&[1], &[2])), whole, "nothing is added");
    }

    /// Other calls take a verdict away and give none; settings replace the one of the calls that decide alone.
    #[test]
    fn a_verdict_is_over_all_calls() {
        use Outcome::{Faster, Same, Slower, Undecided};
        let round = |cells: &[(u64, Outcome)]| Round {
            cells: cells.iter().map(|(bytes, verdict)| cell(*bytes, 1.0, *verdict)).collect(),
            ..Round::default()
        };
        let check = Check {
            condition: Condition::default(),
            round: round(&[(2, Undecided), (3, Slower), (4, Faster)]),
            max_loss: 0.05,
            must_exclude: true,
            untried: Vec::new(),
        };
        let own = round(&[(1, Faster), (2, Faster), (3, Faster), (4, Undecided), (5, Slower)]);
        let mut found = Validation { checks: vec![check], ..of_round(own) };
        let verdicts =
            |found: &Validation, under: Option<&Round>| found.verdicts(under).into_values().collect::<Vec<_>>();
        assert_eq!(verdicts(&found, None), [Faster, Undecided, Slower, Undecided, Slower]);
        let under = round(&[(1, Slower), (2, Same), (3, Same), (4, Same)]);
        assert_eq!(verdicts(&found, Some(&under)), [Slower, Undecided, Slower, Same, Slower]);
        found.checks[0].round.repaired.push(cell(3, 1.0, Slower).cell);
        assert_eq!(verdicts(&found, None), [Faster, Undecided, Undecided, Slower]);
    }

    #[test]
    fn only_what_the_file_acts_on_can_be_its_loss() {
        let slower = cell(1, 0.5, Outcome::Slower);
        let control = ValidatedCell { in_use: Choice::BUILTIN, control: true, ..slower.clone() };
        let with = |cells: Vec<ValidatedCell>, settings: usize, repaired: Vec<Cell>| Validation {
            settings: (0..settings).map(|name| (name.to_string(), String::new())).collect(),
            ..of_round(Round { cells, repaired, ..Round::default() })
        };
        assert!(with(vec![slower.clone()], 2, Vec::new()).loses());
        assert!(!with(vec![slower.clone()], 2, vec![slower.cell]).loses(), "it was reverted");
        assert!(!with(vec![control.clone()], 2, Vec::new()).loses());
        let handed = ValidatedCell { han: HanRule::Simple, control: false, ..control.clone() };
        assert!(with(vec![handed], 2, Vec::new()).loses());
    }

    /// A loss between two sizes that gain is one at all sizes around it.
    #[test]
    fn a_range_answers_for_sizes_between_those_that_hold() {
        let (faster, rule) = (Outcome::Faster, (Choice::plain(6), HanRule::Default));
        let at = |bytes| cell(bytes, 1.0, faster).cell;
        let round = |middle: Outcome, repaired: &[u64]| Round {
            cells: vec![cell(8, 1.4, faster), cell(64, 1.0, middle), cell(512, 1.4, faster)],
            repaired: repaired.iter().map(|bytes| at(*bytes)).collect(),
            ..Round::default()
        };
        let answered = |round: Round, rule| {
            let sizes = [4, 8, 32, 64, 256, 512, 1024];
            sizes.into_iter().filter(|bytes| round.covers(at(*bytes), rule)).collect::<Vec<_>>()
        };
        assert_eq!(answered(round(faster, &[]), rule), [8, 32, 64, 256, 512]);
        assert_eq!(answered(round(Outcome::Same, &[]), rule), [8, 32, 64, 256, 512]);
        for middle in [Outcome::Slower, Outcome::Undecided] {
            assert_eq!(answered(round(middle, &[]), rule), [8, 64, 512], "{middle:?}");
        }
        assert_eq!(answered(round(faster, &[512]), rule), [8, 32, 64, 512], "the rule is gone at the largest");
        for other in [(Choice::plain(2), HanRule::Default), (Choice::plain(6), HanRule::Delegate)] {
            assert_eq!(answered(round(faster, &[]), other), [8, 64, 512], "{other:?}");
        }
        let elsewhere = Cell { ranks: Ranks(8), ..at(32) };
        assert!(!round(faster, &[]).covers(elsewhere, rule));
    }

    #[test]
    fn a_round_is_summed_up() {
        let cells = vec![cell(1, 0.5, Outcome::Slower), cell(2, 8.0, Outcome::Faster), cell(4, 1.0, Outcome::Same)];
        let round = Round { pairs: 3, cells, ..Round::default() };
        assert!((round.geometric_mean() - 4f64.cbrt()).abs() < 1e-12);
        assert_eq!((round.count(Outcome::Faster), round.count(Outcome::Slower)), (1, 1));
        let none = Round::default();
        assert_eq!(none.geometric_mean(), 1.0);
    }
}
