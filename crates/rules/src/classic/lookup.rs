//! Which rule serves a call, per release.
//!
//! Up to 5.0 both lookups walk the list while sizes are not larger than the one looked up, and keep the last. 6.0
//! makes ranges of the list when it reads the file and takes the first that matches; for communicator sizes it takes
//! each size for the end of its own range instead of the beginning.

use std::collections::BTreeSet;

use super::{ClassicCommRule, ClassicFile, ClassicRule};
use crate::choice::Choice;
use crate::collective::Collective;
use crate::release::Release;
use crate::steps::Steps;
use crate::table::{RankSteps, RuleTable, SizeSteps};

/// The rule that serves a call, by its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Index of the communicator rule within the collective.
    pub comm_rule: usize,
    /// Index of the message rule within the communicator rule.
    pub rule: usize,
    /// What it chooses.
    pub choice: Choice,
}

impl ClassicFile {
    /// The rule that serves a call in a release; none where the builtin decides for want of a rule.
    pub fn lookup(&self, release: Release, collective: Collective, ranks: u32, lookup_bytes: u64) -> Option<Served> {
        let comm_rules = self.comm_rules(collective);
        let comm_rule = comm_rule_for(release, comm_rules, ranks)?;
        let rules = &comm_rules[comm_rule].rules;
        let rule = rule_for(release, rules, lookup_bytes)?;
        Some(Served { comm_rule, rule, choice: rules[rule].choice })
    }

    /// What the file means to a release. Sizes that no call can have are filled from below.
    pub fn to_table(&self, release: Release) -> RuleTable {
        let mut table = RuleTable::new();
        for collective in Collective::ALL {
            table.set(collective, rank_steps(release, self.comm_rules(collective)));
        }
        table
    }

    /// The communicator rules of a collective; of several blocks the last, as when Open MPI reads them.
    fn comm_rules(&self, collective: Collective) -> &[ClassicCommRule] {
        let block = self.collectives.iter().rfind(|block| block.id == collective.id());
        block.map_or(&[], |block| &block.sizes)
    }
}

fn rank_steps(release: Release, comm_rules: &[ClassicCommRule]) -> RankSteps {
    // Between two neighbouring ones of these nothing can change, whatever the order of the rules.
    let starts: BTreeSet<u32> = comm_rules.iter().map(|rule| rule.comm_size).filter(|size| int(*size) > 0).collect();
    let at = |ranks| match comm_rule_for(release, comm_rules, ranks) {
        Some(index) => size_steps(release, &comm_rules[index].rules),
        None => Steps::constant(Choice::BUILTIN),
    };
    let mut steps = Steps::constant(at(0));
    for ranks in starts {
        steps.set(ranks.into(), None, at(ranks));
    }
    steps
}

fn size_steps(release: Release, rules: &[ClassicRule]) -> SizeSteps {
    let starts: BTreeSet<u64> = rules.iter().map(|rule| rule.size).collect();
    let at = |bytes| match rule_for(release, rules, bytes) {
        // What else a rule with algorithm 0 says is ignored.
        Some(index) if !rules[index].choice.is_builtin() => rules[index].choice,
        _ => Choice::BUILTIN,
    };
    let mut steps = Steps::constant(at(0));
    for bytes in starts {
        steps.set(bytes, None, at(bytes));
    }
    steps
}

fn comm_rule_for(release: Release, comm_rules: &[ClassicCommRule], ranks: u32) -> Option<usize> {
    let ranks = i64::from(ranks);
    if release < Release::V6_0 {
        return last_passed(comm_rules, |rule| i64::from(int(rule.comm_size)) <= ranks);
    }
    let mut min = 0;
    for (index, rule) in comm_rules.iter().enumerate() {
        let last = index + 1 == comm_rules.len();
        let max = if last { i32::MAX } else { int(rule.comm_size).wrapping_sub(1) };
        if (i64::from(min)..=i64::from(max)).contains(&ranks) {
            return Some(index);
        }
        min = max.wrapping_add(1);
    }
    None
}

