//! Clock file of a run, in sentences for the findings.

use collrules_record::clock::{ClockCheck, ClockFact, ClockLine, Harness, LaunchEnd, SyncMethod};
use collrules_record::findings::Findings;
use collrules_record::units::Seconds;
use collrules_rules::words::counted;

/// Resolution of a time in steps of the clock: a reading is wrong by up to a step at either end of a call.
const RESOLVED_STEPS: f64 = 2.0;

/// Describes the measuring code and clocks; empty for a run without a clock file.
pub(crate) fn of_clock(lines: &[ClockLine]) -> Vec<String> {
    let harness: Vec<&Harness> = facts(lines, |fact| if let ClockFact::Harness(it) = fact { Some(it) } else { None });
    let checks: Vec<&ClockCheck> = facts(lines, |fact| if let ClockFact::Check(it) = fact { Some(it) } else { None });
    let ends: Vec<&LaunchEnd> = facts(lines, |fact| if let ClockFact::End(it) = fact { Some(it) } else { None });
    let Some(first) = harness.first() else { return Vec::new() };
    let largest = |value: fn(&Harness) -> Seconds| Seconds(harness.iter().map(|it| value(it).0).fold(0.0, f64::max));
    let mut remarks = vec![format!(
        "Clock and harness, in the worst launch: clock step {}; time of an empty call {}; overhead per timed call {}, \
         without the call and its synchronisation; start skew between ranks {} (median).",
        largest(|it| it.step),
        largest(|it| it.empty_call),
        largest(|it| it.turn),
        largest(|it| it.exit_skew),
    )];
    if first.sync == SyncMethod::RoundTime {
        let error = checks.iter().map(|check| check.error.0).fold(0.0, f64::max);
        let set_anew = checks.iter().filter(|check| check.set_anew).count();
        let sum = |value: fn(&LaunchEnd) -> u64| ends.iter().map(|end| value(end)).sum::<u64>();
        remarks.push(format!(
            "Calls began at agreed times on a common clock made of {}: off by {} at most in {}, and adjusted {}. Of {} \
             calls, {} were repeated because a rank was late, and {} were abandoned.",
            counted(first.clocks, "clock"),
            Seconds(error),
            counted(checks.len(), "check"),
            counted(set_anew, "time"),
            sum(|end| end.calls),
            sum(|end| end.repeated),
            counted(sum(|end| end.given_up), "round"),
        ));
    }
    remarks
}

/// Remark on discarded rounds, in which ranks were late for the agreed start of calls.
pub(crate) fn too_late(lines: &[ClockLine]) -> Option<String> {
    let ends = facts(lines, |fact| if let ClockFact::End(it) = fact { Some(it) } else { None });
    let sum = |value: fn(&LaunchEnd) -> u64| ends.iter().map(|end| value(end)).sum::<u64>();
    (sum(|end| end.given_up) > 0).then(|| {
        format!(
            "ranks were late {} times for {} calls with agreed start times, since other processes use their \
             processors; measure without --sync roundtime, or with a processor for each rank",
            sum(|end| end.late),
            sum(|end| end.calls),
        )
    })
}

/// Reports the number of points whose times are below the resolution of the clock.
pub(crate) fn under_resolution(findings: &Findings) -> Option<String> {
    let least = RESOLVED_STEPS * findings.criteria.clock_step.0;
    let points = || findings.cells.iter().flat_map(|cell| &cell.points);
    let under = points().filter(|point| point.time.point < least).count();
    (under > 0).then(|| {
        format!(
            "{under} of {} took less than {}, two steps of the clock: these times are not more exact than that.",
            counted(points().count(), "point"),
            Seconds(least),
        )
    })
}

fn facts<'a, T>(lines: &'a [ClockLine], pick: impl Fn(&'a ClockFact) -> Option<&'a T>) -> Vec<&'a T> {
    lines.iter().filter_map(|line| pick(&line.fact)).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::units::Ranks;

    use super::*;

    fn harness(sync: SyncMethod) -> ClockLine {
        let fact = ClockFact::Harness(Harness {
            sync,
            ranks: Ranks(4),
            step: Seconds(3e-8),
            empty_call: Seconds(4e-8),
            turn: Seconds(8e-8),
            barrier: Seconds(1e-6),
            exit_skew: Seconds(2e-7),
            exit_skew_high: Seconds(5e-7),
            clocks: 2,
            known_error: None,
            resident: None,
            cache: None,
        });
        ClockLine { launch: 0, fact }
    }

    #[test]
    fn a_run_without_clock_file_says_nothing() {
        assert!(of_clock(&[]).is_empty());
    }

    #[test]
    fn the_common_clock_is_spoken_of_where_there_is_one() {
        let text = of_clock(&[harness(SyncMethod::Barrier)]);
        assert_eq!(text.len(), 1);
        assert!(text[0].contains("overhead per timed call 80 ns"), "{text:?}");
        let check = ClockFact::Check(ClockCheck {
            at: Seconds(1.0),
            error: Seconds(3e-6),
            bound: Seconds(1e-6),
            uncertainty: Seconds(2e-7),
            set_anew: true,
            drift: 1e-6,
        });
        let text = of_clock(&[harness(SyncMethod::RoundTime), ClockLine { launch: 0, fact: check }]);
        assert!(text[1].contains("made of 2 clocks: off by 3 µs at most in 1 check, and adjusted 1 time."), "{text:?}");
    }
}
