//! What messages and operations cost, as the reference algorithms' times tell.

use std::collections::BTreeMap;

use collrules_record::cell::type_size;
use collrules_record::study::MachineFit;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell, Estimate, Ranks};
use collrules_reference::{Machine, Reference, play};

use super::{Point, over_launches};

/// Times less unknowns that a launch needs at least.
const LEAST_SPARE: usize = 2;

/// Messages, bytes moved and bytes reduced one after the other.
type Terms = [f64; 3];

/// What is done, and the seconds that it took, by launch.
type Timed<'a> = (Terms, &'a BTreeMap<u32, f64>);

/// A fit for each communicator size that has reference algorithms.
pub(super) fn machines(points: &[Point<'_>], level: f64) -> Vec<MachineFit> {
    let mut groups: BTreeMap<Ranks, Vec<Timed<'_>>> = BTreeMap::new();
    for (cell, known) in points {
        let Candidate::Reference(reference) = known.measured_as else { continue };
        if known.candidate == known.measured_as
            && let Some(terms) = terms(*cell, reference)
        {
            groups.entry(cell.ranks).or_default().push((terms, &known.launches));
        }
    }
    groups.into_iter().filter_map(|(ranks, group)| fit(ranks, &group, level)).collect()
}

/// What a reference algorithm does one after the other in a cell.
fn terms(cell: Cell, reference: Reference) -> Option<Terms> {
    let size = type_size(cell.collective) as f64;
    let of = |machine| seconds(cell, reference, machine);
    let nothing = Machine::default();
    Some([
        of(Machine { latency: 1.0, ..nothing })?,
        of(Machine { transfer: size, ..nothing })?,
        of(Machine { operation: size, ..nothing })?,
    ])
}

/// The played time of a reference algorithm, with a machine that counts elements.
fn seconds(cell: Cell, reference: Reference, machine: Machine) -> Option<f64> {
    let times = play(&cell.script(reference)?, machine, &mut |_| ()).ok()?;
    Some(times.into_iter().fold(0.0, f64::max))
}

fn fit(ranks: Ranks, group: &[Timed<'_>], level: f64) -> Option<MachineFit> {
    let mut launches: BTreeMap<u32, Vec<(Terms, f64)>> = BTreeMap::new();
    for (terms, times) in group {
        for (launch, seconds) in times.iter() {
            launches.entry(*launch).or_default().push((*terms, *seconds));
        }
    }
    let fits: Vec<Terms> = launches.values().filter_map(|points| solve(points)).collect();
    // No cost is below 0, though the interval of a small one may reach there.
    let estimate = |place: usize| {
        let fits: Vec<f64> = fits.iter().map(|fit| fit[place]).collect();
        over_launches(&fits, level).map(|cost| cost.map(|cost| cost.max(0.0)))
    };
    let (latency, per_byte) = (estimate(0)?, estimate(1)?);
    let reduces = group.iter().any(|(terms, _)| terms[2] > 0.0);
    let per_reduced_byte = if reduces { estimate(2) } else { None };
    let model = [latency.point, per_byte.point, per_reduced_byte.map_or(0.0, |gamma| gamma.point)];
    let misses: Vec<f64> = launches
        .values()
        .flatten()
        .map(|(terms, seconds)| (seconds / product(*terms, model)).ln().powi(2))
        .filter(|miss| miss.is_finite())
        .collect();
    let misfit = (misses.iter().sum::<f64>() / misses.len().max(1) as f64).sqrt();
    Some(MachineFit { ranks, latency, per_byte, per_reduced_byte, misfit })
}

fn product(terms: Terms, model: Terms) -> f64 {
    terms.iter().zip(model).map(|(term, cost)| term * cost).sum()
}

/// Least squares of `seconds = terms . costs` with errors relative to the time and no cost below 0: what would be is
/// taken as 0, and the rest fitted anew.
fn solve(points: &[(Terms, f64)]) -> Option<Terms> {
    let mut used: Vec<usize> = (0..3).filter(|place| points.iter().any(|(terms, _)| terms[*place] > 0.0)).collect();
    loop {
        if used.is_empty() || points.len() < used.len() + LEAST_SPARE {
            return None;
        }
        let row = |(terms, seconds): &(Terms, f64)| used.iter().map(|at| terms[*at] / seconds).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = points.iter().map(row).collect();
        let width = used.len();
        let mut system: Vec<Vec<f64>> = (0..width)
            .map(|i| {
                let sum = |j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
                (0..width).map(sum).chain([rows.iter().map(|row| row[i]).sum()]).collect()
            })
            .collect();
        let costs = eliminate(&mut system)?;
        match costs.iter().position(|cost| *cost < 0.0) {
            Some(below) => {
                used.remove(below);
            }
            None => {
                let mut all = [0.0; 3];
                used.iter().zip(costs).for_each(|(place, cost)| all[*place] = cost);
                return Some(all);
            }
        }
    }
}

/// Solves a symmetric positive system with its right side in the last column; none where it is singular.
fn eliminate(system: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let width = system.len();
    for column in 0..width {
        let scale = system[column][column];
        // The diagonal of a positive system needs no search for a larger one.
        if !(scale.is_finite() && scale > 0.0) {
            return None;
        }
        for row in 0..width {
            if row == column {
                continue;
            }
            let factor = system[row][column] / scale;
            let taken = system[column].clone();
            system[row].iter_mut().zip(taken).for_each(|(value, taken)| *value -= factor * taken);
        }
    }
    Some((0..width).map(|row| system[row][width] / system[row][row]).collect())
}

/// The seconds that no algorithm can undercut in a cell, by a fit; none where there is no such bound.
pub(super) fn bound(cell: Cell, machines: &[MachineFit]) -> Option<Estimate> {
    let fit = machines.iter().find(|fit| fit.ranks == cell.ranks)?;
    let bound = cell.bound()?;
    let size = type_size(cell.collective) as f64;
    if bound.reduced > 0.0 && fit.per_reduced_byte.is_none() {
        return None;
    }
    let part = |amount: f64, cost: Estimate| (amount * cost.point, cost.map(|cost| amount * cost));
    let parts = [
        part(bound.messages, fit.latency),
        part(bound.moved * size, fit.per_byte),
        part(bound.reduced * size, fit.per_reduced_byte.unwrap_or(fit.per_byte)),
    ];
    let point: f64 = parts.iter().map(|part| part.0).sum();
    // Errors of the three add up as squares.
    let reach = |end: fn(&Estimate) -> Option<f64>| -> Option<f64> {
        let ends: Option<Vec<f64>> = parts.iter().map(|(point, estimate)| Some(end(estimate)? - point)).collect();
        Some(ends?.iter().map(|reach| reach * reach).sum::<f64>().sqrt())
    };
    let (below, above) = (reach(|estimate| estimate.low), reach(|estimate| estimate.high));
    let low = below.map(|reach| (point - reach).max(0.0));
    Some(Estimate {
        point,
        low,
        high: above.map(|reach| point + reach),
        level: fit.latency.level,
        samples: fit.latency.samples,
    })
}

/// The message bytes at which the model has one reference algorithm give way to the other.
pub(super) fn predicted(cell: Cell, one: Candidate, other: Candidate, machines: &[MachineFit]) -> Option<Bytes> {
    let (Candidate::Reference(one), Candidate::Reference(other)) = (one, other) else { return None };
    let fit = machines.iter().find(|fit| fit.ranks == cell.ranks)?;
    let size = type_size(cell.collective);
    let machine = Machine {
        latency: fit.latency.point,
        transfer: fit.per_byte.point * size as f64,
        operation: fit.per_reduced_byte.map_or(0.0, |gamma| gamma.point) * size as f64,
    };
    // Where vectors divide evenly, times are lines.
    let first = size * u64::from(cell.ranks.0) * 1024;
    let lead = |bytes: u64| {
        let cell = Cell { bytes: Bytes(bytes), ..cell };
        Some(seconds(cell, one, machine)? - seconds(cell, other, machine)?)
    };
    let (low, high) = (lead(first)?, lead(2 * first)?);
    let slope = (high - low) / first as f64;
    let at = first as f64 - low / slope;
    (1.0..1e15).contains(&at).then_some(Bytes(at.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_found_again() {
        let costs = [10e-6, 1e-9, 0.25e-9];
        let all = [[3.0, 0.0, 0.0], [3.0, 1e6, 0.0], [7.0, 2e5, 1e5], [14.0, 1e4, 3e6], [1.0, 5e5, 2e5]];
        let points = all.map(|terms| (terms, product(terms, costs)));
        let found = solve(&points).expect("five times");
        assert!(found.iter().zip(costs).all(|(found, cost)| (found / cost - 1.0).abs() < 1e-9), "{found:?}");
        // What would cost less than nothing costs nothing.
        let odd = all.map(|terms| (terms, product(terms, [10e-6, 1e-9, -0.1e-9]).max(1e-9)));
        assert_eq!(solve(&odd).map(|found| found[2]), Some(0.0));
        assert_eq!(solve(&points[..4]), None);
    }
}
