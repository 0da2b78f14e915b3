//! From verdicts to the rule table, and what has to be said about it.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{Crossover, Verdict};
use collrules_record::policy::Assumptions;
use collrules_record::validation::GivenBack;
use collrules_record::{Bytes, Cell};
use collrules_rules::metric::{Metric, lookup_bytes, metric};
use collrules_rules::{Choice, Release, RuleTable};

use crate::common::Block;
use crate::repair::without;
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
pub(crate) fn build(cells: &[JudgedCell], terms: &Terms) -> Built {
    let encodings = encodings(cells, terms, false);
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

/// Leaves ranges to the builtin, and says so in the verdicts of their cells.
pub(crate) fn give_back(built: &mut Built, cells: &mut [JudgedCell], given_back: &[GivenBack], terms: &Terms) {
    if given_back.is_empty() {
        return;
    }
    let table = without(&built.table, given_back);
    for cell in cells.iter_mut() {
        let (before, after) = (served(&built.table, terms.release, cell), served(&table, terms.release, cell));
        if before == after {
            continue;
        }
        // What its timings promised is no loss: it is not to be had.
        built.log_regrets.insert(cell.cell, 0.0);
        cell.verdict = Verdict::Keep { why: "validation did not bear out the gain".to_owned() };
    }
    built.crossovers = repaired_crossovers(&table, &built.crossovers, cells, terms);
    built.table = table;
}

/// The changes of choice of a table, those that were there before with what is known of them.
fn repaired_crossovers(table: &RuleTable, before: &[Crossover], cells: &[JudgedCell], terms: &Terms) -> Vec<Crossover> {
    let change = |pair: &[JudgedCell]| {
        let (lower, upper) = (pair[0].cell, pair[1].cell);
        let Cell { collective, ranks, .. } = upper;
        let Metric::Times(factor) = metric(terms.release, collective, ranks) else { return None };
        let (below, above) = (served(table, terms.release, &pair[0]), served(table, terms.release, &pair[1]));
        if (lower.collective, lower.ranks) != (collective, ranks) || below == above {
            return None;
        }
        let (_, steps) = table.collectives().find(|(other, _)| *other == collective)?;
        let lookup = lookup_bytes(terms.release, collective, ranks, upper.bytes, 1);
        let starts = steps.get(ranks.0.into()).iter().map(|(start, _, _)| start).filter(|start| *start <= lookup);
        let at = Bytes(starts.max()?.div_ceil(factor.max(1)));
        let found =
            Crossover { collective, ranks, below, above, at, bracket: (lower.bytes, upper.bytes), interval: None };
        let known = before.iter().find(|known| Crossover { interval: None, ..(*known).clone() } == found);
        Some(known.cloned().unwrap_or(found))
    };
    cells.windows(2).filter_map(change).collect()
}

/// What the table gives for a cell, called with a datatype of one byte.
pub(crate) fn served(table: &RuleTable, release: Release, cell: &JudgedCell) -> Choice {
    let Cell { collective, ranks, bytes } = cell.cell;
    table.lookup(collective, ranks.0.into(), lookup_bytes(release, collective, ranks, bytes, 1))
}
