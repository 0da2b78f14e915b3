//! State and speedup of each message size under the files of a tuning: the one value that screen, report, page, tree and
//! comments of files are views of.
//!
//! If fresh launches compared the rules, their estimates count and no others. Without them, speedups are those that the
//! timings for tuning let expect.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::condition::Condition;
use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings, Verdict};
use collrules_record::reason::KeepReason;
use collrules_record::settings::{Finalist, Guard, RulesUse, SettingsFindings};
use collrules_record::tree::{LeafGain, Tree};
use collrules_record::validation::{Check, FailedCell, Outcome, Round, ValidatedCell, Validation};
use collrules_record::{Bytes, Candidate, Cell, Estimate, HanRules, Ranks, Tuning};
use collrules_rules::words::counted;
use collrules_rules::{Collective, Release, RuleTable};
use serde::Serialize;

use crate::summary::has_hole;

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
pub struct GainRange {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The smallest size.
    pub first: Bytes,
    /// The largest size.
    pub last: Bytes,
    /// The mean speedup.
    pub speedup: Estimate,
}

/// A validation, with what its checks say of cells.
struct Checked<'a> {
    validation: &'a Validation,
    removed: BTreeSet<Cell>,
    lost: BTreeSet<Cell>,
    open: BTreeSet<Cell>,
}

