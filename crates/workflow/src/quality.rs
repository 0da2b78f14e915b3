//! Doubts about a run's numbers, by what was measured.

use collrules_record::Seconds;
use collrules_record::clock::{ClockFact, ClockLine};
use collrules_record::validation::{Outcome, Round, ValidatedCell, Validation};
use collrules_report::gains::Gains;
use collrules_tuner::results::limitation::PoorData;

/// Ratio of barrier times between launches above which other work on the machine is likely.
const BARRIERS: f64 = 1.5;

/// Difference, as a share, that fresh launches should detect in at least half of the sizes.
const RESOLUTION: f64 = 0.1;

/// Share of sizes that nothing acts on, and number of them, from which on their differences are not chance.
const CONTROLS: (f64, usize) = (0.1, 3);

/// Reasons to doubt the numbers of a run; none if nothing points to noise.
pub(crate) fn doubts(clock: &[ClockLine], validation: Option<&Validation>) -> Vec<PoorData> {
    let barriers = uneven(clock.iter().filter_map(|line| match &line.fact {
        ClockFact::Harness(harness) => Some(harness.barrier.0),
        _ => None,
    }));
    let mut doubts = Vec::new();
    doubts.extend(barriers.map(|(least, most)| PoorData::Barriers(least, most)));
    if let Some(validation) = validation {
        let round = &validation.round;
        doubts.extend(of_round(round));
        let gains = Gains::of_comparison(validation);
        doubts.extend(undecided(&gains));
        // Jobs that take turns share the phases of the machine.
        let barriers = barriers.filter(|_| round.apart.is_some());
        doubts.extend(barriers.and_then(|(least, most)| below(&gains, round, most.0 - least.0)));
    }
    doubts
}

/// Reasons to doubt a comparison.
pub(crate) fn of_round(round: &Round) -> Vec<PoorData> {
    blurred(round).into_iter().chain(controls(round)).collect()
}

/// The quartiles of barriers, if launches differ in them: a single disturbed launch says nothing about the others.
fn uneven(barriers: impl Iterator<Item = f64>) -> Option<(Seconds, Seconds)> {
    let mut barriers: Vec<f64> = barriers.filter(|seconds| *seconds > 0.0).collect();
    barriers.sort_by(f64::total_cmp);
    let last = barriers.len().checked_sub(1)?;
    let (least, most) = (barriers[last / 4], barriers[last - last / 4]);
    (most > least * BARRIERS).then_some((Seconds(least), Seconds(most)))
}

/// Doubt about wide intervals of fresh launches.
fn blurred(round: &Round) -> Option<PoorData> {
    round.resolution().filter(|difference| *difference > RESOLUTION).map(PoorData::Blurred)
}

/// Doubt about a comparison that decides little.
fn undecided(gains: &Gains<'_>) -> Option<PoorData> {
    let fates = gains.fates();
    let tried = fates.confirmed + fates.dropped + fates.undecided;
    (2 * fates.undecided > tried).then_some(PoorData::Undecided(fates.undecided, tried))
}

/// Doubt about gains that are smaller than the phases of the machine.
fn below(gains: &Gains<'_>, round: &Round, spread: f64) -> Option<PoorData> {
    let is_confirmed = |cell: &&ValidatedCell| gains.get(cell.cell).state.is_confirmed();
    let confirmed: Vec<&ValidatedCell> = round.cells.iter().filter(is_confirmed).collect();
    let below = confirmed.iter().filter(|cell| cell.without.point - cell.with.point < spread).count();
    (2 * below > confirmed.len()).then_some(PoorData::BelowBarriers(below, confirmed.len()))
}

/// Doubt about launches that differ where no rule acts. With a control of its own a comparison knows what chance makes, so
/// that only losses count: Open MPI takes other ways to the same algorithm if a file is active, mostly faster ones.
fn controls(round: &Round) -> Option<PoorData> {
    let controls = || round.cells.iter().filter(|cell| cell.control);
    let differs = |cell: &&ValidatedCell| match cell.verdict {
        Outcome::Faster => round.control.is_none(),
        Outcome::Slower => true,
        Outcome::Same | Outcome::Undecided => false,
    };
    let other = controls().filter(differs).count();
    let (share, least) = CONTROLS;
    (other >= least && other as f64 > share * controls().count() as f64)
        .then_some(PoorData::Controls(other, controls().count()))
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Cell, Estimate, HanRule, Ranks};
    use collrules_rules::{Choice, Collective};

    use super::*;

    /// A comparison of four sizes without a rule.
    fn without_rules(verdicts: [Outcome; 4], control: Option<Estimate>) -> Round {
        let one = Estimate { point: 1.0, low: Some(0.99), high: Some(1.01), level: 0.95, samples: 8 };
        let cell = |(exponent, verdict): (u32, _)| ValidatedCell {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(1_u64 << exponent) },
            tuned: true,
            in_use: Choice::BUILTIN,
            control: true,
            han: HanRule::Default,
            without: one,
            with: one,
            speedup: one,
            q_value: None,
            verdict,
        };
        Round { pairs: 8, cells: (0..).zip(verdicts).map(cell).collect(), control, ..Round::default() }
    }

    #[test]
    fn gains_without_a_rule_are_doubted_unless_a_control_excludes_chance() {
        use Outcome::{Faster, Same, Slower};
        let control = Some(Estimate { point: 1.0, low: Some(0.99), high: Some(1.01), level: 0.99, samples: 8 });
        let doubt = |verdicts, control| controls(&without_rules(verdicts, control));
        assert_eq!(doubt([Faster, Faster, Slower, Same], None), Some(PoorData::Controls(3, 4)));
        assert_eq!(doubt([Faster, Faster, Faster, Same], control), None);
        assert_eq!(doubt([Slower, Slower, Slower, Same], control), Some(PoorData::Controls(3, 4)));
    }

    #[test]
    fn phases_are_doubted_and_a_single_disturbed_launch_is_not() {
        let uneven = |barriers: &[f64]| uneven(barriers.iter().copied());
        assert_eq!(uneven(&[2e-7, 2e-7, 2e-7, 2e-7, 2e-7, 9e-7]), None);
        let phases = uneven(&[2e-7, 9e-7, 2e-7, 9e-7, 2e-7, 9e-7, 2e-7, 9e-7]);
        assert_eq!(phases, Some((Seconds(2e-7), Seconds(9e-7))));
        assert_eq!(uneven(&[]), None);
    }
}
