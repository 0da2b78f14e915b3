//! Problems and surprises in a rules file of coll/han.
//!
//! HAN's reader is strict and stops at the first error, so nothing is recovered; if it accepts a file, the effects of
//! the rules are checked.

use super::code::{Code, Severity};
use super::collect::Collector;
use super::fate;
use super::problem::{LintReport, VersionReading};
use crate::behaviour::Behaviour;
use crate::collective::{Collective, json_name};
use crate::file::{Fault, FaultKind};
use crate::han::{
    Configuration, HanComponent, HanFile, HanTable, Level, LevelRules, Service, algorithms, is_ruled, load, service,
};
use crate::kind::FileKind;
use crate::release::Release;
use crate::span::Span;

/// Checks a file. `named` is true if the user asked for exactly these versions.
pub(super) fn check(source: &[u8], versions: &[Behaviour], named: bool) -> LintReport {
    let mut problems = Collector::default();
    let loads: Vec<_> = versions.iter().map(|one| (*one, load(source, one))).collect();
    let latest = loads.last().and_then(|(_, load)| load.as_ref().ok());
    // An earlier version need not read a file that others accept.
    let is_accepted = !named && loads.iter().any(|(_, load)| load.is_ok());
    for (version, load) in &loads {
        match load {
            Ok(loaded) => match latest {
                Some(latest) if meant(latest, version) != loaded.to_table() => {
                    let message = format!("{} reads other rules than {}", version.name(), latest.behaviour.name());
                    problems.merge(Code::HanDisagreement, Span::at(0), *version, message);
                }
                _ => accepted(loaded, &mut problems),
            },
            Err(crash) if crash.kind.crashes() => {
                let problem = problems.merge(Code::Crashes, crash.span, *version, crash.kind.to_string());
                problem.remedy = "Remove the @ and the name after it.".into();
            }
            Err(rejection) => rejected(source, rejection, version, (named, is_accepted), &mut problems),
        }
    }
    let readings = loads.iter().map(|(version, load)| VersionReading::new(*version, load)).collect();
    LintReport { kind: FileKind::Han, readings, problems: problems.finish() }
}

/// Returns the meaning of a file, without the algorithms if the version does not know them.
fn meant(loaded: &HanFile, version: &Behaviour) -> HanTable {
    let mut loaded = loaded.clone();
    if version.release < Release::V5_0 {
        let levels = loaded.collectives.iter_mut().flat_map(|rules| &mut rules.levels);
        let rules = levels.flat_map(|level| &mut level.configurations).flat_map(|one| &mut one.rules);
        rules.for_each(|rule| rule.choice.algorithm = 0);
    }
    loaded.to_table()
}

/// `is_accepted` is true if another version reads the file, and the user asked for none.
fn rejected(
    source: &[u8],
    fault: &Fault,
    version: &Behaviour,
    (named, is_accepted): (bool, bool),
    problems: &mut Collector,
) {
    if fault.kind == FaultKind::NoHan {
        let message = format!("{} has no HAN, and does not read this file", version.name());
        let problem = problems.merge(Code::HanAbsent, Span::at(0), *version, message);
        if named {
            problem.severity = Severity::Error;
        }
        return;
    }
    let problem = fate::rejected(source, fault, version, problems);
    // 4.1 knows no names of levels and no algorithms, and HAN is off there by default.
    let is_early = problem.versions.iter().all(|version| version.release == Release::V4_1);
    (problem.severity, problem.remedy) = if is_early && is_accepted {
        (Severity::Note, "No change is needed, unless the file is for 4.1.".into())
    } else {
        (Severity::Error, remedy(&fault.kind, version.release).into())
    };
}

fn remedy(fault: &FaultKind, release: Release) -> String {
    let remedy = match fault {
        FaultKind::NoSuchCollective(_) => "Write a name in lower case with underscores, or an id from 0 to 21.",
        FaultKind::NoLevel(_) if release == Release::V4_1 => {
            "Write 0 for intra_node, 1 for inter_node, 2 for global_communicator."
        }
        FaultKind::NoLevel(_) => "Write intra_node, inter_node or global_communicator, or 0, 1, 2.",
        FaultKind::CommSize(_) => "Begin with a configuration of size 1.",
        FaultKind::FirstSize(_) => "Begin with message size 0.",
        FaultKind::NoComponent(_) => {
            let known: Vec<&str> = HanComponent::known(release).map(HanComponent::name).collect();
            let at = if release > Release::V4_1 { " An algorithm stands apart: `han @simple`." } else { "" };
            return format!("Write the name of a component, not its number: {}.{at}", known.join(", "));
        }
        FaultKind::NoAlgorithm(_, collective) => {
            let known = collective.parse::<Collective>().map_or(&[][..], |known| algorithms(release, known.id()));
            return format!("Write one of default, {}, or the number of one.", known.join(", "));
        }
        _ => "Correct the counts, or add what is missing.",
    };
    remedy.to_owned()
}

