//! The result of a rules file in fresh launches: in the calls that decide on its rules, and in other calls.

use std::collections::BTreeMap;

use collrules_record::condition::Condition;
use collrules_record::estimate::{geometric_mean, student_quantile};
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::{Guard, Settings};
use collrules_record::validation::{Check, FailedCell, Outcome, Round, ValidatedCell, ValidationCriteria};
use collrules_record::{Bytes, CallRule, Cell, Estimate, HanRule};
use collrules_rules::Choice;

use crate::comparison::{ArmDemand, Compared, SubjectResult, class, decide};

/// Properties of a cell that are known before the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellFacts {
    /// True if it was measured for tuning.
    pub tuned: bool,
    /// Choice of the rules file.
    pub in_use: Choice,
    /// True if the file does not affect it.
    pub control: bool,
    /// Rule of HAN's file.
    pub han: HanRule,
    /// True if the file is looked up in its calls, with or without a rule for it.
    pub looked_up: bool,
}

impl CellFacts {
    /// The rule of the files.
    pub fn rule(self) -> CallRule {
        (self.in_use, self.han)
    }

    /// Returns true if a rule of coll/tuned or of HAN acts on it.
    pub fn is_ruled(self) -> bool {
        self.rule() != CallRule::default()
    }

    /// Returns true if nothing acts on its calls, of short messages, but that the file is looked up in them.
    pub fn feels_lookups(self, bytes: Bytes) -> bool {
        self.control && self.looked_up && class(bytes) == 0
    }
}

/// The longest time of a lookup in a file of few rules, in seconds: 15 to 25 ns were measured (RESULTS.md, "Side by side").
pub const LOOKUP: f64 = 25e-9;

/// The comparison of an arm in the calls that decide.
pub fn describe_round(
    compared: &Compared,
    arm: &Settings,
    (decided, min_difference): (Condition, f64),
    known: impl Fn(Cell) -> CellFacts,
) -> Round {
    let mut round = describe_subjects(compared, arm, decided, &known, |it| it.verdict);
    fill_holes(&mut round.cells, min_difference);
    round.speedup = compared.of(arm).and_then(|result| result.speedup);
    Round { control: compared.control, apart: compared.apart.clone(), ..round }
}

/// The subjects of an arm under a condition, with these verdicts.
fn describe_subjects(
    compared: &Compared,
    arm: &Settings,
    condition: Condition,
    known: &impl Fn(Cell) -> CellFacts,
    verdict: impl Fn(&SubjectResult) -> Outcome,
) -> Round {
    let result = compared.of(arm);
    let is_under = |subject: &ArmSubject| subject.condition() == Some(condition);
    let subjects = result.iter().flat_map(|result| &result.subjects).filter(|it| is_under(&it.subject));
    let describe_cell = |it: &SubjectResult| {
        let cell = it.subject.cell()?;
        let CellFacts { tuned, in_use, control, han, .. } = known(cell);
        let &SubjectResult { without, with, speedup, q_value, .. } = it;
        let verdict = verdict(it);
        Some(ValidatedCell { cell, tuned, in_use, control, han, without, with, speedup, q_value, verdict })
    };
    let cells = subjects.filter_map(describe_cell).collect();
    let barred = compared.barred.iter().filter(|(_, subject, _)| is_under(subject));
    let failed = barred.filter_map(|(barred, subject, why)| {
        Some(FailedCell { cell: subject.cell()?, with: barred == arm, why: why.clone() })
    });
    Round { pairs: result.map_or(0, |result| result.pairs), cells, failed: failed.collect(), ..Round::default() }
}

/// Decides sizes that are undecided between two for which the same choice is faster, with what these show: speedups are
/// smooth in the logarithm of the size. The mean of three neighbours, the middle one with twice the weight, is right for a
/// straight line. A size that does not point to a gain by itself, or to another one than its neighbours, stays undecided.
fn fill_holes(cells: &mut [ValidatedCell], min_difference: f64) {
    let before = cells.to_vec();
    let holes = before.windows(3).zip(cells.iter_mut().skip(1)).filter(|(around, _)| is_hole(around));
    for (around, hole) in holes {
        let weights = [0.25, 0.5, 0.25];
        let speedups = weights.into_iter().zip(around.iter().map(|cell| cell.speedup));
        let Some(Estimate { point, low, high, .. }) = Estimate::product_of_powers(speedups) else { continue };
        if low.is_some_and(|low| low > 1.0) && point >= 1.0 + min_difference {
            hole.speedup = Estimate { point, low, high, ..hole.speedup };
            hole.verdict = Outcome::Faster;
        }
    }
}

