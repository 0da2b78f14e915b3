//! Rules for calls from solved problems: boundaries between measured sizes, and choices for sizes that were not
//! measured.
//!
//! Message sizes below the smallest and above the largest measured one are left to the builtin, unless they are measured as
//! one with it, and so are communicator sizes below and above the measured ones: Open MPI would otherwise use the rule of
//! their neighbour, which was not measured there. For communicator sizes in between the policy decides.

use collrules_record::findings::Crossover;
use collrules_record::policy::Between;
use collrules_record::tuning::revert_steps;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::registry::{self, When};
use collrules_rules::steps::Steps;
use collrules_rules::{Choice, Collective, Release};

use super::offers::Encoding;
use super::solve::BlockSpan;
use crate::crossover::{boundary, interval};
use crate::terms::Terms;
use crate::verdict::JudgedCell;

/// Candidate used for calls, by lookup bytes.
pub(crate) type Sizes = Steps<Candidate>;

/// Returns the candidates for a collective by communicator size and lookup bytes, and the sizes at which a choice
/// changes.
pub(crate) fn place(encoding: &Encoding<'_>, spans: &[BlockSpan], terms: &Terms<'_>) -> (Steps<Sizes>, Vec<Crossover>) {
    let mut steps = Steps::constant(Steps::constant(Candidate::Builtin));
    let mut placed: Vec<(Ranks, usize)> = Vec::new();
    let at = |ranks: Ranks| u64::from(ranks.0);
    for range in spans {
        let sizes = sizes(encoding, range, terms);
        for block in &encoding.blocks[range.first..range.end] {
            let ranks = block[0].cell.ranks;
            let mut sizes = sizes.clone();
            // Without the choices at sizes for which only other blocks of the range answer.
            let span = |cell: Option<&JudgedCell>| cell.map(|cell| terms.span(cell.cell));
            if let (Some((first, _)), Some((_, Some(end)))) = (span(block.first()), span(block.last()))
                && !encoding.shared
            {
                sizes.set(0, Some(first), Candidate::Builtin);
                sizes.set(end, None, Candidate::Builtin);
            }
            steps.set(at(ranks), Some(at(ranks) + 1), sizes);
            placed.push((ranks, range.first));
        }
    }
    // Reverted ranges are cut out of the solution, so that all other sizes keep the rules that were compared.
    let revert = |steps: &mut _| revert_steps(steps, encoding.collective, terms.reverted, &Candidate::Builtin);
    revert(&mut steps);
    let measured = steps.clone();
    for pair in placed.windows(2) {
        let ((lower, range), (upper, other)) = (pair[0], pair[1]);
        let (below, above) = (measured.get(at(lower)), measured.get(at(upper)));
        let between = match terms.policy.between {
            Between::Keep => continue,
            Between::Lower => filtered(below, |choice| takes_any(encoding.collective, choice)),
            Between::Agree => {
                let common = if range == other && below == above {
                    below.clone()
                } else {
                    agreement((lower, below), (upper, above), encoding, terms.release)
                };
                filtered(&common, |choice| runs_alike(terms.release, encoding.collective, choice))
            }
        };
        steps.set(at(lower) + 1, Some(at(upper)), between);
    }
    revert(&mut steps);
    let of_block = |block: &&[JudgedCell]| changes(encoding, block, steps.get(at(block[0].cell.ranks)), terms);
    let crossovers = encoding.blocks.iter().flat_map(of_block).collect();
    (steps, crossovers)
}

/// The choices of a range over lookup bytes. If sizes must share a choice, the builtin is not combined with it.
fn sizes(encoding: &Encoding<'_>, range: &BlockSpan, terms: &Terms<'_>) -> Sizes {
    let choice = |number: usize| encoding.choices[number];
    let (Some((first, lowest)), Some((last, _))) = (range.choices.first(), range.choices.last()) else {
        return Steps::constant(Candidate::Builtin);
    };
    let mut sizes = Steps::constant(if encoding.shared { choice(*lowest) } else { Candidate::Builtin });
    let spans = |at: u64| {
        let cells = encoding.blocks[range.first..range.end].iter().flat_map(|block| block.iter());
        cells.map(|cell| cell.cell).filter(move |it| it.lookup_bytes(terms.release) == at).map(|it| terms.span(it))
    };
    sizes.set(spans(*first).map(|(begin, _)| begin).min().unwrap_or(*first), None, choice(*lowest));
    for pair in range.choices.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        let (below, above) = (choice(pair[0].1), choice(pair[1].1));
        let (end, start) = boundary_of_range(encoding, range, (pair[0].0, pair[1].0), (below, above), terms);
        if !encoding.shared {
            sizes.set(end, Some(start), Candidate::Builtin);
        }
        sizes.set(start, None, above);
    }
    if let Some(beyond) = spans(*last).filter_map(|(_, end)| end).max().filter(|_| !encoding.shared) {
        sizes.set(beyond, None, Candidate::Builtin);
    }
    sizes
}

