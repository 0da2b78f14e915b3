//! Savings that a program can expect from a run: its time in each cell, and the gain that was measured there.

use collrules_record::estimate::Estimate;
use collrules_record::findings::{CellFinding, Findings, PointFinding};
use collrules_record::profile::Profile;
use collrules_record::profile::weight::{Weight, own_and_late};
use collrules_record::{Candidate, Cell, Nodes, Seconds};
use collrules_rules::Choice;

use crate::results::prospect::{Prospect, Prospects, TimeShares, UnknownGain, sum};

/// Computes the savings that a program can expect: from the rules of a run if there is one, else as upper bounds.
pub fn prospects(profile: &Profile, run: Option<&Findings>) -> Prospects {
    let entries = profile.calls.iter().enumerate().filter_map(|(entry, calls)| {
        let cell = profile.cell(calls)?;
        let time = own_and_late(profile, calls).0.0;
        let nodes = &profile.communicator(calls).nodes;
        let (saved, unknown) = match run.map(|findings| gain(findings, nodes, cell)) {
            None => (None, None),
            Some(Ok(gain)) => (Some(saved(gain, time)), None),
            Some(Err(why)) => (None, Some(why)),
        };
        Some(Prospect { entry, collective: cell.collective, time: Seconds(time), saved, unknown })
    });
    Prospects {
        run: run.map(|findings| findings.source.clone()),
        entries: entries.collect(),
        shares: TimeShares::from_profile(profile),
    }
}

/// Returns the expected savings of a run's rules in these times; none if the run covers none of them. The second value
/// is the part of the time that the run covers.
pub fn saved_of(weights: &[Weight], findings: &Findings) -> Option<(Estimate, Seconds)> {
    let known = |weight: &Weight| Some((gain(findings, &weight.nodes, weight.cell).ok()?, weight.time.0));
    let known: Vec<(Option<Estimate>, f64)> = weights.iter().filter_map(known).collect();
    let saved = sum(known.iter().map(|(gain, time)| saved(*gain, *time)))?;
    Some((saved, Seconds(known.iter().map(|(_, time)| time).sum())))
}

/// Seconds saved in calls that took this time, with this gain. Without a gain the saving is exactly 0.
fn saved(gain: Option<Estimate>, time: f64) -> Estimate {
    let none = Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), level: 0.95, samples: 0 };
    gain.unwrap_or(none).map(|gain| time * (1.0 - 1.0 / gain))
}

/// Gain of the rules in a cell, from the measured cells around it; none if the rules do not change it.
fn gain(findings: &Findings, nodes: &Nodes, cell: Cell) -> Result<Option<Estimate>, UnknownGain> {
    let of_collective = || findings.cells.iter().filter(|found| found.cell.collective == cell.collective);
    if of_collective().next().is_none() {
        return Err(UnknownGain::NotMeasured(cell.collective));
    }
    let measured: Vec<&CellFinding> = of_collective().filter(|found| found.cell.ranks == cell.ranks).collect();
    if measured.is_empty() {
        return Err(UnknownGain::NotOnRanks(cell.collective, cell.ranks));
    }
    if let Some(there) = findings.placement.nodes.get(&cell.ranks)
        && !nodes.0.is_empty()
        && there != nodes
    {
        return Err(UnknownGain::OtherNodes(there.clone(), nodes.clone()));
    }
    let below = measured.iter().filter(|found| found.cell.bytes <= cell.bytes).max_by_key(|found| found.cell.bytes);
    let above = measured.iter().filter(|found| found.cell.bytes >= cell.bytes).min_by_key(|found| found.cell.bytes);
    let (Some(below), Some(above)) = (below, above) else {
        return Err(UnknownGain::OutsideSizes(cell.bytes));
    };
    let lookup = cell.lookup_bytes(findings.release);
    let choice = findings.table.lookup(cell.collective, u64::from(cell.ranks.0), lookup);
    if choice.is_builtin() && [below, above].into_iter().any(|found| is_open(findings, found)) {
        return Err(UnknownGain::TooSeldom);
    }
    let (low, high) = (at(below, choice), at(above, choice));
    if below.cell == above.cell {
        return Ok(low);
    }
    let logs = [below.cell.bytes, above.cell.bytes, cell.bytes].map(|bytes| (bytes.0.max(1) as f64).ln());
    let weight = if logs[1] > logs[0] { (logs[2] - logs[0]) / (logs[1] - logs[0]) } else { 0.0 };
    Ok(between(low, high, weight))
}

/// Returns true if a cell kept the builtin because a candidate that seemed better had too few samples for a test.
fn is_open(findings: &Findings, found: &CellFinding) -> bool {
    let seems_better = |point: &PointFinding| {
        matches!(point.candidate, Candidate::Tuned(_))
            && point.gain.is_some_and(|gain| gain.low.is_none() && gain.point >= 1.0 + findings.criteria.min_gain)
            && point.q_value.is_none()
    };
    found.candidate_in_use() == Candidate::Builtin && found.points.iter().any(seems_better)
}

/// Gain of a choice in a measured cell; none for the builtin's own choice.
fn at(found: &CellFinding, choice: Choice) -> Option<Estimate> {
    if choice == found.in_use {
        return found.gain_in_use();
    }
    found.point(Candidate::from_choice(choice))?.gain
}

/// Gain between two sizes, interpolated in the logarithms of gain and size.
fn between(low: Option<Estimate>, high: Option<Estimate>, weight: f64) -> Option<Estimate> {
    let one = |of: Estimate| Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), ..of };
    let (low, high) = (low.or(high.map(one))?, high.or(low.map(one))?);
    Estimate::product_of_powers([(1.0 - weight, low), (weight, high)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(point: f64) -> Estimate {
        Estimate { point, low: Some(point / 2.0), high: Some(point * 2.0), level: 0.95, samples: 9 }
    }

    #[test]
    fn gains_between_sizes_follow_their_logarithms() {
        let middle = between(Some(estimate(2.0)), Some(estimate(8.0)), 0.5).expect("both");
        assert!((middle.point - 4.0).abs() < 1e-12 && (middle.low.expect("low") - 2.0).abs() < 1e-12);
        assert_eq!(between(None, None, 0.5), None);
        let half = between(None, Some(estimate(4.0)), 0.5).expect("one");
        assert!((half.point - 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_saved_is_time_less_time_over_gain() {
        assert_eq!(
            saved(Some(estimate(2.0)), 10.0),
            Estimate { point: 5.0, low: Some(0.0), high: Some(7.5), level: 0.95, samples: 9 }
        );
        assert_eq!(saved(None, 10.0).point, 0.0);
    }
}
