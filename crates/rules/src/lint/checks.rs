//! Checks of an accepted file, as a version uses it: the calls to which its rules apply, and the effects on these.

use std::collections::{BTreeMap, HashSet};

use super::code::{Code, Severity};
use super::collect::Collector;
use super::words::Strict;
use crate::behaviour::Behaviour;
use crate::bits::{self, Effect};
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{CollectiveRules, CommRule, Format, Loaded, Rule, RuleState, load};
use crate::han::{Level, acted_on};
use crate::hazard::{self, RankRange};
use crate::metric::{Metric, counted_in_int, metric};
use crate::reach::{FIRST, FileView, ReachedCommRule};
use crate::registry::{self, Algorithm, MixedTypes, Uses, When};
use crate::release::Release;
use crate::span::Span;
use crate::units::{Bytes, Ranks};

/// The size of the longest usual elements: doubles.
const LONGEST: u64 = 8;

/// The checks of a file, with the facts that all versions share.
pub(super) struct Checks<'c> {
    strict: &'c Strict,
    /// With a number of ranks, rules are those for it.
    ranks: Option<Ranks>,
    /// True if the order of sums is known for some of the versions.
    knows_sums: bool,
    /// Starts of the rules and communicator rules that apply to some call in some version.
    live: HashSet<usize>,
}

/// Places of the same problem with the same algorithm: code, collective, algorithm, kind.
type Groups = BTreeMap<(Code, Collective, u32, u64), (Vec<Span>, String)>;