impl<'a> Checked<'a> {
    fn new(validation: &'a Validation) -> Self {
        let checks = || validation.checks.iter();
        let (lost, open) = (checks().flat_map(Check::losses).collect(), checks().flat_map(Check::unexcluded).collect());
        Self { validation, removed: validation.removed(), lost, open }
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
            let checked = Checked::new(validation);
            let under: BTreeMap<Cell, Outcome> =
                gains.under().iter().flat_map(|round| &round.cells).map(|it| (it.cell, it.verdict)).collect();
            let compared = |cell: &ValidatedCell| gains.compared_gain(&checked, &under, cell, files);
            cells.extend(round.cells.iter().map(|cell| (cell.cell, compared(cell))));
            let failed = round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell);
            cells.extend(failed.map(|cell| {
                let is_gone = checked.removed.contains(&cell) || !gains.have_rules();
                let state = if is_gone { SizeState::Removed(Removal::Slower) } else { SizeState::Slower };
                (cell, CellGain { state, speedup: None })
            }));
        }
        gains.cells = cells;
        gains.find_untimed();
        let removal = |(cell, gain): (Cell, CellGain)| match gain.state {
            SizeState::Removed(why) => Some((cell, why)),
            _ => None,
        };
        gains.removed = gains.iter().filter_map(removal).collect();
        gains.add_settings();
        let rules = tuning.map(|tuning| (tuning.table(), tuning.han_rules()));
        let (table, han) = rules.unwrap_or_else(|| (findings.table.clone(), findings.han.clone()));
        gains.holes = gains.find_holes((&table, &han), findings.release);
        gains
    }

    /// States and speedups in a comparison of rules, whatever became of them under settings.
    pub fn of_comparison(validation: &'a Validation) -> Self {
        // Nothing asks for the release, since there are no files.
        Self::new(&Findings::empty("", Release::V5_0), Some(validation), None, None)
    }

    /// Returns true if the tuning has rules.
    fn have_rules(&self) -> bool {
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
        under: &BTreeMap<Cell, Outcome>,
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
        if checked.removed.contains(&cell) || is_changed {
            let why = self.find_removal(checked.validation, found);
            return CellGain { state: SizeState::Removed(why), speedup: None };
        }
        if !self.have_rules() {
            return CellGain::DEFAULT;
        }
        let state = match under.get(&cell).copied().unwrap_or(found.verdict) {
            Outcome::Slower => SizeState::Slower,
            _ if checked.lost.contains(&cell) => SizeState::Slower,
            Outcome::Undecided => SizeState::Undecided,
            _ if checked.open.contains(&cell) => SizeState::Undecided,
            Outcome::Faster => SizeState::Faster,
            Outcome::Same => SizeState::Level,
        };
        CellGain { state, speedup: Some(found.speedup) }
    }

    /// The reason why a rule that was compared is gone.
    fn find_removal(&self, validation: &Validation, found: &ValidatedCell) -> Removal {
        let is_lost = |check: &Check| {
            let slower = |it: &ValidatedCell| it.cell == found.cell && it.verdict == Outcome::Slower;
            let fails = |failed: &FailedCell| failed.with && failed.cell == found.cell;
            check.round.cells.iter().any(slower) || check.round.failed.iter().any(fails)
        };
        let checks = || validation.checks.iter().filter(|check| check.round.repaired.contains(&found.cell));
        let lost = checks().find(|check| is_lost(check));
        match (found.verdict, lost) {
            (Outcome::Slower, _) => return Removal::Slower,
            // Once a loss is shown, no launches decide on a gain.
            (_, Some(lost)) => return Removal::SlowerIn(lost.condition),
            (Outcome::Undecided, None) => return Removal::Undecided,
            (Outcome::Same | Outcome::Faster, None) => {}
        }
        match (checks().next(), found.verdict) {
            (Some(open), _) => Removal::MayLoseIn(open.condition),
            (None, Outcome::Same) => Removal::NoGain,
            (None, _) if self.under().is_some_and(|round| round.repaired.contains(&found.cell)) => {
                Removal::UnderSettings
            }
            (None, _) => Removal::Shared,
        }
    }

    /// Without other sizes that took its rule along, a size that was faster lost another rule than the one that was compared.
    fn find_untimed(&mut self) {
        let gone = self.cells.iter().filter(|(_, gain)| {
            matches!(gain.state, SizeState::Removed(why) if !matches!(why, Removal::Shared | Removal::NotReached))
        });
        let gone: BTreeSet<(Collective, Ranks)> = gone.map(|(cell, _)| (cell.collective, cell.ranks)).collect();
        for (cell, gain) in &mut self.cells {
            if gain.state == SizeState::Removed(Removal::Shared) && !gone.contains(&(cell.collective, cell.ranks)) {
                gain.state = SizeState::Removed(Removal::NotReached);
            }
        }
    }

    /// Adds what settings do: to sizes without a rule, and to the gains of rules under them, unless both were compared
    /// together.
    fn add_settings(&mut self) {
        let Self { chosen: Some(chosen), whole, .. } = *self else { return };
        let guarded: BTreeMap<&str, _> =
            whole.unwrap_or(chosen).guarded.iter().map(|guarded| (guarded.name.as_str(), guarded)).collect();
        let under: BTreeMap<Cell, &ValidatedCell> =
            chosen.under.iter().flat_map(|round| &round.cells).map(|it| (it.cell, it)).collect();
        for (cell, gain) in &mut self.cells {
            let Some(guarded) = guarded.get(cell.to_string().as_str()) else { continue };
            self.asked.extend(guarded.is_asked_for.then_some(*cell));
            let under = under.get(cell);
            match under.filter(|_| gain.state.has_rule()) {
                Some(_) if whole.is_some() => gain.speedup = Some(guarded.speedup),
                Some(under) => gain.speedup = Some(multiply(guarded.speedup, under.speedup)),
                None if gain.state.has_rule() => *gain = CellGain { state: SizeState::NotCompared, speedup: None },
                None => *gain = CellGain { state: SizeState::Settings(guarded.guard), speedup: Some(guarded.speedup) },
            }
        }
    }

    /// The neighbours with rules between which the files do something else.
    fn find_holes(&self, rules: (&RuleTable, &HanRules), release: Release) -> BTreeSet<(Cell, Cell)> {
        let ruled: Vec<Cell> = self.iter().filter(|(_, gain)| gain.state.has_rule()).map(|(cell, _)| cell).collect();
        let pairs = ruled.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(a, b)| is_same_communicator(*a, *b) && has_hole(rules, release, *a, *b)).collect()
    }

    /// Puts the gains that fresh launches confirmed into a decision tree, in place of those of the timings for tuning.
    pub fn confirm(&self, tree: &mut Tree) {
        if self.round.is_none() {
            return;
        }
        for branch in &mut tree.collectives {
            for range in &mut branch.ranges {
                for evidence in range.leaves.iter_mut().filter_map(|leaf| leaf.evidence.as_mut()) {
                    let (first, last) = evidence.messages;
                    let is_here = |cell: Cell| range.ranks.holds(cell.ranks) && (first..=last).contains(&cell.bytes);
                    let confirmed = self
                        .of_collective(branch.collective)
                        .filter(|(cell, gain)| is_here(*cell) && gain.state.is_confirmed());
                    let speedups: Vec<Estimate> = confirmed.filter_map(|(_, gain)| gain.speedup).collect();
                    let Some(mean) = mean_speedup(None, speedups.iter().copied()) else { continue };
                    let points = || speedups.iter().map(|speedup| speedup.point);
                    evidence.gain = LeafGain {
                        mean: mean.point,
                        interval: mean.low.zip(mean.high),
                        least: points().fold(f64::INFINITY, f64::min),
                        most: points().fold(0.0, f64::max),
                    };
                }
            }
        }
    }

    /// All sizes in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cell, CellGain)> {
        self.cells.iter().map(|(cell, gain)| (*cell, *gain))
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
        self.iter().filter(move |(cell, _)| cell.collective == collective)
    }

    /// The number of cells in such a state.
    pub fn count(&self, is_wanted: impl Fn(SizeState) -> bool) -> usize {
        self.cells.values().filter(|gain| is_wanted(gain.state)).count()
    }

    /// The geometric mean over all cells with a speedup, of those that a filter lets pass. Under settings, sizes that
    /// refinement added do not count, as in the mean over all.
    pub fn mean(&self, filter: impl Fn(&Cell) -> bool) -> Option<Estimate> {
        let counts = |cell: &Cell| filter(cell) && (self.chosen.is_none() || self.asked.contains(cell));
        let speedups = self.cells.iter().filter(|(cell, _)| counts(cell)).filter_map(|(_, gain)| gain.speedup);
        mean_speedup(self.round.filter(|_| self.chosen.is_none()), speedups)
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
        Some((self.mean(|_| true)?, over))
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
        let tried = counted(self.removed.len() - untried, "size");
        let dropped = format!("Rules for {tried} were tried and dropped: {}.", each.join(", "));
        let left_out = format!("Rules for {} were left out: no time to compare them.", counted(untried, "size"));
        let said: Vec<String> =
            [(!each.is_empty()).then_some(dropped), (untried > 0).then_some(left_out)].into_iter().flatten().collect();
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
    pub fn ranges(&self) -> Vec<GainRange> {
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
            let speedup = mean_speedup(None, cells.iter().filter_map(|(_, gain)| gain.speedup))?;
            let Cell { collective, ranks, bytes } = first;
            is_shown(cells[0].1.state).then_some(GainRange {
                collective,
                ranks,
                first: bytes,
                last: last.bytes,
                speedup,
            })
        };
        all.chunk_by(joined).filter_map(range).collect()
    }

    /// Returns true if the files do something else between two neighbours with rules.
    pub(crate) fn has_hole(&self, one: Cell, next: Cell) -> bool {
        self.holes.contains(&(one, next))
    }
}

