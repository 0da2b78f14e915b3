//! Effects of the rules on the calls that use them: failures, wrong results, other algorithms than named.

use std::collections::BTreeMap;

use super::code::Code;
use super::collect::Collector;
use crate::bits::{self, Effect};
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{Loaded, Rule};
use crate::han::{Level, acted_on};
use crate::hazard::RankRange;
use crate::reach::{FileView, Reached, ReachedCommRule};
use crate::registry::{self, Algorithm, MixedTypes, RankNeed, Uses, When};
use crate::release::Release;
use crate::span::Span;

/// Places of the same problem with the same algorithm: code, collective, algorithm, kind.
type Groups = BTreeMap<(Code, Collective, u32, u64), (Vec<Span>, String)>;

/// Reports effects of the rules that apply to some call in one version. `knows_sums` says if the order of sums is known
/// for some of the versions.
pub(super) fn check(view: &FileView<'_>, knows_sums: bool, problems: &mut Collector) {
    let loaded = view.loaded;
    let mut groups = Groups::new();
    for served in &view.collectives {
        for comm_rule in &served.comm_rules {
            check_comm_rule(loaded, served, comm_rule, &mut groups, problems);
            if bits::is_known(loaded.behaviour.release) || !knows_sums {
                check_sums(loaded, served.collective, comm_rule, &mut groups);
            }
        }
    }
    for ((code, _, _, kind), (mut spans, message)) in groups {
        spans.sort_unstable();
        spans.dedup();
        problems.add_many(code, &spans, kind, &[loaded.behaviour], || message);
    }
}

fn check_comm_rule(
    loaded: &Loaded,
    served: &Reached<'_>,
    comm_rule: &ReachedCommRule<'_>,
    groups: &mut Groups,
    problems: &mut Collector,
) {
    let (release, collective) = (loaded.behaviour.release, served.collective);
    let name = collective.name();
    inside_han(loaded, collective, comm_rule, problems);
    for (_, end, rule) in comm_rule.ranges() {
        let Some(rule) = rule.map(|rule| &comm_rule.comm_rule.rules[rule]).filter(|rule| !rule.choice.is_builtin())
        else {
            continue;
        };
        let id = rule.choice.algorithm;
        let algorithm = match registry::algorithm(release, collective, id) {
            Ok(algorithm) => algorithm,
            Err(unknown) => {
                let message = || format!("there is no {name} algorithm {id}");
                let problem = problems.merge(Code::UnknownAlgorithm, rule.span, 0, &[loaded.behaviour], message);
                problem.remedy = format!("Known to {} are {}.", unknown.release, unknown.known).into();
                continue;
            }
        };
        let mut group = |code, kind, message: &dyn Fn() -> String| {
            let entry = groups.entry((code, collective, id, kind)).or_insert_with(|| (Vec::new(), message()));
            entry.0.push(rule.span);
        };
        let named = algorithm.name;
        if algorithm.ranks == RankNeed::ExactlyTwo && comm_rule.ranks != [RankRange { first: 2, end: Some(3) }] {
            let ranks = others_than_two(&comm_rule.ranks);
            let message = || format!("{name} {named} serves {ranks}");
            problems.merge(Code::TwoProcesses, rule.span, 0, &[loaded.behaviour], message);
        }
        if algorithm.radix && (rule.choice.faninout as i32) < 2 {
            let message = || format!("{name} {named} with fan-out {} never returns", rule.choice.faninout as i32);
            problems.merge(Code::EndlessLoop, rule.span, 0, &[loaded.behaviour], message);
        }
        if algorithm.reorders() {
            group(Code::NonCommutative, 0, &|| format!("{name} {named} reorders operands"));
        }
        if algorithm.wants_one_datatype(rule.choice.segsize) {
            let with = if algorithm.mixed_types == MixedTypes::Fail { "" } else { " with segments" };
            group(Code::MixedTypes, 0, &|| format!("{name} {named}{with} needs the same datatype on all ranks"));
        }
        for (place, what) in ignored(collective, rule) {
            group(Code::IgnoredParameter, place, &|| format!("{name} {named} ignores the {what}"));
        }
        instead(loaded, collective, comm_rule, rule, algorithm, end, problems);
    }
}

/// Reports rules that add up in another order than the default, or in an unknown one.
fn check_sums(loaded: &Loaded, collective: Collective, comm_rule: &ReachedCommRule<'_>, groups: &mut Groups) {
    let release = loaded.behaviour.release;
    for (start, end, rule) in comm_rule.ranges() {
        let Some(rule) = rule.map(|rule| &comm_rule.comm_rule.rules[rule]) else { continue };
        let Ok(algorithm) = registry::algorithm(release, collective, rule.choice.algorithm) else { continue };
        let said = match bits::effect_of_rule(release, collective, rule.effect(), &comm_rule.ranks, (start, end)) {
            Effect::None | Effect::Same => continue,
            Effect::Unknown => "adds up in an order that is not known",
            Effect::Other | Effect::Nodes => "adds up in another order than the default",
        };
        let message = || format!("{} {} {said}", collective.name(), algorithm.name);
        let key = (Code::OrderOfSums, collective, rule.choice.algorithm, said.len() as u64);
        groups.entry(key).or_insert_with(|| (Vec::new(), message())).0.push(rule.span);
    }
}

