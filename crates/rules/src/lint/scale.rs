//! Effects of rules on a communicator of one size, which may be larger than any machine here.

use super::code::Code;
use super::collect::Collector;
use crate::file::Rule;
use crate::hazard::RankRange;
use crate::metric;
use crate::reach::{FileView, ReachedCommRule};
use crate::registry::When;
use crate::units::{Bytes, Ranks};

/// The size of the longest usual elements: doubles.
const LONGEST: u64 = 8;

/// The file as communicators with this number of ranks see it.
pub(super) fn narrow<'l>(mut view: FileView<'l>, ranks: Ranks) -> FileView<'l> {
    let first = u64::from(ranks.0);
    view.comm_rules.retain(|comm_rule| comm_rule.ranks.iter().any(|range| range.holds(ranks)));
    for comm_rule in &mut view.comm_rules {
        comm_rule.ranks = vec![RankRange { first, end: Some(first + 1) }];
    }
    view
}

/// Reports rules that depend on sizes, if long calls are looked up as others: for rules that apply to exactly one number
/// of ranks.
pub(super) fn check(reached: &ReachedCommRule<'_>, problems: &mut Collector) {
    let [RankRange { first, end }] = reached.ranks[..] else { return };
    let Some(ranks) = u32::try_from(first).ok().filter(|_| end == Some(first + 1)) else { return };
    let factor = metric::counted_in_int(reached.version.release, reached.collective, Ranks(ranks));
    let Some(factor) = factor.filter(|_| reached.choices().count() > 1) else { return };
    let (collective, elements) = (reached.collective, (1u64 << 31).div_ceil(factor));
    let message = format!("{collective} of {elements} elements and more on {ranks} ranks is looked up as another size");
    problems.merge(Code::CountOverflow, reached.comm_rule.size, reached.version, message);
}

/// Describes for which messages of a range an algorithm falls back for want of elements; none if for none or all.
pub(super) fn too_few(when: When, rule: &Rule, ranks: Ranks, (start, end): (u64, Option<u64>)) -> Option<String> {
    let needed = elements_needed(when, rule, ranks)?;
    let doubles = needed.saturating_mul(LONGEST);
    let some = start < doubles && end.is_none_or(|end| end > needed);
    let (bytes, doubles) = (Bytes(needed), Bytes(doubles));
    some.then(|| format!("{needed} elements on {ranks} ranks: below ({bytes} of bytes, {doubles} of doubles)"))
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
