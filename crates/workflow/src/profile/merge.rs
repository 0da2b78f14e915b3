//! What ranks left behind, as the profile of the job.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::profile::rank::{self, RankCalls, RankRecord};
use collrules_record::profile::sizes::step;
use collrules_record::profile::{Activity, Calls, Communicator, Each, FORMAT, Group, Mode, Profile, Sampled, Spread};
use collrules_record::{Bytes, Layout, Nodes, Ranks, Seconds};
use collrules_rules::Operation;

/// Tells groups of processes apart: members, size, whether it is between groups.
type Identity = (u64, u32, bool);

/// What tells entries apart: communicator, operation, mode, whether sizes share it, size.
type Key = (usize, Operation, Mode, bool, u64);

fn identity(group: &rank::Group) -> Identity {
    (group.members, group.size, group.between_groups)
}

fn seconds(nanoseconds: u64) -> Seconds {
    Seconds(nanoseconds as f64 * 1e-9)
}

/// The profile of a job by the records of its ranks, of which there is at least one.
pub(super) fn merged(records: &[RankRecord], command: &[String], started: String, exit_code: i32) -> Profile {
    let ranks = records.iter().map(|record| record.ranks).max().unwrap_or(0);
    let by_rank: BTreeMap<u32, &RankRecord> = records.iter().map(|record| (record.rank, record)).collect();
    let hosts: BTreeMap<u32, &str> = by_rank.iter().map(|(rank, record)| (*rank, record.host.as_str())).collect();
    let (communicators, places) = communicators(&by_rank, &hosts);
    let all = by_rank.values();
    let first = by_rank.values().next();
    let mut wall = Spread::default();
    all.clone().for_each(|record| wall.add(seconds(record.wall)));
    Profile {
        format: FORMAT,
        command: command.to_vec(),
        program: first.map(|record| record.program.clone()).unwrap_or_default(),
        library: first.map(|record| record.library.clone()).unwrap_or_default(),
        started,
        ranks: Ranks(ranks),
        nodes: nodes(hosts.values().copied()),
        wall,
        missing: (0..ranks).filter(|rank| !by_rank.contains_key(rank)).collect(),
        unfinished: all.clone().filter(|record| !record.finalized).map(|record| record.rank).collect(),
        exit_code: Some(exit_code),
        imbalance: first.and_then(|record| record.imbalance),
        calls: calls(&by_rank, &places),
        communicators,
        messages: activity(all.clone().map(|record| record.messages)),
        waiting: activity(all.map(|record| record.waiting)),
    }
}

fn nodes<'a>(hosts: impl Iterator<Item = &'a str>) -> Nodes {
    let hosts: Vec<&str> = hosts.collect();
    Layout::Block.nodes(&hosts, Ranks(hosts.len() as u32))
}

fn activity(of_ranks: impl Iterator<Item = rank::Activity>) -> Activity {
    let mut sum = Activity::default();
    for one in of_ranks {
        sum.rank_calls += one.calls;
        sum.time.add(seconds(one.time));
    }
    sum
}

/// The numbers of runs.
fn members(runs: &[(u32, u32, u32)]) -> impl Iterator<Item = u32> {
    runs.iter().flat_map(|(first, step, count)| (0..*count).map(move |place| first + step * place))
}

/// Groups by what distinguishes communicators for tuning, and the place of each.
fn communicators(
    records: &BTreeMap<u32, &RankRecord>,
    hosts: &BTreeMap<u32, &str>,
) -> (Vec<Communicator>, BTreeMap<Identity, usize>) {
    let mut known: BTreeMap<Identity, Vec<(&RankRecord, &rank::Group)>> = BTreeMap::new();
    for record in records.values() {
        for group in &record.groups {
            known.entry(identity(group)).or_default().push((record, group));
        }
    }
    let mut found: Vec<Communicator> = Vec::new();
    let (mut places, mut unknown) = (BTreeMap::new(), BTreeSet::new());
    for (identity, seen) in known {
        let (hash, size, between_groups) = identity;
        let runs = seen.iter().find_map(|(_, group)| group.ranks.clone());
        let layout = runs.as_deref().and_then(|runs| {
            let hosts: Option<Vec<&str>> = members(runs).map(|rank| hosts.get(&rank).copied()).collect();
            hosts.map(|hosts| nodes(hosts.into_iter()))
        });
        let layout = layout.unwrap_or_default();
        let alike =
            |one: &Communicator| (one.ranks, &one.nodes, one.between_groups) == (Ranks(size), &layout, between_groups);
        let place = found.iter().position(alike).unwrap_or_else(|| {
            found.push(Communicator {
                ranks: Ranks(size),
                nodes: layout.clone(),
                between_groups,
                groups: Vec::new(),
                agree: Vec::new(),
                disagree: Vec::new(),
            });
            found.len() - 1
        });
        places.insert(identity, place);
        let communicator = &mut found[place];
        communicator.groups.push(Group {
            name: seen.iter().map(|(_, group)| group.name.clone()).find(|name| !name.is_empty()).unwrap_or_default(),
            communicators: seen.iter().map(|(_, group)| group.communicators).max().unwrap_or(0),
            ranks: runs,
        });
        // Who is told apart by the size alone, who is missing, and who was cut short, says nothing of the others.
        let whole = hash != 0 && seen.len() == size as usize && seen.iter().all(|(record, _)| record.finalized);
        compare(communicator, &seen, whole);
        if !whole {
            unknown.insert(place);
        }
    }
    // What one group shows to differ, others cannot mend; what is not known of one is not known of all.
    for (place, communicator) in found.iter_mut().enumerate() {
        let Communicator { agree, disagree, .. } = communicator;
        agree.retain(|operation| !disagree.contains(operation) && !unknown.contains(&place));
    }
    (found, places)
}

