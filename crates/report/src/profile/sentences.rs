//! What a profile comes to, in sentences.

use std::collections::BTreeMap;

use collrules_record::Seconds;
use collrules_record::profile::Profile;
use collrules_record::profile::prospect::{Prospect, Prospects};
use collrules_rules::Collective;
use collrules_rules::words::{counted, listed};

use super::rows::{saved, share};
use crate::plain;

/// A share of the wall time below which nothing is worth a rule.
const WORTH: f64 = 0.01;

/// What was profiled.
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
        format!(" The profile is not complete: {} did not leave all that they did.", counted(incomplete, "rank"))
    };
    format!(
        "{} on {} ({}), {}, {}.{ended}{whole}",
        plain::line(&profile.program),
        counted(profile.ranks.0 as usize, "rank"),
        profile.nodes,
        plain::line(library),
        profile.started
    )
}

/// What could be gained, and by what; or that there is nothing, and why.
pub(super) fn answer(profile: &Profile, prospects: &Prospects) -> Vec<String> {
    let (bound, wall) = (prospects.bound(), prospects.shares.wall);
    if bound.0 <= WORTH * wall.0 {
        return vec![nothing(profile, prospects)];
    }
    let mut said = Vec::new();
    match (&prospects.run, Prospects::saved(prospects.entries.iter())) {
        (Some(run), Some(all)) => {
            said.push(format!(
                "With the rules of {} this program is expected to take {} less, of {wall}.",
                plain::line(run),
                saved(all)
            ));
            said.extend(by_collective(prospects));
            let unknown = prospects.unknown();
            if unknown.0 > 0.0 {
                said.push(format!(
                    "{unknown} are spent in calls of which the run says nothing. `collrules tune --profile FILE` measures \
                     what this program calls."
                ));
            }
            if all.point <= WORTH * wall.0 {
                said.push(format!("That is {} of its time: the builtin serves these calls well.", share(Seconds(all.point), wall)));
            }
        }
        (Some(run), None) => said.push(format!(
            "{} says nothing of what this program calls; the table says why. `collrules tune --profile FILE` measures it, and \
             a longer --budget helps where it was timed too seldom.",
            plain::line(run)
        )),
        (None, _) => said.push(format!(
            "Rules can save at most {bound}, which is {} of the time; how much they do, `collrules tune --profile FILE` \
             measures.",
            share(bound, wall)
        )),
    }
    if profile.imbalance.is_none() {
        said.push(
            "Time in a collective includes waiting for ranks that come late, which no rule shortens. `collrules profile \
             --imbalance` tells the two apart."
                .to_owned(),
        );
    }
    said
}

/// What each collective is expected to save.
fn by_collective(prospects: &Prospects) -> Vec<String> {
    let mut groups: BTreeMap<Collective, Vec<&Prospect>> = BTreeMap::new();
    for prospect in &prospects.entries {
        groups.entry(prospect.collective).or_default().push(prospect);
    }
    let told = |(collective, entries): (Collective, Vec<&Prospect>)| {
        let time = Seconds(entries.iter().map(|prospect| prospect.time.0).sum());
        let saves = Prospects::saved(entries.into_iter()).map_or("not known".to_owned(), saved);
        format!("  {collective}: {saves}, of {time}")
    };
    groups.into_iter().map(told).collect()
}

/// That nothing can be gained, and where the time is instead.
fn nothing(profile: &Profile, prospects: &Prospects) -> String {
    let shares = &prospects.shares;
    let late = Seconds(shares.late.0);
    let mut places = [
        (shares.rest(), "the program itself"),
        (shares.messages, "messages from rank to rank"),
        (shares.waiting, "waiting for requests"),
        (shares.not_blocking, "non-blocking and persistent collectives"),
        (shares.untunable, "collectives that coll/tuned has no algorithms for"),
        (shares.elsewhere, "collectives on one rank or between groups"),
        (late, "waiting for late ranks"),
    ];
    places.sort_by(|a, b| b.0.0.total_cmp(&a.0.0));
    let named = places.iter().filter(|(time, _)| time.0 > WORTH * shares.wall.0);
    let places: Vec<String> = named.map(|(time, what)| format!("{what} ({})", share(*time, shares.wall))).collect();
    let calls = if profile.calls.is_empty() {
        "the program called no collective".to_owned()
    } else {
        format!("blocking collectives that rules act on take {} of the time", share(prospects.bound(), shares.wall))
    };
    let places = if places.is_empty() { String::new() } else { format!(" The time is in {}.", listed(&places)) };
    format!("Nothing here can be helped by rules: {calls}.{places}")
}