impl<'c> Checks<'c> {
    /// The checks of a file for the versions that accept it, of those that were asked.
    pub(super) fn new(
        source: &[u8],
        views: &[FileView<'_>],
        strict: &'c Strict,
        asked: &[Behaviour],
        ranks: Option<Ranks>,
    ) -> Self {
        let json = views.iter().all(|view| view.loaded.format == Format::Json);
        // Files for several versions hold rules for some of them: the whole truth is with all versions.
        let others: Vec<Loaded> = Behaviour::distinct()
            .iter()
            .filter(|version| views.iter().all(|view| view.loaded.behaviour.name() != version.name()))
            .filter(|version| !views.is_empty() && (!json || version.reads_json))
            .filter_map(|version| load(source, version).ok())
            .collect();
        let others: Vec<FileView<'_>> = others.iter().map(FileView::new).collect();
        let mut live = HashSet::new();
        for reached in views.iter().chain(&others).flat_map(|view| &view.comm_rules) {
            live.insert(reached.comm_rule.span.start);
            live.extend(reached.rules().map(|rule| rule.span.start));
        }
        // Silent about releases whose orders of sums are unknown, if there are others.
        let knows_sums = asked.iter().any(|version| bits::is_known(version.release));
        Self { strict, ranks, knows_sums, live }
    }

    /// Reports the problems of a file in its version.
    pub(super) fn check(&self, view: FileView<'_>, problems: &mut Collector) {
        let version = view.loaded.behaviour;
        for (collective, rules) in &view.collectives {
            self.check_reach(&view, *collective, rules, problems);
        }
        let mut groups = Groups::new();
        for mut reached in view.comm_rules {
            let CommRule { listed, rules, size, .. } = reached.comm_rule;
            let gap = reached.steps.iter().find(|(_, _, rule)| rule.is_none() && !rules.is_empty());
            if let Some((start, end, _)) = gap.filter(|_| listed.is_none()) {
                let end = end.map_or("on".to_owned(), |end| format!("to {}", end - 1));
                let message = format!("no {} rule is for looked-up sizes from {start} {end}", reached.collective);
                problems.merge(Code::Gap, *size, version, message);
            }
            if let Some(ranks) = self.ranks {
                if !reached.ranks.iter().any(|range| range.holds(ranks)) {
                    continue;
                }
                reached.ranks = vec![RankRange { first: ranks.0.into(), end: Some(u64::from(ranks.0) + 1) }];
            }
            check_calls(&reached, problems);
            for (start, end, rule) in reached.steps.iter() {
                let Some(rule) = rule else { continue };
                RuledRange { reached: &reached, rule, start, end }.check(self, &mut groups, problems);
            }
        }
        for ((code, _, _, kind), (mut spans, message)) in groups {
            spans.sort_unstable();
            spans.dedup();
            problems.merge_kind(code, spans[0], kind, &[version], message).also_at(&spans[1..]);
        }
    }

    /// Reports rules that never apply, and those that apply to more calls than they seem to.
    fn check_reach(
        &self,
        view: &FileView<'_>,
        collective: Collective,
        rules: &CollectiveRules,
        problems: &mut Collector,
    ) {
        let version = view.loaded.behaviour;
        // The communicators that rules apply to, and their own if these are others.
        let in_use = |comm_rule: &CommRule, listed: i32| {
            let is_own = |reached: &&ReachedCommRule<'_>| {
                reached.collective == collective && reached.comm_rule.span == comm_rule.span
            };
            let ranks = view.comm_rules.iter().find(is_own).map_or(&[][..], |reached| &reached.ranks);
            let holds = |range: &RankRange| u32::try_from(listed).is_ok_and(|listed| range.holds(Ranks(listed)));
            (first_ranges(ranks), ranks.iter().any(holds))
        };
        for comm_rule in rules.comm_rules.iter().filter(|it| self.strict.flagged.contains(&it.span.start)) {
            if let Some(listed) = comm_rule.listed.filter(|listed| *listed >= FIRST as i32) {
                let (ranges, holds_own) = in_use(comm_rule, listed);
                let ranges = if ranges.is_empty() { "no communicator".to_owned() } else { ranges };
                let instead = if holds_own { "" } else { ", not their own" };
                let when = if version.shifts_sizes { "6.0" } else { "up to 5.0" };
                let what = format!("; {when}, these {collective} rules apply to {ranges}{instead}");
                problems.extend(Code::Unsorted, comm_rule.size, &what);
            }
        }
        for comm_rule in &rules.comm_rules {
            let CommRule { span, size, listed, max, rules, .. } = comm_rule;
            let is_said = self.strict.flagged.contains(&span.start) || listed.is_none() && *max < 0;
            let is_dead = !self.live.contains(&span.start);
            // What leaves the decision to Open MPI is a guard, and may be one too many.
            if is_dead && !is_said && !is_guard(comm_rule) {
                let message = format!("these {collective} rules apply to no communicator");
                problems.merge(Code::DeadCommRule, *size, version, message);
            }
            for Rule { span, min, max, state, choice, .. } in rules.iter().filter(|_| !is_dead) {
                let is_said = self.strict.flagged.contains(&span.start) || *state == RuleState::Disabled;
                if !is_said && !choice.is_builtin() && !self.live.contains(&span.start) {
                    let why = if min > max { "its sizes end before they begin" } else { "others come first" };
                    let message = format!("this {collective} rule applies to no message: {why}");
                    problems.merge(Code::DeadRule, *span, version, message);
                }
            }
        }
        let Some(first) = rules.comm_rules.first().filter(|first| !is_guard(first)) else { return };
        let Some(size) = first.listed.filter(|size| *size > FIRST as i32) else { return };
        let this = format!("the {collective} rules for {size} ranks apply to communicators");
        if rules.comm_rules.len() == 1 {
            problems.merge(Code::LoneSize, first.size, version, format!("{this} of every size"));
        } else if !version.first_match {
            let (ranges, holds_own) = in_use(first, size);
            let message = match holds_own {
                true => format!("{this} of 2 to {} ranks as well", size - 1),
                false => format!("{this} of {ranges} instead"),
            };
            problems.merge(Code::BelowFirst, first.size, version, message);
        }
    }
}

