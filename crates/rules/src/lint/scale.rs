//! Effects of rules on a communicator of one size, which may be larger than any machine here.

use super::code::Code;
use super::collect::Collector;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{Loaded, Rule};
use crate::hazard::RankRange;
use crate::metric;
use crate::reach::{FileView, ReachedCommRule};
use crate::registry::{self, When};
use crate::units::{Bytes, Ranks};

/// The size of the longest usual elements: doubles.
const LONGEST: u64 = 8;

/// The file as communicators with this number of ranks see it.
pub(super) fn narrow<'l>(mut view: FileView<'l>, ranks: Ranks) -> FileView<'l> {
    let first = u64::from(ranks.0);
    for reached in &mut view.collectives {
        reached.comm_rules.retain(|comm_rule| comm_rule.ranks.iter().any(|range| range.holds(ranks)));
        for comm_rule in &mut reached.comm_rules {
            comm_rule.ranks = vec![RankRange { first, end: Some(first + 1) }];
        }
    }
    view
}

/// Reports effects that depend on the number of elements per rank, for rules that apply to exactly one number of ranks.
pub(super) fn check(view: &FileView<'_>, problems: &mut Collector) {
    for reached in &view.collectives {
        for comm_rule in &reached.comm_rules {
            let [RankRange { first, end }] = comm_rule.ranks[..] else { continue };
            let Some(ranks) = u32::try_from(first).ok().filter(|_| end == Some(first + 1)) else { continue };
            overflow(view.loaded, reached.collective, comm_rule, Ranks(ranks), problems);
        }
    }
}

/// Reports rules that depend on sizes, if long calls are looked up as others.
fn overflow(
    loaded: &Loaded,
    collective: Collective,
    comm_rule: &ReachedCommRule<'_>,
    ranks: Ranks,
    problems: &mut Collector,
) {
    let Some(factor) = metric::counted_in_int(loaded.behaviour.release, collective, ranks) else { return };
    let choice = |rule: Option<usize>| rule.map_or(Choice::BUILTIN, |rule| comm_rule.comm_rule.rules[rule].effect());
    let choices: Vec<Choice> = comm_rule.steps.iter().map(|(_, rule)| choice(*rule)).collect();
    if choices.windows(2).all(|pair| pair[0] == pair[1]) {
        return;
    }
    let elements = (1u64 << 31).div_ceil(factor);
    let message = || {
        let name = collective.name();
        format!("{name} of {elements} elements and more on {ranks} ranks is looked up as another size")
    };
    problems.merge(Code::CountOverflow, comm_rule.comm_rule.size, 0, &[loaded.behaviour], message);
}

/// Reports rules whose algorithm falls back to another for messages with too few elements.
pub(super) fn few_elements(view: &FileView<'_>, ranks: Ranks, problems: &mut Collector) {
    let (loaded, release) = (view.loaded, view.loaded.behaviour.release);
    for reached in &view.collectives {
        for comm_rule in &reached.comm_rules {
            for (start, end, rule) in comm_rule.ranges() {
                let Some(rule) = rule.map(|rule| &comm_rule.comm_rule.rules[rule]) else { continue };
                let Ok(algorithm) = registry::algorithm(release, reached.collective, rule.choice.algorithm) else {
                    continue;
                };
                for fallback in algorithm.fallbacks {
                    let Some(needed) = elements_needed(fallback.when, rule, ranks) else { continue };
                    let Ok(runs) = registry::algorithm(release, reached.collective, fallback.runs) else { continue };
                    // A fallback whatever the datatype is another problem.
                    let always = end.is_some_and(|end| end <= needed);
                    if always || start >= needed.saturating_mul(LONGEST) {
                        continue;
                    }
                    let (name, named, runs) = (reached.collective.name(), algorithm.name, runs.name);
                    let (bytes, doubles) = (Bytes(needed), Bytes(needed.saturating_mul(LONGEST)));
                    let message = || {
                        format!(
                            "{name} {named} needs {needed} elements on {ranks} ranks: below ({bytes} of bytes, {doubles} of \
                             doubles) {runs} runs"
                        )
                    };
                    problems.merge(Code::SometimesInstead, rule.span, 1, &[loaded.behaviour], message);
                }
            }
        }
    }
}

/// Returns the least number of elements with which an algorithm does not fall back for this reason.
fn elements_needed(when: When, rule: &Rule, ranks: Ranks) -> Option<u64> {
    let ranks = u64::from(ranks.0);
    match when {
        When::FewerThanRanks => Some(ranks),
        When::FewerThanPowerOfTwo => Some(1 << ranks.max(1).ilog2()),
        When::FewerThanSegments if rule.choice.segsize > 0 => Some(ranks),
        _ => None,
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
        assert_eq!(messages("1\n9 1\n0 1\n0 2 0 0\n", 65536), Vec::<String>::new(), "one rule serves all sizes");
    }
}
