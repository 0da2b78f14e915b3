//! Versions that choose differently for the same call.

use super::code::Code;
use super::collect::Collector;
use crate::behaviour::Behaviour;
use crate::collective::Collective;
use crate::diff::{self, Difference};
use crate::file::Loaded;
use crate::kind::RuleChoice;

/// Reports each collective for which the versions differ, with an example. If only releases are checked that
/// shift communicator sizes, the file as `earlier` releases read it shows what they shift.
pub(super) fn check(meant: &[&Loaded], earlier: Option<&Loaded>, problems: &mut Collector) {
    // All versions that read JSON read it alike.
    let (first, others) = match (earlier, meant) {
        (Some(earlier), all) => (earlier, all),
        (None, [first, others @ ..]) => (*first, others),
        (None, []) => return,
    };
    let reference = first.to_table();
    let differences: Vec<(&Loaded, Vec<Difference>)> =
        others.iter().map(|loaded| (*loaded, diff::tables(&reference, &loaded.to_table()))).collect();
    for collective in Collective::ALL {
        let example = |(loaded, found): &(&'_ Loaded, Vec<Difference>)| {
            let own = |it: &&Difference| {
                it.collective == collective
                    && it.is_reachable(loaded.behaviour.release)
                    && it.smallest() <= i32::MAX as u64
            };
            found.iter().find(own).copied()
        };
        let differing: Vec<(&Loaded, Difference)> =
            differences.iter().filter_map(|one| Some((one.0, example(one)?))).collect();
        let Some((other, example)) = differing.first() else { continue };
        let versions: Vec<Behaviour> = differing.iter().map(|(loaded, _)| loaded.behaviour).collect();
        let Some(rules) = first.rules_for(collective).or_else(|| other.rules_for(collective)) else { continue };
        let shifted = versions.iter().all(|version| version.shifts_sizes) && !first.behaviour.shifts_sizes;
        // A list of one communicator size has nothing to be shifted.
        let shifted = shifted && rules.comm_rules.len() > 1;
        if earlier.is_some() && !shifted {
            continue;
        }
        let code = if shifted { Code::ShiftedSizes } else { Code::Disagreement };
        let words = |loaded: &Loaded, choice: RuleChoice| choice.words(loaded.behaviour.release, collective);
        let message = format!(
            "{} on {} ranks with {} bytes looked up: {} in {}, {} in {}",
            collective.name(),
            example.smallest(),
            example.sizes.first,
            words(first, example.left),
            first.behaviour.name(),
            words(other, example.right),
            other.behaviour.name(),
        );
        problems.merge_kind(code, rules.name, 0, &versions, message);
    }
}
