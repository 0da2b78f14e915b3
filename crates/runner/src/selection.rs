//! Rules that Open MPI selects, according to its log: from 6.0 on, with `coll_tuned_verbose 25`, in every build.
//!
//! Communicators and calls have separate lines, and rules are counted from 1 in the order of the file
//! (`coll_tuned_dynamic_rules.c` and `coll_tuned_decision_dynamic.c` of v6.0.x; run on 6.0.0a1):
//!
//! ```text
//! coll:tuned:dynamic: For bcast with communicator size 4 selected rule number 2
//! coll:tuned:dynamic For bcast with msg_size=4000: selected rule number 2:
//! coll:tuned:dynamic: For bcast with communicator size 8 no matching rule found.  Using fixed defaults.
//! coll:tuned:dynamic For bcast with msg_size=20000: no matching rule, using fixed defaults.
//! ```

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;
use collrules_rules::file::{Loaded, Reason};
use collrules_rules::{Collective, Distribution};

/// The parameter that makes coll/tuned log its selections, and the value.
pub(crate) const LOG: (&str, &str) = ("coll_tuned_verbose", "25");

/// Selections in the log of a job: the numbers of rules, none if none matches. They include calls on other communicators, so
/// there may be several numbers for one size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    communicators: BTreeMap<(Collective, u64), BTreeSet<Option<usize>>>,
    calls: BTreeMap<(Collective, u64), BTreeSet<Option<usize>>>,
}

impl Log {
    /// Reads a line about a selection; ignores other lines.
    pub(crate) fn read_line(&mut self, line: &str) {
        self.take(line);
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (_, rest) = line.split_once("coll:tuned:dynamic")?;
        let (collective, rest) =
            rest.trim_start_matches(':').trim_start().strip_prefix("For ")?.split_once(" with ")?;
        let collective = collective.parse().ok()?;
        let (seen, rest) = match rest.strip_prefix("communicator size ") {
            Some(rest) => (&mut self.communicators, rest),
            None => (&mut self.calls, rest.strip_prefix("msg_size=")?),
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let size = rest[..digits].parse().ok()?;
        let number = match rest.split_once("selected rule number ") {
            Some((_, number)) => Some(number.trim_end_matches([':', ' ', '\r']).parse().ok()?),
            None => rest.contains("no matching rule").then_some(None)?,
        };
        seen.entry((collective, size)).or_default().insert(number);
        Some(())
    }

    /// Returns true if nothing at all was logged: the library does not log selections, or did not read the file.
    pub fn is_empty(&self) -> bool {
        self.communicators.is_empty()
    }

    /// Describes how the log contradicts the meaning of a file for a call on a communicator with this distribution;
    /// none if it agrees.
    pub fn contradicts(&self, file: &Loaded, call: &Cell, distribution: Distribution) -> Option<String> {
        let bytes = call.lookup_bytes(file.behaviour.release);
        let meant = file.lookup_by_size(call.collective, call.ranks, bytes, distribution);
        let (communicator, rule) = match (meant.rule, meant.reason) {
            (Some(rule), _) => (Some(rule.comm_rule + 1), Some(rule.rule + 1)),
            (None, Reason::EmptyCommRule { comm_rule, .. } | Reason::NoSize { comm_rule, .. }) => {
                (Some(comm_rule + 1), None)
            }
            (None, _) => (None, None),
        };
        let of_communicator = self.communicators.get(&(call.collective, call.ranks.0.into()));
        if !of_communicator.is_some_and(|seen| seen.contains(&communicator)) {
            return Some(differing("communicator rule", communicator, of_communicator));
        }
        // Without a communicator rule no call is looked up.
        communicator?;
        let of_call = self.calls.get(&(call.collective, bytes));
        let agrees = of_call.is_some_and(|seen| seen.contains(&rule));
        (!agrees).then(|| {
            differing(
                &format!("rule for {bytes} bytes of communicator rule {}", communicator.unwrap_or(0)),
                rule,
                of_call,
            )
        })
    }
}

fn differing(what: &str, meant: Option<usize>, seen: Option<&BTreeSet<Option<usize>>>) -> String {
    let name = |number: &Option<usize>| number.map_or("none".to_owned(), |number| number.to_string());
    let seen: Vec<String> = seen.into_iter().flatten().map(name).collect();
    let seen = if seen.is_empty() { "no selection".to_owned() } else { seen.join(" and ") };
    format!("{what}: {} is meant, and Open MPI logs {seen}", name(&meant))
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};
    use collrules_rules::{Behaviour, load};

    use super::*;

    const FILE: &str = r#"{"collectives": {"bcast": [
        {"comm_size_min": 4, "comm_size_max": 4, "comm_rank_distribution": "one-per-node", "rules": [{"alg": 1}]},
        {"comm_size_min": 4, "comm_size_max": 4, "rules": [
            {"msg_size_min": 0, "msg_size_max": 1023, "alg": 6}, {"msg_size_min": 1024, "msg_size_max": 4095, "alg": 3}]}
    ]}}"#;

    fn contradiction(log: &[&str], bytes: u64, ranks: u32, distribution: Distribution) -> Option<String> {
        let version: Behaviour = "6.0".parse().expect("known");
        let file = load(FILE.as_bytes(), &version).expect("accepted");
        let mut heard = Log::default();
        log.iter().for_each(|line| heard.read_line(line));
        let call = Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        heard.contradicts(&file, &call, distribution)
    }

    #[test]
    fn what_is_logged_is_held_against_what_the_file_means() {
        let log = [
            "[vm:1] coll:tuned:dynamic: For bcast with communicator size 4 selected rule number 2",
            "[vm:1] coll:tuned:dynamic For bcast with msg_size=100: selected rule number 1:",
            "[vm:1] coll:tuned:dynamic For bcast with msg_size=2000: selected rule number 2:",
            "[vm:1] coll:tuned:dynamic For bcast with msg_size=5000: no matching rule, using fixed defaults.",
            "[vm:1] coll:tuned:dynamic: For bcast with communicator size 8 no matching rule found.  Using fixed \
             defaults.",
        ];
        let any = Distribution::Any;
        for (bytes, ranks) in [(100, 4), (2000, 4), (5000, 4), (100, 8)] {
            assert_eq!(contradiction(&log, bytes, ranks, any), None, "{bytes} on {ranks}");
        }
        let wrong = contradiction(&log[..2], 2000, 4, any).expect("a selection is missing");
        assert_eq!(wrong, "rule for 2000 bytes of communicator rule 2: 2 is meant, and Open MPI logs no selection");
        let wrong = contradiction(&log, 100, 4, Distribution::OnePerNode).expect("another rule is meant");
        assert_eq!(wrong, "communicator rule: 1 is meant, and Open MPI logs 2");
        assert!(contradiction(&[], 100, 8, any).is_some(), "a file that was not read logs nothing");
    }

    #[test]
    fn other_lines_say_nothing() {
        let mut log = Log::default();
        for line in [
            "",
            "coll:tuned:dynamic",
            "coll:tuned:dynamic For x with msg_size=1: selected rule number 1:",
            "coll:tuned:dynamic For bcast with msg_size=: selected rule number 1:",
            "For bcast with msg_size=1: selected",
            "coll:tuned:dynamic For bcast with msg_size=99999999999999999999: selected rule number 1:",
        ] {
            log.read_line(line);
        }
        assert!(log == Log::default() && log.is_empty());
    }
}
