//! The verdict on a tuning, and the last screen: gains of each arm or collective, what was left out, doubts, and the next
//! command.

use std::fmt;

use collrules_record::Cell;
use collrules_record::findings::{CellFinding, Findings, Statistic, Verdict};
use collrules_record::profile::weight::Weight;
use collrules_record::reason::KeepReason;
use collrules_record::remark::Remark;
use collrules_record::settings::{RulesUse, SettingsFindings};
use collrules_record::units::Seconds;
use collrules_record::validation::{Outcome, Validation};
use collrules_rules::words::{counted, first_lines, listed};

use crate::context::Context;
use crate::document::SIMULATED;
use crate::gains::{GainRange, Gains, SizeState, is_same_communicator};
use crate::summary::sizes;
use crate::words::{describe_control, ratio, times};
use crate::{plain, quality, settings};

/// Lines of the last screen.
const LINES: usize = 8;

/// Number of collectives or communicators whose gains get a line each.
const ROWS: usize = 3;

/// Number of ranges of sizes in a line.
const RANGES: usize = 3;

/// Verdict on a tuning in a word or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictWord {
    /// Fresh launches confirmed all that it changes.
    Confirmed,
    /// They did not, or there were none.
    NotConfirmed,
    /// It changes nothing, since nothing is decided.
    Undecided,
    /// It changes nothing, since nothing is shown to be faster.
    NoDifference,
}

impl fmt::Display for VerdictWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Confirmed => "CONFIRMED",
            Self::NotConfirmed => "NOT CONFIRMED",
            Self::Undecided => "Undecided",
            Self::NoDifference => "No difference",
        })
    }
}

/// Verdict on a tuning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningVerdict {
    /// The verdict.
    pub word: VerdictWord,
    /// Its reason, or what was confirmed.
    pub why: String,
}

impl fmt::Display for TuningVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}.", self.word, self.why)
    }
}

fn verdict(word: VerdictWord, why: impl Into<String>) -> TuningVerdict {
    TuningVerdict { word, why: why.into() }
}

/// The verdict on a tuning.
pub fn tuning_verdict(findings: &Findings, context: &Context<'_>) -> TuningVerdict {
    let gains = &context.gains;
    let has_rules = gains.have_rules();
    let not_confirmed = |why: &str| verdict(VerdictWord::NotConfirmed, why);
    if gains.chosen.is_some() && context.settings.is_some_and(SettingsFindings::loses) {
        return not_confirmed("the settings make something slower");
    }
    if gains.chosen.is_none() && findings.cells.is_empty() && context.validation.is_none() {
        return verdict(VerdictWord::Undecided, "nothing was measured");
    }
    let is_compared = context.validation.is_some() || gains.chosen.is_some();
    match context.validation.filter(|_| has_rules) {
        Some(validation) if !context.open_layouts.is_empty() && validation.is_confirmed() => {
            let layouts: Vec<String> = context.open_layouts.iter().map(|layout| format!("--layout {layout}")).collect();
            return not_confirmed(&format!("fresh launches with {} have not confirmed the rules", listed(&layouts)));
        }
        Some(validation) => {
            let found = rules_verdict(validation, gains);
            if found.word == VerdictWord::NotConfirmed || gains.chosen.is_none() && found.word != VerdictWord::Confirmed
            {
                return found;
            }
        }
        None if is_compared => {}
        None if findings.changes_nothing() => {
            let open = findings.cells.iter().filter(|cell| cell.is_open(findings.criteria.min_gain)).count();
            let unreached = count_unreached(findings);
            let all = counted(findings.cells.len() + unreached, "size");
            let needs = if open == 1 { "needs" } else { "need" };
            let lacks_default =
                |cell: &&CellFinding| cell.verdict == Verdict::Keep { why: KeepReason::DefaultNotTimed };
            let undefaulted = findings.cells.iter().filter(lacks_default).count();
            return match (open, unreached) {
                (0, 0) if undefaulted > 0 => {
                    let why = format!("the default was not timed for {undefaulted} of {all}");
                    verdict(VerdictWord::Undecided, why)
                }
                (0, 0) => verdict(VerdictWord::NoDifference, "no algorithm is shown to be faster than the default"),
                (0, _) => verdict(VerdictWord::Undecided, format!("{unreached} of {all} were not reached")),
                (_, 0) => verdict(VerdictWord::Undecided, format!("{open} of {all} {needs} more timings")),
                _ => verdict(
                    VerdictWord::Undecided,
                    format!("{open} of {all} {needs} more timings, {unreached} were not reached"),
                ),
            };
        }
        None if findings.statistic != Statistic::RankMaximum => {
            return not_confirmed(
                "the rules rest on one campaign of imported timings, not on launches on this machine",
            );
        }
        None => return not_confirmed("the rules were not compared with the default in fresh launches"),
    }
    if let Some(why) = context.doubts.iter().find(|doubt| doubt.refutes()) {
        return not_confirmed(&format!("{}; run it again on a quiet machine", quality::describe_doubt(why)));
    }
    let with = gains.chosen.map_or(String::new(), |chosen| format!(" with {}", settings::name(&chosen.settings)));
    let faster = gains.overall().map_or(String::new(), |(speedup, over)| format!("{} {over}", ratio(speedup)));
    verdict(VerdictWord::Confirmed, format!("{faster}{with}"))
}