fn accepted(loaded: &HanFile, problems: &mut Collector) {
    let version = loaded.behaviour;
    for (place, rules) in loaded.collectives.iter().enumerate() {
        let name = json_name(rules.id);
        if loaded.collectives[place + 1..].iter().any(|other| other.id == rules.id) {
            let message = format!("rules for {name} that come later replace these");
            problems.merge(Code::HanDead, rules.span, version, message);
        } else if !is_ruled(version.release, rules.id) {
            let message = format!("HAN does not look up rules for {name}");
            problems.merge(Code::HanUnruled, rules.span, version, message);
        } else {
            for (place, level) in rules.levels.iter().enumerate() {
                if rules.levels[place + 1..].iter().any(|other| other.level == level.level) {
                    let message = format!("{name} rules for {} that come later replace these", level.level);
                    problems.merge(Code::HanDead, level.span, version, message);
                } else {
                    check_level(version, rules.id, level, problems);
                }
            }
        }
    }
    for segments in &loaded.segments {
        problems.merge(Code::HanSegments, *segments, version, "these segment lengths do nothing");
    }
    if let Some(trailing) = loaded.trailing {
        problems.merge(Code::Trailing, trailing, version, "a number that nothing announces");
    }
}

fn check_level(version: Behaviour, id: u32, rules: &LevelRules, problems: &mut Collector) {
    let (name, level) = (json_name(id), rules.level);
    let sizes = rules.configurations.iter().map(|one| (u64::try_from(one.size).unwrap_or(0), one.span)).collect();
    order(sizes, &format!("{name} configurations for {level}"), version, problems);
    for Configuration { size, span, rules } in &rules.configurations {
        let gap = match rules.iter().map(|rule| rule.size).min() {
            None => "all message sizes are left to HAN's parameters",
            Some(1..) => "calls without data are left to HAN's parameters",
            Some(0) => "",
        };
        if !gap.is_empty() {
            problems.merge(Code::HanGap, *span, version, format!("{name} on {level} from {size} ranks on: {gap}"));
        }
        let sizes = rules.iter().map(|rule| (rule.size, rule.span)).collect();
        order(sizes, &format!("{name} rules from {size} ranks on"), version, problems);
        for rule in rules {
            let component = rule.choice.component;
            let (code, message) = match service(id, level, component) {
                Service::Named(_) => continue,
                Service::IfRaised(_) => {
                    let message = format!("{component} is off by default, and then does not run {name} on {level}");
                    let problem = problems.merge(Code::HanCannotRun, rule.span, version, message);
                    problem.remedy = format!("Set coll_{component}_priority above 0 along with this file.").into();
                    continue;
                }
                Service::Next if component == HanComponent::Han && level != Level::GlobalCommunicator => {
                    (Code::HanCircle, format!("{name} on {level} cannot go to han, which made this communicator"))
                }
                Service::Next => (Code::HanCannotRun, format!("{component} does not run {name} on {level}")),
            };
            problems.merge(code, rule.span, version, message);
        }
    }
}

/// Reports bounds out of order, or if there are none, those that others hide.
fn order(bounds: Vec<(u64, Span)>, what: &str, version: Behaviour, problems: &mut Collector) {
    let unsorted: Vec<_> = bounds.windows(2).filter(|pair| pair[0].0 > pair[1].0).collect();
    for pair in &unsorted {
        let message = format!("{what}: size {} comes after {}", pair[1].0, pair[0].0);
        problems.merge(Code::HanUnsorted, pair[1].1, version, message);
    }
    // In order, a bound is hidden by an equal one behind it.
    for pair in bounds.windows(2).filter(|pair| unsorted.is_empty() && pair[0].0 == pair[1].0) {
        let message = format!("{what}: size {} comes again further down", pair[0].0);
        problems.merge(Code::HanDead, pair[0].1, version, message);
    }
}
