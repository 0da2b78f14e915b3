//! Effect of another version of Open MPI on rules.

use serde::Serialize;

use crate::behaviour::Behaviour;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::metric::metric;
use crate::patches;
use crate::registry::{self, Algorithm};
use crate::table::RuleTable;
use crate::units::Ranks;

/// A choice of a rules file, and its fate under another version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ported {
    /// The collective.
    pub collective: Collective,
    /// Choice of its rules.
    pub choice: Choice,
    /// The choice in words.
    pub words: String,
    /// Fate of the choice.
    pub fate: ChoiceFate,
}

/// Fate of a choice under another version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceFate {
    /// The number means the same algorithm, with the same parameters.
    Same,
    /// The algorithm has another number.
    Moved(u32),
    /// The number means something else; the difference in a sentence.
    Changed(String),
    /// The algorithm does not exist.
    Gone,
}

/// Returns the fate of every choice of a table, each once per collective.
pub fn port(table: &RuleTable, from: &Behaviour, to: &Behaviour) -> Vec<Ported> {
    let mut ported: Vec<Ported> = Vec::new();
    for (collective, _, _, choice) in table.choices().filter(|(.., choice)| !choice.is_builtin()) {
        if !ported.iter().any(|known| known.collective == collective && known.choice == choice) {
            let words = registry::describe(from.release, collective, choice);
            ported.push(Ported { collective, choice, words, fate: fate(collective, choice, from, to) });
        }
    }
    ported
}

/// Algorithms that `to` has but `from` does not, by name.
pub fn added(collective: Collective, from: &Behaviour, to: &Behaviour) -> Vec<&'static str> {
    let known = |one: &&Algorithm| registry::id_of(from.release, collective, one.name).is_some();
    let new = registry::algorithms(to.release, collective).filter(|one| !known(one));
    new.map(|algorithm| algorithm.name).collect()
}

fn fate(collective: Collective, choice: Choice, from: &Behaviour, to: &Behaviour) -> ChoiceFate {
    let Ok(here) = registry::algorithm(from.release, collective, choice.algorithm) else { return ChoiceFate::Gone };
    let there = match registry::algorithm(to.release, collective, choice.algorithm) {
        Ok(there) if here.name == there.name => there,
        there => {
            return match (registry::id_of(to.release, collective, here.name), there) {
                (Some(id), _) => ChoiceFate::Moved(id),
                (None, Ok(there)) => {
                    let radix = if there.radix && !here.radix { ", with the fan-out as its radix" } else { "" };
                    ChoiceFate::Changed(format!("{} is {} there{radix}", choice.algorithm, there.name))
                }
                (None, Err(_)) => ChoiceFate::Gone,
            };
        }
    };
    let needs = |algorithm: &Algorithm| algorithm.fallbacks.iter().map(|fallback| fallback.when).collect::<Vec<_>>();
    let seen = |version: &Behaviour| metric(version.release, collective, Ranks(4));
    let changed = if seen(from) != seen(to) {
        "another size is looked up there"
    } else if (here.uses, here.radix) != (there.uses, there.radix) {
        "it uses other parameters there"
    } else if needs(here) != needs(there) {
        "it falls back for other calls there"
    } else if !here.uses.max_requests || choice.max_requests > 0 || from.inherits_requests == to.inherits_requests {
        return ChoiceFate::Same;
    } else if to.inherits_requests {
        "without a limit on requests it uses coll_tuned_alltoall_algorithm_max_requests there"
    } else {
        "without a limit on requests it does not use coll_tuned_alltoall_algorithm_max_requests there"
    };
    ChoiceFate::Changed(changed.to_owned())
}

/// The collectives whose times measured under `from` are outdated under `to`: all between releases, since algorithms
/// and default decisions changed, otherwise those of a patch.
pub fn outdated(collectives: &[Collective], from: &Behaviour, to: &Behaviour) -> Vec<Collective> {
    let is_outdated = |collective: &Collective| {
        let patched = |patch: &patches::Patch| patch.collectives.contains(collective);
        from.release != to.release || patches::between(from.version, to.version).any(patched)
    };
    collectives.iter().copied().filter(is_outdated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Steps;
    use crate::table::all_builtin;

    fn version(text: &str) -> Behaviour {
        text.parse().expect("a version")
    }

    fn fates(collective: Collective, choice: Choice, from: &str, to: &str) -> ChoiceFate {
        let mut blocks = all_builtin();
        blocks.set(4, Some(9), Steps::constant(choice));
        let mut table = RuleTable::new();
        table.set(collective, blocks);
        let found = port(&table, &version(from), &version(to));
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].fate.clone()
    }

    #[test]
    fn choices_keep_their_meaning_or_say_how_they_lose_it() {
        use Collective::{Allgather, Alltoall, Barrier, Bcast, Gather};
        assert_eq!(fates(Bcast, Choice::plain(6), "5.0.8", "6.0"), ChoiceFate::Same);
        assert_eq!(fates(Allgather, Choice::plain(8).with_faninout(2), "6.0", "5.0.11"), ChoiceFate::Gone);
        let ChoiceFate::Changed(why) = fates(Allgather, Choice::plain(2).with_faninout(2), "5.0.11", "6.0") else {
            panic!()
        };
        assert_eq!(why, "2 is bruck-k-fanout there, with the fan-out as its radix");
        let sync = Choice::plain(4);
        assert!(
            matches!(fates(Alltoall, sync, "5.0.6", "5.0.7"), ChoiceFate::Changed(why) if why.contains("max_requests"))
        );
        assert_eq!(fates(Alltoall, Choice { max_requests: 4, ..sync }, "5.0.6", "5.0.7"), ChoiceFate::Same);
        assert_eq!(fates(Barrier, Choice::plain(3), "4.1.4", "4.1.8"), ChoiceFate::Same);
        assert!(
            matches!(fates(Gather, Choice::plain(1), "4.0.7", "4.1.4"), ChoiceFate::Changed(why) if why.contains("size"))
        );
        assert_eq!(added(Allgather, &version("5.0"), &version("6.0")), ["bruck-k-fanout", "direct-messaging"]);
    }

    #[test]
    fn only_what_patches_are_about_is_measured_again_within_a_release() {
        use Collective::{Alltoall, Bcast};
        let all = [Alltoall, Bcast];
        assert_eq!(outdated(&all, &version("4.1.7"), &version("4.1.8")), [Alltoall]);
        assert_eq!(outdated(&all, &version("5.0.8"), &version("5.0.11")), []);
        assert_eq!(outdated(&all, &version("5.0.11"), &version("6.0")), all);
    }
}
