//! Candidates that must not be chosen, however fast they are.

use std::collections::BTreeSet;
use std::fmt;

use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::{Arrangement, Candidate, Ranks};
use collrules_rules::hazard::{self, Hazard};
use collrules_rules::registry::{self, UnknownAlgorithm};
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Collective, Release, RuleTable};

/// Reason why a candidate must not be chosen for a collective and a communicator size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bar {
    /// It failed at some message size on this number of ranks.
    Failed,
    /// Communicators of one process never reach `coll/tuned`.
    Alone,
    /// The release does not have it.
    Unknown(UnknownAlgorithm),
    /// It is wrong for programs that violate this assumption, which is not made.
    Lacking(Assumption),
    /// It is an error on this number of ranks.
    Ranks(Ranks),
    /// A rule for it would break programs.
    Hazard(Hazard),
    /// It is slower than the builtin in one of the layouts that share the rules.
    Slower(Arrangement),
}

/// Returns the reason why a candidate must not be chosen for a collective on this number of ranks, if there is one.
///
/// A candidate that failed at one message size is barred at all of them: the failure may depend on the size in ways
/// that the grid does not show.
pub(crate) fn bar(
    release: Release,
    collective: Collective,
    ranks: Ranks,
    candidate: Candidate,
    failed: &BTreeSet<Candidate>,
    assumptions: Assumptions,
) -> Option<Bar> {
    if failed.contains(&candidate) {
        return Some(Bar::Failed);
    }
    // Rules of coll/tuned choose nothing else. HAN itself takes care of operations that do not commute.
    let Candidate::Tuned(choice) = candidate else { return None };
    if ranks.0 < 2 {
        return Some(Bar::Alone);
    }
    let algorithm = match registry::algorithm(release, collective, choice.algorithm) {
        Ok(algorithm) => algorithm,
        Err(unknown) => return Some(Bar::Unknown(unknown)),
    };
    if let Some(lacking) = assumptions.lacking(algorithm, choice.segsize) {
        return Some(Bar::Lacking(lacking));
    }
    if !algorithm.ranks.admits(ranks) {
        return Some(Bar::Ranks(ranks));
    }
    let mut blocks = all_builtin();
    blocks.set(ranks.0.into(), Some(u64::from(ranks.0) + 1), Steps::constant(choice));
    let mut alone = RuleTable::new();
    alone.set(collective, blocks);
    hazard::check(&alone).into_iter().find(|hazard| !assumptions.accept(hazard)).map(Bar::Hazard)
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => f.write_str("it failed at another message size"),
            Self::Alone => f.write_str("communicators of one process never reach coll/tuned"),
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Lacking(Assumption::CommutativeOps) => f.write_str(
                "it gives wrong results for operations that do not commute, and a rule applies to these too",
            ),
            Self::Lacking(Assumption::OtherBits) => f.write_str("sums may have other bits than --keep-bits permits"),
            Self::Lacking(Assumption::UniformDatatypes | Assumption::ConsistentArguments) => {
                f.write_str("it gives wrong data or hangs if ranks describe the same data with different datatypes")
            }
            Self::Ranks(ranks) => write!(f, "it is invalid on {ranks} ranks"),
            Self::Slower(on) => write!(f, "it is slower on {on}"),
            // A complete sentence, used here as the end of another.
            Self::Hazard(hazard) => f.write_str(hazard.to_string().trim_end_matches('.')),
        }
    }
}
