//! Reverting ranges of a tuning to the default.

use collrules_rules::emit::{Notes, write};
use collrules_rules::han::{self, Level};
use collrules_rules::metric::metric;
use collrules_rules::steps::{Steps, earlier};
use collrules_rules::table::all_builtin;
use collrules_rules::{Choice, Collective, Release, RuleTable};

use super::{Tuning, TuningError};
use crate::rundir::{HAN, RULES};
use crate::units::Ranks;
use crate::validation::RevertedRange;

impl Tuning {
    /// The tuning with these ranges reverted to the default, written in the formats of its files. `header` has the
    /// first lines of each file, by its name in a run directory. None if nothing changes.
    pub fn revert(
        &self,
        release: Release,
        ranges: &[RevertedRange],
        header: impl Fn(&str) -> Vec<String>,
    ) -> Result<Option<Self>, TuningError> {
        let mut reverted = self.clone();
        if let Some(file) = &mut reverted.tuned {
            file.table = revert_table(&file.table, ranges);
        }
        if let Some(file) = &mut reverted.han {
            file.table = revert_han(&file.table, release, ranges);
        }
        if reverted == *self {
            return Ok(None);
        }
        if let Some(file) = &mut reverted.tuned {
            let notes = Notes { header: header(RULES), ..Notes::default() };
            // Hazards of the file are its author's.
            file.text = write(&file.table, &notes, file.format())?.into_bytes();
            file.layouts.clear();
        }
        if let Some(file) = &mut reverted.han {
            file.text = han::write(&file.table, &header(HAN)).map_err(TuningError::EmitHan)?.into_bytes();
        }
        Ok(Some(reverted))
    }
}

/// A table with these ranges reverted to the default.
#[must_use]
pub fn revert_table(table: &RuleTable, ranges: &[RevertedRange]) -> RuleTable {
    let mut reverted = RuleTable::new();
    for (collective, steps) in table.collectives() {
        let mut steps = steps.clone();
        revert_steps(&mut steps, collective, ranges, &Choice::BUILTIN);
        reverted.set(collective, steps);
    }
    reverted
}

/// Reverts these ranges of the decisions on one collective to the default.
pub fn revert_steps<V: Clone + PartialEq>(
    steps: &mut Steps<Steps<V>>,
    collective: Collective,
    ranges: &[RevertedRange],
    builtin: &V,
) {
    let here = |range: &&RevertedRange| range.collective == collective && !range.is_settings();
    for RevertedRange { ranks, lookup, .. } in ranges.iter().filter(here) {
        for (first, end, sizes) in steps.clone().iter() {
            let mut sizes = sizes.clone();
            sizes.set(lookup.0, lookup.1, builtin.clone());
            // Empty if the two ranges do not meet.
            steps.set(first.max(ranks.first), earlier(end, ranks.end), sizes);
        }
    }
}

/// HAN's rules with these ranges reverted to HAN's default. If settings are reverted, these are the rules for calls by
/// HAN itself.
fn revert_han(table: &han::HanTable, release: Release, ranges: &[RevertedRange]) -> han::HanTable {
    let mut reverted = table.clone();
    for range @ RevertedRange { collective, ranks, lookup } in ranges {
        if range.is_settings() {
            for (level, inner) in han::inner(*collective) {
                reverted.set((*inner, *level), all_builtin());
            }
            continue;
        }
        // HAN's rules are reverted for one communicator size at a time.
        let alone = ranks.end == Some(ranks.first + 1);
        let Some(size) = u32::try_from(ranks.first).ok().filter(|_| alone) else { continue };
        let Some(mut steps) = reverted.get((*collective, Level::GlobalCommunicator)).cloned() else { continue };
        let factor = metric(release, *collective, Ranks(size)).factor();
        let mut sizes = steps.get(ranks.first).clone();
        let kept = Some(han::ComponentChoice::from_component(han::HanComponent::Han));
        sizes.set(lookup.0.div_ceil(factor), lookup.1.map(|end| end.div_ceil(factor)), kept);
        steps.set(ranks.first, ranks.end, sizes);
        reverted.set((*collective, Level::GlobalCommunicator), steps);
    }
    reverted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use collrules_rules::hazard::RankRange;

    use super::super::RulesFile;
    use super::*;

    const FILE: &str = "2 bcast 2 0 1 1 1 0 basic 2 1 1 1 0 tuned barrier 1 2 1 1 1 0 tuned\n";

    fn of_han(text: &str) -> Tuning {
        let file = RulesFile::of_han(PathBuf::from("han.conf"), text.as_bytes().to_vec());
        assert!(!file.table.is_empty(), "{text} is not read");
        Tuning { han: Some(file), ..Tuning::default() }
    }

    /// Reverting failed if another rule had an algorithm that some release lacks: scatter linear_nb is not in 4.0.
    #[test]
    fn algorithms_that_some_release_lacks_stay() {
        let text = b"2 7 1 0 1 0 6 0 0 15 1 0 1 0 3 0 0".to_vec();
        let tuning =
            Tuning { tuned: Some(RulesFile::of_tuned(PathBuf::from("rules.conf"), text)), ..Tuning::default() };
        let all = RankRange { first: 0, end: None };
        let range = RevertedRange { collective: Collective::Bcast, ranks: all, lookup: (0, None) };
        let reverted = tuning.revert(Release::V5_0, &[range], |_| Vec::new()).expect("can be written");
        let table = reverted.and_then(|tuning| tuning.tuned).expect("has changed").table;
        assert_eq!(table.lookup(Collective::Scatter, 8, 1024), Choice::plain(3));
        assert_eq!(table.lookup(Collective::Bcast, 8, 1024), Choice::BUILTIN);
    }

    /// HAN's allreduce and allgather end with a broadcast on each node.
    #[test]
    fn rules_for_the_ranks_of_a_node_act_on_all_that_han_makes_of_them() {
        use Collective::{Allgather, Allreduce, Barrier, Bcast};
        let tuning = of_han(FILE);
        assert_eq!(tuning.below_han(), BTreeSet::from([Allgather, Allreduce, Bcast]));
        let between = of_han("1 bcast 1 1 1 1 1 0 tuned\n");
        assert_eq!(between.han_collectives(), BTreeSet::from([Bcast]), "between nodes they call another collective");
        assert_eq!(tuning.han_collectives(), BTreeSet::from([Allgather, Allreduce, Barrier, Bcast]));
    }

    #[test]
    fn what_slows_han_down_from_below_is_reverted_alone() {
        let ranges = [RevertedRange::settings(Collective::Allreduce)];
        let left = of_han(FILE).revert(Release::V5_0, &ranges, |_| Vec::new()).expect("can be written");
        let han = left.expect("changes").han.expect("a file of HAN");
        let levels: Vec<(Collective, Level)> = han.table.collectives().map(|(key, _)| key).collect();
        let kept = [Collective::Barrier, Collective::Bcast].map(|one| (one, Level::GlobalCommunicator));
        assert_eq!(levels, kept);
        assert_eq!(RulesFile::of_han(han.path, han.text).table, han.table, "the text says the same");
    }
}
