//! Remarks on the measurement of a run, on its rules, and on its clocks.

use std::collections::BTreeSet;

use collrules_record::clock::{ClockCheck, ClockFact, ClockLine, Harness, LaunchEnd, SyncMethod};
use collrules_record::options::{Jobs, Launching};
use collrules_record::{Findings, Manifest, Remark, Seconds, Settings};
use collrules_rules::{Behaviour, Collective, han, registry};

/// Resolution of a time in steps of the clock: a reading is wrong by up to a step at either end of a call.
const RESOLVED_STEPS: f64 = 2.0;

/// Remarks for the findings of a run, with the lines of its clock file.
pub(crate) fn of_run(manifest: &Manifest, findings: &Findings, clock: &[ClockLine]) -> Vec<Remark> {
    let Manifest { survey, plan, pins, .. } = manifest;
    let mut remarks = Vec::from_iter(of_rules(findings));
    remarks.extend(manifest.is_simulated().then_some(Remark::Simulated));
    let (ranks, slots) = (plan.ranks, survey.slots());
    remarks.extend((ranks > slots).then_some(Remark::Oversubscribed { ranks, slots }));
    let preset = survey.preset.iter().map(|(name, value)| (name.clone(), value.clone()));
    remarks.extend(preset.map(|(name, value)| Remark::Preset { name, value }));
    remarks.extend((!pins.is_empty()).then(|| Remark::Pins(pins.clone())));
    remarks.extend(is_han_off(&manifest.experiment.system.jobs, pins).then_some(Remark::HanOff));
    remarks.extend(under_resolution(findings));
    remarks.extend(of_clock(clock));
    remarks
}

/// Returns true if `--disable-han` acted: settings of the user, and components that crash, pin priorities too.
fn is_han_off(jobs: &Jobs, pins: &Settings) -> bool {
    matches!(jobs, Jobs::Mpi(Launching { disable_han: true, .. }))
        && pins.get("coll_han_priority").is_some_and(|priority| priority == "0")
}

/// Rules for calls that HAN runs on several nodes, from timings that do not name the component.
pub(crate) fn of_unknown_component(findings: &Findings) -> Option<Remark> {
    let release = findings.release;
    let is_han =
        |collective: &Collective| Behaviour::latest(release).han_first && han::is_ruled(release, collective.id());
    let ruled: Vec<Collective> =
        findings.table.collectives().map(|(collective, _)| collective).filter(is_han).collect();
    (!ruled.is_empty()).then_some(Remark::HanUnknown(ruled))
}

/// Requirements of the chosen algorithms on programs.
pub(crate) fn of_rules(findings: &Findings) -> Option<Remark> {
    let ranges = findings.table.collectives().flat_map(|(collective, blocks)| {
        let choices = blocks.iter().flat_map(|(_, _, sizes)| sizes.iter().map(|(_, _, choice)| *choice));
        choices.map(move |choice| (collective, choice))
    });
    let touchy = ranges.filter(|(collective, choice)| {
        let algorithm = registry::algorithm(findings.release, *collective, choice.algorithm);
        algorithm.is_ok_and(|algorithm| algorithm.wants_one_datatype(choice.segsize))
    });
    let choices: BTreeSet<_> = touchy.collect();
    (!choices.is_empty()).then_some(Remark::Datatypes(choices))
}

/// Remarks on the measuring code and clocks; empty for a run without a clock file.
fn of_clock(lines: &[ClockLine]) -> Vec<Remark> {
    let harness: Vec<&Harness> = facts(lines, |fact| if let ClockFact::Harness(it) = fact { Some(it) } else { None });
    let checks: Vec<&ClockCheck> = facts(lines, |fact| if let ClockFact::Check(it) = fact { Some(it) } else { None });
    let ends: Vec<&LaunchEnd> = facts(lines, |fact| if let ClockFact::End(it) = fact { Some(it) } else { None });
    let Some(first) = harness.first() else { return Vec::new() };
    let largest = |value: fn(&Harness) -> Seconds| Seconds(harness.iter().map(|it| value(it).0).fold(0.0, f64::max));
    let mut remarks = vec![Remark::Clock {
        step: largest(|it| it.step),
        empty_call: largest(|it| it.empty_call),
        turn: largest(|it| it.turn),
        skew: largest(|it| it.exit_skew),
    }];
    if first.sync == SyncMethod::RoundTime {
        let sum = |value: fn(&LaunchEnd) -> u64| ends.iter().map(|end| value(end)).sum::<u64>();
        remarks.push(Remark::CommonClock {
            clocks: first.clocks,
            checks: checks.len(),
            error: Seconds(checks.iter().map(|check| check.error.0).fold(0.0, f64::max)),
            set_anew: checks.iter().filter(|check| check.set_anew).count(),
            calls: sum(|end| end.calls),
            repeated: sum(|end| end.repeated),
            given_up: sum(|end| end.given_up),
        });
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

/// Counts the points whose times are below the resolution of the clock.
fn under_resolution(findings: &Findings) -> Option<Remark> {
    let least = Seconds(RESOLVED_STEPS * findings.criteria.clock_step.0);
    let all = findings.cells.iter().flat_map(|cell| &cell.points);
    let points = all.filter(|point| point.time.point < least.0).count();
    (points > 0).then_some(Remark::Unresolved { points, least })
}

fn facts<'a, T>(lines: &'a [ClockLine], pick: impl Fn(&'a ClockFact) -> Option<&'a T>) -> Vec<&'a T> {
    lines.iter().filter_map(|line| pick(&line.fact)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use collrules_record::units::Ranks;
    use collrules_rules::Release;

    #[test]
    fn a_priority_of_the_user_does_not_say_that_han_was_switched_off() {
        let pins = |priority: &str| Settings::from([("coll_han_priority".to_owned(), priority.to_owned())]);
        let jobs = |disable_han| Jobs::Mpi(Launching { disable_han, ..Launching::default() });
        assert!(is_han_off(&jobs(true), &pins("0")));
        assert!(!is_han_off(&jobs(true), &Settings::new()), "there is one host");
        assert!(!is_han_off(&jobs(true), &pins("100")));
        assert!(!is_han_off(&jobs(false), &pins("100")));
        assert!(!is_han_off(&jobs(false), &pins("0")));
    }

    fn harness(sync: SyncMethod) -> ClockLine {
        let fact = ClockFact::Harness(Harness {
            sync,
            ranks: Ranks(4),
            step: Seconds(3e-8),
            empty_call: Seconds(4e-8),
            turn: Seconds(8e-8),
            barrier: Seconds(1e-6),
            exit_skew: Seconds(2e-7),
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
        let said = |lines: &[ClockLine]| {
            let findings = Findings { remarks: of_clock(lines), ..Findings::empty("", Release::V5_0) };
            collrules_report::remarks::remarks(&findings)
        };
        let text = said(&[harness(SyncMethod::Barrier)]);
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
        let text = said(&[harness(SyncMethod::RoundTime), ClockLine { launch: 0, fact: check }]);
        assert!(text[1].contains("of 2 clocks: 3 µs off at most in 1 check, set anew 1 time"), "{text:?}");
    }
}
