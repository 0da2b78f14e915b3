//! Remarks on the data or the rules, in whole sentences.

use std::collections::BTreeSet;

use collrules_program::Primitive;
use collrules_record::competitor::{Competitor, ComponentSwitch};
use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings, Statistic};
use collrules_record::policy::Assumption;
use collrules_record::remark::{Remark, StayReason};
use collrules_record::rundir::{PROOF, VALIDATION};
use collrules_record::settings::Settings;
use collrules_record::tree::Alternative;
use collrules_record::validation::RevertedRange;
use collrules_record::{Candidate, Cell, Component, Ranks};
use collrules_rules::deploy::RULES_FILE;
use collrules_rules::registry::describe;
use collrules_rules::words::{counted, plural, some};
use collrules_rules::{Collective, Release};

use crate::layouts;
use crate::reasons::{describe_bar, describe_stalls};
use crate::words::{agree, ends, percent};

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
        Remark::MissingLaunches { timed, planned } => format!(
            "Only {timed} of {} {} timings, so the verdicts rest on fewer timings than planned.",
            counted(*planned, "launch"),
            agree(*timed, "has", "have"),
        ),
        Remark::FewerLaunches(sizes) => {
            let were = agree(*sizes, "was", "were");
            format!("{} {were} measured in fewer launches than others.", counted(*sizes, "size"))
        }
        Remark::ZeroTimings(timings) => {
            let are = agree(*timings, "was left out because it is", "were left out because they are");
            format!("{} {are} zero by the clock.", counted(*timings, "timing"))
        }
        Remark::Averages => {
            "The timings are averages over ranks and calls, which hide the slowest rank and the spread.".to_owned()
        }
        Remark::Untested { untested, all } => describe_untested(findings, *untested, *all),
        Remark::DefaultNotTimed { cell, others } => {
            format!(
                "The default was not timed for {cell}{}, so nothing can replace it there.",
                and_others(*others, "size")
            )
        }
        Remark::Failed { cell, candidate, others, why } => {
            let ranks = counted(cell.ranks.0, "rank");
            let consequence = match candidate {
                Candidate::Builtin => "nothing can be compared with it there".to_owned(),
                Candidate::Tuned(_) => format!("it is not chosen for any call on {ranks}"),
                _ => "its speed there is unknown".to_owned(),
            };
            let name = name(*release, cell.collective, *candidate);
            format!("{}: {name} failed on {} ({why}), so {consequence}.", cell.collective, place(*cell, *others))
        }
        Remark::Barred { collective, candidates, sizes, bar } => {
            let names: Vec<String> =
                candidates.iter().map(|candidate| name(*release, *collective, *candidate)).collect();
            let (sizes, why) = (counted(*sizes, "size"), describe_bar(bar));
            if let [name] = &names[..] {
                return format!(
                    "{collective}: {name} is faster than the default for {sizes} but is not chosen: {why}."
                );
            }
            let why = why.strip_prefix("it ").map_or(why.clone(), |why| format!("each {why}"));
            format!(
                "{collective}: {} algorithms are faster than the default, for {sizes} in all, but are not chosen ({}): \
                 {why}.",
                names.len(),
                some(&names, NAMED),
            )
        }
        Remark::Stalls { cell, candidate, others, stalls } => {
            let what = if criteria.accept_stalls {
                "it may still be chosen, because of --accept-stalls"
            } else {
                "it is not chosen there (--accept-stalls would choose it, --statistic mean compares means)"
            };
            format!(
                "{}: the median of {} is faster than the default's on {}, but {}: {what}.",
                cell.collective,
                name(*release, cell.collective, *candidate),
                place(*cell, *others),
                describe_stalls(stalls)
            )
        }
        Remark::EverySize(collective) => {
            let reason = match collective {
                Collective::Scatter | Collective::Gather => {
                    "ranks may see different sizes of the same call and must not run different algorithms"
                }
                _ => "Open MPI does not look at the message size when it picks one",
            };
            format!("A {collective} rule also applies to message sizes outside the measured ones, because {reason}.")
        }
        Remark::SingleSize { collective, ranks } => format!(
            "On {}, a single measured message size decided for {collective} calls of every size.",
            listed_ranks(ranks),
        ),
        Remark::NoCommonAlgorithm { collective, ranks } => format!(
            "On {}, {collective} keeps the default although other algorithms are faster at some message sizes. All \
             sizes have to share one algorithm, and none is shown to be faster over all sizes and slower at none.",
            listed_ranks(ranks),
        ),
        Remark::DefaultElsewhere => {
            "The default stays for communicator sizes that were not measured, and message sizes \
                                     beyond the measured ones, unless a remark says otherwise."
                .to_owned()
        }
        Remark::Alternative(other) => describe_alternative(other, findings.tree.gain),
        Remark::UnknownBits => format!(
            "The order in which Open MPI {release} adds up is not known (it is for 4.1 and 5.0), so --keep-bits leaves \
             reductions without rules of coll/tuned."
        ),
        Remark::NotInAllLayouts(sizes) => {
            let (sizes, are) = (counted(*sizes, "size"), agree(*sizes, "is", "are"));
            format!("{sizes} {are} left out: a layout that has communicators of this size was not measured there.")
        }
        Remark::Han { collective, ranks } => describe_han(findings, *collective, ranks),
        Remark::HanElsewhere(ranks) => format!(
            "Both files depend on the number of ranks, not on where they are. HAN's file applies to every communicator \
             of {} ranks that HAN handles. The rules of coll/tuned apply to every communicator of that size, on a \
             single node as well. Communicators of other sizes stay with HAN. Rules for as few ranks as a node has also \
             apply inside HAN.",
            joined(ranks, ", "),
        ),
        Remark::OtherComponent { collective, component, ranks, sizes, gain, stays } => {
            let served =
                format!("On {} ranks, Open MPI's component {component} runs {collective}", joined(ranks, ", "));
            match stays {
                None => describe_moved(&served, *collective, *component, *sizes, *gain),
                Some(why) => format!("{served}. It stays in use: {}.", describe_stay(why, *component, *sizes, *gain)),
            }
        }
        Remark::NoReferenceFaster => {
            "No reference algorithm is shown to be faster than the best measured algorithm of coll/tuned.".to_owned()
        }
        Remark::ReferenceFaster { cell, reference, sizes, gain } => {
            let primitives = match reference {
                Candidate::Reference(reference) => reference.primitives(cell.collective).unwrap_or_default(),
                _ => &[],
            };
            format!(
                "{reference}, made of {}, is faster than all measured algorithms of coll/tuned for {} of {}. The \
                 largest gain is for {cell}: the library's best takes {:.2} times as long{}. No rule can choose it, \
                 because Open MPI does not have it.",
                primitives.iter().map(Primitive::to_string).collect::<Vec<_>>().join(" and "),
                counted(*sizes, "size"),
                cell.collective,
                gain.point,
                ends(*gain, |end| format!("{end:.2}")),
            )
        }
        Remark::NotMeasured { missing, planned } => format!(
            "Not everything was measured: {missing} of {planned} planned sizes have no timings and keep the default.",
        ),
        Remark::Layouts => String::new(),
        Remark::LayoutsApart => {
            "Open MPI 6.0 tells communicators apart by the placement of their ranks, so each layout \
                                 has its own rules. This comes from reading its source, and was not tested. It never \
                                 recognizes MPI_COMM_WORLD as having one rank per node."
                .to_owned()
        }
        Remark::Reverted(ranges) => {
            let mut places: Vec<String> = ranges.iter().map(describe_range).collect();
            places.dedup();
            format!(
                "Rules removed, because they were slower in fresh launches or not confirmed (sizes as Open MPI looks \
                 them up): {}.",
                places.join("; "),
            )
        }
        Remark::OtherProof(run) => format!(
            "{} is left out, since it is about other rules. `collrules verify {}` shows whether Open MPI obeys these.",
            run.join(PROOF).display(),
            run.display(),
        ),
        Remark::OtherValidation(run) => format!(
            "{} is left out, since it is about other rules. `collrules validate {}` compares these.",
            run.join(VALIDATION).display(),
            run.display(),
        ),
        Remark::Datatypes(choices) => format!(
            "MPI lets ranks describe the same data with different datatypes and counts. Programs that do so get wrong \
             data, or hang, under {}. Open MPI's own decision uses some of these algorithms too.",
            choices
                .iter()
                .map(|(collective, choice)| format!("{collective} with {}", describe(*release, *collective, *choice)))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join("; "),
        ),
        Remark::Simulated => "The times come from a cost model; they say nothing about any real machine.".to_owned(),
        Remark::Oversubscribed { ranks, slots } => format!(
            "{ranks} ranks ran on {slots} slots: the times include the operating system's scheduler, and the rules are \
             good only for oversubscribed jobs.",
        ),
        Remark::Preset { name, value } if name == RULES_FILE => format!(
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
            "Switching off Open MPI's component han affects all collectives of jobs on several hosts. Its \
                           effect was not measured; measure without --disable-han to know it."
                .to_owned()
        }
        Remark::Unresolved { points, least } => {
            let all = findings.cells.iter().map(|cell| cell.points.len()).sum::<usize>();
            format!(
                "{points} of {} took less than {least}, two steps of the clock: these times are not more exact than \
                 that.",
                counted(all, "point"),
            )
        }
        Remark::Clock { step, empty_call, turn, skew } => format!(
            "Clock and harness, in the worst launch: clock step {step}; time of an empty call {empty_call}; overhead per \
             timed call {turn}, without the call and its synchronisation; start skew between ranks {skew} (median).",
        ),
        Remark::CommonClock { clocks, checks, error, set_anew, calls, repeated, given_up } => format!(
            "Calls began at agreed times on a common clock made of {}: off by {error} at most in {}, and adjusted {}. \
             Of {calls} calls, {repeated} were repeated because a rank was late, and {} were abandoned.",
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
    let at = if cell.collective.has_sizes() { format!(" at {}", cell.bytes) } else { String::new() };
    counted(cell.ranks.0, "rank") + &at + &and_others(others, "message size")
}

