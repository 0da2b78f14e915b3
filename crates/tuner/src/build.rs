//! From verdicts to the rule table.
//!
//! A rule holds for the communicator size that was measured and for no other: sizes between the measured ones, below
//! and above are left to the builtin on purpose, because Open MPI would otherwise serve them by the rule of their
//! lower neighbour, which nobody measured. In the same way message sizes beyond the largest and below the smallest
//! measured one are left to the builtin.

use collrules_record::Cell;
use collrules_record::findings::{Criteria, Crossover, Statistic};
use collrules_rules::metric::lookup_bytes;
use collrules_rules::steps::Steps;
use collrules_rules::table::{SizeSteps, all_builtin};
use collrules_rules::{Choice, Release, RuleTable};

use crate::common::{Block, common_choices};
use crate::crossover::boundary;
use crate::verdict::JudgedCell;

/// The rules, and how they came about.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) table: RuleTable,
    pub(crate) crossovers: Vec<Crossover>,
    /// Collectives and communicator sizes that keep the builtin although verdicts would replace it, because all
    /// message sizes have to share one choice and none is good enough for all of them.
    pub(crate) overruled: Vec<Block>,
    /// Those whose rule for all message sizes rests on a single measured one.
    pub(crate) stretched: Vec<Block>,
}

/// Builds the rule table from cells in order of collective, communicator size and message size.
pub(crate) fn build(cells: &[JudgedCell], statistic: Statistic, release: Release, criteria: Criteria) -> Built {
    let mut built = Built::default();
    let common = common_choices(cells, statistic, release, criteria);
    for cells in cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let collective = cells[0].cell.collective;
        let mut blocks = all_builtin();
        for block in cells.chunk_by(|a, b| a.cell.ranks == b.cell.ranks) {
            let ranks = block[0].cell.ranks;
            let sizes = if let Some(choice) = common.get(&(collective, ranks)) {
                if choice.is_builtin() && block.iter().any(|cell| !cell.choice().is_builtin()) {
                    built.overruled.push((collective, ranks));
                }
                if !choice.is_builtin() && block.len() == 1 && collective.has_sizes() {
                    built.stretched.push((collective, ranks));
                }
                Steps::constant(*choice)
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
