//! Versions that serve the same call differently.

use super::code::Code;
use super::collect::Collector;
use crate::behaviour::Behaviour;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::Loaded;
use crate::registry;
use crate::table::{RankSteps, RuleTable, SizeSteps};

/// A call that two versions serve differently.
struct Example {
    ranks: u64,
    bytes: u64,
    choices: [Choice; 2],
}

/// Reports each collective for which the versions do not choose alike, with an example.
pub(super) fn check(meant: &[&Loaded], problems: &mut Collector) {
    // All versions that read JSON read it alike.
    let [first, others @ ..] = meant else { return };
    if others.is_empty() {
        return;
    }
    let tables: Vec<(&Loaded, RuleTable)> = meant.iter().map(|loaded| (*loaded, loaded.to_table())).collect();
    let name = |versions: &[Behaviour]| versions.iter().map(Behaviour::name).collect::<Vec<_>>().join(", ");
    for collective in Collective::ALL {
        let steps = |table: &RuleTable| {
            let found = table.collectives().find(|(other, _)| *other == collective);
            found.map_or_else(crate::table::all_builtin, |(_, steps)| steps.clone())
        };
        let reference = steps(&tables[0].1);
        let differing: Vec<(&Loaded, Example)> = tables[1..]
            .iter()
            .filter_map(|(loaded, table)| Some((*loaded, difference(&reference, &steps(table))?)))
            .collect();
        let Some((other, example)) = differing.first() else { continue };
        let versions: Vec<Behaviour> = differing.iter().map(|(loaded, _)| loaded.behaviour).collect();
        let Some((_, rules)) = first.rules_for(collective).or_else(|| other.rules_for(collective)) else { continue };
        let shifted = versions.iter().all(|version| version.shifts_sizes) && !first.behaviour.shifts_sizes;
        // A list of one communicator size has nothing to be shifted.
        let shifted = shifted && rules.comm_rules.len() > 1;
        let code = if shifted { Code::ShiftedSizes } else { Code::Disagreement };
        let words = |loaded: &Loaded, choice| registry::describe(loaded.behaviour.release, collective, choice);
        let Example { ranks, bytes, choices: [one, two] } = example;
        let message = format!(
            "{} on {ranks} ranks with {bytes} bytes looked up: {} in {}, {} in {}",
            collective.name(),
            words(first, *one),
            first.behaviour.name(),
            words(other, *two),
            name(&[other.behaviour]),
        );
        problems.add(code, rules.name, &versions, message);
    }
}

/// The first call of two ranks or more that is served differently, in time linear in the steps.
fn difference(one: &RankSteps, other: &RankSteps) -> Option<Example> {
    // Where both keep what they have up to, from each start of either.
    let mut starts: Vec<u64> = one.iter().chain(other.iter()).map(|(start, _, _)| start.max(2)).collect();
    starts.sort_unstable();
    starts.dedup();
    let starts = starts.into_iter().filter(|start| *start <= i32::MAX as u64);
    starts.into_iter().find_map(|ranks| {
        let (bytes, choices) = size_difference(one.get(ranks), other.get(ranks))?;
        Some(Example { ranks, bytes, choices })
    })
}

fn size_difference(one: &SizeSteps, other: &SizeSteps) -> Option<(u64, [Choice; 2])> {
    if one == other {
        return None;
    }
    let starts = one.iter().chain(other.iter()).map(|(start, _, _)| start);
    let differing = starts.filter(|at| *at < i64::MAX as u64 && one.get(*at) != other.get(*at)).min()?;
    Some((differing, [*one.get(differing), *other.get(differing)]))
}
