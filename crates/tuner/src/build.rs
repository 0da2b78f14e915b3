//! From verdicts to the rule table, and what has to be said about it.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;
use collrules_record::findings::Crossover;
use collrules_record::policy::Assumptions;
use collrules_rules::metric::lookup_bytes;
use collrules_rules::{Choice, Release, RuleTable};

use crate::common::Block;
use crate::table::{Terms, encodings, optimal};
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
    /// Logarithm of the time under the rules over that of the best permitted candidate.
    pub(crate) log_regrets: BTreeMap<Cell, f64>,
    /// What programs were taken to keep to.
    pub(crate) assumptions: Assumptions,
}

/// Builds the rule table from cells in order of collective, communicator size and message size.
pub(crate) fn build(cells: &[JudgedCell], terms: &Terms<'_>) -> Built {
    let encodings = encodings(cells, terms);
    let (table, crossovers) = optimal(&encodings, terms);
    let shared: BTreeSet<_> = encodings.iter().filter(|encoding| encoding.shared).map(|it| it.collective).collect();
    let mut built = Built { table, crossovers, assumptions: terms.policy.assumptions, ..Built::default() };
    let of_block = cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks));
    for block in of_block.filter(|block| shared.contains(&block[0].cell.collective)) {
        let Cell { collective, ranks, .. } = block[0].cell;
        let builtin = served(&built.table, terms.release, &block[0]).is_builtin();
        if builtin && block.iter().any(|cell| !cell.choice().is_builtin()) {
            built.overruled.push((collective, ranks));
        }
        if !builtin && block.len() == 1 && collective.has_sizes() {
            built.stretched.push((collective, ranks));
        }
    }
    for encoding in &encodings {
        for (block, cells) in encoding.blocks.iter().enumerate() {
            for cell in *cells {
                let Cell { collective, ranks, bytes } = cell.cell;
                let at = lookup_bytes(terms.release, collective, ranks, bytes, 1);
                let log_regret = encoding.log_regret(block, at, served(&built.table, terms.release, cell));
                built.log_regrets.insert(cell.cell, log_regret.unwrap_or(0.0));
            }
        }
    }
    built
}

/// What the table gives for a cell, called with a datatype of one byte.
pub(crate) fn served(table: &RuleTable, release: Release, cell: &JudgedCell) -> Choice {
    let Cell { collective, ranks, bytes } = cell.cell;
    table.lookup(collective, ranks.0.into(), lookup_bytes(release, collective, ranks, bytes, 1))
}
