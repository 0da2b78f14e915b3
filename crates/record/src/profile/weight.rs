//! Time that programs spend in calls, as weights for tuning.

use std::collections::BTreeMap;

use collrules_rules::metric::{Metric, metric};
use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use super::rank::{step, width};
use super::{Calls, Mode, Profile};
use crate::cell::{Cell, type_size};
use crate::placement::Nodes;
use crate::policy::Assumption;
use crate::units::{Bytes, Seconds};

/// The share of the time that is measured; the rest is spread over many cells with little time each.
pub const COVERED: f64 = 0.95;

/// Time that programs spend in the calls of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// The cell.
    pub cell: Cell,
    /// Ranks of its communicators on each node; empty if unknown.
    pub nodes: Nodes,
    /// The time of the mean rank in its calls, without waiting for late ranks if that is known.
    pub time: Seconds,
}

/// The weights of programs, each with a factor, the most time first. Sizes that are at most an eighth apart are measured as
/// one: the one with the most time.
pub fn weights(profiles: &[(Profile, f64)]) -> Vec<Weight> {
    // Cells that are measured as one have these properties in common, and a step of the size.
    let mut near: BTreeMap<(_, _, Vec<u32>, u64), BTreeMap<Bytes, f64>> = BTreeMap::new();
    for (profile, factor) in profiles {
        for calls in &profile.calls {
            let Some(cell) = profile.cell(calls) else { continue };
            let Some(bytes) = measurable(cell) else { continue };
            let time = own_and_late(profile, calls).0.0 * factor;
            let nodes = profile.communicator(calls).nodes.0.clone();
            let sizes = near.entry((cell.collective, cell.ranks, nodes, step(bytes.0))).or_default();
            *sizes.entry(bytes).or_default() += time;
        }
    }
    let mut all: Vec<Weight> = near
        .into_iter()
        .filter_map(|((collective, ranks, nodes, _), sizes)| {
            let most = sizes.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
            let cell = Cell { collective, ranks, bytes: *most.0 };
            Some(Weight { cell, nodes: Nodes(nodes), time: Seconds(sizes.values().sum()) })
        })
        .filter(|weight| weight.time.0 > 0.0)
        .collect();
    all.sort_by(|a, b| b.time.0.total_cmp(&a.time.0).then(a.cell.cmp(&b.cell)));
    all
}

/// The lookup bytes that a measured size answers for, first and end: of a program's size those of all that are measured as
/// one with it, else its own.
pub fn lookup_span(cell: Cell, release: Release, is_of_programs: bool) -> (u64, Option<u64>) {
    let at = cell.lookup_bytes(release);
    let Metric::Times(factor) = metric(release, cell.collective, cell.ranks) else { return (at, at.checked_add(1)) };
    let first = step(cell.bytes.0);
    let span = (first.saturating_mul(factor), first.saturating_add(width(first)).saturating_mul(factor));
    // Open MPI's products overflow.
    let is_known = is_of_programs && (span.0..span.1).contains(&at);
    if is_known { (span.0, Some(span.1)) } else { (at, at.checked_add(1)) }
}

/// Splits the time of calls on the mean rank into the calls themselves and waiting for late ranks; no waiting is
/// assumed if it was not measured. Both are known for calls with a barrier before them; the others are assumed to be
/// alike.
pub fn own_and_late(profile: &Profile, calls: &Calls) -> (Seconds, Seconds) {
    let sampled = calls.sampled.unwrap_or_default();
    let rest = (calls.time.total.0 - sampled.own.0).max(0.0);
    let own = rest * own_share(profile, calls);
    (profile.wall_of(Seconds(sampled.own.0 + own)), profile.wall_of(Seconds(sampled.waiting.0 + rest - own)))
}

/// The share of calls that is not waiting for late ranks: 1 if no calls were sampled.
fn own_share(profile: &Profile, calls: &Calls) -> f64 {
    // Calls of few samples take the share of all calls of the operation on that communicator.
    let alike = || {
        let alike = profile.calls.iter().filter(|other| {
            (other.communicator, other.operation, other.mode) == (calls.communicator, calls.operation, calls.mode)
        });
        alike.filter_map(|calls| calls.sampled).reduce(|mut sum, one| {
            sum.rank_calls += one.rank_calls;
            sum.waiting.0 += one.waiting.0;
            sum.own.0 += one.own.0;
            sum
        })
    };
    calls.sampled.or_else(alike).and_then(|sampled| sampled.share()).unwrap_or(1.0)
}

/// The size at which a cell is measured: a multiple of the datatype's size. Calls without data run no algorithm.
fn measurable(cell: Cell) -> Option<Bytes> {
    if !cell.collective.has_sizes() {
        return Some(Bytes(0));
    }
    let element = type_size(cell.collective);
    (cell.bytes.0 > 0).then(|| Bytes(cell.bytes.0.div_ceil(element) * element))
}

/// Lists the assumptions that all of these programs met in their profiles. Other programs may violate them.
pub fn kept_to(profiles: &[(Profile, f64)]) -> Vec<Assumption> {
    let blocking = || {
        profiles.iter().flat_map(|(profile, _)| {
            profile.calls.iter().filter(|calls| calls.mode == Mode::Blocking).map(move |calls| (profile, calls))
        })
    };
    let complete = profiles.iter().all(|(profile, _)| profile.is_complete());
    let holds = |concerns: fn(Collective) -> bool, keeps: &dyn Fn(&Profile, &Calls) -> bool| {
        let is_concerned = |calls: &Calls| Collective::from_operation(calls.operation).is_some_and(concerns);
        let mut concerned = blocking().filter(|(_, calls)| is_concerned(calls)).peekable();
        concerned.peek().is_some() && concerned.all(|(profile, calls)| keeps(profile, calls))
    };
    let commutative = holds(Collective::reduces, &|_, calls| calls.not_commutative == 0);
    let consistent = holds(Collective::looks_up_by_rank, &|profile, calls| {
        calls.ignored_differ == 0 && profile.communicator(calls).agree.contains(&calls.operation)
    });
    let shown = [(commutative, Assumption::CommutativeOps), (consistent, Assumption::ConsistentArguments)];
    shown.into_iter().filter(|(holds, _)| complete && *holds).map(|(_, assumption)| assumption).collect()
}