/// Charges a rules file with what its lookups cost. A lookup takes as long at each size of a collective on a communicator, so the
/// mean over short messages without a rule tells how much they lose by it, and one that is slower by itself that they do: if they
/// lose more than `max_loss`, all of them are slower, and none otherwise.
pub fn charge_lookups(cells: &mut [ValidatedCell], max_loss: f64, known: impl Fn(Cell) -> CellFacts) {
    let feels = |it: &ValidatedCell| known(it.cell).feels_lookups(it.cell.bytes);
    for block in cells.chunk_by_mut(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        let mut short: Vec<&mut ValidatedCell> = block.iter_mut().filter(|it| feels(it)).collect();
        let mean = geometric_mean(short.iter().map(|it| it.speedup.point));
        let is_large = mean.is_some_and(|mean| mean <= 1.0 - max_loss);
        let is_shown = short.iter().any(|it| it.verdict == Outcome::Slower);
        for cell in short.iter_mut().filter(|_| is_shown) {
            match cell.verdict {
                _ if is_large => (cell.verdict, cell.control) = (Outcome::Slower, false),
                Outcome::Slower => cell.verdict = Outcome::Undecided,
                _ => {}
            }
        }
    }
}

fn is_hole(around: &[ValidatedCell]) -> bool {
    let [below, cell, above] = around else { return false };
    let rule = |it: &ValidatedCell| (it.cell.collective, it.cell.ranks, it.rule());
    let is_alike = [below, above].iter().all(|it| rule(it) == rule(cell) && it.verdict == Outcome::Faster);
    let between = (below.speedup.point * above.speedup.point).sqrt();
    let agrees = cell.speedup.point > 1.0 && cell.speedup.high.is_none_or(|high| high >= between);
    is_alike && cell.is_ruled() && cell.verdict == Outcome::Undecided && agrees
}

/// The comparison of an arm's rules under another condition; `ruled` are the cells with a rule.
pub fn describe_check(
    compared: &Compared,
    arm: &Settings,
    condition: Condition,
    (ruled, max_loss): (&[Cell], f64),
    known: impl Fn(Cell) -> CellFacts,
) -> Check {
    let outcome = |it: &SubjectResult| match it.guard {
        Guard::Lost => Outcome::Slower,
        Guard::Passed if it.speedup.low.is_some_and(|low| low > 1.0) => Outcome::Faster,
        Guard::Passed => Outcome::Same,
        Guard::Undecided => Outcome::Undecided,
    };
    let must_exclude =
        |it: &SubjectResult| it.subject.condition() == Some(condition) && it.demand == ArmDemand::ExcludeLoss;
    let must_exclude = compared.of(arm).is_some_and(|result| result.subjects.iter().any(must_exclude));
    let round = describe_subjects(compared, arm, condition, &known, outcome);
    let tried = round.known();
    let untried = ruled.iter().copied().filter(|cell| !tried.contains(cell)).collect();
    Check { condition, round, max_loss, must_exclude, untried }
}

/// A difference that the phases of a machine make: a call of 0.3 us takes 1 us for some minutes.
const PHASE: f64 = 1e-6;

/// Least number of sizes whose differences between stretches are pooled.
const LEAST_POOLED: usize = 3;

/// Half the width of the interval of a mean of two stretches, by these differences of log speedups between them: Student's t
/// with a degree of freedom from each. None of few, for which t is so large that the interval says nothing.
fn reach_of_phases(differences: &[f64], level: f64) -> f64 {
    let degrees = differences.len() as f64;
    let variance = differences.iter().map(|it| it * it).sum::<f64>() / degrees / 4.0;
    if differences.len() < LEAST_POOLED { 0.0 } else { student_quantile(level, degrees) * variance.sqrt() }
}

