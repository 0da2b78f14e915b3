//! Differences between patch levels of one release, with the commits of open-mpi/ompi that made them.
//!
//! From `git log` of `ompi/mca/coll/{tuned,base,han,adapt}` between the tags v4.1.0 to v4.1.8 and v5.0.0 to v5.0.10.
//! Everything else is unchanged: `coll_tuned_decision_fixed.c`, the default decision, is identical from 4.1.0 to
//! 5.0.10, and so are HAN's parameters within 4.1 and within 5.0 (priority 0 in 4.1, 35 in 5.0; segments of 64 KiB).
//! 5.0.11 was only run, not read. main differs from 6.0: it has separate decision tables for bcast and allreduce on
//! communicators with one rank per node (319b307ca8, 539038a4c8), and HAN's segments have 512 KiB there (aac635c76f).

use crate::collective::Collective;
use crate::release::{Maturity, Version};

use Collective::{Allreduce, Alltoall, Alltoallv, Barrier, Reduce, ReduceScatterBlock, Scatter};

/// A difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The first version of its release that has it.
    pub since: Version,
    /// Description of the change, in a sentence without its end.
    pub what: &'static str,
    /// The collectives whose times or rules it may change.
    pub collectives: &'static [Collective],
    /// The commit in the release branch.
    pub commit: &'static str,
}

const fn patch(
    since: (u32, u32, u32),
    commit: &'static str,
    collectives: &'static [Collective],
    what: &'static str,
) -> Patch {
    let (major, minor, patch) = since;
    Patch { since: Version { major, minor, patch, maturity: Maturity::Released }, what, collectives, commit }
}

/// All patches, by version.
pub const PATCHES: [Patch; 20] = [
    patch((4, 1, 1), "5e07bd4580", &[Scatter], "scatter binomial forwards packed data"),
    patch((4, 1, 1), "feadc68910", &[Barrier, Scatter], "HAN runs barrier, and scatter in another way"),
    patch((4, 1, 2), "da600f274d", &[Barrier], "barrier double_ring waits for the right rank"),
    patch((4, 1, 2), "0524cfa334", &[Alltoall, Alltoallv], "another algorithm runs in place"),
    patch((4, 1, 3), "887be4cefb", &[ReduceScatterBlock], "large vectors are right"),
    patch((4, 1, 3), "ac98b329ca", &[Alltoallv], "calls in place are right"),
    patch((4, 1, 5), "13849d48b6", &[Alltoall], "counts of linear alltoall do not overflow"),
    patch((4, 1, 6), "17c8a1b03a", &[Allreduce, Reduce], "HAN heeds MPI_IN_PLACE"),
    patch((4, 1, 6), "3b0f9da0c6", &[Allreduce], "HAN's last segment has its own count"),
    patch((4, 1, 6), "3c56a0b3fe", &[Alltoallv], "linear alltoallv sends no empty messages"),
    patch((4, 1, 7), "0e1495ba21", &[], "MPI_T can switch rules files on"),
    patch((4, 1, 8), "1b1c67b827", &[], "files may begin with rule-file-version-N"),
    patch((4, 1, 8), "329c6f6a75", &[Alltoall, Reduce], "rules without max_requests take a parameter"),
    patch((4, 1, 8), "df3dbeb13a", &[], "HAN's parameters hold for every communicator made later"),
    patch((5, 0, 3), "27b4fb3eb6", &[Scatter], "HAN scatters within nodes with the right datatype"),
    patch((5, 0, 3), "ec4223666d", &[Alltoallv], "alltoallv sends no empty messages"),
    patch((5, 0, 6), "dd5ccb32e6", &[], "MPI_T can switch rules files on"),
    patch((5, 0, 7), "fef0566cf8", &[], "files may begin with rule-file-version-N"),
    patch((5, 0, 7), "cf2a629af9", &[Alltoall, Reduce], "rules without max_requests take a parameter"),
    patch((5, 0, 7), "97c3d029c7", &[], "HAN's parameters hold for every communicator made later"),
];

/// Lists the differences between two versions of one release, whichever is newer. Builds before a release count as it.
pub fn between(one: Version, other: Version) -> impl Iterator<Item = &'static Patch> {
    let (one, other) = (one.as_release(), other.as_release());
    let (first, last) = (one.min(other), one.max(other));
    PATCHES.iter().filter(move |patch| first < patch.since && patch.since <= last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Behaviour;
    use crate::release::Release;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn patches_lie_within_one_release_and_in_order() {
        assert!(PATCHES.windows(2).all(|pair| pair[0].since <= pair[1].since));
        assert!(PATCHES.iter().all(|patch| patch.commit.len() == 10 && Release::from_version(patch.since).is_ok()));
    }

    #[test]
    fn an_upgrade_meets_what_came_between() {
        let commits = |one, other| between(version(one), version(other)).map(|patch| patch.commit).collect::<Vec<_>>();
        assert_eq!(commits("4.1.7", "4.1.8"), ["1b1c67b827", "329c6f6a75", "df3dbeb13a"]);
        assert_eq!(commits("4.1.8", "4.1.7").len(), 3, "a step back meets the same");
        assert_eq!(commits("5.0.8", "5.0.11"), [""; 0]);
        assert_eq!(commits("4.1.8a1", "4.1.8"), [""; 0]);
    }

    /// The flags of [`Behaviour`] for files change with the patches to their reader, and with no others.
    #[test]
    fn behaviour_changes_with_these_patches() {
        let reader = ["1b1c67b827", "329c6f6a75", "fef0566cf8", "cf2a629af9"];
        let flags = |version: Version| {
            let behaviour = Behaviour::from_version(version).expect("known");
            (behaviour.reads_header, behaviour.inherits_requests)
        };
        for (minor, last) in [((4, 1), 8), ((5, 0), 11)] {
            for patch in 1..=last {
                let (since, before) = (version(&format!("{}.{}.{patch}", minor.0, minor.1)), patch - 1);
                let earlier = version(&format!("{}.{}.{before}", minor.0, minor.1));
                let mut patched = PATCHES.iter().filter(|known| known.since == since);
                let said = patched.any(|known| reader.contains(&known.commit));
                assert_eq!(flags(since) != flags(earlier), said, "{since}");
            }
        }
    }
}
