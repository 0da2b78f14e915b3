//! Search for the component that a collective uses, by its effect.
//!
//! A rule with an algorithm that does not exist makes exactly the calls fail for which `coll/tuned` looks it up. Such
//! rules are loaded for exact message sizes, a different one per communicator size, so that inner calls and set-up
//! calls of other components, which have other sizes, still work. Each call is then made on communicators that exclude
//! one component after the other (the info key `ompi_comm_coll_preference` of `coll_base_comm_select.c`, by which `han`
//! chooses components for its own communicators; 4.1 and 5.0). If a call begins to fail when a component is excluded,
//! that component handles it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::competitor::{self, Competitor};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, Component, Placement, RunningComponent};
use collrules_rules::emit::{self, Notes};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::probe::PROBE_ALGORITHM;
use collrules_rules::steps::Steps;
use collrules_rules::table::{SizeSteps, all_builtin};
use collrules_rules::{Choice, Collective, Release, RuleTable};

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::scratch;
use crate::wire::CallEnd;

/// The message bytes of the first probed communicator size; a multiple of 8, and not a size that programs favour.
const FIRST_BYTES: u64 = 10_008;

/// Difference between the message bytes of one communicator size and the next.
const STEP_BYTES: u64 = 808;

/// Finds the component that the cells' collectives use on each communicator size. Fails if it is not `coll/tuned` and
/// no component is known without which it would be.
///
/// `components` are those of the library. A temporary file is made in `scratch`, which all nodes have to see.
pub fn find(
    backend: &mut dyn Backend,
    scratch: &Path,
    cells: &[Cell],
    release: Release,
    components: &BTreeMap<Component, i32>,
    placement: &Placement,
) -> Result<Vec<RunningComponent>, RunnerError> {
    let competitors: Vec<Component> =
        competitor::components().filter(|competitor| components.contains_key(competitor)).collect();
    // As things are; without each of the competitors; without all of them.
    let mut without = vec![Vec::new()];
    without.extend(competitors.iter().map(|competitor| vec![*competitor]));
    if competitors.len() > 1 {
        without.push(competitors.clone());
    }
    let mut found = Vec::new();
    let mut unknown = BTreeSet::new();
    // Others than `coll/tuned` call it within a collective only where ranks share one of several nodes.
    let nested = placement.nodes.values().any(|nodes| nodes.are_several() && nodes.share());
    for calls in jobs(cells, release, nested) {
        let copy = scratch::file(scratch, "probe", &exactly(&calls, release)?)?;
        let outcomes = backend.probe_without(copy.path(), &calls, &without)?;
        for (call, outcomes) in calls.iter().zip(outcomes) {
            let Cell { collective, ranks, .. } = *call;
            let position = outcomes.iter().position(|outcome| matches!(outcome, CallEnd::Refused(_)));
            let without = position.map(|place| without[place].clone());
            match without {
                Some(without) => {
                    let by = without.first().copied().unwrap_or(Component::TUNED);
                    found.push(RunningComponent { collective, ranks, by, without });
                }
                None => {
                    unknown.insert(collective);
                }
            }
        }
    }
    if unknown.is_empty() {
        found.sort_unstable_by_key(|running| (running.collective, running.ranks));
        return Ok(found);
    }
    let names: Vec<&str> = unknown.into_iter().map(Collective::name).collect();
    Err(RunnerError::NotRunByTuned { collectives: names.join(", ") })
}

/// The calls of each job: one for each collective and communicator size. A collective whose rules do not see the size
/// fails at any size, even if another component calls it on a smaller communicator. If that happens (`nested`), a job
/// has one communicator size of it.
fn jobs(cells: &[Cell], release: Release, nested: bool) -> Vec<Vec<Cell>> {
    let all_ranks: BTreeSet<Ranks> = cells.iter().map(|cell| cell.ranks).collect();
    let pairs: BTreeSet<(Ranks, Collective)> = cells.iter().map(|cell| (cell.ranks, cell.collective)).collect();
    let mut jobs = vec![Vec::new(); all_ranks.len()];
    for (ranks, collective) in pairs {
        // The number of smaller communicator sizes.
        let place = all_ranks.range(..ranks).count();
        let bytes = if collective.has_sizes() { FIRST_BYTES + STEP_BYTES * place as u64 } else { 0 };
        let call = Cell { collective, ranks, bytes: Bytes(bytes) };
        let sized = matches!(metric(release, collective, ranks), Metric::Times(_));
        jobs[if sized || !nested { 0 } else { place }].push(call);
    }
    jobs.retain(|calls| !calls.is_empty());
    jobs
}

/// Rules that make exactly these calls fail.
pub(crate) fn exactly(calls: &[Cell], release: Release) -> Result<String, RunnerError> {
    let mut table = RuleTable::new();
    let collectives: BTreeSet<Collective> = calls.iter().map(|call| call.collective).collect();
    for collective in collectives {
        let mut by_ranks: BTreeMap<u64, SizeSteps> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.collective == collective) {
            let fails = Choice::plain(PROBE_ALGORITHM);
            let sizes = by_ranks.entry(call.ranks.0.into()).or_insert_with(|| Steps::constant(Choice::BUILTIN));
            match metric(release, collective, call.ranks) {
                Metric::Times(_) => {
                    let bytes = call.lookup_bytes(release);
                    sizes.set(bytes, Some(bytes + 1), fails);
                }
                Metric::CountFree | Metric::None => *sizes = Steps::constant(fails),
            }
        }
        let mut blocks = all_builtin();
        by_ranks.into_iter().for_each(|(ranks, sizes)| blocks.set(ranks, Some(ranks + 1), sizes));
        table.set(collective, blocks);
    }
    emit::classic(&table, &Notes::default(), |_| true).map_err(|error| RunnerError::WorkerFailed(error.to_string()))
}

/// The collectives for which these settings switch other components off.
pub fn freed(placement: &Placement, pins: &BTreeMap<String, String>) -> BTreeSet<Collective> {
    let displaced = placement.running.iter().filter(|running| !running.without.is_empty());
    let free = displaced.filter(|running| {
        running.without.iter().all(|component| Competitor::from_component(*component).leaves(running.collective, pins))
    });
    free.map(|running| running.collective).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_tell_communicators_apart_and_sizeless_calls_have_jobs_of_their_own() {
        let cell = |collective, ranks| Cell { collective, ranks: Ranks(ranks), bytes: Bytes(1) };
        let cells: Vec<Cell> =
            [2, 4].into_iter().flat_map(|n| [cell(Collective::Bcast, n), cell(Collective::Barrier, n)]).collect();
        assert_eq!(jobs(&cells, Release::V5_0, false).len(), 1);
        let jobs = jobs(&cells, Release::V5_0, true);
        let shape: Vec<Vec<(Collective, u32)>> =
            jobs.iter().map(|calls| calls.iter().map(|call| (call.collective, call.ranks.0)).collect()).collect();
        let (bcast, barrier) = (Collective::Bcast, Collective::Barrier);
        assert_eq!(shape.len(), 2);
        assert!(shape[0].contains(&(bcast, 2)) && shape[0].contains(&(bcast, 4)) && shape[0].contains(&(barrier, 2)));
        assert_eq!(shape[1], [(barrier, 4)]);
        let bytes: BTreeSet<Bytes> =
            jobs[0].iter().filter(|call| call.collective == bcast).map(|call| call.bytes).collect();
        assert_eq!(bytes.len(), 2, "each size of its own");
        let text = exactly(&jobs[0], Release::V5_0).expect("a file");
        assert!(text.contains("10008 99 0 0") && text.contains("10816 99 0 0"), "{text}");
    }
}
