//! Effects of the rules on the calls that use them: failures, wrong results, other algorithms than named.

use std::collections::BTreeMap;

use super::code::Code;
use super::collect::Collector;
use super::{metrics, scale};
use crate::bits::{self, Effect};
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{CommRule, Rule};
use crate::han::{Level, acted_on};
use crate::hazard::RankRange;
use crate::reach::{FileView, ReachedCommRule};
use crate::registry::{self, Algorithm, MixedTypes, RankNeed, Uses, When};
use crate::release::Release;
use crate::span::Span;
use crate::units::Ranks;

/// Places of the same problem with the same algorithm: code, collective, algorithm, kind.
type Groups = BTreeMap<(Code, Collective, u32, u64), (Vec<Span>, String)>;

/// Checks of the rules for a communicator as a whole.
const CHECKS: [fn(&ReachedCommRule<'_>, &mut Collector); 3] = [inside_han, metrics::check, scale::check];

/// Reports effects of the rules that apply to some call in one version. `knows_sums` says if the order of sums is known
/// for some of the versions; with a number of ranks, rules are those for it.
pub(super) fn check(view: &FileView<'_>, knows_sums: bool, ranks: Option<Ranks>, problems: &mut Collector) {
    let version = view.loaded.behaviour;
    let mut groups = Groups::new();
    for reached in &view.comm_rules {
        for check in CHECKS {
            check(reached, problems);
        }
        check_comm_rule(reached, ranks, &mut groups, problems);
        if bits::is_known(version.release) || !knows_sums {
            check_sums(reached, &mut groups);
        }
    }
    for ((code, _, _, kind), (mut spans, message)) in groups {
        spans.sort_unstable();
        spans.dedup();
        problems.merge_kind(code, spans[0], kind, &[version], message).also_at(&spans[1..]);
    }
}

fn check_comm_rule(reached: &ReachedCommRule<'_>, on: Option<Ranks>, groups: &mut Groups, problems: &mut Collector) {
    let (version, collective) = (reached.version, reached.collective);
    for (start, end, rule) in reached.ranges() {
        let Some(rule) = rule else { continue };
        if rule.choice.is_builtin() {
            if rule.choice != Choice::BUILTIN {
                let message =
                    format!("algorithm 0 leaves {collective} to the default, and the rest of the rule does nothing");
                problems.merge(Code::IgnoredParameter, rule.span, version, message);
            }
            continue;
        }
        let (id, faninout) = (rule.choice.algorithm, rule.choice.faninout as i32);
        let algorithm = match registry::algorithm(version.release, collective, id) {
            Ok(algorithm) => algorithm,
            Err(unknown) => {
                let message = format!("there is no {collective} algorithm {id}");
                let problem = problems.merge(Code::UnknownAlgorithm, rule.span, version, message);
                problem.remedy = format!("Known to {} are {}.", unknown.release, unknown.known).into();
                continue;
            }
        };
        let mut group = |code, kind, message: String| {
            groups.entry((code, collective, id, kind)).or_insert_with(|| (Vec::new(), message)).0.push(rule.span);
        };
        let named = format!("{collective} {}", algorithm.name);
        let two = RankRange { first: 2, end: Some(3) };
        if algorithm.ranks == RankNeed::ExactlyTwo && reached.ranks != [two] {
            let others = first_ranges(reached.ranks.iter().filter(|range| **range != two));
            problems.merge(Code::TwoProcesses, rule.span, version, format!("{named} serves {others}"));
        }
        if algorithm.radix && faninout < 2 {
            let message = format!("{named} with fan-out {faninout} never returns");
            problems.merge(Code::EndlessLoop, rule.span, version, message);
        }
        if algorithm.reorders() {
            group(Code::NonCommutative, 0, format!("{named} reorders operands"));
        }
        if algorithm.wants_one_datatype(rule.choice.segsize) {
            let with = if algorithm.mixed_types == MixedTypes::Fail { "" } else { " with segments" };
            group(Code::MixedTypes, 0, format!("{named}{with} needs the same datatype on all ranks"));
        }
        for (place, what) in ignored(collective, rule) {
            group(Code::IgnoredParameter, place, format!("{named} ignores the {what}"));
        }
        instead(reached, rule, algorithm, (start, end), on, problems);
    }
}

/// Reports rules that add up in another order than the default, or in an unknown one.
fn check_sums(reached: &ReachedCommRule<'_>, groups: &mut Groups) {
    let (release, collective) = (reached.version.release, reached.collective);
    for (start, end, rule) in reached.ranges() {
        let Some(rule) = rule else { continue };
        let Ok(algorithm) = registry::algorithm(release, collective, rule.choice.algorithm) else { continue };
        let said = match bits::effect_of_rule(release, collective, rule.effect(), &reached.ranks, (start, end)) {
            Effect::None | Effect::Same => continue,
            Effect::Unknown => "adds up in an order that is not known",
            Effect::Other | Effect::Nodes => "adds up in another order than the default",
        };
        let message = || format!("{collective} {} {said}", algorithm.name);
        let key = (Code::OrderOfSums, collective, rule.choice.algorithm, said.len() as u64);
        groups.entry(key).or_insert_with(|| (Vec::new(), message())).0.push(rule.span);
    }
}

/// Reports rules for one rank per node, which act on HAN's communicators between nodes as well.
fn inside_han(reached: &ReachedCommRule<'_>, problems: &mut Collector) {
    let CommRule { distribution, rules, size, .. } = reached.comm_rule;
    let acted_on = acted_on(reached.collective, Level::InterNode);
    let chooses = rules.iter().any(|rule| !rule.choice.is_builtin());
    if *distribution != Distribution::OnePerNode || acted_on.is_empty() || !chooses {
        return;
    }
    let outer: Vec<&str> = acted_on.iter().map(|outer| outer.name()).collect();
    let (name, ranks, outer) = (reached.collective, first_ranges(&reached.ranks), outer.join(", "));
    let message = format!("these {name} rules for {ranks} also serve HAN's {outer} between nodes");
    problems.merge(Code::ActsInsideHan, *size, reached.version, message);
}

/// The first of these ranges, for a message.
fn first_ranges<'r>(ranges: impl IntoIterator<Item = &'r RankRange>) -> String {
    ranges.into_iter().take(3).map(RankRange::to_string).collect::<Vec<_>>().join(", ")
}

/// The parameters of a rule that no release uses, each with a number.
fn ignored(collective: Collective, rule: &Rule) -> impl Iterator<Item = (u64, &'static str)> {
    let Choice { algorithm, faninout, segsize, max_requests } = rule.choice;
    let known = Release::ALL.map(|release| registry::algorithm(release, collective, algorithm));
    let unused = |uses: fn(&Uses) -> bool| !known.iter().flatten().any(|algorithm| uses(&algorithm.uses));
    let said = [
        (faninout != 0 && unused(|uses| uses.faninout), "fan-in and fan-out"),
        (segsize != 0 && unused(|uses| uses.segsize), "segment size"),
        (max_requests != 0 && rule.says_requests && unused(|uses| uses.max_requests), "bound on requests"),
    ];
    (0..).zip(said).filter(|(_, (ignored, _))| *ignored).map(|(place, (_, what))| (place, what))
}

/// Reports a rule whose algorithm falls back to another, always or for some communicators.
fn instead(
    reached: &ReachedCommRule<'_>,
    rule: &Rule,
    algorithm: &Algorithm,
    sizes: (u64, Option<u64>),
    on: Option<Ranks>,
    problems: &mut Collector,
) {
    let (version, collective) = (reached.version, reached.collective);
    for fallback in algorithm.fallbacks {
        let Ok(runs) = registry::algorithm(version.release, collective, fallback.runs) else { continue };
        let (always, sometimes, need) = gives_way(fallback.when, reached, rule, sizes.1);
        let (named, ranks, runs) = (algorithm.name, first_ranges(&reached.ranks), runs.name);
        if always {
            let message = format!("{collective} {named} needs {need}: for {ranks}, {runs} always runs here");
            problems.merge(Code::NeverItself, rule.span, version, message);
            break;
        } else if sometimes {
            let message = format!("{collective} {named} needs {need}: for some of {ranks}, {runs} runs here");
            problems.merge(Code::SometimesInstead, rule.span, version, message);
        } else if let Some(few) = on.and_then(|ranks| scale::too_few(fallback.when, rule, ranks, sizes)) {
            let message = format!("{collective} {named} needs {few} {runs} runs");
            problems.merge_kind(Code::SometimesInstead, rule.span, 1, &[version], message);
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