/// The lookup bytes at which the choice below ends and the choice above begins: the median over the communicator sizes
/// of the range, or all that any of them leaves to the default between the two.
fn boundary_of_range(
    encoding: &Encoding<'_>,
    range: &BlockSpan,
    (low, high): (u64, u64),
    (below, above): (Candidate, Candidate),
    terms: &Terms<'_>,
) -> (u64, u64) {
    let blocks = &encoding.blocks[range.first..range.end];
    let of_block = |block: &&&[JudgedCell]| {
        let upper = block.partition_point(|cell| cell.cell.lookup_bytes(terms.release) < high);
        let (lower, upper) = (block.get(upper.checked_sub(1)?)?, block.get(upper)?);
        let (end, start) = boundary(lower, upper, below, above);
        let (below, above) = (terms.span(lower.cell).1, terms.span(upper.cell).0);
        let lookup = |bytes| {
            let at = Cell { bytes, ..lower.cell }.lookup_bytes(terms.release);
            let at = below.filter(|below| *below <= above).map_or(at, |below| at.clamp(below, above));
            at.clamp(low + 1, high)
        };
        Some((lookup(end), lookup(start)))
    };
    let (ends, mut starts): (Vec<u64>, Vec<u64>) = blocks.iter().filter_map(|block| of_block(&block)).unzip();
    if ends != starts {
        return (ends.into_iter().min().unwrap_or(low + 1), starts.into_iter().max().unwrap_or(high));
    }
    starts.sort_unstable();
    starts.get(starts.len() / 2).map_or((low + 1, high), |at| (*at, *at))
}

/// The changes of choice inside the measured range of a block.
fn changes(encoding: &Encoding<'_>, block: &[JudgedCell], sizes: &Sizes, terms: &Terms<'_>) -> Vec<Crossover> {
    let (collective, ranks) = (encoding.collective, block[0].cell.ranks);
    let Metric::Times(factor) = metric(terms.release, collective, ranks) else { return Vec::new() };
    let by = |side| Some(side).filter(|side| !matches!(side, Candidate::Builtin | Candidate::Tuned(_)));
    let mut changes = Vec::new();
    for pair in block.windows(2) {
        let bracket = (pair[0].cell.bytes, pair[1].cell.bytes);
        let (first, last) = (pair[0].cell.lookup_bytes(terms.release), pair[1].cell.lookup_bytes(terms.release));
        let mut below = *sizes.get(first);
        if below == *sizes.get(last) {
            continue;
        }
        // Two changes if the default is used between them.
        for (start, _, above) in sizes.iter().filter(|(start, ..)| first < *start && *start <= last) {
            let at = Bytes(start.div_ceil(factor.max(1))).min(bracket.1);
            changes.push(Crossover {
                collective,
                ranks,
                below: below.choice_in_rules(),
                above: above.choice_in_rules(),
                below_by: by(below),
                above_by: by(*above),
                at,
                bracket,
                interval: interval(block, at, below, *above),
            });
            below = *above;
        }
    }
    changes
}

/// Replaces choices without `holds` by the builtin. Also removes delegation by HAN, since the component that would
/// handle these calls is unknown.
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

/// Returns true if every release accepts the choice on any number of ranks.
fn takes_any(collective: Collective, choice: Choice) -> bool {
    let of_release = |release| registry::algorithm(release, collective, choice.algorithm);
    let mut known = Release::ALL.into_iter().filter_map(|release| of_release(release).ok());
    known.all(|algorithm| !algorithm.only_two)
}

/// Returns true if the choice runs one algorithm for every number of ranks: measurements on powers of two do not apply
/// to sizes for which another algorithm runs.
fn runs_alike(release: Release, collective: Collective, choice: Choice) -> bool {
    let by_ranks = |when: When| matches!(when, When::OddRanks | When::NotPowerOfTwo);
    choice.is_builtin()
        || registry::algorithm(release, collective, choice.algorithm).is_ok_and(|algorithm| {
            !algorithm.only_two && !algorithm.fallbacks.iter().any(|fallback| by_ranks(fallback.when))
        })
}

/// Returns the choices on which two neighbours agree, for a communicator size in between.
///
/// A call on it with L lookup bytes passes L over its size, a message between those with L lookup bytes on the two
/// neighbours. So both must make one choice for all messages between, not only for L.
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
            // Lookup bytes of the lower neighbour's messages on the upper one, and the reverse, are at least these.
            let first = scaled(start, large, small).max(other_start);
            let ends = [end, other_end.map(|end| scaled(end, small, large))].into_iter().flatten().min();
            common.set(first, ends, *choice);
        }
    }
    common
}