/// Number of planned sizes without any timing.
fn count_unreached(findings: &Findings) -> usize {
    let missing = findings.remarks.iter().find_map(|remark| match remark {
        Remark::NotMeasured { untimed, .. } => Some(*untimed),
        _ => None,
    });
    missing.unwrap_or(0)
}

/// The verdict on compared rules.
pub(crate) fn rules_verdict(validation: &Validation, gains: &Gains<'_>) -> TuningVerdict {
    let fates = gains.fates();
    let open = validation.verdicts(None).into_values().filter(|verdict| *verdict == Outcome::Undecided).count();
    let unreached = validation.round.unreached;
    let sizes = |count| counted(count, "size");
    if let Some(control) = validation.control_that_is_off().filter(|_| !validation.loses()) {
        return verdict(VerdictWord::NotConfirmed, describe_control(control));
    }
    let timed = gains.count(|state| state.is_confirmed() && state != SizeState::Between);
    match (validation.is_confirmed(), timed) {
        (true, 0) if fates.dropped + fates.undecided == 0 => {
            verdict(VerdictWord::NoDifference, "no size that was compared has a rule")
        }
        (true, 0) if fates.undecided > 0 => {
            verdict(VerdictWord::Undecided, format!("no rule is left; {} had no clear result", sizes(fates.undecided)))
        }
        (true, 0) => verdict(VerdictWord::NoDifference, "no rule is confirmed; the default stays for all calls"),
        (true, timed) => verdict(VerdictWord::Confirmed, format!("the rules for {}", sizes(timed))),
        (false, _) if validation.loses() => {
            verdict(VerdictWord::NotConfirmed, "the file makes calls slower, or they fail")
        }
        (false, _) if open == 0 => verdict(VerdictWord::NotConfirmed, format!("{} not compared", sizes(unreached))),
        (false, _) => verdict(VerdictWord::NotConfirmed, format!("the rules for {} are undecided", sizes(open))),
    }
}

/// A line for each collective and communicator size with gains, the largest first, with so many ranges of sizes at most:
/// `bcast, 2 ranks: 1.23x at 362 B to 512 B, 1.16x at 4 KiB to 6889 B`.
pub fn describe_gains(gains: &Gains<'_>, most_ranges: usize) -> Vec<String> {
    let ranges = gains.ranges();
    let of_row = |a: &GainRange, b: &GainRange| is_same_communicator(a.first, b.first);
    let mut rows: Vec<&[GainRange]> = ranges.chunk_by(of_row).collect();
    let most = |row: &[GainRange]| row.iter().map(|range| range.speedup.point).fold(0.0, f64::max);
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let describe = |row: &[GainRange]| {
        let parts = row.iter().map(|range| {
            let Cell { collective, bytes, .. } = range.first;
            let sizes = || format!(" at {}", sizes(collective, bytes, range.last.bytes));
            times(range.speedup.point) + &collective.has_sizes().then(sizes).unwrap_or_default()
        });
        let parts = first_lines(parts.collect(), most_ranges).join(", ");
        let Cell { collective, ranks, .. } = row[0].first;
        format!("{collective}, {}: {parts}", counted(ranks.0, "rank"))
    };
    rows.into_iter().map(describe).collect()
}

