//! What is wrong with a rules file of coll/han, or might surprise.
//!
//! HAN's reader is strict and stops at the first slip, so that there is nothing to recover: what it accepts is looked
//! at for what its rules do.

use super::code::Code;
use super::code::Severity;
use super::collect::Collector;
use super::edit::Edit;
use super::problem::{Fate, Kind, Reading, Report};
use crate::behaviour::Behaviour;
use crate::collective::{Collective, json_name};
use crate::han::{
    Component, Fault, Level, LevelRules, Load, Loaded, Rejection, Service, Table, algorithms, is_ruled, last_that_fits,
    load, service,
};
use crate::release::Release;
use crate::span::Span;

/// Checks a file. `named` tells whether somebody asked for exactly these versions.
pub(super) fn check(source: &[u8], versions: &[Behaviour], named: bool) -> Report {
    let mut problems = Collector::default();
    let mut readings = Vec::new();
    let latest = versions.last().map(|version| load(source, version));
    for version in versions {
        let load = load(source, version);
        let fate = match &load {
            Load::Accepted(_) => Fate::Accepted,
            Load::Rejected(_) | Load::NoHan => Fate::Rejected,
            Load::Crashes(_) => Fate::Crashes,
        };
        readings.push(Reading { version: *version, fate });
        match load {
            Load::Accepted(loaded) => match &latest {
                Some(Load::Accepted(latest)) if meant(latest, version) != loaded.to_table() => {
                    let message = || format!("{} reads other rules than {}", version.name(), latest.behaviour.name());
                    problems.merge(Code::HanDisagreement, Span::at(0), 0, &[*version], message);
                }
                _ => accepted(source, &loaded, &mut problems),
            },
            Load::Rejected(rejection) => rejected(source, &rejection, version, named, &mut problems),
            Load::Crashes(crash) => {
                let problem = problems.merge(Code::HanCrashes, crash.span, 0, &[*version], || crash.to_string());
                problem.edits = without_algorithm(source, crash.span);
            }
            Load::NoHan => {
                let message = || "no version that was checked reads this file".to_owned();
                problems.merge(Code::HanAbsent, Span::at(0), 0, &[*version], message);
            }
        }
    }
    Report { kind: Kind::Han, readings, problems: problems.finish() }
}

/// What a file means, as far as a version knows algorithms.
fn meant(loaded: &Loaded, version: &Behaviour) -> Table {
    let mut loaded = loaded.clone();
    if version.release < Release::V5_0 {
        let levels = loaded.collectives.iter_mut().flat_map(|rules| &mut rules.levels);
        let rules = levels.flat_map(|level| &mut level.configurations).flat_map(|one| &mut one.rules);
        rules.for_each(|rule| rule.choice.algorithm = 0);
    }
    loaded.to_table()
}

fn rejected(source: &[u8], rejection: &Rejection, version: &Behaviour, named: bool, problems: &mut Collector) {
    // The end of the file is where the last line is.
    let span = rejection.span.within(source);
    let problem = problems.merge(Code::HanRejected, span, 0, &[*version], || rejection.to_string());
    problem.remedy = remedy(&rejection.fault, version.release).into();
    problem.edits = correction(&rejection.fault, version.release)
        .map(|text| Edit::replace(rejection.span, text))
        .into_iter()
        .collect();
    // 4.1 knows no names of levels and no algorithms, and HAN is off there by default.
    if version.release == Release::V4_1 && !named {
        problem.severity = Severity::Note;
    }
}

fn remedy(fault: &Fault, release: Release) -> String {
    match fault {
        Fault::End(_) => "Correct the counts, or add what is missing.".to_owned(),
        Fault::Count { .. } | Fault::TooMany { .. } => "Correct the count.".to_owned(),
        Fault::NoCollective(_) => "Write a name in lower case with underscores, or an id from 0 to 21.".to_owned(),
        Fault::NoLevel(_) if release == Release::V4_1 => {
            "Write 0 for intra_node, 1 for inter_node, 2 for global_communicator.".to_owned()
        }
        Fault::NoLevel(_) => "Write intra_node, inter_node or global_communicator, or 0, 1, 2.".to_owned(),
        Fault::ConfigurationSize(_) => "Begin with a configuration of size 1.".to_owned(),
        Fault::FirstSize(_) => "Begin with message size 0.".to_owned(),
        Fault::NoComponent(_) => {
            let known: Vec<&str> = Component::known(release).map(Component::name).collect();
            let at = if release > Release::V4_1 { " An algorithm stands apart: `han @simple`." } else { "" };
            format!("Write the name of a component, not its number: {}.{at}", known.join(", "))
        }
        Fault::NoAlgorithm { collective, .. } => {
            let known = collective.parse::<Collective>().map_or(&[][..], |known| algorithms(release, known.id()));
            format!("Write one of default, {}, or the number of one.", known.join(", "))
        }
        Fault::NoTable(_) => Code::HanCrashes.remedy().to_owned(),
    }
}

