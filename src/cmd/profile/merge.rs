//! Profile of a job, from the records of its ranks.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::profile::rank::{self, KeptCalls, RankCalls, RankRecord, step};
use collrules_record::profile::{
    Activity, Calls, Communicator, CommunicatorGroup, Each, FORMAT, Mode, Profile, Sampled, Spawned, Spread,
};
use collrules_record::{Bytes, Layout, Nodes, Ranks, Seconds};
use collrules_rules::Operation;

/// Identity of a group of processes: members, size, and true if it is between groups.
type Identity = (u64, u32, bool);

/// Key of an entry: communicator, operation, mode, true if sizes share it, size.
type EntryKey = (usize, Operation, Mode, bool, u64);

fn identity(group: &rank::ProcessGroup) -> Identity {
    (group.members, group.size, group.between_groups)
}

fn seconds(nanoseconds: u64) -> Seconds {
    Seconds(nanoseconds as f64 * 1e-9)
}

/// The profile of a job by the records of its ranks, of which there is at least one.
pub(super) fn merged(records: &[RankRecord], command: &[String], started: String, exit_code: i32) -> Profile {
    let (records, spawned) = numbered(records);
    let first_of_spawned = spawned.first().map_or(u32::MAX, |world| world.first);
    let own = || records.iter().filter(|record| record.rank < first_of_spawned);
    let ranks = own().map(|record| record.ranks).max().unwrap_or(0);
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
        nodes: nodes(hosts.range(..first_of_spawned).map(|(_, host)| *host)),
        started_processes: records.iter().map(|record| record.started).fold(0, u64::saturating_add),
        spawned,
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

/// The records with the ranks of spawned worlds numbered after those of the first world, and these worlds. Groups of
/// different worlds stay different.
fn numbered(records: &[RankRecord]) -> (Vec<RankRecord>, Vec<Spawned>) {
    let mut worlds: BTreeMap<(bool, &str), Vec<&RankRecord>> = BTreeMap::new();
    for record in records {
        worlds.entry((record.spawned, &record.job)).or_default().push(record);
    }
    let (mut all, mut spawned, mut first) = (Vec::new(), Vec::new(), 0u32);
    for (place, of_world) in worlds.into_values().enumerate() {
        let size = of_world.iter().map(|record| record.ranks).max().unwrap_or(0);
        if place > 0 {
            spawned.push(Spawned { first, ranks: Ranks(size), seen: of_world.len() as u32 });
        }
        // Multiplying by an odd number keeps different values different.
        let mark = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for record in of_world {
            let mut record = record.clone();
            record.rank = record.rank.saturating_add(first);
            for group in record.groups.iter_mut().filter(|group| group.members != 0 && place > 0) {
                group.members = (group.members ^ mark).max(1);
                let runs = group.ranks.iter_mut().flatten();
                runs.for_each(|(start, _, _)| *start = start.saturating_add(first));
            }
            all.push(record);
        }
        first = first.saturating_add(size);
    }
    (all, spawned)
}

fn nodes<'a>(hosts: impl Iterator<Item = &'a str>) -> Nodes {
    let hosts: Vec<&str> = hosts.collect();
    Layout::Block.nodes(&hosts, Ranks(hosts.len() as u32))
}

fn activity(of_ranks: impl Iterator<Item = rank::RankActivity>) -> Activity {
    let mut sum = Activity::default();
    for one in of_ranks {
        sum.rank_calls += one.calls;
        sum.time.add(seconds(one.time));
    }
    sum
}

/// The numbers in these runs.
fn members(runs: &[(u32, u32, u32)]) -> impl Iterator<Item = u32> {
    runs.iter().flat_map(|(first, step, count)| (0..*count).map(move |place| first + step * place))
}

/// Groups by their properties for tuning, with an index for each group.
fn communicators(
    records: &BTreeMap<u32, &RankRecord>,
    hosts: &BTreeMap<u32, &str>,
) -> (Vec<Communicator>, BTreeMap<Identity, usize>) {
    let mut known: BTreeMap<Identity, Vec<(&RankRecord, &rank::ProcessGroup)>> = BTreeMap::new();
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
        communicator.groups.push(CommunicatorGroup {
            name: seen.iter().map(|(_, group)| group.name.clone()).find(|name| !name.is_empty()).unwrap_or_default(),
            communicators: seen.iter().map(|(_, group)| group.communicators).max().unwrap_or(0),
            ranks: runs,
        });
        // Records that are merged by size alone, missing or incomplete allow no conclusion about other ranks.
        let whole = hash != 0 && seen.len() == size as usize && seen.iter().all(|(record, _)| record.finalized);
        compare(communicator, &seen, whole);
        if !whole {
            unknown.insert(place);
        }
    }
    // A difference in one group holds for all, and an unknown in one group makes the property unknown.
    for (place, communicator) in found.iter_mut().enumerate() {
        let Communicator { agree, disagree, .. } = communicator;
        agree.retain(|operation| !disagree.contains(operation) && !unknown.contains(&place));
    }
    (found, places)
}

