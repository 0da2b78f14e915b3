//! The rule table with the evidence for each of its leaves.

use collrules_record::findings::Verdict;
use collrules_record::reason::KeepReason;
use collrules_record::tree::{CollectiveBranch, Leaf, LeafEvidence, LeafGain, RankBranch, RankChange, Tree};
use collrules_record::{Candidate, Ranks};
use collrules_rules::Collective;
use collrules_rules::hazard::RankRange;
use collrules_rules::steps::within;

use crate::build::TableBuild;
use crate::table::Sizes;
use crate::terms::Terms;
use crate::verdict::JudgedCell;

/// The tree of the rules made from these cells. Texts about other assumptions are added later.
pub(crate) fn tree(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> Tree {
    let of_collective = cells.chunk_by(|a, b| a.cell.collective == b.cell.collective);
    Tree {
        policy: terms.policy,
        rules: built.table.rules(),
        gain: mean_gain(cells, built, terms),
        by_time: terms.weights.are_times(),
        regret: regret(cells.iter(), built, terms),
        worst_regret: built.log_regrets.values().copied().fold(0.0, f64::max).exp_m1(),
        collectives: of_collective.clone().map(|cells| branch(cells, built, terms)).collect(),
        rank_changes: of_collective.flat_map(|cells| rank_changes(cells, built, terms)).collect(),
        alternatives: Vec::new(),
    }
}

/// Builtin time over the time with a table, over all cells, according to the measurements.
pub(crate) fn mean_gain(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> f64 {
    terms.weights.ratio(cells.iter().map(|cell| (cell.cell, 0.0, -log_gain_in_use(cell, built, terms))))
}

/// The time with a table over that of the best permitted candidates, minus one.
fn regret<'a>(cells: impl Iterator<Item = &'a JudgedCell>, built: &TableBuild, terms: &Terms<'_>) -> f64 {
    let times = cells.map(|cell| {
        let log_time = -log_gain_in_use(cell, built, terms);
        (cell.cell, log_time, log_time - built.log_regrets.get(&cell.cell).copied().unwrap_or(0.0))
    });
    terms.weights.ratio(times) - 1.0
}

fn log_gain_in_use(cell: &JudgedCell, built: &TableBuild, terms: &Terms<'_>) -> f64 {
    log_gain(cell, built.in_use(terms.release, cell)).unwrap_or(0.0)
}

fn log_gain(cell: &JudgedCell, candidate: Candidate) -> Option<f64> {
    if candidate == Candidate::Builtin { Some(0.0) } else { Some(cell.point(candidate)?.gain?.point.ln()) }
}

fn branch(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> CollectiveBranch {
    let collective = cells[0].cell.collective;
    let steps = built.candidates(collective);
    let range = |(first, end, sizes): (u64, Option<u64>, &Sizes)| {
        let mut own: Vec<&JudgedCell> =
            cells.iter().filter(|cell| within(first, end, cell.cell.ranks.0.into())).collect();
        let mut measured: Vec<Ranks> = own.iter().map(|cell| cell.cell.ranks).collect();
        measured.dedup();
        // Looking through all cells for each leaf would take quadratic time if there are as many leaves.
        let lookup = |cell: &JudgedCell| cell.cell.lookup_bytes(terms.release);
        own.sort_by_key(|cell| lookup(cell));
        let leaf = |(start, stop, candidate): (u64, Option<u64>, &Candidate)| {
            let from = |bytes: u64| own.partition_point(|cell| lookup(cell) < bytes);
            let mut own = own[from(start)..stop.map_or(own.len(), from)].to_vec();
            own.sort_by_key(|cell| cell.cell);
            Leaf {
                first: start,
                end: stop,
                choice: candidate.choice_in_rules(),
                by: *candidate,
                evidence: evidence(&own, *candidate, built, terms),
                kept: if *candidate == Candidate::Builtin { kept(&own) } else { Vec::new() },
            }
        };
        RankBranch { ranks: RankRange { first, end }, leaves: sizes.iter().map(leaf).collect(), measured }
    };
    CollectiveBranch { collective, ranges: steps.iter().map(range).collect() }
}

fn evidence(
    cells: &[&JudgedCell],
    candidate: Candidate,
    built: &TableBuild,
    terms: &Terms<'_>,
) -> Option<LeafEvidence> {
    let bytes = || cells.iter().map(|cell| cell.cell.bytes);
    let (first, last) = (bytes().min()?, bytes().max()?);
    let gains: Vec<f64> = cells.iter().map(|cell| log_gain(cell, candidate).unwrap_or(0.0)).collect();
    let mean = |log_gains: &mut dyn Iterator<Item = f64>| {
        terms.weights.ratio(cells.iter().zip(log_gains).map(|(cell, log_gain)| (cell.cell, 0.0, -log_gain)))
    };
    let finding = |cell: &JudgedCell| cell.point(candidate).cloned();
    let ends = |cell: &&JudgedCell| {
        // The builtin has none.
        let gain = finding(cell)?.gain?;
        Some((gain.low?.ln(), gain.high?.ln()))
    };
    let ends: Option<Vec<(f64, f64)>> = cells.iter().map(ends).collect();
    let interval = ends.map(|ends| (mean(&mut ends.iter().map(|end| end.0)), mean(&mut ends.iter().map(|end| end.1))));
    let samples = |cell: &&JudgedCell| {
        let of = |candidate| cell.point(candidate).map_or(0, |finding| finding.time.samples);
        of(Candidate::Builtin) + if candidate == Candidate::Builtin { 0 } else { of(candidate) }
    };
    Some(LeafEvidence {
        messages: (first, last),
        cells: cells.len(),
        proven: cells.iter().filter(|cell| is_proven(cell, candidate)).count(),
        samples: cells.iter().map(samples).sum(),
        gain: LeafGain {
            mean: mean(&mut gains.iter().copied()),
            interval,
            least: gains.iter().copied().fold(f64::INFINITY, f64::min).exp(),
            most: gains.iter().copied().fold(f64::NEG_INFINITY, f64::max).exp(),
        },
        q_value: cells.iter().filter_map(|cell| finding(cell)?.q_value).max_by(f64::total_cmp),
        regret: regret(cells.iter().copied(), built, terms),
    })
}

/// Returns true if the cell's own timings select the choice.
fn is_proven(cell: &JudgedCell, candidate: Candidate) -> bool {
    if candidate == Candidate::Builtin {
        return cell.qualified().next().is_none();
    }
    cell.judged(candidate).is_some_and(|point| point.shortfall.is_none())
}

/// Reasons of the cells to keep the builtin, each with the number of cells.
fn kept(cells: &[&JudgedCell]) -> Vec<(KeepReason, usize)> {
    let mut kept: Vec<(KeepReason, usize)> = Vec::new();
    for cell in cells {
        let reason = match &cell.verdict {
            Verdict::Keep { why } => why,
            Verdict::Replace { .. } => &KeepReason::SharedRule,
        };
        match kept.iter_mut().find(|(known, _)| known == reason) {
            Some((_, cells)) => *cells += 1,
            None => kept.push((reason.clone(), 1)),
        }
    }
    kept
}

/// Lists the message sizes at which neighbouring communicator sizes use different choices, neighbouring message sizes
/// joined.
fn rank_changes(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> Vec<RankChange> {
    let collective: Collective = cells[0].cell.collective;
    let blocks: Vec<&[JudgedCell]> = cells.chunk_by(|a, b| a.cell.ranks == b.cell.ranks).collect();
    let mut changes: Vec<RankChange> = Vec::new();
    for pair in blocks.windows(2) {
        let mut open = false;
        for cell in pair[0] {
            let Ok(other) = pair[1].binary_search_by_key(&cell.cell.bytes, |other| other.cell.bytes) else { continue };
            let other = &pair[1][other];
            let [below, above] = [cell, other].map(|it| built.in_use(terms.release, it).choice_in_rules());
            let bracket = (cell.cell.ranks, other.cell.ranks);
            match changes.last_mut().filter(|last| open && (last.below, last.above) == (below, above)) {
                Some(last) => last.messages.1 = cell.cell.bytes,
                None if below != above => {
                    let messages = (cell.cell.bytes, cell.cell.bytes);
                    changes.push(RankChange { collective, bracket, messages, below, above });
                }
                None => {}
            }
            open = below != above;
        }
    }
    changes
}
