//! Possible gain of a program from a tuning, as plain data.

use collrules_record::profile::weight::own_and_late;
use collrules_record::profile::{Mode, Profile};
use collrules_record::{Bytes, Estimate, Nodes, Ranks, Seconds};
use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

/// Possible gain of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prospects {
    /// The run that was used; none if there was none, so that only bounds are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The entries of the profile on which rules can act, in its order.
    pub entries: Vec<Prospect>,
    /// Shares of the time by kind of call.
    pub shares: TimeShares,
}

/// Possible gain in the calls of an entry. Times are those of the mean rank, comparable to the wall time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prospect {
    /// The place of the entry in the profile.
    pub entry: usize,
    /// The collective.
    pub collective: Collective,
    /// The time in the calls, without known or estimated waiting for late ranks: no tuning can save more.
    pub time: Seconds,
    /// Expected saving with the rules of the run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Estimate>,
    /// Reason why it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<UnknownGain>,
}

/// Reason why the gain of rules is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum UnknownGain {
    /// The collective was not measured.
    NotMeasured(Collective),
    /// It was not measured on so many ranks.
    NotOnRanks(Collective, Ranks),
    /// It was measured on these nodes, and not on those.
    OtherNodes(Nodes, Nodes),
    /// The message is smaller or larger than all measured ones.
    OutsideSizes(Bytes),
    /// Too few visits for a test.
    TooSeldom,
}

/// Time of the mean rank between init and finalize, by kind of call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// All of it.
    pub wall: Seconds,
    /// Blocking collectives on which rules can act.
    pub tunable: Seconds,
    /// Of these, waiting for late ranks, if it was measured.
    pub late: Seconds,
    /// Blocking collectives that coll/tuned has no algorithms for.
    pub untunable: Seconds,
    /// Blocking collectives on one rank, or between two groups.
    pub elsewhere: Seconds,
    /// Starting non-blocking and making persistent collectives.
    pub not_blocking: Seconds,
    /// Messages from rank to rank.
    pub messages: Seconds,
    /// Waiting for requests.
    pub waiting: Seconds,
}

impl TimeShares {
    /// Sums up the times of a profile by kind of call.
    pub fn from_profile(profile: &Profile) -> Self {
        let mut shares = Self {
            wall: profile.wall.mean(),
            messages: profile.wall_of(profile.messages.time.total),
            waiting: profile.wall_of(profile.waiting.time.total),
            ..Self::default()
        };
        for calls in &profile.calls {
            let (own, late) = own_and_late(profile, calls);
            let time = own.0 + late.0;
            let part = match (profile.cell(calls), calls.mode) {
                (Some(_), _) => {
                    shares.late.0 += late.0;
                    &mut shares.tunable
                }
                (None, Mode::Blocking) if Collective::from_operation(calls.operation).is_none() => {
                    &mut shares.untunable
                }
                (None, Mode::Blocking) => &mut shares.elsewhere,
                (None, _) => &mut shares.not_blocking,
            };
            part.0 += time;
        }
        shares
    }

    /// Returns the rest of the time: the program's own work, and parts of MPI that are not profiled.
    pub fn rest(&self) -> Seconds {
        let known = [self.tunable, self.untunable, self.elsewhere, self.not_blocking, self.messages, self.waiting];
        Seconds((self.wall.0 - known.iter().map(|part| part.0).sum::<f64>()).max(0.0))
    }
}

/// The sum of estimates, with the ends of the interval if each has one.
pub(crate) fn sum(estimates: impl Iterator<Item = Estimate>) -> Option<Estimate> {
    estimates.reduce(|sum, one| Estimate {
        point: sum.point + one.point,
        low: sum.low.zip(one.low).map(|(a, b)| a + b),
        high: sum.high.zip(one.high).map(|(a, b)| a + b),
        level: sum.level,
        samples: sum.samples + one.samples,
    })
}

impl Prospects {
    /// Sums up the expected savings of all calls, with the ends of the interval if each has one; none if no saving is
    /// known.
    pub fn saved<'a>(entries: impl Iterator<Item = &'a Prospect>) -> Option<Estimate> {
        sum(entries.filter_map(|prospect| prospect.saved))
    }

    /// The most that any tuning could save.
    pub fn bound(&self) -> Seconds {
        Seconds(self.entries.iter().map(|prospect| prospect.time.0).sum())
    }

    /// The time in calls that the run did not measure.
    pub fn unknown(&self) -> Seconds {
        let unknown = self.entries.iter().filter(|prospect| prospect.saved.is_none());
        Seconds(unknown.map(|prospect| prospect.time.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::profile::{Activity, Calls, Communicator, FORMAT, Sampled, Spread};
    use collrules_rules::Operation;

    use super::*;

    /// Two ranks, ten seconds each; of ten calls of two seconds in all, half had a barrier before them.
    #[test]
    fn waiting_counts_once() {
        let spread = |each: f64| {
            let mut spread = Spread::default();
            (0..2).for_each(|_| spread.add(Seconds(each)));
            spread
        };
        let profile = Profile {
            format: FORMAT,
            command: Vec::new(),
            program: String::new(),
            library: String::new(),
            started: String::new(),
            ranks: Ranks(2),
            nodes: Nodes(vec![2]),
            wall: spread(10.0),
            missing: Vec::new(),
            spawned: Vec::new(),
            started_processes: 0,
            unfinished: Vec::new(),
            exit_code: None,
            imbalance: Some(2),
            communicators: vec![Communicator {
                ranks: Ranks(2),
                nodes: Nodes(vec![2]),
                between_groups: false,
                groups: Vec::new(),
                agree: Vec::new(),
                disagree: Vec::new(),
            }],
            calls: vec![Calls {
                sum: 160,
                rank_calls: 20,
                same_root: Some(true),
                time: spread(2.0),
                longest: Seconds(1.0),
                sampled: Some(Sampled { rank_calls: 10, waiting: Seconds(3.0), own: Seconds(1.0) }),
                ..Calls::none(0, Operation::Bcast, Mode::Blocking, Bytes(8))
            }],
            messages: Activity::default(),
            waiting: Activity::default(),
        };
        // Sampled: 1 s of both ranks in the calls and 3 s before them. The others took 3 s, three quarters of it waiting.
        let (own, late) = own_and_late(&profile, &profile.calls[0]);
        assert_eq!((own, late), (Seconds((1.0 + 0.75) / 2.0), Seconds((3.0 + 2.25) / 2.0)));
        let shares = TimeShares::from_profile(&profile);
        assert_eq!((shares.tunable, shares.late), (Seconds(3.5), Seconds(2.625)));
        assert_eq!(shares.rest(), Seconds(6.5));
    }
}
