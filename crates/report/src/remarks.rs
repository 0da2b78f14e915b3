//! Remarks on the data or the rules, in whole sentences.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::competitor::{Competitor, ComponentSwitch};
use collrules_record::findings::{CellFinding, Findings, Statistic};
use collrules_record::policy::Assumption;
use collrules_record::remark::{Remark, StayReason, UnmeasuredRange};
use collrules_record::rundir::{PROOF, VALIDATION};
use collrules_record::settings::Settings;
use collrules_record::tree::Alternative;
use collrules_record::validation::RevertedRange;
use collrules_record::{Candidate, Cell, Component, Ranks};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::registry::describe;
use collrules_rules::words::{counted, plural, some};
use collrules_rules::{Collective, Release};

use crate::facts::name_candidate;
use crate::layouts;
use crate::reasons::{describe_bar, describe_stalls};
use crate::words::{describe_place, ends, percent};

/// Largest number of candidates that a remark names.
const NAMED: usize = 4;

/// The remarks of findings, in whole sentences.
pub fn remarks(findings: &Findings) -> Vec<String> {
    sentences(findings, &findings.remarks)
}

/// Remarks that belong to findings, in whole sentences.
pub fn sentences(findings: &Findings, remarks: &[Remark]) -> Vec<String> {
    let words = |remark: &Remark| match remark {
        Remark::Layouts => layouts::sentences(findings),
        remark => vec![sentence(findings, remark)],
    };
    remarks.iter().flat_map(words).collect()
}