/// What a word stands for that is only spelt in another way.
fn correction(fault: &Fault, release: Release) -> Option<String> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-'], "");
    let same = |one: &str, other: &str| plain(one) == plain(other);
    match fault {
        Fault::NoCollective(name) => {
            let name = name.strip_prefix("MPI_").unwrap_or(name);
            (0..Collective::ID_COUNT).map(json_name).find(|known| same(name, known)).map(str::to_owned)
        }
        Fault::NoLevel(name) if release > Release::V4_1 => {
            Level::ALL.into_iter().map(Level::name).find(|known| same(name, known)).map(str::to_owned)
        }
        Fault::NoComponent(name) => {
            let (name, algorithm) = name.split_once('@').map_or((&name[..], None), |(name, rest)| (name, Some(rest)));
            let known = Component::known(release).map(Component::name).find(|known| same(name, known))?;
            match algorithm {
                None => Some(known.to_owned()),
                Some(algorithm) if release > Release::V4_1 => Some(format!("{known} @{algorithm}")),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// Takes an algorithm out, with the `@` before it.
fn without_algorithm(source: &[u8], name: Span) -> Vec<Edit> {
    let before = source[..name.start].trim_ascii_end();
    let Some(before) = before.strip_suffix(b"@") else { return Vec::new() };
    vec![Edit::remove(Span::new(before.trim_ascii_end().len(), name.end))]
}

/// Takes a list of segments out, with its brackets.
fn without_segments(source: &[u8], segments: Span) -> Vec<Edit> {
    let blank = |at: usize| at + source[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut end = blank(segments.end);
    if segments.is_empty() && source.get(end) == Some(&b'[') {
        end = blank(end + 1);
    }
    match source.get(end) {
        Some(b']') => vec![Edit::remove(Span::new(segments.start, end + 1))],
        _ => Vec::new(),
    }
}

fn accepted(source: &[u8], loaded: &Loaded, problems: &mut Collector) {
    let versions = [loaded.behaviour];
    for (place, rules) in loaded.collectives.iter().enumerate() {
        let name = json_name(rules.id);
        let later = &loaded.collectives[place + 1..];
        if later.iter().any(|other| other.id == rules.id) {
            let message = || format!("rules for {name} that come later replace these");
            problems.merge(Code::HanDead, rules.span, 0, &versions, message);
            continue;
        }
        if !is_ruled(loaded.behaviour.release, rules.id) {
            let message = || format!("HAN does not look up rules for {name}");
            problems.merge(Code::HanUnruled, rules.span, 0, &versions, message);
            continue;
        }
        for (place, level) in rules.levels.iter().enumerate() {
            if rules.levels[place + 1..].iter().any(|other| other.level == level.level) {
                let message = || format!("{name} rules for {} that come later replace these", level.level);
                problems.merge(Code::HanDead, level.span, 0, &versions, message);
            } else {
                check_level(loaded, rules.id, level, problems);
            }
        }
    }
    for segments in &loaded.segments {
        let message = || "these segment lengths do nothing".to_owned();
        problems.merge(Code::HanSegments, *segments, 0, &versions, message).edits = without_segments(source, *segments);
    }
    if let Some(trailing) = loaded.trailing {
        let message = || "a number that nothing announces".to_owned();
        problems.merge(Code::HanTrailing, trailing, 0, &versions, message);
    }
}

fn check_level(loaded: &Loaded, id: u32, rules: &LevelRules, problems: &mut Collector) {
    let versions = [loaded.behaviour];
    let (name, level, list) = (json_name(id), rules.level, &rules.configurations);
    let sizes: Vec<(u64, Span)> = list.iter().map(|one| (u64::try_from(one.size).unwrap_or(0), one.span)).collect();
    order(&sizes, &format!("{name} configurations for {level}"), &versions, problems);
    for configuration in list {
        let rules = &configuration.rules;
        let gap = match rules.iter().map(|rule| rule.size).min() {
            None => Some("all message sizes are left to HAN's parameters"),
            Some(1..) => Some("calls without data are left to HAN's parameters"),
            Some(0) => None,
        };
        if let Some(gap) = gap {
            let message = || format!("{name} on {level} from {} ranks on: {gap}", configuration.size);
            problems.merge(Code::HanGap, configuration.span, 0, &versions, message);
        }
        let sizes: Vec<(u64, Span)> = rules.iter().map(|rule| (rule.size, rule.span)).collect();
        order(&sizes, &format!("{name} rules from {} ranks on", configuration.size), &versions, problems);
        let Some(collective) = Collective::from_id(id) else { continue };
        for rule in rules {
            let component = rule.choice.component;
            if service(collective, level, component) != Service::Next {
                continue;
            }
            if component == Component::Han && level != Level::GlobalCommunicator {
                let message = || format!("{name} on {level} cannot go to han, which made this communicator");
                problems.merge(Code::HanCircle, rule.span, 0, &versions, message);
            } else {
                let message = || format!("{component} does not serve {name} on {level}");
                problems.merge(Code::HanCannotServe, rule.span, 0, &versions, message);
            }
        }
    }
}

/// Reports bounds out of order, and those that others hide.
fn order(bounds: &[(u64, Span)], what: &str, versions: &[Behaviour], problems: &mut Collector) {
    let mut unsorted = false;
    for pair in bounds.windows(2) {
        if pair[0].0 > pair[1].0 {
            unsorted = true;
            let message = || format!("{what}: size {} comes after {}", pair[1].0, pair[0].0);
            problems.merge(Code::HanUnsorted, pair[1].1, 0, versions, message);
        }
    }
    let mut live = vec![false; bounds.len()];
    for (_, place) in last_that_fits(bounds.iter().map(|(bound, _)| *bound)) {
        place.into_iter().for_each(|place| live[place] = true);
    }
    // What is out of order is reported already.
    for ((bound, span), _) in bounds.iter().zip(live).filter(|(_, live)| !live && !unsorted) {
        problems.merge(Code::HanDead, *span, 0, versions, || format!("{what}: size {bound} comes again further down"));
    }
}
