//! Candidates that must not be chosen, however fast they are.

use std::collections::BTreeSet;

use collrules_record::policy::Assumptions;
use collrules_record::reason::Bar;
use collrules_record::{Candidate, Ranks};
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Collective, Release, RuleTable};
use collrules_rules::{hazard, registry};

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
    if !algorithm.admits(ranks) {
        return Some(Bar::Ranks(ranks));
    }
    let mut blocks = all_builtin();
    blocks.set(ranks.0.into(), Some(u64::from(ranks.0) + 1), Steps::constant(choice));
    let mut alone = RuleTable::new();
    alone.set(collective, blocks);
    hazard::check(&alone).into_iter().find(|hazard| !assumptions.accept(hazard)).map(Bar::Hazard)
}