/// A line for each arm that was compared with the default, with a mark for what the tuning installs; none without a search
/// for settings that found something.
fn arms(context: &Context<'_>) -> Vec<String> {
    let Some(found) = context.settings else { return Vec::new() };
    let row = |name: &str, what: String, is_used| {
        let mark = if is_used { "  <- this tuning" } else { "" };
        format!("  {name:<19}{what}{mark}")
    };
    let end = || settings::describe_end(found).map(|end| row("settings", end, false)).into_iter().collect();
    let Some(finalist) = found.foremost() else { return end() };
    let both = found.chosen().and_then(|chosen| chosen.with_rules.filter(|_| chosen.rules == RulesUse::Shared));
    let rules = context.rules.overall().filter(|_| context.rules.round.is_some());
    let is_installed = |is_settings: bool, is_both: bool| match (found.chosen(), is_settings) {
        (None, false) => true,
        (Some(_), true) => is_both == both.is_some(),
        _ => false,
    };
    let mut rows = Vec::new();
    rows.extend(
        rules.map(|(speedup, over)| row("rules", format!("{} {over}", ratio(speedup)), is_installed(false, false))),
    );
    let why = if found.chosen.is_none() {
        format!("; NOT INSTALLED: {}", settings::refusal(found, finalist))
    } else {
        String::new()
    };
    rows.push(row("settings", ratio(finalist.speedup) + &why, is_installed(true, false)));
    rows.extend(both.map(|both| row("settings and rules", ratio(both), is_installed(true, true))));
    rows
}

/// The gain of a program in the calls of its profile.
fn describe_program(weights: &[Weight], gains: &Gains<'_>) -> Option<String> {
    let before: f64 = weights.iter().map(|weight| weight.time.0).sum();
    let after = |weight: &Weight| weight.time.0 / gains.get(weight.cell).speedup.map_or(1.0, |speedup| speedup.point);
    let after: f64 = weights.iter().map(after).sum();
    (before > 0.0).then(|| {
        format!(
            "Expected for the profiled program: {} instead of {} in these calls; `collrules try` measures it.",
            Seconds(after),
            Seconds(before)
        )
    })
}

/// At most eight lines: the verdict, what each arm or communicator gains, what was left out, doubts, the report, and the
/// command that installs the tuning (`next`).
pub fn lines(findings: &Findings, context: &Context<'_>, report: &str, next: Option<&str>) -> Vec<String> {
    let gains = &context.gains;
    let verdict = tuning_verdict(findings, context);
    let mut rows = arms(context);
    let mut last = Vec::new();
    let has_rules = context.validation.is_some() && context.rules.fates().confirmed > 0;
    match gains.chosen.map(|chosen| chosen.rules) {
        Some(RulesUse::LeftOut) if has_rules => last.push(settings::RULES_ADD_NOTHING.to_owned()),
        Some(RulesUse::NotCompared) if !findings.changes_nothing() => {
            last.push(settings::RULES_NOT_COMPARED.to_owned());
        }
        _ => last.extend(gains.describe_left_out()),
    }
    let weights = context.manifest.map(|manifest| &manifest.experiment.grid.weights[..]);
    let is_confirmed = verdict.word == VerdictWord::Confirmed;
    last.extend(weights.filter(|_| is_confirmed).and_then(|weights| describe_program(weights, gains)));
    last.extend(quality::describe_doubts(&context.doubts));
    last.push(format!("Report: {}", plain::printable_line(report)));
    last.extend(findings.simulated.then(|| SIMULATED.to_owned()));
    last.extend(next.map(|next| format!("Next: {}", plain::printable_line(next))));
    let room = LINES.saturating_sub(1 + rows.len() + last.len()).min(ROWS);
    // The report has the rest.
    let all = if is_confirmed && room > 0 { describe_gains(gains, RANGES) } else { Vec::new() };
    rows.extend(all.iter().take(room).map(|row| format!("  {row}")));
    if let Some(last) = rows.last_mut().filter(|_| all.len() > room) {
        *last += &format!("; {} more in the report", all.len() - room);
    }
    std::iter::once(verdict.to_string()).chain(rows).chain(last).collect()
}
