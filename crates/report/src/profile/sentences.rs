//! Result of a profile, in sentences.

use collrules_record::Seconds;
use collrules_record::profile::Profile;
use collrules_rules::words::{counted, plural};
use collrules_tuner::results::prospect::Prospects;

use super::rows::share;
use crate::words::{percent, time};

/// Share of the wall time below which no rule is worthwhile.
const WORTH: f64 = 0.01;

/// Describes the program and the job that were profiled.
pub(super) fn origin(profile: &Profile) -> String {
    let library = profile.library.split(',').next().unwrap_or_default();
    let ended = match profile.exit_code {
        None | Some(0) => String::new(),
        Some(code) => format!(" It ended with exit code {code}."),
    };
    let whole = if profile.is_complete() {
        String::new()
    } else {
        let incomplete = profile.missing.len() + profile.unfinished.len();
        format!(" The profile is incomplete: records of {} are missing or cut short.", counted(incomplete, "rank"))
    };
    format!(
        "{} on {} ({}), {}, {}.{ended}{whole}",
        profile.program,
        counted(profile.ranks.0 as usize, "rank"),
        profile.nodes,
        library,
        profile.started
    )
}

/// The verdict in a few words.
pub(super) fn headline(prospects: &Prospects) -> String {
    let (bound, wall) = (prospects.bound(), prospects.shares.wall);
    match (&prospects.run, Prospects::saved(prospects.entries.iter())) {
        _ if bound.0 <= WORTH * wall.0 => "Rules cannot help here".to_owned(),
        (Some(_), Some(all)) => format!("Expected saving: {}", time(all)),
        (Some(_), None) => "Saving unknown: the run has not timed these calls".to_owned(),
        (None, _) => format!("Rules can save at most {} of the time", share(bound, wall)),
    }
}

/// Describes the possible gains and how to get them, or why there are none.
pub(super) fn answer(profile: &Profile, prospects: &Prospects) -> Vec<String> {
    let (bound, wall) = (prospects.bound(), prospects.shares.wall);
    if bound.0 <= WORTH * wall.0 {
        return vec![nothing(profile, prospects)];
    }
    let mut said = Vec::new();
    match (&prospects.run, Prospects::saved(prospects.entries.iter())) {
        (Some(run), Some(all)) => {
            said.push(format!("Expected saving with the rules of {}: {}, of {wall}.", run, time(all)));
            let unknown = prospects.unknown();
            if unknown.0 > 0.0 {
                said.push(format!(
                    "{unknown} are spent in calls that the run did not measure. `collrules tune --profile FILE` \
                     measures what this program calls."
                ));
            }
            if all.point <= WORTH * wall.0 {
                said.push(format!(
                    "That is {} of its time: the default is good for these calls.",
                    share(Seconds(all.point), wall)
                ));
            }
        }
        (Some(run), None) => said.push(format!(
            "{} has no usable timings of the calls of this program; the table gives the reasons. `collrules tune \
             --profile FILE` measures them. If calls were timed too seldom, raise --budget.",
            run
        )),
        (None, _) => said.push(format!(
            "Rules can save at most {bound}, which is {} of the time. `collrules tune --profile FILE` measures how \
             much.",
            share(bound, wall)
        )),
    }
    if profile.imbalance.is_none() {
        said.push(
            "Time in a collective includes waiting for late ranks, which no rule shortens. `collrules profile \
             --imbalance` separates the two."
                .to_owned(),
        );
    }
    said.extend(describe_lateness(profile));
    said
}

/// How late ranks came to calls of the largest communicators, as far as it was seen.
fn describe_lateness(profile: &Profile) -> Option<String> {
    let arrivals = |ranks| {
        let here = profile.calls.iter().filter(move |calls| profile.communicator(calls).ranks == ranks);
        here.flat_map(|calls| &calls.arrivals).filter(|call| !call.is_empty())
    };
    let seen = profile.calls.iter().filter(|calls| !calls.arrivals.is_empty());
    let ranks = seen.map(|calls| profile.communicator(calls).ranks).max()?;
    let (mut times_last, mut sum) = (vec![0u32; ranks.0 as usize], 0.0);
    for call in arrivals(ranks) {
        let (last, late) = call.iter().enumerate().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        times_last[last] += 1;
        sum += late.0;
    }
    let calls = arrivals(ranks).count();
    let (rank, times) = times_last.into_iter().enumerate().max_by_key(|(_, times)| *times)?;
    Some(format!(
        "On {ranks} ranks the last one arrives {} after the first one (mean of {}); rank {rank} is the last in {}.",
        Seconds(sum / calls as f64),
        counted(calls, "call"),
        percent(f64::from(times) / calls as f64),
    ))
}

/// States that nothing can be gained; the table of shares says where the time is.
fn nothing(profile: &Profile, prospects: &Prospects) -> String {
    if profile.calls.is_empty() {
        return "Rules cannot help here: the program called no collective.".to_owned();
    }
    let share = share(prospects.bound(), prospects.shares.wall);
    format!("Rules cannot help here: blocking collectives that rules act on take {share} of the time.")
}

/// Lists remarks for the reader of a profile.
pub fn remarks(profile: &Profile) -> Vec<String> {
    let mut remarks = Vec::new();
    let named = |ranks: &[u32]| {
        let first: Vec<String> = ranks.iter().take(5).map(u32::to_string).collect();
        let more = if ranks.len() > first.len() { ", ..." } else { "" };
        let (all, word) = (counted(ranks.len(), "rank"), plural(ranks.len(), "rank"));
        format!("{all} of {} ({word} {}{more})", profile.ranks, first.join(", "))
    };
    if !profile.missing.is_empty() {
        remarks.push(format!(
            "{} left no record: make sure that the library and the directory of the profile are at the same place on \
             every node",
            named(&profile.missing)
        ));
    }
    if !profile.unfinished.is_empty() {
        remarks.push(format!(
            "{} did not reach MPI_Finalize: calls of the last seconds may be missing",
            named(&profile.unfinished)
        ));
    }
    let seen: u64 = profile.spawned.iter().map(|world| u64::from(world.seen)).sum();
    let all: u64 = profile.spawned.iter().map(|world| u64::from(world.ranks.0)).sum();
    let started = profile.started_processes.max(all);
    if started > 0 {
        let remedy =
            if seen < started { "; the others must reach library and directory of the profile too" } else { "" };
        remarks.push(format!(
            "the program started {} by MPI_Comm_spawn: {seen} of them left a record, in {}{remedy}",
            counted(started as usize, "further rank"),
            counted(profile.spawned.len(), "world"),
        ));
    }
    if profile.calls.is_empty() && profile.unfinished.is_empty() && profile.missing.is_empty() {
        remarks.push("the program called no collective".to_owned());
    } else if profile.calls.is_empty() {
        let how = profile.exit_code.filter(|code| *code != 0).map(|code| format!(" with exit code {code}"));
        remarks.push(format!(
            "no call of a collective was recorded: the job ended{}, and the last seconds of ranks that end by _exit, a \
             signal or a crash are lost",
            how.unwrap_or_default()
        ));
    }
    remarks
}
