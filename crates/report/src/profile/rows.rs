//! The numbers of a profile in rows.

use collrules_record::Seconds;
use collrules_record::profile::{Calls, Communicator, Mode, Profile};
use collrules_rules::words::{counted, some};
use collrules_tuner::results::prospect::{Prospect, Prospects, UnknownGain};

use crate::document::{Block, Table};
use crate::words::{tenths, time};

/// Maximum number of rows of calls on a terminal.
const MOST: usize = 25;

/// The heads of the columns.
const HEADER: [&str; 7] = ["calls of", "ranks:", "bytes:", "calls:", "mean rank:", "slowest:", "rules save"];

/// A share of the wall time.
pub(super) fn share(part: Seconds, wall: Seconds) -> String {
    tenths(if wall.0 > 0.0 { part.0 / wall.0 } else { 0.0 })
}

/// Returns the shares of the time: activity, time, share.
pub(super) fn shares(prospects: &Prospects) -> Vec<Vec<String>> {
    let shares = &prospects.shares;
    let mut rows = vec![("between MPI_Init and MPI_Finalize", shares.wall)];
    let parts = [
        ("blocking collectives that rules act on", shares.tunable),
        ("  of these, waiting for late ranks", shares.late),
        ("other blocking collectives", shares.untunable),
        ("collectives on one rank or between groups", shares.elsewhere),
        ("starting non-blocking and persistent collectives", shares.not_blocking),
        ("messages from rank to rank", shares.messages),
        ("waiting for requests", shares.waiting),
    ];
    rows.extend(parts.into_iter().filter(|(_, time)| time.0 > 0.0));
    rows.push(("everything else", shares.rest()));
    let row = |(what, time): (&str, Seconds)| vec![what.to_owned(), time.to_string(), share(time, shares.wall)];
    rows.into_iter().map(row).collect()
}

/// Describes the effect of rules on calls.
fn prospect(calls: &Calls, prospect: Option<&Prospect>) -> String {
    match prospect {
        None if calls.mode != Mode::Blocking => "no rule acts on it".to_owned(),
        None => "no rule for it".to_owned(),
        Some(Prospect { saved: Some(estimate), .. }) => time(*estimate),
        Some(Prospect { unknown: Some(why), .. }) => format!("unknown: {}", describe_unknown(why)),
        Some(Prospect { time, .. }) => format!("at most {time}"),
    }
}

fn describe_unknown(why: &UnknownGain) -> String {
    match why {
        UnknownGain::NotMeasured(collective) => format!("{collective} was not measured"),
        UnknownGain::NotOnRanks(collective, ranks) => format!("{collective} was not measured on {ranks} ranks"),
        UnknownGain::OtherNodes(there, nodes) => format!("measured on {there}, and not on {nodes}"),
        UnknownGain::OutsideSizes(bytes) => format!("{bytes} lies outside of the measured sizes"),
        UnknownGain::TooSeldom => "timed too seldom to tell whether a rule would help".to_owned(),
    }
}

/// One row per entry, the longest first, with a sentence about those that a terminal leaves out.
pub(super) fn calls(profile: &Profile, prospects: &Prospects) -> Block {
    let mut order: Vec<usize> = (0..profile.calls.len()).collect();
    order.sort_by(|a, b| profile.calls[*b].time.total.0.total_cmp(&profile.calls[*a].time.total.0));
    let rest = &order[order.len().min(MOST)..];
    let time = Seconds(rest.iter().map(|place| profile.calls[*place].time.total.0).sum());
    let others = format!(
        "and {} more with {} of the mean rank's time; --json has them all",
        counted(rest.len(), "entry"),
        profile.wall_of(time)
    );
    let rows = order.iter().map(|place| row(profile, prospects, *place));
    Block::Table(Table::new(HEADER, rows).at_most(MOST, others))
}

/// The row of an entry.
fn row(profile: &Profile, prospects: &Prospects, place: usize) -> Vec<String> {
    let calls = &profile.calls[place];
    let communicator = profile.communicator(calls);
    let of_entry = prospects.entries.iter().find(|prospect| prospect.entry == place);
    let mode = if calls.mode == Mode::Blocking { String::new() } else { format!(" ({})", calls.mode) };
    // A mean if the size of the communicator differs from rank to rank.
    let count = calls.calls(communicator);
    vec![
        format!("{}{mode}", calls.operation),
        communicator.ranks.to_string(),
        calls.up_to.map_or_else(|| calls.bytes.to_string(), |most| format!("{}..{most}", calls.bytes)),
        if count.fract() == 0.0 { count.to_string() } else { format!("{count:.1}") },
        profile.wall_of(calls.time.total).to_string(),
        calls.slowest().to_string(),
        prospect(calls, of_entry),
    ]
}

/// A row for each kind of communicator.
pub(super) fn communicators(profile: &Profile) -> Block {
    let row = |communicator: &Communicator| {
        let all: u64 = communicator.groups.iter().map(|group| group.communicators).sum();
        let names = communicator.groups.iter().map(|group| {
            let ranks = group.ranks.as_deref().map_or("ranks unknown".to_owned(), members);
            if group.name.is_empty() { ranks } else { format!("{} ({ranks})", group.name) }
        });
        let between = if communicator.between_groups { ", between two groups" } else { "" };
        let nodes = if communicator.nodes.0.is_empty() { "unknown".to_owned() } else { communicator.nodes.to_string() };
        let ranks = if communicator.ranks.0 == 0 { "several".to_owned() } else { communicator.ranks.to_string() };
        [ranks, nodes + between, all.to_string(), some(&names.collect::<Vec<_>>(), NAMED)]
    };
    Block::table(["ranks:", "nodes", "number:", "members"], profile.communicators.iter().map(row))
}

/// Groups and runs of ranks that are named at most.
const NAMED: usize = 4;

/// Members as runs of ranks.
fn members(runs: &[(u32, u32, u32)]) -> String {
    let run = |(first, step, count): &(u32, u32, u32)| match (step, count) {
        (_, 1) => first.to_string(),
        (1, _) => format!("{first}-{}", first + count - 1),
        _ => format!("{first}-{} in steps of {step}", first + step * (count - 1)),
    };
    let what = if runs.len() == 1 && runs[0].2 == 1 { "rank" } else { "ranks" };
    format!("{what} {}", some(&runs.iter().map(run).collect::<Vec<_>>(), NAMED))
}
