//! From solved problems to who serves which calls: boundaries between measured sizes, and what holds where nothing was measured.
//!
//! Message sizes below the smallest and above the largest measured one are left to the builtin, and so are communicator
//! sizes below and above the measured ones: Open MPI would otherwise serve them by the rule of their neighbour, which
//! nobody measured. For communicator sizes in between the policy decides.

use collrules_record::findings::Crossover;
use collrules_record::policy::Between;
use collrules_record::validation::GivenBack;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::registry::{self, RankNeed, When};
use collrules_rules::steps::Steps;
use collrules_rules::{Choice, Collective, Release};

use super::offers::{Encoding, Terms};
use super::problem::{Partition, Range};
use crate::crossover::{boundary, interval};
use crate::repair::{covers, leave};
use crate::verdict::JudgedCell;

/// What serves calls of so many lookup bytes.
pub(crate) type Sizes = Steps<Candidate>;

/// Who serves a collective by communicator size and lookup bytes, and where a choice changes.
pub(super) fn place(
    encoding: &Encoding<'_>,
    partition: &Partition,
    terms: &Terms<'_>,
) -> (Steps<Sizes>, Vec<Crossover>) {
    let mut steps = Steps::constant(Steps::constant(Candidate::Builtin));
    let mut crossovers = Vec::new();
    let mut placed: Vec<(u64, u64, Sizes)> = Vec::new();
    for range in &partition.ranges {
        let sizes = sizes(encoding, range, terms);
        for block in &encoding.blocks[range.first..range.end] {
            crossovers.extend(changes(encoding, block, &sizes, terms));
            let ranks = u64::from(block[0].cell.ranks.0);
            placed.push((ranks, range.first as u64, sizes.clone()));
        }
    }
    for (ranks, _, sizes) in &placed {
        steps.set(*ranks, Some(ranks + 1), sizes.clone());
    }
    for pair in placed.windows(2) {
        let ((lower, range, below), (upper, other, above)) = (&pair[0], &pair[1]);
        let between = match terms.policy.between {
            Between::Keep => continue,
            Between::Lower => filtered(below, |choice| takes_any(encoding.collective, choice)),
            Between::Agree => {
                let common = if range == other {
                    below.clone()
                } else {
                    agreement((Ranks(*lower as u32), below), (Ranks(*upper as u32), above), encoding, terms.release)
                };
                filtered(&common, |choice| runs_alike(terms.release, encoding.collective, choice))
            }
        };
        steps.set(lower + 1, Some(*upper), between);
    }
    leave(&mut steps, encoding.collective, terms.given_back, &Candidate::Builtin);
    (steps, crossovers)
}

/// The choices of a range over lookup bytes. Where sizes have to share a choice there is no builtin beside it.
fn sizes(encoding: &Encoding<'_>, range: &Range, terms: &Terms<'_>) -> Sizes {
    let choice = |number: usize| encoding.choices[number];
    let (Some((first, lowest)), Some((last, _))) = (range.choices.first(), range.choices.last()) else {
        return Steps::constant(Candidate::Builtin);
    };
    let mut sizes = Steps::constant(if encoding.shared { choice(*lowest) } else { Candidate::Builtin });
    sizes.set(*first, None, choice(*lowest));
    for pair in range.choices.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        let (below, above) = (choice(pair[0].1), choice(pair[1].1));
        sizes.set(boundary_of_range(encoding, range, (pair[0].0, pair[1].0), (below, above), terms), None, above);
    }
    if let Some(beyond) = last.checked_add(1).filter(|_| !encoding.shared) {
        sizes.set(beyond, None, Candidate::Builtin);
    }
    sizes
}

/// The lookup bytes from which on the choice above is made: the median over the communicator sizes of the range.
fn boundary_of_range(
    encoding: &Encoding<'_>,
    range: &Range,
    (low, high): (u64, u64),
    (below, above): (Candidate, Candidate),
    terms: &Terms<'_>,
) -> u64 {
    let blocks = &encoding.blocks[range.first..range.end];
    // What was given back ends where it ends.
    let given_back = |at: u64, ends: &dyn Fn(&GivenBack) -> bool| {
        let here = |range: &GivenBack| {
            ends(range) && blocks.iter().any(|block| covers(range, encoding.collective, block[0].cell.ranks, at))
        };
        terms.given_back.iter().any(here)
    };
    if below == Candidate::Builtin && given_back(low, &|range| range.lookup.1 == Some(low + 1)) {
        return low + 1;
    }
    if above == Candidate::Builtin && given_back(high, &|range| range.lookup.0 == high) {
        return high;
    }
    let of_block = |block: &&&[JudgedCell]| {
        let upper = block.partition_point(|cell| cell.cell.lookup_bytes(terms.release) < high);
        let (lower, upper) = (block.get(upper.checked_sub(1)?)?, block.get(upper)?);
        let boundary = Cell { bytes: boundary(lower, upper, below, above), ..lower.cell };
        Some(boundary.lookup_bytes(terms.release).clamp(low + 1, high))
    };
    let mut found: Vec<u64> = blocks.iter().filter_map(|block| of_block(&block)).collect();
    found.sort_unstable();
    found.get(found.len() / 2).copied().unwrap_or(high)
}