/// Returns true if rules leave all decisions to Open MPI.
fn is_guard(comm_rule: &CommRule) -> bool {
    comm_rule.rules.iter().all(|rule| rule.choice.is_builtin())
}

/// The first of these ranges, for a message.
fn first_ranges<'r>(ranges: impl IntoIterator<Item = &'r RankRange>) -> String {
    ranges.into_iter().take(3).map(RankRange::to_string).collect::<Vec<_>>().join(", ")
}

/// Reports communicator rules that act inside HAN, and those whose choice should not depend on the message size, or not in
/// this way.
fn check_calls(reached: &ReachedCommRule<'_>, problems: &mut Collector) {
    let ReachedCommRule { version, collective, comm_rule, .. } = *reached;
    let (release, size) = (version.release, comm_rule.size);
    let choices = reached.steps.map(|rule| rule.map_or(Choice::BUILTIN, Rule::effect));
    let outer: Vec<&str> = acted_on(collective, Level::InterNode).into_iter().map(Collective::name).collect();
    if comm_rule.distribution == Distribution::OnePerNode && !outer.is_empty() && !is_guard(comm_rule) {
        let (ranks, outer) = (first_ranges(&reached.ranks), outer.join(", "));
        let message = format!("these {collective} rules for {ranks} also apply to HAN's {outer} between nodes");
        problems.merge(Code::ActsInsideHan, size, version, message);
    }
    if choices.count() < 2 {
        return;
    }
    let thresholds: Vec<u64> = choices.iter().skip(1).map(|(start, ..)| start).collect();
    let changes: Vec<Span> =
        thresholds.iter().filter_map(|start| reached.steps.get(*start).map(|rule| rule.span)).collect();
    let at = changes.first().copied().unwrap_or(size);
    let differs_by_rank = collective.looks_up_by_rank();
    let differs = |(.., choice): (_, _, &Choice)| !hazard::interoperate(collective, *choice, *choices.get(0));
    if differs_by_rank && choices.iter().any(differs) {
        let ranks = reached.ranks.first().map_or_else(String::new, ToString::to_string);
        let message = format!("the {collective} rules for {ranks} change with the message size");
        let problem = problems.merge(Code::SizeDependent, size, version, message);
        problem.related_to(&changes[..changes.len().min(3)], "changes here");
    }
    let unseen = match metric(release, collective, Ranks(reached.first() as u32)) {
        Metric::Times(_) => "",
        Metric::None => "always 0",
        Metric::CountFree => "the size of the datatype times the number of ranks",
    };
    if !differs_by_rank && !unseen.is_empty() {
        let message = format!("{collective} rules differ by size, but what is looked up is {unseen}");
        problems.merge(Code::SizeUnseen, at, version, message);
    }
    let other = match collective {
        Collective::Allgatherv => "the total instead of the average",
        _ if differs_by_rank => "the size of the datatype times the ranks, without the count",
        _ => "",
    };
    if release == Release::V4_0 && !other.is_empty() {
        problems.merge(Code::OtherMetric, at, version, format!("for {collective}, 4.0 looks up {other}"));
    }
    // Thresholds in lookup totals, for each rank. Totals of non-empty messages are multiples of the number of ranks: powers
    // of two that are no multiples, or are smaller, were probably meant as bytes per rank. The size is that in the list,
    // rather than smaller ones to which it applies as well.
    let listed = comm_rule.listed.filter(|_| !version.shifts_sizes).and_then(|size| u64::try_from(size).ok());
    let count = listed.unwrap_or(0).max(reached.first());
    let is_total = metric(release, collective, Ranks(count as u32)) == Metric::Times(count) && count > 2;
    if is_total && thresholds.iter().all(|size| size.is_power_of_two()) {
        let first = thresholds[0];
        let each = (100.0 * first as f64 / count as f64).round() / 100.0;
        let message =
            format!("a threshold of {first} bytes for {collective} on {count} ranks is {each} bytes per rank");
        let problem = problems.merge(Code::PerRankSizes, at, version, message);
        let is_doubtful = first < count || thresholds.len() > 2 && !count.is_power_of_two();
        if thresholds.len() < 2 || !is_doubtful {
            problem.severity = Severity::Note;
        }
    }
    // Exactly one number of ranks.
    if let [RankRange { first, end }] = reached.ranks[..]
        && end == Some(first + 1)
        && let Some(factor) =
            u32::try_from(first).ok().and_then(|ranks| counted_in_int(release, collective, Ranks(ranks)))
    {
        let elements = (1u64 << 31).div_ceil(factor);
        let message =
            format!("{collective} of {elements} elements and more on {first} ranks is looked up as another size");
        problems.merge(Code::CountOverflow, size, version, message);
    }
}

