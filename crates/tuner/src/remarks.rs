//! Remarks for the reader on the data or the rules.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::Statistic;

use collrules_record::criteria::Criteria;
use collrules_record::reason::{Bar, Shortfall};
use collrules_record::remark::Remark;
use collrules_record::{Candidate, Cell, Ranks};
use collrules_rules::Collective;

use crate::build::TableBuild;
use crate::cells::CellTimings;
use crate::evidence::JudgedPoint;
use crate::terms::{Block, Terms};
use crate::verdict::JudgedCell;

/// Remarks on data, candidates and rules, in this order.
pub(crate) fn remarks(cells: &[JudgedCell], built: &TableBuild, left_out: usize, terms: &Terms<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    remarks.extend((left_out > 0).then_some(Remark::ZeroTimings(left_out)));
    remarks.extend((terms.statistic == Statistic::RankAverage && !cells.is_empty()).then_some(Remark::Averages));
    remarks.extend(untested(cells, terms.criteria));
    remarks.extend(without_builtin(cells));
    remarks.extend(failures(cells));
    remarks.extend(barred(cells));
    remarks.extend(stalling(cells));
    remarks.extend(one_choice_rules(cells, built, terms));
    remarks.extend((!built.table.is_empty()).then_some(Remark::DefaultElsewhere));
    remarks
}

/// Counts the points that seem faster but have too few visits for a test.
fn untested(cells: &[JudgedCell], criteria: Criteria) -> Option<Remark> {
    let promising = |point: &&JudgedPoint| point.finding.gain.is_some_and(|gain| gain.point >= 1.0 + criteria.min_gain);
    let compared = || cells.iter().flat_map(|cell| &cell.points).filter(promising);
    let untested = compared().filter(|point| point.finding.p_value.is_none()).count();
    (untested > 0).then(|| Remark::Untested { untested, all: compared().count() })
}

/// Reports launches without timings, and cells with fewer launches than others. Later launches leave out cells with
/// nothing left to time.
pub(crate) fn short_launches(cells: &[CellTimings], expected: u32) -> Vec<Remark> {
    let launches: BTreeSet<u32> = cells.iter().flat_map(CellTimings::launches).collect();
    let unfinished: Vec<usize> =
        cells.iter().filter(|cell| !cell.finished()).map(|cell| cell.launches().len()).collect();
    let timed = launches.len();
    let missing = timed < expected as usize && !unfinished.is_empty();
    // Cells added later have their own launches, as many as the others.
    let usual = if expected == 0 { timed } else { timed.min(expected as usize) };
    let sizes = unfinished.iter().filter(|count| **count < usual).count();
    let missing = missing.then_some(Remark::MissingLaunches { timed, planned: expected });
    missing.into_iter().chain((sizes > 0).then_some(Remark::FewerLaunches(sizes))).collect()
}

/// Cells that cannot be judged because the builtin's time is missing.
fn without_builtin(cells: &[JudgedCell]) -> Vec<Remark> {
    let missing = |cell: &&JudgedCell| {
        let failed = cell.disqualified.iter().any(|(candidate, _)| *candidate == Candidate::Builtin);
        !failed && cell.point(Candidate::Builtin).is_none()
    };
    let of_collective = |block: &[JudgedCell]| {
        let lacking: Vec<Cell> = block.iter().filter(missing).map(|cell| cell.cell).collect();
        Some(Remark::DefaultNotTimed { cell: *lacking.first()?, others: lacking.len() - 1 })
    };
    cells.chunk_by(|a, b| a.cell.collective == b.cell.collective).filter_map(of_collective).collect()
}

/// Candidates that failed, by collective and communicator size.
fn failures(cells: &[JudgedCell]) -> impl Iterator<Item = Remark> {
    let failures = cells.iter().flat_map(|cell| cell.disqualified.iter().map(|(it, why)| (cell.cell, *it, why)));
    first_of_each(failures).map(|(cell, candidate, why, others)| {
        let why = why.clone();
        Remark::Failed { cell, candidate, others, why }
    })
}

/// The first cell of each candidate for a collective and communicator size, with a property of it and the number of others.
fn first_of_each<T>(
    found: impl Iterator<Item = (Cell, Candidate, T)>,
) -> impl Iterator<Item = (Cell, Candidate, T, usize)> {
    let mut first: BTreeMap<(Block, Candidate), (Cell, Candidate, T, usize)> = BTreeMap::new();
    for (cell, candidate, of_cell) in found {
        let known = first.entry(((cell.collective, cell.ranks), candidate));
        known.and_modify(|first| first.3 += 1).or_insert((cell, candidate, of_cell, 0));
    }
    first.into_values()
}

/// Candidates that were faster than the builtin and must not be chosen for a reason other than a failure.
fn barred(cells: &[JudgedCell]) -> impl Iterator<Item = Remark> {
    let mut barred: BTreeMap<(Collective, Bar), (BTreeSet<Candidate>, BTreeSet<Cell>)> = BTreeMap::new();
    for (cell, point) in cells.iter().flat_map(|cell| cell.points.iter().map(|point| (cell.cell, point))) {
        // Failures have a remark of their own, whether or not the candidate was fast.
        if let Some(Shortfall::Barred(bar)) =
            point.shortfall.as_ref().filter(|it| **it != Shortfall::Barred(Bar::Failed))
        {
            let (candidates, cells) = barred.entry((cell.collective, bar.clone())).or_default();
            candidates.insert(point.finding.candidate);
            cells.insert(cell);
        }
    }
    barred.into_iter().map(|((collective, bar), (candidates, cells))| {
        let candidates = candidates.into_iter().collect();
        Remark::Barred { collective, candidates, sizes: cells.len(), bar }
    })
}

/// Candidates with the better median whose rare slow calls make them slower on average.
fn stalling(cells: &[JudgedCell]) -> impl Iterator<Item = Remark> {
    let points = cells.iter().flat_map(|cell| cell.points.iter().map(|point| (cell.cell, point)));
    // Others are not chosen anyway.
    let wins = points.filter(|(_, point)| matches!(point.shortfall, None | Some(Shortfall::Stalls(_))));
    let found = wins.filter_map(|(cell, point)| Some((cell, point.finding.candidate, point.finding.stalls?)));
    first_of_each(found).map(|(cell, candidate, stalls, others)| Remark::Stalls { cell, candidate, others, stalls })
}

/// Consequences of having one choice per communicator size.
fn one_choice_rules(cells: &[JudgedCell], built: &TableBuild, terms: &Terms<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for block in cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let collective = block[0].cell.collective;
        let ruled = built.table.collectives().any(|(other, _)| other == collective);
        let one_choice = || terms.policy.assumptions.one_choice(terms.release, collective, block[0].cell.ranks);
        if ruled && collective.has_sizes() && one_choice() {
            remarks.push(Remark::EverySize(collective));
        }
        let ranks = |blocks: &[Block]| -> Vec<Ranks> {
            blocks.iter().filter(|(other, _)| *other == collective).map(|(_, ranks)| *ranks).collect()
        };
        let stretched = Remark::SingleSize { collective, ranks: ranks(&built.stretched) };
        remarks.extend((!ranks(&built.stretched).is_empty()).then_some(stretched));
        let overruled = Remark::NoCommonAlgorithm { collective, ranks: ranks(&built.overruled) };
        remarks.extend((!ranks(&built.overruled).is_empty()).then_some(overruled));
    }
    remarks
}