fn is_same_communicator(one: Cell, other: Cell) -> bool {
    (one.collective, one.ranks) == (other.collective, other.ranks)
}

/// The speedup of two changes that were compared one on top of the other, in different launches.
fn multiply(one: Estimate, other: Estimate) -> Estimate {
    let point = one.point * other.point;
    let half = |end: fn(&Estimate) -> Option<f64>| {
        let log = |estimate: &Estimate| Some((end(estimate)? / estimate.point).ln());
        Some(log(&one)?.hypot(log(&other)?))
    };
    let (low, high) = (half(|estimate| estimate.low), half(|estimate| estimate.high));
    Estimate { point, low: low.map(|half| point * (-half).exp()), high: high.map(|half| point * half.exp()), ..other }
}

/// The geometric mean of speedups, with the geometric means of the ends of their intervals. If they are all of a round,
/// it is the round's own estimate, which has the pairs of launches for its units.
pub(crate) fn mean_speedup(round: Option<&Round>, speedups: impl Iterator<Item = Estimate>) -> Option<Estimate> {
    let all: Vec<Estimate> = speedups.collect();
    if let Some(own) = round.filter(|round| round.cells.len() == all.len()).and_then(|round| round.speedup) {
        return Some(own);
    }
    let ends = |end: fn(&Estimate) -> Option<f64>| all.iter().map(end).collect::<Option<Vec<f64>>>();
    let mean = |values: Option<Vec<f64>>| values.and_then(geometric_mean);
    Some(Estimate {
        point: geometric_mean(all.iter().map(|speedup| speedup.point))?,
        low: mean(ends(|speedup| speedup.low)),
        high: mean(ends(|speedup| speedup.high)),
        level: all.first()?.level,
        samples: all.len(),
    })
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Release;

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
        assert_eq!(gain(&faster), CellGain { state: SizeState::Removed(Removal::Shared), speedup: None });
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
        let speedup = found.round.cells[0].speedup;
        let own = Estimate { point: 2.0, low: Some(1.95), high: Some(2.05), level: 0.95, samples: 4 };
        found.round.speedup = Some(own);
        let round = Some(&found.round);
        assert_eq!(mean_speedup(round, [speedup].into_iter()), Some(own));
        let two = mean_speedup(round, [speedup, Estimate { point: 8.0, ..speedup }].into_iter()).expect("two");
        assert!((two.point - 4.0).abs() < 1e-12 && two.low == Some(1.8), "{two:?}");
        assert_eq!(mean_speedup(round, std::iter::empty()), None);
    }
}