fn sentence(findings: &Findings, remark: &Remark) -> String {
    let Findings { release, criteria, .. } = findings;
    match remark {
        Remark::MissingLaunches { timed, planned } => format!("Launches with timings: only {timed} of {planned}."),
        Remark::FewerLaunches(sizes) => format!("Sizes measured in fewer launches than others: {sizes}."),
        Remark::ZeroTimings(timings) => format!("Timings left out, since they are zero by the clock: {timings}."),
        Remark::Averages => {
            "The timings are averages over ranks and calls (means or medians), which hide the slowest rank and the spread.".to_owned()
        }
        Remark::Untested { untested, all } => describe_untested(findings, *untested, *all),
        Remark::DefaultNotTimed { cell, others } => {
            format!("The default was not timed for {cell}{}: it stays there.", and_others(*others, "size"))
        }
        Remark::Failed { cell, candidate, others, why } => format!(
            "{}: {} failed on {} ({why}).",
            cell.collective,
            name_candidate(*release, cell.collective, *candidate),
            place(*cell, *others)
        ),
        Remark::Barred { collective, candidates, sizes, bar } => {
            let names: Vec<String> = candidates.iter().map(|one| name_candidate(*release, *collective, *one)).collect();
            format!(
                "{collective}: faster than the default for {}, but not chosen: {} ({}).",
                counted(*sizes, "size"),
                some(&names, NAMED),
                describe_bar(bar),
            )
        }
        Remark::Stalls { cell, candidate, others, stalls } => format!(
            "{}: {} stalls on {}: {}; it is {} (--accept-stalls).",
            cell.collective,
            name_candidate(*release, cell.collective, *candidate),
            place(*cell, *others),
            describe_stalls(stalls),
            if criteria.accept_stalls { "accepted" } else { "not chosen there" },
        ),
        Remark::EverySize(collective) => {
            format!("Rules for {collective} also apply to message sizes outside the measured ones.")
        }
        Remark::SingleSize { collective, ranks } => format!(
            "On {}, a single measured message size decided for {collective} calls of every size.",
            listed_ranks(ranks),
        ),
        Remark::NoCommonAlgorithm { collective, ranks } => format!(
            "On {}, {collective} keeps the default although other algorithms are faster at some message sizes: all \
             sizes have to share one algorithm.",
            listed_ranks(ranks),
        ),
        Remark::DefaultElsewhere => {
            "Sizes that were not measured keep the default, unless a remark says otherwise.".to_owned()
        }
        Remark::Alternative(other) => describe_alternative(other, findings.tree.gain),
        Remark::UnknownBits => format!(
            "The order in which Open MPI {release} adds up is not known (it is for 4.1 and 5.0), so --keep-bits leaves \
             reductions without rules of coll/tuned."
        ),
        Remark::NotInAllLayouts(sizes) => {
            format!("Sizes left out, since they were not measured in every layout that has them: {sizes}.")
        }
        Remark::HanUnknown(collectives) => describe_unknown_han(*release, collectives),
        Remark::Han { collective, ranks } => describe_han(findings, *collective, ranks),
        Remark::HanElsewhere(ranks) => format!(
            "HAN's file applies to every communicator of {} ranks that HAN handles; the rules of coll/tuned apply to \
             every communicator of that size, on a single node as well.",
            joined(ranks, ", "),
        ),
        Remark::OtherComponent { collective, component, ranks, sizes, gain, stays } => {
            let moved_from =
                format!("On {} ranks, Open MPI's component {component} runs {collective}", joined(ranks, ", "));
            match stays {
                None => describe_moved(&moved_from, *collective, *component, *sizes, *gain),
                Some(why) => {
                    format!("{moved_from}. It stays in use: {}.", describe_stay(why, *component, *sizes, *gain))
                }
            }
        }
        Remark::NoReferenceFaster => {
            "No reference algorithm is shown to be faster than the best measured algorithm of coll/tuned.".to_owned()
        }
        Remark::ReferenceFaster { cell, reference, sizes, gain } => format!(
            "{} is faster than all measured algorithms of coll/tuned for {} of {}, by up to {:.2}x{} for {cell}. Open \
             MPI does not have it, so no rule can choose it.",
            name_candidate(*release, cell.collective, *reference),
            counted(*sizes, "size"),
            cell.collective,
            gain.point,
            ends(*gain, |end| format!("{end:.2}")),
        ),
        Remark::NotMeasured { missing, planned, ranges, .. } => {
            let ranges: Vec<String> = ranges.iter().map(describe_unmeasured).collect();
            format!(
                "Not everything was measured: {missing} of {planned} planned sizes have too few timings, or none{}. \
                 Between measured sizes with the same rule they use it; the others keep the default.",
                if ranges.is_empty() { String::new() } else { format!(": {}", ranges.join("; ")) },
            )
        }
        Remark::Layouts => String::new(),
        Remark::LayoutsApart => {
            "Open MPI 6.0 tells layouts apart, so each has its own rules (by its source; not tested). MPI_COMM_WORLD \
             never counts as having one rank per node."
                .to_owned()
        }
        Remark::Reverted(ranges) => {
            let mut places: Vec<String> = ranges.iter().map(describe_range).collect();
            places.dedup();
            format!("Rules that fresh launches did not confirm: {}.", places.join("; "))
        }
        Remark::OtherProof(run) => describe_other(run, PROOF, "verify"),
        Remark::OtherValidation(run) => describe_other(run, VALIDATION, "validate"),
        Remark::Datatypes(choices) => {
            let choices = choices.iter().map(|(on, choice)| format!("{on} with {}", describe(*release, *on, *choice)));
            format!(
                "Programs whose ranks describe the same data with different datatypes get wrong data, or hang, under {}.",
                choices.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; "),
            )
        }
        Remark::Simulated => "The times come from a cost model; they say nothing about any real machine.".to_owned(),
        Remark::Oversubscribed { ranks, slots } => format!(
            "{ranks} ranks ran on {slots} slots: the times include the operating system's scheduler, and the rules are \
             good only for oversubscribed jobs.",
        ),
        Remark::Preset { name, value } if [RULES_FILE, HAN_FILE].contains(&name.as_str()) => format!(
            "A rules file was active on this system, {value}. Nothing was measured with it, and the new settings \
             replace it.",
        ),
        Remark::Preset { name, value } => format!(
            "{name} is already set to {value} on this system, and competes with the rules file: in 5.0 and later a \
             forced algorithm beats it.",
        ),
        Remark::Pins(settings) => {
            format!("All times were taken with {}; the settings of the tuning include this.", assignments(settings))
        }
        Remark::HanOff => {
            "HAN was switched off for all collectives, without measuring what that costs (--disable-han).".to_owned()
        }
        Remark::Unresolved { points, least } => {
            format!("Times under {least}, two steps of the clock, are not exact: {}.", counted(*points, "point"))
        }
        Remark::Clock { step, empty_call, turn, skew } => format!(
            "Clock and harness, in the worst launch: clock step {step}; time of an empty call {empty_call}; overhead per \
             timed call {turn}, without the call and its synchronisation; start skew between ranks {skew} (median).",
        ),
        Remark::CommonClock { clocks, checks, error, set_anew, calls, repeated, given_up } => format!(
            "Calls with agreed start times, on a common clock of {}: {error} off at most in {}, set anew {}; of {calls} \
             calls {repeated} were repeated, {} abandoned.",
            counted(*clocks, "clock"),
            counted(*checks, "check"),
            counted(*set_anew, "time"),
            counted(*given_up, "round"),
        ),
        Remark::Suspicious { file, line, message, left_out } => {
            let line = line.map_or(String::new(), |line| format!(", line {line}"));
            format!("Suspicious in {file}{line}: {message} ({}).", if *left_out { "left out" } else { "kept" })
        }
        Remark::LostRows(rows) => format!("{} of the table could not be used.", counted(*rows, "row")),
        Remark::LostImports(rows) => format!(
            "{} of the imported files could not be used; import.json names what and why.",
            counted(*rows, "row")
        ),
    }
}