fn rule_for(release: Release, rules: &[ClassicRule], lookup_bytes: u64) -> Option<usize> {
    if release < Release::V6_0 {
        return last_passed(rules, |rule| rule.size <= lookup_bytes);
    }
    // Unlike communicator sizes these begin where they should. A size 0 that is not the first wraps the end of the
    // range before it to the largest number, in `size_t`.
    let ends = rules.iter().skip(1).map(|next| next.size.wrapping_sub(1)).chain([i64::MAX as u64]);
    rules.iter().zip(ends).position(|(rule, end)| (rule.size..=end).contains(&lookup_bytes))
}

/// The walk: the last of the leading entries that pass, or the first entry where not even that one passes.
fn last_passed<T>(entries: &[T], passes: impl Fn(&T) -> bool) -> Option<usize> {
    let passed = entries.iter().take_while(|entry| passes(entry)).count();
    if entries.is_empty() { None } else { Some(passed.saturating_sub(1)) }
}

/// The C `int` that Open MPI keeps of a communicator size.
fn int(comm_size: u32) -> i32 {
    comm_size as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::{ClassicCollective, read};

    const OLD: [Release; 3] = [Release::V4_0, Release::V4_1, Release::V5_0];

    /// Bcast rules for these communicator sizes, in this order; the algorithm is the place in the list, from 1 on.
    fn sizes(comm_sizes: &[u32]) -> ClassicFile {
        let rule = |(comm_size, algorithm)| {
            let rules = vec![ClassicRule { choice: Choice::plain(algorithm), ..Default::default() }];
            ClassicCommRule { comm_size, rules, ..Default::default() }
        };
        let sizes = comm_sizes.iter().copied().zip(1..).map(rule).collect();
        ClassicFile {
            collectives: vec![ClassicCollective { id: 7, sizes, ..Default::default() }],
            ..Default::default()
        }
    }

    /// The listed sizes that serve these numbers of ranks; 0 for none.
    fn served<const N: usize>(release: Release, comm_sizes: &[u32], ranks: [u32; N]) -> [u32; N] {
        let file = sizes(comm_sizes);
        let at = |ranks| file.lookup(release, Collective::Bcast, ranks, 0);
        ranks.map(|ranks| at(ranks).map_or(0, |served| comm_sizes[served.comm_rule]))
    }

    #[test]
    fn up_to_5_0_the_walk_keeps_the_last_size_that_is_not_larger() {
        let ranks = [2, 3, 4, 5, 6, 7, 8];
        for release in OLD {
            for (listed, serving) in [
                (&[2, 4, 8][..], [2, 2, 4, 4, 4, 4, 8]),
                (&[4, 8], [4, 4, 4, 4, 4, 4, 8]),
                (&[6], [6; 7]),
                (&[8, 2, 4], [8, 8, 8, 8, 8, 8, 4]),
                (&[2, 8, 4], [2, 2, 2, 2, 2, 2, 4]),
            ] {
                assert_eq!(served(release, listed, ranks), serving, "{release} {listed:?}");
            }
            let twice = sizes(&[4, 4]);
            let place = |ranks| twice.lookup(release, Collective::Bcast, ranks, 0).map(|served| served.comm_rule);
            assert_eq!([2, 3, 4, 8].map(place), [Some(0), Some(0), Some(1), Some(1)]);
        }
    }

    #[test]
    fn in_6_0_each_size_ends_its_own_range() {
        let ranks = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000];
        assert_eq!(served(Release::V6_0, &[2, 4, 8], ranks), [2, 4, 4, 8, 8, 8, 8, 8, 8, 8]);
        assert_eq!(served(Release::V5_0, &[2, 4, 8], ranks), [2, 2, 2, 4, 4, 4, 4, 8, 8, 8]);
        assert_eq!(served(Release::V6_0, &[6], ranks), [6; 10]);
        // A first rule for 0 has the range 0..=-1, so the next serves.
        assert_eq!(served(Release::V6_0, &[0, 4, 8], [1, 3, 4, 8]), [4, 4, 8, 8]);
        // Unsorted: 0..=7, 8..=1, 2..=INT_MAX.
        assert_eq!(served(Release::V6_0, &[8, 2, 4], [1, 7, 8, 9]), [8, 8, 4, 4]);
        // Unsorted so that a gap remains: 0..=3, 4..=-1, 0..=INT_MAX.
        assert_eq!(served(Release::V6_0, &[4, 0, 9], [3, 4, 5]), [4, 9, 9]);
    }

    #[test]
    fn a_size_beyond_int_wraps_as_in_c() {
        // -1 in C: no larger than any communicator up to 5.0; in 6.0 ranges 0..=-2 and -1..=INT_MAX.
        assert_eq!(served(Release::V5_0, &[u32::MAX, 4], [2, 3, 4]), [u32::MAX, u32::MAX, 4]);
        assert_eq!(served(Release::V6_0, &[u32::MAX, 4], [2, 3, 4]), [4, 4, 4]);
    }

    #[test]
    fn boundaries_listed_twice_read_alike_everywhere() {
        let algorithms = |release| {
            let file = sizes(&[2, 4, 4, 8, 8]);
            let choice =
                |ranks| file.lookup(release, Collective::Bcast, ranks, 0).map(|served| served.choice.algorithm);
            [2, 3, 4, 5, 7, 8, 9].map(choice)
        };
        // The list is 2(A) 4(A) 4(B) 8(B) 8(C).
        let letter = |algorithm| ["A", "A", "B", "B", "C"][algorithm as usize - 1];
        for release in Release::ALL {
            let letters = algorithms(release).map(|algorithm| algorithm.map_or("none", letter));
            assert_eq!(letters, ["A", "A", "B", "B", "B", "C", "C"], "{release}");
        }
    }

    fn messages(text: &str) -> ClassicFile {
        read(&format!("1 7 1 0 {text}")).expect("a good file")
    }

    #[test]
    fn message_sizes_out_of_order() {
        let file = messages("4  0 1 0 0  100 2 0 0  50 3 0 0  1000 4 0 0");
        let algorithm =
            |release, bytes| file.lookup(release, Collective::Bcast, 4, bytes).map(|served| served.choice.algorithm);
        for release in OLD {
            let found = [0, 99, 100, 999, 1000, u64::MAX].map(|bytes| algorithm(release, bytes));
            assert_eq!(found, [1, 1, 3, 3, 4, 4].map(Some), "{release}");
        }
        // 0..=99, 100..=49, 50..=999, 1000..=SSIZE_MAX.
        let found = [0, 99, 100, 999, 1000, u64::MAX].map(|bytes| algorithm(Release::V6_0, bytes));
        assert_eq!(found, [Some(1), Some(1), Some(3), Some(3), Some(4), None]);
    }

    #[test]
    fn a_later_size_0_wraps_in_6_0() {
        let file = messages("2  0 1 0 0  0 2 0 0");
        let algorithm = |release| file.lookup(release, Collective::Bcast, 4, 5).map(|served| served.choice.algorithm);
        assert_eq!(algorithm(Release::V5_0), Some(2));
        assert_eq!(algorithm(Release::V6_0), Some(1));
    }

    #[test]
    fn without_rules_nothing_serves() {
        for text in ["0", "1 7 0", "1 7 1 0 0", "1 6 1 0 1 0 1 0 0"] {
            let file = read(text).expect("a good file");
            for release in Release::ALL {
                assert_eq!(file.lookup(release, Collective::Bcast, 4, 0), None, "{text}");
                assert_eq!(file.to_table(release).lookup(Collective::Bcast, 4, 0), Choice::BUILTIN, "{text}");
            }
        }
    }

    #[test]
    fn the_rest_of_a_rule_for_the_builtin_means_nothing() {
        let file = messages("2  0 0 4 8192  1024 3 0 8192");
        let table = file.to_table(Release::V5_0);
        assert_eq!(table.lookup(Collective::Bcast, 4, 0), Choice::BUILTIN);
        assert_eq!(table.rules(), 1);
    }
}