/// Reports rules for one rank per node, which act on HAN's communicators between nodes as well.
fn inside_han(loaded: &Loaded, collective: Collective, comm_rule: &ReachedCommRule<'_>, problems: &mut Collector) {
    let acted_on = acted_on(collective, Level::InterNode);
    let chooses = comm_rule.comm_rule.rules.iter().any(|rule| !rule.choice.is_builtin());
    if comm_rule.comm_rule.distribution != Distribution::OnePerNode || acted_on.is_empty() || !chooses {
        return;
    }
    let message = || {
        let ranks: Vec<String> = comm_rule.ranks.iter().take(3).map(RankRange::to_string).collect();
        let outer: Vec<&str> = acted_on.iter().map(|outer| outer.name()).collect();
        let (name, ranks) = (collective.name(), ranks.join(", "));
        format!("these {name} rules for {ranks} also serve HAN's {} between nodes", outer.join(", "))
    };
    problems.merge(Code::ActsInsideHan, comm_rule.comm_rule.size, 0, &[loaded.behaviour], message);
}

fn others_than_two(ranks: &[RankRange]) -> String {
    let others = ranks.iter().filter(|range| **range != RankRange { first: 2, end: Some(3) });
    let ranges: Vec<String> = others.take(3).map(RankRange::to_string).collect();
    ranges.join(", ")
}

/// The parameters of a rule that no release uses, each with a number.
fn ignored(collective: Collective, rule: &Rule) -> impl Iterator<Item = (u64, &'static str)> {
    let Choice { algorithm, faninout, segsize, max_requests } = rule.choice;
    let mut uses = Uses::default();
    for release in Release::ALL {
        if let Ok(algorithm) = registry::algorithm(release, collective, algorithm) {
            uses.faninout |= algorithm.uses.faninout;
            uses.segsize |= algorithm.uses.segsize;
            uses.max_requests |= algorithm.uses.max_requests;
        }
    }
    let said = [
        (faninout != 0 && !uses.faninout, "fan-in and fan-out"),
        (segsize != 0 && !uses.segsize, "segment size"),
        (max_requests != 0 && rule.says_requests && !uses.max_requests, "bound on requests"),
    ];
    (0..).zip(said).filter(|(_, (ignored, _))| *ignored).map(|(place, (_, what))| (place, what))
}

/// Reports a rule whose algorithm falls back to another, always or for some communicators.
fn instead(
    loaded: &Loaded,
    collective: Collective,
    comm_rule: &ReachedCommRule<'_>,
    rule: &Rule,
    algorithm: &Algorithm,
    end: Option<u64>,
    problems: &mut Collector,
) {
    for fallback in algorithm.fallbacks {
        let Ok(runs) = registry::algorithm(loaded.behaviour.release, collective, fallback.runs) else { continue };
        let (always, sometimes, need) = gives_way(fallback.when, comm_rule, rule, end);
        if !always && !sometimes {
            continue;
        }
        let ranks: Vec<String> = comm_rule.ranks.iter().take(3).map(RankRange::to_string).collect();
        let (ranks, name, named, runs) = (ranks.join(", "), collective.name(), algorithm.name, runs.name);
        let (code, message) = if always {
            (Code::NeverItself, format!("{name} {named} needs {need}: for {ranks}, {runs} always runs here"))
        } else {
            (Code::SometimesInstead, format!("{name} {named} needs {need}: for some of {ranks}, {runs} runs here"))
        };
        problems.merge(code, rule.span, 0, &[loaded.behaviour], || message);
        if always {
            break;
        }
    }
}

/// Returns true if an algorithm falls back for all calls that use a rule, true if it does so for every message size on
/// some communicators, and its requirement.
fn gives_way(when: When, comm_rule: &ReachedCommRule<'_>, rule: &Rule, end: Option<u64>) -> (bool, bool, &'static str) {
    let all = |holds: &dyn Fn(RankRange) -> bool| comm_rule.ranks.iter().all(|range| holds(*range));
    let single = |range: RankRange| range.end == Some(range.first + 1);
    // Elements have a byte at least.
    let most = end.map_or(u64::MAX, |end| end - 1);
    let segsize = rule.choice.segsize & u64::from(u32::MAX);
    match when {
        When::OddRanks => (
            all(&|range| single(range) && range.first % 2 == 1),
            !all(&|range| single(range) && range.first % 2 == 0),
            "an even number of ranks",
        ),
        When::NotPowerOfTwo => {
            let power = |range: RankRange| range.first.checked_next_power_of_two();
            let without = |range: RankRange| power(range).is_none_or(|power| range.end.is_some_and(|end| power >= end));
            (all(&without), !all(&|range| single(range) && range.first.is_power_of_two()), "a power of two of ranks")
        }
        When::FewerThanRanks => (all(&|range| most < range.first), false, "an element for every rank"),
        When::FewerThanPowerOfTwo => {
            (all(&|range| most < 1 << range.first.max(1).ilog2()), false, "an element for nearly every rank")
        }
        When::FewerThanSegments => {
            (segsize == 0 || all(&|range| most < range.first), false, "segments, and one for every rank")
        }
        When::TooSmallToSplit => (most / 2 < segsize.max(1), false, "two elements, and a segment in each half"),
        When::NonCommutativeOperation => (false, false, "an operation that commutes"),
    }
}
