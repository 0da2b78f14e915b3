//! From verdicts to the rule table.
//!
//! A rule holds for the communicator size that was measured and for no other: sizes between the measured ones, below
//! and above are left to the builtin on purpose, because Open MPI would otherwise serve them by the rule of their
//! lower neighbour, which nobody measured. In the same way message sizes beyond the largest and below the smallest
//! measured one are left to the builtin.

use collrules_record::findings::{Criteria, Crossover};
use collrules_record::{Cell, Ranks};
use collrules_rules::metric::{Metric, lookup_bytes, metric};
use collrules_rules::steps::Steps;
use collrules_rules::table::{SizeSteps, all_builtin};
use collrules_rules::{Choice, Collective, Release, RuleTable};

use crate::crossover::boundary;
use crate::verdict::{JudgedCell, complexity};

/// The rules, and how they came about.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) table: RuleTable,
    pub(crate) crossovers: Vec<Crossover>,
    /// Collectives and communicator sizes that keep the builtin although verdicts would replace it, because all
    /// message sizes have to share one choice and none is good enough for all of them.
    pub(crate) overruled: Vec<(Collective, Ranks)>,
}

/// Builds the rule table from cells in order of collective, communicator size and message size.
pub(crate) fn build(cells: &[JudgedCell], release: Release, criteria: Criteria) -> Built {
    let mut built = Built::default();
    for cells in cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let collective = cells[0].cell.collective;
        let mut blocks = all_builtin();
        for block in cells.chunk_by(|a, b| a.cell.ranks == b.cell.ranks) {
            let ranks = block[0].cell.ranks;
            let sizes = if one_choice(release, &block[0]) {
                let choice = common_choice(block, criteria);
                if choice.is_builtin() && block.iter().any(|cell| !cell.choice().is_builtin()) {
                    built.overruled.push((collective, ranks));
                }
                Steps::constant(choice)
            } else {
                let changes = crossovers(block);
                let sizes = by_size(block, &changes, release);
                built.crossovers.extend(changes);
                sizes
            };
            blocks.set(ranks.0.into(), Some(u64::from(ranks.0) + 1), sizes);
        }
        built.table.set(collective, blocks);
    }
    built
}

/// Whether all message sizes of a communicator size have to share one choice.
///
/// So it is where the lookup does not see the message size, and for scatter and gather: MPI lets ranks pass other
/// counts there where they are not significant, so that a threshold would make ranks of one call run different
/// algorithms, and a range left to the builtin is such a threshold too.
pub(crate) fn one_choice(release: Release, cell: &JudgedCell) -> bool {
    let (collective, ranks) = (cell.cell.collective, cell.cell.ranks);
    let blind = matches!(metric(release, collective, ranks), Metric::CountFree | Metric::None);
    blind || matches!(collective, Collective::Scatter | Collective::Gather)
}

/// The one choice for all cells of a block.
///
/// A single cell has its verdict. Several cells have the candidate with the largest geometric mean gain among those
/// that qualify somewhere, were compared everywhere, are nowhere slower and reach the gain threshold in the mean.
/// Slower is an interval wholly below 1, or a gain below the inverse of the threshold.
fn common_choice(block: &[JudgedCell], criteria: Criteria) -> Choice {
    if let [cell] = block {
        return cell.choice();
    }
    let threshold = 1.0 + criteria.min_gain;
    let mut candidates: Vec<_> = block.iter().flat_map(JudgedCell::qualified).map(|point| point.candidate).collect();
    candidates.sort_unstable_by_key(|candidate| complexity(candidate.choice()));
    candidates.dedup();
    let mut best = (threshold, Choice::BUILTIN);
    for candidate in candidates {
        let gains = block.iter().map(|cell| {
            let gain = cell.point(candidate)?.gain?;
            let slower = gain.high.is_some_and(|high| high < 1.0) || gain.point < 1.0 / threshold;
            (!slower).then(|| gain.point.ln())
        });
        let Some(sum) = gains.sum::<Option<f64>>() else { continue };
        let mean = (sum / block.len() as f64).exp();
        // The first, which is the plainest, stays where means are equal.
        if mean > best.0 || (best.1.is_builtin() && mean >= threshold) {
            best = (mean, candidate.choice());
        }
    }
    best.1
}

/// The changes of choice inside the measured range of a block.
fn crossovers(block: &[JudgedCell]) -> Vec<Crossover> {
    let change = |pair: &[JudgedCell]| {
        let (lower, upper) = (&pair[0], &pair[1]);
        let (below, above) = (lower.choice(), upper.choice());
        (below != above).then(|| Crossover {
            collective: lower.cell.collective,
            ranks: lower.cell.ranks,
            below,
            above,
            at: boundary(lower, upper, below, above),
            bracket: (lower.cell.bytes, upper.cell.bytes),
        })
    };
    block.windows(2).filter_map(change).collect()
}

/// The choices of a block over lookup bytes: those of the verdicts inside the measured range, the builtin outside.
fn by_size(block: &[JudgedCell], changes: &[Crossover], release: Release) -> SizeSteps {
    let mut sizes = Steps::constant(Choice::BUILTIN);
    let (Some(first), Some(last)) = (block.first(), block.last()) else { return sizes };
    let lookup = |bytes| lookup_bytes(release, first.cell.collective, first.cell.ranks, bytes, 1);
    sizes.set(lookup(first.cell.bytes), None, first.choice());
    for change in changes {
        sizes.set(lookup(change.at), None, change.above);
    }
    if let Some(beyond) = lookup(last.cell.bytes).checked_add(1) {
        sizes.set(beyond, None, Choice::BUILTIN);
    }
    sizes
}

/// What the table gives for a cell, called with a datatype of one byte.
pub(crate) fn served(table: &RuleTable, release: Release, cell: &JudgedCell) -> Choice {
    let Cell { collective, ranks, bytes } = cell.cell;
    table.lookup(collective, ranks.0.into(), lookup_bytes(release, collective, ranks, bytes, 1))
}