/// Records for each operation whether the ranks of a group passed equal arguments.
fn compare(communicator: &mut Communicator, seen: &[(&RankRecord, &rank::ProcessGroup)], whole: bool) {
    let operations: BTreeSet<Operation> =
        seen.iter().flat_map(|(_, group)| group.passed.iter().map(|(operation, _)| *operation)).collect();
    for operation in operations {
        let passed =
            |group: &rank::ProcessGroup| group.passed.iter().find(|(known, _)| *known == operation).map(|it| it.1);
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
    let mut all: BTreeMap<EntryKey, Calls> = BTreeMap::new();
    for record in records.values() {
        // The time of this rank in an entry, which may combine several groups.
        let mut times: BTreeMap<EntryKey, u64> = BTreeMap::new();
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
    // Only entries with a single size are compared.
    let key = |identity: &Identity, call: &CallOfAllRanks| {
        Some((*places.get(identity)?, call.operation, Mode::Blocking, false, call.bytes))
    };
    for (identity, call) in recorded_by_all(records, |record| &record.kept) {
        if let Some(entry) = key(&identity, &call).and_then(|key| all.get_mut(&key)) {
            let each = entry.each.get_or_insert_with(Each::default);
            each.calls += 1;
            each.slowest.0 += seconds(call.longest()).0;
            each.mean.0 += seconds(call.of_ranks.values().sum()).0 / f64::from(identity.1);
        }
    }
    let groups = records.values().flat_map(|record| &record.groups).filter(|group| group.members != 0);
    let members_of: BTreeMap<Identity, Vec<u32>> =
        groups.filter_map(|group| Some((identity(group), members(group.ranks.as_deref()?).collect()))).collect();
    for (identity, call) in recorded_by_all(records, |record| &record.waits) {
        let entry = key(&identity, &call).and_then(|key| all.get_mut(&key));
        let Some((entry, members)) = entry.zip(members_of.get(&identity)) else { continue };
        let waits: Option<Vec<u64>> = members.iter().map(|rank| call.of_ranks.get(rank).copied()).collect();
        // All leave the barrier together, so that the first one waits longest.
        let longest = call.longest();
        let late = |wait| seconds(longest - wait);
        entry.arrivals.extend(waits.map(|waits| waits.into_iter().map(late).collect()));
    }
    for entry in all.values_mut() {
        let every = entry.arrivals.len().div_ceil(MOST_ARRIVALS).max(1);
        entry.arrivals = entry.arrivals.iter().step_by(every).cloned().collect();
    }
    all.into_values().collect()
}

/// The most calls of an entry of which the arrivals are kept, evenly spread over the run of the program.
const MOST_ARRIVALS: usize = 32;

/// A call with the nanoseconds that its ranks recorded.
struct CallOfAllRanks {
    operation: Operation,
    bytes: u64,
    of_ranks: BTreeMap<u32, u64>,
}

impl CallOfAllRanks {
    fn longest(&self) -> u64 {
        self.of_ranks.values().copied().max().unwrap_or_default()
    }
}

/// The calls that all ranks of a group recorded with equal arguments.
fn recorded_by_all(
    records: &BTreeMap<u32, &RankRecord>,
    kept: fn(&RankRecord) -> &KeptCalls,
) -> impl Iterator<Item = (Identity, CallOfAllRanks)> {
    let mut all: BTreeMap<(Identity, u32), CallOfAllRanks> = BTreeMap::new();
    for (rank, record) in records {
        for call in &kept(record).calls {
            let Some(group) = record.groups.get(call.group).filter(|group| group.members != 0) else { continue };
            let (operation, bytes) = (call.operation, call.bytes);
            let none = || CallOfAllRanks { operation, bytes, of_ranks: BTreeMap::new() };
            let known = all.entry((identity(group), call.turn)).or_insert_with(none);
            // Threads called in another order, or ranks have parts of different sizes.
            if (known.operation, known.bytes) == (operation, bytes) {
                known.of_ranks.insert(*rank, call.time);
            }
        }
    }
    let all = all.into_iter().map(|((identity, _), together)| (identity, together));
    all.filter(|(identity, together)| together.of_ranks.len() == identity.1 as usize)
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
        // All ranks know the root of every call, so each detects changes itself.
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