/// Adds a later stretch of launches to a comparison, in which some of its cells were timed again. Speedups are the means of
/// both stretches, each with the same weight since what differs most is the machine. Their intervals are at least as wide as
/// the stretches are apart, and contain the variance between stretches, pooled over a class of sizes. What was faster remains so
/// if the later stretch points to a gain, and both together show one; differences of less than 1 us have to be shown in both.
pub fn add_stretch(round: &mut Round, later: &Round, criteria: ValidationCriteria) {
    let again: BTreeMap<Cell, &ValidatedCell> = later.cells.iter().map(|again| (again.cell, again)).collect();
    let mut differences: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (cell, again) in round.cells.iter().filter_map(|cell| Some((cell, again.get(&cell.cell)?))) {
        let difference = (cell.speedup.point / again.speedup.point).ln();
        differences.entry(class(cell.cell.bytes)).or_default().push(difference);
    }
    for cell in &mut round.cells {
        let Some(again) = again.get(&cell.cell) else { continue };
        let phases = reach_of_phases(&differences[&class(cell.cell.bytes)], cell.speedup.level);
        let is_large = |it: &ValidatedCell| (it.without.point - it.with.point).abs() >= PHASE;
        let is_large = is_large(cell) && is_large(again);
        cell.speedup = mean_of_stretches(cell.speedup, again.speedup, phases);
        let is_seen_again =
            again.verdict == Outcome::Faster || is_large && again.speedup.point >= 1.0 + criteria.min_difference;
        cell.verdict = match (cell.verdict, again.verdict) {
            (_, Outcome::Slower) => Outcome::Slower,
            (Outcome::Faster, _) if is_seen_again && cell.speedup.low.is_some_and(|low| low > 1.0) => Outcome::Faster,
            // No gain that is seen twice. A rule may stay so between sizes that gain, if a loss is excluded.
            (Outcome::Faster, _) if is_large && excludes_loss(cell.speedup, criteria) => Outcome::Same,
            _ => decide(cell.speedup, None, criteria),
        };
        cell.without = mean_of_stretches(cell.without, again.without, 0.0);
        cell.with = mean_of_stretches(cell.with, again.with, 0.0);
    }
    round.failed.extend(later.failed.iter().filter(|failed| failed.with).cloned());
    // The mean is over other cells than those that are left.
    round.speedup = None;
}

/// Returns true if no difference beyond what counts as the same is possible in the direction of a loss.
pub(crate) fn excludes_loss(speedup: Estimate, criteria: ValidationCriteria) -> bool {
    speedup.low.is_some_and(|low| low * (1.0 + criteria.same_within) >= 1.0)
}