/// A rule for a range of sizes, and the calls to which it applies.
struct RuledRange<'v, 'l> {
    reached: &'v ReachedCommRule<'l>,
    rule: &'l Rule,
    start: u64,
    end: Option<u64>,
}

impl RuledRange<'_, '_> {
    /// Reports effects on the calls: failures, wrong results, other algorithms than named.
    fn check(&self, checks: &Checks<'_>, groups: &mut Groups, problems: &mut Collector) {
        let Self { reached: &ReachedCommRule { version, collective, ref ranks, .. }, rule, .. } = *self;
        let (release, Choice { algorithm: id, faninout, segsize, .. }) = (version.release, rule.choice);
        if rule.choice.is_builtin() {
            if rule.choice != Choice::BUILTIN {
                let message =
                    format!("algorithm 0 leaves {collective} to the default, and the rest of the rule does nothing");
                problems.merge(Code::IgnoredParameter, rule.span, version, message);
            }
            return;
        }
        let algorithm = match registry::algorithm(release, collective, id) {
            Ok(algorithm) => algorithm,
            Err(unknown) => {
                let message = format!("there is no {collective} algorithm {id}");
                let problem = problems.merge(Code::UnknownAlgorithm, rule.span, version, message);
                problem.remedy = format!("Known to {} are {}.", unknown.release, unknown.known).into();
                return;
            }
        };
        let named = format!("{collective} {}", algorithm.name);
        let two = RankRange { first: 2, end: Some(3) };
        if algorithm.only_two && *ranks != [two] {
            let others = first_ranges(ranks.iter().filter(|range| **range != two));
            problems.merge(Code::TwoProcesses, rule.span, version, format!("{named} runs on {others}"));
        }
        if algorithm.radix && (faninout as i32) < 2 {
            let message = format!("{named} with fan-out {} never returns", faninout as i32);
            problems.merge(Code::EndlessLoop, rule.span, version, message);
        }
        let mut group = |code, kind, said: &str| {
            let message = || format!("{named}{said}");
            groups.entry((code, collective, id, kind)).or_insert_with(|| (Vec::new(), message())).0.push(rule.span);
        };
        if algorithm.reorders {
            group(Code::NonCommutative, 0, " reorders operands");
        }
        if algorithm.wants_one_datatype(segsize) {
            let with = if algorithm.mixed_types == MixedTypes::Fail { "" } else { " with segments" };
            group(Code::MixedTypes, 0, &format!("{with} needs the same datatype on all ranks"));
        }
        // Parameters that no release uses.
        let known = Release::ALL.map(|release| registry::algorithm(release, collective, id));
        let requests = if rule.says_requests { rule.choice.max_requests } else { 0 };
        let is_unused = |uses: fn(&Uses) -> bool| !known.iter().flatten().any(|algorithm| uses(&algorithm.uses));
        let ignored = [
            (faninout != 0 && is_unused(|uses| uses.faninout), "fan-in and fan-out"),
            (segsize != 0 && is_unused(|uses| uses.segsize), "segment size"),
            (requests != 0 && is_unused(|uses| uses.max_requests), "bound on requests"),
        ];
        for (kind, (_, what)) in (0..).zip(ignored).filter(|(_, (is_ignored, _))| *is_ignored) {
            group(Code::IgnoredParameter, kind, &format!(" ignores the {what}"));
        }
        if bits::is_known(release) || !checks.knows_sums {
            match bits::effect_of_rule(release, collective, rule.effect(), ranks, (self.start, self.end)) {
                Effect::None | Effect::Same => {}
                Effect::Unknown => group(Code::OrderOfSums, 0, " adds up in an order that is not known"),
                Effect::Other | Effect::Nodes => {
                    group(Code::OrderOfSums, 1, " adds up in another order than the default");
                }
            }
        }
        self.check_fallbacks(algorithm, checks.ranks, problems);
    }

