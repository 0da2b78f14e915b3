//! Mends what can be mended without a decision.
//!
//! Each remedy is tried on the text, and stays only where no version gets another meaning from a file that it accepts
//! already, and where a file that comes to be accepted is read as it is written.

use std::collections::{BTreeMap, HashSet};

use super::edit::{apply, compatible};
use super::{Code, Problem, check, versions_or_all};
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::file::{Load, load};
use crate::han;
use crate::table::RuleTable;

/// A file with its plain problems mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The text.
    pub text: Vec<u8>,
    /// How many problems of each kind were mended.
    pub mended: BTreeMap<Code, usize>,
    /// How many have a remedy that would change what a version does with a file that it accepts, by kind.
    pub left: BTreeMap<Code, usize>,
    /// Whether nothing was mended since every version would have gone on to ignore the file.
    pub is_past_mending: bool,
}

/// Mends a file as these versions read it; as all do that differ, where there are none.
pub fn fix(source: &[u8], versions: &[Behaviour]) -> Fixed {
    let meant = Meaning::of(source, versions);
    let same =
        || Fixed { text: source.to_vec(), mended: BTreeMap::new(), left: BTreeMap::new(), is_past_mending: false };
    let mut fixed = same();
    let mut seen = HashSet::from([source.to_vec()]);
    loop {
        let problems = check(&fixed.text, versions).problems;
        let sets = problems.iter().map(|problem| problem.edits.as_slice());
        let candidates: Vec<&Problem> = compatible(sets).into_iter().map(|place| &problems[place]).collect();
        let mut pass = Pass { text: &fixed.text, versions, meant: &meant, taken: Vec::new(), refused: Vec::new() };
        pass.take(&candidates);
        let text = pass.with(&[]);
        let refused = count(&pass.refused);
        let taken = count(&pass.taken);
        if taken.is_empty() || !seen.insert(text.clone()) {
            // Half of a repair may take out of a file what shows how it was meant.
            if !fixed.mended.is_empty() && !Meaning::of(&fixed.text, versions).is_in_force() {
                return Fixed { is_past_mending: true, ..same() };
            }
            fixed.left = refused;
            return fixed;
        }
        for (code, number) in taken {
            *fixed.mended.entry(code).or_default() += number;
        }
        fixed.text = text;
    }
}

fn count(problems: &[&Problem]) -> BTreeMap<Code, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.code).or_default() += 1;
    }
    counts
}

/// One pass over the problems of a text.
struct Pass<'p> {
    text: &'p [u8],
    versions: &'p [Behaviour],
    meant: &'p Meaning,
    taken: Vec<&'p Problem>,
    refused: Vec<&'p Problem>,
}

impl<'p> Pass<'p> {
    /// Takes as many remedies as keep the meaning: all at once if that holds, else each half by itself.
    fn take(&mut self, candidates: &[&'p Problem]) {
        if candidates.is_empty() {
            return;
        }
        if self.meant.is_kept_by(&self.with(candidates), self.versions) {
            self.taken.extend_from_slice(candidates);
        } else if let [one] = candidates {
            self.refused.push(one);
        } else {
            let (first, second) = candidates.split_at(candidates.len() / 2);
            self.take(first);
            self.take(second);
        }
    }

    fn with(&self, more: &[&Problem]) -> Vec<u8> {
        apply(self.text, self.taken.iter().chain(more).flat_map(|problem| problem.edits.iter().cloned()))
    }
}

/// What a file says to each version.
#[derive(Debug, PartialEq)]
struct Meaning(Vec<Said>);

#[derive(Debug, PartialEq)]
enum Said {
    Ignored,
    Crashes,
    Tuned(Vec<RuleTable>),
    Han(han::Table),
}

impl Said {
    fn is_in_force(&self) -> bool {
        matches!(self, Self::Tuned(_) | Self::Han(_))
    }
}

impl Meaning {
    fn of(source: &[u8], versions: &[Behaviour]) -> Self {
        let is_han = han::is_han(source);
        let said = |version: &Behaviour| match is_han {
            true => match han::load(source, version) {
                han::Load::Accepted(loaded) => Said::Han(loaded.to_table()),
                han::Load::Crashes(_) => Said::Crashes,
                han::Load::Rejected(_) | han::Load::NoHan => Said::Ignored,
            },
            false => match load(source, version) {
                Load::Accepted(loaded) => {
                    Said::Tuned(Distribution::ALL.map(|distribution| loaded.to_table_for(distribution)).into())
                }
                Load::Crashes(_) => Said::Crashes,
                Load::Rejected(_) => Said::Ignored,
            },
        };
        Self(versions_or_all(versions).iter().map(said).collect())
    }

    fn is_in_force(&self) -> bool {
        self.0.iter().any(Said::is_in_force)
    }

    fn is_kept_by(&self, text: &[u8], versions: &[Behaviour]) -> bool {
        let after = Self::of(text, versions);
        let mut gains = false;
        for (before, after) in self.0.iter().zip(&after.0) {
            let harms = before.is_in_force() && before != after;
            if harms || *before == Said::Ignored && *after == Said::Crashes {
                return false;
            }
            gains |= !before.is_in_force() && after.is_in_force();
        }
        // A file that nobody accepted says what it shows, or it had better stay out of force.
        !gains || !check(text, versions).problems.iter().any(|problem| problem.code.is_misreading())
    }
}

#[cfg(test)]
mod tests;