/// A candidate by its name, followed by the exact choice.
fn name(release: Release, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin => "default".to_owned(),
        Candidate::Component(component) => format!("the component {component}"),
        Candidate::Rules => "the rules file".to_owned(),
        Candidate::Han(_) | Candidate::Mockup(_) | Candidate::Reference(_) => candidate.to_string(),
        Candidate::Tuned(choice) => format!("{} ({choice})", describe(release, collective, choice)),
    }
}

fn assignments(settings: &Settings) -> String {
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn describe_untested(findings: &Findings, untested: usize, all: usize) -> String {
    let Findings { statistic, criteria, .. } = findings;
    let gain = percent(criteria.min_gain);
    let subject = match (untested, all) {
        (1, 1) => format!("The only apparent gain of {gain} or more rests"),
        (1, _) => format!("1 of {all} apparent gains of {gain} or more rests"),
        (2, 2) => format!("Both apparent gains of {gain} or more rest"),
        _ if untested == all => format!("All {all} apparent gains of {gain} or more rest"),
        _ => format!("{untested} of {all} apparent gains of {gain} or more rest"),
    };
    if *statistic == Statistic::RankMaximum {
        return format!(
            "{subject} on fewer than 6 visits, too few for a test; the default stays there, and more time would decide."
        );
    }
    let they = agree(untested, "it replaces the default only if it is", "they replace the default only if they are");
    format!(
        "{subject} on fewer than 6 launches, too few for a test; {they} faster by at least {}, and on average with \
         neighbouring communicator sizes too.",
        percent(criteria.untested_gain)
    )
}

/// Describes the gain of an alternative in a whole sentence.
fn describe_alternative(other: &Alternative, gain: f64) -> String {
    let promise = match other.assumption {
        Assumption::CommutativeOps => Some(("--assume commutative-ops", "reduction operations commute")),
        Assumption::ConsistentArguments => Some((
            "--assume consistent-arguments",
            "all ranks pass the same counts and datatypes to scatter and gather",
        )),
        Assumption::OtherBits => None,
        Assumption::UniformDatatypes => {
            Some(("--safety standard", "all ranks describe the same data with the same datatypes"))
        }
    };
    let (sizes, rules) = (counted(other.cells, "size"), counted(other.rules, "rule"));
    let [with, without] = [other.gain, gain].map(|gain| format!("{gain:.3}x"));
    let gain = if with == without {
        format!("{with} in geometric mean over all sizes, as without it")
    } else {
        format!("{with} instead of {without} in geometric mean over all sizes")
    };
    match promise {
        Some((option, what)) => {
            format!("If {what} in all programs, {option} would change the choice for {sizes} ({rules} in all): {gain}.")
        }
        None => format!("Without --keep-bits, the choice would change for {sizes} ({rules} in all): {gain}."),
    }
}

fn describe_han(findings: &Findings, collective: Collective, ranks: &[Ranks]) -> String {
    let cells = || {
        let mine = |cell: &&CellFinding| cell.cell.collective == collective && ranks.contains(&cell.cell.ranks);
        findings.cells.iter().filter(mine)
    };
    let handed: Vec<&CellFinding> = cells().filter(|cell| cell.served_candidate() != Candidate::Builtin).collect();
    let all = cells().count();
    let served = format!(
        "On {} ranks, Open MPI's component han runs {collective}, so the default there is HAN",
        joined(ranks, ", ")
    );
    if handed.is_empty() {
        return format!("{served}. It stays: no alternative is shown to be faster for any of {all} sizes.");
    }
    let gains = handed.iter().filter_map(|cell| cell.served_gain()).map(|gain| gain.point);
    let gain = geometric_mean(gains).unwrap_or(1.0);
    let own = handed.iter().filter(|cell| matches!(cell.served_candidate(), Candidate::Han(_))).count();
    let parts = [(handed.len() - own, "to coll/tuned"), (own, "to another algorithm of HAN")];
    let parts = parts.into_iter().filter(|(cells, _)| *cells > 0);
    let parts: Vec<String> = parts.map(|(cells, target)| format!("{cells} of {all} sizes {target}")).collect();
    let kept = match all - handed.len() {
        0 => String::new(),
        kept => format!("; {kept} stay as they are"),
    };
    format!(
        "{served}. HAN's rules file moves {}: expected {gain:.2}x in geometric mean over these{kept}.",
        parts.join(" and "),
    )
}

/// Describes a collective that the settings delegate to `coll/tuned`.
fn describe_moved(served: &str, collective: Collective, component: Component, sizes: usize, gain: f64) -> String {
    let others = match Competitor::from_component(component).switch {
        ComponentSwitch::Whole => format!(
            " The setting is {component}'s priority, so {component} loses all its other collectives as well; those \
             that were not measured may get slower.",
        ),
        _ => String::new(),
    };
    format!(
        "{served}, and gains are relative to {component}. The settings of this tuning delegate {collective} to \
         coll/tuned, which gains {gain:.2}x in geometric mean over {}. They apply to all communicators on which \
         {component} would run it, measured or not. Calls without a rule use coll/tuned's default there.{others}",
        counted(sizes, "size"),
    )
}

fn describe_stay(why: &StayReason, component: Component, sizes: usize, gain: f64) -> String {
    match why {
        StayReason::Unknown(sizes) => {
            format!("it is unknown how fast coll/tuned is for {}", counted(*sizes, "size"))
        }
        StayReason::Slower { sizes: slower, most } => format!(
            "coll/tuned with the rules found would be slower for {slower} of {}, by up to {most:.2}x ({gain:.2}x in \
             geometric mean over all), and {component} cannot keep single sizes",
            counted(sizes, "size"),
        ),
        StayReason::Bound(collectives) => format!(
            "{component} can only be switched off for all its collectives together, and {} may get slower",
            joined(collectives, ", "),
        ),
        StayReason::NotShown => {
            format!("the measurements do not show that coll/tuned is faster ({gain:.2}x in geometric mean)")
        }
    }
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