    /// Reports algorithms that fall back to others, always or for some communicators, or with few elements `on` these ranks.
    fn check_fallbacks(&self, algorithm: &Algorithm, on: Option<Ranks>, problems: &mut Collector) {
        let ReachedCommRule { version, collective, ranks, .. } = self.reached;
        let span = self.rule.span;
        for fallback in algorithm.fallbacks {
            let Ok(runs) = registry::algorithm(version.release, *collective, fallback.runs) else { continue };
            let (always, sometimes, need) = self.gives_way(fallback.when);
            let (this, ranks, runs) =
                (format!("{collective} {} needs", algorithm.name), first_ranges(ranks), runs.name);
            if always {
                let message = format!("{this} {need}: for {ranks}, {runs} always runs here");
                problems.merge(Code::NeverItself, span, *version, message);
                break;
            } else if sometimes {
                let message = format!("{this} {need}: for some of {ranks}, {runs} runs here");
                problems.merge(Code::SometimesInstead, span, *version, message);
            } else if let Some(few) = on.and_then(|ranks| self.too_few(fallback.when, ranks)) {
                let message = format!("{this} {few} {runs} runs");
                problems.merge_kind(Code::SometimesInstead, span, 1, &[*version], message);
            }
        }
    }

    /// Returns the least number of elements with which an algorithm does not fall back for this reason, if there is one.
    fn elements_needed(&self, when: When, ranks: u64) -> Option<u64> {
        match when {
            When::FewerThanRanks => Some(ranks),
            When::FewerThanPowerOfTwo => Some(1 << ranks.max(1).ilog2()),
            When::FewerThanSegments if self.segsize() > 0 => Some(ranks),
            _ => None,
        }
    }

    fn segsize(&self) -> u64 {
        self.rule.choice.segsize & u64::from(u32::MAX)
    }

    /// Describes for which messages of a range an algorithm falls back for want of elements; none if for none or all.
    fn too_few(&self, when: When, on: Ranks) -> Option<String> {
        let needed = self.elements_needed(when, on.0.into())?;
        let doubles = needed.saturating_mul(LONGEST);
        let some = self.start < doubles && self.end.is_none_or(|end| end > needed);
        let (bytes, doubles) = (Bytes(needed), Bytes(doubles));
        some.then(|| format!("{needed} elements on {on} ranks: below ({bytes} of bytes, {doubles} of doubles)"))
    }

