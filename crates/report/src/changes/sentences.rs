//! Advice on tuning again, and its reasons, in whole sentences.

use collrules_rules::words::counted;
use collrules_tuner::results::comparison::{Advice, ComparedRun, RunComparison, RunProperty};
use collrules_tuner::results::limitation::Limitation;

use crate::words::{percent, tenths};

/// The sentence with the advice on tuning again.
pub(super) fn answer(comparison: &RunComparison) -> String {
    let judged = comparison.judged().count();
    let regret = comparison.regret();
    let harmed = comparison.harmed();
    let loss = slower_by(regret);
    let remedy = if comparison.after.rules == 0 {
        "Switch the earlier rules off: the new tuning found nothing faster than today's default."
    } else {
        "Install the new rules."
    };
    match comparison.advice() {
        Advice::Unknown => {
            "Undecided: the later run timed none of the algorithms that the earlier rules choose.".to_owned()
        }
        Advice::Replace if harmed > 0 => format!(
            "Retuning is worthwhile. For {} of {judged}, the earlier rules fail or are slower than today's default. \
             Over all sizes, they are {loss} than the new rules. {remedy}",
            counted(harmed, "size"),
        ),
        Advice::Replace => format!(
            "Retuning is worthwhile. Over {}, the earlier rules are {loss} than the new ones. {remedy}",
            counted(judged, "size"),
        ),
        Advice::Keep => format!(
            "No need to retune. Over {}, the earlier rules are {loss} than the new ones; the threshold is {}. They are \
             not shown to be slower than today's default for any size.",
            counted(judged, "size"),
            percent(comparison.criteria.min_difference),
        ),
    }
}

/// A regret in words: `4.0 % slower`, `0.1 % faster`.
fn slower_by(regret: f64) -> String {
    let said = tenths(regret.abs());
    // What rounds to nothing is no gain.
    if regret < 0.0 && said != tenths(0.0) { format!("{said} faster") } else { format!("{said} slower") }
}

/// The advice, and what limits the comparison, in whole sentences.
pub(super) fn sentences(comparison: &RunComparison) -> Vec<String> {
    std::iter::once(answer(comparison)).chain(comparison.obstacles.iter().map(describe_limitation)).collect()
}

/// Describes in a whole sentence why a comparison is incomplete or impossible.
pub fn describe_limitation(limitation: &Limitation) -> String {
    let words = match limitation {
        Limitation::UnknownSystem => "The system of at least one of the runs is unknown; it is assumed to be the same.",
        Limitation::OtherStatistic => {
            "The two runs measured different quantities: one has times of calls, the other means."
        }
        Limitation::OtherBackend(before, after) => {
            return format!("One run comes from {before}, the other from {after}: their times cannot be compared.");
        }
        Limitation::OtherProcessor => {
            "The processors differ: changes may come from the machine, not only from the library."
        }
        Limitation::Swapped => "The runs may be swapped: the earlier one began after the later one.",
        Limitation::Moved(ranks) => {
            return format!(
                "Communicators of {ranks} ranks are left out: their ranks were spread over nodes differently."
            );
        }
        Limitation::NothingInCommon => "The runs have no size in common.",
        Limitation::FewLaunches => {
            "No run has several launches with samples, so changes of the default cannot be tested."
        }
        Limitation::Barrier(factor) => {
            let (slower, of) = if *factor > 1.0 { (*factor, "later") } else { (1.0 / factor, "earlier") };
            return format!(
                "The harness's own barrier, which no rule and no release of Open MPI changes, took up to {slower:.1} \
                 times as long in the {of} run: the machine was busier, which alone may explain changes of the default."
            );
        }
        Limitation::FewSlots(ranks, slots) => {
            return format!("Communicators of {ranks} ranks are left out: there are only {slots} slots.");
        }
        Limitation::OtherNodes(ranks, then, now) => {
            return format!(
                "Communicators of {ranks} ranks are left out: they were on {then} then, and are on {now} now."
            );
        }
    };
    words.to_owned()
}

/// A run in words.
pub(super) fn side(side: &ComparedRun) -> String {
    let simulated = if side.simulated { "simulated, " } else { "" };
    let version = side.version.map_or_else(|| side.release.to_string(), |version| version.to_string());
    let started = side.started.as_ref().map_or(String::new(), |started| format!(", {started}"));
    format!("{} ({simulated}Open MPI {version}{started}, {})", side.source, counted(side.rules, "rule"))
}

/// The name of a property that differs.
pub fn property(property: RunProperty) -> &'static str {
    match property {
        RunProperty::Version => "Open MPI",
        RunProperty::Library => "library",
        RunProperty::Backend => "measured by",
        RunProperty::Collrules => "collrules",
        RunProperty::Slots => "slots",
        RunProperty::Hosts => "hosts",
        RunProperty::Transport => "transport",
        RunProperty::Kernel => "kernel",
        RunProperty::Processor => "processor",
        RunProperty::Processors => "processors",
        RunProperty::Layout => "layout",
        RunProperty::Sync => "ranks synchronised by",
        RunProperty::Pins => "settings that the rules need",
        RunProperty::Preset => "coll_tuned parameters set before",
        RunProperty::Components => "components and their priorities",
        RunProperty::Environment => "MCA parameters in the environment",
        RunProperty::Barrier => "barrier before each call, in the slowest launch",
    }
}