fn joined<T: ToString>(items: &[T], between: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// `4, 8 ranks`.
fn listed_ranks(ranks: &[Ranks]) -> String {
    format!("{} {}", joined(ranks, ", "), plural(ranks.last().map_or(0, |ranks| ranks.0), "rank"))
}

fn and_others(count: usize, what: &str) -> String {
    if count == 0 { String::new() } else { format!(" and {}", counted(count, &format!("other {what}"))) }
}

/// Ranks and message size of a cell, and the number of further message sizes.
fn place(cell: Cell, others: usize) -> String {
    describe_place(cell) + &and_others(others, "message size")
}

fn assignments(settings: &Settings) -> String {
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn describe_untested(findings: &Findings, untested: usize, all: usize) -> String {
    let Findings { statistic, criteria, .. } = findings;
    let gain = percent(criteria.min_gain);
    if *statistic == Statistic::RankMaximum {
        return format!(
            "{untested} of {all} algorithms that looked {gain} or more faster were timed in fewer than 6 visits; the \
             default stays there."
        );
    }
    let enough = percent(criteria.untested_gain);
    format!(
        "{untested} of {all} algorithms that looked {gain} or more faster were timed in fewer than 6 launches; they need \
         {enough}."
    )
}

fn describe_alternative(other: &Alternative, gain: f64) -> String {
    let option = match other.assumption {
        Assumption::CommutativeOps | Assumption::ConsistentArguments => format!("--assume {}", other.assumption),
        Assumption::OtherBits => "Without --keep-bits".to_owned(),
        Assumption::UniformDatatypes => "--safety standard".to_owned(),
    };
    format!(
        "{option}: another choice for {} ({} in all), {:.3}x instead of {gain:.3}x in geometric mean.",
        counted(other.cells, "size"),
        counted(other.rules, "rule"),
        other.gain,
    )
}

fn describe_han(findings: &Findings, collective: Collective, ranks: &[Ranks]) -> String {
    let here = |cell: &&CellFinding| cell.cell.collective == collective && ranks.contains(&cell.cell.ranks);
    let cells: Vec<&CellFinding> = findings.cells.iter().filter(here).collect();
    let count = |is_wanted: fn(Candidate) -> bool| cells.iter().filter(|it| is_wanted(it.candidate_in_use())).count();
    let (kept, own) = (count(|by| by == Candidate::Builtin), count(|by| matches!(by, Candidate::Han(_))));
    let run_by_han = format!("On {} ranks, Open MPI's component han runs {collective}", joined(ranks, ", "));
    if kept == cells.len() {
        return format!("{run_by_han}. It stays: no alternative is shown to be faster.");
    }
    format!(
        "{run_by_han}. HAN's rules file moves {} of {} to coll/tuned and {own} to another algorithm of HAN.",
        cells.len() - kept - own,
        counted(cells.len(), "size"),
    )
}

pub(crate) fn describe_unknown_han(release: Release, collectives: &[Collective]) -> String {
    format!(
        "The timings do not say which component ran the default. On several nodes, coll/han of Open MPI {release} runs {} \
         (priority 35 against 30 of coll/tuned): these rules have no effect on such calls, but act on the communicators \
         that HAN makes for them. --mca coll_han_priority 0 leaves the calls to coll/tuned and the rules.",
        joined(collectives, ", "),
    )
}

fn describe_moved(moved_from: &str, collective: Collective, component: Component, sizes: usize, gain: f64) -> String {
    let others = match Competitor::from_component(component).switch {
        ComponentSwitch::Whole => format!(" {component} loses all its other collectives as well."),
        _ => String::new(),
    };
    format!(
        "{moved_from}. The settings of this tuning delegate {collective} to coll/tuned on all communicators, measured or \
         not: {gain:.2}x in geometric mean over {}.{others}",
        counted(sizes, "size"),
    )
}

fn describe_stay(why: &StayReason, component: Component, sizes: usize, gain: f64) -> String {
    match why {
        StayReason::Unknown(sizes) => format!("coll/tuned was not timed for {}", counted(*sizes, "size")),
        StayReason::Slower { sizes: slower, most } => format!(
            "coll/tuned with the rules would be slower for {slower} of {}, by up to {most:.2}x ({gain:.2}x over all)",
            counted(sizes, "size"),
        ),
        StayReason::Bound(collectives) => format!(
            "{component} can only be switched off for all its collectives together, and {} may get slower",
            joined(collectives, ", "),
        ),
        StayReason::NotShown => format!("coll/tuned is not shown to be faster ({gain:.2}x in geometric mean)"),
    }
}

/// A file about other rules.
/// `13 sizes of allgather, 16 KiB to 1 MiB on 256 to 1024 ranks (about 2 h)`.
fn describe_unmeasured(range: &UnmeasuredRange) -> String {
    let UnmeasuredRange { collective, sizes, ranks, bytes, takes } = range;
    let span = |first: String, last: String| if first == last { first } else { format!("{first} to {last}") };
    let on = span(ranks.0.to_string(), ranks.1.to_string());
    let of = span(bytes.0.to_string(), bytes.1.to_string());
    let of = if collective.has_sizes() { format!("{of} ") } else { String::new() };
    format!("{} of {collective}, {of}on {on} ranks (about {})", counted(*sizes, "size"), takes.rounded())
}

fn describe_other(run: &Path, name: &str, command: &str) -> String {
    let (file, run) = (run.join(name), run.display());
    format!(
        "{} is left out, since it is about other rules; `collrules {command} {run}` is about these.",
        file.display()
    )
}

/// A range of rules that were removed.
fn describe_range(range: &RevertedRange) -> String {
    let RevertedRange { collective, ranks, lookup } = range;
    match lookup {
        _ if range.is_settings() => format!("the settings of HAN for {collective}"),
        (0, None) => format!("{collective} on {ranks}"),
        (first, None) => format!("{collective} on {ranks} from {first} B on"),
        (first, Some(end)) => format!("{collective} on {ranks} from {first} B to {} B", end.saturating_sub(1)),
    }
}