    /// Returns true if an algorithm falls back for all calls that use a rule, true if it does so for every message size on
    /// some communicators, and its requirement.
    fn gives_way(&self, when: When) -> (bool, bool, &'static str) {
        let all = |holds: &dyn Fn(RankRange) -> bool| self.reached.ranks.iter().all(|range| holds(*range));
        let single = |range: RankRange| range.end == Some(range.first + 1);
        // Elements have a byte at least.
        let most = self.end.map_or(u64::MAX, |end| end - 1);
        let few = || all(&|range| self.elements_needed(when, range.first).is_none_or(|needed| most < needed));
        match when {
            When::OddRanks => (
                all(&|range| single(range) && range.first % 2 == 1),
                !all(&|range| single(range) && range.first % 2 == 0),
                "an even number of ranks",
            ),
            When::NotPowerOfTwo => {
                let power = |range: RankRange| range.first.checked_next_power_of_two();
                let without = |range| power(range).is_none_or(|power| range.end.is_some_and(|end| power >= end));
                let are_powers = all(&|range| single(range) && range.first.is_power_of_two());
                (all(&without), !are_powers, "a power of two of ranks")
            }
            When::FewerThanRanks => (few(), false, "an element for every rank"),
            When::FewerThanPowerOfTwo => (few(), false, "an element for nearly every rank"),
            When::FewerThanSegments => (few(), false, "segments, and one for every rank"),
            When::TooSmallToSplit => {
                (most / 2 < self.segsize().max(1), false, "two elements, and a segment in each half")
            }
            When::NonCommutativeOperation => (false, false, "an operation that commutes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check_on;
    use super::*;
    use crate::behaviour::Behaviour;

    fn messages(text: &str, ranks: u32) -> Vec<String> {
        let version: Behaviour = "5.0".parse().expect("known");
        let report = check_on(text.as_bytes(), &[version], Some(Ranks(ranks)));
        let of_scale = |code: Code| matches!(code, Code::SometimesInstead | Code::NeverItself | Code::CountOverflow);
        report.problems.into_iter().filter(|problem| of_scale(problem.code)).map(|problem| problem.message).collect()
    }

    /// A broadcast of 32 kB on 64k ranks runs linear: one rank sends 65535 messages (open-mpi/ompi 12550).
    #[test]
    fn a_broadcast_of_fewer_bytes_than_ranks_runs_linear() {
        let text = "1\n7 1\n64 3\n0 0 0 0\n16384 8 0 0\n65536 9 0 0\n";
        let found = messages(text, 65536);
        assert_eq!(
            found,
            [
                "bcast scatter_allgather needs an element for every rank: for 65536 ranks, basic_linear always runs \
                 here",
                "bcast scatter_allgather_ring needs 65536 elements on 65536 ranks: below (64 KiB of bytes, 512 KiB of \
                 doubles) basic_linear runs",
            ]
        );
        assert_eq!(messages(text, 64), Vec::<String>::new(), "messages are long enough for every datatype");
        // At the edges: one byte less, and one rank less than a power of two.
        assert_eq!(messages("1\n7 1\n64 2\n0 0 0 0\n512 8 0 0\n", 64).len(), 0);
        assert_eq!(messages("1\n7 1\n64 2\n0 0 0 0\n511 8 0 0\n", 64).len(), 1);
        assert_eq!(
            [256, 255].map(|first| messages(&format!("1\n2 1\n64 2\n0 0 0 0\n{first} 6 0 0\n"), 63).len()),
            [0, 1]
        );
    }

    #[test]
    fn no_number_of_ranks_overflows() {
        let text = "1\n2 1\n0 3\n0 6 0 0\n64 4 0 0\n1024 5 0 1024\n";
        for ranks in [0, 1, 2, 3, (1 << 31) - 1, 1 << 31, u32::MAX] {
            messages(text, ranks);
            messages("1\n9 1\n0 2\n0 1 0 0\n64 2 0 0\n", ranks);
        }
        let found = messages("1\n2 1\n0 1\n0 6 0 0\n", u32::MAX);
        assert!(found.iter().any(|message| message.contains("2147483648 elements")), "{found:?}");
    }

    #[test]
    fn gathers_whose_count_overflows_are_reported_where_sizes_matter() {
        let found = messages("1\n9 1\n0 2\n0 1 0 0\n64 2 0 0\n", 65536);
        assert_eq!(found, ["gather of 32768 elements and more on 65536 ranks is looked up as another size"]);
        assert_eq!(messages("1\n9 1\n0 1\n0 2 0 0\n", 65536), Vec::<String>::new(), "one rule applies to all sizes");
    }
}
