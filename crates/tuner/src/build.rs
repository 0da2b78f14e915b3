//! The rule table from verdicts, with remarks.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::Crossover;
use collrules_record::{Candidate, Cell, HanRule, HanRules};
use collrules_rules::metric::metric;
use collrules_rules::steps::Steps;
use collrules_rules::{Collective, Release, RuleTable};

use crate::table::{Sizes, encodings, fewest_rules, place};
use crate::terms::{Block, Terms};
use crate::verdict::JudgedCell;

/// The rules, with data on how they were found.
#[derive(Debug, Default)]
pub(crate) struct TableBuild {
    /// Candidate used for the calls of each collective, by communicator size and lookup bytes. The next two fields are
    /// its two parts.
    candidates: BTreeMap<Collective, Steps<Sizes>>,
    pub(crate) table: RuleTable,
    pub(crate) han: HanRules,
    pub(crate) crossovers: Vec<Crossover>,
    /// Collectives and communicator sizes that keep the builtin against the verdicts: all message sizes must share one
    /// choice, and none is good enough for all.
    pub(crate) overruled: Vec<Block>,
    /// Collectives and communicator sizes whose rule for all message sizes relies on a single measured one.
    pub(crate) stretched: Vec<Block>,
    /// Logarithm of the time under the rules over that of the best permitted candidate.
    pub(crate) log_regrets: BTreeMap<Cell, f64>,
}

/// Builds the rule table from cells in order of collective, communicator size and message size.
pub(crate) fn build(cells: &[JudgedCell], terms: &Terms<'_>) -> TableBuild {
    let encodings = encodings(cells, terms);
    let shared: BTreeSet<_> = encodings.iter().filter(|encoding| encoding.shared).map(|it| it.collective).collect();
    let mut built = TableBuild::default();
    for encoding in &encodings {
        // Each site offers a choice within the bound, so there is a solution; without one the builtin stays.
        let Some(spans) = fewest_rules(&encoding.problem) else { continue };
        let (steps, crossovers) = place(encoding, &spans, terms);
        built.crossovers.extend(crossovers);
        let choices = steps.map(|sizes| sizes.map(|candidate| candidate.choice_in_rules()));
        built.table.set(encoding.collective, choices);
        built.han.set(encoding.collective, handed(encoding.collective, &steps, terms));
        built.candidates.insert(encoding.collective, steps);
    }
    let of_block = cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks));
    for block in of_block.filter(|block| shared.contains(&block[0].cell.collective)) {
        let Cell { collective, ranks, .. } = block[0].cell;
        let builtin = built.in_use(terms.release, &block[0]) == Candidate::Builtin;
        if builtin && block.iter().any(|cell| cell.verdict.candidate() != Candidate::Builtin) {
            built.overruled.push((collective, ranks));
        }
        if !builtin && block.len() == 1 && collective.has_sizes() {
            built.stretched.push((collective, ranks));
        }
    }
    for encoding in &encodings {
        for (block, cells) in encoding.blocks.iter().enumerate() {
            for cell in *cells {
                let at = cell.cell.lookup_bytes(terms.release);
                // A reverted choice is no alternative.
                let log_regret = encoding.log_regret(block, at, built.in_use(terms.release, cell));
                let log_regret = log_regret.filter(|_| !terms.is_reverted(cell.cell)).unwrap_or(0.0);
                built.log_regrets.insert(cell.cell, log_regret);
            }
        }
    }
    built
}

/// Returns the choices that HAN's file expresses, by the size that callers pass: HAN looks up that size, not lookup
/// bytes.
fn handed(collective: Collective, steps: &Steps<Sizes>, terms: &Terms<'_>) -> Steps<Steps<HanRule>> {
    let mut handed = Steps::constant(Steps::constant(HanRule::Default));
    for (_, ranks) in terms.handable.iter().filter(|(other, _)| *other == collective) {
        let factor = metric(terms.release, collective, *ranks).factor();
        let mut own = Steps::constant(HanRule::Default);
        for (start, end, candidate) in steps.get(ranks.0.into()).iter() {
            let bytes = |lookup: u64| lookup.div_ceil(factor);
            own.set(bytes(start), end.map(bytes), HanRule::from_candidate(*candidate));
        }
        let ranks = u64::from(ranks.0);
        handed.set(ranks, Some(ranks + 1), own);
    }
    handed
}

impl TableBuild {
    /// Returns the candidate that is used for a cell.
    pub(crate) fn in_use(&self, release: Release, cell: &JudgedCell) -> Candidate {
        let Cell { collective, ranks, .. } = cell.cell;
        let at = cell.cell.lookup_bytes(release);
        self.candidates.get(&collective).map_or(Candidate::Builtin, |steps| *steps.get(ranks.0.into()).get(at))
    }

    /// Returns the candidates used for a collective, by communicator size and lookup bytes.
    pub(crate) fn candidates(&self, collective: Collective) -> Steps<Sizes> {
        let builtin = || Steps::constant(Steps::constant(Candidate::Builtin));
        self.candidates.get(&collective).cloned().unwrap_or_else(builtin)
    }
}