fn mean_of_stretches(one: Estimate, other: Estimate, phases: f64) -> Estimate {
    let mean = Estimate::product_of_independent([one, other].map(|it| (0.5, it))).unwrap_or(one);
    let apart = (one.point / other.point).ln().abs() / 2.0;
    let factor = mean.low.map(|low| (mean.point / low).ln().max(apart).max(phases).exp());
    let (low, high) = (factor.map(|factor| mean.point / factor), factor.map(|factor| mean.point * factor));
    Estimate { low, high, ..mean }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    fn compared(without: f64, speedup: f64, verdict: Outcome) -> Round {
        let cell = Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(512) };
        let near = |point: f64, by: f64| Estimate {
            point,
            low: Some(point / by),
            high: Some(point * by),
            level: 0.95,
            samples: 8,
        };
        let cell = ValidatedCell {
            cell,
            tuned: true,
            in_use: Choice::plain(6),
            control: false,
            han: HanRule::Default,
            without: near(without, 1.01),
            with: near(without / speedup, 1.01),
            speedup: near(speedup, 1.05),
            q_value: None,
            verdict,
        };
        Round { pairs: 8, cells: vec![cell], ..Round::default() }
    }

    #[test]
    fn a_gain_is_seen_in_both_stretches_or_is_none() {
        use Outcome::{Faster, Same, Slower, Undecided};
        let verdict = |first: (f64, f64, Outcome), later: (f64, f64, Outcome)| {
            let mut round = compared(first.0, first.1, first.2);
            add_stretch(&mut round, &compared(later.0, later.1, later.2), ValidationCriteria::default());
            round.cells[0].verdict
        };
        let (long, short) = (1e-3, 5e-7);
        assert_eq!(verdict((long, 1.2, Faster), (long, 1.1, Undecided)), Faster);
        assert_eq!(verdict((long, 1.2, Faster), (long, 0.93, Undecided)), Undecided);
        assert_eq!(verdict((long, 1.2, Faster), (long, 0.8, Slower)), Slower);
        assert_eq!(verdict((long, 1.04, Faster), (long, 1.01, Undecided)), Same, "no loss");
        assert_eq!(verdict((long, 1.04, Faster), (long, 0.9, Undecided)), Undecided);
        assert_eq!(verdict((long, 1.0, Same), (long, 1.0, Undecided)), Same);
        // The phase of a machine makes as much.
        assert_eq!(verdict((short, 1.2, Faster), (short, 1.1, Undecided)), Undecided);
        assert_eq!(verdict((short, 1.2, Faster), (short, 1.1, Faster)), Faster);
        assert_eq!(verdict((2e-6, 4.0, Faster), (4.5e-7, 1.1, Undecided)), Undecided, "the other phase is short");
        let (mut round, mut later) = (compared(long, 1.2, Faster), compared(long, 1.1, Undecided));
        later.cells[0].speedup.low = Some(0.6);
        add_stretch(&mut round, &later, ValidationCriteria::default());
        assert_eq!(round.cells[0].verdict, Undecided, "both together show no gain: {:?}", round.cells[0].speedup);
        // Sizes that gain 1.1x in one phase and 2x in the other gain anything in a third.
        let sizes = |speedups: [f64; 4]| {
            let cells = speedups.iter().zip(1..).map(|(speedup, bytes)| {
                let mut found = compared(long, *speedup, Faster).cells.remove(0);
                found.cell.bytes = Bytes(bytes);
                found
            });
            Round { cells: cells.collect(), ..Round::default() }
        };
        let verdicts = |first, later| {
            let mut round = sizes(first);
            add_stretch(&mut round, &sizes(later), ValidationCriteria::default());
            round.cells.iter().map(|it| it.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts([1.1, 1.1, 1.15, 1.2], [1.1, 2.0, 2.1, 2.2])[0], Undecided);
        assert_eq!(verdicts([1.3, 1.4, 1.5, 1.6], [1.4, 1.4, 1.6, 1.5]), [Faster; 4]);
    }

    /// On a machine whose speedups have a phase in each stretch, which is the size's own or that of all.
    #[test]
    fn intervals_contain_the_variance_between_stretches() {
        const PHASES: f64 = 0.15;
        let covered = |sizes: u64, own: f64| {
            let is_covered = |seed: &u64| {
                let mut rng = ChaCha8Rng::seed_from_u64(*seed);
                let mut normal = || rng.sample::<f64, _>(StandardNormal) * PHASES;
                let mut stretch = || {
                    let all = normal();
                    let cells = (1..=sizes).map(|bytes| {
                        let phase = own.sqrt() * normal() + (1.0 - own).sqrt() * all;
                        let mut found = compared(1e-4, 2.0 * phase.exp(), Outcome::Faster).cells.remove(0);
                        found.cell.bytes = Bytes(bytes);
                        found
                    });
                    Round { cells: cells.collect(), ..Round::default() }
                };
                let (mut first, later) = (stretch(), stretch());
                add_stretch(&mut first, &later, ValidationCriteria::default());
                let Estimate { low, high, .. } = first.cells[0].speedup;
                low.is_some_and(|low| low <= 2.0) && high.is_some_and(|high| high >= 2.0)
            };
            (1..=200).filter(is_covered).count()
        };
        assert!(covered(8, 1.0) >= 186, "{}", covered(8, 1.0));
        assert!(covered(3, 1.0) >= 186, "{}", covered(3, 1.0));
        // One phase of all sizes is seen twice only: what METHODOLOGY says.
        assert!((130..170).contains(&covered(8, 0.0)), "{}", covered(8, 0.0));
        assert!((90..150).contains(&covered(1, 1.0)), "{}", covered(1, 1.0));
    }

    #[test]
    fn the_interval_reaches_from_one_stretch_to_the_other() {
        let mut found = compared(1e-4, 2.0, Outcome::Faster);
        add_stretch(&mut found, &compared(1e-4, 1.2, Outcome::Faster), ValidationCriteria::default());
        let speedup = found.cells[0].speedup;
        assert!((speedup.point - 2.4_f64.sqrt()).abs() < 1e-9, "{speedup:?}");
        assert!(speedup.low.is_some_and(|low| (low - 1.2).abs() < 1e-9), "{speedup:?}");
        assert!(speedup.high.is_some_and(|high| (high - 2.0).abs() < 1e-9), "{speedup:?}");
    }
}
