//! Calls of a program and its possible gains, for people.
//!
//! | module | job |
//! |---|---|
//! | `rows` | the numbers |
//! | `sentences` | the result |
//! | `map` | times and numbers of calls in colour |

mod map;
mod rows;
mod sentences;

use collrules_record::{Estimate, Profile, Seconds};
use collrules_tuner::results::prospect::Prospects;

use crate::document::{Block, Document};
use crate::words::time;

pub use sentences::remarks;

/// Shares of the time, the calls with their possible gains, and the answer.
pub fn document(profile: &Profile, prospects: &Prospects) -> Document {
    let shares = Block::table(["", "time:", "share:"], rows::shares(prospects));
    Document {
        subject: "calls of a program".to_owned(),
        headline: sentences::headline(prospects),
        answer: sentences::answer(profile, prospects),
        origin: vec![sentences::origin(profile), format!("Command: {}", profile.command.join(" "))],
        blocks: vec![
            Block::open("shares", "Time of the mean rank", vec![shares]),
            Block::open("times", "Time by collective and message size", vec![map::times(profile)]),
            Block::section("counts", "Calls by collective and message size", vec![map::counts(profile)]),
            Block::open("calls", "Calls", vec![rows::calls(profile, prospects)]),
            Block::open("communicators", "Communicators", vec![rows::communicators(profile)]),
        ],
        ..Document::default()
    }
}

/// Describes the time that programs are expected to save in the measured calls.
pub fn expected(saved: Estimate, of: Seconds) -> String {
    format!("the programs are expected to save {} of the {of} that they spend in the measured calls", time(saved))
}

/// The profile for programs.
pub fn json(profile: &Profile, prospects: &Prospects) -> serde_json::Result<String> {
    let all = serde_json::json!({ "profile": profile, "prospects": prospects });
    serde_json::to_string_pretty(&all).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use collrules_record::profile::{Activity, Calls, Communicator, CommunicatorGroup, FORMAT, Mode, Spread};
    use collrules_record::{Bytes, Nodes, Ranks, Seconds};
    use collrules_rules::{Collective, Operation};
    use collrules_tuner::results::prospect::{Prospect, TimeShares};

    use super::*;

    fn spread(ranks: u32, each: f64) -> Spread {
        let mut spread = Spread::default();
        (0..ranks).for_each(|_| spread.add(Seconds(each)));
        spread
    }

    pub(crate) fn profile(operations: &[(Operation, Mode, f64)]) -> Profile {
        let calls = operations.iter().map(|(operation, mode, each)| Calls {
            sum: 4 * 10 * 1024,
            rank_calls: 40,
            same_root: Some(true),
            time: spread(4, *each),
            longest: Seconds(*each),
            ..Calls::none(0, *operation, *mode, Bytes(1024))
        });
        Profile {
            format: FORMAT,
            command: vec!["mpirun".to_owned(), "app <1>".to_owned()],
            program: "./app".to_owned(),
            library: "Open MPI v4.1.4, package: some".to_owned(),
            started: "2026-11-22T03:00:00Z".to_owned(),
            ranks: Ranks(4),
            nodes: Nodes(vec![2, 2]),
            wall: spread(4, 10.0),
            missing: Vec::new(),
            spawned: Vec::new(),
            started_processes: 0,
            unfinished: Vec::new(),
            exit_code: Some(0),
            imbalance: None,
            communicators: vec![Communicator {
                ranks: Ranks(4),
                nodes: Nodes(vec![2, 2]),
                between_groups: false,
                groups: vec![CommunicatorGroup {
                    name: "MPI_COMM_WORLD".to_owned(),
                    communicators: 1,
                    ranks: Some(vec![(0, 1, 4)]),
                }],
                agree: Vec::new(),
                disagree: Vec::new(),
            }],
            calls: calls.collect(),
            messages: Activity { rank_calls: 8, time: spread(4, 6.0) },
            waiting: Activity::default(),
        }
    }

    fn bounds(profile: &Profile) -> Prospects {
        let entries = profile.calls.iter().enumerate().filter_map(|(entry, calls)| {
            let cell = profile.cell(calls)?;
            let time = profile.wall_of(calls.time.total);
            Some(Prospect { entry, collective: cell.collective, time, saved: None, unknown: None })
        });
        Prospects { run: None, entries: entries.collect(), shares: TimeShares::from_profile(profile) }
    }

    #[test]
    fn the_rank_that_comes_last_is_named() {
        let mut profile = profile(&[(Operation::Bcast, Mode::Blocking, 3.0)]);
        assert!(!document(&profile, &bounds(&profile)).text(200).contains("arrives"), "nothing was seen");
        let calls = [[0.0, 1e-3, 0.0, 3e-3], [0.0, 2e-3, 0.0, 3e-3], [1e-3, 6e-3, 0.0, 0.0]];
        profile.calls[0].arrivals = calls.map(|call| call.map(Seconds).to_vec()).to_vec();
        let text = document(&profile, &bounds(&profile)).text(200);
        let said =
            "On 4 ranks the last one arrives 4 ms after the first one (mean of 3 calls); rank 3 is the last in 66.7 %.";
        assert!(text.contains(said), "{text}");
    }

    #[test]
    fn a_program_without_collectives_gets_an_honest_answer() {
        let profile = profile(&[]);
        let text = document(&profile, &bounds(&profile)).text(80);
        assert!(text.contains("Rules cannot help here"), "{text}");
        assert!(text.contains("messages from rank to rank"), "{text}");
    }

    #[test]
    fn calls_that_no_rule_reaches_are_named() {
        let profile = profile(&[
            (Operation::Bcast, Mode::NonBlocking, 3.0),
            (Operation::Gatherv, Mode::Blocking, 0.5),
            (Operation::Bcast, Mode::Blocking, 2.0),
        ]);
        let prospects = bounds(&profile);
        assert_eq!((prospects.bound(), prospects.entries.len()), (Seconds(2.0), 1));
        assert_eq!(prospects.entries[0].collective, Collective::Bcast);
        let text = document(&profile, &prospects).text(80);
        for said in ["non-blocking", "gatherv", "no rule", "at most 2 s", "20.0 %"] {
            assert!(text.contains(said), "`{said}` is not in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn pages_show_names_and_run_nothing() {
        let profile = profile(&[(Operation::Bcast, Mode::Blocking, 2.0)]);
        let page = document(&profile, &bounds(&profile)).page("collrules 0");
        assert!(page.contains("app &#60;1&#62;") || page.contains("app &lt;1&gt;"), "{page}");
        assert!(page.contains("class=\"map\""));
    }
}