/// The changes of choice inside the measured range of a block.
fn changes(encoding: &Encoding<'_>, block: &[JudgedCell], sizes: &Sizes, terms: &Terms<'_>) -> Vec<Crossover> {
    let (collective, ranks) = (encoding.collective, block[0].cell.ranks);
    let Metric::Times(factor) = metric(terms.release, collective, ranks) else { return Vec::new() };
    let served = |cell: &JudgedCell| *sizes.get(cell.cell.lookup_bytes(terms.release));
    let change = |pair: &[JudgedCell]| {
        let (lower, upper) = (&pair[0], &pair[1]);
        let (below, above) = (served(lower), served(upper));
        if below == above {
            return None;
        }
        let start = |lookup: u64| sizes.iter().map(|(start, _, _)| start).filter(|start| *start <= lookup).max();
        let at = Bytes(start(upper.cell.lookup_bytes(terms.release))?.div_ceil(factor.max(1)));
        let bracket = (lower.cell.bytes, upper.cell.bytes);
        let interval = interval(block, at, below, above);
        let by = |side| Some(side).filter(|side| !matches!(side, Candidate::Builtin | Candidate::Tuned(_)));
        Some(Crossover {
            collective,
            ranks,
            below: below.served(),
            above: above.served(),
            below_by: by(below),
            above_by: by(above),
            at,
            bracket,
            interval,
        })
    };
    block.windows(2).filter_map(change).collect()
}

/// The same with the builtin where a choice does not hold. Where nobody asked who serves, nothing is handed over.
fn filtered(sizes: &Sizes, holds: impl Fn(Choice) -> bool) -> Sizes {
    let mut kept = Steps::constant(Candidate::Builtin);
    for (start, end, candidate) in sizes.iter() {
        if let Candidate::Tuned(choice) = *candidate
            && holds(choice)
        {
            kept.set(start, end, *candidate);
        }
    }
    kept
}

/// Whether every release takes the choice on any number of ranks.
fn takes_any(collective: Collective, choice: Choice) -> bool {
    let of_release = |release| registry::algorithm(release, collective, choice.algorithm);
    let mut known = Release::ALL.into_iter().filter_map(|release| of_release(release).ok());
    known.all(|algorithm| algorithm.ranks == RankNeed::Any)
}

/// Whether the choice runs the same algorithm whatever the number of ranks: what was measured on powers of two says
/// nothing on sizes at which something else runs.
fn runs_alike(release: Release, collective: Collective, choice: Choice) -> bool {
    let by_ranks = |when: When| matches!(when, When::OddRanks | When::NotPowerOfTwo);
    choice.is_builtin()
        || registry::algorithm(release, collective, choice.algorithm).is_ok_and(|algorithm| {
            algorithm.ranks == RankNeed::Any && !algorithm.fallbacks.iter().any(|fallback| by_ranks(fallback.when))
        })
}

/// Where two neighbours choose alike, for a communicator size in between.
///
/// Calls on it that look up L bytes pass L over its size, so that their message lies between those that look up L on the
/// two neighbours. Both have to choose alike for all messages in between, not only for the same lookup bytes.
fn agreement(
    (lower, below): (Ranks, &Sizes),
    (upper, above): (Ranks, &Sizes),
    encoding: &Encoding<'_>,
    release: Release,
) -> Sizes {
    if let (Some(one), Some(other)) = (below.as_constant(), above.as_constant()) {
        return Steps::constant(if one == other { *one } else { Candidate::Builtin });
    }
    if encoding.shared {
        return Steps::constant(Candidate::Builtin);
    }
    let totals = |ranks| matches!(metric(release, encoding.collective, ranks), Metric::Times(factor) if factor > 1);
    let (small, large) =
        if totals(lower) && totals(upper) { (u128::from(lower.0), u128::from(upper.0)) } else { (1, 1) };
    let scaled =
        |bytes: u64, by: u128, over: u128| u64::try_from((u128::from(bytes) * by).div_ceil(over)).unwrap_or(u64::MAX);
    let mut common = Steps::constant(Candidate::Builtin);
    for (start, end, choice) in below.iter() {
        for (other_start, other_end, other) in above.iter() {
            if choice != other || *choice == Candidate::Builtin {
                continue;
            }
            // The lower neighbour's messages look up at least this much on the upper one, and the other way around.
            let first = scaled(start, large, small).max(other_start);
            let ends = [end, other_end.map(|end| scaled(end, small, large))].into_iter().flatten().min();
            common.set(first, ends, *choice);
        }
    }
    common
}