/// Notes for which operations the ranks of a group passed the same.
fn compare(communicator: &mut Communicator, seen: &[(&RankRecord, &rank::Group)], whole: bool) {
    let operations: BTreeSet<Operation> =
        seen.iter().flat_map(|(_, group)| group.passed.iter().map(|(operation, _)| *operation)).collect();
    for operation in operations {
        let passed = |group: &rank::Group| group.passed.iter().find(|(known, _)| *known == operation).map(|it| it.1);
        let first = passed(seen[0].1);
        let same = seen.iter().all(|(_, group)| passed(group) == first);
        let list = match (whole, same) {
            (true, true) => &mut communicator.agree,
            (true, false) => &mut communicator.disagree,
            (false, _) => continue,
        };
        if !list.contains(&operation) {
            list.push(operation);
        }
    }
}

fn calls(records: &BTreeMap<u32, &RankRecord>, places: &BTreeMap<Identity, usize>) -> Vec<Calls> {
    let mut all: BTreeMap<Key, Calls> = BTreeMap::new();
    for record in records.values() {
        // The time of this rank in an entry, which may come from several groups.
        let mut times: BTreeMap<Key, u64> = BTreeMap::new();
        for one in &record.calls {
            let Some(place) = record.groups.get(one.group).and_then(|group| places.get(&identity(group))) else {
                continue;
            };
            let (least, most) = one.bytes;
            let wide = least != most;
            let key = (*place, one.operation, one.mode, wide, if wide { step(least) } else { least });
            let entry = all.entry(key).or_insert_with(|| Calls::none(*place, one.operation, one.mode, Bytes(least)));
            add(entry, one);
            *times.entry(key).or_default() += one.time;
        }
        for (key, time) in times {
            if let Some(entry) = all.get_mut(&key) {
                entry.time.add(seconds(time));
            }
        }
    }
    for (identity, call) in kept_by_all(records) {
        let entry = places.get(&identity).and_then(|place| all.get_mut(&key(*place, &call)));
        if let Some(entry) = entry {
            let each = entry.each.get_or_insert_with(Each::default);
            each.calls += 1;
            each.slowest.0 += seconds(call.slowest).0;
            each.mean.0 += seconds(call.sum).0 / f64::from(call.ranks);
        }
    }
    all.into_values().collect()
}

/// A call of which ranks kept the time.
struct Together {
    operation: Operation,
    bytes: u64,
    ranks: u32,
    slowest: u64,
    sum: u64,
}

/// The entry of a call: sizes share none, since only those that have one to themselves are looked at.
fn key(place: usize, call: &Together) -> Key {
    (place, call.operation, Mode::Blocking, false, call.bytes)
}

/// The calls that all ranks of a group kept, and of which they passed the same.
fn kept_by_all(records: &BTreeMap<u32, &RankRecord>) -> impl Iterator<Item = (Identity, Together)> {
    let mut all: BTreeMap<(Identity, u32), Option<Together>> = BTreeMap::new();
    for record in records.values() {
        for call in &record.kept.calls {
            let Some(group) = record.groups.get(call.group).filter(|group| group.members != 0) else { continue };
            let (operation, bytes) = (call.operation, call.bytes);
            let none = || Some(Together { operation, bytes, ranks: 0, slowest: 0, sum: 0 });
            let together = all.entry((identity(group), call.turn)).or_insert_with(none);
            match together {
                Some(known) if (known.operation, known.bytes) == (operation, bytes) => {
                    known.ranks += 1;
                    known.slowest = known.slowest.max(call.time);
                    known.sum += call.time;
                }
                // Threads called in another order, or ranks have parts of different sizes.
                other => *other = None,
            }
        }
    }
    all.into_iter().filter_map(|((identity, _), together)| {
        let together = together.filter(|together| together.ranks == identity.1)?;
        Some((identity, together))
    })
}

fn add(entry: &mut Calls, one: &RankCalls) {
    let (least, most) =
        (entry.bytes.0.min(one.bytes.0), entry.up_to.map_or(entry.bytes.0, |most| most.0).max(one.bytes.1));
    entry.bytes = Bytes(least);
    entry.up_to = (most > least).then_some(Bytes(most));
    entry.sum += one.sum;
    entry.rank_calls += one.calls;
    let counted = |is: bool| if is { one.calls } else { 0 };
    entry.in_place += counted(one.in_place);
    entry.not_commutative += counted(!one.commutative);
    entry.derived += counted(one.derived);
    entry.unequal += counted(one.unequal);
    entry.ignored_differ += counted(one.ignored_differ);
    entry.longest = Seconds(entry.longest.0.max(seconds(one.longest).0));
    if let Some((_, differs)) = one.root {
        // Of every call all ranks know the root, so that each sees by itself whether it changes.
        entry.same_root = Some(entry.same_root.unwrap_or(true) && !differs);
    }
    let (calls, waiting, own) = one.sampled;
    if calls > 0 {
        let sampled = entry.sampled.get_or_insert_with(Sampled::default);
        sampled.rank_calls += calls;
        sampled.waiting.0 += seconds(waiting).0;
        sampled.own.0 += seconds(own).0;
    }
}
