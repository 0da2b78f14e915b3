//! Algorithms of HAN that its rules file can ask for.

use collrules_rules::{Collective, Release, han, names};
use serde::{Deserialize, Serialize};

/// An algorithm of HAN. That which it calls `reproducible` hands the call on to coll/tuned or coll/basic, and is left out:
/// rules say that directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HanAlgorithm {
    /// Segments, those between nodes overlapped with those within.
    Intra,
    /// One level after the other, each by coll/tuned.
    Simple,
}

names!(HanAlgorithm, read as "algorithm of HAN" {
    Intra "intra",
    Simple "simple",
});

impl HanAlgorithm {
    /// Its number in a collective, by which its parameter and its rules file know it.
    pub fn number(self, release: Release, collective: Collective) -> Option<u32> {
        let names = han::algorithms(release, collective.id());
        let place = names.iter().position(|name| *name == self.name())?;
        u32::try_from(place + 1).ok()
    }

    /// Returns the algorithm that HAN uses if none is requested (`use_simple_algorithm` in `coll_han_component.c`).
    fn usual(collective: Collective) -> Self {
        match collective {
            Collective::Gather | Collective::Barrier => Self::Simple,
            _ => Self::Intra,
        }
    }

    /// The algorithms that differ from what HAN does by itself.
    pub fn others(release: Release, collective: Collective) -> impl Iterator<Item = Self> {
        let known = Self::ALL.into_iter().filter(move |one| one.number(release, collective).is_some());
        known.filter(move |one| *one != Self::usual(collective))
    }

    /// The parameter that asks for an algorithm, and lets it be changed while a program runs.
    pub fn parameter(collective: Collective) -> String {
        format!("coll_han_use_{collective}_algorithm")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_differ_from_what_han_does_by_itself() {
        let others = |release, collective| HanAlgorithm::others(release, collective).collect::<Vec<_>>();
        assert_eq!(others(Release::V5_0, Collective::Bcast), [HanAlgorithm::Simple]);
        assert_eq!(others(Release::V5_0, Collective::Gather), [HanAlgorithm::Intra]);
        assert_eq!(others(Release::V5_0, Collective::Barrier), []);
        assert_eq!(others(Release::V5_0, Collective::Alltoall), []);
        // Its files know no algorithms there.
        assert_eq!(others(Release::V4_1, Collective::Bcast), []);
        assert_eq!(HanAlgorithm::Simple.number(Release::V5_0, Collective::Allreduce), Some(2));
    }
}
